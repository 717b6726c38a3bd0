// SPDX-License-Identifier: Apache-2.0
// Pipelines: the chapter's second overview example and its worked examples 2 and 3.
#include <fmt/format.h>

#include <cmath>

#include "study/compute/computations.hpp"
#include "study/runs/collective_run.hpp"
#include "study/runs/pipeline_run.hpp"

namespace cox::study {
namespace {

using model::PipelineSchedule;

constexpr Between kStages{.least = 1, .most = 256};
constexpr Between kMicroBatches{.least = 1, .most = 4096};

}  // namespace

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
  COX_TRY(const Bytes sent, in.size("activations between devices"));
  COX_TRY(const Bandwidth link, in.rate("link"));
  COX_TRY(const Bandwidth slow_link, in.rate("slow link"));
  Computation out;
  add(out, "transfer", Quantity::of(link.time_per_byte().over(sent)), kClosedForm);
  add(out, "transfer-over-the-slow-link", Quantity::of(slow_link.time_per_byte().over(sent)), kClosedForm);
  Series bars{.name = "at work", .x = {}, .y = {}};
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
