// SPDX-License-Identifier: Apache-2.0
#include "trace/assemble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "cox/base/parallel.hpp"

#include "trace/communicators.hpp"

namespace cox::trace {
namespace {

constexpr int kMaxRank = 1 << 24;
/// Times of a Run fit into `Duration` (106 days) with room for differences between them.
constexpr Int128 kLatestPs = Int128{TickScale::kPsPerDay} * 104;

std::int64_t start_ns(const ProcessFile& p) {
  const Int128 start = Int128{p.reference_ns} + p.realtime_offset_ns.value_or(0);
  return static_cast<std::int64_t>(std::clamp<Int128>(start, INT64_MIN, INT64_MAX));
}

/// Whether `a` is the one to keep of two processes that claim the same rank.
bool supersedes(const ProcessFile& a, const ProcessFile& b) {
  if (a.attempt != b.attempt) return a.attempt > b.attempt;
  if (start_ns(a) != start_ns(b)) return start_ns(a) > start_ns(b);
  return a.file > b.file;
}

/// Keeps one process per rank, sorted by rank; the others become Notes.
std::vector<ProcessFile> one_per_rank(std::vector<ProcessFile> processes, std::vector<Note>& notes) {
  std::map<int, std::size_t> best;
  std::vector<std::pair<std::size_t, std::string>> unused;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const ProcessFile& p = processes[i];
    if (p.rank < 0) {
      unused.emplace_back(i, fmt::format("process {} never became a rank: its {} events are not used", p.pid,
                                         p.events.size()));
    } else if (p.rank >= kMaxRank) {
      unused.emplace_back(i, fmt::format("process {} claims rank {}, expected less than {}: it is not used",
                                         p.pid, p.rank, kMaxRank));
    } else {
      const auto [at, fresh] = best.emplace(p.rank, i);
      if (fresh) continue;
      std::size_t loser = i;
      if (supersedes(p, processes[at->second])) loser = std::exchange(at->second, i);
      unused.emplace_back(
          loser, fmt::format("an earlier attempt of rank {} (process {}): its {} events are not used", p.rank,
                             processes[loser].pid, processes[loser].events.size()));
    }
  }
  std::sort(unused.begin(), unused.end());
  for (auto& [i, text] : unused) notes.push_back({.file = processes[i].file, .text = std::move(text)});
  std::vector<ProcessFile> kept;
  kept.reserve(best.size());
  for (const auto& [rank, i] : best) kept.push_back(std::move(processes[i]));
  return kept;
}

std::string clock_key(const ProcessFile& p) {
  // A container may have a time namespace of its own: another monotonic clock under the same kernel.
  return p.boot_id.empty() ? "host " + p.host : fmt::format("{} {}", p.boot_id, p.time_namespace);
}

/// Where each process's time zero lies on one common axis, in picoseconds.
struct Placement {
  std::vector<Node> nodes;
  std::vector<NodeId> node;                                     // per process
  std::vector<std::optional<Int128>> zero_ps;                   // per process; nothing = not known yet
  std::vector<std::optional<std::int64_t>> realtime_offset_ns;  // per node
};

/// Processes of one machine share its monotonic clock; machines are put side by side by their realtime
/// clocks.
Placement place(const std::vector<ProcessFile>& processes) {
  Placement out;
  std::map<std::string, NodeId> ids;
  std::vector<std::vector<std::int64_t>> offsets;
  for (const ProcessFile& p : processes) {
    const auto [at, fresh] = ids.emplace(clock_key(p), NodeId{static_cast<std::int32_t>(out.nodes.size())});
    if (fresh) {
      out.nodes.push_back(
          {.id = at->second, .host = p.host, .boot_id = p.boot_id, .time_namespace = p.time_namespace});
      offsets.emplace_back();
    }
    out.node.push_back(at->second);
    if (p.realtime_offset_ns)
      offsets[static_cast<std::size_t>(at->second.value())].push_back(*p.realtime_offset_ns);
  }
  for (auto& of_node : offsets) {
    std::sort(of_node.begin(), of_node.end());
    out.realtime_offset_ns.push_back(of_node.empty() ? std::nullopt
                                                     : std::optional(of_node[of_node.size() / 2]));
  }
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const ProcessFile& p = processes[i];
    const auto offset = out.realtime_offset_ns[static_cast<std::size_t>(out.node[i].value())];
    const auto first = out.realtime_offset_ns[0];
    std::optional<Int128> zero = Int128{p.reference_ns} * 1000 + p.reference_fraction.count();
    if (out.node[i] != NodeId{0}) {
      if (offset && first)
        *zero += (Int128{*offset} - *first) * 1000;
      else
        zero.reset();
    }
    out.zero_ps.push_back(p.aligned ? zero : std::nullopt);
  }
  return out;
}

std::optional<Int128> earliest(const std::vector<ProcessFile>& processes, const Placement& placed) {
  std::optional<Int128> origin;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    if (!placed.zero_ps[i] || processes[i].events.size() == 0) continue;
    const Int128 begin = *placed.zero_ps[i] + processes[i].events.begin.front().count();
    if (!origin || begin < *origin) origin = begin;
  }
  if (origin) return origin;
  // A job that hung before its first event still has samples to place.
  for (std::size_t i = 0; i < processes.size(); ++i) {
    if (!placed.zero_ps[i] || processes[i].samples.empty()) continue;
    const Int128 at = *placed.zero_ps[i] + processes[i].samples.front().at.count();
    if (!origin || at < *origin) origin = at;
  }
  return origin;
}

Duration latest_time(const EventColumns& e) {
  Duration latest = Duration::min();
  for (std::size_t i = 0; i < e.size(); ++i)
    latest = std::max(latest, e.end[i] == kStillRunning ? e.begin[i] : e.end[i]);
  return latest;
}

void move_events(EventColumns& e, Duration by) {
  for (Duration& t : e.begin) t += by;
  for (Duration& t : e.end)
    if (t != kStillRunning) t += by;
}

void rename_communicators(EventColumns& e, const std::unordered_map<std::uint32_t, CommId>& names,
                          std::size_t& unknown) {
  CommId last_from = kNoComm;
  CommId last_to = kNoComm;
  for (CommId& c : e.comm) {
    if (c == kNoComm) continue;
    if (c != last_from) {
      const auto at = names.find(static_cast<std::uint32_t>(c.value()));
      last_from = c;
      last_to = at == names.end() ? kNoComm : at->second;
    }
    if (last_to == kNoComm) ++unknown;
    c = last_to;
  }
}

RankTrack track_of(ProcessFile& p, NodeId node) {
  RankTrack t;
  t.rank = Rank{p.rank};
  t.node = node;
  t.local_rank = LocalRank{p.local_rank};
  t.pid = p.pid;
  t.start_time = p.start_time;
  t.attempt = p.attempt;
  t.node_number = p.node_number;
  t.local_size = p.local_size;
  t.launcher = std::move(p.launcher);
  t.program = std::move(p.program);
  t.library = std::move(p.library);
  t.timing = std::move(p.timing);
  t.clock = {.node = node, .kind = p.clock_kind, .residual = p.residual};
  t.state = p.state;
  t.overhead_per_event = p.overhead;
  t.dropped_records = p.dropped_records;
  t.recycled_records = p.recycled_records;
  t.events = std::move(p.events);
  t.samples = std::move(p.samples);
  t.locality = std::move(p.locality);
  return t;
}

void take_world_size(const std::vector<ProcessFile>& processes, Run& run) {
  for (const ProcessFile& p : processes) run.world_size = std::max(run.world_size, p.world_size);
  run.world_size = std::min(run.world_size, kMaxRank);
  for (const ProcessFile& p : processes) {
    if (p.world_size > 0 && p.world_size != run.world_size)
      run.notes.push_back({.file = p.file,
                           .text = fmt::format("rank {} says that there are {} ranks, another says {}",
                                               p.rank, p.world_size, run.world_size)});
    else if (run.world_size > 0 && p.rank >= run.world_size)
      run.notes.push_back(
          {.file = p.file,
           .text = fmt::format("rank {} of {} ranks is out of range", p.rank, run.world_size)});
  }
}

/// What is done to one rank's times once the whole Run is known. Runs beside others of its kind.
struct Finish {
  Duration by{};
  bool usable = true;
  std::size_t unknown_comm = 0;
};

/// Samples on the Run's axis, negative where taken before its first event. Those too far away for it go.
void move_samples(std::vector<Sample>& samples, Int128 by) {
  const auto far = [by](const Sample& s) {
    const Int128 at = by + s.at.count();
    return at > kLatestPs || at < -kLatestPs;
  };
  std::erase_if(samples, far);
  for (Sample& s : samples) s.at = Duration{static_cast<std::int64_t>(by + s.at.count())};
}

Finish finish_process(ProcessFile& process, std::optional<Int128> zero_ps, Int128 origin,
                      const std::unordered_map<std::uint32_t, CommId>& names) {
  Finish out;
  EventColumns& events = process.events;
  if (events.size() == 0) {
    if (zero_ps) return move_samples(process.samples, *zero_ps - origin), out;
    return process.samples.clear(), out;
  }
  // A process that cannot be placed begins at the origin: its spans are right, its begins mean nothing.
  const Int128 by = zero_ps ? *zero_ps - origin : -Int128{events.begin.front().count()};
  const Int128 last = by + latest_time(events).count();
  if (by + events.begin.front().count() < 0 || last > kLatestPs) {
    out.usable = false;
    events = {};
    process.samples.clear();
    return out;
  }
  move_events(events, Duration{static_cast<std::int64_t>(by)});
  move_samples(process.samples, by);
  rename_communicators(events, names, out.unknown_comm);
  return out;
}

/// What each node's monotonic clock said at the origin; the inverse of how `place` put nodes side by side.
void tell_monotonic_origins(std::optional<Int128> origin_ps,
                            const std::vector<std::optional<std::int64_t>>& offset_ns,
                            std::vector<Node>& nodes) {
  for (std::size_t n = 0; origin_ps && n < nodes.size(); ++n) {
    if (n > 0 && (!offset_ns[n] || !offset_ns[0])) continue;
    const Int128 at = *origin_ps / 1000 + (n > 0 ? Int128{*offset_ns[0]} - *offset_ns[n] : Int128{0});
    if (at >= 0 && at <= INT64_MAX) nodes[n].monotonic_origin_ns = static_cast<std::int64_t>(at);
  }
}

std::int64_t realtime_of(Int128 origin_ps, std::optional<std::int64_t> offset_ns) {
  const Int128 ns = origin_ps / 1000 + offset_ns.value_or(0);
  return offset_ns && ns >= 0 && ns <= INT64_MAX ? static_cast<std::int64_t>(ns) : 0;
}

}  // namespace

Run assemble(std::vector<ProcessFile> processes, int threads) {
  Run run;
  for (ProcessFile& p : processes)
    for (std::string& note : p.notes) run.notes.push_back({.file = p.file, .text = std::move(note)});
  processes = one_per_rank(std::move(processes), run.notes);
  if (processes.empty()) return run;
  take_world_size(processes, run);
  for (const ProcessFile& p : processes)
    if (run.info.job.empty()) run.info.job = p.job;

  Placement placed = place(processes);
  run.nodes = std::move(placed.nodes);
  const std::optional<Int128> origin = earliest(processes, placed);
  tell_monotonic_origins(origin, placed.realtime_offset_ns, run.nodes);
  run.origin_realtime_ns = origin ? realtime_of(*origin, placed.realtime_offset_ns[0]) : 0;

  MatchedCommunicators matched = match_communicators(processes);
  run.communicators = std::move(matched.all);
  for (Note& note : matched.notes) run.notes.push_back(std::move(note));

  std::vector<Finish> finished(processes.size());
  parallel_for(processes.size(), threads, [&](std::size_t i) {
    finished[i] = finish_process(processes[i], placed.zero_ps[i], origin.value_or(0), matched.local[i]);
  });
  for (std::size_t i = 0; i < processes.size(); ++i) {
    ProcessFile& p = processes[i];
    if (!finished[i].usable)
      run.notes.push_back(
          {.file = p.file,
           .text = fmt::format("rank {}: its clock is more than 100 days from the others', its "
                               "events are not used",
                               p.rank)});
    if (finished[i].unknown_comm > 0)
      run.notes.push_back({.file = p.file,
                           .text = fmt::format("rank {}: {} events name a communicator that is not described",
                                               p.rank, finished[i].unknown_comm)});
    if (!placed.zero_ps[i] && p.events.size() > 0)
      run.notes.push_back(
          {.file = p.file,
           .text = fmt::format("rank {}: its times cannot be compared with other ranks'", p.rank)});
    run.ranks.push_back(track_of(p, placed.node[i]));
  }
  return run;
}

}  // namespace cox::trace
