// SPDX-License-Identifier: Apache-2.0
// What a pipeline costs in time and memory: C.5.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "study/compute/computations.hpp"
#include "study/runs/collective_run.hpp"
#include "study/runs/pipeline_run.hpp"
#include "study/runs/training_run.hpp"

namespace cox::study {
namespace {

using model::PipelineSchedule;

constexpr auto kOneForwardOneBackward = PipelineSchedule::OneForwardOneBackward;
constexpr Between kStages{.least = 1, .most = 256};
constexpr Between kMicroBatches{.least = 1, .most = 4096};

/// The model that is cut into stages, and what one of its micro-batches takes.
struct Job {
  int stages = 1;
  int layers = 1;
  double factor = 1;  ///< activations kept of a layer, over its input
  Quantity input{};   ///< of a layer: hidden x tokens x samples x bytes
  Seconds forward{};  ///< of a stage
  Seconds backward{};

  [[nodiscard]] PipelinePlan plan(PipelineSchedule schedule, int micro_batches) const {
    return equal_stages(schedule, stages, micro_batches, forward, backward);
  }
  /// The same layers in another number of stages.
  [[nodiscard]] Job in_stages(int other) const {
    Job job = *this;
    job.stages = other;
    job.forward *= static_cast<double>(stages) / other;
    job.backward *= static_cast<double>(stages) / other;
    return job;
  }
  /// Activations of `live` micro-batches on one stage, all kept.
  [[nodiscard]] Quantity kept(double live) const {
    return {Dimension::Size, live * factor * input.in_base_unit() * layers / stages};
  }
  /// The same where only inputs of segments are kept, and one segment's activations while it is recomputed: the least
  /// over the lengths of segments.
  [[nodiscard]] Quantity recomputed(double live) const {
    const double own = static_cast<double>(layers) / stages;
    double least = kept(live).in_base_unit();
    for (int length = 1; length <= std::ceil(own); ++length)
      least = std::min(least, input.in_base_unit() *
                                  (live * std::ceil(own / length) + factor * std::min<double>(length, own)));
    return {Dimension::Size, least};
  }
  /// Backward computes forward once more.
  [[nodiscard]] Job that_recomputes() const {
    Job job = *this;
    job.backward += forward;
    return job;
  }
};

Result<Job> job_of(const Inputs& in) {
  Job job;
  COX_TRY(job.stages, in.count("stages", kStages));
  COX_TRY(job.layers, in.count("layers"));
  COX_TRY(const int hidden, in.count("hidden"));
  COX_TRY(const int tokens, in.count("sequence"));
  COX_TRY(job.factor, in.ratio("activation factor", {.above = 0, .most = 1000}));
  COX_TRY(const Bytes element, in.size("bytes per element"));
  COX_TRY(const int samples, in.count("samples per micro-batch"));
  COX_TRY(job.forward, in.time("forward"));
  COX_TRY(job.backward, in.time("backward"));
  job.input = Quantity(Dimension::Size, static_cast<double>(element.count()) * hidden * tokens * samples);
  if (job.forward + job.backward > Seconds{0}) return job;
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "study-003",
                    .message = "inputs 'forward' and 'backward' are both zero: nothing is computed",
                    .hint = "give one of them a time",
                    .where = Where{.file = in.study().file}});
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

/// Bubble and activations by micro-batches; the picture.
Status add_sweep(Computation& out, const Inputs& in, const Job& job) {
  COX_TRY(const std::vector<int> sweep, in.counts("micro-batches", kMicroBatches));
  Series bubble{.name = "bubble", .x = {}, .y = {}};
  for (const int m : sweep) {
    const PipelinePlan gpipe = job.plan(PipelineSchedule::GPipe, m);
    const PipelinePlan one = job.plan(kOneForwardOneBackward, m);
    const PipelineRun all = run_pipeline(gpipe);
    const PipelineRun few = run_pipeline(one);
    COX_CHECK(check_training(out, gpipe, all));
    COX_CHECK(check_training(out, one, few));
    check_bubble(out, all, job.stages, m);
    out.checks.push_back({.name = fmt::format("1F1B has the bubble of GPipe, m = {}", m),
                          .engine = Quantity::of(few.makespan),
                          .oracle = Quantity::of(all.makespan)});
    add(out, fmt::format("bubble-m{}", m), Quantity::ratio(all.bubble_ratio), kReplay);
    add(out, fmt::format("utilisation-m{}", m), Quantity::ratio(1 - all.bubble_ratio), kReplay);
    add(out, fmt::format("activations-gpipe-m{}", m), job.kept(all.peak_live.front()), kReplay);
    add(out, fmt::format("activations-1f1b-m{}", m), job.kept(few.peak_live.front()), kReplay);
    bubble.x.push_back(m);
    bubble.y.push_back(100 * all.bubble_ratio);
    bubble.of.push_back(fmt::format("bubble-m{}", m));
  }
  const PipelineRun twice = run_pipeline(job.plan(PipelineSchedule::GPipe, 2 * job.stages));
  add(out, "bubble-m2p", Quantity::ratio(twice.bubble_ratio), kReplay);
  add(out, "micro-batches-for-5-percent", Quantity::count(micro_batches_for(0.05, job.stages)), kReplay);
  add(out, "micro-batches-for-90-percent-use", Quantity::count(micro_batches_for(0.10, job.stages)), kReplay);
  add(out, "micro-batches-for-70-percent-use", Quantity::count(micro_batches_for(0.30, job.stages)), kReplay);
  out.picture = {.title = fmt::format("Bubble of a pipeline of {} stages", job.stages),
                 .x_label = "micro-batches",
                 .y_label = "idle share of device time, %",
                 .x_is_log = false,
                 .series = {std::move(bubble)}};
  return {};
}

/// Use of the devices for other numbers of stages.
Status add_other_stages(Computation& out, const Inputs& in) {
  COX_TRY(const std::vector<int> stages, in.counts("other stage counts", kStages));
  COX_TRY(const std::vector<int> sweep, in.counts("micro-batches of the curves", kMicroBatches));
  Picture curves{.title = "Use of the devices, by stages",
                 .x_label = "micro-batches",
                 .y_label = "share of device time at work, %",
                 .x_is_log = true};
  ValueTable table{.title = "Other numbers of stages", .says = {}, .columns = {"micro-batches"}, .rows = {}};
  for (const int m : sweep) table.rows.push_back({fmt::format("{}", m)});
  for (const int p : stages) {
    table.columns.push_back(fmt::format("use at p = {}", p));
    Series curve{.name = fmt::format("p = {}", p), .x = {}, .y = {}};
    for (std::size_t i = 0; i < sweep.size(); ++i) {
      const PipelineRun run =
          run_pipeline(equal_stages(PipelineSchedule::GPipe, p, sweep[i], Seconds{1}, Seconds{2}));
      check_bubble(out, run, p, sweep[i]);
      const Quantity use = Quantity::ratio(1 - run.bubble_ratio);
      add(out, fmt::format("utilisation-p{}-m{}", p, sweep[i]), use, kReplay);
      table.rows[i].push_back(to_string(use));
      curve.x.push_back(sweep[i]);
      curve.y.push_back(100 * use.in_base_unit());
    }
    curves.series.push_back(std::move(curve));
  }
  table.says = fmt::format(
      "More stages need more micro-batches: with {} of them {} stages are at work {} of the time and {} stages {}.",
      sweep.back(), stages.front(), table.rows.back()[1], stages.back(), table.rows.back().back());
  out.tables.push_back(std::move(table));
  out.picture.below.push_back(std::move(curves));
  return {};
}

/// One stage that is slower than the others, at each place.
Status add_slow_stage(Computation& out, const Inputs& in, const Job& job) {
  COX_TRY(const double factor, in.ratio("slow stage", {.above = 0, .most = 1000}));
  ValueTable table{.title = "One slow stage",
                   .says = {},
                   .columns = {"slow stage", "bubble, GPipe", "bubble, 1F1B"},
                   .rows = {}};
  std::vector<double> one;
  double gpipe = 0;
  for (int s = 0; s < job.stages; ++s) {
    PipelinePlan plan = job.plan(PipelineSchedule::GPipe, 2 * job.stages);
    plan.forward[static_cast<std::size_t>(s)] *= factor;
    plan.backward[static_cast<std::size_t>(s)] *= factor;
    gpipe = run_pipeline(plan).bubble_ratio;
    plan.schedule = kOneForwardOneBackward;
    one.push_back(run_pipeline(plan).bubble_ratio);
    add(out, fmt::format("bubble-m2p-slow-stage-{}-gpipe", s), Quantity::ratio(gpipe), kReplay);
    add(out, fmt::format("bubble-m2p-slow-stage-{}-1f1b", s), Quantity::ratio(one.back()), kReplay);
    table.rows.push_back(
        {fmt::format("{}", s), to_string(Quantity::ratio(gpipe)), to_string(Quantity::ratio(one.back()))});
  }
  const auto [least, most] = std::minmax_element(one.begin(), one.end());
  add(out, "bubble-m2p-slow-stage-1f1b-least", Quantity::ratio(*least), kReplay);
  add(out, "bubble-m2p-slow-stage-1f1b-most", Quantity::ratio(*most), kReplay);
  table.says =
      fmt::format("One of {} stages takes {} as long as the others, {} micro-batches. With 1F1B {}",
                  job.stages, to_string(Quantity::ratio(factor)), 2 * job.stages,
                  *most - *least > 1e-9
                      ? fmt::format("its place decides: {} to {} of the device time is idle, least where "
                                    "stage {} is slow.",
                                    to_string(Quantity::ratio(*least)), to_string(Quantity::ratio(*most)),
                                    least - one.begin())
                      : fmt::format("{} of the device time is idle, whichever it is.",
                                    to_string(Quantity::ratio(*most))));
  out.tables.push_back(std::move(table));
  return {};
}

/// Each stage as several chunks of layers (Narayanan et al. 2021).
Status add_interleaving(Computation& out, const Inputs& in, const Job& job) {
  COX_TRY(const std::vector<int> chunks, in.counts("chunks per stage", {.least = 1, .most = 8}));
  const int m = 2 * job.stages;
  ValueTable table{
      .title = "Interleaving",
      .says = {},
      .columns = {"chunks per stage", "bubble", "activations, stage 0", "messages per micro-batch"},
      .rows = {}};
  for (const int v : chunks) {
    PipelinePlan plan = equal_stages(v == 1 ? kOneForwardOneBackward : PipelineSchedule::Interleaved,
                                     job.stages * v, m, job.forward / v, job.backward / v);
    plan.stages = job.stages;
    plan.interleave = v;
    const PipelineRun run = run_pipeline(plan);
    const Quantity bubble = Quantity::ratio(run.bubble_ratio);
    const Quantity held = job.kept(static_cast<double>(run.peak_live.front()) / v);
    out.checks.push_back({.name = fmt::format("interleaved bubble, {} chunks", v),
                          .engine = bubble,
                          .oracle = Quantity::ratio((job.stages - 1.0) / (v * m + job.stages - 1.0))});
    if (v > 1)
      out.checks.push_back(
          {.name = fmt::format("interleaved activations, {} chunks", v),
           .engine = held,
           .oracle = Quantity(Dimension::Size, job.kept(job.stages).in_base_unit() *
                                                   (1 + (job.stages - 1.0) / (job.stages * v)))});
    add(out, fmt::format("bubble-m2p-{}-chunks", v), bubble, kReplay);
    add(out, fmt::format("activations-m2p-{}-chunks", v), held, kReplay);
    table.rows.push_back({fmt::format("{}", v), to_string(bubble), to_string(held),
                          fmt::format("{}", 2 * (v * job.stages - 1))});
  }
  table.says = fmt::format(
      "{} micro-batches: {} chunks per stage leave a bubble of {} instead of {}, and stage 0 holds {} instead of {}.",
      m, chunks.back(), table.rows.back()[1], table.rows.front()[1], table.rows.back()[2],
      table.rows.front()[2]);
  out.tables.push_back(std::move(table));
  return {};
}

/// Activations on their way from stage to stage.
Status add_transfers(Computation& out, const Inputs& in, const Job& job) {
  COX_TRY(const Bandwidth link, in.rate("link between stages"));
  COX_TRY(const Bytes claimed, in.size("activations of the transfer claim"));
  const auto time_of = [&](Quantity bytes) { return Seconds{bytes.in_base_unit() / link.in_bytes_per_s()}; };
  add(out, "transfer-of-the-claim", Quantity::of(time_of(Quantity::of(claimed))), kClosedForm);
  const int m = 2 * job.stages;
  ValueTable table{.title = "Transfers between stages",
                   .says = {},
                   .columns = {"a message carries", "it takes", "longer step, GPipe", "longer step, 1F1B"},
                   .rows = {}};
  for (const auto& [name, bytes] :
       {std::pair{"own", job.input}, std::pair{"claimed", Quantity::of(claimed)}}) {
    std::vector<std::string> row = {to_string(bytes), to_string(Quantity::of(time_of(bytes)))};
    for (const auto& [schedule, of] :
         {std::pair{PipelineSchedule::GPipe, "gpipe"}, std::pair{kOneForwardOneBackward, "1f1b"}}) {
      PipelinePlan plan = job.plan(schedule, m);
      const Seconds plain = run_pipeline(plan).makespan;
      plan.transfer = time_of(bytes);
      const Seconds with = run_pipeline(plan).makespan;
      if (schedule == PipelineSchedule::GPipe)
        out.checks.push_back({.name = fmt::format("GPipe with {} transfers", name),
                              .engine = Quantity::of(with),
                              .oracle = Quantity::of(plain + 2 * (job.stages - 1) * plan.transfer)});
      add(out, fmt::format("longer-by-transfers-{}-{}", name, of), Quantity::ratio(with / plain - 1),
          kReplay);
      row.push_back(to_string(out.values.back().value));
    }
    table.rows.push_back(std::move(row));
  }
  table.says = fmt::format(
      "{} micro-batches of {} forward and {} backward per stage. A message holds up nobody but who waits for it: GPipe "
      "waits for one per boundary and direction.",
      m, to_string(Quantity::of(job.forward)), to_string(Quantity::of(job.backward)));
  out.tables.push_back(std::move(table));
  return {};
}

struct Memory {
  WrittenQuantity device;
  double headroom = 0;
  [[nodiscard]] bool holds(Quantity bytes) const {
    return bytes.in_base_unit() <= (1 - headroom) * device.value.in_base_unit();
  }
};

/// Largest number of micro-batches whose activations fit, up to 4096; 0 where not even one does.
int most_micro_batches(const Job& job, const Memory& memory, PipelineSchedule schedule, bool recompute) {
  int low = 0;
  int high = static_cast<int>(kMicroBatches.most) + 1;
  while (high - low > 1) {
    const int m = low + (high - low) / 2;
    const double live = schedule == PipelineSchedule::GPipe ? m : std::min(m, job.stages);
    (memory.holds(recompute ? job.recomputed(live) : job.kept(live)) ? low : high) = m;
  }
  return low;
}

/// What fits into a device.
Status add_memory(Computation& out, const Inputs& in, const Job& job) {
  COX_TRY(const auto devices, in.list("device memory", Dimension::Size));
  COX_TRY(const double headroom, in.ratio("headroom", {.above = -1e-9, .most = 0.9}));
  COX_TRY(const int batch, in.count("batch"));
  COX_TRY(const int samples, in.count("samples per micro-batch"));
  const double cost =
      (job.that_recomputes().forward + job.that_recomputes().backward) / (job.forward + job.backward);
  add(out, "recompute-cost", Quantity::ratio(cost), kClosedForm);
  add(out, "activations-of-the-whole-batch", job.kept(static_cast<double>(batch) / samples), kClosedForm);
  ValueTable table{.title = "What fits",
                   .says = {},
                   .columns = {"device memory", "schedule", "activations", "most micro-batches", "use then"},
                   .rows = {}};
  for (const WrittenQuantity& device : devices)
    for (const auto& [schedule, of] :
         {std::pair{PipelineSchedule::GPipe, "gpipe"}, std::pair{kOneForwardOneBackward, "1f1b"}})
      for (const bool recompute : {false, true}) {
        const int m = most_micro_batches(job, {.device = device, .headroom = headroom}, schedule, recompute);
        const std::string name = fmt::format("{}{}-{}", of, recompute ? "-recomputed" : "", device.text);
        const double use = m == 0 ? 0 : (1 - balanced_bubble(job.stages, m)) / (recompute ? cost : 1);
        add(out, fmt::format("most-micro-batches-{}", name), Quantity::count(m), kClosedForm);
        add(out, fmt::format("use-at-most-micro-batches-{}", name), Quantity::ratio(use), kClosedForm);
        table.rows.push_back({device.text, of, recompute ? "recomputed" : "kept",
                              m == 0                    ? "out of memory"
                              : m == kMicroBatches.most ? "any"
                                                        : fmt::format("{}", m),
                              to_string(Quantity::ratio(use))});
      }
  table.says = fmt::format(
      "Activations alone, {} of the device left free; weights, gradients and optimizer are not counted. A device of {} holds {} "
      "micro-batches with GPipe; where they are recomputed a step computes {} as much, and that use is not counted.",
      to_string(Quantity::ratio(headroom)), devices.front().text, table.rows.front()[3],
      to_string(Quantity::ratio(cost)));
  out.tables.push_back(std::move(table));
  return {};
}

/// A way to run the job.
struct Way {
  int stages = 1;
  int micro_batches = 1;
  const char* schedule = "";
  bool recompute = false;
  double use = 0;  ///< share of device time that computes what is computed once
  Quantity memory{};
};

/// Those that no other beats in both use and memory, by memory.
std::vector<Way> pareto_set(std::vector<Way> ways) {
  std::stable_sort(ways.begin(), ways.end(), [](const Way& a, const Way& b) {
    if (a.memory.in_base_unit() != b.memory.in_base_unit())
      return a.memory.in_base_unit() < b.memory.in_base_unit();
    return a.use > b.use;
  });
  std::vector<Way> best;
  for (const Way& w : ways)
    if (best.empty() || w.use > best.back().use + 1e-12) best.push_back(w);
  return best;
}

/// Use against memory over stages, micro-batches, schedules and recomputation.
Status add_pareto(Computation& out, const Inputs& in, const Job& job) {
  COX_TRY(const std::vector<int> stages, in.counts("other stage counts", kStages));
  COX_TRY(const std::vector<int> sweep, in.counts("micro-batches of the curves", kMicroBatches));
  COX_TRY(const auto devices, in.list("device memory", Dimension::Size));
  COX_TRY(const double headroom, in.ratio("headroom", {.above = -1e-9, .most = 0.9}));
  std::vector<Way> ways;
  for (const int p : stages)
    for (const int m : sweep)
      for (const auto& [schedule, of] :
           {std::pair{PipelineSchedule::GPipe, "GPipe"}, std::pair{kOneForwardOneBackward, "1F1B"}})
        for (const bool recompute : {false, true}) {
          const Job cut = recompute ? job.in_stages(p).that_recomputes() : job.in_stages(p);
          const PipelineRun run = run_pipeline(cut.plan(schedule, m));
          const double live = run.peak_live.front();
          ways.push_back({.stages = p,
                          .micro_batches = m,
                          .schedule = of,
                          .recompute = recompute,
                          .use = m * (job.forward + job.backward) * job.stages / p / run.makespan,
                          .memory = recompute ? cut.recomputed(live) : cut.kept(live)});
        }
  const std::vector<Way> best = pareto_set(ways);
  ValueTable table{.title = "Use against memory",
                   .says = {},
                   .columns = {"activations per device", "use", "stages", "micro-batches", "schedule",
                               "activations", "fits"},
                   .rows = {}};
  double in_first = 0;
  for (const Way& w : best) {
    std::string fits;
    for (const WrittenQuantity& d : devices) {
      if (!Memory{.device = d, .headroom = headroom}.holds(w.memory)) continue;
      fits += (fits.empty() ? "" : ", ") + d.text;
      if (d.text == devices.front().text) in_first = std::max(in_first, w.use);
    }
    table.rows.push_back({to_string(w.memory), to_string(Quantity::ratio(w.use)), fmt::format("{}", w.stages),
                          fmt::format("{}", w.micro_batches), w.schedule, w.recompute ? "recomputed" : "kept",
                          fits.empty() ? "none" : fits});
  }
  add(out, "ways", Quantity::count(static_cast<double>(ways.size())), kReplay);
  add(out, "ways-that-none-beats", Quantity::count(static_cast<double>(best.size())), kReplay);
  add(out, "best-use-in-the-first-device", Quantity::ratio(in_first), kReplay);
  table.says = fmt::format(
      "{} of {} ways to cut the {} layers are beaten by no other in both use and memory. Devices of {} allow a use of up "
      "to {}.",
      best.size(), ways.size(), job.layers, devices.front().text, to_string(Quantity::ratio(in_first)));
  out.tables.push_back(std::move(table));
  return {};
}

/// What the source says about single jobs.
Status add_claims(Computation& out, const Inputs& in) {
  COX_TRY(const int stages, in.count("stages of the PaLM claim", kStages));
  COX_TRY(const int m, in.count("micro-batches of the PaLM claim", kMicroBatches));
  COX_TRY(const int batches, in.count("micro-batches of the batch claim", kMicroBatches));
  COX_TRY(const int replicas, in.count("replicas of the batch claim"));
  COX_TRY(const int samples, in.count("samples per micro-batch"));
  COX_TRY(const std::vector<double> uses, in.ratios("uses of the three dimensions", RatioBetween{}));
  add(out, "utilisation-of-the-palm-claim",
      Quantity::ratio(1 -
                      run_pipeline(equal_stages(PipelineSchedule::GPipe, stages, m, Seconds{1}, Seconds{2}))
                          .bubble_ratio),
      kReplay);
  add(out, "global-batch", Quantity::count(static_cast<double>(samples) * batches * replicas), kClosedForm);
  double together = 1;
  for (const double use : uses) together *= use;
  add(out, "use-of-the-three-dimensions", Quantity::ratio(together), kClosedForm);
  return {};
}

}  // namespace

Result<Computation> compute_pipeline(const Inputs& in, const ComputeOptions& /*options*/) {
  COX_TRY(const Job job, job_of(in));
  Computation out;
  COX_CHECK(add_sweep(out, in, job));
  COX_CHECK(add_other_stages(out, in));
  COX_CHECK(add_slow_stage(out, in, job));
  COX_CHECK(add_interleaving(out, in, job));
  COX_CHECK(add_transfers(out, in, job));
  COX_CHECK(add_memory(out, in, job));
  COX_CHECK(add_pareto(out, in, job));
  COX_CHECK(add_claims(out, in));
  out.notes = {"Transfers between stages cost nothing but where they are asked about.",
               "1F1B holds min(p - s, m) micro-batches on stage s, GPipe all m; their bubbles are equal.",
               "Recomputed: inputs of segments of layers are kept, and one segment's activations while it is "
               "computed again; the segments' length is the one that needs least."};
  return out;
}

}  // namespace cox::study
