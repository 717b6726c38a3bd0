// SPDX-License-Identifier: Apache-2.0
// Steps that look at the age of their gradient: C.13.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "cox/base/elementary.hpp"
#include "cox/base/random.hpp"
#include "cox/learn/stability.hpp"

#include "evaluate/learning/computations.hpp"
#include "evaluate/learning/race.hpp"

namespace cox::evaluate {
namespace {

using study::Dimension;
using study::Quantity;

constexpr std::uint32_t kAges = 0x6c0201;

enum class AgeLaw : std::uint8_t { Fresh, Geometric, Outliers, Constant };

struct Ages {
  AgeLaw law = AgeLaw::Fresh;
  int most = 20;
  double mean = 4;      ///< geometric, before it is cut at `most`
  double outliers = 0;  ///< share that is as old as `most`; the others are 0, 1 or 2
  /// By inversion of a uniform draw.
  [[nodiscard]] int at(double u) const {
    switch (law) {
      case AgeLaw::Fresh:
        return 0;
      case AgeLaw::Geometric:
        return static_cast<int>(
            std::min<double>(most, std::floor(logarithm(u) / logarithm(mean / (mean + 1)))));
      case AgeLaw::Outliers:
        return u < outliers ? most : static_cast<int>(3 * (u - outliers) / (1 - outliers));
      case AgeLaw::Constant:
        return most;
    }
    return 0;
  }
};

/// Ages of the updates that a bound lets pass, and how many were drawn for them.
class Passing {
 public:
  Passing(const Ages& law, int bound, std::uint64_t seed) : law_(law), bound_(bound), stream_(seed, kAges) {}
  int age(std::int64_t n) {
    while (static_cast<std::int64_t>(ages_.size()) <= n) {
      const int drawn = law_.at(stream_.uniform(0, static_cast<std::uint64_t>(drawn_++)));
      if (drawn > bound_) continue;
      ages_.push_back(drawn);
      drawn_for_.push_back(drawn_);
    }
    return ages_[static_cast<std::size_t>(n)];
  }
  /// Updates that arrived until `versions` had passed.
  double arrived(std::int64_t versions) {
    if (versions == 0) return 0;
    age(versions - 1);
    return static_cast<double>(drawn_for_[static_cast<std::size_t>(versions - 1)]);
  }

 private:
  Ages law_;
  int bound_;
  RandomStream stream_;
  std::vector<int> ages_;
  std::vector<std::int64_t> drawn_for_;
  std::int64_t drawn_ = 0;
};

struct Weights {
  Race race{};
  std::vector<double> rates;
  Ages geometric{}, outliers{}, constant{};
  int bound = 5;
  double decay = 0.1;
  int seeds = 2;
};

Result<Weights> read_weights(const study::Inputs& in) {
  Weights w;
  COX_TRY(w.race.problem.dimension, in.count("dimension", {.least = 1, .most = 10'000}));
  COX_TRY(const int condition, in.count("condition", {.least = 1, .most = 1'000'000}));
  w.race.problem.condition = condition;
  COX_TRY(w.geometric.most, in.count("largest age", {.least = 3, .most = 1000}));
  w.race.workers = w.geometric.most + 1;
  w.outliers.most = w.constant.most = w.geometric.most;
  w.geometric.law = AgeLaw::Geometric;
  w.outliers.law = AgeLaw::Outliers;
  w.constant.law = AgeLaw::Constant;
  COX_TRY(w.geometric.mean, in.ratio("mean of geometric ages", {.above = 0, .most = 1000}));
  COX_TRY(w.outliers.outliers, in.ratio("outliers", {.above = 0, .most = 0.99}));
  COX_TRY(w.decay, in.ratio("decay", {.above = 0, .most = 10}));
  COX_TRY(w.bound, in.count("bound", {.least = 0, .most = 1000}));
  COX_TRY(w.rates, in.ratios("rates tried", {.above = 0, .most = 4}));
  COX_TRY(w.race.target, in.ratio("target", {.above = 0, .most = 0.5}));
  COX_TRY(w.race.versions, in.count("most updates", {.least = 100, .most = 1'000'000}));
  COX_TRY(w.seeds, in.count("seeds", {.least = 2, .most = 100}));
  COX_CHECK(
      in.check_draws(static_cast<double>(w.race.versions) * static_cast<double>(w.race.problem.dimension) *
                         static_cast<double>(w.rates.size()) * 16,
                     "most updates, dimension and rates tried"));
  return w;
}

struct Rule {
  const char* name;
  const char* title;
  learn::AgeWeight weight = learn::AgeWeight::None;
  bool discards = false;
};
constexpr Rule kRules[] = {{"naive", "all alike", learn::AgeWeight::None, false},
                           {"inverse", "1 / (1 + age)", learn::AgeWeight::Inverse, false},
                           {"exponential", "exp(-decay age)", learn::AgeWeight::Exponential, false},
                           {"discard", "thrown away beyond the bound", learn::AgeWeight::None, true}};

/// A rule under a law of ages, and the updates that arrived until each seed was there.
struct Weighted {
  Tuned tuned;
  std::vector<double> arrived;
  [[nodiscard]] double mean() const {
    double sum = 0;
    for (const double v : arrived) sum += v;
    return sum / static_cast<double>(arrived.size());
  }
};

Weighted run_rule(const Weights& w, const Ages& ages, const Rule& rule, std::span<const double> rates,
                  int threads) {
  const int bound = rule.discards ? w.bound : ages.most;
  if (ages.law == AgeLaw::Constant && ages.most > bound) return {};  // nothing would ever pass
  Race race = w.race;
  race.way.policy.kind = model::PolicyKind::Asynchronous;
  race.way.weight = rule.weight;
  race.way.decay = w.decay;
  race.calm = std::int64_t{10} * (ages.most + 1);
  const auto stream = [&](std::uint64_t seed) -> Stream {
    const auto passing = std::make_shared<Passing>(ages, bound, seed);
    return [passing, most = ages.most](const auto& take) {
      stream_aged(
          most, [&](std::int64_t n) { return passing->age(n); }, take);
    };
  };
  Weighted out{.tuned = race_tuned(race, rates, w.seeds, stream, versions_of, threads), .arrived = {}};
  for (std::size_t i = 0; i < out.tuned.runs.size(); ++i)
    out.arrived.push_back(Passing(ages, bound, i + 1).arrived(out.tuned.runs[i].versions));
  return out;
}

void add_ages(study::Computation& out, study::ValueTable& table, study::Series& bars, const Weights& w,
              const Ages& ages, const std::string& name, double fresh, double cautious, int threads) {
  std::vector<std::string> row = {name};
  for (const Rule& rule : kRules) {
    const Weighted r = run_rule(w, ages, rule, w.rates, threads);
    if (!r.tuned.reached()) {
      row.push_back("not reached");
      continue;
    }
    add_learned(out, fmt::format("updates-{}-{}", rule.name, name), Dimension::Count, r.arrived);
    row.push_back(fmt::format("{:.0f} at {:.3g}", r.mean(), r.tuned.rate));
    add_value(out, fmt::format("slowdown-{}-{}", rule.name, name), Quantity::ratio(r.mean() / fresh),
              kLearning);
    bars.x.push_back(static_cast<double>(&rule - kRules));
    bars.y.push_back(r.mean());
  }
  const Weighted r = run_rule(w, ages, kRules[0], std::span(&cautious, 1), threads);
  if (r.tuned.reached()) {
    add_learned(out, fmt::format("updates-for-the-oldest-{}", name), Dimension::Count, r.arrived);
    row.push_back(fmt::format("{:.0f}", r.mean()));
    bars.x.push_back(static_cast<double>(std::size(kRules)));
    bars.y.push_back(r.mean());
  } else {
    row.push_back("not reached");
  }
  table.rows.push_back(std::move(row));
}

}  // namespace

Result<study::Computation> compute_age_weights(const study::Inputs& in,
                                               const study::ComputeOptions& options) {
  COX_TRY(const Weights w, read_weights(in));
  COX_TRY(const double slowdown, in.ratio("slowdown as stated", {.above = 0, .most = 1000}));
  study::Computation out;
  const int most = w.geometric.most;
  add_value(out, "rate-for-the-oldest", Quantity::ratio(1.0 / (1 + most)), kClosedForm);
  add_value(out, "printed-better", Quantity::ratio((1 + most) / slowdown), kClosedForm);
  add_value(out, "edge-of-constant-ages", Quantity::ratio(learn::stable_edge({.delay = most})), kClosedForm);
  add_value(out, "edge-of-constant-ages-inverse",
            Quantity::ratio((1 + most) * learn::stable_edge({.delay = most})), kClosedForm);

  const Weighted fresh =
      run_rule(w, {.law = AgeLaw::Fresh, .most = most}, kRules[0], w.rates, options.threads);
  if (!fresh.tuned.reached())
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "study-003",
                      .message = "no rate that is tried reaches the target without any delay",
                      .hint = "give more 'rates tried', 'most updates', or a larger 'target'",
                      .where = Where{.file = in.study().file}});
  add_learned(out, "updates-fresh", Dimension::Count, fresh.arrived);
  add_value(out, "rate-fresh", Quantity::ratio(fresh.tuned.rate), kLearning);
  const double cautious = fresh.tuned.rate / (1 + most);

  study::ValueTable table{
      .title = "Updates until the target, and the best rate", .says = {}, .columns = {"ages"}, .rows = {}};
  for (const Rule& rule : kRules) table.columns.emplace_back(rule.title);
  table.columns.emplace_back("rate for the oldest");
  std::vector<study::Series> bars;
  const std::pair<const char*, const Ages*> laws[] = {
      {"geometric", &w.geometric}, {"outliers", &w.outliers}, {"constant", &w.constant}};
  for (const auto& [name, ages] : laws) {
    bars.push_back({.name = name, .x = {}, .y = {}});
    add_ages(out, table, bars.back(), w, *ages, name, fresh.mean(), cautious, options.threads);
  }
  table.says = fmt::format(
      "Means over {} seeds, updates that are thrown away counted; rates are times the largest curvature. Fresh gradients "
      "take {:.0f}. The last column divides their rate, {:.3g}, by one more than the largest age.",
      w.seeds, fresh.mean(), fresh.tuned.rate);
  out.tables.push_back(std::move(table));
  out.picture.kind = study::Picture::Kind::Bars;
  out.picture.title = "Updates to the target by rule";
  out.picture.y_label = "updates";
  out.picture.y_is_log = true;
  for (const Rule& rule : kRules) out.picture.categories.emplace_back(rule.name);
  out.picture.categories.emplace_back("for the oldest");
  out.picture.series = std::move(bars);
  out.notes = {
      "A run is at its target from where on the loss stays below for ten times as many versions as the oldest age, and one.",
      "Ages are drawn one by one, not made by workers: an old update does not wait for others.",
      "The weight is on the step, before anything else; there is no momentum.",
      "Rates are chosen on sixteen seeds, by the worst of them, that are not among those that are counted."};
  return out;
}

}  // namespace cox::evaluate
