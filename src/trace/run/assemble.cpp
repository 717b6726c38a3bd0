// SPDX-License-Identifier: Apache-2.0
#include "trace/run/assemble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "cox/base/parallel.hpp"

#include "trace/run/communicators.hpp"
#include "trace/run/host_clocks.hpp"

namespace cox::trace {
namespace {

constexpr int kMaxRank = 1 << 24;
/// Times of a Run fit into `Duration` (106 days) with room for differences between them.
constexpr Int128 kLatestPs = Int128{TickScale::kPsPerDay} * 104;

std::int64_t start_ns(const ProcessFile& p) {
  const Int128 start = Int128{p.reference_ns} + p.realtime_offset_ns.value_or(0);
  return static_cast<std::int64_t>(std::clamp<Int128>(start, INT64_MIN, INT64_MAX));
}

/// End of the last event, Unix time; the start where there is none.
std::int64_t last_seen_ns(const ProcessFile& p) {
  Duration last{};
  for (std::size_t i = 0; i < p.events.size(); ++i)
    last = std::max(last, p.events.end[i] == kStillRunning ? p.events.begin[i] : p.events.end[i]);
  return static_cast<std::int64_t>(
      std::clamp<Int128>(Int128{start_ns(p)} + last.count() / 1000, INT64_MIN, INT64_MAX));
}

/// Whether `a` is the one to keep of two processes that claim the same rank.
bool supersedes(const ProcessFile& a, const ProcessFile& b) {
  if (a.attempt != b.attempt) return a.attempt > b.attempt;
  if (start_ns(a) != start_ns(b)) return start_ns(a) > start_ns(b);
  return a.file > b.file;
}

/// Decides which processes are the Run: one launch, one process per rank. The others become Notes.
class Selection {
 public:
  Selection(std::vector<ProcessFile>& processes, std::vector<Note>& notes)
      : processes_(processes), notes_(notes) {}

  /// Indices of the kept processes, by rank.
  [[nodiscard]] std::vector<std::size_t> take() {
    leave_out_unusable();
    tell_singletons();
    leave_out_other_jobs();
    leave_out_superseded();
    leave_out_remains();
    std::sort(unused_.begin(), unused_.end());
    for (auto& [i, text] : unused_) notes_.push_back({.file = processes_[i].file, .text = std::move(text)});
    std::vector<std::size_t> kept;
    kept.reserve(best_.size());
    for (const auto& [rank, i] : best_) kept.push_back(i);
    return kept;
  }

 private:
  void leave_out(std::size_t i, std::string text) { unused_.emplace_back(i, std::move(text)); }

  void leave_out_unusable() {
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      const ProcessFile& p = processes_[i];
      if (p.rank < 0)
        leave_out(i, fmt::format("process {} never became a rank: its {} events are not used", p.pid,
                                 p.events.size()));
      else if (p.rank >= kMaxRank)
        leave_out(i, fmt::format("process {} claims rank {}, expected less than {}: it is not used", p.pid,
                                 p.rank, kMaxRank));
      else
        candidates_.push_back(i);
    }
  }

  /// Several processes that ran at one time and each call themselves rank 0 of 1 were meant to be one job.
  void tell_singletons() {
    std::vector<std::pair<std::int64_t, int>> changes;  // time, one more or one less; ends sort behind starts
    for (const std::size_t i : candidates_) {
      const ProcessFile& p = processes_[i];
      if (p.rank != 0 || p.world_size != 1) continue;
      ++singletons_;
      changes.emplace_back(start_ns(p), -1);
      changes.emplace_back(last_seen_ns(p), 1);
    }
    std::sort(changes.begin(), changes.end());
    int alive = 0;
    int most = 0;
    for (const auto& [time, change] : changes) most = std::max(most, alive -= change);
    if (most < 2) singletons_ = 0;
    if (singletons_ > 0)
      notes_.push_back(
          {.file = {},
           .text = fmt::format("{} processes that ran at the same time each say that they are rank 0 of 1: "
                               "the launcher and the MPI library of the program do not match",
                               singletons_)});
  }

  /// Of several jobs the last one counts; one that began while it ran (a job that MPI_Comm_spawn made) is not
  /// the next one. A process without an id belongs to whichever job there is.
  void leave_out_other_jobs() {
    struct Job {
      std::int64_t begin = INT64_MAX;
      std::int64_t end = INT64_MIN;
      std::string id;
    };
    std::map<std::string, Job> by_id;
    for (const std::size_t i : candidates_) {
      const ProcessFile& p = processes_[i];
      if (p.job.empty()) continue;
      Job& job = by_id[p.job];
      job.begin = std::min(job.begin, start_ns(p));
      job.end = std::max(job.end, last_seen_ns(p));
      job.id = p.job;
    }
    if (by_id.size() < 2) return;
    std::vector<Job> jobs;
    jobs.reserve(by_id.size());
    for (auto& [id, job] : by_id) jobs.push_back(std::move(job));
    std::stable_sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) { return a.begin < b.begin; });
    Job used = jobs.front();
    for (const Job& next : jobs)
      if (next.begin > used.end) used = next;
    notes_.push_back(
        {.file = {},
         .text = fmt::format("the folder holds {} jobs; only the last one, {}, is used: give each job a "
                             "folder of its own",
                             jobs.size(), used.id)});
    std::erase_if(candidates_, [&](std::size_t i) {
      const ProcessFile& p = processes_[i];
      if (p.job.empty() || p.job == used.id) return false;
      leave_out(i, fmt::format("rank {} (process {}) is of job {}: its {} events are not used", p.rank, p.pid,
                               p.job, p.events.size()));
      return true;
    });
  }

  void leave_out_superseded() {
    for (const std::size_t i : candidates_) {
      const auto [at, fresh] = best_.emplace(processes_[i].rank, i);
      if (fresh) continue;
      std::size_t loser = i;
      if (supersedes(processes_[i], processes_[at->second])) loser = std::exchange(at->second, i);
      restarted_.push_back(processes_[at->second].rank);
      leave_out_earlier(loser);
    }
  }

  /// A rank that only an earlier attempt had (the job came back smaller):
  /// it was over before the restart began.
  void leave_out_remains() {
    if (restarted_.empty()) return;
    std::int64_t restart = INT64_MAX;
    for (const int rank : restarted_) restart = std::min(restart, start_ns(processes_[best_.at(rank)]));
    std::erase_if(best_, [&](const auto& entry) {
      const ProcessFile& p = processes_[entry.second];
      if (start_ns(p) >= restart || last_seen_ns(p) >= restart) return false;
      leave_out_earlier(entry.second);
      return true;
    });
  }

  void leave_out_earlier(std::size_t i) {
    const ProcessFile& p = processes_[i];
    const bool at_once = singletons_ > 0 && p.world_size == 1;
    const std::string what =
        at_once ? "one more rank 0 of 1" : fmt::format("an earlier attempt of rank {}", p.rank);
    leave_out(i, fmt::format("{} (process {}): its {} events are not used", what, p.pid, p.events.size()));
  }

  std::vector<ProcessFile>& processes_;
  std::vector<Note>& notes_;
  std::vector<std::size_t> candidates_;
  std::map<int, std::size_t> best_;
  std::vector<int> restarted_;
  int singletons_ = 0;  ///< processes that call themselves rank 0 of 1, where some ran at one time
  std::vector<std::pair<std::size_t, std::string>> unused_;
};

/// Keeps one launch and one process per rank of it, sorted by rank.
std::vector<ProcessFile> one_per_rank(std::vector<ProcessFile> processes, std::vector<Note>& notes) {
  std::vector<ProcessFile> kept;
  for (const std::size_t i : Selection(processes, notes).take()) kept.push_back(std::move(processes[i]));
  return kept;
}

bool is_simulated(const ProcessFile& p) {
  return p.launcher == name_of(Provenance::Simulated);
}

std::string clock_key(const ProcessFile& p) {
  // One clock, but its machines stay machines.
  if (is_simulated(p)) return "simulated " + p.host;
  // A container may have a time namespace of its own: another monotonic clock under the same kernel.
  return p.boot_id.empty() ? "host " + p.host : fmt::format("{} {}", p.boot_id, p.time_namespace);
}

/// Where the processes' times lie. Every node has an axis of its own, which begins at `base_ps` of its
/// monotonic clock; the nodes' axes lie on the Run's.
struct Placement {
  std::vector<Node> nodes;
  std::vector<std::optional<std::int64_t>> realtime_offset_ns;  // per node
  std::vector<Int128> base_ps;                                  // per node
  std::vector<HostClock> clocks;                                // per node: its axis against its root's
  // per node: where its root's axis begins on the first node's clock
  std::vector<std::optional<Int128>> start_ps;
  std::vector<ClockedProcess> processes;
};

std::int64_t median_of(std::vector<std::int64_t> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Processes of one machine share its monotonic clock.
Placement place_on_nodes(const std::vector<ProcessFile>& processes) {
  Placement out;
  std::map<std::string, NodeId> ids;
  std::vector<std::vector<std::int64_t>> offsets;
  std::vector<std::optional<Int128>> zero(processes.size());
  std::vector<std::optional<Int128>> base;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const ProcessFile& p = processes[i];
    const auto [at, fresh] = ids.emplace(clock_key(p), NodeId{static_cast<std::int32_t>(out.nodes.size())});
    if (fresh) {
      out.nodes.push_back(
          {.id = at->second, .host = p.host, .boot_id = p.boot_id, .time_namespace = p.time_namespace});
      offsets.emplace_back();
      base.emplace_back();
    }
    const auto node = static_cast<std::size_t>(at->second.value());
    out.processes.push_back({.node = node, .zero = std::nullopt});
    if (p.realtime_offset_ns) offsets[node].push_back(*p.realtime_offset_ns);
    if (!p.aligned) continue;
    zero[i] = Int128{p.reference_ns} * 1000 + p.reference_fraction.count();
    if (!base[node] || *zero[i] < *base[node]) base[node] = zero[i];
  }
  for (const auto& of_node : offsets)
    out.realtime_offset_ns.push_back(of_node.empty() ? std::nullopt : std::optional(median_of(of_node)));
  for (const auto& b : base) out.base_ps.push_back(b.value_or(0));
  for (std::size_t i = 0; i < processes.size(); ++i) {
    if (!zero[i]) continue;
    const Int128 from_base = *zero[i] - out.base_ps[out.processes[i].node];
    if (from_base <= kLatestPs) out.processes[i].zero = Duration{static_cast<std::int64_t>(from_base)};
  }
  return out;
}

/// Puts nodes side by side: by what their ranks did together, where they did nothing
/// together by their realtime clocks.
void place_nodes(const std::vector<ProcessFile>& processes, const MatchedCommunicators& communicators,
                 int threads, Placement& placed) {
  const std::size_t n = placed.nodes.size();
  // A simulation has one clock, however many machines it speaks of.
  const bool simulated =
      std::any_of(processes.begin(), processes.end(), [](const ProcessFile& p) { return is_simulated(p); });
  placed.clocks =
      estimate_host_clocks(processes, placed.processes, communicators, simulated ? 0 : n, threads);
  for (std::size_t i = placed.clocks.size(); i < n; ++i) placed.clocks.emplace_back().root = i;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t root = placed.clocks[i].root;
    const auto own = placed.realtime_offset_ns[root];
    const auto first = placed.realtime_offset_ns[0];
    std::optional<Int128> start;
    if (root == 0)
      start = placed.base_ps[0];
    else if (own && first)
      start = placed.base_ps[root] + (Int128{*own} - *first) * 1000;
    placed.start_ps.push_back(start);
    ClockSource& source = placed.nodes[i].clock.source;
    if (root != i)
      source = ClockSource::Collectives;
    else if (i > 0 && !simulated)
      source = start ? ClockSource::Realtime : ClockSource::Unknown;
  }
}

/// From a process's own times to the Run's axis.
class Mover {
 public:
  Mover(const Placement& placed, std::size_t process, Int128 origin)
      : correction_(placed.clocks[placed.processes[process].node].correction) {
    const ClockedProcess& p = placed.processes[process];
    const auto& start = placed.start_ps[p.node];
    if (!p.zero || !start) return;
    zero_ = *p.zero;
    shift_ = *start - origin;
    known_ = true;
  }
  [[nodiscard]] bool known() const { return known_; }
  [[nodiscard]] Int128 operator()(Duration t) const {
    const Int128 on_node = Int128{zero_.count()} + t.count();
    if (correction_.knots().empty()) return on_node + shift_;
    const Int128 bounded = std::clamp<Int128>(on_node, -kLatestPs, kLatestPs);
    return on_node + shift_ + correction_.at(Duration{static_cast<std::int64_t>(bounded)}).count();
  }

 private:
  const ClockLine& correction_;
  Duration zero_{};
  Int128 shift_ = 0;
  bool known_ = false;
};

std::optional<Int128> earliest(const std::vector<ProcessFile>& processes, const Placement& placed) {
  std::optional<Int128> first_event;
  std::optional<Int128> first_sample;  // or activity, of a job without an event
  const auto take = [](std::optional<Int128>& best, Int128 t) { best = best ? std::min(*best, t) : t; };
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const Mover move(placed, i, 0);
    if (!move.known()) continue;
    const ProcessFile& p = processes[i];
    if (p.events.size() > 0) take(first_event, move(p.events.begin.front()));
    if (!p.samples.empty()) take(first_sample, move(p.samples.front().at));
    if (p.activities.size() > 0) take(first_sample, move(p.activities.begin.front()));
  }
  return first_event ? first_event : first_sample;
}

/// What a node's own monotonic clock shows at the Run's origin, in picoseconds;
/// nothing where it cannot be placed.
std::optional<Int128> clock_at_origin(const Placement& placed, std::size_t i, Int128 origin) {
  if (!placed.start_ps[i]) return std::nullopt;
  const Int128 at = std::clamp<Int128>(origin - *placed.start_ps[i], -kLatestPs, kLatestPs);
  const ClockLine& correction = placed.clocks[i].correction;
  Duration local{static_cast<std::int64_t>(at)};
  // The correction hardly changes over its own length: twice is exact.
  for (int round = 0; round < 2 && !correction.knots().empty(); ++round)
    local = Duration{static_cast<std::int64_t>(
        std::clamp<Int128>(at - correction.at(local).count(), -kLatestPs, kLatestPs))};
  return placed.base_ps[i] + local.count();
}

/// What a node's clock shows more than the first node's at the Run's origin, and how it drifts.
void describe_clock(const Placement& placed, std::size_t i, Int128 origin, NodeClock& out) {
  const HostClock& clock = placed.clocks[i];
  if (out.source == ClockSource::Shared) return;
  out.against = NodeId{static_cast<std::int32_t>(clock.root)};
  out.operations = static_cast<std::int64_t>(clock.samples);
  out.residual = clock.residual;
  out.half_width = clock.half_width;
  const double slope = clock.correction.slope();
  if (slope != 0) out.drift_ppm = -slope / (1 + slope) * 1e6;
  const auto shown = clock_at_origin(placed, i, origin);
  if (!shown) return;
  const Int128 ns = (*shown - origin) / 1000;
  out.offset = Nanoseconds{static_cast<std::int64_t>(std::clamp<Int128>(ns, INT64_MIN, INT64_MAX))};
}

void note_unconnected(const std::vector<Node>& nodes, std::vector<Note>& notes) {
  constexpr std::size_t kMostNamed = 8;
  std::string names;
  std::size_t count = 0;
  for (const Node& node : nodes) {
    if (node.clock.source != ClockSource::Realtime) continue;
    if (++count <= kMostNamed) names += (names.empty() ? "" : ", ") + node.host;
  }
  if (count == 0) return;
  if (count > kMostNamed) names += fmt::format(" and {} more", count - kMostNamed);
  notes.push_back(
      {.file = {},
       .text = fmt::format("clocks of {} are put beside {}'s by realtime alone: too few operations "
                           "hold ranks of both",
                           names, nodes.front().host)});
}

Duration latest_time(const EventColumns& e) {
  Duration latest = Duration::min();
  for (std::size_t i = 0; i < e.size(); ++i)
    latest = std::max(latest, e.end[i] == kStillRunning ? e.begin[i] : e.end[i]);
  return latest;
}

template <class Move>
void move_events(EventColumns& e, const Move& move) {
  for (Duration& t : e.begin) t = Duration{static_cast<std::int64_t>(move(t))};
  for (Duration& t : e.end)
    if (t != kStillRunning) t = Duration{static_cast<std::int64_t>(move(t))};
}

/// Samples on the Run's axis, negative where taken before its first event. Those too far away for it go.
template <class Move>
void move_samples(std::vector<Sample>& samples, const Move& move) {
  const auto far = [&](const Sample& s) {
    const Int128 at = move(s.at);
    return at > kLatestPs || at < -kLatestPs;
  };
  std::erase_if(samples, far);
  for (Sample& s : samples) s.at = Duration{static_cast<std::int64_t>(move(s.at))};
}

/// Activities, launches and useful stretches, bounded to the Run's range.
template <class Move>
void move_spans(ProcessFile& p, const Move& move) {
  const auto moved = [&](Duration t) {
    return Duration{static_cast<std::int64_t>(std::clamp<Int128>(move(t), -kLatestPs, kLatestPs))};
  };
  for (auto* column : {&p.activities.begin, &p.activities.end, &p.useful.begin, &p.useful.end})
    for (Duration& t : *column) t = moved(t);
  for (CollectiveLaunch& launch : p.launches) {
    launch.begin = moved(launch.begin);
    launch.end = moved(launch.end);
  }
}

void rename_communicators(EventColumns& e, const std::unordered_map<std::uint32_t, CommId>& names,
                          std::size_t& unknown) {
  CommId last_from = kNoComm;
  CommId last_to = kNoComm;
  PackedColumn<CommId> renamed;
  renamed.reserve(e.size());
  for (const CommId c : e.comm) {
    if (c == kNoComm) {
      renamed.push_back(c);
      continue;
    }
    if (c != last_from) {
      const auto at = names.find(static_cast<std::uint32_t>(c.value()));
      last_from = c;
      last_to = at == names.end() ? kNoComm : at->second;
    }
    if (last_to == kNoComm) ++unknown;
    renamed.push_back(last_to);
  }
  e.comm = std::move(renamed);
}

RankTrack track_of(ProcessFile& p, NodeId node) {
  RankTrack t;
  t.rank = Rank{p.rank};
  t.node = node;
  t.local_rank = LocalRank{p.local_rank};
  t.pid = p.pid;
  t.pid_namespace = p.pid_namespace;
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
  t.unobserved_calls = p.unobserved_calls;
  t.events = std::move(p.events);
  t.samples = std::move(p.samples);
  t.locality = std::move(p.locality);
  t.activities = std::move(p.activities);
  t.launches = std::move(p.launches);
  t.useful = std::move(p.useful);
  t.role = p.role;
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
  bool usable = true;
  std::size_t unknown_comm = 0;
};

template <class Move>
void finish_placed(ProcessFile& process, const Move& move, Finish& out) {
  EventColumns& events = process.events;
  if (events.size() > 0 && (move(events.begin.front()) < 0 || move(latest_time(events)) > kLatestPs)) {
    out.usable = false;
    events = {};
    process.samples.clear();
    process.activities = {};
    process.launches.clear();
    process.useful = {};
    return;
  }
  move_events(events, move);
  move_spans(process, move);
  move_samples(process.samples, move);
}

Finish finish_process(ProcessFile& process, const Mover& move,
                      const std::unordered_map<std::uint32_t, CommId>& names) {
  Finish out;
  if (move.known()) {
    finish_placed(process, move, out);
  } else if (process.events.size() > 0) {
    // A process that cannot be placed begins at the origin: its spans are right, its begins mean nothing.
    const Int128 by = -Int128{process.events.begin.front().count()};
    finish_placed(
        process, [by](Duration t) { return by + t.count(); }, out);
  } else {
    process.samples.clear();
  }
  if (out.usable) rename_communicators(process.events, names, out.unknown_comm);
  return out;
}

std::int64_t realtime_of(Int128 origin_ps, std::optional<std::int64_t> offset_ns) {
  const Int128 ns = origin_ps / 1000 + offset_ns.value_or(0);
  return offset_ns && ns >= 0 && ns <= INT64_MAX ? static_cast<std::int64_t>(ns) : 0;
}

// What each process's file says; what guests say in the same words stands there once.
std::vector<Note> notes_of(std::vector<ProcessFile>& processes) {
  std::vector<Note> notes;
  std::map<std::string, std::size_t, std::less<>> also;  // files that say the same as an earlier one
  for (ProcessFile& p : processes)
    for (std::string& note : p.notes) {
      const bool by_guest = note.starts_with(kGuestSays);
      if (by_guest && ++also[note] > 1) continue;
      notes.push_back({.file = p.file, .text = std::move(note)});
    }
  for (Note& note : notes) {
    const auto said = also.find(note.text);
    if (said == also.end() || said->second < 2) continue;
    note.text += said->second == 2 ? " (and 1 more process)"
                                   : fmt::format(" (and {} more processes)", said->second - 1);
  }
  return notes;
}

}  // namespace

Run assemble(std::vector<ProcessFile> processes, int threads) {
  Run run;
  run.notes = notes_of(processes);
  processes = one_per_rank(std::move(processes), run.notes);
  if (processes.empty()) return run;
  take_world_size(processes, run);
  for (const ProcessFile& p : processes)
    if (run.info.job.empty()) run.info.job = p.job;

  MatchedCommunicators matched = match_communicators(processes);
  Placement placed = place_on_nodes(processes);
  place_nodes(processes, matched, threads, placed);
  const std::optional<Int128> origin = earliest(processes, placed);
  run.origin_realtime_ns = origin ? realtime_of(*origin, placed.realtime_offset_ns[0]) : 0;
  for (std::size_t i = 0; i < placed.nodes.size(); ++i)
    describe_clock(placed, i, origin.value_or(0), placed.nodes[i].clock);
  for (std::size_t i = 0; origin && i < placed.nodes.size(); ++i)
    if (const auto shown = clock_at_origin(placed, i, *origin);
        shown && *shown >= 0 && *shown / 1000 <= INT64_MAX)
      placed.nodes[i].monotonic_origin_ns = static_cast<std::int64_t>(*shown / 1000);
  run.nodes = placed.nodes;
  note_unconnected(run.nodes, run.notes);
  run.communicators = std::move(matched.all);
  for (Note& note : matched.notes) run.notes.push_back(std::move(note));

  std::vector<Finish> finished(processes.size());
  parallel_for(processes.size(), threads, [&](std::size_t i) {
    finished[i] = finish_process(processes[i], Mover(placed, i, origin.value_or(0)), matched.local[i]);
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
    if (!Mover(placed, i, 0).known() && p.events.size() > 0)
      run.notes.push_back(
          {.file = p.file,
           .text = fmt::format("rank {}: its times cannot be compared with other ranks'", p.rank)});
    run.ranks.push_back(track_of(p, run.nodes[placed.processes[i].node].id));
  }
  return run;
}

}  // namespace cox::trace
