// SPDX-License-Identifier: Apache-2.0
#include "forecast/calibrate/over_sizes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>

#include "cox/base/elementary.hpp"
#include "cox/base/stats.hpp"

namespace cox::forecast {
namespace {

constexpr double kLeastError = 1e-9;  ///< of the largest time: no law of growth is exact
constexpr double kEnd = 1.645;        ///< deviations to the end of an interval of 90 %
constexpr double kFarBelow = -8;      ///< a normal law's tail is as good as exponential there
constexpr double kLogRootTwoPi = 0.9189385332046727;

/// Mean of Z - x where Z > x, for x of at least -kFarBelow: Laplace's continued fraction of Mills' ratio less its first term, so
/// that nothing is taken from a number as large. P(Z > x) is density / (x + this).
double mean_above(double x) {
  constexpr int kTerms = 24;  // at 8 the next one is below the last digit
  double out = x;
  for (int i = kTerms; i > 1; --i) out = x + i / out;
  return 1 / out;
}

/// A line by weighted least squares, and how far times are from it: in squares of their errors.
struct Line {
  Pivot pivot{};
  double slope = 0;
  double error = 0;        // of the slope; 0 = it has none
  double misfit = 0;       // with a slope not below zero
  double misfit_free = 0;  // with a slope that may be below zero
};

Line fit(const std::vector<SizedTime>& times, Growth growth) {
  const std::int64_t seen = times.back().ranks;
  double sum = 0;
  double mean_g = 0;
  double mean_y = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double weight = 1 / (times[i].error.count() * times[i].error.count());
    sum += weight;
    mean_g += weight * growth_at(growth, times[i].ranks, seen);
    mean_y += weight * times[i].value.count();
  }
  mean_g /= sum;
  mean_y /= sum;
  double gg = 0;
  double gy = 0;
  Line line{.pivot = {.value = Seconds{mean_y}, .error = Seconds{1 / std::sqrt(sum)}, .from = mean_g}};
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double weight = 1 / (times[i].error.count() * times[i].error.count());
    const double g = growth_at(growth, times[i].ranks, seen) - mean_g;
    const double y = times[i].value.count() - mean_y;
    gg += weight * g * g;
    gy += weight * g * y;
  }
  if (gg > 0) {
    line.slope = gy / gg;
    line.error = 1 / std::sqrt(gg);
  }
  const auto misfit_of = [&](double slope) {
    double out = 0;
    for (const SizedTime& t : times) {
      const double away = t.value.count() - mean_y - slope * (growth_at(growth, t.ranks, seen) - mean_g);
      out += away * away / (t.error.count() * t.error.count());
    }
    return out;
  };
  line.misfit = misfit_of(std::max(line.slope, 0.0));
  line.misfit_free = misfit_of(line.slope);
  return line;
}

/// In units of the largest, so that no square is too small for a number; with errors that no law is surer than.
std::vector<SizedTime> in_units(std::vector<SizedTime> times, double unit) {
  for (SizedTime& t : times) {
    t.value /= unit;
    t.error = std::max(t.error / unit, Seconds{kLeastError});
  }
  return times;
}

/// A growing law with an exponential prior of this mean on its slope, and ln of its evidence but for the prior's chance.
struct Grown {
  GrowthFit fit{};
  double log_evidence = 0;
};
Grown grown(const Line& line, Growth growth, double mean) {
  const double peak = line.slope - line.error * line.error / mean;
  const double place = peak / line.error;
  Grown out{
      .fit = {.growth = growth, .peak = Seconds{peak}, .error = Seconds{line.error}, .pivot = line.pivot}};
  const double log_unit = logarithm(line.error / mean);
  if (place < kFarBelow) {
    // The likelihood hardly falls where the prior does: what is as large on both sides is left out.
    const double above = mean_above(-place);
    const double away = line.slope / line.error;
    out.fit.slope = Seconds{line.error * above};
    out.log_evidence = -line.misfit_free / 2 - away * away / 2 + log_unit - logarithm(above - place);
    return out;
  }
  std::array<double, 1> p = {place};
  normal_probabilities(p);
  const double below = logarithm(p[0]);
  const double at_zero = exponential(-place * place / 2 - kLogRootTwoPi - below);
  out.fit.slope = Seconds{std::max(peak + line.error * at_zero, 0.0)};
  // Completed squares: the likelihood at the free slope, that of the prior, and what lies above zero.
  out.log_evidence = -line.misfit_free / 2 - line.slope / mean + line.error * line.error / (2 * mean * mean) +
                     kLogRootTwoPi + log_unit + below;
  return out;
}

}  // namespace

double growth_at(Growth growth, std::int64_t ranks, std::int64_t seen) {
  const double times = static_cast<double>(ranks) / static_cast<double>(seen);
  switch (growth) {
    case Growth::None:
      return 0;
    case Growth::Logarithm:
      return logarithm(times);
    case Growth::Linear:
      return static_cast<double>(ranks - seen);
    case Growth::Levelling:
      return 1 - 1 / times;
  }
  return 0;
}

double growth_by_fold(Growth growth, std::int64_t ranks, std::int64_t seen) {
  switch (growth) {
    case Growth::None:
      return 0;
    case Growth::Logarithm:
      return 1;
    case Growth::Linear:
      return static_cast<double>(ranks);
    case Growth::Levelling:
      return static_cast<double>(seen) / static_cast<double>(ranks);
  }
  return 0;
}

std::vector<SizedTime> merged_by_size(const std::vector<SizedTime>& times) {
  std::map<std::int64_t, std::vector<SizedTime>> by_size;
  for (const SizedTime& t : times) by_size[t.ranks].push_back(t);
  std::vector<SizedTime> out;
  for (const auto& [ranks, alike] : by_size) {
    const auto n = static_cast<double>(alike.size());
    Welford values;
    double squares = 0;
    for (const SizedTime& t : alike) {
      values.add(t.value.count());
      squares += t.error.count() * t.error.count();
    }
    const double apart = alike.size() > 1 ? values.stddev() / std::sqrt(n) : 0;
    out.push_back(
        {.ranks = ranks,
         .value = alike.size() > 1 ? Seconds{values.mean()} : alike.front().value,
         .error = alike.size() > 1 ? Seconds{std::max(std::sqrt(squares) / n, apart)} : alike.front().error});
  }
  return out;
}

std::vector<GrowthFit> fit_growth(const std::vector<SizedTime>& times, const GrowthBelief& belief) {
  if (times.size() < 2) return {};
  double unit = 0;
  for (const SizedTime& t : times) unit = std::max(unit, std::abs(t.value.count()));
  if (!(unit > 0)) unit = 1;
  std::vector<SizedTime> scaled = in_units(times, unit);
  const auto line_of = [&](Growth growth) { return fit(scaled, growth); };
  double misfit = std::min(line_of(Growth::Logarithm).misfit, line_of(Growth::Linear).misfit);
  if (belief.levelling > 0) misfit = std::min(misfit, line_of(Growth::Levelling).misfit);
  const double freedom = static_cast<double>(times.size()) - 2;
  if (freedom > 0 && misfit > freedom)
    for (SizedTime& t : scaled) t.error *= std::sqrt(misfit / freedom);
  const Line still = line_of(Growth::None);
  std::vector<Grown> laws{{.fit = {.growth = Growth::None, .pivot = still.pivot},
                           .log_evidence = logarithm(belief.never) - still.misfit / 2}};
  const auto add = [&](Growth growth, double chance, double mean) {
    if (!(chance > 0 && mean > 0)) return;
    laws.push_back(grown(line_of(growth), growth, mean / unit));
    laws.back().log_evidence += logarithm(chance);
  };
  add(Growth::Logarithm, belief.as_rule, belief.usual.count());
  add(Growth::Logarithm, belief.tree, belief.shared.count());
  add(Growth::Linear, belief.line, belief.shared.count() / static_cast<double>(times.back().ranks));
  add(Growth::Levelling, belief.levelling, belief.left.count());
  double best = laws.front().log_evidence;
  for (const Grown& law : laws) best = std::max(best, law.log_evidence);
  double sum = 0;
  for (Grown& law : laws) sum += law.fit.share = exponential(law.log_evidence - best);
  std::vector<GrowthFit> out;
  for (Grown& law : laws) {
    law.fit.share /= sum;
    for (Seconds* time :
         {&law.fit.slope, &law.fit.peak, &law.fit.error, &law.fit.pivot->value, &law.fit.pivot->error})
      *time *= unit;
    out.push_back(law.fit);
  }
  const bool is_still = out.front().share >= 0.5;
  std::stable_sort(out.begin() + (is_still ? 1 : 0), out.end(), [](const GrowthFit& a, const GrowthFit& b) {
    if ((a.growth == Growth::None) != (b.growth == Growth::None)) return b.growth == Growth::None;
    return a.share > b.share;
  });
  return out;
}

Seconds slope_at(const GrowthFit& fit, double place) {
  if (fit.growth == Growth::None || !(fit.error > Seconds{})) return fit.slope;
  const double at = fit.peak / fit.error;
  if (at < kFarBelow) return fit.error * (-logarithm(place) / -at);
  std::array<double, 1> z = {at};
  normal_probabilities(z);
  z[0] *= place;
  normal_quantiles(z);
  return std::max(fit.peak - fit.error * z[0], Seconds{});
}

Seconds at_seen(const TimeEstimate& time, const GrowthFit& fit, double score) {
  if (!fit.pivot) return time.value + score * (time.high - time.low) / (2 * kEnd);
  return fit.pivot->value + score * fit.pivot->error - fit.slope * fit.pivot->from;
}

TimeEstimate by_best(TimeEstimate time, const std::vector<GrowthFit>& fits) {
  if (fits.empty() || !fits.front().pivot) return time;
  const GrowthFit& best = fits.front();
  time.value = at_seen(time, best, 0);
  const Seconds half{kEnd * std::hypot(best.pivot->error.count(), best.pivot->from * best.error.count())};
  time.low = time.value - half;
  time.high = time.value + half;
  return time;
}

}  // namespace cox::forecast
