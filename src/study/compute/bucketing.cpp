// SPDX-License-Identifier: Apache-2.0
// Buckets of gradients beside the backward pass: C.10.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "study/compute/collective_run.hpp"
#include "study/compute/computations.hpp"
#include "study/compute/step_run.hpp"
#include "study/compute/training_run.hpp"

namespace cox::study {
namespace {

constexpr Between kRanks{.least = 1, .most = 4096};
constexpr Between kLayers{.least = 1, .most = 10'000};

struct Job {
  int layers = 1;
  Seconds layer{};
  Bytes per_layer{};
  int workers = 1;
  simulate::LinkCosts links;
};

/// The same as a graph: bucket by bucket, each with the time of its ring.
Result<StepRun> as_graph(const Job& job, int per_bucket) {
  StepPlan plan{.forward = Seconds{0},
                .backward = std::vector<Seconds>(static_cast<std::size_t>(job.layers), job.layer),
                .buckets = {}};
  for (int first = 0; first < job.layers; first += per_bucket) {
    const int size = std::min(per_bucket, job.layers - first);
    COX_TRY(const Seconds ring,
            idle_time(all_reduce(model::Algorithm::Ring, job.workers, job.per_layer * size), job.links));
    plan.buckets.push_back({.ready_after = first + size, .all_reduce = ring});
  }
  return run_step(plan);
}

/// Backward and all-reduces by the training engine, held against the graph.
Result<Seconds> step_of(Computation& out, const std::string& name, const Job& job, int per_bucket) {
  const std::vector<model::Layer> layers(static_cast<std::size_t>(job.layers),
                                         {.backward = job.layer, .gradients = job.per_layer});
  COX_TRY(const Seconds time,
          training_time(data_parallel_job(job.workers, job.links, layers, job.per_layer * per_bucket)));
  COX_TRY(const StepRun graph, as_graph(job, per_bucket));
  // Pieces that differ by a byte let ranks leave a collective apart, which the graph does not see.
  constexpr double kByteApart = 1e-6;
  out.checks.push_back({.name = name,
                        .engine = Quantity::of(time),
                        .oracle = Quantity::of(graph.step),
                        .limit_ratio = kByteApart});
  return time;
}

/// Steps over the sweep; `suffix` tells the cases apart in the names.
Result<Series> sweep_buckets(Computation& out, const Job& job, const std::vector<int>& sweep,
                             const std::string& suffix) {
  Series curve;
  int best = sweep.front();
  Seconds least{};
  Seconds whole{};
  for (const int b : sweep) {
    const std::string name = fmt::format("step-b{}{}", b, suffix);
    COX_TRY(const Seconds step, step_of(out, name, job, b));
    add(out, name, Quantity::of(step), kTraining);
    add(out, fmt::format("exposed-b{}{}", b, suffix), Quantity::of(step - job.layers * job.layer), kTraining);
    if (curve.x.empty() || step < least) {
      least = step;
      best = b;
    }
    if (b >= job.layers) whole = step;
    curve.x.push_back(b);
    curve.y.push_back(step.count() * 1e3);
    curve.of.push_back(name);
  }
  add(out, fmt::format("best-bucket{}", suffix), Quantity::count(best), kTraining);
  if (whole > Seconds{0})
    add(out, fmt::format("gain-over-one-bucket{}", suffix), Quantity::ratio(1 - least / whole), kTraining);
  return curve;
}

}  // namespace

Result<Computation> compute_bucketing(const Inputs& in, const ComputeOptions& /*options*/) {
  COX_TRY(const int layers, in.count("layers", kLayers));
  COX_TRY(const Seconds layer, in.time("backward per layer"));
  COX_TRY(const int workers, in.count("workers", kRanks));
  COX_TRY(const std::vector<int> sweep, in.counts("layers per bucket", kLayers));
  COX_TRY(const auto gradients, in.list("gradients", Dimension::Size));
  COX_TRY(const auto bandwidths, in.list("bandwidth", Dimension::Rate));
  COX_TRY(const Seconds latency, in.time("latency"));
  COX_TRY(const Bytes fixed, in.size("fixed bucket"));
  Computation out;
  out.picture = {.title = "Backward pass with bucketed all-reduce beside it",
                 .x_label = "layers per bucket",
                 .y_label = "ms",
                 .x_is_log = true};
  for (std::size_t c = 0; c < std::min(gradients.size(), bandwidths.size()); ++c) {
    const double total = gradients[c].value.in_base_unit();
    const Bandwidth bandwidth = Bandwidth::bytes_per_s(bandwidths[c].value.in_base_unit());
    const Job job{.layers = layers,
                  .layer = layer,
                  .per_layer = Bytes{std::max<std::int64_t>(1, std::llround(std::floor(total / layers)))},
                  .workers = workers,
                  .links = uniform_links(latency, bandwidth)};
    const std::string suffix = c == 0 ? "" : fmt::format("-{}", gradients[c].text);
    COX_TRY(Series curve, sweep_buckets(out, job, sweep, suffix));
    curve.name = fmt::format("{} at {}", gradients[c].text, bandwidths[c].text);
    out.picture.series.push_back(std::move(curve));
  }
  const double buckets = gradients.front().value.in_base_unit() / static_cast<double>(fixed.count());
  COX_TRY(const Seconds latencies, idle_time(all_reduce(model::Algorithm::Ring, workers, Bytes{0}),
                                             uniform_links(latency, Bandwidth::gbyte_per_s(1))));
  add(out, "fixed-buckets", Quantity::count(buckets), kClosedForm);
  add(out, "latency-of-fixed-buckets", Quantity::of(buckets * latencies), kMaxPlus);
  add(out, "backward", Quantity::of(layers * layer), kClosedForm);
  out.notes = {
      "Gradients are spread evenly over the layers; one all-reduce at a time, in the order of backward.",
      "No step can be shorter than its backward pass."};
  return out;
}

}  // namespace cox::study
