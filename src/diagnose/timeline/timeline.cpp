// SPDX-License-Identifier: Apache-2.0
#include "cox/diagnose/timeline.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "cox/base/stats.hpp"

#include "diagnose/match/matched.hpp"

namespace cox::diagnose {
namespace {

using trace::EventColumns;
using trace::EventKind;

struct Entry {
  std::int32_t comm;
  std::uint32_t seq;
  std::uint32_t rank_index;
  std::uint32_t event;
};

bool has_end(const EventColumns& e, std::size_t i) {
  return e.end[i] != trace::kStillRunning && e.end[i] >= e.begin[i];
}

std::uint8_t code_of(const EventColumns& e, std::size_t i) {
  if (e.kind[i] == EventKind::Pace) return kDelayCode;
  if (e.kind[i] == EventKind::Wait) return static_cast<std::uint8_t>(kWaitCode + e.op[i]);
  return static_cast<std::uint8_t>(std::min<std::uint8_t>(e.op[i], model::kCollectiveCount - 1));
}

std::vector<Entry> matched_entries(const Matched& m) {
  std::vector<Entry> entries;
  for (std::size_t r = 0; r < m.ranks(); ++r) {
    const EventColumns& e = m.track(r).events;
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
using Members = std::span<const Entry>;

template <class Body>
void for_each_operation(const std::vector<Entry>& entries, const Body& body) {
  for (std::size_t from = 0; from < entries.size();) {
    std::size_t to = from;
    while (to < entries.size() && entries[to].comm == entries[from].comm &&
           entries[to].seq == entries[from].seq) {
      ++to;
    }
    body(Members(entries).subspan(from, to - from));
    from = to;
  }
}

/// What each rank's clock shows more than the first rank's: the median difference of returns from the largest
/// operations, which all leave nearly together. Source: docs/concepts/wait-and-transfer.md, end alignment.
std::vector<Duration> clock_offsets(const Matched& m, const std::vector<Entry>& entries) {
  constexpr std::size_t kSampled = 256;
  std::size_t widest = 0;
  std::size_t count = 0;
  const auto end_of = [&](const Entry& x) { return m.track(x.rank_index).events.end[x.event]; };
  const auto usable = [&](Members op) {
    return std::all_of(op.begin(), op.end(), [&](const Entry& x) {
      const EventColumns& e = m.track(x.rank_index).events;
      return has_end(e, x.event) && model::synchronizes_all(e.collective(x.event)) &&
             (e.flags[x.event] & trace::kNonBlocking) == 0;
    });
  };
  for_each_operation(entries, [&](Members op) {
    if (op.size() > widest) {
      widest = op.size();
      count = 0;
    }
    if (op.size() == widest) ++count;
  });
  std::vector<Duration> offsets(m.ranks(), Duration::zero());
  if (widest < 2) return offsets;
  std::vector<std::vector<double>> samples(m.ranks());
  std::size_t seen = 0;
  for_each_operation(entries, [&](Members op) {
    if (op.size() != widest || seen++ % std::max<std::size_t>(1, count / kSampled) != 0 || !usable(op))
      return;
    for (const Entry& x : op) samples[x.rank_index].push_back(in_seconds(end_of(x) - end_of(op.front())));
  });
  for (std::size_t r = 0; r < offsets.size(); ++r)
    offsets[r] = duration_from_seconds(median_in_place(samples[r]));
  return offsets;
}

}  // namespace

Timeline::Timeline(const Matched& matched)
    : matched_(&matched), work_(matched.by_step(InStep::Work)), wait_(matched.by_step(InStep::Wait)) {
  const Matched& m = matched;
  const bool by_duration = !m.clocks_comparable();
  const std::vector<Entry> entries = matched_entries(m);
  offset_ = by_duration ? clock_offsets(m, entries) : std::vector<Duration>(m.ranks(), Duration::zero());
  first_ = Duration::max();
  last_ = Duration::min();
  for (std::size_t r = 0; r < m.ranks(); ++r) {
    const EventColumns& e = m.track(r).events;
    until_.push_back(e.begin);
    known_.emplace_back(e.size(), std::uint8_t{0});
    for (std::size_t i = 0; i < e.size(); ++i) {
      first_ = std::min(first_, e.begin[i] - offset_[r]);
      last_ =
          std::max({last_, e.begin[i] - offset_[r], (has_end(e, i) ? e.end[i] : e.begin[i]) - offset_[r]});
    }
  }
  if (first_ > last_) first_ = last_ = Duration::zero();

  for_each_operation(entries, [&](Members op) {
    if (op.size() < 2) return;
    Duration latest = Duration::min();
    Duration shortest = Duration::max();
    for (const Entry& x : op) {
      const EventColumns& e = m.track(x.rank_index).events;
      latest = std::max(latest, e.begin[x.event]);
      if (has_end(e, x.event)) shortest = std::min(shortest, e.end[x.event] - e.begin[x.event]);
    }
    for (const Entry& x : op) {
      const EventColumns& e = m.track(x.rank_index).events;
      if (!model::synchronizes_all(e.collective(x.event))) continue;
      if (by_duration && (!has_end(e, x.event) || (e.flags[x.event] & trace::kNonBlocking) != 0)) continue;
      until_[x.rank_index][x.event] = by_duration ? e.end[x.event] - shortest : latest;
      known_[x.rank_index][x.event] = 1;
    }
  });
}

/// The split of waits on background operations: until the last of those begun since the wait before was
/// complete.
class Timeline::Background {
 public:
  Background(const Timeline& timeline, std::size_t rank_index)
      : timeline_(timeline),
        events_(timeline.matched_->track(rank_index).events),
        scan_(timeline.matched_->scan(rank_index)),
        rank_index_(rank_index) {}

  /// Whether the program goes on while this call runs. A rank that only starts operations shows these.
  [[nodiscard]] bool runs_behind(std::size_t i) const {
    return scan_.only_starts() ? false : scan_.in_background(events_, i);
  }

  /// Takes the operations that began before `end` and were not taken by an earlier wait.
  std::pair<Duration, bool> take(Duration end) {
    Duration until = Duration::min();
    bool known = false;
    for (; next_ < events_.size() && events_.begin[next_] < end; ++next_) {
      if (events_.kind[next_] != EventKind::Collective || !runs_behind(next_)) continue;
      if (timeline_.known_[rank_index_][next_] == 0) continue;
      until = std::max(until, timeline_.until_[rank_index_][next_]);
      known = true;
    }
    return {until, known};
  }

 private:
  const Timeline& timeline_;
  const EventColumns& events_;
  const RankScan& scan_;
  std::size_t rank_index_;
  std::size_t next_ = 0;
};

namespace {

/// Step in which each instant lies, asked in rising order.
class StepOfInstant {
 public:
  explicit StepOfInstant(std::span<const Duration> begins) : begins_(begins) {}
  std::int64_t at(Duration t) {
    while (next_ < begins_.size() && begins_[next_] <= t) ++next_;
    return static_cast<std::int64_t>(next_) - 1;
  }

 private:
  std::span<const Duration> begins_;
  std::size_t next_ = 0;
};

}  // namespace

std::vector<Stay> Timeline::stays(std::size_t rank_index) const {
  const EventColumns& e = matched_->track(rank_index).events;
  StepOfInstant steps(step_begins(rank_index));
  Background background(*this, rank_index);
  const Duration offset = offset_[rank_index];
  std::vector<Stay> stays;
  Duration free_from = Duration::min();
  for (std::size_t i = 0; i < e.size(); ++i) {
    const bool ended = has_end(e, i);
    const bool is_wait = is_program_wait(e, i);
    const bool is_delay = ended && is_served_delay(e, i);
    const MessageWait* message = is_peer_wait(e, i) ? matched_->message_waits().find(rank_index, i) : nullptr;
    if (!is_wait && !is_delay && message == nullptr &&
        (e.kind[i] != EventKind::Collective || background.runs_behind(i)))
      continue;
    Stay s;
    s.end = ended ? e.end[i] : std::max(last_ + offset, e.begin[i]);
    s.what = code_of(e, i);
    Duration until = until_[rank_index][i];
    bool known = known_[rank_index][i] != 0;
    if (is_wait) std::tie(until, known) = background.take(s.end);
    if (is_delay || message != nullptr) {
      until = message != nullptr && ended ? message->until : s.end;
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
    stays.push_back(s);
  }
  return stays;
}

std::span<const Duration> Timeline::step_begins(std::size_t rank_index) const {
  const Steps& steps = matched_->steps();
  if (steps.count == 0) return {};
  return std::span(steps.bounds[rank_index]).first(static_cast<std::size_t>(steps.count));
}

std::span<const Duration> Timeline::work_by_step(std::size_t rank_index) const {
  return work_[rank_index];
}

std::span<const Duration> Timeline::wait_by_step(std::size_t rank_index) const {
  return wait_[rank_index];
}

Extent Timeline::extent(std::size_t rank_index, std::span<const Stay> stays) const {
  const EventColumns& e = matched_->track(rank_index).events;
  const Duration offset = offset_[rank_index];
  if (e.size() == 0) return {first_, stays.empty() ? first_ : std::max(first_, stays.back().end)};
  Extent out{e.begin.front() - offset, e.begin.back() - offset};
  for (const Duration end : e.end)
    if (end != trace::kStillRunning) out.last = std::max(out.last, end - offset);
  if (!stays.empty()) out.last = std::max(out.last, stays.back().end);
  return out;
}

std::optional<Duration> Timeline::step_begin(std::size_t step) const {
  std::optional<Duration> begin;
  for (std::size_t r = 0; r < offset_.size(); ++r) {
    const std::span<const Duration> row = step_begins(r);
    if (step < row.size()) begin = std::min(begin.value_or(Duration::max()), row[step] - offset_[r]);
  }
  return begin;
}

WorstStep Timeline::worst_step(std::span<const Duration> step_times) const {
  WorstStep worst;
  double most_wait = 0;
  double most_time = -1;
  std::int64_t longest = -1;
  for (std::size_t s = step_times.size() > 2 ? 1 : 0; s < step_times.size(); ++s) {
    double wait = 0;
    for (std::size_t r = 0; r < offset_.size(); ++r) {
      const std::span<const Duration> row = wait_by_step(r);
      wait += s < row.size() ? in_seconds(row[s]) : 0;
    }
    if (wait > most_wait) {
      most_wait = wait;
      worst = {static_cast<std::int64_t>(s), true};
    }
    if (in_seconds(step_times[s]) > most_time) {
      most_time = in_seconds(step_times[s]);
      longest = static_cast<std::int64_t>(s);
    }
  }
  if (!worst.by_wait) worst.step = longest;
  return worst;
}

std::vector<Cell> cells_of(std::span<const Duration> row, std::int64_t cells, std::int64_t merged) {
  std::vector<Cell> out(static_cast<std::size_t>(cells));
  for (std::size_t c = 0; c < out.size(); ++c) {
    const std::size_t from = c * static_cast<std::size_t>(merged);
    const std::size_t to = std::min(row.size(), from + static_cast<std::size_t>(merged));
    double sum = 0;  // of picoseconds: a group of week-long steps would overflow an integer
    for (std::size_t i = from; i < to; ++i) {
      out[c].largest = std::max(out[c].largest, row[i]);
      sum += static_cast<double>(std::max(row[i], Duration::zero()).count());
    }
    const double count = from < to ? static_cast<double>(to - from) : 1.0;
    out[c].mean = duration_from_seconds(sum / count * 1e-12);
  }
  return out;
}

}  // namespace cox::diagnose
