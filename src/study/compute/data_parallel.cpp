// SPDX-License-Identifier: Apache-2.0
// Data-parallel steps without overlap: C.1, the first overview example, and worked examples 1 and 10.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cox/simulate/noise.hpp"

#include "study/compute/computations.hpp"
#include "study/oracle/slowest.hpp"
#include "study/runs/collective_run.hpp"
#include "study/runs/step_run.hpp"
#include "study/runs/training_run.hpp"

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

/// The source's C.1: one flat ring after all of the compute.
struct Job {
  int workers = 1;
  Bandwidth bandwidth{};
  simulate::LinkCosts links{};
  Bytes gradients{};
  Seconds forward{};
  Seconds backward{};
  Seconds update{};
  int micro_batches = 1;  ///< computed before each all-reduce

  [[nodiscard]] Seconds compute() const { return micro_batches * (forward + backward); }
  [[nodiscard]] Job with_workers(int n) const {
    Job job = *this;
    job.workers = n;
    return job;
  }
};

/// Its step by the training engine; a check against the graph of its three parts.
Result<Seconds> step_of(Computation& out, const std::string& name, const Job& job) {
  model::Scenario scenario = data_parallel_job(
      job.workers, job.links,
      {{.forward = job.forward, .backward = job.backward, .gradients = job.gradients}}, job.gradients);
  scenario.job.as<model::TrainingJob>().optimizer = job.update;
  scenario.job.as<model::TrainingJob>().micro_batches = job.micro_batches;
  COX_TRY(const Seconds time, training_time(scenario));
  COX_TRY(const Seconds ring,
          checked_time(out, fmt::format("ring over {}", job.workers),
                       all_reduce(Algorithm::Ring, job.workers, job.gradients), job.links));
  StepPlan plan = step_in_sequence(job.micro_batches * job.forward, job.micro_batches * job.backward, ring);
  plan.optimizer = job.update;
  out.checks.push_back(
      {.name = name, .engine = Quantity::of(time), .oracle = Quantity::of(run_step(plan).step)});
  return time;
}

std::string percent(double ratio) {
  return to_string(Quantity::ratio(ratio));
}
std::string text(Seconds time) {
  return to_string(Quantity::of(time));
}

Result<Job> job_of(const Inputs& in) {
  Job job;
  COX_TRY(job.workers, in.count("workers", kRanks));
  COX_TRY(job.gradients, in.size("gradients"));
  COX_TRY(job.forward, in.time("forward"));
  COX_TRY(job.backward, in.time("backward"));
  COX_TRY(const Seconds latency, in.time("latency"));
  COX_TRY(job.bandwidth, in.rate("bandwidth"));
  job.links = uniform_links(latency, job.bandwidth);
  if (job.compute() > Seconds{0}) return job;
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "study-003",
                    .message = "inputs 'forward' and 'backward' are both zero: nothing is computed",
                    .hint = "give one of them a time",
                    .where = Where{.file = in.study().file}});
}

/// The call: one step, and the same with other algorithms.
Status add_call(Computation& out, const Inputs& in, const Job& job) {
  COX_TRY(const Seconds update, in.time("update"));
  COX_TRY(const Seconds inside_latency, in.time("latency inside a node"));
  COX_TRY(const Bandwidth inside_bandwidth, in.rate("bandwidth inside a node"));
  COX_TRY(const int per_node, in.count("workers per node", kRanks));
  COX_TRY(const Bytes small, in.size("gradients of ResNet-50"));
  COX_TRY(const Bytes smaller, in.size("gradients of ResNet-18"));
  COX_TRY(const Bytes whole, in.size("gradients of GPT-3, whole"));
  COX_TRY(const int fewer, in.count("workers of the ResNet-50 claim", kRanks));
  COX_TRY(const Seconds said_small, in.time("all-reduce of ResNet-50, as printed"));
  COX_TRY(const Seconds said_all_reduce, in.time("all-reduce, as printed"));
  COX_TRY(const Seconds said_step, in.time("step, as printed"));
  const auto timed = [&](const char* name, Algorithm algorithm, int n, Bytes bytes) {
    return checked_time(out, name, all_reduce(algorithm, n, bytes), job.links);
  };
  const simulate::LinkCosts inside = uniform_links(inside_latency, inside_bandwidth);
  COX_TRY(const Seconds ring, timed("ring", Algorithm::Ring, job.workers, job.gradients));
  COX_TRY(const Seconds tree, timed("tree", Algorithm::BinomialTree, job.workers, job.gradients));
  COX_TRY(const Seconds ring_whole, timed("ring, whole GPT-3", Algorithm::Ring, job.workers, whole));
  COX_TRY(const Seconds ring_small, timed("ring, ResNet-50", Algorithm::Ring, fewer, small));
  COX_TRY(const Seconds ring_smaller, timed("ring, ResNet-18", Algorithm::Ring, job.workers, smaller));
  COX_TRY(const Seconds tree_smaller,
          timed("tree, ResNet-18", Algorithm::BinomialTree, job.workers, smaller));
  COX_TRY(const Seconds in_node,
          checked_time(out, "inside a node", all_reduce(Algorithm::Ring, per_node, job.gradients), inside));
  model::CollectiveSpec two_level = all_reduce(Algorithm::Hierarchical2, job.workers, job.gradients);
  two_level.group = per_node;
  COX_TRY(const int rails, in.count("network links per node", {.least = 1, .most = per_node}));
  // All devices of a node send at once and share its links.
  const simulate::LinkCosts across =
      uniform_links(job.links.across.latency, job.bandwidth * (static_cast<double>(rails) / per_node));
  COX_TRY(const Seconds hierarchical, idle_time(two_level, two_level_links(inside, across, per_node)));
  Job updated = job;
  updated.update = update;
  COX_TRY(const Seconds step, step_of(out, "step", job));
  COX_TRY(const Seconds step_with_update, step_of(out, "step with update", updated));
  add(out, "ring", Quantity::of(ring), kMaxPlus);
  add(out, "tree", Quantity::of(tree), kMaxPlus);
  add(out, "hierarchical", Quantity::of(hierarchical), kMaxPlus);
  add(out, "inside-a-node", Quantity::of(in_node), kMaxPlus);
  add(out, "ring-gpt-3-whole", Quantity::of(ring_whole), kMaxPlus);
  add(out, "ring-resnet-50", Quantity::of(ring_small), kMaxPlus);
  add(out, "ring-over-tree-resnet-18", Quantity::ratio(ring_smaller / tree_smaller), kMaxPlus);
  add(out, "step", Quantity::of(step), kTraining);
  add(out, "step-with-update", Quantity::of(step_with_update), kTraining);
  add(out, "efficiency", Quantity::ratio(job.compute() / step), kTraining);
  add(out, "speedup", Quantity::ratio(job.compute() / step * job.workers), kTraining);
  add(out, "communication-share", Quantity::ratio((step - job.compute()) / step), kTraining);
  add(out, "share-of-its-own-parts", Quantity::ratio(said_all_reduce / said_step), kClosedForm);
  add(out, "resnet-50-over-compute-of-its-own-parts", Quantity::ratio(said_small / job.compute()),
      kClosedForm);
  return {};
}

/// Efficiency over numbers of workers, with a fixed batch per worker (weak) and in all (strong); steps of workers that
/// differ, and what an operator would be told.
Status add_workers(Computation& out, const Inputs& in, const Job& job, double cv) {
  COX_TRY(std::vector<int> sweep, in.counts("fewer workers", kRanks));
  COX_TRY(const std::vector<int> more, in.counts("worker counts", kRanks));
  COX_TRY(const double much, in.ratio("communication that alerts", RatioBetween{}));
  COX_TRY(const double little, in.ratio("efficiency that alerts", RatioBetween{}));
  sweep.insert(sweep.end(), more.begin(), more.end());
  Series weak{.name = "efficiency", .x = {}, .y = {}};
  Series strong{.name = "of a fixed batch", .x = {}, .y = {}};
  Series median{.name = "median of workers that differ", .x = {}, .y = {}};
  ValueTable table{.title = "By number of workers",
                   .says = {},
                   .columns = {"workers", "efficiency", "of a fixed batch", "step, p50", "step, p95",
                               "waiting, p50", "waiting, p95", "all-reduce, p50", "alert"},
                   .rows = {}};
  for (const int n : sweep) {
    COX_TRY(const Seconds step, step_of(out, fmt::format("step of {}", n), job.with_workers(n)));
    const Seconds sent = step - job.compute();
    const Seconds fixed = job.compute() * job.workers / n;
    const double efficiency = job.compute() / step;
    add(out, fmt::format("efficiency-n{}", n), Quantity::ratio(efficiency), kTraining);
    add(out, fmt::format("efficiency-fixed-batch-n{}", n), Quantity::ratio(fixed / (fixed + sent)),
        kTraining);
    const DelayedMaximum slowest(cv, {{.groups = n}});
    std::vector<Seconds> steps;
    std::vector<double> waits;
    for (const double p : {0.5, 0.95}) {
      const double longest = std::max(1.0, slowest.quantile(p));
      steps.push_back(longest * job.compute() + sent);
      waits.push_back((longest - 1) * job.compute() / steps.back());
      add(out, fmt::format("step-p{:g}-n{}", 100 * p, n), Quantity::of(steps.back()), kClosedForm);
      add(out, fmt::format("waiting-p{:g}-n{}", 100 * p, n), Quantity::ratio(waits.back()), kClosedForm);
    }
    const double share = sent / steps[0];
    std::string alert = share > much ? "communication" : "";
    if (job.compute() / steps[0] < little) alert += alert.empty() ? "efficiency" : ", efficiency";
    add(out, fmt::format("communication-share-p50-n{}", n), Quantity::ratio(share), kClosedForm);
    table.rows.push_back({fmt::format("{}", n), percent(efficiency), percent(fixed / (fixed + sent)),
                          text(steps[0]), text(steps[1]), percent(waits[0]), percent(waits[1]),
                          percent(share), alert.empty() ? "-" : alert});
    for (Series* s : {&weak, &strong, &median}) s->x.push_back(n);
    weak.y.push_back(100 * efficiency);
    weak.of.push_back(fmt::format("efficiency-n{}", n));
    strong.y.push_back(100 * (fixed / (fixed + sent)));
    median.y.push_back(100 * (job.compute() / steps[0]));
  }
  table.says = fmt::format(
      "Each worker computes the same whatever their number; a fixed batch is that of {} workers, dealt to fewer. p50 and "
      "p95: compute times differ by a coefficient of {:g}, and all wait for the slowest. From {} to {} workers the "
      "efficiency goes from {} to {}; of a fixed batch from {}. Alerts: communication above {} of the median step, "
      "efficiency below {}.",
      job.workers, cv, sweep.front(), sweep.back(), table.rows.front()[1], table.rows.back()[1],
      table.rows.front()[2], percent(much), percent(little));
  out.tables.push_back(std::move(table));
  out.picture = {.title = "Efficiency of a data-parallel step, flat ring",
                 .x_label = "workers",
                 .y_label = "%",
                 .x_is_log = true,
                 .series = {std::move(weak), std::move(strong), std::move(median)}};
  return {};
}

/// Over sizes of the gradients: time, and whether a device holds what they belong to.
Status add_gradient_sizes(Computation& out, const Inputs& in, const Job& job) {
  COX_TRY(const auto sizes, in.list("gradient sizes", Dimension::Size));
  COX_TRY(const double state, in.ratio("state over gradients", {.above = 0, .most = 1000}));
  COX_TRY(const Bytes memory, in.size("device memory"));
  ValueTable table{.title = "By size of the gradients",
                   .says = {},
                   .columns = {"gradients", "ring", "tree", "efficiency, ring", "state of a worker", "fits"},
                   .rows = {}};
  Picture curves{.title = fmt::format("All-reduce over {} workers", job.workers),
                 .x_label = "gradients, MB",
                 .y_label = "ms",
                 .x_is_log = true,
                 .y_is_log = true,
                 .series = {{.name = "ring", .x = {}, .y = {}}, {.name = "tree", .x = {}, .y = {}}}};
  for (const WrittenQuantity& size : sizes) {
    const Bytes bytes{std::llround(size.value.in_base_unit())};
    COX_TRY(const Seconds ring, checked_time(out, fmt::format("ring, {}", size.text),
                                             all_reduce(Algorithm::Ring, job.workers, bytes), job.links));
    COX_TRY(const Seconds tree,
            checked_time(out, fmt::format("tree, {}", size.text),
                         all_reduce(Algorithm::BinomialTree, job.workers, bytes), job.links));
    const Quantity held(Dimension::Size, state * size.value.in_base_unit());
    const double efficiency = job.compute() / (job.compute() + ring);
    add(out, fmt::format("ring-{}", size.text), Quantity::of(ring), kMaxPlus);
    add(out, fmt::format("tree-{}", size.text), Quantity::of(tree), kMaxPlus);
    add(out, fmt::format("efficiency-{}", size.text), Quantity::ratio(efficiency), kMaxPlus);
    add(out, fmt::format("state-{}", size.text), held, kClosedForm);
    const bool fits = held.in_base_unit() <= static_cast<double>(memory.count());
    table.rows.push_back({size.text, text(ring), text(tree), percent(efficiency), to_string(held),
                          fits ? "yes" : "out of memory"});
    for (Series& s : curves.series) s.x.push_back(static_cast<double>(bytes.count()) / 1e6);
    curves.series[0].y.push_back(ring.count() * 1e3);
    curves.series[1].y.push_back(tree.count() * 1e3);
  }
  const Quantity largest(Dimension::Size, static_cast<double>(memory.count()) / state);
  add(out, "gradients-that-fit", largest, kClosedForm);
  table.says = fmt::format(
      "Every worker holds weights, gradients and the optimizer's state, {:g} times the gradients: a device of {} has room "
      "for gradients of {}, without activations. The efficiency goes from {} to {}.",
      state, to_string(Quantity::of(memory)), to_string(largest), table.rows.front()[3],
      table.rows.back()[3]);
  out.tables.push_back(std::move(table));
  out.picture.below.push_back(std::move(curves));
  return {};
}

/// What software, stragglers and other jobs add.
Status add_overheads(Computation& out, const Inputs& in, const Job& job, double cv) {
  COX_TRY(const double computing, in.ratio("overhead of compute", {.above = 0, .most = 100}));
  COX_TRY(const double sending, in.ratio("overhead of communication", {.above = 0, .most = 100}));
  COX_TRY(const std::vector<double> others, in.ratios("contention", {.above = 0, .most = 1000}));
  const model::CollectiveSpec spec = all_reduce(Algorithm::Ring, job.workers, job.gradients);
  COX_TRY(const Seconds ring, idle_time(spec, job.links));
  const double slowest = DelayedMaximum(cv, {{.groups = job.workers}}).mean();
  ValueTable table{.title = "Overheads",
                   .says = {},
                   .columns = {"what", "step", "over none", "efficiency", "communication"},
                   .rows = {}};
  const Seconds plain = run_step(step_in_sequence(job.forward, job.backward, ring)).step;
  const auto row = [&](const std::string& name, const std::string& title, double compute, Seconds sent) {
    const StepRun run = run_step(step_in_sequence(compute * job.forward, compute * job.backward, sent));
    add(out, fmt::format("step-with-{}", name), Quantity::of(run.step), kReplay);
    add(out, fmt::format("longer-by-{}", name), Quantity::ratio(run.step / plain - 1), kReplay);
    add(out, fmt::format("communication-share-with-{}", name), Quantity::ratio(run.exposed / run.step),
        kReplay);
    table.rows.push_back({title, text(run.step), percent(run.step / plain), percent(job.compute() / run.step),
                          percent(run.exposed / run.step)});
  };
  row("none", "none", 1, ring);
  row("software", "software", computing, sending * ring);
  row("stragglers", "stragglers", slowest, ring);
  row("both", "software and stragglers", computing * slowest, sending * ring);
  for (const double n : others) {
    const simulate::LinkCosts shared = uniform_links(job.links.across.latency, job.bandwidth * (1 / n));
    COX_TRY(const Seconds sent,
            checked_time(out, fmt::format("ring, a link {:g} times as slow", n), spec, shared));
    row(fmt::format("contention-{:g}", n), fmt::format("links {:g} times as slow", n), 1, sent);
  }
  table.says = fmt::format(
      "Software makes the step {} as long, compute times that differ by a coefficient of {:g} make it {} as long, on "
      "average; with both, communication is {} of it.",
      table.rows[1][2], cv, table.rows[2][2], table.rows[3][4]);
  out.tables.push_back(std::move(table));
  return {};
}

/// One all-reduce for several micro-batches.
Status add_accumulation(Computation& out, const Inputs& in, const Job& job) {
  COX_TRY(const std::vector<int> counts, in.counts("accumulated micro-batches", {.least = 1, .most = 1000}));
  ValueTable table{.title = "Accumulation",
                   .says = {},
                   .columns = {"micro-batches", "step", "efficiency", "communication"},
                   .rows = {}};
  for (const int k : counts) {
    Job many = job;
    many.micro_batches = k;
    COX_TRY(const Seconds step, step_of(out, fmt::format("step of {} micro-batches", k), many));
    add(out, fmt::format("efficiency-accumulated-{}", k), Quantity::ratio(many.compute() / step), kTraining);
    table.rows.push_back({fmt::format("{}", k), text(step), percent(many.compute() / step),
                          percent((step - many.compute()) / step)});
  }
  table.says = fmt::format(
      "One all-reduce for {} micro-batches instead of {}: an efficiency of {} instead of {}. It is a batch so many times "
      "as large; what that does to the number of steps is not computed here.",
      counts.back(), counts.front(), table.rows.back()[2], table.rows.front()[2]);
  out.tables.push_back(std::move(table));
  return {};
}

/// When three workers of one step are in which state.
Status add_timeline(Computation& out, const Inputs& in, const Job& job, double cv) {
  COX_TRY(const Seconds update, in.time("update"));
  model::NoiseSource source;
  source.name = "compute";
  source.law = model::NoiseLaw::Lognormal;
  source.cv = cv;
  COX_TRY(const simulate::Noise noise, simulate::Noise::make({source}, {.ranks = job.workers}, 1));
  std::vector<Seconds> times(static_cast<std::size_t>(job.workers), job.compute());
  noise.compute(0, 0, times, times);
  std::sort(times.begin(), times.end());
  COX_TRY(const Seconds ring, idle_time(all_reduce(Algorithm::Ring, job.workers, job.gradients), job.links));
  const Seconds step = times.back() + ring + update;
  ValueTable table{.title = "Timeline of a step",
                   .says = {},
                   .columns = {"worker", "forward until", "backward until", "idle until", "all-reduce until",
                               "update until"},
                   .rows = {}};
  for (const auto& [name, time] :
       {std::pair{"quickest", times.front()}, std::pair{"median", times[times.size() / 2]},
        std::pair{"slowest", times.back()}}) {
    const Seconds forward = time * (job.forward / job.compute());
    add(out, fmt::format("idle-of-the-{}", name), Quantity::of(times.back() - time), kDraws);
    table.rows.push_back(
        {name, text(forward), text(time), text(times.back()), text(times.back() + ring), text(step)});
  }
  // The whole job, message by message, with the same draws; without the update, which noise disturbs there.
  model::Scenario scenario = data_parallel_job(
      job.workers, job.links,
      {{.forward = job.forward, .backward = job.backward, .gradients = job.gradients}}, job.gradients);
  scenario.noise = {source};
  COX_TRY(const Seconds engine, training_time(scenario));
  out.checks.push_back({.name = "step of workers that differ: the slowest and the ring",
                        .engine = Quantity::of(engine),
                        .oracle = Quantity::of(times.back() + ring),
                        .limit_ratio = 1e-6});
  table.says = fmt::format(
      "One step, compute times drawn with a coefficient of {:g}: the quickest of {} is done after {} and idle for {}, the "
      "slowest never. All begin the ring when the slowest is ready.",
      cv, job.workers, table.rows[0][2], text(times.back() - times.front()));
  out.tables.push_back(std::move(table));
  return {};
}

}  // namespace

Result<Computation> compute_data_parallel_step(const Inputs& in, const ComputeOptions& /*options*/) {
  COX_TRY(const Job job, job_of(in));
  COX_TRY(const double cv, in.ratio("coefficient of variation", {.above = 0, .most = 10}));
  Computation out;
  COX_CHECK(add_call(out, in, job));
  COX_CHECK(add_workers(out, in, job, cv));
  COX_CHECK(add_gradient_sizes(out, in, job));
  COX_CHECK(add_overheads(out, in, job, cv));
  COX_CHECK(add_accumulation(out, in, job));
  COX_CHECK(add_timeline(out, in, job, cv));
  out.notes = {
      "Weak scaling but where a fixed batch is named: each worker computes the same whatever their number; nothing "
      "overlaps.",
      "The step is forward, backward and the ring; the update is added in `step-with-update` and in the timeline only, as "
      "the printed parts leave it out.",
      "In the hierarchical all-reduce the devices of a node share its network links in equal parts."};
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
  COX_TRY(const double overlapped, in.ratio("overlapped", {.above = -1e-9, .most = 1}));
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
