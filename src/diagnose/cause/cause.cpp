// SPDX-License-Identifier: Apache-2.0
#include "diagnose/cause/cause.hpp"

#include <algorithm>
#include <array>

#include "diagnose/match/span_math.hpp"
#include "diagnose/match/sync_cursor.hpp"

namespace cox::diagnose {
namespace {

constexpr std::size_t kPhases = 6;
constexpr std::size_t kOutside = kPhases - 1;  // own time in no phase
constexpr std::array kCauses{Cause::Forward, Cause::Backward,   Cause::Optimizer,
                             Cause::Data,    Cause::Evaluation, Cause::OutsidePhases};
static_assert(kCauses.size() == kPhases);
using PhaseTimes = std::array<Duration, kPhases>;

/// Place of a phase in `PhaseTimes`; `kOutside` where it is not told apart.
std::size_t place_of(std::uint8_t phase) {
  switch (static_cast<trace::PhaseKind>(phase)) {
    case trace::PhaseKind::Forward:
      return 0;
    case trace::PhaseKind::Backward:
      return 1;
    case trace::PhaseKind::Optimizer:
      return 2;
    case trace::PhaseKind::Data:
      return 3;
    case trace::PhaseKind::Evaluation:
      return 4;
    case trace::PhaseKind::Other:
      break;
  }
  return kOutside;
}

/// What the time outside of all phases is called: where nothing tells the optimizer
/// and the data apart, it is theirs.
Cause cause_of(std::size_t place, bool has_optimizer_or_data) {
  return place == kOutside && !has_optimizer_or_data ? Cause::OptimizerOrData : kCauses[place];
}

/// Own time of one rank in each phase between two points in time:
/// synchronisations inside a phase do not count.
PhaseTimes own_phases(const Evidenced& x, std::size_t r, Duration from, Duration to) {
  const trace::EventColumns& e = x.matched.track(r).events;
  std::vector<std::pair<Duration, Duration>> syncs;
  SyncCursor cursor = x.matched.walk(r);
  cursor.start_at(from);
  SyncPoint p;
  while (cursor.next(p) && p.entry < to) syncs.emplace_back(p.entry, p.exit);

  PhaseTimes own{};
  Duration inside_syncs{};
  for (const auto& [entry, exit] : syncs) add_to(inside_syncs, minus_clamped(std::min(exit, to), entry));
  auto sync = syncs.begin();
  Duration counted_to = Duration::min();
  const auto begin = std::lower_bound(e.begin.begin(), e.begin.end(), from) - e.begin.begin();
  for (auto i = static_cast<std::size_t>(begin); i < e.size() && e.begin[i] < to; ++i) {
    if (e.kind[i] != trace::EventKind::Phase || e.end[i] == trace::kStillRunning) continue;
    const std::size_t place = place_of(e.op[i]);
    if (place == kOutside) continue;
    if (e.begin[i] < counted_to) continue;  // inside the phase before
    counted_to = e.end[i];
    Duration span = positive_part(minus_clamped(std::min(e.end[i], to), e.begin[i]));
    while (sync != syncs.end() && sync->second <= e.begin[i]) ++sync;
    for (auto s = sync; s != syncs.end() && s->first < e.end[i]; ++s)
      span -= positive_part(minus_clamped(std::min(s->second, e.end[i]), std::max(s->first, e.begin[i])));
    add_to(own[place], positive_part(span));
  }
  const Duration work = minus_clamped(minus_clamped(to, from), inside_syncs);
  Duration told{};
  for (const Duration phase : own) add_to(told, phase);
  own[kOutside] = positive_part(minus_clamped(work, told));
  return own;
}

}  // namespace

std::optional<PhaseExcess> find_phase(const Evidenced& x, const Named& named) {
  if (named.suspect.ranks.size() != 1 || x.ranks() < 2) return std::nullopt;
  for (const RankScan& scan : x.matched.scans())
    if (!scan.has_phases) return std::nullopt;
  const auto late = static_cast<std::size_t>(named.suspect.ranks.front());
  const auto first = static_cast<std::size_t>(named.suspect.first_step);
  const auto end = static_cast<std::size_t>(named.suspect.last_step) + 1;
  PhaseTimes own{};
  bool has_optimizer_or_data = false;
  std::array<std::vector<Duration>, kPhases> others;
  for (std::size_t r = 0; r < x.ranks(); ++r) {
    const PhaseTimes times = own_phases(x, r, x.steps().bounds[r][first], x.steps().bounds[r][end]);
    has_optimizer_or_data |= times[2] > Duration::zero() || times[3] > Duration::zero();
    if (r == late) own = times;
    for (std::size_t p = 0; r != late && p < kPhases; ++p) others[p].push_back(times[p]);
  }
  PhaseTimes excess{};
  Duration all{};
  std::size_t most = 0;
  for (std::size_t p = 0; p < kPhases; ++p) {
    excess[p] = positive_part(minus_clamped(own[p], lower_median_in_place(others[p])));
    add_to(all, excess[p]);
    if (excess[p] > excess[most]) most = p;
  }
  if (all <= Duration::zero()) return std::nullopt;
  return PhaseExcess{cause_of(most, has_optimizer_or_data), ratio(excess[most], all),
                     excess[most] / static_cast<std::int64_t>(end - first)};
}

}  // namespace cox::diagnose
