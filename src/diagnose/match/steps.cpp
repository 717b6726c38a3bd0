// SPDX-License-Identifier: Apache-2.0
#include "diagnose/match/steps.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "cox/base/hash.hpp"
#include "cox/base/stats.hpp"

#include "diagnose/match/span_math.hpp"
#include "diagnose/match/sync_cursor.hpp"

namespace cox::diagnose {
namespace {

struct Token {
  std::int32_t group = -1;
  std::int64_t op = -1;
};

/// The synchronisation points of one rank in order, as identities (which operation)
/// and as tokens (what kind).
struct Sequence {
  std::vector<Token> points;
  std::vector<std::uint64_t> tokens;
};

Sequence sequence_of(const trace::Run& run, const CommIndex& comms, const std::vector<RankScan>& scans,
                     const Matching& m, std::size_t r) {
  Sequence s;
  SyncCursor cursor(run, comms, scans[r], m.groups, r);
  SyncPoint p;
  while (cursor.next(p)) {
    const trace::EventColumns& e = run.ranks[r].events;
    const bool any_size = (e.flags[p.event] & trace::kVariable) != 0 || is_peer_wait(e, p.event);
    const auto size = any_size ? 0 : static_cast<std::uint64_t>(e.bytes[p.event].count());
    s.points.push_back({p.group, p.op});
    s.tokens.push_back(mix_bits(
        mix_bits(static_cast<std::uint64_t>(p.group + 1) << 8 | static_cast<std::uint64_t>(p.kind)) ^ size));
  }
  return s;
}

/// Whether so little of a rank is recorded, beside the one with most, that steps are told without it: as if its file
/// were not there.
bool is_absent(const Matching& m, std::size_t reference, std::size_t r) {
  constexpr std::int64_t kLeastPart = 10;
  return static_cast<std::int64_t>(m.totals[r].points) * kLeastPart <
         static_cast<std::int64_t>(m.totals[reference].points);
}

bool complete(const Matching& m, const Token& t, std::size_t reference) {
  if (t.group < 0 || t.op < 0) return false;
  const Group& group = m.groups[static_cast<std::size_t>(t.group)];
  if (group.first_cell == kNoCells) return false;
  for (std::size_t k = 0; k < group.members.size(); ++k)
    if (m.entry[group.cell(t.op, k)] == kUnknown &&
        !is_absent(m, reference, static_cast<std::size_t>(group.members[k])))
      return false;
  return true;
}

/// Numbers of the steps that every rank marked, in order.
std::vector<std::int64_t> common_marks(const std::vector<RankScan>& scans, const Matching& m,
                                       std::size_t reference) {
  std::vector<std::int64_t> common;
  for (const StepMark& mark : scans[reference].marks) common.push_back(mark.number);
  for (std::size_t r = 0; r < scans.size(); ++r) {
    const RankScan& scan = scans[r];
    if (is_absent(m, reference, r)) continue;
    std::vector<std::int64_t> kept;
    auto at = scan.marks.begin();
    for (const std::int64_t number : common) {
      while (at != scan.marks.end() && at->number < number) ++at;
      if (at != scan.marks.end() && at->number == number) kept.push_back(number);
    }
    common = std::move(kept);
  }
  return common;
}

/// Exits of a rank's synchronisation points from `from` on.
std::vector<Duration> exits_after(const trace::Run& run, const CommIndex& comms,
                                  const std::vector<RankScan>& scans, const Matching& m, std::size_t r,
                                  Duration from) {
  std::vector<Duration> exits;
  SyncCursor cursor(run, comms, scans[r], m.groups, r);
  cursor.start_at(from);
  SyncPoint p;
  while (cursor.next(p))
    if (p.exit > from) exits.push_back(p.exit);
  return exits;
}

/// Where the last step ends: after as many synchronisations as a step usually has, so that the job's
/// tear-down (a last barrier, a gathered result) is not part of it.
Duration end_of_last_step(const std::vector<Duration>& bounds, const std::vector<Duration>& exits,
                          Duration fallback) {
  std::vector<double> per_step;
  std::size_t at = 0;
  for (std::size_t s = 0; s + 1 < bounds.size(); ++s) {
    std::size_t count = 0;
    for (; at < exits.size() && exits[at] <= bounds[s + 1]; ++at) ++count;
    per_step.push_back(static_cast<double>(count));
  }
  const std::size_t left = exits.size() - at;
  if (left == 0) return fallback;
  const auto usual =
      per_step.empty() ? left : static_cast<std::size_t>(std::max(1.0, median_in_place(per_step)));
  return exits[at + std::min(left, usual) - 1];
}

/// Ranks without bounds take those of another one.
void guess_bounds(Steps& steps, std::size_t reference) {
  for (auto& bounds : steps.bounds) {
    if (!bounds.empty()) continue;
    bounds = steps.bounds[reference];
    ++steps.guessed_ranks;
  }
}

std::optional<Steps> from_marks(const trace::Run& run, const CommIndex& comms,
                                const std::vector<RankScan>& scans, const Matching& m,
                                std::size_t reference) {
  Steps steps;
  steps.numbers = common_marks(scans, m, reference);
  if (steps.numbers.empty()) return std::nullopt;
  steps.source = StepSource::Marks;
  steps.count = static_cast<std::int64_t>(steps.numbers.size());
  steps.bounds.resize(scans.size());
  for (std::size_t r = 0; r < scans.size(); ++r) {
    steps.found.push_back(static_cast<std::int64_t>(scans[r].marks.size()));
    if (is_absent(m, reference, r)) continue;
    auto& bounds = steps.bounds[r];
    bounds.reserve(steps.numbers.size() + 1);
    auto at = scans[r].marks.begin();
    for (const std::int64_t number : steps.numbers) {
      while (at->number < number) ++at;
      bounds.push_back(at->at);
    }
    // Only the end needs the synchronisation points, and only those of a few steps:
    // the rest tells what is usual.
    const std::size_t recent = bounds.size() > 64 ? bounds.size() - 64 : 0;
    const std::vector<Duration> tail(bounds.begin() + static_cast<std::ptrdiff_t>(recent), bounds.end());
    const auto next = std::next(at);
    if (at != scans[r].marks.end() && next != scans[r].marks.end()) {
      bounds.push_back(next->at);  // this rank went on to a step that others did not reach
    } else {
      bounds.push_back(end_of_last_step(tail, exits_after(run, comms, scans, m, r, tail.front()),
                                        std::max(m.totals[r].last_exit, bounds.back())));
    }
  }
  guess_bounds(steps, reference);
  return steps;
}

/// Exit of the synchronisation one period before the first anchor, on a rank that takes part in the anchors.
Duration begin_of_first_step(const trace::Run& run, const CommIndex& comms,
                             const std::vector<RankScan>& scans, const Matching& m, std::size_t r,
                             Duration first_anchor_exit, std::size_t period) {
  SyncCursor cursor(run, comms, scans[r], m.groups, r);
  SyncPoint p;
  std::vector<Duration> exits;
  Duration first_entry{};
  while (cursor.next(p)) {
    if (exits.empty()) first_entry = p.entry;
    exits.push_back(p.exit);
    if (p.exit >= first_anchor_exit) break;
  }
  return exits.size() > period ? exits[exits.size() - 1 - period] : first_entry;
}

/// Steps that end where each of `anchors` ends.
Steps from_anchors(const trace::Run& run, const CommIndex& comms, const std::vector<RankScan>& scans,
                   const Matching& m, std::size_t reference, const std::vector<Token>& anchors,
                   std::size_t period) {
  Steps steps;
  steps.count = static_cast<std::int64_t>(anchors.size());
  steps.calls_per_step = static_cast<std::int64_t>(period);
  for (std::int64_t s = 0; s < steps.count; ++s) steps.numbers.push_back(s);
  steps.bounds.resize(run.ranks.size());
  steps.found.assign(run.ranks.size(), 0);
  const Group& group = m.groups[static_cast<std::size_t>(anchors.front().group)];
  for (std::size_t k = 0; k < group.members.size(); ++k) {
    const auto r = static_cast<std::size_t>(group.members[k]);
    if (is_absent(m, reference, r)) continue;
    auto& bounds = steps.bounds[r];
    bounds.reserve(anchors.size() + 1);
    bounds.push_back(
        begin_of_first_step(run, comms, scans, m, r, m.exit[group.cell(anchors.front().op, k)], period));
    for (const Token& anchor : anchors)
      bounds.push_back(std::max(m.exit[group.cell(anchor.op, k)], bounds.back()));
    steps.found[r] = steps.count;
  }
  guess_bounds(steps, reference);
  return steps;
}

/// The rank with most synchronisation points, the lowest among equals.
std::size_t reference_rank(const Matching& m) {
  std::size_t best = 0;
  for (std::size_t r = 1; r < m.totals.size(); ++r)
    if (m.totals[r].points > m.totals[best].points) best = r;
  return best;
}

std::size_t members_of(const Matching& m, const Token& t) {
  return t.group < 0 ? 0 : m.groups[static_cast<std::size_t>(t.group)].members.size();
}

/// Of the `length` calls from `first` on, the last of the widest group, so that as many ranks as possible share its end.
std::size_t last_of_widest(const Matching& m, const Sequence& s, std::size_t first, std::size_t length) {
  std::size_t last = first;
  for (std::size_t k = first; k < first + length; ++k)
    if (members_of(m, s.points[k]) >= members_of(m, s.points[last])) last = k;
  return last;
}

/// Where the steps end: every `period.length` calls.
std::vector<std::size_t> ends_of(const Matching& m, const Sequence& s, const Period& period) {
  std::vector<std::size_t> ends;
  for (std::size_t at = last_of_widest(m, s, period.first, period.length); at < period.end;
       at += period.length)
    ends.push_back(at);
  return ends;
}

/// Where they end if what repeats inside a period are the steps, with an interlude every few of them.
std::vector<std::size_t> ends_inside(const Matching& m, const Sequence& s, const Period& outer,
                                     const Period& inner) {
  std::vector<std::size_t> ends;
  for (std::size_t at = outer.first; at + inner.length <= outer.end;) {
    // How far into the stretch of repeats, which may have begun in the period before.
    const std::size_t into = (at - outer.first + outer.length - inner.first) % outer.length;
    const bool begins = into % inner.length == 0 && into + inner.length <= inner.end - inner.first;
    if (!begins) {
      ++at;
    } else {
      ends.push_back(last_of_widest(m, s, at, inner.length));
      at += inner.length;
    }
  }
  return ends;
}

std::optional<Steps> from_period(const trace::Run& run, const CommIndex& comms,
                                 const std::vector<RankScan>& scans, const Matching& m, std::size_t reference,
                                 const Sequence& s) {
  /// Fewer steps than these tell next to nothing. What repeats inside them may be layers or steps: it is taken for
  /// steps only there.
  constexpr std::size_t kFew = 30;
  /// Layers are followed by a call of the group that ends the step; statistics have groups of their own.
  const auto in_interlude = [&](const Period& outer, const Period& inner, std::int32_t group) {
    for (std::size_t k = inner.end; k < inner.first + outer.length; ++k)
      if (s.points[outer.first + k % outer.length].group == group) return true;
    return false;
  };
  const Period period = find_period(s.tokens);
  if (period.length == 0) return std::nullopt;
  std::vector<std::size_t> ends = ends_of(m, s, period);
  std::size_t length = period.length;
  if (ends.size() < kFew) {
    const auto ring = std::span(s.tokens).subspan(period.first, period.length);
    const Period inner = find_inner_period(ring);
    if (inner.length > 0 && !in_interlude(period, inner, s.points[ends.front()].group)) {
      ends = ends_inside(m, s, period, inner);
      length = inner.length;
    }
  }
  std::vector<Token> anchors;
  for (const std::size_t end : ends)
    if (complete(m, s.points[end], reference) &&
        (anchors.empty() || s.points[end].group == anchors.front().group))
      anchors.push_back(s.points[end]);
  if (anchors.size() < 2) return std::nullopt;
  Steps steps = from_anchors(run, comms, scans, m, reference, anchors, length);
  steps.source = StepSource::Period;
  return steps;
}

std::optional<Steps> from_each_call(const trace::Run& run, const CommIndex& comms,
                                    const std::vector<RankScan>& scans, const Matching& m,
                                    std::size_t reference, const Sequence& s) {
  std::size_t widest = 0;
  std::int32_t group = -1;
  std::vector<std::int64_t> calls(m.groups.size(), 0);
  for (const Token& t : s.points)
    if (t.group >= 0) ++calls[static_cast<std::size_t>(t.group)];
  for (std::size_t g = 0; g < m.groups.size(); ++g) {
    const std::size_t weight = static_cast<std::size_t>(calls[g]) * m.groups[g].members.size();
    if (weight > widest) {
      widest = weight;
      group = static_cast<std::int32_t>(g);
    }
  }
  std::vector<Token> anchors;
  for (const Token& t : s.points)
    if (t.group == group && complete(m, t, reference)) anchors.push_back(t);
  if (anchors.size() < 2) return std::nullopt;
  Steps steps = from_anchors(run, comms, scans, m, reference, anchors, 1);
  steps.source = StepSource::EachSync;
  return steps;
}

/// Counts what one rank does in each step, and takes the usual.
void count_per_step(const trace::Run& run, const CommIndex& comms, const std::vector<RankScan>& scans,
                    const Matching& m, std::size_t r, Steps& steps) {
  std::vector<double> calls(static_cast<std::size_t>(steps.count), 0);
  std::vector<double> collectives = calls;
  SyncCursor cursor(run, comms, scans[r], m.groups, r);
  const trace::EventColumns& e = run.ranks[r].events;
  std::int64_t hint = -1;
  const auto count = [&](std::vector<double>& column, Duration exit) {
    const std::int64_t step = steps.step_of(r, exit, hint);
    if (step < 0) return;
    hint = step;
    ++column[static_cast<std::size_t>(step)];
  };
  SyncPoint p;
  while (cursor.next(p, [&](const Call& call) { count(collectives, e.end[call.event]); }))
    count(calls, p.exit);
  if (steps.count == 0) return;
  if (steps.calls_per_step == 0) steps.calls_per_step = std::llround(median_in_place(calls));
  steps.collectives_per_step = std::llround(median_in_place(collectives));
}

std::optional<Steps> any_steps(const trace::Run& run, const CommIndex& comms,
                               const std::vector<RankScan>& scans, const Matching& m, std::size_t reference) {
  if (auto steps = from_marks(run, comms, scans, m, reference)) return steps;
  const Sequence s = sequence_of(run, comms, scans, m, reference);
  if (!scans[reference].exchanges.empty()) {  // a step is an exchange, whatever collectives lie between them
    auto steps = from_each_call(run, comms, scans, m, reference, s);
    if (steps) steps->source = StepSource::Period;
    return steps;
  }
  if (auto steps = from_period(run, comms, scans, m, reference, s)) return steps;
  return from_each_call(run, comms, scans, m, reference, s);
}

}  // namespace

std::int64_t Steps::step_of(std::size_t r, Duration exit, std::int64_t hint) const {
  const auto& b = bounds[r];
  if (count == 0 || exit <= b.front() || exit > b.back()) return -1;
  const auto in = [&](std::int64_t s) {
    return s >= 0 && s < count && b[static_cast<std::size_t>(s)] < exit &&
           exit <= b[static_cast<std::size_t>(s) + 1];
  };
  if (in(hint)) return hint;
  if (in(hint + 1)) return hint + 1;
  return std::lower_bound(b.begin(), b.end(), exit) - b.begin() - 1;
}

Steps find_steps(const trace::Run& run, const CommIndex& comms, const std::vector<RankScan>& scans,
                 const Matching& m) {
  if (run.ranks.empty()) return {};
  const std::size_t reference = reference_rank(m);
  if (auto steps = any_steps(run, comms, scans, m, reference)) {
    count_per_step(run, comms, scans, m, reference, *steps);
    return *std::move(steps);
  }
  Steps none;
  none.bounds.resize(run.ranks.size());
  none.found.assign(run.ranks.size(), 0);
  return none;
}

}  // namespace cox::diagnose
