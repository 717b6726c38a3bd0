// SPDX-License-Identifier: Apache-2.0
#include "forecast/law/chain.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <utility>

#include "cox/base/assert.hpp"
#include "cox/base/elementary.hpp"

#include "forecast/law/score_table.hpp"
#include "forecast/law/shape.hpp"
#include "forecast/law/special.hpp"
#include "forecast/law/table_moments.hpp"

namespace cox::forecast {
namespace {

constexpr double kScores = 8;     // of the places of a unit: 6e-16 lies beyond
constexpr double kLeast = 1e-15;  // probability of a chain to be slower than the last place of its table
constexpr double kBeyond = 8.2;   // deviations of the others' sum that count
constexpr double kGap = 0.6;  // of the distance of two places: what the others' sum smooths it by, at least
constexpr double kNarrowest = 1e-7;  // of what a chain takes: an atom is as wide as this
constexpr std::size_t kEvery = 8;    // so many places apart a first table has points
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMost = 1e3;  // -ln G: G = 0, to any precision that matters

/// A unit's law at even normal scores, and its moments up to each.
struct Unit {
  std::vector<double> value;
  std::vector<std::array<double, 3>> cumulants;  // of the unit, given that it is below value[k]
  double centre = 0;
};

/// Normal scores, and how much lies at each and below it.
struct Scores {
  std::vector<double> weight;
  std::vector<double> below;
  std::vector<double> above;
  explicit Scores(int points) {
    const double step = 2 * kScores / (points - 1);
    for (int k = 0; k < points; ++k) {
      const double z = -kScores + k * step;
      weight.push_back(exponential(-z * z / 2) * step / std::sqrt(2 * 3.14159265358979323846));
      below.push_back(z);
      above.push_back(-z);
    }
    normal_probabilities(below);
    normal_probabilities(above);
  }
};

Unit unit_of(const Law& law, const Scores& scores) {
  Unit unit;
  for (std::size_t k = 0; k < scores.weight.size(); ++k) {
    const bool upper = scores.below[k] > 0.5;
    unit.value.push_back(
        (upper ? law.upper_quantile(scores.above[k]) : law.quantile(scores.below[k])).count());
  }
  unit.centre = unit.value[unit.value.size() / 2];
  std::array<double, 4> sum{};
  for (std::size_t k = 0; k < unit.value.size(); ++k) {
    // Half of the place itself: the trapezoid up to it.
    const double d = unit.value[k] - unit.centre;
    const double w = scores.weight[k];
    const std::array<double, 4> here = {w, w * d, w * d * d, w * d * d * d};
    std::array<double, 4> m{};
    for (std::size_t n = 0; n < 4; ++n) {
      m[n] = sum[n] + here[n] / 2;
      sum[n] += here[n];
    }
    const double a = m[1] / m[0];
    const double b = m[2] / m[0];
    unit.cumulants.push_back({a, std::max(b - a * a, 0.0), m[3] / m[0] - 3 * a * b + 2 * a * a * a});
  }
  return unit;
}

/// Where `value` lies among the ascending places of a unit: a place and a part of the way to the next.
double place_of(const Unit& unit, double value) {
  const auto next = std::upper_bound(unit.value.begin(), unit.value.end(), value);
  if (next == unit.value.begin()) return -1;
  if (next == unit.value.end()) return static_cast<double>(unit.value.size() - 1);
  const double low = *(next - 1);
  return static_cast<double>(next - unit.value.begin() - 1) + (value - low) / (*next - low);
}

double between(const std::vector<double>& values, double place) {
  const auto left = std::min(static_cast<std::size_t>(place), values.size() - 2);
  const double part = place - static_cast<double>(left);
  return values[left] + part * (values[left + 1] - values[left]);
}

/// One place of the slowest: how probable it is, and what the chain takes then: a law by its three cumulants.
struct Given {
  double weight = 0;
  double mean = 0;
  double deviation = 0;
  double skewness = 0;
};

class Places {
 public:
  Places(const Chain& chain, int points) : chain_(chain), scores_(points) {
    for (const Law& law : chain.units) {
      units_.push_back(unit_of(law, scores_));
      const auto same = std::find_if(units_.begin(), units_.end(),
                                     [this](const Unit& u) { return u.value == units_.back().value; });
      kind_.push_back(static_cast<std::size_t>(same - units_.begin()));
    }
    std::map<Signature, std::vector<std::size_t>> alike;
    for (std::size_t i = 0; i < units_.size(); ++i) alike[signature(i)].push_back(i);
    for (const auto& [what, those] : alike) add_slowest(those.front(), static_cast<double>(those.size()));
    finish();
  }
  [[nodiscard]] const std::vector<Given>& given() const { return given_; }
  /// Where a table has points at least: every unit at its k-th place; what the chain takes given the slowest; atoms' both sides.
  [[nodiscard]] std::vector<double> corners() const {
    std::vector<double> x;
    for (std::size_t k = 0; k < scores_.weight.size(); k += kEvery) {
      double all = 0;
      for (std::size_t j = 0; j < units_.size(); ++j) all += chain_.weights[0][j] * units_[j].value[k];
      x.push_back(all);
    }
    double last = -kInfinity;
    for (std::size_t k = 0; k < given_.size(); ++k) {
      const Given& g = given_[k];
      const bool alone = std::abs(g.mean - last) > 2 * kBeyond * g.deviation;
      if (alone) x.insert(x.end(), {g.mean - kBeyond * g.deviation, g.mean + kBeyond * g.deviation});
      if (alone || k % kEvery == 0) x.push_back(g.mean);
      last = g.mean;
    }
    return x;
  }

 private:
  /// What decides how probable it is that a unit is the slowest, and what the chain takes then: its kind and the others'.
  using Signature = std::vector<std::pair<std::size_t, double>>;
  [[nodiscard]] Signature signature(std::size_t slowest) const {
    Signature of;
    for (std::size_t j = 0; j < units_.size(); ++j)
      if (j != slowest) of.emplace_back(kind_[j], chain_.weights[slowest][j]);
    std::sort(of.begin(), of.end());
    of.emplace_back(kind_[slowest], chain_.weights[slowest][slowest]);
    return of;
  }

  /// Weights that sum to 1, and no law narrower than a table can tell.
  void finish() {
    std::erase_if(given_, [](const Given& g) { return !(g.weight > kLeast / 1e3); });
    double all = 0;
    double usual = 0;
    for (const Given& g : given_) all += g.weight;
    for (Given& g : given_) {
      g.weight /= all;
      usual += g.weight * std::abs(g.mean);
    }
    for (Given& g : given_) g.deviation = std::max(g.deviation, kNarrowest * usual);
  }

  void add_slowest(std::size_t i, double times) {
    const std::vector<double>& w = chain_.weights[i];
    const Unit& slowest = units_[i];
    for (std::size_t k = 0; k < scores_.weight.size(); ++k) {
      Given g{.weight = times * scores_.weight[k], .mean = w[i] * slowest.value[k]};
      double variance = 0;
      double third = 0;
      for (std::size_t j = 0; j < units_.size(); ++j) {
        if (j == i) continue;
        const double place =
            kind_[j] == kind_[i] ? static_cast<double>(k) : place_of(units_[j], slowest.value[k]);
        if (place < 0) {
          g.weight = 0;
          break;
        }
        g.weight *= between(scores_.below, place);
        const auto& at = units_[j].cumulants;
        const auto left = std::min(static_cast<std::size_t>(place), at.size() - 2);
        const double part = place - static_cast<double>(left);
        const auto cumulant = [&](std::size_t n) {
          return at[left][n] + part * (at[left + 1][n] - at[left][n]);
        };
        g.mean += w[j] * (units_[j].centre + cumulant(0));
        variance += w[j] * w[j] * cumulant(1);
        third += w[j] * w[j] * w[j] * cumulant(2);
      }
      const std::size_t next = std::min(k + 1, slowest.value.size() - 1);
      const std::size_t last = k == 0 ? 0 : k - 1;
      const double gap =
          w[i] * (slowest.value[next] - slowest.value[last]) / static_cast<double>(next - last);
      g.deviation = std::sqrt(variance);
      g.skewness = variance > 0 ? third / (variance * g.deviation) : 0;
      if (kGap * gap > g.deviation) {
        g.deviation = kGap * gap;
        g.skewness = 0;
      }
      given_.push_back(g);
    }
  }

  const Chain& chain_;
  Scores scores_;
  std::vector<Unit> units_;
  std::vector<std::size_t> kind_;  // the first unit with the same law
  std::vector<Given> given_;
};

/// Scores of places in units of a deviation: of a shifted gamma law by the cube root, of one turned around where it leans left.
void to_scores(const Given& g, std::vector<double>& u) {
  const double s = std::abs(g.skewness);
  if (s < 1e-3) return;
  const double sign = g.skewness > 0 ? 1 : -1;
  for (double& x : u) x = std::max(1 + s * sign * x / 2, 1e-12);
  logarithms(u);
  for (double& x : u) x /= 3;
  exponentials(u);
  for (double& x : u) x = sign * (6 / s) * (x - 1 + s * s / 36);
}

/// P(T > x) and P(T <= x) at ascending places.
struct Tails {
  std::vector<double> above;
  std::vector<double> below;
};
Tails tails_at(const std::vector<Given>& given, const std::vector<double>& x) {
  Tails out{std::vector<double>(x.size()), std::vector<double>(x.size())};
  std::vector<double> certain(x.size() + 1);  // what lies above all places before this one
  std::vector<double> never(x.size() + 1);
  std::vector<double> u;
  std::vector<double> v;
  for (const Given& g : given) {
    const auto from = std::lower_bound(x.begin(), x.end(), g.mean - kBeyond * g.deviation) - x.begin();
    const auto to = std::upper_bound(x.begin() + from, x.end(), g.mean + kBeyond * g.deviation) - x.begin();
    certain[static_cast<std::size_t>(from)] += g.weight;
    never[static_cast<std::size_t>(to)] += g.weight;
    if (from == to) continue;
    u.clear();
    for (auto i = from; i < to; ++i) u.push_back((x[static_cast<std::size_t>(i)] - g.mean) / g.deviation);
    to_scores(g, u);
    v = u;
    for (double& z : v) z = -z;
    normal_probabilities(u);
    normal_probabilities(v);
    for (auto i = from; i < to; ++i) {
      out.below[static_cast<std::size_t>(i)] += g.weight * u[static_cast<std::size_t>(i - from)];
      out.above[static_cast<std::size_t>(i)] += g.weight * v[static_cast<std::size_t>(i - from)];
    }
  }
  double low = 0;
  for (std::size_t i = 0; i < x.size(); ++i) out.below[i] += low += never[i];
  double high = 0;
  for (std::size_t i = x.size(); i-- > 0;) out.above[i] += high += certain[i + 1];
  return out;
}

ScoreTable table_at(const std::vector<Given>& given, std::vector<double> x) {
  std::sort(x.begin(), x.end());
  x.erase(std::unique(x.begin(), x.end()), x.end());
  const Tails tails = tails_at(given, x);
  std::vector<double> kept;
  std::vector<double> t;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double above = tails.above[i];
    const double minus_log =
        above > 0.5 ? -logarithm(std::max(tails.below[i], 1e-300)) : -logarithm_of_one_plus(-above);
    const bool last = above < kLeast;
    if (minus_log > kMost || (last && !kept.empty())) continue;
    kept.push_back(x[i]);
    t.push_back(minus_log);
  }
  return {std::move(kept), t};
}

Law constant_chain(const Chain& chain) {
  const auto slowest = std::ranges::max_element(chain.units, {}, &Law::mean) - chain.units.begin();
  Seconds sum{};
  for (std::size_t j = 0; j < chain.units.size(); ++j)
    sum += chain.weights[static_cast<std::size_t>(slowest)][j] * chain.units[j].mean();
  return Law::constant(sum);
}

}  // namespace

Law law_of(const Chain& chain, int points) {
  COX_ASSERT(!chain.units.empty() && chain.weights.size() == chain.units.size(),
             "a chain has units, each with weights");
  if (chain.units.size() == 1) return chain.units[0].times(chain.weights[0][0]);
  if (std::ranges::all_of(chain.units, &Law::is_constant)) return constant_chain(chain);
  const Places places(chain, points);
  const ScoreTable coarse = table_at(places.given(), places.corners());
  const double least = logarithm(kLeast);
  std::vector<double> levels;
  levels.reserve(static_cast<std::size_t>(points));
  for (int i = 0; i < points; ++i) levels.push_back(kMostScore + (least - kMostScore) * i / (points - 1));
  std::vector<double> x(levels.size(), 0.0);
  coarse.add_places(levels, x);
  x.insert(x.end(), coarse.x().begin(), coarse.x().end());
  ScoreTable table = table_at(places.given(), std::move(x));
  TableMoments moments = moments_of(table);
  for (const Law& unit : chain.units) {
    if (!std::isfinite(unit.mean().count())) moments.mean = kInfinity;
    if (!std::isfinite(unit.deviation().count())) moments.deviation = kInfinity;
  }
  return Law::of(shapes::tabled(std::move(table), moments.mean, moments.deviation));
}

}  // namespace cox::forecast
