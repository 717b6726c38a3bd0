// SPDX-License-Identifier: Apache-2.0
// How work is split: efficiency, speed-up, pipelines, tensors, sharded state.
#include <algorithm>
#include <cmath>

#include "cox/model/collective.hpp"

#include "evaluate/claim/formula.hpp"

namespace cox::evaluate {
namespace {

using study::Dimension;
using study::Quantity;
using Readings = std::vector<ClaimReading>;

constexpr std::string_view kMember =
    "worker gpu rank node device machine process processes member way n times";
constexpr Needed kWorkers{.name = "workers", .domain = Domain::Whole, .words = kMember};
constexpr Needed kCompute{.name = "compute",
                          .dimension = Dimension::Time,
                          .words = "compute computes computation computing work forward backward"};
constexpr Needed kCommunication{
    .name = "communication",
    .dimension = Dimension::Time,
    .words = "communication comm communicating allreduce collective synchronisation exchange"};
constexpr Needed kStages{.name = "stages", .domain = Domain::Whole, .words = "stage p device gpu deep layer"};
constexpr Needed kMicroBatches{
    .name = "micro-batches", .domain = Domain::Whole, .words = "microbatch microbatches m"};
constexpr Needed kChunks{.name = "chunks per device",
                         .domain = Domain::Whole,
                         .words = "chunk chunks v interleaved interleave",
                         .otherwise = 1};
constexpr Needed kParameters{.name = "parameters", .words = "parameter param weight model element value"};

double ratio_of(Seconds a, Seconds b) {
  return a / b;
}

Readings step_efficiency(const ClaimValues& v) {
  const Seconds c = v.time("compute");
  return {reading("compute over compute and communication",
                  Quantity::ratio(ratio_of(c, c + v.time("communication"))))};
}

Readings communication_share(const ClaimValues& v) {
  const Seconds c = v.time("compute");
  const Seconds m = v.time("communication");
  return {reading("of the step", Quantity::ratio(ratio_of(m, c + m))),
          reading("of the compute time", Quantity::ratio(ratio_of(m, c)))};
}

Readings split_speedup(const ClaimValues& v) {
  const Seconds c = v.time("compute");
  const Seconds m = v.time("communication");
  const Seconds step = c / v.number("workers") + m;
  return {reading("against one worker, which does not communicate", Quantity::ratio(ratio_of(c, step))),
          reading("against one worker that communicates as long", Quantity::ratio(ratio_of(c + m, step)))};
}

Readings more_workers(const ClaimValues& v) {
  const double c = v.number("compute over communication");
  const double k = v.number("times as many");
  return {reading("communication stays as it is", Quantity::ratio(k * (c + 1) / (c + k)))};
}

Readings amdahl(const ClaimValues& v) {
  const double s = v.number("serial part");
  return {reading("the serial part gains nothing", Quantity::ratio(1 / (s + (1 - s) / v.number("workers"))))};
}

Readings part_faster(const ClaimValues& v) {
  const double share = v.number("part");
  return {reading("the rest of the step stays as it is",
                  Quantity::ratio(1 / (1 - share + share / v.number("factor"))))};
}

Readings efficiency_of_speedup(const ClaimValues& v) {
  const double more = v.number("workers") / v.number("workers before");
  return {reading("speed-up over how many times the workers", Quantity::ratio(v.number("speed-up") / more))};
}

Readings bubble(const ClaimValues& v) {
  const double p = v.number("stages");
  const double m = v.number("micro-batches");
  const double chunks = v.number("chunks per device");
  const double idle = p - 1;
  const double slots = chunks * m + idle;
  return {reading("idle share of the devices' time", Quantity::ratio(idle / slots)),
          reading("idle time over useful time", Quantity::ratio(idle / (chunks * m))),
          reading("share of the time in which some device is idle",
                  Quantity::ratio(std::min(1.0, 2 * idle / slots)))};
}

Readings pipeline_use(const ClaimValues& v) {
  const double m = v.number("micro-batches");
  return {reading("busy share of the devices' time", Quantity::ratio(m / (m + v.number("stages") - 1)))};
}

Readings pipeline_speedup(const ClaimValues& v) {
  const double m = v.number("micro-batches");
  const double p = v.number("stages");
  return {reading("against one device", Quantity::ratio(p * m / (m + p - 1)))};
}

Readings pipeline_time(const ClaimValues& v) {
  const double slots = v.number("micro-batches") + v.number("stages") - 1;
  return {reading("one pass, forward or backward", Quantity::of(slots * v.time("stage time"))),
          reading("forward and a backward pass as long", Quantity::of(2 * slots * v.time("stage time")))};
}

Readings micro_batches_for(const ClaimValues& v) {
  const double u = v.number("utilisation");
  if (u >= 1) return {};
  // Room for the last bits: 0.9 x 7 / 0.1 is 63.
  return {
      reading("the least number", Quantity::count(std::ceil(u * (v.number("stages") - 1) / (1 - u) - 1e-9)))};
}

Readings tensor_bytes(const ClaimValues& v) {
  const double buffer = v.number("batch") * v.number("sequence") * v.number("hidden") *
                        static_cast<double>(v.size("element").count());
  const double sent = model::busbw_factor(model::Collective::AllReduce, v.whole("ways")) * buffer;
  return {reading("sent by one rank: four all-reduces, forward and backward",
                  Quantity(Dimension::Size, 4 * sent)),
          reading("sent by one rank: two all-reduces, forward only", Quantity(Dimension::Size, 2 * sent)),
          reading("the buffers of four all-reduces", Quantity(Dimension::Size, 4 * buffer)),
          reading("the buffer of one", Quantity(Dimension::Size, buffer))};
}

Readings split_state(const ClaimValues& v) {
  return {
      reading("an equal part for each",
              Quantity(Dimension::Size, static_cast<double>(v.size("state").count()) / v.number("workers")))};
}

/// Bytes of a parameter with Adam in mixed precision: weights 2, gradient 2, and 12 of the optimizer's.
constexpr double kWeights = 2;
constexpr double kGradients = 2;
constexpr double kOptimizer = 12;

Readings sharded_state(const ClaimValues& v) {
  const double p = v.number("parameters");
  const double n = v.number("workers");
  const auto bytes = [&](double whole, double split) {
    return Quantity(Dimension::Size, p * (whole + split / n));
  };
  return {reading("weights, gradients and optimizer split, 16 P / n",
                  bytes(0, kWeights + kGradients + kOptimizer)),
          reading("gradients and optimizer split, 2 P + 14 P / n", bytes(kWeights, kGradients + kOptimizer)),
          reading("the optimizer split, 4 P + 12 P / n", bytes(kWeights + kGradients, kOptimizer)),
          reading("weights alone split, 2 P / n", bytes(0, kWeights))};
}

Readings parameter_bytes(const ClaimValues& v) {
  const double p = v.number("parameters");
  const auto bytes = [&](double each) { return Quantity(Dimension::Size, p * each); };
  return {reading("4 bytes each, as FP32", bytes(4)), reading("2 bytes each, as FP16 or BF16", bytes(2)),
          reading("8 bytes each, as Adam's two moments in FP32", bytes(8)),
          reading("16 bytes each, as Adam in mixed precision with weights and gradients", bytes(16)),
          reading("1 byte each, as FP8 or INT8", bytes(1))};
}

const std::array kFormulas = {
    Formula{.name = "pipeline bubble",
            .equation = "(p - 1) / (v m + p - 1)",
            .source = "Huang 2019 (GPipe), Narayanan 2021 (interleaved)",
            .names = {"bubble idle"},
            .needs = {kStages, kMicroBatches, kChunks},
            .gives = Dimension::Ratio,
            .result = "bubble idle idles",
            .compute = bubble},
    Formula{.name = "pipeline, micro-batches for a utilisation",
            .equation = "m >= u (p - 1) / (1 - u)",
            .source = "Huang 2019 (GPipe)",
            .names = {"microbatch microbatches", "pipeline stage", "needs need for reach reaches"},
            .needs = {Needed{.name = "utilisation",
                             .dimension = Dimension::Ratio,
                             .domain = Domain::Share,
                             .words = "utilisation utilization efficiency busy for"},
                      kStages},
            .gives = Dimension::Count,
            .result = "microbatch microbatches needs need",
            .compute = micro_batches_for},
    Formula{.name = "pipeline utilisation",
            .equation = "m / (m + p - 1)",
            .source = "Huang 2019 (GPipe)",
            .names = {"pipeline stage", "utilisation utilization efficiency busy"},
            .needs = {kStages, kMicroBatches},
            .gives = Dimension::Ratio,
            .result = "utilisation utilization efficiency busy",
            .compute = pipeline_use},
    Formula{.name = "pipeline speed-up",
            .equation = "p m / (m + p - 1)",
            .source = "Huang 2019 (GPipe)",
            .names = {"pipeline stage", "speedup faster"},
            .needs = {kStages, kMicroBatches},
            .gives = Dimension::Ratio,
            .result = "speedup faster",
            .compute = pipeline_speedup},
    Formula{
        .name = "pipeline, time",
        .equation = "(m + p - 1) t",
        .source = "Huang 2019 (GPipe)",
        .names = {"pipeline stage"},
        .needs = {kStages, kMicroBatches,
                  Needed{.name = "stage time", .dimension = Dimension::Time, .words = "stage each of per"}},
        .result = "makespan takes total pass",
        .compute = pipeline_time},
    Formula{.name = "gain from one part of a step",
            .equation = "1 / (1 - s + s / f)",
            .source = "Amdahl 1967",
            .names = {"faster speedup compression speeds", "share communication comm part of"},
            .needs = {Needed{.name = "part",
                             .dimension = Dimension::Ratio,
                             .domain = Domain::Share,
                             .words = "share communication comm part of is"},
                      Needed{.name = "factor",
                             .dimension = Dimension::Ratio,
                             .words = "compression compress less fewer network bandwidth"}},
            .gives = Dimension::Ratio,
            .result = "faster speedup training step gives makes",
            .compute = part_faster},
    Formula{.name = "Amdahl's law",
            .equation = "1 / (s + (1 - s) / n)",
            .source = "Amdahl 1967",
            .names = {"serial amdahl sequential"},
            .needs = {Needed{.name = "serial part",
                             .dimension = Dimension::Ratio,
                             .domain = Domain::Share,
                             .words = "serial sequential part share"},
                      kWorkers},
            .gives = Dimension::Ratio,
            .result = "faster speedup",
            .compute = amdahl},
    Formula{.name = "speed-up of more workers",
            .equation = "k (C + 1) / (C + k)",
            .source = "step C + 1 against C / k + 1",
            .names = {"speedup faster", "ratio over compute"},
            .needs = {Needed{.name = "compute over communication",
                             .dimension = Dimension::Ratio,
                             .words = "ratio compute communication c"},
                      Needed{.name = "times as many",
                             .dimension = Dimension::Ratio,
                             .words = "worker gpu device as"}},
            .gives = Dimension::Ratio,
            .result = "speedup faster gives",
            .compute = more_workers},
    Formula{.name = "speed-up of a batch that is split",
            .equation = "Tc / (Tc / n + Tm)",
            .source = "definition",
            .names = {"speedup faster"},
            .needs = {kWorkers, kCompute, kCommunication},
            .gives = Dimension::Ratio,
            .result = "speedup faster",
            .compute = split_speedup},
    Formula{
        .name = "scaling efficiency",
        .equation = "S / n",
        .source = "definition",
        .names = {"efficiency efficient", "speedup faster scaling on from"},
        .needs = {Needed{.name = "speed-up", .dimension = Dimension::Ratio, .words = "speedup faster"},
                  kWorkers,
                  Needed{.name = "workers before", .domain = Domain::Whole, .words = "from", .otherwise = 1}},
        .gives = Dimension::Ratio,
        .result = "efficiency efficient",
        .compute = efficiency_of_speedup},
    Formula{.name = "step efficiency",
            .equation = "Tc / (Tc + Tm)",
            .source = "definition",
            .names = {"efficiency efficient utilisation utilization"},
            .needs = {kCompute, kCommunication},
            .gives = Dimension::Ratio,
            .result = "efficiency efficient utilisation utilization",
            .compute = step_efficiency},
    Formula{.name = "communication share",
            .equation = "Tm / (Tc + Tm), or Tm / Tc",
            .source = "definition",
            .names = {"share overhead percentage", "communication comm allreduce"},
            .needs = {kCompute, kCommunication},
            .gives = Dimension::Ratio,
            .result = "share overhead of communication",
            .compute = communication_share},
    Formula{.name = "tensor parallel layer, bytes",
            .equation = "4 x 2 (k - 1) / k x batch x sequence x hidden x element",
            .source = "Shoeybi 2019 (Megatron-LM)",
            .names = {"tensor tp megatron"},
            .needs = {Needed{.name = "ways",
                             .domain = Domain::Whole,
                             .words = "way gpu tp k device rank tensor tensorparallel"},
                      Needed{.name = "sequence", .words = "sequence seq token s"},
                      Needed{.name = "hidden", .words = "hidden width wide h"},
                      Needed{.name = "batch", .words = "batch b", .otherwise = 1, .is_ours = true},
                      Needed{.name = "element",
                             .dimension = Dimension::Size,
                             .words = "element value",
                             .otherwise = 2,
                             .is_ours = true}},
            .gives = Dimension::Size,
            .result = "sends moves layer per sent",
            .compute = tensor_bytes},
    Formula{.name = "sharded training state, bytes of a device",
            .equation = "16 P / n",
            .source = "Rajbhandari 2020 (ZeRO)",
            .names = {"zero fsdp shard sharded sharding"},
            .needs = {kParameters, kWorkers},
            .gives = Dimension::Size,
            .result = "each per device needs leaves",
            .compute = sharded_state},
    Formula{.name = "sharded state, bytes of a device",
            .equation = "M / n",
            .source = "definition",
            .names = {"zero fsdp shard sharded sharding split divided"},
            .needs = {Needed{.name = "state",
                             .dimension = Dimension::Size,
                             .words = "state of model optimizer split"},
                      kWorkers},
            .gives = Dimension::Size,
            .result = "each per device needs leaves is",
            .compute = split_state},
    Formula{.name = "parameters, bytes",
            .equation = "P x bytes of one",
            .source = "definition",
            .names = {"parameter param model weight gradient"},
            .never = "worker workers gpus devices tokens",
            .needs = {kParameters},
            .gives = Dimension::Size,
            .result = "is are needs takes weights gradient",
            .compute = parameter_bytes},
};

}  // namespace

std::span<const Formula> parallel_formulas() {
  return kFormulas;
}

}  // namespace cox::evaluate
