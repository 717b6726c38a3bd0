// SPDX-License-Identifier: Apache-2.0
#include "forecast/answer/goodness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "cox/base/stats.hpp"
#include "cox/simulate/outcome.hpp"

#include "forecast/sample/read.hpp"

namespace cox::forecast {
namespace {

constexpr int kRunsOfRanks = 8;             ///< simulations that are looked at rank by rank
constexpr std::size_t kStepsOfRanks = 300;  ///< of each
constexpr double kTail = 0.0025;  ///< on either side, of one more simulation: seven figures are looked at
constexpr double kSteady = 1e-6;  ///< coefficient of variation of step times that differ by rounding only
constexpr Seconds kLeastLatency{1e-9};    ///< of a message, where ranks are looked at
constexpr std::size_t kMostRanks = 4096;  ///< beyond, nobody looks at who is last

using Series = std::vector<double>;

/// Step times with a mark where the step before is missing.
struct Steps {
  Series length;
  std::vector<bool> follows;
};

Steps recorded_steps(const Sample& sample) {
  Steps out;
  for (std::size_t k = 0; k < sample.steps.size(); ++k) {
    out.length.push_back(sample.steps[k].length.count());
    out.follows.push_back(k > 0 && sample.steps[k].number == sample.steps[k - 1].number + 1);
  }
  return out;
}

/// Of so many steps of the Scenario each; the first has no begin.
Steps simulated_steps(const simulate::Outcome& outcome, std::size_t each) {
  Steps out;
  for (std::size_t k = 2 * each; k <= outcome.step_ends.size(); k += each) {
    out.length.push_back((outcome.step_ends[k - 1] - outcome.step_ends[k - 1 - each]).count());
    out.follows.push_back(out.length.size() > 1);
  }
  return out;
}

/// So many steps of a simulated sample as one: each rank's own work of all of them.
Sample together(const Sample& sample, std::size_t each) {
  if (each == 1) return sample;
  Sample out = sample;
  out.steps.resize(sample.steps.size() / each);
  for (Position& p : out.positions) {
    const std::vector<Seconds> own = std::exchange(p.own, {});
    p.own.resize(out.steps.size() * out.ranks.size());
    for (std::size_t i = 0; i < out.steps.size() * each * out.ranks.size(); ++i)
      p.own[i / out.ranks.size() / each * out.ranks.size() + i % out.ranks.size()] += own[i];
  }
  return out;
}

Series sorted(Series values) {
  std::sort(values.begin(), values.end());
  return values;
}

/// Kolmogorov's distance of two samples, each ascending; values that differ by rounding only are equal.
double distance(std::span<const double> a, std::span<const double> b) {
  double most = 0;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    const double least = std::min(a[i], b[j]);
    const double x = least + kSteady * std::abs(least);
    while (i < a.size() && a[i] <= x) ++i;
    while (j < b.size() && b[j] <= x) ++j;
    most = std::max(most, std::abs(static_cast<double>(i) / static_cast<double>(a.size()) -
                                   static_cast<double>(j) / static_cast<double>(b.size())));
  }
  return most;
}

Welford spread(const Steps& steps) {
  Welford all;
  for (const double x : steps.length) all.add(x);
  return all;
}

double lag_correlation(const Steps& steps) {
  const Welford all = spread(steps);
  if (all.cv() <= kSteady) return 0;
  double sum = 0;
  std::size_t pairs = 0;
  for (std::size_t k = 1; k < steps.length.size(); ++k) {
    if (!steps.follows[k]) continue;
    sum += (steps.length[k] - all.mean()) * (steps.length[k - 1] - all.mean());
    ++pairs;
  }
  return pairs == 0 ? 0 : sum / static_cast<double>(pairs) / all.variance();
}

/// Share of the first steps in which the rank that is last most often is last.
double last_share(const Sample& sample) {
  const std::size_t steps = std::min(sample.steps.size(), kStepsOfRanks);
  const std::size_t ranks = sample.ranks.size();
  std::vector<std::size_t> last(ranks, 0);
  for (std::size_t k = 0; k < steps; ++k) {
    std::size_t latest = 0;
    Seconds most{-1};
    for (std::size_t r = 0; r < ranks; ++r) {
      Seconds own{};
      for (const Position& p : sample.positions) own += p.at(k, r, ranks);
      if (own > most) std::tie(latest, most) = std::pair{r, own};
    }
    ++last[latest];
  }
  return static_cast<double>(*std::max_element(last.begin(), last.end())) / static_cast<double>(steps);
}

/// A figure of step times, by name.
struct Measure {
  GoodnessMeasure measure;
  const char* name;
  const char* unit;
  double (*of)(const Steps&);
};
constexpr Measure kMeasures[] = {
    {GoodnessMeasure::P50, "p50", "s", [](const Steps& s) { return quantile(s.length, 0.5); }},
    {GoodnessMeasure::P95, "p95", "s", [](const Steps& s) { return quantile(s.length, 0.95); }},
    {GoodnessMeasure::P99, "p99", "s", [](const Steps& s) { return quantile(s.length, 0.99); }},
    {GoodnessMeasure::Cv, "cv", "",
     [](const Steps& s) {
       const double cv = spread(s).cv();
       return cv > kSteady ? cv : 0;
     }},
    {GoodnessMeasure::LagCorrelation, "lag-1 correlation", "", lag_correlation},
};

/// Where one more simulation lies, all but 2 kTail of them: within what the others spanned, or as of a normal law.
std::pair<double, double> by_chance(const Series& values) {
  Welford all;
  for (const double x : values) all.add(x);
  const auto n = static_cast<std::int64_t>(values.size());
  const double half =
      n < 2 ? 0 : student_quantile(kTail, n - 1) * all.stddev() * std::sqrt(1 + 1 / static_cast<double>(n));
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return {std::min(*least, all.mean() - half), std::max(*most, all.mean() + half)};
}

GoodnessFigure figure_of(GoodnessMeasure measure, const char* name, const char* unit, double recorded,
                         Series simulated) {
  constexpr double kRounding = 1e-9;  // of the value: constant data differ by bits
  GoodnessFigure out{.measure = measure, .name = name, .recorded = recorded, .unit = unit};
  out.simulated = quantile(simulated, 0.5);
  std::tie(out.low, out.high) = by_chance(simulated);
  const double slack = kRounding * std::max({1e-6, std::abs(recorded), std::abs(out.high)});
  out.inside = recorded >= out.low - slack && recorded <= out.high + slack;
  return out;
}

/// What the figures that do not fit point to. Source: docs/concepts/forecasting.md.
std::string reason_of(const Goodness& g) {
  std::vector<std::string> said;
  using enum GoodnessMeasure;
  const auto of = [&](GoodnessMeasure measure) {
    const auto at = std::ranges::find(g.figures, measure, &GoodnessFigure::measure);
    return at == g.figures.end() ? nullptr : &*at;
  };
  const auto find = [&](GoodnessMeasure measure) {
    const GoodnessFigure* f = of(measure);
    return f == nullptr || f->inside ? nullptr : f;
  };
  if (const auto* f = find(Cv))
    said.emplace_back(f->recorded > f->high
                          ? "step times vary more than the model's: something that ranks share is missing"
                          : "step times vary less than the model's");
  if (const auto* f = find(LagCorrelation))
    said.emplace_back(f->recorded > f->high
                          ? "steps resemble the ones before them more: slow changes or drift are missing"
                          : "steps resemble the ones before them less, or alternate");
  if (const auto* f = find(LastMostOften))
    said.emplace_back(f->recorded > f->high
                          ? "one rank is last more often: more persists than the model has"
                          : "the last rank changes more often: less persists than the model has");
  if (find(P50) != nullptr) said.emplace_back("the usual step has another length");
  if (said.empty() && (find(P99) != nullptr || find(P95) != nullptr))
    said.emplace_back("long steps only: the tail is another one");
  const GoodnessFigure* cv = of(Cv);
  const bool steady = cv != nullptr && cv->recorded == 0 && cv->simulated == 0;
  if (said.empty() && g.distance > g.limit && !steady)
    said.emplace_back("the shape of the distribution is another one");
  std::string out;
  for (const std::string& s : said) out += (out.empty() ? "" : "; ") + s;
  return out;
}

/// The simulations: step times of each, and of some who was last.
struct Simulated {
  std::vector<Steps> runs;
  Series last;
};

Result<Simulated> simulate_runs(model::Scenario s, const Sample& recorded, const GoodnessOptions& options) {
  Simulated out;
  const auto steps =
      std::min<std::int64_t>(options.most_steps, static_cast<std::int64_t>(recorded.steps.size()));
  const auto each = static_cast<std::size_t>(std::max(1, options.synchronisations));
  s.job.steps =
      static_cast<int>((steps + 1) * options.synchronisations);  // the first has no length of its own
  s.replicas = 1;
  for (int i = 0; i < options.simulations; ++i) {
    s.seed = static_cast<std::uint64_t>(i) + 1;
    COX_TRY(const simulate::Outcome outcome, simulate::simulate(s, {.threads = options.threads}));
    out.runs.push_back(simulated_steps(outcome, each));
  }
  if (recorded.positions.empty() || recorded.ranks.size() < 2 || recorded.ranks.size() > kMostRanks)
    return out;
  s.job.steps = static_cast<int>(std::min<std::size_t>(kStepsOfRanks, recorded.steps.size()) * each) + 2;
  // A collective that takes no time leaves no trace of who was last.
  s.across.latency = std::max(s.across.latency, kLeastLatency);
  s.inside.latency = std::max(s.inside.latency, kLeastLatency);
  for (int i = 0; i < std::min(kRunsOfRanks, options.simulations); ++i) {
    s.seed = static_cast<std::uint64_t>(i) + 1;
    COX_TRY(const simulate::Outcome outcome,
            simulate::simulate(s, {.threads = options.threads, .want_run = true}));
    COX_TRY(const Sample sample, sample_of(*outcome.run, options.threads));
    out.last.push_back(last_share(together(sample, each)));
  }
  return out;
}

Goodness::Means means_of(const std::vector<Steps>& runs, const Steps& recorded) {
  Goodness::Means out{.recorded = Seconds{spread(recorded).mean()}};
  Series means;
  for (const Steps& run : runs) means.push_back(spread(run).mean());
  const auto nearest =
      std::ranges::min_element(means, {}, [&](double mean) { return std::abs(mean - out.recorded.count()); });
  out.nearest = Seconds{*nearest};
  out.seed = static_cast<std::uint64_t>(nearest - means.begin()) + 1;
  out.low = Seconds{quantile(means, 0.05)};
  out.high = Seconds{quantile(means, 0.95)};
  return out;
}

}  // namespace

Result<Goodness> compare_steps(const model::Scenario& calibrated, const Sample& recorded,
                               const GoodnessOptions& options) {
  COX_TRY(const Simulated simulated, simulate_runs(calibrated, recorded, options));
  const Steps seen = recorded_steps(recorded);
  Goodness out{.simulations = options.simulations};
  Series all;
  for (const Steps& run : simulated.runs) all.insert(all.end(), run.length.begin(), run.length.end());
  all = sorted(std::move(all));
  const Series recorded_sorted = sorted(seen.length);
  out.distance = distance(recorded_sorted, all);
  Series distances;
  for (const Steps& run : simulated.runs) distances.push_back(distance(sorted(run.length), all));
  out.limit = by_chance(distances).second;
  for (const Measure& m : kMeasures) {
    Series values;
    for (const Steps& run : simulated.runs) values.push_back(m.of(run));
    out.figures.push_back(figure_of(m.measure, m.name, m.unit, m.of(seen), std::move(values)));
  }
  if (!simulated.last.empty())
    out.figures.push_back(figure_of(GoodnessMeasure::LastMostOften, "last most often", "",
                                    last_share(recorded), simulated.last));
  for (int i = 1; i < 100; ++i)
    out.quantiles.push_back({.recorded = Seconds{quantile(recorded_sorted, i / 100.0)},
                             .simulated = Seconds{quantile(all, i / 100.0)}});
  if (!simulated.runs.empty()) out.means = means_of(simulated.runs, seen);
  out.because = reason_of(out);
  out.reproduces = out.because.empty();
  return out;
}

}  // namespace cox::forecast
