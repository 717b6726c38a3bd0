// SPDX-License-Identifier: Apache-2.0
// Larger batches, and the rates that rules give them: C.15.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cox/base/assert.hpp"
#include "cox/base/parallel.hpp"

#include "evaluate/learning/computations.hpp"
#include "evaluate/learning/race.hpp"

namespace cox::evaluate {
namespace {

using study::Dimension;
using study::Quantity;

/// Least squares with isotropic features and exact labels: E |w|^2 shrinks by 1 - 2 a + a^2 (1 + (d + 1) / B) in a step, so
/// that the best rate is 1 / (1 + (d + 1) / B) and what a step gains is as much: the critical batch is d + 1.
struct Batches {
  std::int64_t dimension = 1;
  std::vector<int> batches;
  double rate = 0;  ///< of the first batch
  int steps = 1;    ///< whose shrinking is averaged
  int seeds = 2;
};

/// Mean of the loss after a step over that before it, of one seed.
double shrinking(const Batches& b, int batch, double rate, std::uint64_t seed) {
  const learn::ProblemSpec spec{.kind = learn::ProblemKind::LeastSquares,
                                .dimension = b.dimension,
                                .seed = static_cast<std::int64_t>(seed)};
  auto made = learn::make_problem(spec);
  COX_ASSERT(made.has_value(), "a study's problem is in range");
  learn::Problem& problem = **made;
  std::vector<float> start(static_cast<std::size_t>(b.dimension)), x(start.size()), g(start.size());
  problem.initial(start);
  const double before = problem.score(start).loss;
  double sum = 0;
  for (int s = 0; s < b.steps; ++s) {
    problem.gradient(start, {.first = std::int64_t{s} * batch, .count = batch}, g);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = start[i] - static_cast<float>(rate) * g[i];
    sum += problem.score(x).loss / before;
  }
  return sum / b.steps;
}

std::vector<double> over_seeds(const Batches& b, int batch, double rate, int threads) {
  std::vector<double> out(static_cast<std::size_t>(b.seeds));
  parallel_for(out.size(), threads, [&](std::size_t i) { out[i] = shrinking(b, batch, rate, i + 1); });
  return out;
}

double law(const Batches& b, int batch, double rate) {
  return 1 - 2 * rate + rate * rate * (1 + static_cast<double>(b.dimension + 1) / batch);
}

void add_batch(study::Computation& out, study::ValueTable& table, std::vector<study::Series>& lines,
               const Batches& b, int batch, int threads) {
  const double over = static_cast<double>(batch) / b.batches.front();
  const double best = 1 / (1 + static_cast<double>(b.dimension + 1) / batch);
  const std::pair<const char*, double> rules[] = {
      {"linear", b.rate * over}, {"root", b.rate * std::sqrt(over)}, {"best", best}};
  std::vector<std::string> row = {fmt::format("{}", batch)};
  for (std::size_t i = 0; i < std::size(rules); ++i) {
    const auto& [rule, rate] = rules[i];
    const std::vector<double> seen = over_seeds(b, batch, rate, threads);
    const std::string name = fmt::format("loss-kept-{}-b{}", rule, batch);
    add_learned(out, name, Dimension::Ratio, seen);
    const study::Computed& kept = out.values.back();
    out.checks.push_back({.name = fmt::format("{} rate, batch {}: a step against its law", rule, batch),
                          .engine = kept.value,
                          .oracle = Quantity::ratio(law(b, batch, rate)),
                          .limit_ratio = 2 * kept.half_width_95->in_base_unit() / law(b, batch, rate)});
    row.push_back(fmt::format("{:.4g}: {}", rate, to_string(kept.value)));
    lines[i].x.push_back(batch);
    lines[i].y.push_back(kept.value.in_base_unit());
    if (i != 2) continue;
    // What a step gains is 1 / (1 + B_c / B).
    std::vector<double> critical;
    critical.reserve(seen.size());
    for (const double v : seen) critical.push_back(batch * (1 / (1 - v) - 1));
    add_learned(out, fmt::format("critical-batch-b{}", batch), Dimension::Count, critical);
    row.push_back(to_string(out.values.back().value));
  }
  table.rows.push_back(std::move(row));
}

/// The source's own rates and accuracies.
Status add_as_printed(study::Computation& out, const study::Inputs& in) {
  COX_TRY(const auto batches, in.counts("batches as printed", {.least = 1, .most = 1'000'000'000}));
  COX_TRY(const double rate, in.ratio("rate as printed", {.above = 0, .most = 100}));
  COX_TRY(const double accuracy, in.ratio("accuracy as printed", {.above = 0, .most = 1}));
  COX_TRY(const int knee, in.count("batch from which accuracy falls", {.least = 1, .most = 1'000'000'000}));
  COX_TRY(const int points, in.count("points lost for each further", {.least = 0, .most = 100}));
  for (const int b : batches) {
    const double over = static_cast<double>(b) / batches.front();
    add_value(out, fmt::format("linear-rate-b{}", b), Quantity::count(rate * over), kClosedForm);
    add_value(out, fmt::format("root-rate-b{}", b), Quantity::count(rate * std::sqrt(over)), kClosedForm);
    const double lost = std::max(0.0, (static_cast<double>(b) / knee - 1) * points) / 100;
    add_value(out, fmt::format("accuracy-by-its-law-b{}", b), Quantity::ratio(accuracy - lost), kClosedForm);
  }
  return {};
}

}  // namespace

Result<study::Computation> compute_batch_scaling(const study::Inputs& in,
                                                 const study::ComputeOptions& options) {
  Batches b;
  COX_TRY(b.dimension, in.count("dimension", {.least = 1, .most = 10'000}));
  COX_TRY(b.batches, in.counts("batches", {.least = 1, .most = 100'000}));
  COX_TRY(b.rate, in.ratio("rate", {.above = 0, .most = 10}));
  COX_TRY(b.steps, in.count("steps", {.least = 1, .most = 100'000}));
  COX_TRY(b.seeds, in.count("seeds", {.least = 2, .most = 1000}));
  double samples = 0;
  for (const int n : b.batches) samples += n;
  COX_CHECK(in.check_draws(3 * samples * b.steps * b.seeds * static_cast<double>(b.dimension),
                           "batches, steps, seeds and dimension"));
  study::Computation out;
  COX_CHECK(add_as_printed(out, in));
  study::ValueTable table{
      .title = "Loss that a step leaves",
      .says = {},
      .columns = {"batch", "linear rule", "root rule", "best rate", "critical batch, measured"},
      .rows = {}};
  std::vector<study::Series> lines = {{.name = "linear rule", .x = {}, .y = {}},
                                      {.name = "root rule", .x = {}, .y = {}},
                                      {.name = "best rate", .x = {}, .y = {}}};
  for (const int batch : b.batches) add_batch(out, table, lines, b, batch, options.threads);
  // Linear: a = a_1 B / B_1 is stable below 2 / (1 + (d + 1) / B), so up to B = 2 B_1 / a_1 - (d + 1).
  add_value(
      out, "largest-batch-of-the-linear-rule",
      Quantity::count(std::floor(2 * b.batches.front() / b.rate - static_cast<double>(b.dimension + 1))),
      kClosedForm);
  add_value(out, "critical-batch-by-law", Quantity::count(static_cast<double>(b.dimension + 1)), kClosedForm);
  table.says = fmt::format(
      "Rate, and mean loss after a step over that before it, over {} seeds of {} steps from the start; above 100 % it "
      "diverges. Both rules begin at {:g} for a batch of {}.",
      b.seeds, b.steps, b.rate, b.batches.front());
  out.tables.push_back(std::move(table));
  out.picture.title = "Loss that a step leaves, by rule";
  out.picture.x_label = "batch";
  out.picture.y_label = "loss after over before";
  out.picture.x_is_log = out.picture.y_is_log = true;
  out.picture.series = std::move(lines);
  out.notes = {
      "Least squares with isotropic Gaussian features and exact labels: the one problem here with a true linear-scaling law. "
      "It says nothing about generalisation, which a problem of this size does not have.",
      "The critical batch is where a step with the best rate gains half of what the largest batch does."};
  return out;
}

}  // namespace cox::evaluate
