// SPDX-License-Identifier: Apache-2.0
#include "diagnose/pacing/pace_facts.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "diagnose/cause/locality.hpp"
#include "diagnose/match/span_math.hpp"

namespace cox::diagnose {
namespace {

using pace::WaitMode;
using trace::Sample;

constexpr double kLeastInside = 0.1;   // of the time: less waiting does not tell how it is done
constexpr double kPolls = 0.3;         // of the time inside
constexpr double kUnlike = 0.25;       // ranks' parts of time inside
constexpr double kYields = 2000;       // per second on a CPU
constexpr double kShortOfCpus = 0.03;  // of the time, ready to run
constexpr double kWorthPacing = 0.03;  // of an iteration, as the controller has it
constexpr const char* kPriorityFact = "cox/pace/priority";

/// How one rank's main thread spent the time between its first and its last sample, in parts of it.
struct Spent {
  double inside = 0;  // of synchronisations and waits for messages
  double cpu = 0;
  double ready = 0;      // to run, and had no CPU
  double switches = -1;  // away from a CPU that it did not give up, per second on one; -1 = not counted
  [[nodiscard]] double asleep() const { return std::max(0.0, 1 - cpu - ready); }
};

std::optional<Spent> spent_by(const trace::RankTrack& track, double inside) {
  if (track.samples.size() < 2) return std::nullopt;
  const Sample& a = track.samples.front();
  const Sample& b = track.samples.back();
  const double span = in_seconds(minus_clamped(b.at, a.at));
  if (span <= 0 || !a.main_cpu || !b.main_cpu || !a.main_wait || !b.main_wait) return std::nullopt;
  Spent out{.inside = std::clamp(inside, 0.0, 1.0),
            .cpu = in_seconds(minus_clamped(*b.main_cpu, *a.main_cpu)) / span};
  out.ready = std::clamp(in_seconds(minus_clamped(*b.main_wait, *a.main_wait)) / span, 0.0, 1.0);
  if (a.involuntary && b.involuntary && out.cpu > 0)
    out.switches =
        (static_cast<double>(*b.involuntary) - static_cast<double>(*a.involuntary)) / (out.cpu * span);
  return out;
}

/// Which part of its own work a rank is awake: all of it, unless ranks that wait unlike long tell another part (a device works,
/// and the host sleeps). By least squares of awake = work x outside + wait x inside.
double awake_at_work(const std::vector<Spent>& ranks) {
  const auto [least, most] = std::minmax_element(
      ranks.begin(), ranks.end(), [](const Spent& a, const Spent& b) { return a.inside < b.inside; });
  if (ranks.empty() || most->inside - least->inside < kUnlike) return 1;
  double oo = 0, oi = 0, ii = 0, ao = 0, ai = 0;
  for (const Spent& s : ranks) {
    const double outside = 1 - s.inside;
    const double awake = 1 - s.asleep();
    oo += outside * outside;
    oi += outside * s.inside;
    ii += s.inside * s.inside;
    ao += awake * outside;
    ai += awake * s.inside;
  }
  const double det = oo * ii - oi * oi;
  return det > 0 ? std::clamp((ao * ii - ai * oi) / det, 0.0, 1.0) : 1;
}

WaitMode mode_of(const Spent& s, double at_work) {
  if (s.inside < kLeastInside) return WaitMode::Unknown;
  const double asleep = std::max(0.0, s.asleep() - (1 - s.inside) * (1 - at_work));
  if (asleep > (1 - kPolls) * s.inside) return WaitMode::Block;
  if (asleep >= kPolls * s.inside) return WaitMode::Unknown;
  return s.switches > kYields ? WaitMode::Yield : WaitMode::Spin;
}

/// What most ranks of a host do, where at least half of them tell.
pace::Facts habits_on(const Matched& matched, const std::string& host, std::span<const double> inside) {
  std::size_t ranks = 0;
  std::vector<Spent> spent;
  std::size_t by_mode[4] = {};
  double ready = 0;
  for (std::size_t r = 0; r < matched.ranks(); ++r) {
    const bool here = std::any_of(matched.nodes().begin(), matched.nodes().end(), [&](const trace::Node& n) {
      return n.id == matched.track(r).node && n.host == host;
    });
    if (!here) continue;
    ++ranks;
    if (const auto one = spent_by(matched.track(r), r < inside.size() ? inside[r] : 0)) spent.push_back(*one);
  }
  const std::size_t told = spent.size();
  pace::Facts out;
  if (told == 0 || 2 * told < ranks) return out;
  const double at_work = awake_at_work(spent);
  for (const Spent& s : spent) {
    ready += s.ready;
    ++by_mode[static_cast<std::size_t>(mode_of(s, at_work))];
  }
  for (const WaitMode mode : {WaitMode::Spin, WaitMode::Yield, WaitMode::Block})
    if (2 * by_mode[static_cast<std::size_t>(mode)] > told) out.wait = mode;
  const bool lacks_cpus = ready / static_cast<double>(told) >= kShortOfCpus;
  out.host_busy_at_start = lacks_cpus && out.wait == WaitMode::Block;
  return out;
}

/// The probe at a job's start has the last word: where it refused, another start changes nothing; where it did not, this
/// Run had priorities already, and advising them again would go in a circle. Where none was made, it is worth one.
bool may_raise_priority(const Matched& matched) {
  return std::none_of(matched.tracks().begin(), matched.tracks().end(), [](const trace::RankTrack& track) {
    return std::any_of(track.locality.begin(), track.locality.end(),
                       [](const trace::LocalityFact& f) { return f.path == kPriorityFact; });
  });
}

}  // namespace

pace::Facts host_facts(const Matched& matched, std::span<const NodeLocality> places,
                       std::span<const double> inside) {
  pace::Facts out;
  const NodeLocality* most = nullptr;
  double crowd = 0;
  int cpus = 0;
  for (const NodeLocality& place : places) {
    const bool has_own = place.ranks > 0 && place.bound == place.ranks && place.sharing_cores == 0;
    const int shared = has_own ? place.ranks : place.cpus;
    if (shared <= 0 || place.ranks <= 0) continue;
    const double here = static_cast<double>(place.ranks) / shared;
    if (here <= crowd) continue;
    most = &place;
    crowd = here;
    cpus = shared;
  }
  if (most != nullptr) {
    out = habits_on(matched, most->host, inside);
    out.ranks_on_host = static_cast<std::uint32_t>(most->ranks);
    out.cores = static_cast<std::uint32_t>(cpus);
    out.host_busy_at_start = out.host_busy_at_start && crowd > 1;
  }
  out.priority_undoable = may_raise_priority(matched);
  return out;
}

pace::Facts facts_of(const Matched& matched, std::span<const NodeLocality> places,
                     std::span<const RankAccount> ranks, std::span<const FindingKind> kinds) {
  std::vector<double> inside(matched.ranks(), 0);
  for (std::size_t r = 0; r < std::min(inside.size(), ranks.size()); ++r) {
    const RankAccount& a = ranks[r];
    const double waits = in_seconds(a.wait) + in_seconds(a.message_wait) + in_seconds(a.transfer);
    const double all = in_seconds(a.work) + waits;
    if (matched.rank(r) == a.rank && all > 0) inside[r] = waits / all;
  }
  pace::Facts out = host_facts(matched, places, inside);
  for (const FindingKind kind : kinds) {
    out.persistent = out.persistent || kind == FindingKind::SlowRank || kind == FindingKind::SlowGroup;
    out.rotating = out.rotating || kind == FindingKind::RotatingStraggler;
  }
  return out;
}

pace::Facts facts_of(const Matched& matched, const Pacing& p, std::span<const double> inside) {
  pace::Facts out = host_facts(matched, understand_locality(matched), inside);
  for (const PaceReplay& r : p.replays) {
    const double period = in_seconds(r.evidence.period);
    out.persistent =
        out.persistent || (period > 0 && in_seconds(r.evidence.predictable) > kWorthPacing * period);
    out.launch_ahead = out.launch_ahead || r.last.reason == pace::Reason::LaunchAhead;
  }
  return out;
}

}  // namespace cox::diagnose
