// SPDX-License-Identifier: Apache-2.0
#include "report/spans.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "cox/base/stats.hpp"
#include "cox/pace/decision.hpp"

namespace cox::report {
namespace {

using trace::EventColumns;
using trace::EventKind;

struct Entry {
  std::int32_t comm;
  std::uint32_t seq;
  std::uint32_t rank_index;
  std::uint32_t event;
};

/// Which calls the program itself stands still in; the same rule as the diagnosis uses.
class Foreground {
 public:
  explicit Foreground(const EventColumns& e) {
    std::map<std::uint32_t, std::int64_t> votes;
    bool any_blocking = false;
    for (std::size_t i = 0; i < e.size(); ++i) {
      if (is_wait(e, i)) ++votes[e.thread[i]];
      any_blocking |= e.kind[i] == EventKind::Collective && (e.flags[i] & trace::kNonBlocking) == 0;
    }
    waits_ = !votes.empty();
    only_started_ = !waits_ && !any_blocking;
    std::int64_t most = 0;
    for (const auto& [thread, count] : votes) {
      if (count > most) {
        thread_ = thread;
        most = count;
      }
    }
  }
  /// A wait in which the program stands still for communication.
  static bool is_wait(const EventColumns& e, std::size_t i) {
    if (e.kind[i] != EventKind::Wait) return false;
    const auto kind = static_cast<trace::WaitKind>(e.op[i]);
    return kind == trace::WaitKind::GradientSync || kind == trace::WaitKind::Request;
  }
  [[nodiscard]] bool runs_behind(const EventColumns& e, std::size_t i) const {
    if ((e.flags[i] & trace::kNonBlocking) != 0) return !only_started_;
    return waits_ && ((e.flags[i] & trace::kOffThread) != 0 || e.thread[i] != thread_);
  }

 private:
  bool waits_ = false;
  bool only_started_ = false;  ///< nothing else to show than calls that start an operation
  std::uint32_t thread_ = 0;
};

bool has_end(const EventColumns& e, std::size_t i) {
  return e.end[i] != trace::kStillRunning && e.end[i] >= e.begin[i];
}

bool is_served_delay(const EventColumns& e, std::size_t i) {
  return e.kind[i] == EventKind::Pace && has_end(e, i) && e.end[i] > e.begin[i] &&
         static_cast<pace::Reason>(e.op[i]) != pace::Reason::InOrder;  // it holds a worker, not the program
}

std::uint8_t code_of(const EventColumns& e, std::size_t i) {
  if (e.kind[i] == EventKind::Pace) return kDelayCode;
  if (e.kind[i] == EventKind::Wait) return static_cast<std::uint8_t>(kWaitCode + e.op[i]);
  return static_cast<std::uint8_t>(std::min<std::uint8_t>(e.op[i], model::kCollectiveCount - 1));
}

std::vector<Entry> matched_entries(const trace::Run& run) {
  std::vector<Entry> entries;
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    const EventColumns& e = run.ranks[r].events;
    for (std::size_t i = 0; i < e.size(); ++i) {
      if (e.kind[i] != EventKind::Collective || e.comm[i] == trace::kNoComm) continue;
      entries.push_back(
          {e.comm[i].value(), e.seq[i], static_cast<std::uint32_t>(r), static_cast<std::uint32_t>(i)});
    }
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair{std::pair{a.comm, a.seq}, std::pair{a.rank_index, a.event}} <
           std::pair{std::pair{b.comm, b.seq}, std::pair{b.rank_index, b.event}};
  });
  return entries;
}

/// Calls of one operation.
using Operation = std::span<const Entry>;

template <class Body>
void for_each_operation(const std::vector<Entry>& entries, const Body& body) {
  for (std::size_t from = 0; from < entries.size();) {
    std::size_t to = from;
    while (to < entries.size() && entries[to].comm == entries[from].comm &&
           entries[to].seq == entries[from].seq) {
      ++to;
    }
    body(Operation(entries).subspan(from, to - from));
    from = to;
  }
}

/// What each rank's clock shows more than the first rank's: the median difference of returns from the largest
/// operations, which all leave nearly together. Source: docs/concepts/wait-and-transfer.md, end alignment.
std::vector<Duration> clock_offsets(const trace::Run& run, const std::vector<Entry>& entries) {
  constexpr std::size_t kSampled = 256;
  std::size_t widest = 0;
  std::size_t count = 0;
  const auto end_of = [&](const Entry& x) { return run.ranks[x.rank_index].events.end[x.event]; };
  const auto usable = [&](Operation op) {
    return std::all_of(op.begin(), op.end(), [&](const Entry& x) {
      const EventColumns& e = run.ranks[x.rank_index].events;
      return has_end(e, x.event) && model::synchronizes_all(e.collective(x.event)) &&
             (e.flags[x.event] & trace::kNonBlocking) == 0;
    });
  };
  for_each_operation(entries, [&](Operation op) {
    if (op.size() > widest) {
      widest = op.size();
      count = 0;
    }
    if (op.size() == widest) ++count;
  });
  std::vector<Duration> offsets(run.ranks.size(), Duration::zero());
  if (widest < 2) return offsets;
  std::vector<std::vector<double>> samples(run.ranks.size());
  std::size_t seen = 0;
  for_each_operation(entries, [&](Operation op) {
    if (op.size() != widest || seen++ % std::max<std::size_t>(1, count / kSampled) != 0 || !usable(op))
      return;
    for (const Entry& x : op) samples[x.rank_index].push_back(in_seconds(end_of(x) - end_of(op.front())));
  });
  for (std::size_t r = 0; r < offsets.size(); ++r)
    offsets[r] = duration_from_seconds(median_in_place(samples[r]));
  return offsets;
}

}  // namespace

Arrivals::Arrivals(const trace::Run& run, const diagnose::Diagnosis& diagnosis) {
  const bool by_duration = diagnosis.wait_method == diagnose::WaitMethod::Duration;
  const std::vector<Entry> entries = matched_entries(run);
  offset_ =
      by_duration ? clock_offsets(run, entries) : std::vector<Duration>(run.ranks.size(), Duration::zero());
  first_ = Duration::max();
  last_ = Duration::min();
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    const EventColumns& e = run.ranks[r].events;
    until_.push_back(e.begin);
    known_.emplace_back(e.size(), std::uint8_t{0});
    for (std::size_t i = 0; i < e.size(); ++i) {
      first_ = std::min(first_, e.begin[i] - offset_[r]);
      last_ =
          std::max({last_, e.begin[i] - offset_[r], (has_end(e, i) ? e.end[i] : e.begin[i]) - offset_[r]});
    }
  }
  if (first_ > last_) first_ = last_ = Duration::zero();

  for_each_operation(entries, [&](Operation op) {
    if (op.size() < 2) return;
    Duration latest = Duration::min();
    Duration shortest = Duration::max();
    for (const Entry& x : op) {
      const EventColumns& e = run.ranks[x.rank_index].events;
      latest = std::max(latest, e.begin[x.event]);
      if (has_end(e, x.event)) shortest = std::min(shortest, e.end[x.event] - e.begin[x.event]);
    }
    for (const Entry& x : op) {
      const EventColumns& e = run.ranks[x.rank_index].events;
      if (!model::synchronizes_all(e.collective(x.event))) continue;
      if (by_duration && (!has_end(e, x.event) || (e.flags[x.event] & trace::kNonBlocking) != 0)) continue;
      until_[x.rank_index][x.event] = by_duration ? e.end[x.event] - shortest : latest;
      known_[x.rank_index][x.event] = 1;
    }
  });
}

namespace {

/// The split of waits on background operations: until the last of those begun since
/// the wait before was complete.
class Background {
 public:
  Background(const EventColumns& events, const Foreground& foreground, const Arrivals& arrivals,
             std::size_t rank_index)
      : events_(events), foreground_(foreground), arrivals_(arrivals), rank_index_(rank_index) {}

  /// Takes the operations that began before `end` and were not taken by an earlier wait.
  std::pair<Duration, bool> take(Duration end) {
    Duration until = Duration::min();
    bool known = false;
    for (; next_ < events_.size() && events_.begin[next_] < end; ++next_) {
      if (events_.kind[next_] != EventKind::Collective || !foreground_.runs_behind(events_, next_)) continue;
      if (!arrivals_.split(rank_index_, next_)) continue;
      until = std::max(until, arrivals_.waited_until(rank_index_, next_));
      known = true;
    }
    return {until, known};
  }

 private:
  const EventColumns& events_;
  const Foreground& foreground_;
  const Arrivals& arrivals_;
  std::size_t rank_index_;
  std::size_t next_ = 0;
};

/// Step in which each instant lies, asked in rising order.
class StepCursor {
 public:
  explicit StepCursor(const std::vector<Duration>* begins) : begins_(begins) {}
  std::int64_t at(Duration t) {
    if (begins_ == nullptr) return -1;
    while (next_ < begins_->size() && (*begins_)[next_] <= t) ++next_;
    return static_cast<std::int64_t>(next_) - 1;
  }

 private:
  const std::vector<Duration>* begins_;
  std::size_t next_ = 0;
};

}  // namespace

std::vector<Span> rank_spans(const trace::Run& run, const diagnose::Diagnosis& diagnosis,
                             const Arrivals& arrivals, std::size_t rank_index) {
  const EventColumns& e = run.ranks[rank_index].events;
  const Foreground foreground(e);
  const bool has_steps = rank_index < diagnosis.begin_by_step.size();
  StepCursor steps(has_steps ? &diagnosis.begin_by_step[rank_index] : nullptr);
  Background background(e, foreground, arrivals, rank_index);
  const Duration offset = arrivals.offset(rank_index);
  std::vector<Span> spans;
  Duration free_from = Duration::min();
  for (std::size_t i = 0; i < e.size(); ++i) {
    const bool is_wait = Foreground::is_wait(e, i);
    const bool is_delay = is_served_delay(e, i);
    if (!is_wait && !is_delay && (e.kind[i] != EventKind::Collective || foreground.runs_behind(e, i)))
      continue;
    const bool ended = has_end(e, i);
    Span s;
    s.end = ended ? e.end[i] : std::max(arrivals.last() + offset, e.begin[i]);
    s.what = code_of(e, i);
    Duration until = arrivals.waited_until(rank_index, i);
    bool known = arrivals.split(rank_index, i);
    if (is_wait) std::tie(until, known) = background.take(s.end);
    if (is_delay) {
      until = s.end;
      known = true;
    }
    if (!ended) {
      until = s.end;  // it never got what it asked for
      s.what |= kUnfinishedMark;
    } else if (!known) {
      until = e.begin[i];
      s.what |= kUnsplitMark;
    }
    s.begin = std::max(e.begin[i], free_from);
    if (s.end < s.begin || (s.end == s.begin && s.begin != e.begin[i])) continue;  // inside an earlier one
    s.wait_end = std::clamp(until, s.begin, s.end);
    s.step = steps.at(s.begin);
    free_from = s.end;
    s.begin -= offset;
    s.wait_end -= offset;
    s.end -= offset;
    spans.push_back(s);
  }
  return spans;
}

}  // namespace cox::report
