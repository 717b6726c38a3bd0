// SPDX-License-Identifier: Apache-2.0
#include "trace/store/compact_file.hpp"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "cox/base/assert.hpp"
#include "cox/base/hash.hpp"
#include "cox/base/number_text.hpp"

#include "trace/raw/meta_entries.hpp"
#include "trace/raw/raw_file.hpp"
#include "trace/raw/sample_block.hpp"
#include "trace/store/block_codec.hpp"

namespace cox::trace {
namespace {

constexpr int kLevel = 3;
constexpr std::size_t kMetaPerBlock = std::size_t{16} << 20;
constexpr std::size_t kMaxMeta = std::size_t{256} << 20;
constexpr std::size_t kMaxLosses = 64;

/// Head of the End block's content; `losses` texts follow, each a u32 length and its bytes.
struct EndHead {
  std::uint64_t records;
  std::uint64_t blocks;
  std::uint32_t losses;
  std::uint32_t zero;
};
static_assert(sizeof(EndHead) == 24);

/// Most bytes that a block of a kind may inflate to: no small file may ask for much memory.
std::uint64_t raw_limit(BlockKind kind) {
  switch (kind) {
    case BlockKind::Header:
      return kHeaderBytes;
    case BlockKind::Meta:
      return kMetaPerBlock;
    case BlockKind::Events:
      return std::uint64_t{8} << 20;
    case BlockKind::End:
      return std::uint64_t{1} << 20;
    case BlockKind::Samples:
      return kSamplesPerBlock * sizeof(RawSample);
  }
  return 0;
}

std::uint32_t check_of(const BlockHeader& head) {
  return fnv1a_32({reinterpret_cast<const char*>(&head), offsetof(BlockHeader, check)});
}

template <class T>
void append_pod(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

class Deflater {
 public:
  Deflater() : context_(ZSTD_createCCtx(), ZSTD_freeCCtx) {
    COX_ASSERT(context_ != nullptr, "zstd gives a context");
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kLevel);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
  }

  void append_block(std::string& to, BlockKind kind, std::string_view content, std::uint32_t records = 0) {
    const std::size_t bound = ZSTD_compressBound(content.size());
    const std::size_t head_at = to.size();
    to.resize(head_at + sizeof(BlockHeader) + bound);
    char* frame = to.data() + head_at + sizeof(BlockHeader);
    const std::size_t stored = ZSTD_compress2(context_.get(), frame, bound, content.data(), content.size());
    COX_ASSERT(ZSTD_isError(stored) == 0U, "compression into a buffer of the bound's size succeeds");
    BlockHeader head{.magic = kBlockMagic,
                     .kind = kind,
                     .stored_bytes = stored,
                     .raw_bytes = content.size(),
                     .records = records,
                     .check = 0};
    head.check = check_of(head);
    std::memcpy(to.data() + head_at, &head, sizeof head);
    to.resize(head_at + sizeof head + stored);
  }

 private:
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context_;
};

tl::unexpected<Error> unreadable(Errc code, const char* id, std::string message, const char* hint) {
  return fail(
      Error{.code = code, .id = id, .message = std::move(message), .hint = hint, .where = std::nullopt});
}

std::string end_content(const ProcessRecords& process, std::uint64_t blocks) {
  const std::size_t losses = std::min(process.losses.size(), kMaxLosses);
  std::string out;
  append_pod(out, EndHead{process.records.size(), blocks, static_cast<std::uint32_t>(losses), 0});
  for (std::size_t i = 0; i < losses; ++i) {
    append_pod(out, static_cast<std::uint32_t>(process.losses[i].size()));
    out += process.losses[i];
  }
  return out;
}

}  // namespace

std::string encode_compact(const ProcessRecords& process) {
  std::string out(kCompactMagic, sizeof kCompactMagic);
  Deflater deflater;
  deflater.append_block(out, BlockKind::Header,
                        {reinterpret_cast<const char*>(&process.header), sizeof process.header});
  for (std::size_t at = 0; at < process.meta.size(); at += kMetaPerBlock)
    deflater.append_block(out, BlockKind::Meta, std::string_view(process.meta).substr(at, kMetaPerBlock));
  std::uint64_t blocks = 0;
  for (std::size_t first = 0; first < process.records.size(); first += kRecordsPerBlock) {
    const std::size_t count = std::min(kRecordsPerBlock, process.records.size() - first);
    deflater.append_block(out, BlockKind::Events, encode_block(process.records, first, count),
                          static_cast<std::uint32_t>(count));
    ++blocks;
  }
  for (std::size_t first = 0; first < process.samples.size(); first += kSamplesPerBlock) {
    const std::size_t count = std::min(kSamplesPerBlock, process.samples.size() - first);
    deflater.append_block(out, BlockKind::Samples, encode_samples(process.samples, first, count),
                          static_cast<std::uint32_t>(count));
  }
  deflater.append_block(out, BlockKind::End, end_content(process, blocks));
  return out;
}

struct CompactReader::Inflater {
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context{ZSTD_createDCtx(), ZSTD_freeDCtx};
};

CompactReader::CompactReader(std::string_view bytes)
    : bytes_(bytes), inflater_(std::make_unique<Inflater>()) {}
CompactReader::CompactReader(CompactReader&&) noexcept = default;
CompactReader::~CompactReader() = default;

/// The head of the block at `at_`, if it is one and its frame lies in the file.
bool CompactReader::peek(BlockHeader& head) {
  if (bytes_.size() - at_ < sizeof head) return false;
  std::memcpy(&head, bytes_.data() + at_, sizeof head);
  return head.magic == kBlockMagic && head.check == check_of(head) &&
         head.stored_bytes <= bytes_.size() - at_ - sizeof head;
}

/// Moves past the block that `head` describes and puts its content into `content_`.
bool CompactReader::inflate(const BlockHeader& head) {
  const std::string_view frame =
      bytes_.substr(at_ + sizeof head, static_cast<std::size_t>(head.stored_bytes));
  at_ += sizeof head + frame.size();
  ++block_;
  content_.clear();
  if (head.raw_bytes > raw_limit(head.kind)) return false;
  content_.resize(static_cast<std::size_t>(head.raw_bytes));
  const std::size_t n = ZSTD_decompressDCtx(inflater_->context.get(), content_.data(), content_.size(),
                                            frame.data(), frame.size());
  return ZSTD_isError(n) == 0U && n == content_.size();
}

Result<CompactReader> CompactReader::open(std::string_view bytes) {
  constexpr const char* kHint = "name a folder that `cox observe` wrote";
  if (bytes.size() < sizeof kCompactMagic || std::memcmp(bytes.data(), kCompactMagic, 6) != 0)
    return unreadable(Errc::InvalidInput, "trace-002",
                      "not a compact file of a Run, expected it to begin with COXRUN1", kHint);
  if (std::memcmp(bytes.data(), kCompactMagic, sizeof kCompactMagic) != 0)
    return unreadable(Errc::Unsupported, "trace-003", "newer compact format, this cox reads version 1",
                      "read it with the version of cox that wrote it, or a later one");
  CompactReader reader(bytes);
  BlockHeader head{};
  if (!reader.peek(head) || head.kind != BlockKind::Header || !reader.inflate(head) ||
      reader.content_.size() != kHeaderBytes)
    return unreadable(Errc::InvalidInput, "trace-002",
                      "its first block is cut or damaged, nothing is readable", "make it anew, or remove it");
  std::memcpy(&reader.header_, reader.content_.data(), kHeaderBytes);
  COX_CHECK(check_raw_header(reader.header_));
  while (reader.peek(head) && head.kind == BlockKind::Meta) {
    const std::size_t number = reader.block_;
    if (!reader.inflate(head))
      reader.losses_.add(fmt::format("block {} (meta data) is damaged", number));
    else if (reader.meta_.size() + reader.content_.size() <= kMaxMeta)
      reader.meta_ += reader.content_;
    else
      reader.losses_.add(fmt::format("block {}: more than {} bytes of meta data", number, kMaxMeta));
  }
  return reader;
}

std::size_t CompactReader::expected_records() const {
  std::size_t total = 0;
  BlockHeader head{};
  CompactReader ahead(bytes_);
  ahead.at_ = at_;
  while (ahead.peek(head)) {
    if (head.kind == BlockKind::Events) total += std::min<std::size_t>(head.records, kMaxRecordsPerBlock);
    ahead.at_ += sizeof head + static_cast<std::size_t>(head.stored_bytes);
  }
  return std::min(total, kMaxRecordsPerFile);
}

bool CompactReader::next(RecordColumns& into) {
  BlockHeader head{};
  while (!ended_) {
    if (!peek(head)) {
      ended_ = true;
      losses_.add(at_ == bytes_.size()
                      ? fmt::format("cut after block {} at byte {}, before its end mark", block_, at_)
                      : fmt::format("cut or damaged in block {}: nothing after byte {} of {} is readable",
                                    block_, at_, bytes_.size()));
      break;
    }
    const std::size_t number = block_;
    const bool good = inflate(head);
    if (head.kind == BlockKind::End) {
      ended_ = true;
      if (good)
        read_end();
      else
        losses_.add("the end mark is damaged");
    } else if (head.kind == BlockKind::Events) {
      if (read_.records + head.records > kMaxRecordsPerFile) {
        ended_ = true;
        losses_.add(fmt::format("records beyond the first {} are not read", kMaxRecordsPerFile));
      } else if (good && decode_block(content_, into) && into.size() == head.records) {
        read_.records += into.size();
        ++read_.blocks;
        return true;
      } else {
        losses_.add(
            fmt::format("block {} with {} is damaged", number, counted(head.records, "record", "records")));
      }
    } else if (head.kind == BlockKind::Samples) {
      read_samples(head, number, good);
    } else if (head.kind == BlockKind::Header || head.kind == BlockKind::Meta) {
      losses_.add(fmt::format("block {} is out of place", number));
    }  // kinds that a later version added are skipped
  }
  into.resize(0);
  return false;
}

void CompactReader::read_samples(const BlockHeader& head, std::size_t number, bool good) {
  const std::size_t before = samples_.size();
  if (!good || !decode_samples(content_, samples_) || samples_.size() - before != head.records) {
    samples_.resize(before);
    return losses_.add(
        fmt::format("block {} with {} is damaged", number, counted(head.records, "sample", "samples")));
  }
  if (samples_.size() <= kMaxSamplesPerFile) return;
  losses_.add(fmt::format("samples beyond the first {} are not read", kMaxSamplesPerFile));
  samples_.resize(kMaxSamplesPerFile);
}

std::vector<RawSample> CompactReader::take_samples() {
  sort_samples(samples_);
  return std::exchange(samples_, {});
}

void CompactReader::read_end() {
  std::string_view content = content_;
  EndHead end{};
  if (content.size() < sizeof end) return losses_.add("the end mark is damaged");
  std::memcpy(&end, content.data(), sizeof end);
  content.remove_prefix(sizeof end);
  if (end.records != read_.records || end.blocks != read_.blocks)
    losses_.add(fmt::format("{} of {} records {} read", read_.records, end.records,
                            read_.records == 1 ? "was" : "were"));
  for (std::uint32_t i = 0; i < std::min<std::uint64_t>(end.losses, kMaxLosses); ++i) {
    std::uint32_t length = 0;
    if (content.size() < sizeof length) return losses_.add("the end mark is damaged");
    std::memcpy(&length, content.data(), sizeof length);
    content.remove_prefix(sizeof length);
    if (content.size() < length) return losses_.add("the end mark is damaged");
    losses_.add("when it was compacted: " +
                clean_text(content.substr(0, std::min<std::uint32_t>(length, 1000))));
    content.remove_prefix(length);
  }
}

Result<ProcessRecords> decode_compact(std::string_view bytes) {
  COX_TRY(CompactReader reader, CompactReader::open(bytes));
  ProcessRecords out;
  out.header = reader.header();
  out.meta = reader.meta();
  RecordColumns block;
  while (reader.next(block)) out.records.append(block);
  out.samples = reader.take_samples();
  out.losses = reader.take_losses();
  return out;
}

}  // namespace cox::trace
