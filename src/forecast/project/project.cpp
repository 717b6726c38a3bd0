// SPDX-License-Identifier: Apache-2.0
#include "forecast/project/project.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

#include "cox/base/elementary.hpp"
#include "cox/base/number_text.hpp"
#include "cox/base/parallel.hpp"
#include "cox/base/stats.hpp"

#include "forecast/calibrate/over_sizes.hpp"
#include "forecast/law/maximum.hpp"
#include "forecast/law/special.hpp"
#include "forecast/project/at_size.hpp"
#include "forecast/project/beside_work.hpp"
#include "forecast/project/nests.hpp"
#include "forecast/project/pipeline.hpp"
#include "forecast/project/refused.hpp"
#include "forecast/project/run_means.hpp"

namespace cox::forecast {
namespace {

constexpr std::int64_t kMostRanks = 1'048'576;
constexpr std::array<double, 4> kLevels = {0.5, 0.95, 0.99, 0.999};
/// Slopes of what steps take beyond parts, by e-fold of ranks and as a part of the step: as a rule, and where all share something.
constexpr double kUsualBeyond = 0.03;
constexpr double kSharedBeyond = 0.3;
constexpr Quadrature kCoarse = {.points = 128, .shared_points = 16};
/// One step at one size.
struct Step {
  double mean = 0;
  double variance = 0;
  std::array<double, 4> quantiles{};
  double growth = 0;   // of the own work's maxima, by e-fold of ranks, at fixed work of a rank
  double drift = 0;    // of it, what own work itself grows by
  double own = 0;      // mean own work of a rank
  double slowest = 0;  // mean without the rest
  double power = 1;    // of own work, that its maxima's distance from it goes with: the mean over positions
};

/// The positions of `parts`, each with its roles.
std::vector<std::vector<std::size_t>> positions_of(const Parts& parts) {
  std::vector<std::vector<std::size_t>> out;
  for (std::size_t i = 0; i < parts.positions.size(); ++i) {
    const PositionParts& p = parts.positions[i];
    const bool goes_on = !out.empty() && parts.positions[out.back().front()].name == p.name &&
                         std::none_of(out.back().begin(), out.back().end(),
                                      [&](std::size_t j) { return parts.positions[j].role == p.role; });
    if (!goes_on) out.emplace_back();
    out.back().push_back(i);
  }
  return out;
}

/// Own work of all positions at a size, by either model.
using ModelOf = Nest (*)(const PositionLaws&, const Parts&, double);
Step evaluate(const Parts& parts, const std::vector<PositionLaws>& laws, std::int64_t ranks, double factor,
              ModelOf model, const Quadrature& quadrature) {
  Step step;
  std::array<double, 4> squares{};
  double apart = 0;
  double by_power = 0;
  for (const auto& position : positions_of(parts)) {
    std::vector<Crowd> crowds;
    std::vector<Nest> stages;
    double own = 0;
    double drift = 0;
    double spread_power = 1;
    for (const std::size_t i : position) {
      const PositionLaws here = at_size(laws[i], parts, ranks, factor);
      if (parts.pipeline.stages > 1)
        stages.push_back(model(here, parts, factor));
      else
        crowds.push_back({.nest = model(here, parts, factor),
                          .ranks = ranks_of(parts, parts.positions[i], ranks),
                          .fixed = parts.positions[i].fixed});
      if (factor * here.level.count() >= own) spread_power = here.spread_power;
      own = std::max(own, factor * here.level.count());
      drift = std::max(drift, factor * here.slope.count() * growth_by_fold(here.growth, ranks, parts.ranks));
    }
    if (!stages.empty())
      crowds.push_back(replicas_of(with_batch(parts.pipeline, factor), stages, ranks, quadrature));
    const Maximum slowest(crowds, quadrature);
    step.mean += slowest.mean().count();
    step.own += own;
    step.growth += slowest.growth().count() + drift;
    step.drift += drift;
    apart += slowest.mean().count() - own;
    by_power += spread_power * (slowest.mean().count() - own);
    const double sd = slowest.deviation().count();
    step.variance += sd * sd;
    // A quantile of a sum: distances from the mean add by their squares, exactly so for scaled copies of one symmetric law.
    const double centre =
        std::isfinite(slowest.mean().count()) ? slowest.mean().count() : slowest.quantile(0.5).count();
    for (std::size_t q = 0; q < kLevels.size(); ++q) {
      const double away = slowest.quantile(kLevels[q]).count() - centre;
      squares[q] += away * std::abs(away);
      step.quantiles[q] += centre;
    }
  }
  for (std::size_t q = 0; q < kLevels.size(); ++q)
    step.quantiles[q] += std::copysign(std::sqrt(std::abs(squares[q])), squares[q]);
  step.slowest = step.mean;
  if (apart > 0 && std::isfinite(apart)) step.power = by_power / apart;
  return step;
}

bool has_pooled(const Parts& parts) {
  return std::all_of(parts.positions.begin(), parts.positions.end(), [](const PositionParts& p) {
    const bool alike =
        std::max({p.residual_sd.value, p.rank.value, p.node.value, p.node_step.value}) <= Seconds{};
    return !p.pooled.is_constant() || alike;
  });
}

std::vector<PositionLaws> estimates(const Parts& parts) {
  std::vector<PositionLaws> laws;
  laws.reserve(parts.positions.size());
  for (const PositionParts& p : parts.positions) laws.push_back(as_estimated(p));
  return laws;
}

/// What lasts sets a run's mean and does not vary its steps: taken off the variance, and quantiles are as much nearer to the mean.
void within_one_run(Step& step, double between) {
  if (!(between > 0) || !std::isfinite(step.variance) || !(step.variance > 0)) return;
  const double left = std::max(step.variance - between * between, 0.0);
  const double nearer = std::sqrt(left / step.variance);
  step.variance = left;
  for (double& q : step.quantiles) q = step.mean + (q - step.mean) * nearer;
}

/// Both models, and the rest of the step.
struct Answer {
  Step step;
  double apart = 0;     // nested less pooled
  double by_parts = 0;  // mean of the step before it is taken as simulated
};
Answer answer(const Parts& parts, std::int64_t ranks, const ProjectOptions& options) {
  const double factor = factor_at(parts, ranks, options.scaling);
  const std::vector<PositionLaws> laws = estimates(parts);
  Answer a;
  a.step = evaluate(parts, laws, ranks, factor, nested, options.coarse ? kCoarse : Quadrature{});
  if (has_pooled(parts)) {
    a.apart = a.step.mean - evaluate(parts, laws, ranks, factor, pooled, kCoarse).mean;
    if (!std::isfinite(a.apart)) a.apart = 0;
  }
  const double told = rest_at(parts, ranks, options).value.count() - a.apart / 2 + beyond_at(parts, ranks);
  a.by_parts = a.step.mean + told;
  const double move = told + (over_parts_at(options.over_parts, ranks) - 1) * a.by_parts;
  a.step.mean += move;
  a.step.slowest -= a.apart / 2;
  for (double& q : a.step.quantiles) q += move;
  within_one_run(a.step, options.coarse ? 0 : lasting(parts, laws, ranks, factor).count());
  const double rest_sd = parts.rest_sd.value.count();
  a.step.variance += rest_sd * rest_sd;
  return a;
}

std::string sizes_text(double n) {
  return grouped(static_cast<std::int64_t>(std::llround(std::min(n, 1e15))));
}

/// What a strong scaling takes off a step by e-fold of ranks: own work that is divided, and what it varies by.
double shrinking(Scaling scaling, const Step& step) {
  if (scaling == Scaling::Weak) return 0;
  const double divided = step.own > 0 ? 1 - step.drift / step.own : 1;
  return step.own + step.power * divided * (step.slowest - step.own);
}

SizePoint point_of(const Parts& parts, std::int64_t ranks, const ProjectOptions& options, const Answer& a) {
  SizePoint point;
  point.ranks = ranks;
  const auto band = [](double v) { return TimeBand{Seconds{v}, Seconds{v}, Seconds{v}}; };
  point.mean = point.with_unseen = band(a.step.mean);
  point.median = band(a.step.quantiles[0]);
  point.p95 = band(a.step.quantiles[1]);
  point.p99 = band(a.step.quantiles[2]);
  point.p999 = band(a.step.quantiles[3]);
  point.cv = std::sqrt(a.step.variance) / a.step.mean;
  // No longer than what a step leaves beside work: its price may be, where steps are simulated to be shorter.
  const Seconds beside{std::max(a.step.mean - a.step.own, 0.0)};
  point.rest = std::min(rest_at(parts, ranks, options).value, beside);
  point.efficiency = a.step.own / a.step.mean;
  // d / d ln N by the chord around N: exact for what grows with N, and within 1e-4 for what grows with its logarithm.
  const auto more = std::max<std::int64_t>(ranks + 1, std::llround(1.01 * static_cast<double>(ranks)));
  const auto less = std::max<std::int64_t>(1, 2 * ranks - more);
  const double chord = (rest_at(parts, more, options).value - rest_at(parts, less, options).value).count() +
                       beyond_at(parts, more) - beyond_at(parts, less);
  const double rest_growth = chord * static_cast<double>(ranks) / static_cast<double>(more - less);
  const double over_growth =
      (over_parts_at(options.over_parts, more) - over_parts_at(options.over_parts, less)) *
      static_cast<double>(ranks) / static_cast<double>(more - less) /
      over_parts_at(options.over_parts, ranks);
  const double by_fold =
      (a.step.growth - shrinking(options.scaling, a.step) + rest_growth) / a.by_parts + over_growth;
  point.elasticity = options.scaling == Scaling::Strong ? -by_fold : 1 - by_fold;
  double independent = 0;
  for (const PositionParts& p : parts.positions) independent = std::max(independent, p.residual_sd.freedom);
  if (independent > 0)
    point.rests_on = fmt::format("seen to 1 in {}, asked 1 in {}", sizes_text(independent),
                                 sizes_text(static_cast<double>(ranks) / 0.56));
  return point;
}

struct Draws {
  std::vector<double> mean;
  std::vector<double> unseen;
  std::vector<double> grown;   // by what one size does not show
  std::vector<double> shared;  // by what all share, instead
  std::array<std::vector<double>, 4> quantiles;
};

/// Slow units under the prior, given that none of those seen is slow: the share's Beta(alpha, beta + seen).
double units_at(const Parts& parts, std::int64_t ranks) {
  return parts.nodes > 0 ? static_cast<double>(ranks) / parts.ranks_per_node : static_cast<double>(ranks);
}

TimeBand band_of(double value, std::vector<double> draws, double widening) {
  std::erase_if(draws, [](double d) { return !std::isfinite(d); });
  if (draws.empty()) return {Seconds{value}, Seconds{value}, Seconds{value}};
  const double low = quantile(draws, 0.05);
  const double high = quantile_in_place(draws, 0.95);
  return {Seconds{value}, Seconds{std::max(value - widening * std::max(value - low, 0.0), 0.0)},
          Seconds{value + widening * std::max(high - value, 0.0)}};
}

/// A Scenario's, of which nothing was seen.
bool is_stated(const Parts& parts) {
  return std::ranges::all_of(parts.positions,
                             [](const PositionParts& p) { return p.level.origin == Origin::Stated; });
}

/// What a step of `mean` grows by beyond the ranks seen, as this power of them.
double grown_by(double power_of_ranks, const Parts& parts, std::int64_t ranks, double mean) {
  const double times = static_cast<double>(ranks) / static_cast<double>(parts.ranks);
  return times > 1 ? mean * (power(times, power_of_ranks) - 1) : 0;
}

/// What a step of one size is longer by at another, where this part of its own work is not divided.
double undivided_by(double part, double factor, double own) {
  return factor < 1 ? part * own * (1 / factor - 1) : 0;
}

/// One draw of everything that is not known, at all sizes.
class Replicates {
 public:
  Replicates(const Parts& parts, const std::vector<std::int64_t>& sizes, const ProjectOptions& options)
      : parts_(parts), sizes_(sizes), options_(options) {
    for (const PositionParts& p : parts.positions) clean_ = clean_ && p.slow.seen == 0;
    const std::vector<PositionLaws> laws = estimates(parts);
    for (const std::int64_t ranks : sizes) {
      const double factor = factor_at(parts, ranks, options.scaling);
      answers_.push_back(answer(parts, ranks, options));
      coarse_.push_back(evaluate(parts, laws, ranks, factor, nested, kCoarse));
      between_.push_back(lasting(parts, laws, ranks, factor).count());
      runs_.push_back(run_means(parts, laws, ranks, factor));
    }
  }

  [[nodiscard]] std::vector<Draws> draw() const {
    const auto count = static_cast<std::size_t>(std::max(options_.replicates, 0));
    std::vector<Draws> out(sizes_.size());
    for (Draws& d : out) {
      d.mean.resize(count);
      d.unseen.resize(count);
      d.grown.resize(count);
      d.shared.resize(count);
      for (auto& q : d.quantiles) q.resize(count);
    }
    parallel_for(count, options_.threads, [&](std::size_t r) { one(r, out); });
    return out;
  }
  [[nodiscard]] const Answer& estimate(std::size_t size) const { return answers_[size]; }
  [[nodiscard]] bool clean() const { return clean_; }

 private:
  void one(std::size_t r, std::vector<Draws>& out) const {
    std::vector<PositionLaws> laws;
    for (std::size_t p = 0; p < parts_.positions.size(); ++p)
      laws.push_back(drawn(parts_.positions[p], {options_.seed, r, p}));
    const DrawKey whole{options_.seed, r, kWhole};
    std::vector<PositionLaws> slow = laws;
    const Unseen unseen_units = unseen_of(parts_, options_, r);
    for (PositionLaws& l : slow) {
      if (l.slow_share > 0) continue;
      l.slow_share = unseen_units.slow_share;
      l.slow_extra = unseen_units.slow_down * l.level;
    }
    for (std::size_t s = 0; s < sizes_.size(); ++s) {
      const std::int64_t ranks = sizes_[s];
      const double factor = factor_at(parts_, ranks, options_.scaling);
      const Step step = evaluate(parts_, laws, ranks, factor, nested, kCoarse);
      const Answer& a = answers_[s];
      const double steps =
          static_cast<double>(std::max<std::int64_t>(options_.steps > 0 ? options_.steps : parts_.steps, 1));
      const double sd = std::min(std::sqrt(step.variance), (step.quantiles[2] - step.quantiles[0]) / 2);
      const double move = drawn_rest(parts_, ranks, options_, whole) -
                          rest_at(parts_, ranks, options_).value.count() +
                          drawn_beyond(parts_, ranks, whole) - beyond_at(parts_, ranks) +
                          a.apart * (uniform_of(whole, kModel) - 0.5) +
                          (runs_[s] ? runs_[s]->away(uniform_of(whole, kBetween)).count()
                                    : between_[s] * normal_of(whole, kBetween));
      const double sampled = sd / std::sqrt(steps) * normal_of(whole, kSampling);
      out[s].mean[r] = a.step.mean + step.mean - coarse_[s].mean + move + sampled;
      for (std::size_t q = 0; q < kLevels.size(); ++q)
        out[s].quantiles[q][r] = a.step.quantiles[q] + step.quantiles[q] - coarse_[s].quantiles[q] + move;
      const double unseen = clean_ && options_.prior.alpha > 0
                                ? evaluate(parts_, slow, ranks, factor, nested, kCoarse).mean - step.mean
                                : 0;
      out[s].unseen[r] = out[s].mean[r] + unseen;
      out[s].grown[r] = grown_by(unseen_units.usual, parts_, ranks, a.step.mean) +
                        undivided_by(unseen_units.undivided, factor, a.step.own);
      out[s].shared[r] = grown_by(unseen_units.shared, parts_, ranks, a.step.mean) +
                         undivided_by(unseen_units.shared_undivided, factor, a.step.own);
    }
  }

  const Parts& parts_;
  const std::vector<std::int64_t>& sizes_;
  const ProjectOptions& options_;
  std::vector<Answer> answers_;
  std::vector<Step> coarse_;
  std::vector<double> between_;
  std::vector<std::optional<RunMeans>> runs_;
  bool clean_ = true;
};

void note_unseen(const Parts& parts, const ProjectOptions& options, SizePoint& point) {
  const double seen = units_at(parts, parts.ranks);
  const double more = std::max(units_at(parts, point.ranks), 0.0);
  const double a = options.prior.alpha;
  const double b = options.prior.beta + seen;
  if (a <= 0) return;
  point.unseen_chance =
      1 - exponential(log_gamma(b + more) + log_gamma(a + b) - log_gamma(b) - log_gamma(a + b + more));
}

std::vector<double> sums(std::vector<double> a, const std::vector<double>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

/// What one size does not show, in all bands: above, since it may be nothing. A point is refused by what it rests on, or else by
/// its width.
void add_growth(SizePoint& point, const Draws& draws, const ProjectOptions& options,
                const TimeEstimate& rest) {
  const auto grown = [&](TimeBand band, const std::vector<double>& d, const std::vector<double>& more) {
    band.high = std::max(band.high, band_of(band.value.count(), sums(d, more), options.widening).high);
    return band;
  };
  point.without_growth = point.mean;
  point.with_shared = grown(point.mean, draws.mean, draws.shared);
  point.mean = grown(point.mean, draws.mean, draws.grown);
  point.median = grown(point.median, draws.quantiles[0], draws.grown);
  point.p95 = grown(point.p95, draws.quantiles[1], draws.grown);
  point.p99 = grown(point.p99, draws.quantiles[2], draws.grown);
  point.p999 = grown(point.p999, draws.quantiles[3], draws.grown);
  point.with_unseen = grown(point.with_unseen, draws.unseen, draws.grown);
  if (point.refused.empty() && point.mean.high > widest_band(point, rest) * point.mean.low)
    point.refused =
        options.scaling == Scaling::Strong
            ? "what of own work is not divided, and how a step grows with the ranks, are not in one size: runs of other sizes tell"
            : "how a step grows with the ranks is not in one size: runs of other sizes tell";
}

}  // namespace

UnseenPrior unseen_prior(const Prior& stated) {
  UnseenPrior out{.most = stated.slow_down};
  if (stated.slow_nodes <= 0)
    out.alpha = 0;
  else if (stated.slow_nodes != Prior{}.slow_nodes)
    out.beta = out.alpha * (1 / stated.slow_nodes - 1);
  return out;
}

Unseen unseen_of(const Parts& parts, const ProjectOptions& options, std::uint64_t replicate) {
  const DrawKey whole{options.seed, replicate, kWhole};
  Unseen out{.usual = -options.growth.usual * logarithm(uniform_of(whole, kUsualGrowth)),
             .shared = options.growth.most * uniform_of(whole, kSharedGrowth)};
  if (options.scaling == Scaling::Strong) {
    out.undivided = std::min(-options.growth.undivided * logarithm(uniform_of(whole, kUndivided)), 1.0);
    out.shared_undivided = options.growth.most_undivided * uniform_of(whole, kSharedUndivided);
  }
  const bool clean =
      std::ranges::none_of(parts.positions, [](const PositionParts& p) { return p.slow.seen > 0; });
  if (!clean || options.prior.alpha <= 0) return out;
  out.slow_share = beta_quantile(options.prior.alpha, options.prior.beta + units_at(parts, parts.ranks),
                                 uniform_of(whole, kShare));
  out.slow_down =
      options.prior.least * power(options.prior.most / options.prior.least, uniform_of(whole, kSlowDown));
  return out;
}

SizePoint project_one(const Parts& parts, std::int64_t ranks, const ProjectOptions& options) {
  return point_of(parts, ranks, options, answer(parts, ranks, options));
}

TimeBand mean_of_one_run(const Parts& parts, std::int64_t ranks, const ProjectOptions& options) {
  const Seconds mean{answer(parts, ranks, options).step.mean};
  const std::vector<PositionLaws> laws = estimates(parts);
  const auto runs = run_means(parts, laws, ranks, factor_at(parts, ranks, options.scaling));
  if (!runs) return {mean, mean, mean};
  return {mean, mean + runs->away(0.05), mean + runs->away(0.95)};
}

Projection project(const Parts& parts, const std::vector<std::int64_t>& sizes,
                   const ProjectOptions& options) {
  Projection out;
  out.scaling = options.scaling;
  std::vector<std::int64_t> usable;
  for (const std::int64_t n : sizes)
    if (n >= 1 && n <= kMostRanks) usable.push_back(n);
  const Replicates replicates(parts, usable, options);
  const std::vector<Draws> draws = replicates.draw();
  const SeenStep seen{
      .mean = Seconds{answer(parts, std::max<std::int64_t>(parts.ranks, 1), options).step.mean},
      .ranks = std::max<std::int64_t>(parts.ranks, 1)};
  std::size_t s = 0;
  for (const std::int64_t n : sizes) {
    if (n < 1 || n > kMostRanks) {
      SizePoint point;
      point.ranks = n;
      point.refused = fmt::format("{} ranks, expected 1 to {}", n, grouped(kMostRanks));
      out.points.push_back(point);
      continue;
    }
    const Answer& a = replicates.estimate(s);
    SizePoint point = point_of(parts, n, options, a);
    point.mean = band_of(a.step.mean, draws[s].mean, options.widening);
    point.median = band_of(a.step.quantiles[0], draws[s].quantiles[0], options.widening);
    point.p95 = band_of(a.step.quantiles[1], draws[s].quantiles[1], options.widening);
    point.p99 = band_of(a.step.quantiles[2], draws[s].quantiles[2], options.widening);
    point.p999 = band_of(a.step.quantiles[3], draws[s].quantiles[3], options.widening);
    point.with_unseen = band_of(a.step.mean, draws[s].unseen, options.widening);
    if (replicates.clean()) note_unseen(parts, options, point);
    point.refused = refusal(parts, point, Seconds{a.step.own} + point.rest, rest_at(parts, n, options), seen);
    if (options.growth.usual > 0 || options.growth.most > 0)
      add_growth(point, draws[s], options, rest_at(parts, n, options));
    if (point.refused.empty()) point.refused = no_finite(point);
    out.points.push_back(point);
    ++s;
  }
  if (replicates.clean() && !out.points.empty())
    out.notes.push_back(
        is_stated(parts)
            ? "units that are slow for good and are not stated are in no band here: `with_unseen` of --json has them"
            : "a unit that is slow for good and was not seen is in the second band only");
  return out;
}

void compare_sizes(Parts& parts, std::span<const Sample> samples, const RestAt& rest) {
  parts.beyond = {};
  parts.beyond_growth = {};
  std::map<std::int64_t, std::vector<const Sample*>> by_size;
  for (const Sample& sample : samples) by_size[sample.size()].push_back(&sample);
  if (by_size.size() < 2) return;
  std::vector<SizedTime> times;
  Welford mean_step;
  for (const auto& [ranks, of_size] : by_size) {
    Welford steps;
    for (const Sample* sample : of_size)
      for (const SampleStep& step : sample->steps) steps.add(step.length.count());
    mean_step.add(steps.mean());
    const double told = answer(parts, ranks, {.rest = rest}).step.mean;
    if (!std::isfinite(told)) return;
    // A run draws what lasts once: it is no growth.
    const double sampled = steps.stddev() / std::sqrt(static_cast<double>(steps.count()));
    const double drawn_once =
        lasting(parts, estimates(parts), ranks, 1).count() / std::sqrt(static_cast<double>(of_size.size()));
    times.push_back({.ranks = ranks,
                     .value = Seconds{steps.mean() - told},
                     .error = Seconds{std::hypot(sampled, drawn_once)}});
  }
  parts.beyond_growth = fit_growth(times, {.usual = Seconds{kUsualBeyond * mean_step.mean()},
                                           .shared = Seconds{kSharedBeyond * mean_step.mean()},
                                           .never = 0.8,
                                           .as_rule = 0.1,
                                           .tree = 0.05,
                                           .line = 0.05});
  // What chance explains of it is none: Stein's factor.
  for (GrowthFit& fit : parts.beyond_growth) {
    const double noise = fit.pivot->error / fit.pivot->value;
    fit.pivot->value *= std::max(1 - noise * noise, 0.0);
  }
  parts.beyond =
      by_best({.value = {}, .low = {}, .high = {}, .origin = Origin::Measured, .units = parts.steps},
              parts.beyond_growth);
}

}  // namespace cox::forecast
