// SPDX-License-Identifier: Apache-2.0
#include "trace/raw/raw_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "cox/base/number_text.hpp"

#include "trace/raw/losses.hpp"
#include "trace/raw/meta_entries.hpp"
#include "trace/raw/sample_block.hpp"

namespace cox::trace {
namespace {

constexpr std::uint32_t kMaxChunkBytes = 64U << 20;
constexpr const char* kFolderHint = "name a folder that `cox observe` wrote";

tl::unexpected<Error> not_ours(std::string message) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "trace-002",
                    .message = std::move(message),
                    .hint = kFolderHint,
                    .where = std::nullopt});
}

tl::unexpected<Error> newer(std::string message) {
  return fail(Error{.code = Errc::Unsupported,
                    .id = "trace-003",
                    .message = std::move(message),
                    .hint = "read it with the version of cox that wrote it, or a later one",
                    .where = std::nullopt});
}

template <class T>
T load(std::string_view bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// A chunk that passed its checks: where its content lies and how much of it is there.
struct Chunk {
  std::uint64_t ticket = 0;
  std::size_t index = 0;
  std::size_t at = 0;     ///< first byte of the content
  std::size_t count = 0;  ///< records, or bytes of Meta
  std::uint32_t thread = 0;
  std::uint64_t first_ticks = 0;
};

/// The chunks of a file, sorted by what they hold.
class ChunkTable {
 public:
  ChunkTable(std::string_view bytes, const RawHeader& header, Losses& losses)
      : bytes_(bytes), header_(header), losses_(losses) {
    std::size_t index = 0;
    for (std::size_t at = kHeaderBytes; at < bytes_.size(); at += header_.chunk_bytes) add(index++, at);
    note_missing(index);
    const auto by_ticket = [](const Chunk& a, const Chunk& b) {
      return a.ticket != b.ticket ? a.ticket < b.ticket : a.index < b.index;
    };
    std::sort(events.begin(), events.end(), by_ticket);
    std::sort(meta.begin(), meta.end(), by_ticket);
    std::sort(samples.begin(), samples.end(), by_ticket);
  }

  std::vector<Chunk> events;
  std::vector<Chunk> meta;
  std::vector<Chunk> samples;

 private:
  void add(std::size_t index, std::size_t at) {
    const std::size_t there = std::min<std::size_t>(header_.chunk_bytes, bytes_.size() - at);
    if (there < sizeof(ChunkHeader)) {
      if (index < handed_out())
        losses_.add(fmt::format("chunk {} is cut within its head at byte {}", index, bytes_.size()));
      return;
    }
    const auto head = load<ChunkHeader>(bytes_, at);
    if (head.magic == 0) {  // reserved on disk and not in use
      if (index < handed_out() && header_.state != WriterState::Open) ++never_written_;
      return;
    }
    if (head.magic != kChunkMagic) {
      losses_.add(fmt::format("chunk {} at byte {} is damaged: it begins with {:#010x}, expected {:#010x}",
                              index, at, head.magic, kChunkMagic));
      return;
    }
    std::vector<Chunk>* list = list_of(head.kind);
    if (list == nullptr) {
      losses_.add(
          fmt::format("chunk {} is of unknown kind {}", index, static_cast<std::uint32_t>(head.kind)));
      return;
    }
    const Chunk chunk{.ticket = head.ticket,
                      .index = index,
                      .at = at + sizeof(ChunkHeader),
                      .count = usable(index, head, there - sizeof(ChunkHeader)),
                      .thread = head.thread,
                      .first_ticks = head.first_ticks};
    list->push_back(chunk);
  }

  std::vector<Chunk>* list_of(ChunkKind kind) {
    switch (kind) {
      case ChunkKind::Events:
        return &events;
      case ChunkKind::Meta:
        return &meta;
      case ChunkKind::Samples:
        return &samples;
    }
    return nullptr;
  }

  /// How many records, samples or bytes may be used of the committed ones, `there` bytes
  /// of content being in the file.
  std::size_t usable(std::size_t index, const ChunkHeader& head, std::size_t there) {
    const bool is_meta = head.kind == ChunkKind::Meta;
    const bool is_samples = head.kind == ChunkKind::Samples;
    const std::size_t unit = is_meta ? 1 : is_samples ? sizeof(RawSample) : sizeof(RawRecord);
    const char* what = is_meta ? "bytes" : is_samples ? "samples" : "records";
    std::uint64_t committed = head.committed;
    const std::size_t room = (header_.chunk_bytes - sizeof(ChunkHeader)) / unit;
    if (committed > room) {
      losses_.add(fmt::format("chunk {} claims {} {}, it has room for {}", index, committed, what, room));
      committed = room;
    }
    const std::size_t complete = there / unit;
    if (committed <= complete) return static_cast<std::size_t>(committed);
    losses_.add(fmt::format("{} of {} {} of chunk {} {} beyond the end of the file", committed - complete,
                            committed, what, index, committed - complete == 1 ? "lies" : "lie"));
    return complete;
  }

  void note_missing(std::size_t present) {
    if (never_written_ > 0)
      losses_.add(counted(never_written_, "chunk was", "chunks were") + " handed out and never written");
    if (handed_out() > present)
      losses_.add(fmt::format("{} of {} chunks {} beyond the end of the file at byte {}",
                              handed_out() - present, handed_out(),
                              handed_out() - present == 1 ? "lies" : "lie", bytes_.size()));
  }

  [[nodiscard]] std::uint64_t handed_out() const {
    return std::min<std::uint64_t>(header_.tickets, header_.chunk_limit);
  }

  std::string_view bytes_;
  const RawHeader& header_;
  Losses& losses_;
  std::int64_t never_written_ = 0;
};

/// A record where it lies, with what orders it.
struct RecordAt {
  std::uint64_t begin = 0;
  std::size_t at = 0;
  std::uint32_t thread = 0;
};

/// Where the stretch after the last overwritten chunk begins; 0 where none was overwritten. What is left in the
/// ring are its latest chunks. Chunks of several threads may have come into it out of order: a number that is
/// missing in the oldest quarter counts as overwritten too.
std::uint64_t end_of_overwritten(const RawHeader& h, const ChunkTable& chunks) {
  if (h.recycled_chunks == 0 || h.pinned_chunks >= h.chunk_limit || chunks.events.empty()) return 0;
  std::vector<std::uint64_t> tickets;
  for (const auto* list : {&chunks.events, &chunks.meta, &chunks.samples})
    for (const Chunk& c : *list) tickets.push_back(c.ticket);
  std::sort(tickets.begin(), tickets.end());
  const std::uint64_t ring = h.chunk_limit - h.pinned_chunks;
  if (tickets.back() < ring) return 0;
  std::uint64_t last = tickets.back() - ring;
  for (std::uint64_t t = last + ring / 4; t > last; --t)
    if (!std::binary_search(tickets.begin(), tickets.end(), t)) last = t;
  std::uint64_t begin = 0;
  for (const Chunk& c : chunks.events)
    if (c.ticket > last && (begin == 0 || c.first_ticks < begin)) begin = c.first_ticks;
  return begin;
}

RecordColumns gather(std::string_view bytes, const std::vector<Chunk>& chunks, Losses& losses) {
  std::size_t total = 0;
  for (const Chunk& c : chunks) total += c.count;
  std::vector<RecordAt> order;
  order.reserve(total);
  std::int64_t never_begun = 0;
  for (const Chunk& c : chunks) {
    for (std::size_t i = 0; i < c.count; ++i) {
      const std::size_t at = c.at + i * sizeof(RawRecord);
      const auto begin = load<std::uint64_t>(bytes, at + offsetof(RawRecord, begin));
      if (begin == 0)
        ++never_begun;
      else
        order.push_back({begin, at, c.thread});
    }
  }
  if (never_begun > 0)
    losses.add(counted(never_begun, "record was", "records were") + " announced and never written");
  const auto earlier = [](const RecordAt& a, const RecordAt& b) { return a.begin < b.begin; };
  if (!std::is_sorted(order.begin(), order.end(), earlier))
    std::stable_sort(order.begin(), order.end(), earlier);
  if (order.size() > kMaxRecordsPerFile) {
    const std::size_t beyond = order.size() - kMaxRecordsPerFile;
    losses.add(fmt::format("{} beyond the first {} {} not read",
                           counted(static_cast<std::int64_t>(beyond), "record", "records"),
                           kMaxRecordsPerFile, beyond == 1 ? "is" : "are"));
    order.resize(kMaxRecordsPerFile);
  }
  RecordColumns columns;
  columns.resize(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    columns.set(i, load<RawRecord>(bytes, order[i].at), order[i].thread);
  return columns;
}

std::vector<RawSample> gather_samples(std::string_view bytes, const std::vector<Chunk>& chunks,
                                      Losses& losses) {
  std::vector<RawSample> out;
  std::size_t beyond = 0;
  for (const Chunk& c : chunks) {
    const std::size_t take = std::min(c.count, kMaxSamplesPerFile - out.size());
    beyond += c.count - take;
    for (std::size_t i = 0; i < take; ++i)
      out.push_back(load<RawSample>(bytes, c.at + i * sizeof(RawSample)));
  }
  if (beyond > 0)
    losses.add(fmt::format("{} beyond the first {} {} not read",
                           counted(static_cast<std::int64_t>(beyond), "sample", "samples"),
                           kMaxSamplesPerFile, beyond == 1 ? "is" : "are"));
  sort_samples(out);
  return out;
}

}  // namespace

Status check_raw_header(const RawHeader& h) {
  if (std::memcmp(h.magic, kRawMagic, 6) != 0) {
    const bool unfinished =
        std::all_of(std::begin(h.magic), std::end(h.magic), [](char c) { return c == 0; });
    return not_ours(unfinished ? "its header was never finished, so nothing was recorded in it"
                               : "not a raw file of a Run, expected it to begin with COXRAW1");
  }
  if (h.endian != kEndianMark)
    return not_ours(fmt::format("endian mark is {:#010x}, expected {:#010x}", h.endian, kEndianMark));
  if (std::memcmp(h.magic, kRawMagic, sizeof kRawMagic) != 0 || h.version > kRawVersion)
    return newer(fmt::format("raw format version {}, this cox reads up to {}",
                             std::max<std::uint32_t>(h.version, 2), kRawVersion));
  if (h.version == 0) return not_ours("raw format version 0, expected 1");
  if (h.header_bytes != kHeaderBytes || h.record_bytes != sizeof(RawRecord))
    return not_ours(fmt::format("header of {} and records of {} bytes, expected {} and {}", h.header_bytes,
                                h.record_bytes, kHeaderBytes, sizeof(RawRecord)));
  if (h.chunk_bytes < sizeof(ChunkHeader) + sizeof(RawRecord) || h.chunk_bytes > kMaxChunkBytes ||
      h.chunk_bytes % 8 != 0)
    return not_ours(fmt::format("chunks of {} bytes, expected a multiple of 8 from {} to {}", h.chunk_bytes,
                                sizeof(ChunkHeader) + sizeof(RawRecord), kMaxChunkBytes));
  return {};
}

Result<ProcessRecords> parse_raw_file(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes)
    return not_ours(fmt::format("{} bytes long, its header alone has {}", bytes.size(), kHeaderBytes));
  ProcessRecords out;
  out.header = load<RawHeader>(bytes, 0);
  COX_CHECK(check_raw_header(out.header));
  Losses losses;
  const ChunkTable chunks(bytes, out.header, losses);
  for (const Chunk& c : chunks.meta) {
    // Whole entries only: a cut one would swallow those of the next chunk.
    const std::string_view content = bytes.substr(c.at, c.count);
    const std::size_t whole = whole_entries(content);
    out.meta += content.substr(0, whole);
    if (whole < content.size())
      losses.add(fmt::format("{} of {} bytes of meta data in chunk {} {} not a whole entry",
                             content.size() - whole, content.size(), c.index,
                             content.size() - whole == 1 ? "is" : "are"));
  }
  out.header.overwritten_until = end_of_overwritten(out.header, chunks);
  out.records = gather(bytes, chunks.events, losses);
  out.samples = gather_samples(bytes, chunks.samples, losses);
  out.losses = losses.take();
  return out;
}

}  // namespace cox::trace
