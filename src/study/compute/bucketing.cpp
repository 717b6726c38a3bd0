// SPDX-License-Identifier: Apache-2.0
// Buckets of gradients beside the backward pass: C.10.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "cox/base/number_text.hpp"

#include "study/compute/computations.hpp"
#include "study/runs/collective_run.hpp"
#include "study/runs/step_run.hpp"
#include "study/runs/training_run.hpp"

namespace cox::study {
namespace {

constexpr Between kRanks{.least = 1, .most = 4096};
constexpr Between kLayers{.least = 1, .most = 10'000};

/// Streams and how fast the backward pass is beside one.
struct Overlap {
  int streams = 1;
  double efficiency = 1;
};

struct Job {
  int layers = 1;
  Seconds layer{};
  Bytes per_layer{};
  int workers = 1;
  Seconds latency{};
  Bandwidth bandwidth{};

  [[nodiscard]] Seconds backward() const { return layers * layer; }
};

/// What a sweep over sizes of buckets gives.
struct Sweep {
  int best = 0;  ///< layers per bucket
  Seconds least{};
  double hidden = 0;               ///< share of the communication that the best bucket hides
  std::optional<Seconds> whole{};  ///< with one bucket of all layers, where the sweep has it
  Series steps{};
  Series hidden_shares{};
};

/// Its buckets, each with the time of its ring for every number of streams under way: so many share the bandwidth.
Result<SharedStepPlan> shared_plan(const Job& job, Overlap overlap, int per_bucket) {
  SharedStepPlan plan{.backward = std::vector<Seconds>(static_cast<std::size_t>(job.layers), job.layer),
                      .buckets = {},
                      .streams = overlap.streams,
                      .overlap_efficiency = overlap.efficiency};
  std::vector<Seconds> full;  // of a bucket with as many layers as all but the last have
  for (int first = 0; first < job.layers; first += per_bucket) {
    const int size = std::min(per_bucket, job.layers - first);
    if (full.empty() || size != per_bucket) {
      full.clear();
      for (int n = 1; n <= overlap.streams; ++n) {
        COX_TRY(const Seconds ring,
                idle_time(all_reduce(model::Algorithm::Ring, job.workers, job.per_layer * size),
                          uniform_links(job.latency, job.bandwidth * (1.0 / n))));
        full.push_back(ring);
      }
    }
    plan.buckets.push_back({.ready_after = first + size, .all_reduce = full});
  }
  return plan;
}

struct Step {
  Seconds time{};
  Seconds all_reduces{};  ///< one after the other, nothing beside them
};

/// Backward and all-reduces: one stream by the training engine, held against the fluid model, several by that.
Result<Step> step_of(Computation& out, const std::string& name, const Job& job, Overlap overlap,
                     int per_bucket) {
  COX_TRY(const SharedStepPlan plan, shared_plan(job, overlap, per_bucket));
  Step step{.time = run_shared_step(plan).step};
  for (const SharedBucket& b : plan.buckets) step.all_reduces += b.all_reduce.front();
  if (overlap.streams > 1) return step;
  const std::vector<model::Layer> layers(static_cast<std::size_t>(job.layers),
                                         {.backward = job.layer, .gradients = job.per_layer});
  model::Scenario scenario = data_parallel_job(job.workers, uniform_links(job.latency, job.bandwidth), layers,
                                               job.per_layer * per_bucket);
  scenario.job.as<model::TrainingJob>().overlap_slowdown = 1 / overlap.efficiency - 1;
  COX_TRY(const Seconds time, training_time(scenario));
  // Pieces that differ by a byte let ranks leave a collective apart, which the fluid model does not see.
  constexpr double kByteApart = 1e-6;
  out.checks.push_back({.name = name,
                        .engine = Quantity::of(time),
                        .oracle = Quantity::of(step.time),
                        .limit_ratio = kByteApart});
  step.time = time;
  return step;
}

/// Steps over the sweep; `suffix` tells the cases apart in the names.
Result<Sweep> sweep_buckets(Computation& out, const Job& job, Overlap overlap, const std::vector<int>& sizes,
                            const std::string& suffix) {
  Sweep sweep;
  for (const int b : sizes) {
    const std::string name = fmt::format("step-b{}{}", b, suffix);
    COX_TRY(const Step step, step_of(out, name, job, overlap, b));
    const double share = 1 - (step.time - job.backward()) / step.all_reduces;
    constexpr double kRounding = 1e-9;  // of a difference of times
    const double hidden = std::abs(share) < kRounding ? 0 : share;
    if (sweep.best == 0 || step.time < sweep.least) {
      sweep.least = step.time;
      sweep.best = b;
      sweep.hidden = hidden;
    }
    if (b >= job.layers) sweep.whole = step.time;
    sweep.steps.x.push_back(b);
    sweep.steps.y.push_back(step.time.count() * 1e3);
    sweep.steps.of.push_back(name);
    sweep.hidden_shares.x.push_back(b);
    sweep.hidden_shares.y.push_back(100 * hidden);
  }
  return sweep;
}

/// The values of a sweep in full.
void add_sweep(Computation& out, const Job& job, const Sweep& sweep, const std::string& suffix) {
  for (std::size_t i = 0; i < sweep.steps.x.size(); ++i) {
    const auto b = static_cast<int>(sweep.steps.x[i]);
    const Seconds step{sweep.steps.y[i] / 1e3};
    add(out, sweep.steps.of[i], Quantity::of(step), kTraining);
    add(out, fmt::format("exposed-b{}{}", b, suffix), Quantity::of(step - job.backward()), kTraining);
    add(out, fmt::format("hidden-b{}{}", b, suffix), Quantity::ratio(sweep.hidden_shares.y[i] / 100),
        kTraining);
  }
  add(out, "best-bucket" + suffix, Quantity::count(sweep.best), kTraining);
  add(out, "best-step" + suffix, Quantity::of(sweep.least), kTraining);
  if (sweep.whole)
    add(out, "gain-over-one-bucket" + suffix, Quantity::ratio(1 - sweep.least / *sweep.whole), kTraining);
}

/// Every number of streams with every efficiency, in the order of the study's file.
Result<std::vector<Overlap>> read_overlaps(const Inputs& in) {
  COX_TRY(const std::vector<int> streams, in.counts("communication streams", {.least = 1, .most = 64}));
  COX_TRY(const std::vector<double> efficiencies, in.ratios("overlap efficiency", RatioBetween{}));
  std::vector<Overlap> out;
  for (const int s : streams)
    for (const double e : efficiencies) out.push_back({.streams = s, .efficiency = e});
  return out;
}

/// A case of the study: so many gradients on such links.
struct Case {
  Job job;
  std::string name;
  std::string suffix;  ///< of its values
};

/// The case with every overlap; `base` is with the first. A sentence about the rows.
Result<std::string> add_overlaps(Computation& out, ValueTable& table, const Case& c, const Sweep& base,
                                 const std::vector<int>& sizes, const std::vector<Overlap>& overlaps) {
  const Sweep* least = &base;
  const Sweep* most = &base;
  std::vector<Sweep> sweeps(overlaps.size(), base);
  for (std::size_t i = 0; i < overlaps.size(); ++i) {
    const Overlap o = overlaps[i];
    if (i > 0) {
      const std::string suffix =
          fmt::format("{}-streams{}-{}", c.suffix, o.streams, percent_in_name(o.efficiency));
      COX_TRY(sweeps[i], sweep_buckets(out, c.job, o, sizes, suffix));
      const std::string_view engine = o.streams > 1 ? kFluid : kTraining;
      add(out, "best-bucket" + suffix, Quantity::count(sweeps[i].best), engine);
      add(out, "best-step" + suffix, Quantity::of(sweeps[i].least), engine);
      add(out, "best-hidden" + suffix, Quantity::ratio(sweeps[i].hidden), engine);
    }
    if (sweeps[i].least < least->least) least = &sweeps[i];
    if (sweeps[i].least > most->least) most = &sweeps[i];
    table.rows.push_back({c.name, fmt::format("{}", o.streams), percent(o.efficiency, PartDigits::AsSet),
                          fmt::format("{}", sweeps[i].best), cell_of(sweeps[i].least),
                          cell_of(sweeps[i].least - c.job.backward()), cell_of_ratio(sweeps[i].hidden)});
  }
  return fmt::format("{}: the best step is between {} ({} layers per bucket) and {} ({}).", c.name,
                     cell_of(least->least), least->best, cell_of(most->least), most->best);
}

/// What is exposed where each layer's all-reduce takes longer than its backward pass: it adds up over the layers.
Seconds exposed_of_claim(int layers, Seconds layer, Seconds all_reduce) {
  StepPlan plan{.forward = Seconds{0},
                .backward = std::vector<Seconds>(static_cast<std::size_t>(layers), layer),
                .buckets = {}};
  for (int i = 1; i <= layers; ++i) plan.buckets.push_back({.ready_after = i, .all_reduce = all_reduce});
  return run_step(plan).exposed;
}

}  // namespace

Result<Computation> compute_bucketing(const Inputs& in, const ComputeOptions& /*options*/) {
  COX_TRY(const int layers, in.count("layers", kLayers));
  COX_TRY(const Seconds layer, in.time("backward per layer"));
  COX_TRY(const int workers, in.count("workers", kRanks));
  COX_TRY(const std::vector<int> sizes, in.counts("layers per bucket", kLayers));
  COX_TRY(const auto gradients, in.list("gradients", Dimension::Size));
  COX_TRY(const std::vector<Bandwidth> bandwidths, in.rates("bandwidth"));
  COX_TRY(const Seconds latency, in.time("latency"));
  COX_TRY(const Bytes fixed, in.size("fixed bucket"));
  COX_TRY(const Bytes claimed, in.size("gradients of the claim"));
  COX_TRY(const Seconds claimed_latency, in.time("latency of the claim"));
  COX_TRY(const std::vector<Overlap> overlaps, read_overlaps(in));
  COX_TRY(const Seconds short_layer, in.time("backward per layer of the claim"));
  COX_TRY(const Seconds long_message, in.time("all-reduce per layer of the claim"));
  Computation out;
  out.picture = {.title = "Backward pass with bucketed all-reduce beside it",
                 .x_label = "layers per bucket",
                 .y_label = "ms",
                 .x_is_log = true};
  Picture hidden{.title = "Share of the communication that the backward pass hides",
                 .x_label = "layers per bucket",
                 .y_label = "%",
                 .x_is_log = true};
  ValueTable table{
      .title = "Streams and the price of overlap",
      .says = {},
      .columns = {"case", "streams", "overlap efficiency", "best bucket", "step", "exposed", "hidden"},
      .rows = {}};
  table.says =
      "Beside a bucket under way the backward pass runs at the share of its speed that is named; streams that are under "
      "way together share the bandwidth. The best of the swept sizes of each.";
  for (std::size_t c = 0; c < std::min(gradients.size(), bandwidths.size()); ++c) {
    const double total = gradients[c].value.in_base_unit();
    const Case one{
        .job = {.layers = layers,
                .layer = layer,
                .per_layer = Bytes{std::max<std::int64_t>(1, std::llround(std::floor(total / layers)))},
                .workers = workers,
                .latency = latency,
                .bandwidth = bandwidths[c]},
        .name = fmt::format("{} at {}", gradients[c].text, to_string(Quantity::of(bandwidths[c]))),
        .suffix = c == 0 ? "" : fmt::format("-{}", gradients[c].text)};
    COX_TRY(Sweep base, sweep_buckets(out, one.job, overlaps.front(), sizes, one.suffix));
    add_sweep(out, one.job, base, one.suffix);
    COX_TRY(const std::string sentence, add_overlaps(out, table, one, base, sizes, overlaps));
    table.says += (c == 0 ? "\n\n- " : "\n- ") + sentence;
    base.steps.name = base.hidden_shares.name = one.name;
    out.picture.series.push_back(std::move(base.steps));
    hidden.series.push_back(std::move(base.hidden_shares));
  }
  out.picture.below.push_back(std::move(hidden));
  out.tables.push_back(std::move(table));
  const double buckets = claimed / fixed;
  COX_TRY(const Seconds latencies, idle_time(all_reduce(model::Algorithm::Ring, workers, Bytes{0}),
                                             uniform_links(claimed_latency, Bandwidth::gbyte_per_s(1))));
  add(out, "fixed-buckets", Quantity::count(buckets), kClosedForm);
  add(out, "latency-of-fixed-buckets", Quantity::of(buckets * latencies), kMaxPlus);
  COX_TRY(const Seconds stated, in.time("latency of a bucket"));
  add(out, "latency-of-fixed-buckets-as-stated", Quantity::of(buckets * stated), kClosedForm);
  add(out, "backward", Quantity::of(layers * layer), kClosedForm);
  add(out, "exposed-where-messages-are-longer",
      Quantity::of(exposed_of_claim(layers, short_layer, long_message)), kReplay);
  out.notes = {
      "Gradients are spread evenly over the layers; buckets are sent in the order of backward.",
      "No step can be shorter than its backward pass. Hidden is what of the all-reduces' time is not exposed; it "
      "is negative where overlap costs more than it hides."};
  return out;
}

}  // namespace cox::study
