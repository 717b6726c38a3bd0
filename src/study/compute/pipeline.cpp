// SPDX-License-Identifier: Apache-2.0
// Pipelines: C.5, the chapter's second overview example and its worked examples 2 and 3.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "study/compute/collective_run.hpp"
#include "study/compute/computations.hpp"
#include "study/compute/pipeline_run.hpp"
#include "study/compute/training_run.hpp"

namespace cox::study {
namespace {

using model::PipelineSchedule;

constexpr Between kStages{.least = 1, .most = 256};
constexpr Between kMicroBatches{.least = 1, .most = 4096};

/// (p - 1) / (m + p - 1): the oracle of a balanced pipeline.
double balanced_bubble(int stages, int micro_batches) {
  return static_cast<double>(stages - 1) / (micro_batches + stages - 1);
}

/// The whole step by the training engine is as long as the graph of the same orders.
Status check_training(Computation& out, const PipelinePlan& plan, const PipelineRun& run) {
  COX_TRY(const Seconds time, training_time(pipeline_job(plan.schedule, plan.stages, plan.micro_batches,
                                                         plan.forward.front(), plan.backward.front())));
  out.checks.push_back({.name = fmt::format("training step of the pipeline, m = {}", plan.micro_batches),
                        .engine = Quantity::of(time),
                        .oracle = Quantity::of(run.makespan)});
  return {};
}

void check_bubble(Computation& out, const PipelineRun& run, int stages, int micro_batches) {
  out.checks.push_back({.name = fmt::format("bubble, p = {}, m = {}", stages, micro_batches),
                        .engine = Quantity::ratio(run.bubble_ratio),
                        .oracle = Quantity::ratio(balanced_bubble(stages, micro_batches))});
}

/// Smallest number of micro-batches whose bubble is at most `most` (4096 where none is), by bisection over
/// runs: more of them never make it larger.
int micro_batches_for(double most, int stages) {
  constexpr double kRounding = 1e-9;
  int low = 0;
  int high = static_cast<int>(kMicroBatches.most);
  while (high - low > 1) {
    const int m = low + (high - low) / 2;
    const PipelinePlan plan = equal_stages(PipelineSchedule::GPipe, stages, m, Seconds{1}, Seconds{2});
    (run_pipeline(plan).bubble_ratio > most + kRounding ? low : high) = m;
  }
  return high;
}

}  // namespace

Result<Computation> compute_pipeline(const Inputs& in, const ComputeOptions& /*options*/) {
  COX_TRY(const int stages, in.count("stages", kStages));
  COX_TRY(const int layers, in.count("layers"));
  COX_TRY(const int hidden, in.count("hidden"));
  COX_TRY(const int tokens, in.count("sequence"));
  COX_TRY(const double factor, in.ratio("activation factor"));
  COX_TRY(const Bytes element, in.size("bytes per element"));
  COX_TRY(const int samples, in.count("samples per micro-batch"));
  COX_TRY(const std::vector<int> sweep, in.counts("micro-batches", kMicroBatches));
  COX_TRY(const Seconds forward, in.time("forward"));
  COX_TRY(const Seconds backward, in.time("backward"));
  Computation out;
  const double per_batch =
      factor * static_cast<double>(element.count()) * hidden * tokens * samples * layers / stages;
  Series gpipe{.name = "bubble", .x = {}, .y = {}};
  for (const int m : sweep) {
    const PipelinePlan gpipe_plan = equal_stages(PipelineSchedule::GPipe, stages, m, forward, backward);
    const PipelinePlan one_plan =
        equal_stages(PipelineSchedule::OneForwardOneBackward, stages, m, forward, backward);
    const PipelineRun all = run_pipeline(gpipe_plan);
    const PipelineRun one = run_pipeline(one_plan);
    COX_CHECK(check_training(out, gpipe_plan, all));
    COX_CHECK(check_training(out, one_plan, one));
    check_bubble(out, all, stages, m);
    out.checks.push_back({.name = fmt::format("1F1B has the bubble of GPipe, m = {}", m),
                          .engine = Quantity::of(one.makespan),
                          .oracle = Quantity::of(all.makespan)});
    add(out, fmt::format("bubble-m{}", m), Quantity::ratio(all.bubble_ratio), kReplay);
    add(out, fmt::format("utilisation-m{}", m), Quantity::ratio(1 - all.bubble_ratio), kReplay);
    add(out, fmt::format("activations-gpipe-m{}", m),
        Quantity(Dimension::Size, per_batch * all.peak_live.front()), kReplay);
    add(out, fmt::format("activations-1f1b-m{}", m),
        Quantity(Dimension::Size, per_batch * one.peak_live.front()), kReplay);
    gpipe.x.push_back(m);
    gpipe.y.push_back(100 * all.bubble_ratio);
    gpipe.of.push_back(fmt::format("bubble-m{}", m));
  }
  add(out, "bubble-m2p",
      Quantity::ratio(
          run_pipeline(equal_stages(PipelineSchedule::GPipe, stages, 2 * stages, forward, backward))
              .bubble_ratio),
      kReplay);
  add(out, "micro-batches-for-5-percent", Quantity::count(micro_batches_for(0.05, stages)), kReplay);
  add(out, "micro-batches-for-90-percent-use", Quantity::count(micro_batches_for(0.10, stages)), kReplay);
  PipelinePlan uneven = equal_stages(PipelineSchedule::GPipe, stages, 2 * stages, forward, backward);
  uneven.forward.back() *= 1.5;
  uneven.backward.back() *= 1.5;
  add(out, "bubble-m2p-one-stage-slow-gpipe", Quantity::ratio(run_pipeline(uneven).bubble_ratio), kReplay);
  uneven.schedule = PipelineSchedule::OneForwardOneBackward;
  add(out, "bubble-m2p-one-stage-slow-1f1b", Quantity::ratio(run_pipeline(uneven).bubble_ratio), kReplay);
  out.notes = {"Transfers between stages cost nothing here; forward to backward is 1 to 2.",
               "One stage slow: the last takes 1.5 times as long.",
               "1F1B holds min(p - s, m) micro-batches on stage s, GPipe all m; their bubbles are equal."};
  out.picture = {.title = fmt::format("Bubble of a pipeline of {} stages", stages),
                 .x_label = "micro-batches",
                 .y_label = "idle share of device time, %",
                 .x_is_log = false,
                 .series = {std::move(gpipe)}};
  return out;
}

Result<Computation> compute_pipeline_bubble(const Inputs& in, const ComputeOptions& /*options*/) {
  COX_TRY(const int stages, in.count("stages", kStages));
  COX_TRY(const std::vector<int> sweep, in.counts("micro-batches", kMicroBatches));
  Computation out;
  Series curve{.name = "bubble", .x = {}, .y = {}};
  for (const int m : sweep) {
    const PipelineRun run =
        run_pipeline(equal_stages(PipelineSchedule::GPipe, stages, m, Seconds{1}, Seconds{2}));
    check_bubble(out, run, stages, m);
    add(out, fmt::format("bubble-m{}", m), Quantity::ratio(run.bubble_ratio), kReplay);
    curve.x.push_back(m);
    curve.y.push_back(100 * run.bubble_ratio);
    curve.of.push_back(fmt::format("bubble-m{}", m));
  }
  out.picture = {.title = fmt::format("Bubble of a pipeline of {} stages", stages),
                 .x_label = "micro-batches",
                 .y_label = "idle share of device time, %",
                 .series = {std::move(curve)}};
  return out;
}

Result<Computation> compute_layer_split(const Inputs& in, const ComputeOptions& /*options*/) {
  COX_TRY(const int stages, in.count("devices", kStages));
  COX_TRY(const Seconds forward, in.time("forward per device"));
  COX_TRY(const Seconds backward, in.time("backward per device"));
  COX_TRY(const int many, in.count("micro-batches", kMicroBatches));
  COX_TRY(const int batch, in.count("batch"));
  COX_TRY(const int sequence, in.count("sequence"));
  COX_TRY(const int hidden, in.count("hidden"));
  COX_TRY(const Bytes element, in.size("bytes per element"));
  COX_TRY(const Bandwidth link, in.rate("link"));
  COX_TRY(const int parameters, in.count("parameters", {.least = 1, .most = 1'000'000'000}));
  Computation out;
  const PipelineRun one = run_pipeline(equal_stages(PipelineSchedule::GPipe, stages, 1, forward, backward));
  const Seconds alone = stages * (forward + backward);
  const PipelineRun filled =
      run_pipeline(equal_stages(PipelineSchedule::GPipe, stages, many, forward / many, backward / many));
  const Bytes activations = element * (std::int64_t{batch} * sequence * hidden);
  check_bubble(out, filled, stages, many);
  add(out, "step", Quantity::of(one.makespan), kReplay);
  add(out, "speedup", Quantity::ratio(alone / one.makespan), kReplay);
  add(out, "idle", Quantity::ratio(one.bubble_ratio), kReplay);
  add(out, "speedup-with-micro-batches", Quantity::ratio(alone / filled.makespan), kReplay);
  add(out, "activations", Quantity::of(activations), kClosedForm);
  add(out, "transfer", Quantity::of(link.time_per_byte().over(activations)), kClosedForm);
  add(out, "weights", Quantity::of(element * parameters), kClosedForm);
  add(out, "optimizer-state", Quantity::of(2 * (element * parameters)), kClosedForm);
  Series curve{.name = "speedup", .x = {}, .y = {}};
  for (int m = 1; m <= 2 * many; m *= 2) {
    const PipelineRun run =
        run_pipeline(equal_stages(PipelineSchedule::GPipe, stages, m, forward / m, backward / m));
    curve.x.push_back(m);
    curve.y.push_back(alone / run.makespan);
  }
  out.picture = {.title = fmt::format("Speedup of {} devices that share the layers", stages),
                 .x_label = "micro-batches that the batch is cut into",
                 .y_label = "speedup over one device",
                 .series = {std::move(curve)}};
  return out;
}

Result<Computation> compute_pipeline_timeline(const Inputs& in, const ComputeOptions& /*options*/) {
  COX_TRY(const int stages, in.count("stages", kStages));
  COX_TRY(const Seconds stage, in.time("stage"));
  COX_TRY(const std::vector<int> sweep, in.counts("micro-batches", kMicroBatches));
  COX_TRY(const Bytes activations, in.size("activations per micro-batch"));
  COX_TRY(const int layers, in.count("layers", {.least = 1, .most = 4096}));
  Computation out;
  Series bars{.name = "idle", .x = {}, .y = {}};
  for (const int m : sweep) {
    const PipelineRun run = run_pipeline(equal_stages(PipelineSchedule::GPipe, stages, m, stage, Seconds{0}));
    check_bubble(out, run, stages, m);
    add(out, fmt::format("makespan-m{}", m), Quantity::of(run.makespan), kReplay);
    add(out, fmt::format("some-device-idle-m{}", m), Quantity::ratio(run.any_idle_ratio), kReplay);
    add(out, fmt::format("bubble-m{}", m), Quantity::ratio(run.bubble_ratio), kReplay);
    add(out, fmt::format("efficiency-m{}", m), Quantity::ratio(1 - run.bubble_ratio), kReplay);
    add(out, fmt::format("activations-m{}", m), Quantity::of(activations * run.peak_live.front()), kReplay);
    bars.x.push_back(m);
    bars.y.push_back(100 * (1 - run.bubble_ratio));
    bars.of.push_back(fmt::format("efficiency-m{}", m));
  }
  const PipelineRun finer =
      run_pipeline(equal_stages(PipelineSchedule::GPipe, 2 * stages, sweep.front(), stage / 2, Seconds{0}));
  add(out, "makespan-twice-the-stages", Quantity::of(finer.makespan), kReplay);
  add(out, "ramp-twice-the-stages", Quantity::of(stage / 2 * (2 * stages - 1)), kClosedForm);
  add(out, "bubble-twice-the-stages", Quantity::ratio(finer.bubble_ratio), kReplay);
  add(out, "activations-checkpointed",
      Quantity(Dimension::Size, static_cast<double>(activations.count()) * sweep.back() /
                                    std::sqrt(static_cast<double>(layers))),
      kClosedForm);
  out.notes = {
      "Forward only, as the source counts it.",
      "Checkpointed: sqrt(layers) of the layers are kept, for the largest number of micro-batches; what is "
      "recomputed while going back is not counted."};
  out.picture = {.title = fmt::format("Share of device time at work, {} stages", stages),
                 .x_label = "micro-batches",
                 .y_label = "%",
                 .series = {std::move(bars)}};
  return out;
}

}  // namespace cox::study
