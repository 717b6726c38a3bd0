// SPDX-License-Identifier: Apache-2.0
#include "forecast/law/maximum.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "cox/base/assert.hpp"
#include "cox/base/elementary.hpp"

#include "forecast/law/score_table.hpp"
#include "forecast/law/shape.hpp"
#include "forecast/law/special.hpp"
#include "forecast/law/table_moments.hpp"

namespace cox::forecast {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// The probability above which a table ends, of the whole job.
constexpr double kLeastTail = 1e-9;
/// A rule may be this many deviations of what it is added to apart: the trapezoid's error is then exp(-2 pi²/1.5²), 2e-4.
constexpr double kApart = 1.5;
constexpr double kMostRefined = 12;
constexpr double kSeen = 1e-3;   // tails are smooth down to this probability of the slowest
constexpr double kScores = 6.5;  // a rule reaches from -6.5 to 6.5 normal scores

double one_minus_exp(double t) {
  return t < 1e-5 ? t - t * t / 2 : 1 - exponential(-t);
}
double score_at(double g) {
  return logarithm(-logarithm(g));
}

/// Half of what lies between 16 and 84 %.
double width(const ScoreTable& table) {
  return (table.place(score_at(0.84)) - table.place(score_at(0.16))) / 2;
}

/// A table's rule, as Law::rule.
std::vector<Law::Point> rule(const ScoreTable& table, int points) {
  std::vector<Law::Point> found;
  double sum = 0;
  for (int i = 0; i < points; ++i) {
    const double z = -kScores + 2 * kScores * i / (points - 1);
    std::array<double, 1> p = {-std::abs(z)};
    normal_probabilities(p);
    const double minus_log = z < 0 ? -logarithm(p[0]) : -logarithm_of_one_plus(-p[0]);
    const double weight = exponential(-z * z / 2);
    found.push_back({.value = Seconds{table.place(logarithm(minus_log))}, .weight = weight});
    sum += weight;
  }
  for (Law::Point& point : found) point.weight /= sum;
  return found;
}

/// The largest gap of a rule where it matters for the slowest of `outer`: from 1/100 of one of them to 1/1,000 of the slowest.
double largest_gap(const std::vector<Law::Point>& points, double outer) {
  double gap = 0;
  double below = 0;
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    below += points[i].weight;
    if (below > 0.01 && 1 - below > kSeen / outer) {
      gap = std::max(gap, (points[i + 1].value - points[i].value).count());
    }
  }
  return gap;
}

/// Levels of y, even, descending.
std::vector<double> levels_to(double least, int points) {
  std::vector<double> y;
  y.reserve(static_cast<std::size_t>(points));
  for (int i = 0; i < points; ++i) y.push_back(kMostScore + (least - kMostScore) * i / (points - 1));
  return y;
}

/// Places for the table of a sum with a discrete law: the inner ones, moved by each of its values.
std::vector<double> moved_places(const ScoreTable& inner, const std::vector<Law::Point>& shared, double least,
                                 int points) {
  const std::vector<double> y = levels_to(least, points / static_cast<int>(shared.size()));
  std::vector<double> x;
  for (const Law::Point& point : shared) {
    std::vector<double> moved(y.size(), point.value.count());
    inner.add_places(y, moved);
    x.insert(x.end(), moved.begin(), moved.end());
    // A jump of the inner one stays one: a place on it, and one just before.
    for (std::size_t i = 0; i + 1 < inner.x().size(); ++i) {
      if (inner.x()[i] != inner.x()[i + 1]) continue;
      const double at = inner.x()[i] + point.value.count();
      x.insert(x.end(), {at - 1e-12 * std::abs(at), at});
    }
  }
  return x;
}

/// With any other: both at the same level, which covers the ends, and the inner one alone moved by the other's body, which covers
/// gaps.
std::vector<double> summed_places(const ScoreTable& inner, const std::vector<Law::Point>& shared,
                                  double least, int points) {
  const double step = 2 * kScores / static_cast<double>(shared.size() - 1);
  const auto value = [&](double z) {
    const double place = std::clamp((z + kScores) / step, 0.0, static_cast<double>(shared.size()) - 1.000001);
    const auto left = static_cast<std::size_t>(place);
    const double part = place - static_cast<double>(left);
    return shared[left].value.count() * (1 - part) + shared[left + 1].value.count() * part;
  };
  const std::vector<double> y = levels_to(least, points / 2);
  std::vector<double> x = y;  // becomes the normal score of G = exp(-exp(y)), then the place
  exponentials(x);
  for (double& t : x) t = -t;
  exponentials(x);
  for (double& g : x) g = std::clamp(g, 1e-16, 1 - 1e-16);
  normal_quantiles(x);
  for (double& z : x) z = value(z);
  inner.add_places(y, x);
  const std::vector<double> fewer = levels_to(least, points / 4);
  for (const double z : {-1.5, 2.5}) {
    std::vector<double> moved(fewer.size(), value(z));
    inner.add_places(fewer, moved);
    x.insert(x.end(), moved.begin(), moved.end());
  }
  for (const double at : inner.breaks())
    for (const double z : {-4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0}) x.push_back(at + value(z));
  return x;
}

/// Gap of a rule over what the other law smooths; beyond all limits where that one is a point, even if the gap is none.
double gaps_apart(double gap, double width) {
  return width > 0 ? gap / (kApart * width) : std::numeric_limits<double>::infinity();
}

/// The sum of what `inner` is the law of and an independent `law`; `outer` such sums are to be compared.
ScoreTable sum(const ScoreTable& inner, const Law& law, double outer, const Quadrature& quadrature) {
  const double least = logarithm(kLeastTail / outer);
  std::vector<Law::Point> points = law.rule(quadrature.shared_points);
  const bool atoms = law.is_discrete();
  std::vector<double> x = atoms ? moved_places(inner, points, least, quadrature.points)
                                : summed_places(inner, points, least, quadrature.points);
  std::sort(x.begin(), x.end());
  x.erase(std::unique(x.begin(), x.end()), x.end());
  if (x.size() < 2)  // neither varies: a jump
    return {{x.front(), x.front()}, std::array{cox::exponential(kMostScore), cox::exponential(least)}};
  // The rule is made of the one that is narrower, so that the other smooths it.
  const double apart = gaps_apart(largest_gap(points, outer), width(inner));
  const ScoreTable* smooth = &inner;
  std::vector<ScoreTable> shared;
  if (!atoms && !(apart <= 1)) {
    std::vector<Law::Point> other = rule(inner, quadrature.shared_points);
    const double swapped = gaps_apart(largest_gap(other, outer), law.deviation().count());
    const double refine = std::clamp(std::min(apart, swapped), 1.0, kMostRefined);
    const int finer = static_cast<int>(quadrature.shared_points * refine);
    if (swapped < apart) {
      shared.emplace_back(law, 1.0, least, quadrature.points);
      smooth = &shared.front();
      points = finer > quadrature.shared_points ? rule(inner, finer) : std::move(other);
    } else {
      points = law.rule(finer);
    }
  }
  std::vector<double> below(x.size());
  std::vector<double> above(x.size());
  std::vector<double> t(x.size());
  std::vector<double> g(x.size());
  for (const Law::Point& point : points) {
    smooth->minus_log(x, point.value.count(), t);
    for (std::size_t i = 0; i < t.size(); ++i) g[i] = -t[i];
    exponentials(g);
    for (std::size_t i = 0; i < t.size(); ++i) {
      below[i] += point.weight * g[i];
      above[i] += point.weight * (t[i] < 1e-5 ? t[i] - t[i] * t[i] / 2 : 1 - g[i]);
    }
  }
  for (std::size_t i = 0; i < t.size(); ++i)
    t[i] = above[i] > 0.5 ? std::max(below[i], 1e-300) : 1 - above[i];
  logarithms(t);
  for (std::size_t i = 0; i < t.size(); ++i)
    t[i] = above[i] < 1e-5 ? above[i] + above[i] * above[i] / 2 : -t[i];
  ScoreTable out(std::move(x), t);
  out.keep_breaks(inner.breaks());
  return out;
}

/// The slower of two independent ones: -ln G adds.
ScoreTable slower(const ScoreTable& a, const ScoreTable& b) {
  std::vector<double> x(a.x().begin(), a.x().end());
  x.insert(x.end(), b.x().begin(), b.x().end());
  std::sort(x.begin(), x.end());
  std::vector<double> t;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool jump = i + 1 < x.size() && x[i + 1] == x[i];
    const double at = jump ? std::nextafter(x[i], -kInfinity) : x[i];
    t.push_back(exponential(a.score(at)) + exponential(b.score(at)));
  }
  return {std::move(x), t};
}

/// A level of sharing that is there, and the ranks below it.
struct Level {
  Law law;
  std::int64_t ranks = 0;
};

class Builder {
 public:
  Builder(const Nest& nest, std::int64_t ranks, const Quadrature& quadrature)
      : own_(nest.own), job_(ranks), quadrature_(quadrature) {
    const std::int64_t node = std::max(nest.ranks_per_node, 1);
    add(nest.rank, 1);
    add(nest.node, node);
    add(nest.slow_node, node);
    add(nest.lasting_node, node);
    if (nest.nodes_per_group > 0) add(nest.group, node * nest.nodes_per_group);
    if (nest.nodes_per_group == 0) add_common(nest.group);
    add_common(nest.common);
  }
  /// The job without what all share.
  ScoreTable slowest() { return members(job_, levels_.size()).second; }
  [[nodiscard]] const std::vector<Law>& common() const { return common_; }
  [[nodiscard]] double shift() const { return shift_; }
  [[nodiscard]] double growth() const { return growth_; }

 private:
  void add(const Law& law, std::int64_t ranks) {
    if (law.is_constant()) {
      shift_ += law.mean().count();
    } else {
      levels_.push_back({.law = law, .ranks = ranks});
    }
  }
  void add_common(const Law& law) {
    if (law.is_constant()) {
      shift_ += law.mean().count();
    } else {
      common_.push_back(law);
    }
  }
  /// The slowest of `ranks` ranks that share nothing at or above level `above`, and among how many units it is.
  std::pair<std::int64_t, ScoreTable> members(std::int64_t ranks, std::size_t above) {
    const double outer = static_cast<double>(job_) / static_cast<double>(ranks);
    if (above == 0) {
      ScoreTable table(own_, static_cast<double>(ranks), logarithm(kLeastTail / outer), quadrature_.points);
      note_growth(table);
      return {ranks, std::move(table)};
    }
    const std::int64_t size = levels_[above - 1].ranks;
    const std::int64_t full = ranks / size;
    const std::int64_t rest = ranks % size;
    std::vector<ScoreTable> parts;
    if (full > 0) {
      parts.push_back(unit(size, above - 1));
      parts.back().raise(logarithm(static_cast<double>(full)));
    }
    if (rest > 0) parts.push_back(unit(rest, above - 1));
    if (parts.size() == 2) parts.front() = slower(parts[0], parts[1]);
    const std::int64_t units = full + (rest > 0 ? 1 : 0);
    if (units > 1) note_growth(parts.front());
    return {units, std::move(parts.front())};
  }
  ScoreTable unit(std::int64_t ranks, std::size_t level) {
    const double outer = static_cast<double>(job_) / static_cast<double>(ranks);
    return sum(members(ranks, level).second, levels_[level].law, outer, quadrature_);
  }
  /// The last one noted is that of the outermost units that are more than one.
  void note_growth(const ScoreTable& table) { growth_ = growth_of(table); }

  Law own_;
  std::int64_t job_;
  Quadrature quadrature_;
  std::vector<Level> levels_;  // from the inside
  std::vector<Law> common_;
  double shift_ = 0;
  double growth_ = 0;
};

bool all_finite(const Nest& nest, Seconds (Law::*moment)() const) {
  return std::isfinite((nest.own.*moment)().count()) && std::isfinite((nest.node.*moment)().count()) &&
         std::isfinite((nest.group.*moment)().count()) && std::isfinite((nest.common.*moment)().count()) &&
         std::isfinite((nest.rank.*moment)().count()) && std::isfinite((nest.lasting_node.*moment)().count());
}

}  // namespace

struct Maximum::Grid {
  ScoreTable table;
  double growth = 0;
  double mean = 0;
  double deviation = 0;

  Grid(ScoreTable made, double grown) : table(std::move(made)), growth(grown) {}
};

Maximum::Maximum(const Nest& nest, std::int64_t ranks, const Quadrature& quadrature)
    : Maximum(std::vector<Crowd>{{.nest = nest, .ranks = ranks}}, quadrature) {}

Maximum::Maximum(const std::vector<Crowd>& crowds, const Quadrature& quadrature) {
  COX_ASSERT(!crowds.empty(), "somebody is the slowest");
  COX_ASSERT(quadrature.points >= 16 && quadrature.shared_points >= 8, "an integral has points");
  std::optional<ScoreTable> slowest;
  std::optional<ScoreTable> growing;  // of those that are not fixed
  const auto join = [](std::optional<ScoreTable>& all, const ScoreTable& one) {
    all = all ? slower(*all, one) : one;
  };
  std::vector<Law> common;
  double growth = 0;
  for (const Crowd& crowd : crowds) {
    COX_ASSERT(crowd.ranks >= 1, "somebody is the slowest");
    Builder builder(crowd.nest, crowd.ranks, quadrature);
    ScoreTable table = builder.slowest();
    table.move(builder.shift());
    growth = crowd.fixed ? 0 : builder.growth();
    if (!slowest) common = builder.common();
    join(slowest, table);
    if (!crowd.fixed) join(growing, table);
  }
  if (crowds.size() > 1) growth = growing ? growth_of(*slowest, *growing) : 0;
  for (const Law& law : common) slowest = sum(*slowest, law, 1, quadrature);
  auto grid = std::make_shared<Grid>(*std::move(slowest), growth);
  const TableMoments moments = moments_of(grid->table);
  grid->mean = moments.mean;
  grid->deviation = moments.deviation;
  for (const Crowd& crowd : crowds) {
    if (!all_finite(crowd.nest, &Law::mean)) grid->mean = kInfinity;
    if (!all_finite(crowd.nest, &Law::deviation)) grid->deviation = kInfinity;
  }
  grid_ = std::move(grid);
}

Seconds between_runs(const Nest& fresh, std::int64_t ranks, const Law& lasting, std::int64_t units) {
  constexpr int kPlaces = 48;
  if (lasting.is_constant()) return {};
  const Quadrature quadrature = {.points = 128, .shared_points = 24};
  const ScoreTable unit = Builder(fresh, ranks, quadrature).slowest();
  const double least = logarithm(kLeastTail / static_cast<double>(units));
  ScoreTable job = sum(unit, lasting, static_cast<double>(units), quadrature);
  job.raise(logarithm(static_cast<double>(units)));
  std::vector<double> x;
  x.reserve(kPlaces);
  for (int i = 0; i < kPlaces; ++i)
    x.push_back(job.place(2.5 + (std::max(least, -8.0) - 2.5) * i / (kPlaces - 1)));
  std::vector<double> above(x.size());  // of one unit, at each place
  std::vector<double> both(x.size() * x.size());
  std::vector<double> u(x.size());
  for (const Law::Point& point : lasting.rule(48)) {
    unit.minus_log(x, point.value.count(), u);
    for (double& t : u) t = one_minus_exp(t);
    for (std::size_t i = 0; i < x.size(); ++i) {
      above[i] += point.weight * u[i];
      for (std::size_t j = 0; j <= i; ++j)
        both[i * x.size() + j] += point.weight * (u[i] + u[j] - u[i] * u[j]);
    }
  }
  const auto n = static_cast<double>(units);
  const auto to_job = [n](double over) {
    return exponential(n * logarithm_of_one_plus(-std::min(over, 1 - 1e-12)));
  };
  const auto width = [&](std::size_t i) {
    return (x[std::min(i + 1, x.size() - 1)] - x[i == 0 ? 0 : i - 1]) / 2;
  };
  double variance = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      const double apart = to_job(above[i]) * to_job(above[j]);
      variance += (i == j ? 1 : 2) * width(i) * width(j) * (to_job(both[i * x.size() + j]) - apart);
    }
  }
  return Seconds{std::sqrt(std::max(variance, 0.0))};
}

Seconds Maximum::mean() const {
  return Seconds{grid_->mean};
}
Seconds Maximum::deviation() const {
  return Seconds{grid_->deviation};
}
Seconds Maximum::quantile(double p) const {
  return Seconds{grid_->table.place(score_at(std::clamp(p, 1e-17, 1 - 1e-16)))};
}
double Maximum::above(Seconds x) const {
  return one_minus_exp(exponential(grid_->table.score(x.count())));
}
Law Maximum::law() const {
  return Law::of(shapes::tabled(grid_->table, grid_->mean, grid_->deviation));
}
Seconds Maximum::growth() const {
  return Seconds{grid_->growth};
}

}  // namespace cox::forecast
