// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/file.hpp"
#include "cox/base/parallel.hpp"
#include "cox/trace/compact.hpp"
#include "cox/trace/run_info.hpp"

#include "trace/raw/meta_entries.hpp"
#include "trace/raw/sample_block.hpp"
#include "trace/store/compact_file.hpp"

namespace cox::trace {
namespace {

namespace fs = std::filesystem;

/// Ticks of a written Run are picoseconds, and the Run's origin is at this tick:
/// a record's `begin` must not be 0.
constexpr std::uint64_t kOriginTicks = 1'000'000'000'000'000U;
constexpr double kTicksPerSecond = 1e12;

template <std::size_t N>
void put_text(char (&field)[N], const std::string& text) {
  std::memcpy(field, text.data(), std::min(text.size(), N - 1));
}

template <class T>
void append_pod(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::uint64_t ticks_of(Duration d) {
  return kOriginTicks + static_cast<std::uint64_t>(d.count());
}

RawHeader header_of(const Run& run, const RankTrack& track) {
  RawHeader h{};
  std::memcpy(h.magic, kRawMagic, sizeof h.magic);
  h.version = kRawVersion;
  h.endian = kEndianMark;
  h.header_bytes = kHeaderBytes;
  h.chunk_bytes = kDefaultChunkBytes;
  h.record_bytes = sizeof(RawRecord);
  h.clock_kind = ClockKind::Monotonic;
  h.ticks_per_second = kTicksPerSecond;
  h.pid = track.pid;
  h.pid_namespace = track.pid_namespace;
  h.ppid = -1;
  h.start_time = track.start_time;
  h.node_number = track.node_number + 1;
  h.local_size = track.local_size;
  h.sample_tickets = track.samples.size();
  h.rank = track.rank.value();
  h.world_size = run.world_size;
  h.local_rank = track.local_rank.value();
  h.attempt = track.attempt;
  h.state = track.state;
  h.dropped_records = track.dropped_records;
  h.recycled_records = track.recycled_records;
  std::copy(track.unobserved_calls.begin(), track.unobserved_calls.end(), h.unobserved_calls);
  h.overhead_ticks = static_cast<std::uint64_t>(std::max<std::int64_t>(track.overhead_per_event.count(), 0));
  h.pair_count = 1;
  h.pairs[0] = {kOriginTicks, static_cast<std::int64_t>(kOriginTicks / 1000), run.origin_realtime_ns};
  const auto node =
      std::find_if(run.nodes.begin(), run.nodes.end(), [&](const Node& n) { return n.id == track.node; });
  if (node != run.nodes.end()) {
    put_text(h.host, node->host);
    h.time_namespace = node->time_namespace;
    put_text(h.boot_id, node->boot_id.empty() ? fmt::format("node-{}", node->id.value()) : node->boot_id);
  }
  put_text(h.job, run.info.job);
  put_text(h.launcher, name_of(run.info.provenance));
  put_text(h.library, track.library);
  put_text(h.program, track.program);
  put_text(h.timing, track.timing);
  return h;
}

/// Members of a communicator as a file lists them: as ranges where these are shorter.
struct Listed {
  MetaKind kind = MetaKind::Communicator;
  std::uint32_t count = 0;
  std::string bytes;
};

Listed listed(const Communicator& c) {
  Listed out;
  const std::vector<MetaRanks> ranges = ranges_of(c.ranks);
  if (ranges.size() * sizeof(MetaRanks) < c.ranks.size() * sizeof(std::int32_t)) {
    out.kind = MetaKind::CommunicatorRanges;
    out.count = static_cast<std::uint32_t>(ranges.size());
    for (const MetaRanks& range : ranges) append_pod(out.bytes, range);
    return out;
  }
  out.count = static_cast<std::uint32_t>(c.ranks.size());
  for (const Rank r : c.ranks) append_pod(out.bytes, std::int32_t{r.value()});
  return out;
}

std::string meta_of(const Run& run, const std::vector<Listed>& members, const RankTrack& track) {
  std::string out;
  for (std::size_t i = 0; i < run.communicators.size(); ++i) {
    const Communicator& c = run.communicators[i];
    const auto mine = std::lower_bound(c.ranks.begin(), c.ranks.end(), track.rank);
    if (mine == c.ranks.end() || *mine != track.rank) continue;
    std::string body;
    append_pod(body, MetaCommunicator{.identity = c.identity,
                                      .local_number = static_cast<std::uint32_t>(c.id.value() + 1),
                                      .size = c.size,
                                      .my_rank = static_cast<std::int32_t>(mine - c.ranks.begin()),
                                      .member_count = members[i].count});
    body += members[i].bytes;
    body += c.name;
    append_pod(out, MetaHead{.kind = members[i].kind, .size = static_cast<std::uint32_t>(body.size())});
    out += body;
    out.resize((out.size() + 7) / 8 * 8, '\0');
  }
  std::string facts;
  for (const LocalityFact& fact : track.locality) facts += fact.path + '\t' + fact.value + '\n';
  if (facts.empty()) return out;
  append_pod(out, MetaHead{.kind = MetaKind::Locality, .size = static_cast<std::uint32_t>(facts.size())});
  out += facts;
  out.resize((out.size() + 7) / 8 * 8, '\0');
  return out;
}

std::vector<RawSample> samples_of(const RankTrack& track) {
  std::vector<RawSample> out;
  out.reserve(track.samples.size());
  for (const Sample& s : track.samples) out.push_back(raw_sample_of(s, ticks_of(s.at)));
  return out;
}

RecordColumns records_of(const EventColumns& e) {
  RecordColumns r;
  r.resize(e.size());
  for (std::size_t i = 0; i < e.size(); ++i) {
    const Event event = e[i];
    const RawRecord record{.begin = ticks_of(event.begin),
                           .end = event.end == kStillRunning ? 0 : ticks_of(event.end),
                           .bytes = static_cast<std::uint64_t>(event.bytes.count()),
                           .comm = static_cast<std::uint32_t>(event.comm.value() + 1),  // kNoComm gives 0
                           .seq = event.seq,
                           .kind = static_cast<std::uint8_t>(event.kind),
                           .op = event.op,
                           .flags = event.flags,
                           .aux = event.aux};
    r.set(i, record, event.thread);
  }
  return r;
}

}  // namespace

Status check_new_run(const fs::path& dir) {
  std::error_code ec;
  if (fs::exists(dir, ec) && (!fs::is_directory(dir, ec) || !fs::is_empty(dir, ec)))
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "base-005",
                      .message = "exists already and is not an empty folder",
                      .hint = "choose another name, or remove it first",
                      .where = Where{.file = dir.string()}});
  return {};
}

Status write_run(const Run& run, const fs::path& dir, int threads) {
  COX_CHECK(check_new_run(dir));
  std::error_code ec;
  fs::create_directories(dir, ec);
  if (ec)
    return fail(Error{.code = Errc::Io,
                      .id = "base-006",
                      .message = "cannot be made: " + ec.message(),
                      .hint = "check the folder above it and its rights",
                      .where = Where{.file = dir.string()}});
  std::vector<Listed> members;
  members.reserve(run.communicators.size());
  for (const Communicator& c : run.communicators) members.push_back(listed(c));
  std::vector<std::optional<Error>> errors(run.ranks.size());
  parallel_for(run.ranks.size(), threads, [&](std::size_t i) {
    const RankTrack& track = run.ranks[i];
    const ProcessRecords process{.header = header_of(run, track),
                                 .meta = meta_of(run, members, track),
                                 .records = records_of(track.events),
                                 .samples = samples_of(track),
                                 .losses = {}};
    const fs::path file = dir / fmt::format("rank-{:06}.cox", track.rank.value());
    if (auto status = write_file_atomically(file, encode_compact(process), IfExists::Fail); !status)
      errors[i] = std::move(status).error();
  });
  for (std::optional<Error>& error : errors)
    if (error) return fail(*std::move(error));
  return write_run_info(dir, run.info);
}

}  // namespace cox::trace
