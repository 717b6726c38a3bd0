// SPDX-License-Identifier: Apache-2.0
#include "simulate/noise/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <variant>

#include "cox/base/assert.hpp"
#include "cox/base/file.hpp"
#include "cox/base/random.hpp"

#include "simulate/noise/quantile_law.hpp"

namespace cox::simulate {
namespace {

using model::NoiseLaw;
using model::NoisePattern;
using model::NoiseScope;
using model::NoiseSource;
using model::NoiseTarget;

constexpr std::size_t kTraceLimit = std::size_t{1} << 28;
constexpr std::size_t kQuantileLimit = std::size_t{1} << 25;
constexpr std::uint64_t kForEver = std::uint64_t{1} << 63;  // counter of a draw that holds for the whole job

Error bad_source(const NoiseSource& source, std::string message, std::string hint) {
  return {.code = Errc::InvalidInput,
          .id = "simulate-001",
          .message = fmt::format("noise source '{}': {}", source.name, message),
          .hint = std::move(hint),
          .where = std::nullopt};
}

bool draws_nothing(const NoiseSource& s) {
  return s.law == NoiseLaw::Constant || s.law == NoiseLaw::Trace;
}

Status check_daemon(const NoiseSource& s) {
  if (s.pattern != NoisePattern::Periodic) return {};
  if (s.relative || s.law == NoiseLaw::Quantiles || !(s.period.count() > 0 && s.period.count() < 1e12))
    return fail(
        bad_source(s, "a daemon has a period and a mean that are times", "Give both, with their units."));
  if (s.mean.count() > 0.999 * s.period.count())
    return fail(bad_source(s, "the daemon never ends before it begins again",
                           "Give a mean shorter than the period."));
  return {};
}

Status check_bursts(const NoiseSource& s) {
  if (s.burst_steps == 0 && s.calm_steps == 0) return {};
  if (!(s.burst_steps >= 1) || !(s.calm_steps >= 1) || 1 / s.burst_steps + 1 / s.calm_steps > 1)
    return fail(bad_source(s, "the chance to leave a burst and that to enter one are above 1 together",
                           "Give burst_steps and calm_steps, both above 1, or a probability."));
  if ((s.pattern != NoisePattern::EveryStep && s.pattern != NoisePattern::Persistent) ||
      s.law == NoiseLaw::Trace)
    return fail(bad_source(s, "bursts are of what is drawn every step, or once for all",
                           "Use pattern every-step or persistent."));
  return {};
}

Status check_pattern(const NoiseSource& s) {
  if (s.period_steps < 1)
    return fail(bad_source(s, fmt::format("period_steps is {}, expected 1 or more", s.period_steps),
                           "Correct the value."));
  if (s.correlation > 0 && s.pattern != NoisePattern::EveryStep)
    return fail(bad_source(s, "correlation is between steps that are drawn each",
                           "Leave correlation out, or use pattern every-step."));
  if (s.correlation > 0 && draws_nothing(s))
    return fail(bad_source(s, "this law draws nothing that could be correlated", "Leave correlation out."));
  if (s.target == NoiseTarget::Bandwidth && !s.relative)
    return fail(bad_source(s, "bandwidth changes by a ratio, not by a time", "Give mean_ratio, or cv."));
  if (s.target != NoiseTarget::Compute && (s.pattern == NoisePattern::Periodic || s.law == NoiseLaw::Trace))
    return fail(bad_source(s, "daemons and recorded traces disturb compute only", "Use target compute."));
  if (s.pattern == NoisePattern::Once && (s.law != NoiseLaw::Constant || s.probability < 1))
    return fail(bad_source(s, "what happens once is known", "Use law constant, without a probability."));
  COX_CHECK(check_bursts(s));
  return check_daemon(s);
}

Result<NoiseSource> with_quantiles(NoiseSource s) {
  if (s.law != NoiseLaw::Quantiles || s.file.empty()) return s;
  if (!s.quantiles.empty())
    return fail(bad_source(s, "it has quantiles and a file of them", "Give one of the two."));
  COX_TRY(const std::string text, read_file(s.file, kQuantileLimit));
  COX_TRY(s.quantiles, parse_quantiles(text, s.file));
  return s;
}

}  // namespace

NoiseUnits::NoiseUnits(NoiseScope scope, const SharedPlaces& p) {
  const std::int64_t node = std::max(1, p.ranks_per_node);
  const std::int64_t all = std::max(1, p.ranks);
  std::int64_t unit = 1;
  if (scope == NoiseScope::Node) unit = node;
  if (scope == NoiseScope::Switch) unit = node * std::max(1, p.nodes_per_switch);
  if (scope == NoiseScope::Global) unit = all;
  if (scope == NoiseScope::Rail) {
    kind_ = Kind::Rails;
    unit = node;
    number_ = std::clamp(p.rails, 1, static_cast<int>(node));
  }
  if (scope == NoiseScope::Stage) {
    kind_ = Kind::Stages;
    unit = std::max(1, p.ranks_per_stage);
    number_ = std::max(1, p.stages);
  }
  size_ = static_cast<int>(std::min(unit, std::max(all, node)));
  if (kind_ == Kind::Runs) size_ = static_cast<int>(std::min(unit, all));
  count_ = kind_ == Kind::Runs ? static_cast<std::uint64_t>((all - 1) / size_ + 1)
                               : static_cast<std::uint64_t>(number_);
}

NoiseUnits NoiseUnits::where_ranks_sit(NoiseScope scope, const SharedPlaces& p) {
  const bool of_devices =
      scope == NoiseScope::Node || scope == NoiseScope::Switch || scope == NoiseScope::Rail;
  const bool own_cards = scope == NoiseScope::Rail && !p.card_of_device.empty();
  if ((p.devices.empty() && !own_cards) || !of_devices) return {scope, p};
  SharedPlaces all = p;  // of the devices, in their order
  if (p.devices.empty()) {
    all.devices.resize(static_cast<std::size_t>(std::max(1, p.ranks)));
    std::iota(all.devices.begin(), all.devices.end(), 0);
  }
  for (const int device : all.devices) all.ranks = std::max(all.ranks, device + 1);
  NoiseUnits units(scope, all);
  std::vector<std::uint64_t> used;
  used.reserve(all.devices.size());
  for (const int device : all.devices)
    used.push_back(own_cards ? static_cast<std::uint64_t>(p.card_of_device[static_cast<std::size_t>(device)])
                             : units.of(device));
  std::vector<std::uint64_t> numbered = used;
  std::ranges::sort(numbered);
  const auto again = std::ranges::unique(numbered);
  numbered.erase(again.begin(), again.end());
  units.of_rank_.reserve(used.size());
  for (const std::uint64_t unit : used)
    units.of_rank_.push_back(
        static_cast<std::uint32_t>(std::ranges::lower_bound(numbered, unit) - numbered.begin()));
  units.count_ = numbered.size();
  return units;
}

std::uint64_t NoiseUnits::of(int rank) const {
  if (!of_rank_.empty()) {
    const auto r = static_cast<std::size_t>(rank);
    return r < of_rank_.size() ? of_rank_[r] : count_ + r - of_rank_.size();
  }
  if (kind_ == Kind::Runs) return static_cast<std::uint64_t>(rank / size_);
  if (kind_ == Kind::Rails) return static_cast<std::uint64_t>(std::int64_t{rank % size_} * number_ / size_);
  return static_cast<std::uint64_t>(rank / size_ % number_);
}

Result<Source> Source::make(const NoiseSource& said, const SharedPlaces& placement, std::size_t number) {
  COX_CHECK(check_pattern(said));
  COX_TRY(const NoiseSource s, with_quantiles(said));
  COX_TRY(NoiseDraws draws, NoiseDraws::make(s, number));
  Source out{.draws = std::move(draws),
             .file = s.file,
             .target = s.target,
             .pattern = s.pattern,
             .relative = s.relative,
             .correlated = s.correlation > 0,
             .period_steps = static_cast<std::uint64_t>(s.period_steps),
             .when = s.step,
             .period = s.period.count(),
             .units = NoiseUnits::where_ranks_sit(s.scope, placement),
             .only = s.ranks,
             .bursts = std::nullopt,
             .steps = std::nullopt,
             .detours = std::nullopt};
  if (s.burst_steps > 0) out.bursts.emplace(s.burst_steps, s.calm_steps);
  std::ranges::sort(out.only);
  if (!out.only.empty() && (out.only.front() < 0 || out.only.back() >= placement.ranks))
    return fail(bad_source(s,
                           fmt::format("its ranks reach from {} to {}, the job's from 0 to {}",
                                       out.only.front(), out.only.back(), placement.ranks - 1),
                           "Name ranks of the job."));
  if (s.law != NoiseLaw::Trace) return out;
  COX_TRY(const std::string text, read_file(s.file, kTraceLimit));
  COX_TRY(auto trace, parse_noise_trace(text, s.file));
  if (auto* steps = std::get_if<StepTimes>(&trace)) out.steps = std::move(*steps);
  if (auto* detours = std::get_if<Detours>(&trace)) out.detours = std::move(*detours);
  return out;
}

bool Source::concerns(int rank) const {
  return only.empty() || std::ranges::binary_search(only, rank);
}

/// Counter of the draw that holds in `step`.
std::uint64_t Source::counter_at(std::int64_t step) const {
  switch (pattern) {
    case NoisePattern::Persistent:
    case NoisePattern::Drift:
      return kForEver;
    case NoisePattern::Rotating:
      return static_cast<std::uint64_t>(step) / period_steps;
    default:
      return static_cast<std::uint64_t>(step);
  }
}

/// Draws of `whom`, at most kNoiseChunk, one per unit: all units between the least and the largest at once where these
/// are not too many.
template <class Draw>
void Source::by_unit(const Whom& whom, std::span<double> out, Draw draw) const {
  if (units.single() && whom.named.empty()) return draw(static_cast<std::uint64_t>(whom.first), out);
  if (out.size() == 1) return draw(units.of(whom.at(0)), out);
  std::array<std::uint64_t, kNoiseChunk> unit{};
  for (std::size_t i = 0; i < out.size(); ++i) unit[i] = units.of(whom.at(i));
  const auto [low, high] = std::minmax_element(unit.begin(), unit.begin() + out.size());
  const std::uint64_t least = *low;
  const std::uint64_t range = *high - least + 1;
  if (range <= kNoiseChunk) {
    std::array<double, kNoiseChunk> drawn;
    draw(least, std::span(drawn).first(range));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = drawn[unit[i] - least];
    return;
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (i > 0 && unit[i] == unit[i - 1])
      out[i] = out[i - 1];
    else
      draw(unit[i], out.subspan(i, 1));
  }
}

/// Zero for units that are not `in`, which is asked once per run of ranks of a unit.
template <class In>
void Source::keep_units(const Whom& whom, std::span<double> amounts, In in) const {
  std::uint64_t asked = kForEver;
  bool answer = false;
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    const std::uint64_t unit = units.of(whom.at(i));
    if (unit != asked) answer = in(unit);
    asked = unit;
    if (!answer) amounts[i] = 0;
  }
}

/// Zero for all that the source does not concern in `step`.
void Source::limit(std::uint64_t seed, std::int64_t step, const Whom& whom, std::span<double> amounts) const {
  const auto now = static_cast<std::uint64_t>(step);
  if (pattern == NoisePattern::Drift) {
    const double grown = std::min(1.0, static_cast<double>(step) / static_cast<double>(period_steps));
    for (double& x : amounts) x *= grown;
  }
  if (pattern == NoisePattern::Once && step != when) std::ranges::fill(amounts, 0.0);
  if (pattern == NoisePattern::Recurring) {
    const RandomStream phases(seed, stream(StreamPurpose::Phase));
    keep_units(whom, amounts, [&](std::uint64_t unit) {
      const double phase = phases.uniform(0, unit) * static_cast<double>(period_steps);
      return (now + static_cast<std::uint64_t>(phase)) % period_steps == 0;
    });
  }
  if (bursts)
    keep_units(whom, amounts, [&](std::uint64_t unit) {
      return bursts->on(seed, stream(StreamPurpose::Bursts), now, unit);
    });
  if (pattern == NoisePattern::Rotating) {
    const std::uint64_t turn = now / period_steps;
    const std::uint64_t whose = only.empty() ? turn % units.count() : units.of(only[turn % only.size()]);
    keep_units(whom, amounts, [&](std::uint64_t unit) { return unit == whose; });
  } else if (!only.empty()) {
    for (std::size_t i = 0; i < amounts.size(); ++i)
      if (!concerns(whom.at(i))) amounts[i] = 0;
  }
}

void Source::amounts(std::uint64_t seed, std::int64_t step, const Whom& whom, std::span<double> out,
                     CorrelatedMemory* memory) const {
  by_unit(whom, out, [&](std::uint64_t unit, std::span<double> values) {
    const bool all = values.size() > 1 || out.size() == 1;
    draws.amounts(seed, counter_at(step), unit, values, all ? memory : nullptr);
  });
  limit(seed, step, whom, out);
}

void Source::message_amounts(std::uint64_t seed, std::uint64_t key, std::int64_t step, std::int64_t round,
                             int first, const Whom& whom, std::span<double> out) const {
  const bool each = per_message();
  const std::uint64_t counter = each ? static_cast<std::uint64_t>(round) : counter_at(step);
  // Messages of their own differ by their places in the collective, which has its own key.
  const Whom drawn = each && units.single() ? Whom{.first = first, .named = {}, .count = out.size()} : whom;
  by_unit(drawn, out, [&](std::uint64_t unit, std::span<double> values) {
    if (correlated)
      draws.amounts(seed, counter, unit, values);
    else
      draws.message_amounts(each ? key : seed, counter, unit, values);
  });
  limit(seed, step, whom, out);
}

double Source::recorded_time(std::uint64_t seed, std::int64_t step, int rank) const {
  const StepTimes& t = *steps;
  const std::size_t place = units.of(rank);
  const std::size_t lap = place / t.ranks;
  std::size_t row = static_cast<std::size_t>(step) % t.steps;
  if (lap > 0) {
    const double u = RandomStream(seed, stream(StreamPurpose::StartRow)).uniform(lap, 0);
    row = (row + static_cast<std::size_t>(u * static_cast<double>(t.steps))) % t.steps;
  }
  return t.seconds[row * t.ranks + place % t.ranks];
}

}  // namespace cox::simulate
