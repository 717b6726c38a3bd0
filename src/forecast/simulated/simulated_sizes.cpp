// SPDX-License-Identifier: Apache-2.0
#include "forecast/simulated/simulated_sizes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "cox/base/number_text.hpp"
#include "cox/base/parallel.hpp"
#include "cox/base/stats.hpp"
#include "cox/base/units_text.hpp"
#include "cox/simulate/outcome.hpp"
#include "cox/simulate/spread.hpp"

#include "forecast/law/monotone_cubic.hpp"
#include "forecast/project/estimate_json.hpp"
#include "forecast/regimes/simulated_scaling.hpp"
#include "forecast/scenario/resize.hpp"
#include "forecast/simulated/asked_sizes.hpp"
#include "forecast/simulated/budget.hpp"

namespace cox::forecast {
bool is_played(const model::Scenario& s) {
  return model::plays_links(s, s.job.workload()) || model::disturbs_messages(s);
}

namespace {

constexpr std::int64_t kMostSimulated = 4'096;
constexpr std::int64_t kMostPlayed = 256;  ///< where messages share links or are disturbed
constexpr int kSizes = 4;                  ///< of which one is the scenario's own
constexpr std::int64_t kRankSteps = 65'536;
constexpr std::int64_t kPlayedRankSteps = 1'024;
constexpr double kRounding = 5e-3;
constexpr double kNear =
    0.33;  ///< ln of ranks, less than half a doubling: what such sizes differ by is noise

/// What is simulated at one size: the noise that the forecast has, too.
model::Scenario simulated_at(const model::Scenario& scenario, std::int64_t ranks, Scaling scaling) {
  model::Scenario s = resized(scenario, ranks, scaling);
  std::erase_if(s.noise, [](const model::NoiseSource& n) { return n.pattern == model::NoisePattern::Once; });
  // The first step may be longer than those that follow, and a drift goes on: all of the job's steps, if there is time.
  const bool quiet = std::ranges::all_of(s.noise, &model::NoiseSource::off);
  s.replicas = is_played(s) ? (quiet ? 1 : 4) : (quiet ? 4 : 16);
  // What draws nothing is played once, so there is time for four times as many steps.
  const std::int64_t room = (is_played(s) ? kPlayedRankSteps * (4 / s.replicas) : kRankSteps) / ranks;
  s.job.steps = static_cast<int>(
      std::min<std::int64_t>(s.job.steps, std::max<std::int64_t>(room, is_played(s) ? 4 : 20)));
  return s;
}

/// The scenario's own size times powers of two, as far apart from each other up to the largest that is simulated: whatever is asked.
std::set<std::int64_t> sizes_to_simulate(const model::Scenario& scenario, std::int64_t seen,
                                         SimulatedRange range) {
  std::set<std::int64_t> out{seen};
  if (range == SimulatedRange::Own || is_played(scenario)) {
    if (no_such_size(scenario, 2 * seen).empty()) out.insert(2 * seen);
    return out;
  }
  int doublings = 0;
  while (seen << (doublings + 1) <= kMostSimulated) ++doublings;
  doublings = std::max(doublings, 1);
  for (int i = 1; i < kSizes; ++i) out.insert(seen << (doublings * i / (kSizes - 1)));
  std::erase_if(out, [&](std::int64_t ranks) { return !no_such_size(scenario, ranks).empty(); });
  return out;
}

bool meets(const CheckedSize& s, const TimeBand& band) {
  const Seconds rounding = kRounding * s.step;
  return s.step + s.half_width >= band.low - rounding && s.step - s.half_width <= band.high + rounding;
}

/// By how much bands are to be lower and higher, as ratios, to hold what was simulated.
std::pair<double, double> reach_of(const CheckedSize& s) {
  return {std::min(1.0, (s.step - s.half_width) / s.forecast.value),
          std::max(1.0, (s.step + s.half_width) / s.forecast.value)};
}

std::vector<double> places_of(const std::vector<CheckedSize>& sizes) {
  std::vector<double> x;
  x.reserve(sizes.size());
  for (const CheckedSize& s : sizes) x.push_back(std::log(static_cast<double>(s.ranks)));
  return x;
}

/// ln of simulated over parts.
std::vector<double> ratios_of(const std::vector<CheckedSize>& sizes) {
  std::vector<double> y;
  y.reserve(sizes.size());
  for (const CheckedSize& s : sizes) y.push_back(std::log(s.step / s.beside_others()));
  return y;
}

/// Their mean, weighted by how sure they are, where each is within its interval and half a per cent of it.
std::optional<double> level_of(const std::vector<CheckedSize>& sizes, const std::vector<double>& y) {
  double sum = 0;
  double weights = 0;
  const auto width = [&](std::size_t i) { return sizes[i].half_width / sizes[i].step + kRounding; };
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double weight = 1 / (width(i) * width(i));
    sum += weight * y[i];
    weights += weight;
  }
  const double mean = sum / weights;
  for (std::size_t i = 0; i < y.size(); ++i)
    if (std::abs(y[i] - mean) > width(i)) return std::nullopt;
  return mean;
}

/// What the last stretch of ratios becomes beyond all sizes; 1 among them. Of two that are near each other the stretch is noise.
double goes_on_beyond(const std::vector<CheckedSize>& all, std::int64_t ranks) {
  const std::size_t last = all.size() - 1;
  const std::vector<double> x = places_of(all);
  const std::vector<double> y = ratios_of(all);
  std::size_t before = last;
  while (before > 0 && x[last] - x[before] < kNear) --before;
  if (ranks <= all[last].ranks || !(x[last] - x[before] >= kNear)) return 1;
  return std::exp((y[last] - y[before]) / (x[last] - x[before]) *
                  (std::log(static_cast<double>(ranks)) - x[last]));
}

double apart(std::int64_t a, std::int64_t b) {
  return std::abs(std::log(static_cast<double>(a) / static_cast<double>(b)));
}

/// Of a size among those simulated; where those beside it vary as forecast that is 1.
SpreadRatios spread_at(const std::vector<CheckedSize>& sizes, std::int64_t ranks) {
  const auto above = std::ranges::lower_bound(sizes, ranks, {}, &CheckedSize::ranks);
  const CheckedSize& b = above == sizes.end() ? sizes.back() : *above;
  const CheckedSize& a = above == sizes.begin() || above == sizes.end() ? b : *std::prev(above);
  const SpreadRatios from = a.spread.value_or(SpreadRatios{}), to = b.spread.value_or(SpreadRatios{});
  const double part = a.ranks < b.ranks ? apart(a.ranks, ranks) / apart(a.ranks, b.ranks) : 1;
  return between(from, to, part);
}

/// Quantiles and CV of a size become those of its neighbours.
void take_spread(SizePoint& p, const std::vector<CheckedSize>& sizes) {
  if (std::ranges::any_of(sizes, [](const CheckedSize& s) { return s.spread.has_value(); }))
    vary_as(p, spread_at(sizes, p.ranks));
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

Seconds CheckedSize::beside_others() const {
  return as_others > Seconds{} ? as_others : by_parts.value;
}

std::vector<CheckedSize> CheckedSizes::all() const {
  std::vector<CheckedSize> out = sizes;
  out.insert(out.end(), far.begin(), far.end());
  return out;
}

std::vector<CheckedSize> CheckedSizes::told() const {
  std::vector<CheckedSize> out = all();
  out.insert(out.end(), asked.begin(), asked.end());
  std::ranges::sort(out, {}, &CheckedSize::ranks);
  return out;
}

bool is_small_enough(const model::Scenario& s) {
  return model::ranks_of(s.cluster, s.job.places) <= (is_played(s) ? kMostPlayed : kMostSimulated);
}

std::string too_large_text() {
  return fmt::format("simulated up to {} ranks, {} where messages share links", grouped(kMostSimulated),
                     kMostPlayed);
}

CheckedSizes simulate_sizes(const model::Scenario& scenario, std::int64_t seen, SimulatedRange range,
                            Scaling scaling, const std::function<TimeBand(std::int64_t ranks)>& forecast,
                            int threads) {
  CheckedSizes out;
  const bool small = is_small_enough(scenario);
  const std::set<std::int64_t> sizes =
      small ? sizes_to_simulate(scenario, seen, range) : std::set<std::int64_t>{seen};
  // A drift's first steps are not the job's: all of them, or none.
  const bool some_are_cut = drifts(scenario) && std::ranges::any_of(sizes, [&](std::int64_t ranks) {
                              return simulated_at(scenario, ranks, scaling).job.steps < scenario.job.steps;
                            });
  if (!small || some_are_cut) {
    SimulationBudget budget(scenario, scaling);
    for (const std::int64_t ranks : sizes) {
      const auto plays = budget.plays(ranks, kEventsOfASize, kEventsUnasked);
      auto one = plays ? play_size(scenario, scaling, ranks, *plays, threads) : std::nullopt;
      if (!one) break;
      one->by_parts = one->forecast = forecast(ranks);
      out.sizes.push_back(*std::move(one));
    }
    if (out.sizes.empty())
      out.left_out = small ? "a drift is played to its end, and its steps are too dear" : too_large_text();
    if (range == SimulatedRange::Own)
      std::erase_if(out.sizes, [seen](const CheckedSize& s) { return s.ranks != seen; });
    return out;
  }
  const std::int64_t devices = scenario.cluster.devices_per_node;
  SimulatedScalingOptions options{.nodes = {}, .replicates = 0, .mechanisms = false, .threads = threads};
  for (const std::int64_t ranks : sizes) options.nodes.push_back(ranks / devices);
  const ScenarioAt at = [&](std::int64_t nodes) -> Result<model::Scenario> {
    return simulated_at(scenario, nodes * devices, scaling);
  };
  const auto simulated = simulate_scaling(at, options);
  if (!simulated) {
    out.left_out = simulated.error().message;
    return out;
  }
  for (const SimulatedSize& s : simulated->sizes) {
    const TimeBand by_parts = forecast(s.ranks);
    out.sizes.push_back(
        {.ranks = s.ranks,
         .step = s.step,
         .half_width = s.half_width,
         .by_parts = by_parts,
         .forecast = by_parts,
         .lengths = s.lengths,
         .whole = is_played(scenario) && at(s.ranks / devices)->job.steps == scenario.job.steps,
         .goes_into = s.goes_into});
  }
  if (range == SimulatedRange::Own)
    std::erase_if(out.sizes, [seen](const CheckedSize& s) { return s.ranks != seen; });
  return out;
}

OverPartsAt over_parts(const CheckedSizes& simulated) {
  const auto& sizes = simulated.sizes;
  if (std::ranges::all_of(sizes, [](const CheckedSize& s) { return s.agrees(); })) return {};
  const std::vector<double> y = ratios_of(sizes);
  if (const auto level = level_of(sizes, y)) return [over = std::exp(*level)](std::int64_t) { return over; };
  return [curve = MonotoneCubic(places_of(sizes), y, MonotoneCubic::Ends::Level)](std::int64_t ranks) {
    return std::exp(curve.at(std::log(static_cast<double>(ranks))).y);
  };
}

void find_spread(CheckedSizes& simulated, const model::Scenario& scenario,
                 const std::function<SizePoint(std::int64_t ranks)>& forecast) {
  if (!steps_are_fresh(scenario)) return;
  for (CheckedSize& s : simulated.sizes)
    s.spread = spread_of(s.lengths, forecast(s.ranks), s.whole, s.half_width == Seconds{});
}

namespace {

/// As ratios of the value.
void reach(SizePoint& p, double low, double high) {
  for (TimeBand* band : {&p.mean, &p.median, &p.p95, &p.p99, &p.p999, &p.with_unseen, &p.with_shared}) {
    band->low = std::min(band->low, low * band->value);
    band->high = std::max(band->high, high * band->value);
  }
}

}  // namespace

void hold(SizePoint& p, const CheckedSize& size) {
  if (!p.refused.empty()) return;
  p.goes_into = size.goes_into;
  if (size.spread) vary_as(p, *size.spread);
  const auto [low, high] = reach_of(size);
  reach(p, low, high);
}

void widen(SizePoint& p, const CheckedSizes& simulated, const OverPartsAt& over) {
  const auto& sizes = simulated.sizes;
  if (!p.refused.empty() || sizes.empty()) return;
  const std::vector<CheckedSize> all = simulated.told();
  if (const auto own = std::ranges::find(all, p.ranks, &CheckedSize::ranks); own != all.end())
    p.goes_into = own->goes_into;
  const auto nearest_of = [&](const std::vector<CheckedSize>& of) {
    return std::ranges::min_element(of, {}, [&](const CheckedSize& s) { return apart(s.ranks, p.ranks); });
  };
  auto [low, high] = reach_of(*nearest_of(all));
  if (over && all.back().ranks > sizes.back().ranks && p.ranks > sizes.back().ranks) {
    const double on = goes_on_beyond(all, p.ranks);
    low = std::min(low, on);
    high = std::max(high, on);
  } else if (over && sizes.size() > 1 && !level_of(sizes, ratios_of(sizes))) {
    const MonotoneCubic goes_on(places_of(sizes), ratios_of(sizes));
    const std::int64_t end = std::clamp(p.ranks, sizes.front().ranks, sizes.back().ranks);
    const auto at = [&](std::int64_t ranks) { return goes_on.at(std::log(static_cast<double>(ranks))).y; };
    const double on = std::exp(at(p.ranks) - at(end));
    low = std::min(low, on);
    high = std::max(high, on);
  }
  const double between = between_sizes(all, p.ranks);
  low = 1 - std::hypot(1 - low, between / (1 + between));
  high = 1 + std::hypot(high - 1, between);
  take_spread(p, sizes);
  reach(p, low, high);
}

std::vector<std::string> simulated_lines(const CheckedSizes& simulated) {
  std::vector<std::string> out;
  std::vector<std::string> agreeing;
  for (const CheckedSize& s : simulated.told()) {
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
  std::vector<std::string> otherwise;
  for (const CheckedSize& s : simulated.told())
    if (s.spread) otherwise.push_back(grouped(s.ranks));
  if (!otherwise.empty())
    out.push_back(
        fmt::format("check: simulated, steps of {} ranks vary otherwise than by the parts: "
                    "quantiles and CV are those simulated",
                    fmt::join(otherwise, ", ")));
  if (!simulated.left_out.empty()) out.push_back("check: not made: " + simulated.left_out);
  std::vector<std::string> left;
  for (const NotSimulated& n : simulated.not_simulated)
    left.push_back(fmt::format("{} ranks ({})", grouped(n.ranks), n.why));
  if (!left.empty())
    out.push_back(fmt::format("not simulated: {}: by parts, and the band holds what sizes beside them missed",
                              fmt::join(left, ", ")));
  return out;
}

Json simulated_json(const CheckedSizes& simulated) {
  Json j{{"sizes", Json::array()},
         {"left_out", simulated.left_out.empty() ? Json(nullptr) : Json(simulated.left_out)},
         {"not_simulated", Json::array()}};
  for (const NotSimulated& n : simulated.not_simulated)
    j["not_simulated"].push_back({{"ranks", n.ranks}, {"why", n.why}});
  for (const CheckedSize& s : simulated.told())
    j["sizes"].push_back({{"ranks", s.ranks},
                          {"step_s", s.step.count()},
                          {"half_width_s", s.half_width.count()},
                          {"by_parts", json_of(s.by_parts)},
                          {"forecast", json_of(s.forecast)},
                          {"agrees", s.agrees()},
                          {"p99_s", s.lengths.count() > 0 ? Json(s.lengths.quantile(0.99)) : Json(nullptr)},
                          {"cv", s.spread ? Json(cv_of(s.lengths)) : Json(nullptr)},
                          {"heavier", s.spread && s.spread->p99.value > 1},
                          {"spread_simulated", s.spread.has_value()}});
  return j;
}

namespace {

constexpr int kFewSteps = 3;  ///< the first is left out
constexpr std::size_t kFewReplicas = 3;
constexpr int kManySteps = 14;
constexpr std::size_t kManyReplicas = 8;
constexpr std::int64_t kApart = 4;
constexpr std::int64_t kMostRanks = 1'048'576;
constexpr double kMostEvaluated = 1 << 24;  ///< of a step: about a second
constexpr double kMostOfAll = 1 << 25;      ///< of all replicas' steps, where there are more than the fewest

/// What is played at a size whose step evaluates so much.
struct Played {
  int steps = kFewSteps;
  std::size_t replicas = kFewReplicas;
};
Played played_of(double evaluated) {
  const double steps = kMostOfAll / (evaluated * static_cast<double>(kManyReplicas));
  if (!(steps >= kFewSteps)) return {};
  return {.steps = static_cast<int>(std::min<double>(steps, kManySteps)), .replicas = kManyReplicas};
}

/// With the noise that the forecast has, too.
model::Scenario with_noise(const model::Scenario& scenario, Scaling scaling, std::int64_t ranks, int steps) {
  model::Scenario s = resized(scenario, ranks, scaling);
  std::erase_if(s.noise, [](const model::NoiseSource& n) { return n.pattern == model::NoisePattern::Once; });
  s.failures = {};
  s.start = {};
  s.replicas = 1;
  s.job.steps = std::min<decltype(s.job.steps)>(s.job.steps, steps);
  return s;
}

std::optional<double> evaluated_at(const model::Scenario& scenario, Scaling scaling, std::int64_t ranks) {
  const auto outcome = simulate::simulate(with_noise(scenario, scaling, ranks, 1), {.threads = 1});
  if (!outcome) return std::nullopt;
  return static_cast<double>(std::max<std::int64_t>(outcome->evaluated, 1));
}

struct FarStep {
  Seconds step{};
  std::optional<StepParts> goes_into{};
};

/// Steps behind the first, which pays for what later ones find under way, and its part of the job's steps.
std::optional<FarStep> step_at(const model::Scenario& scenario, Scaling scaling, std::int64_t ranks,
                               std::size_t replica, int steps) {
  model::Scenario s = with_noise(scenario, scaling, ranks, steps);
  s.seed += replica;
  const auto outcome = simulate::simulate(s, {.threads = 1});
  if (!outcome || outcome->step_ends.empty()) return std::nullopt;
  const auto& ends = outcome->step_ends;
  const Seconds first = ends.front() - outcome->started;
  FarStep out{.step = first, .goes_into = step_parts_of(*outcome)};
  if (ends.size() == 1) return out;
  const Seconds later = (ends.back() - ends.front()) / static_cast<double>(ends.size() - 1);
  out.step = later + std::max(first - later, Seconds{}) / static_cast<double>(scenario.job.steps);
  return out;
}

/// As many steps as `evaluated` of one allows.
std::optional<CheckedSize> simulated_far(const model::Scenario& scenario, Scaling scaling, std::int64_t ranks,
                                         double evaluated, int threads) {
  const Played played = played_of(evaluated);
  std::vector<std::optional<FarStep>> found(played.replicas);
  parallel_for(found.size(), threads,
               [&](std::size_t i) { found[i] = step_at(scenario, scaling, ranks, i, played.steps); });
  std::vector<Seconds> steps;
  std::vector<std::optional<StepParts>> parts;
  for (const std::optional<FarStep>& one : found) {
    if (!one) return std::nullopt;
    steps.push_back(one->step);
    parts.push_back(one->goes_into);
  }
  const simulate::ReplicaSpread spread = simulate::spread_of(steps);
  return CheckedSize{.ranks = ranks,
                     .step = spread.mean,
                     .half_width = spread.half_width_95,
                     .goes_into = mean_parts(parts)};
}

/// Eight replicas of as many steps as near sizes have.
std::optional<CheckedSize> simulated_near(const model::Scenario& scenario, Scaling scaling,
                                          std::int64_t ranks, int threads) {
  const model::Scenario s = simulated_at(scenario, ranks, scaling);
  if (drifts(scenario) && s.job.steps < scenario.job.steps) return std::nullopt;
  const Plays plays{.replicas = std::min(s.replicas, 8), .steps = s.job.steps};
  return play_size(scenario, scaling, ranks, plays, threads);
}

/// What a step of a far size evaluates, by how that grows up to `from`: nothing where that cannot be told.
class Evaluated {
 public:
  Evaluated(const model::Scenario& scenario, Scaling scaling, std::int64_t from) : from_(from) {
    const std::int64_t half = from / 2;
    if (from % 2 != 0 || half % unit_of(scenario) != 0 || !no_such_size(scenario, half).empty()) return;
    const auto less = evaluated_at(scenario, scaling, half);
    const auto here = evaluated_at(scenario, scaling, from);
    if (!less || !here) return;
    here_ = *here;
    power_ = std::max(std::log2(*here / *less), 1.0);
  }
  [[nodiscard]] std::optional<double> at(std::int64_t ranks) const {
    if (here_ == 0) return std::nullopt;
    return here_ * std::pow(static_cast<double>(ranks) / static_cast<double>(from_), power_);
  }

 private:
  std::int64_t from_;
  double here_ = 0;
  double power_ = 1;
};

/// Smooth from 0 to 1 with level ends.
double smooth(double t) {
  return t * t * (3 - 2 * t);
}

}  // namespace

bool varies(const model::Scenario& s) {
  const bool noisy = std::ranges::any_of(
      s.noise, [](const model::NoiseSource& n) { return !n.off && n.pattern != model::NoisePattern::Once; });
  return noisy && !model::plays_links(s, s.job.workload()) && !model::disturbs_messages(s);
}

std::vector<CheckedSize> simulate_far_sizes(const model::Scenario& scenario, Scaling scaling,
                                            std::int64_t from, std::int64_t asked,
                                            const std::function<TimeBand(std::int64_t ranks)>& forecast,
                                            int threads) {
  std::vector<CheckedSize> out;
  if (asked <= from || !varies(scenario) || drifts(scenario)) return out;
  const Evaluated evaluated(scenario, scaling, from);
  std::int64_t ranks = from;
  while (ranks < asked && ranks <= kMostRanks / kApart) {
    ranks *= kApart;
    const auto of_step = evaluated.at(ranks);
    if (!of_step || *of_step > kMostEvaluated || !no_such_size(scenario, ranks).empty()) break;
    auto one = simulated_far(scenario, scaling, ranks, *of_step, threads);
    if (!one) break;
    one->by_parts = one->forecast = forecast(ranks);
    out.push_back(*std::move(one));
  }
  return out;
}

std::optional<CheckedSize> simulate_size(const model::Scenario& scenario, Scaling scaling, std::int64_t ranks,
                                         int threads) {
  if (is_played(scenario) || ranks > kMostRanks) return std::nullopt;
  if (ranks <= kMostSimulated) return simulated_near(scenario, scaling, ranks, threads);
  if (!varies(scenario) || drifts(scenario)) return std::nullopt;
  const std::int64_t unit = unit_of(scenario);
  const auto evaluated =
      Evaluated(scenario, scaling, std::max<std::int64_t>(kMostSimulated / (2 * unit), 1) * 2 * unit)
          .at(ranks);
  if (!evaluated || *evaluated > kMostEvaluated) return std::nullopt;
  return simulated_far(scenario, scaling, ranks, *evaluated, threads);
}

OverPartsAt over_parts_far(OverPartsAt near, std::int64_t from, const std::vector<CheckedSize>& far) {
  struct Knot {
    double x;
    double y;
  };
  std::vector<Knot> knots{{std::log(static_cast<double>(from)), 0}};
  bool any = false;
  for (const CheckedSize& s : far) {
    const double over = over_parts_at(near, s.ranks);
    CheckedSize as_near = s;
    as_near.by_parts = {over * s.by_parts.value, over * s.by_parts.low, over * s.by_parts.high};
    const double y = as_near.agrees() ? 0 : std::log(s.step / as_near.by_parts.value);
    any = any || y != 0;
    knots.push_back({std::log(static_cast<double>(s.ranks)), y});
  }
  if (!any) return near;
  return [near = std::move(near), knots = std::move(knots)](std::int64_t ranks) {
    const double x = std::log(static_cast<double>(ranks));
    const auto above = std::ranges::upper_bound(knots, x, {}, &Knot::x);
    double y = above == knots.begin() ? 0 : knots.back().y;
    if (above != knots.begin() && above != knots.end()) {
      const Knot& a = *std::prev(above);
      y = a.y + (above->y - a.y) * smooth((x - a.x) / (above->x - a.x));
    }
    return over_parts_at(near, ranks) * std::exp(y);
  };
}

void widen_by_hidden(SizePoint& p, const CheckedSizes& simulated, const RestAt& rest) {
  const std::vector<CheckedSize> all = simulated.told();
  if (!p.refused.empty() || all.empty() || !rest || p.ranks <= all.back().ranks) return;
  const Seconds grown = rest(p.ranks).value - rest(all.back().ranks).value;
  const Seconds waits = p.mean.value * (1 - p.efficiency) - p.rest;
  const Seconds hidden = std::min(grown, waits);
  if (!(hidden > Seconds{})) return;
  for (TimeBand* band : {&p.mean, &p.median, &p.p95, &p.p99, &p.p999, &p.with_unseen, &p.with_shared})
    band->low = std::min(band->low, std::max(band->value - hidden, Seconds{}));
}

}  // namespace cox::forecast
