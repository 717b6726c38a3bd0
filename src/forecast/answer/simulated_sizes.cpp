// SPDX-License-Identifier: Apache-2.0
#include "forecast/answer/simulated_sizes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"

#include "forecast/answer/estimate_json.hpp"
#include "forecast/regimes/simulated_scaling.hpp"
#include "forecast/scenario/resize.hpp"

namespace cox::forecast {
namespace {

constexpr std::int64_t kMostSimulated = 4'096;
constexpr std::int64_t kMostPlayed = 256;  ///< where messages share links or are disturbed
constexpr std::size_t kMostSizes = 4;
constexpr std::size_t kMostPlayedSizes = 2;
constexpr std::int64_t kRankSteps = 65'536;
constexpr std::int64_t kPlayedRankSteps = 1'024;
constexpr double kRounding = 5e-3;

bool is_played(const model::Scenario& s) {
  return model::plays_links(s, s.job.workload()) || model::disturbs_messages(s);
}

/// What is simulated at one size: the noise that the forecast has, too.
model::Scenario simulated_at(const model::Scenario& scenario, std::int64_t ranks) {
  model::Scenario s = resized(scenario, ranks);
  std::erase_if(s.noise, [](const model::NoiseSource& n) { return n.pattern == model::NoisePattern::Once; });
  // The first step may be longer than those that follow, and a drift goes on: all of the job's steps, if there is time.
  const std::int64_t room = (is_played(s) ? kPlayedRankSteps : kRankSteps) / ranks;
  s.job.steps = static_cast<int>(
      std::min<std::int64_t>(s.job.steps, std::max<std::int64_t>(room, is_played(s) ? 4 : 20)));
  s.replicas = is_played(s) ? (s.noise.empty() ? 1 : 4) : (s.noise.empty() ? 4 : 16);
  return s;
}

/// The scenario's own size and the smallest of those asked that can be made and simulated, at least twice its own.
std::set<std::int64_t> sizes_to_simulate(const model::Scenario& scenario, std::int64_t seen,
                                         const std::vector<SizePoint>& asked) {
  const std::size_t most = is_played(scenario) ? kMostPlayedSizes : kMostSizes;
  std::set<std::int64_t> others;
  for (const SizePoint& p : asked)
    if (p.refused.empty() && p.ranks != seen && p.ranks % unit_of(scenario) == 0) others.insert(p.ranks);
  std::set<std::int64_t> out{seen};
  for (const std::int64_t ranks : others)
    if (out.size() < most && is_small_enough(simulated_at(scenario, ranks))) out.insert(ranks);
  if (out.size() == 1) out.insert(2 * seen);
  return out;
}

bool meets(const CheckedSize& s, const TimeBand& band) {
  const Seconds rounding = kRounding * s.step;
  return s.step + s.half_width >= band.low - rounding && s.step - s.half_width <= band.high + rounding;
}

/// By how much bands are to be lower and higher, as ratios.
std::pair<double, double> reach_of(const CheckedSize& s) {
  if (s.follows()) return {1, 1};
  return {std::min(1.0, (s.step - s.half_width) / s.forecast.value),
          std::max(1.0, (s.step + s.half_width) / s.forecast.value)};
}

double apart(std::int64_t a, std::int64_t b) {
  return std::abs(std::log(static_cast<double>(a) / static_cast<double>(b)));
}

std::string step_of(const CheckedSize& s) {
  return s.half_width > Seconds{} ? with_half_width(s.step, s.half_width, 3) : to_string(s.step);
}

}  // namespace

bool CheckedSize::agrees() const {
  return meets(*this, by_parts);
}

bool CheckedSize::follows() const {
  return meets(*this, forecast);
}

bool is_small_enough(const model::Scenario& s) {
  return model::ranks_of(s.cluster, s.job.places) <= (is_played(s) ? kMostPlayed : kMostSimulated);
}

std::string too_large_text() {
  return fmt::format("simulated up to {} ranks, {} where messages share links", grouped(kMostSimulated),
                     kMostPlayed);
}

CheckedSizes simulate_sizes(const model::Scenario& scenario, std::int64_t seen,
                            const std::vector<SizePoint>& asked,
                            const std::function<TimeBand(std::int64_t ranks)>& forecast, int threads) {
  CheckedSizes out;
  if (!is_small_enough(scenario)) {
    out.left_out = too_large_text();
    return out;
  }
  const std::int64_t devices = scenario.cluster.devices_per_node;
  SimulatedScalingOptions options{.nodes = {}, .replicates = 0, .mechanisms = false, .threads = threads};
  for (const std::int64_t ranks : sizes_to_simulate(scenario, seen, asked))
    options.nodes.push_back(ranks / devices);
  const ScenarioAt at = [&](std::int64_t nodes) -> Result<model::Scenario> {
    return simulated_at(scenario, nodes * devices);
  };
  const auto simulated = simulate_scaling(at, options);
  if (!simulated) {
    out.left_out = simulated.error().message;
    return out;
  }
  for (const SimulatedSize& s : simulated->sizes) {
    const TimeBand by_parts = forecast(s.ranks);
    out.sizes.push_back({.ranks = s.ranks,
                         .step = s.step,
                         .half_width = s.half_width,
                         .by_parts = by_parts,
                         .forecast = by_parts});
  }
  return out;
}

OverPartsAt over_parts(const CheckedSizes& simulated) {
  const auto& sizes = simulated.sizes;
  if (std::ranges::all_of(sizes, [](const CheckedSize& s) { return s.agrees(); })) return {};
  const auto n = static_cast<double>(sizes.size());
  double mean_x = 0;
  double mean_y = 0;
  const auto x_of = [](const CheckedSize& s) { return std::log(static_cast<double>(s.ranks)); };
  const auto y_of = [](const CheckedSize& s) { return std::log(s.step / s.by_parts.value); };
  for (const CheckedSize& s : sizes) {
    mean_x += x_of(s) / n;
    mean_y += y_of(s) / n;
  }
  const bool is_level = std::ranges::all_of(sizes, [&](const CheckedSize& s) {
    return std::abs(y_of(s) - mean_y) <= s.half_width / s.step + kRounding;
  });
  double xx = 0;
  double xy = 0;
  for (const CheckedSize& s : sizes) {
    xx += (x_of(s) - mean_x) * (x_of(s) - mean_x);
    xy += (x_of(s) - mean_x) * y_of(s);
  }
  const double slope = is_level ? 0 : xy / xx;
  return [=](std::int64_t ranks) {
    return std::exp(mean_y + slope * (std::log(static_cast<double>(ranks)) - mean_x));
  };
}

void widen(SizePoint& p, const CheckedSizes& simulated, const OverPartsAt& over) {
  if (!p.refused.empty() || simulated.sizes.empty()) return;
  const auto nearest = std::ranges::min_element(
      simulated.sizes, {}, [&](const CheckedSize& s) { return apart(s.ranks, p.ranks); });
  auto [low, high] = reach_of(*nearest);
  const std::int64_t within =
      std::clamp(p.ranks, simulated.sizes.front().ranks, simulated.sizes.back().ranks);
  const double not_on = over_parts_at(over, within) / over_parts_at(over, p.ranks);
  low = std::min(low, not_on);
  high = std::max(high, not_on);
  for (TimeBand* band : {&p.mean, &p.median, &p.p95, &p.p99, &p.p999, &p.with_unseen, &p.with_shared}) {
    band->low = std::min(band->low, low * band->value);
    band->high = std::max(band->high, high * band->value);
  }
}

std::vector<std::string> simulated_lines(const CheckedSizes& simulated) {
  std::vector<std::string> out;
  std::vector<std::string> agreeing;
  for (const CheckedSize& s : simulated.sizes) {
    if (s.agrees())
      agreeing.push_back(grouped(s.ranks));
    else
      out.push_back(fmt::format("check: simulated, {} ranks take {}, by the parts {}: {}", grouped(s.ranks),
                                step_of(s), to_string(s.by_parts.value),
                                s.follows() ? "the forecast follows" : "the band reaches to that"));
  }
  if (!agreeing.empty())
    out.push_back(
        fmt::format("check: simulated, {} ranks take as long as forecast", fmt::join(agreeing, ", ")));
  if (!simulated.left_out.empty()) out.push_back("check: not made: " + simulated.left_out);
  return out;
}

Json simulated_json(const CheckedSizes& simulated) {
  Json j{{"sizes", Json::array()},
         {"left_out", simulated.left_out.empty() ? Json(nullptr) : Json(simulated.left_out)}};
  for (const CheckedSize& s : simulated.sizes)
    j["sizes"].push_back({{"ranks", s.ranks},
                          {"step_s", s.step.count()},
                          {"half_width_s", s.half_width.count()},
                          {"by_parts", json_of(s.by_parts)},
                          {"forecast", json_of(s.forecast)},
                          {"agrees", s.agrees()}});
  return j;
}

}  // namespace cox::forecast
