// SPDX-License-Identifier: Apache-2.0
// Data-parallel steps without overlap: C.1, the first overview example, and worked examples 1 and 10.
#include <fmt/format.h>

#include <algorithm>

#include "study/compute/collective_run.hpp"
#include "study/compute/computations.hpp"
#include "study/compute/step_run.hpp"
#include "study/compute/training_run.hpp"

namespace cox::study {
namespace {

using model::Algorithm;

constexpr Between kRanks{.least = 1, .most = 4096};

/// One bucket that is sent after all of backward: nothing overlaps.
StepPlan step_in_sequence(Seconds forward, Seconds backward, Seconds all_reduce) {
  return {.forward = forward,
          .backward = {backward},
          .buckets = {{.ready_after = 1, .all_reduce = all_reduce}},
          .optimizer = Seconds{0}};
}

/// Workers of the source's C.1: weak scaling, one flat ring.
struct Job {
  const simulate::LinkCosts& links;
  Bytes gradients{};
  Seconds forward{};
  Seconds backward{};
  Seconds update{};
};

/// Its step by the training engine; a check against the graph of its three parts.
Result<Seconds> step_of(Computation& out, const std::string& name, int workers, const Job& job) {
  model::Scenario scenario = data_parallel_job(
      workers, job.links, {{.forward = job.forward, .backward = job.backward, .gradients = job.gradients}},
      job.gradients);
  scenario.job.as<model::TrainingJob>().optimizer = job.update;
  COX_TRY(const Seconds time, training_time(scenario));
  COX_TRY(const Seconds ring, checked_time(out, fmt::format("ring over {}", workers),
                                           all_reduce(Algorithm::Ring, workers, job.gradients), job.links));
  StepPlan plan = step_in_sequence(job.forward, job.backward, ring);
  plan.optimizer = job.update;
  out.checks.push_back(
      {.name = name, .engine = Quantity::of(time), .oracle = Quantity::of(run_step(plan).step)});
  return time;
}

}  // namespace

Result<Computation> compute_data_parallel_step(const Inputs& in, const ComputeOptions& /*options*/) {
  COX_TRY(const int workers, in.count("workers", kRanks));
  COX_TRY(const Bytes gradients, in.size("gradients"));
  COX_TRY(const Seconds forward, in.time("forward"));
  COX_TRY(const Seconds backward, in.time("backward"));
  COX_TRY(const Seconds update, in.time("update"));
  COX_TRY(const Seconds latency, in.time("latency"));
  COX_TRY(const Bandwidth bandwidth, in.rate("bandwidth"));
  COX_TRY(const Seconds inside_latency, in.time("latency inside a node"));
  COX_TRY(const Bandwidth inside_bandwidth, in.rate("bandwidth inside a node"));
  COX_TRY(const int per_node, in.count("workers per node", kRanks));
  COX_TRY(const Bytes small, in.size("gradients of ResNet-50"));
  COX_TRY(const int fewer, in.count("workers of the ResNet-50 claim", kRanks));
  COX_TRY(const Seconds said_all_reduce, in.time("all-reduce, as printed"));
  COX_TRY(const Seconds said_step, in.time("step, as printed"));
  COX_TRY(const std::vector<int> sweep, in.counts("worker counts", kRanks));
  const simulate::LinkCosts links = uniform_links(latency, bandwidth);
  Computation out;
  COX_TRY(const Seconds ring,
          checked_time(out, "ring", all_reduce(Algorithm::Ring, workers, gradients), links));
  COX_TRY(const Seconds tree,
          checked_time(out, "tree", all_reduce(Algorithm::BinomialTree, workers, gradients), links));
  COX_TRY(const Seconds ring_small,
          checked_time(out, "ring, ResNet-50", all_reduce(Algorithm::Ring, fewer, small), links));
  model::CollectiveSpec two_level = all_reduce(Algorithm::Hierarchical2, workers, gradients);
  two_level.group = per_node;
  COX_TRY(const Seconds hierarchical,
          idle_time(two_level,
                    two_level_links(uniform_links(inside_latency, inside_bandwidth), links, per_node)));
  const Job job{
      .links = links, .gradients = gradients, .forward = forward, .backward = backward, .update = {}};
  Job updated = job;
  updated.update = update;
  COX_TRY(const Seconds step, step_of(out, "step", workers, job));
  COX_TRY(const Seconds step_with_update, step_of(out, "step with update", workers, updated));
  const Seconds compute = forward + backward;
  add(out, "ring", Quantity::of(ring), kMaxPlus);
  add(out, "tree", Quantity::of(tree), kMaxPlus);
  add(out, "hierarchical", Quantity::of(hierarchical), kMaxPlus);
  add(out, "ring-resnet-50", Quantity::of(ring_small), kMaxPlus);
  add(out, "step", Quantity::of(step), kTraining);
  add(out, "step-with-update", Quantity::of(step_with_update), kTraining);
  add(out, "efficiency", Quantity::ratio(compute / step), kTraining);
  add(out, "speedup", Quantity::ratio(compute / step * workers), kTraining);
  add(out, "communication-share", Quantity::ratio((step - compute) / step), kTraining);
  add(out, "share-of-its-own-parts", Quantity::ratio(said_all_reduce / said_step), kClosedForm);
  Series curve{.name = "efficiency", .x = {}, .y = {}};
  for (const int n : sweep) {
    COX_TRY(const Seconds t, step_of(out, fmt::format("step of {}", n), n, job));
    add(out, fmt::format("efficiency-n{}", n), Quantity::ratio(compute / t), kTraining);
    curve.x.push_back(n);
    curve.y.push_back(100 * (compute / t));
    curve.of.push_back(fmt::format("efficiency-n{}", n));
  }
  out.notes = {
      "Weak scaling: each worker computes the same whatever their number; nothing overlaps.",
      "The step is forward, backward and the ring; the update is added in `step-with-update` only, as the "
      "printed parts leave it out.",
      "The hierarchical all-reduce lets each device of a node use a network link of its own."};
  out.picture = {.title = "Efficiency of a data-parallel step, flat ring",
                 .x_label = "workers",
                 .y_label = "%",
                 .x_is_log = true,
                 .series = {std::move(curve)}};
  return out;
}

Result<Computation> compute_step_efficiency(const Inputs& in, const ComputeOptions& /*options*/) {
  COX_TRY(const Seconds compute, in.time("compute"));
  COX_TRY(const Seconds all_reduce_time, in.time("all-reduce"));
  COX_TRY(const Seconds accumulated, in.time("all-reduce with accumulation"));
  Computation out;
  Series bars{.name = "efficiency", .x = {}, .y = {}};
  const StepRun before = run_step(step_in_sequence(Seconds{0}, compute, all_reduce_time));
  const StepRun after = run_step(step_in_sequence(Seconds{0}, compute, accumulated));
  add(out, "efficiency", Quantity::ratio(compute / before.step), kReplay);
  add(out, "communication-share", Quantity::ratio(before.exposed / before.step), kReplay);
  add(out, "efficiency-with-accumulation", Quantity::ratio(compute / after.step), kReplay);
  add(out, "step", Quantity::of(before.step), kReplay);
  for (int ms = 0; ms <= 200; ms += 10) {
    const Seconds t{ms * 1e-3};
    bars.x.push_back(ms);
    bars.y.push_back(100 * (compute / run_step(step_in_sequence(Seconds{0}, compute, t)).step));
  }
  out.picture = {.title = "Efficiency of a step that does not overlap",
                 .x_label = "all-reduce, ms",
                 .y_label = "%",
                 .series = {std::move(bars)}};
  return out;
}

Result<Computation> compute_gradient_aggregation(const Inputs& in, const ComputeOptions& /*options*/) {
  COX_TRY(const int workers, in.count("workers", kRanks));
  COX_TRY(const Bytes gradients, in.size("gradients"));
  COX_TRY(const Bandwidth link, in.rate("link"));
  COX_TRY(const Seconds latency, in.time("latency"));
  COX_TRY(const Seconds compute, in.time("compute"));
  COX_TRY(const Seconds said, in.time("aggregation, as stated"));
  COX_TRY(const double slower, in.ratio("slower link"));
  COX_TRY(const int batch, in.count("batch"));
  COX_TRY(const int larger, in.count("larger batch"));
  COX_TRY(const int more, in.count("more workers", kRanks));
  COX_TRY(const auto compressed, in.size("compressed gradients"));
  COX_TRY(const int bits, in.count("bits per value"));
  const simulate::LinkCosts links = uniform_links(latency, link);
  const model::CollectiveSpec ring = all_reduce(Algorithm::Ring, workers, gradients);
  Computation out;
  COX_TRY(const Seconds time, checked_time(out, "ring", ring, links));
  COX_TRY(const Bytes sent, most_sent(ring));
  COX_TRY(const Bytes direct_sent, most_sent({.kind = model::Collective::AllToAll,
                                              .algorithm = Algorithm::Direct,
                                              .ranks = workers,
                                              .bytes = gradients * workers}));
  const StepRun stated = run_step(step_in_sequence(Seconds{0}, compute, said));
  const StepRun slow = run_step(step_in_sequence(Seconds{0}, compute, slower * said));
  add(out, "ring", Quantity::of(time), kMaxPlus);
  add(out, "sent-per-worker", Quantity::of(sent), kSchedule);
  add(out, "one-pass", Quantity::of(link.time_per_byte().over(gradients)), kClosedForm);
  add(out, "everybody-to-everybody-over-ring", Quantity::ratio(direct_sent / sent), kSchedule);
  add(out, "aggregation-over-compute", Quantity::ratio(said / compute), kClosedForm);
  add(out, "step-of-its-own-parts", Quantity::of(stated.step), kReplay);
  add(out, "speedup-of-its-own-parts", Quantity::ratio(workers * (compute / stated.step)), kReplay);
  add(out, "speedup-by-the-ring",
      Quantity::ratio(workers * (compute / run_step(step_in_sequence(Seconds{0}, compute, time)).step)),
      kReplay);
  add(out, "slow-aggregation", Quantity::of(slower * said), kClosedForm);
  add(out, "slow-share", Quantity::ratio(slow.exposed / slow.step), kReplay);
  add(out, "samples-per-worker", Quantity::count(static_cast<double>(batch) / workers), kClosedForm);
  add(out, "larger-batch-per-worker", Quantity::count(static_cast<double>(larger) / more), kClosedForm);
  const double shrunk = static_cast<double>(gradients.count()) * bits / 32;
  add(out, "gradients-in-few-bits", Quantity(Dimension::Size, shrunk), kClosedForm);
  add(out, "compressed-on-slow-link", Quantity::of(slower * said * (compressed / gradients)), kClosedForm);
  Series bars{
      .name = "time", .x = {}, .y = {time.count() * 1e3, said.count() * 1e3, slower * said.count() * 1e3}};
  out.picture = {.kind = Picture::Kind::Bars,
                 .title = "Aggregation of gradients",
                 .x_label = "",
                 .y_label = "ms",
                 .series = {std::move(bars)},
                 .categories = {"ring, computed", "as stated", "as stated, slow link"}};
  out.notes = {
      "What the source's 10 to 15 ms are made of is not said; everything \"of its own parts\" takes them as given."};
  return out;
}

Result<Computation> compute_scaling_case(const Inputs& in, const ComputeOptions& /*options*/) {
  COX_TRY(const Quantity rate, in.quantity("samples per second", Dimension::PerSecond));
  COX_TRY(const int batch, in.count("samples per step"));
  COX_TRY(const int samples, in.count("samples", {.least = 1, .most = 1'000'000'000}));
  COX_TRY(const Seconds one_node, in.time("all-reduce in one node"));
  COX_TRY(const Seconds many_nodes, in.time("all-reduce over eight nodes"));
  COX_TRY(const Seconds faster, in.time("all-reduce on the faster network"));
  COX_TRY(const Seconds compressed, in.time("all-reduce, compressed"));
  COX_TRY(const int few, in.count("devices in one node", kRanks));
  COX_TRY(const int many, in.count("devices", kRanks));
  COX_TRY(const double overlapped, in.ratio("overlapped"));
  const double per_device = rate.in_base_unit();
  if (per_device <= 0)
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "study-003",
                      .message = "input 'samples per second' is zero",
                      .hint = "give a positive number",
                      .where = Where{.file = in.study().file}});
  const Seconds compute{batch / per_device};
  Computation out;
  const auto step_of = [&](Seconds t) { return run_step(step_in_sequence(Seconds{0}, compute, t)).step; };
  const auto speedup_of = [&](int devices, Seconds t) { return devices * (compute / step_of(t)); };
  const Seconds alone{samples / per_device};
  const Seconds seen = many_nodes * (1 - overlapped);
  add(out, "one-device", Quantity::of(alone), kClosedForm);
  add(out, "compute", Quantity::of(compute), kClosedForm);
  add(out, "speedup-one-node", Quantity::ratio(speedup_of(few, one_node)), kReplay);
  add(out, "time-one-node", Quantity::of(alone / speedup_of(few, one_node)), kReplay);
  add(out, "step-many", Quantity::of(step_of(many_nodes)), kReplay);
  add(out, "overhead-over-compute", Quantity::ratio(many_nodes / compute), kClosedForm);
  add(out, "overhead-over-step", Quantity::ratio(many_nodes / step_of(many_nodes)), kReplay);
  add(out, "rate-per-device-many", Quantity::per_second(batch / step_of(many_nodes).count()), kReplay);
  add(out, "rate-per-device-overlapped", Quantity::per_second(batch / step_of(seen).count()), kReplay);
  add(out, "rate-overlapped", Quantity::per_second(many * batch / step_of(seen).count()), kReplay);
  add(out, "time-many", Quantity::of(alone / speedup_of(many, many_nodes)), kReplay);
  add(out, "time-overlapped", Quantity::of(alone / speedup_of(many, seen)), kReplay);
  add(out, "speedup-many", Quantity::ratio(speedup_of(many, many_nodes)), kReplay);
  add(out, "speedup-overlapped", Quantity::ratio(speedup_of(many, seen)), kReplay);
  add(out, "loss-many", Quantity::ratio(1 - speedup_of(many, many_nodes) / many), kReplay);
  add(out, "overhead-on-the-faster-network", Quantity::ratio(faster / compute), kClosedForm);
  add(out, "speedup-on-the-faster-network", Quantity::ratio(speedup_of(many, faster)), kReplay);
  add(out, "speedup-compressed", Quantity::ratio(speedup_of(many, compressed)), kReplay);
  Series ideal{.name = "ideal", .x = {}, .y = {}};
  Series real{.name = "without overlap", .x = {}, .y = {}};
  for (int n = 1; n <= many; n *= 2) {
    ideal.x.push_back(n);
    ideal.y.push_back(n);
    real.x.push_back(n);
    real.y.push_back(n == 1 ? 1.0 : speedup_of(n, n <= few ? one_node : many_nodes));
  }
  out.picture = {.title = "Speedup over one device",
                 .x_label = "devices",
                 .y_label = "speedup",
                 .x_is_log = true,
                 .y_is_log = true,
                 .series = {std::move(ideal), std::move(real)}};
  return out;
}

}  // namespace cox::study
