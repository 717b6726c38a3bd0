// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>

#include "support/make_run.hpp"
#include "trace/raw/sample_block.hpp"

namespace cox::test {
namespace {

using namespace cox::trace;

template <std::size_t N>
void put_text(char (&field)[N], const std::string& text) {
  std::memcpy(field, text.data(), std::min(text.size(), N - 1));
}

template <class T>
void append(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Rounds a time of the Run to a reading of the process's tick counter.
class Ticks {
 public:
  explicit Ticks(const RawShape& shape)
      : per_second_(shape.ticks_per_second), base_(static_cast<double>(shape.boot_ns) * 1e-9 * per_second_) {}
  [[nodiscard]] std::uint64_t at(Duration d) const {
    const auto whole = static_cast<std::int64_t>(std::llround(base_));
    return static_cast<std::uint64_t>(whole +
                                      std::llround(static_cast<double>(d.count()) * 1e-12 * per_second_));
  }

 private:
  double per_second_;
  double base_;
};

RawHeader header_of(const Run& run, const RankTrack& track, const RawShape& shape, const Ticks& ticks) {
  RawHeader h{};
  std::memcpy(h.magic, kRawMagic, sizeof h.magic);
  h.version = kRawVersion;
  h.endian = kEndianMark;
  h.header_bytes = kHeaderBytes;
  h.chunk_bytes = shape.chunk_bytes;
  h.record_bytes = sizeof(RawRecord);
  h.chunk_limit = 1'000'000;
  h.pinned_chunks = h.chunk_limit / 8;
  h.clock_kind = shape.ticks_per_second == 1e9 ? ClockKind::Monotonic : ClockKind::Tsc;
  h.ticks_per_second = shape.ticks_per_second;
  h.pid = track.pid;
  h.pid_namespace = track.pid_namespace;
  h.ppid = 1;
  h.start_time = track.start_time;
  h.node_number = track.node_number + 1;
  h.local_size = track.local_size;
  h.sample_tickets = track.samples.size();
  h.rank = track.rank.value();
  h.world_size = run.world_size;
  h.local_rank = track.local_rank.value();
  h.attempt = track.attempt;
  h.state = shape.state;
  h.dropped_records = track.dropped_records;
  h.recycled_records = track.recycled_records;
  h.overhead_ticks = 25;
  const Duration last = track.events.size() == 0 ? Duration::zero() : track.events.begin.back();
  for (const Duration d : {Duration::zero(), last}) {
    const auto ns = d.count() / 1000;
    h.pairs[h.pair_count++] = {ticks.at(Duration{ns * 1000}), static_cast<std::int64_t>(shape.boot_ns) + ns,
                               run.origin_realtime_ns + ns};
  }
  const Node& node = run.nodes.at(static_cast<std::size_t>(track.node.value()));
  put_text(h.host, node.host);
  h.time_namespace = node.time_namespace;
  put_text(h.boot_id, node.boot_id);
  put_text(h.job, "synthetic-1");
  put_text(h.launcher, "none");
  put_text(h.library, track.library);
  put_text(h.program, track.program);
  put_text(h.timing, track.timing);
  return h;
}

std::string meta_of(const Run& run, const RankTrack& track) {
  std::string out;
  for (const Communicator& c : run.communicators) {
    const auto mine = std::lower_bound(c.ranks.begin(), c.ranks.end(), track.rank);
    if (mine == c.ranks.end() || *mine != track.rank) continue;
    std::string body;
    append(body, MetaCommunicator{.identity = c.identity,
                                  .local_number = static_cast<std::uint32_t>(c.id.value() + 1),
                                  .size = c.size,
                                  .my_rank = static_cast<std::int32_t>(mine - c.ranks.begin()),
                                  .member_count = static_cast<std::uint32_t>(c.ranks.size())});
    for (const Rank r : c.ranks) append(body, std::int32_t{r.value()});
    body += c.name;
    append(out, MetaHead{.kind = MetaKind::Communicator, .size = static_cast<std::uint32_t>(body.size())});
    out += body;
    out.resize((out.size() + 7) / 8 * 8, '\0');
  }
  std::string facts;
  for (const LocalityFact& fact : track.locality) facts += fact.path + '\t' + fact.value + '\n';
  if (facts.empty()) return out;
  append(out, MetaHead{.kind = MetaKind::Locality, .size = static_cast<std::uint32_t>(facts.size())});
  out += facts;
  out.resize((out.size() + 7) / 8 * 8, '\0');
  return out;
}

void append_chunk(std::string& file, std::uint32_t chunk_bytes, ChunkHeader head, const std::string& body) {
  head.magic = kChunkMagic;
  append(file, head);
  file += body;
  file.resize(file.size() + chunk_bytes - sizeof head - body.size(), '\0');
}

RawRecord record_of(const EventColumns& columns, std::size_t i, const Ticks& ticks) {
  const Event e = columns[i];
  return {.begin = ticks.at(e.begin),
          .end = e.end == kStillRunning ? 0 : ticks.at(e.end),
          .bytes = static_cast<std::uint64_t>(e.bytes.count()),
          .comm = e.comm == kNoComm ? 0 : static_cast<std::uint32_t>(e.comm.value() + 1),
          .seq = e.seq,
          .kind = static_cast<std::uint8_t>(e.kind),
          .op = e.op,
          .flags = e.flags,
          .aux = e.aux};
}

}  // namespace

std::string raw_file(const Run& run, const RankTrack& track, const RawShape& shape) {
  const Ticks ticks(shape);
  RawHeader header = header_of(run, track, shape, ticks);
  const std::uint32_t chunk_bytes = std::max<std::uint32_t>(
      shape.chunk_bytes,
      static_cast<std::uint32_t>(sizeof(ChunkHeader) + sizeof(MetaHead) + sizeof(MetaCommunicator)));
  const std::size_t room = chunk_bytes - sizeof(ChunkHeader);
  const std::size_t per_chunk = room / sizeof(RawRecord);
  std::string chunks;
  const std::string meta = meta_of(run, track);
  // Entries never straddle chunks; a synthetic world whose member list needs more
  // than one chunk gets larger ones.
  if (meta.size() > room) {
    RawShape larger = shape;
    larger.chunk_bytes = static_cast<std::uint32_t>((meta.size() + sizeof(ChunkHeader) + 4095) / 4096 * 4096);
    return raw_file(run, track, larger);
  }
  append_chunk(chunks, chunk_bytes,
               {.magic = 0,
                .kind = ChunkKind::Meta,
                .ticket = header.tickets++,
                .thread = 0,
                .sealed = 0,
                .committed = meta.size(),
                .first_ticks = ticks.at(Duration::zero()),
                .reserved = {}},
               meta);
  const EventColumns& e = track.events;
  // A chunk belongs to one thread.
  std::map<std::uint32_t, std::vector<std::size_t>> by_thread;
  for (std::size_t i = 0; i < e.size(); ++i) by_thread[e.thread[i]].push_back(i);
  for (const auto& [thread, events] : by_thread) {
    for (std::size_t first = 0; first < events.size(); first += per_chunk) {
      const std::size_t last = std::min(first + per_chunk, events.size());
      std::string body;
      for (std::size_t i = first; i < last; ++i) append(body, record_of(e, events[i], ticks));
      append_chunk(chunks, chunk_bytes,
                   {.magic = 0,
                    .kind = ChunkKind::Events,
                    .ticket = header.tickets++,
                    .thread = static_cast<std::uint32_t>(track.pid) + thread,
                    .sealed = last < events.size() ? 1U : 0U,
                    .committed = last - first,
                    .first_ticks = ticks.at(e.begin[events[first]]),
                    .reserved = {}},
                   body);
    }
  }
  for (std::size_t first = 0; first < track.samples.size(); first += room / sizeof(RawSample)) {
    const std::size_t last = std::min(first + room / sizeof(RawSample), track.samples.size());
    std::string body;
    for (std::size_t i = first; i < last; ++i)
      append(body, raw_sample_of(track.samples[i], ticks.at(track.samples[i].at)));
    append_chunk(chunks, chunk_bytes,
                 {.magic = 0,
                  .kind = ChunkKind::Samples,
                  .ticket = header.tickets++,
                  .thread = 0,
                  .sealed = last < track.samples.size() ? 1U : 0U,
                  .committed = last - first,
                  .first_ticks = ticks.at(track.samples[first].at),
                  .reserved = {}},
                 body);
  }
  header.chunks_reserved = header.tickets;
  std::string file;
  append(file, header);
  return file + chunks;
}

bool write_raw_files(const Run& run, const std::filesystem::path& dir, const RawShape& shape) {
  std::error_code ec;
  std::filesystem::create_directories(dir, ec);
  for (const RankTrack& track : run.ranks) {
    std::string number = std::to_string(track.rank.value());
    number.insert(0, 6 - std::min<std::size_t>(6, number.size()), '0');
    put_file(dir / ("rank-" + number + ".coxraw"), raw_file(run, track, shape));
    if (!std::filesystem::exists(dir / ("rank-" + number + ".coxraw"), ec)) return false;
  }
  return true;
}

ScratchDir::ScratchDir() {
  std::string name = (std::filesystem::temp_directory_path() / "cox-test-XXXXXX").string();
  if (::mkdtemp(name.data()) != nullptr) path_ = name;
}

ScratchDir::~ScratchDir() {
  std::error_code ec;
  if (!path_.empty()) std::filesystem::remove_all(path_, ec);
}

std::string file_content(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void put_file(const std::filesystem::path& path, std::string_view content) {
  std::ofstream(path, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
}

}  // namespace cox::test
