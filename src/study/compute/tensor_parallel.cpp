// SPDX-License-Identifier: Apache-2.0
// Tensor parallelism: C.17.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "study/compute/computations.hpp"
#include "study/runs/collective_run.hpp"
#include "study/runs/split_check.hpp"

namespace cox::study {
namespace {

using model::Collective;

/// What a step consists of.
struct Layers {
  int count = 0;
  int all_reduces = 0;  ///< per layer
  Bytes message{};      ///< activations of one all-reduce
  Seconds compute{};    ///< of the whole step on one device, at the peak
  double share_of_peak = 1;
};

/// A ring of one direction without latency.
Result<Seconds> ring_time(Collective kind, int devices, Bytes bytes, Bandwidth link) {
  return idle_time({.kind = kind, .algorithm = model::Algorithm::Ring, .ranks = devices, .bytes = bytes},
                   uniform_links(Seconds{0}, link));
}

/// Of a layer: four projections of attention and two matrices between h and `wide` h.
double parameters_of(int hidden, int wide) {
  return (4.0 + 2.0 * wide) * hidden * hidden;
}

/// On one device at its peak: 2 operations per parameter and token forward, 4 backward.
Seconds step_compute(int hidden, int wide, int layers, double tokens, FlopRate peak) {
  return Flops{6 * parameters_of(hidden, wide) * tokens * layers} / peak;
}

/// The all-reduces of a step over `devices`, and what they are beside the compute.
Status add_communication(Computation& out, const std::string& suffix, int devices, const Layers& layers,
                         Bandwidth link) {
  const double count = static_cast<double>(layers.all_reduces) * layers.count;
  const model::CollectiveSpec ring = all_reduce(model::Algorithm::Ring, devices, layers.message);
  COX_TRY(const Seconds one,
          checked_time(out, fmt::format("ring over {}", devices), ring, uniform_links(Seconds{0}, link)));
  COX_TRY(const Bytes sent, most_sent(ring));
  add(out, "sent-per-device" + suffix, Quantity(Dimension::Size, count * static_cast<double>(sent.count())),
      kSchedule);
  add(out, "communication" + suffix, Quantity::of(count * one), kMaxPlus);
  add(out, "communication-over-compute" + suffix, Quantity::ratio(count * one / (layers.compute / devices)),
      kMaxPlus);
  return {};
}

/// One collective of a split, of so many times the message.
struct Part {
  Collective kind = Collective::AllReduce;
  int messages = 1;
};
/// A way to split a block of two matrices, the first of which is `wide` times as wide as its input.
struct Split {
  const char* name;
  std::vector<Part> forward;
  std::vector<Part> backward;
};
std::vector<Split> splits_of_a_block(int wide) {
  using enum Collective;
  return {{.name = "by columns, gathered",
           .forward = {{AllGather, wide}, {AllGather, 1}},
           .backward = {{AllReduce, wide}, {AllReduce, 1}}},
          {.name = "by rows",
           .forward = {{AllReduce, wide}, {AllReduce, 1}},
           .backward = {{AllGather, wide}, {AllGather, 1}}},
          {.name = "columns, then rows", .forward = {{AllReduce, 1}}, .backward = {{AllReduce, 1}}},
          {.name = "the same, scattered between",
           .forward = {{AllGather, 1}, {ReduceScatter, 1}},
           .backward = {{AllGather, 1}, {ReduceScatter, 1}}}};
}

/// Time and bytes that each device sends.
struct Traffic {
  Seconds time{};
  Bytes sent{};
};
Result<Traffic> traffic_of(const std::vector<Part>& parts, int devices, Bytes message, Bandwidth link) {
  Traffic out;
  for (const Part& p : parts) {
    const Bytes bytes = p.messages * message;
    COX_TRY(const Seconds time, ring_time(p.kind, devices, bytes, link));
    COX_TRY(
        const Bytes sent,
        most_sent({.kind = p.kind, .algorithm = model::Algorithm::Ring, .ranks = devices, .bytes = bytes}));
    out.time += time;
    out.sent += sent;
  }
  return out;
}

/// The collectives of each split of one block, forward and backward.
Status add_splits(Computation& out, int wide, int devices, Bytes message, Bandwidth link) {
  ValueTable table{.title = "Ways to split a block of two matrices",
                   .says = {},
                   .columns = {"split", "forward, sent", "forward", "backward, sent", "backward"},
                   .rows = {}};
  Seconds least{std::numeric_limits<double>::infinity()};
  Seconds most{};
  const std::vector<Split> splits = splits_of_a_block(wide);
  std::vector<Seconds> times;
  for (const Split& s : splits) {
    COX_TRY(const Traffic forward, traffic_of(s.forward, devices, message, link));
    COX_TRY(const Traffic backward, traffic_of(s.backward, devices, message, link));
    times.push_back(forward.time + backward.time);
    least = std::min(least, times.back());
    most = std::max(most, times.back());
    add(out, fmt::format("block-{}", s.name), Quantity::of(times.back()), kMaxPlus);
    table.rows.push_back({s.name, to_string(Quantity::of(forward.sent)), cell_of(forward.time),
                          to_string(Quantity::of(backward.sent)), cell_of(backward.time)});
  }
  out.checks.push_back({.name = "an all-reduce is a reduce-scatter and an all-gather",
                        .engine = Quantity::of(times[3]),
                        .oracle = Quantity::of(times[2])});
  // Whole activations of the wide and of the narrow matrix, gathered once and all-reduced once, in units of one.
  out.checks.push_back(
      {.name = "splitting each matrix alone moves 1.5 (w + 1) times what a pair moves over 2",
       .engine = Quantity::ratio(times[0] / times[2]),
       .oracle = Quantity::ratio(1.5 * (wide + 1) / 2)});
  table.says = fmt::format(
      "Rings over {} devices, {} of activations, the inner ones {} times as wide. A split of each matrix alone takes {}, of "
      "both together {}: between the two nothing has to be put together. An all-reduce costs as much as a reduce-scatter "
      "and an all-gather; scattered between, each device also keeps only a part of the activations.",
      devices, to_string(Quantity::of(message)), wide, cell_of(most), cell_of(least));
  out.tables.push_back(std::move(table));
  return {};
}

/// How far a split block's numbers are from those in one piece.
void add_split_check(Computation& out, int width, int wide, int devices) {
  const RandomStream draws(1, 0);
  const Weights first = draw_weights(wide * width, width, draws, 0);
  const Weights second = draw_weights(width, wide * width, draws, 1);
  const std::vector<float> x = draw_weights(1, width, draws, 2).values;
  const std::vector<float> whole = block_in_one_piece(first, second, x);
  const auto off = [&](BlockSplit split) {
    return Quantity::ratio(largest_difference(block_in_parts(first, second, x, split, devices), whole));
  };
  add(out, "numeric-difference-columns", off(BlockSplit::Columns), kDraws);
  add(out, "numeric-difference-rows", off(BlockSplit::Rows), kDraws);
  add(out, "numeric-difference-pair", off(BlockSplit::Pair), kDraws);
}

/// Devices against one device, compute at its share of the peak.
struct Scaling {
  Series inside{.name = "inside a node", .x = {}, .y = {}, .of = {}};
  Series between{.name = "between nodes", .x = {}, .y = {}, .of = {}};
};

/// What `ways` devices make of a step, inside a node and between nodes.
Result<Scaling> add_scaling(Computation& out, const Layers& layers, std::vector<int> ways, Bandwidth inside,
                            Bandwidth between, double target) {
  std::sort(ways.begin(), ways.end());
  ValueTable table{.title = "Devices that share a layer",
                   .says = {},
                   .columns = {"devices", "compute", "all-reduces inside", "speedup inside",
                               "all-reduces between", "speedup between"},
                   .rows = {}};
  Scaling series;
  const double count = static_cast<double>(layers.all_reduces) * layers.count;
  const Seconds alone = layers.compute / layers.share_of_peak;
  int within = 0;
  for (const int k : ways) {
    const Seconds compute = alone / k;
    COX_TRY(const Seconds one, ring_time(Collective::AllReduce, k, layers.message, inside));
    COX_TRY(const Seconds far, ring_time(Collective::AllReduce, k, layers.message, between));
    const double near_speedup = alone / (compute + count * one);
    const double far_speedup = alone / (compute + count * far);
    add(out, fmt::format("speedup-k{}", k), Quantity::ratio(near_speedup), kMaxPlus);
    add(out, fmt::format("speedup-between-nodes-k{}", k), Quantity::ratio(far_speedup), kMaxPlus);
    if (count * one / (compute + count * one) < target) within = k;
    table.rows.push_back({fmt::format("{}", k), cell_of(compute), cell_of(count * one),
                          fmt::format("{:.2f}x", near_speedup), cell_of(count * far),
                          fmt::format("{:.2f}x", far_speedup)});
    series.inside.x.push_back(k);
    series.inside.y.push_back(near_speedup);
    series.inside.of.push_back(fmt::format("speedup-k{}", k));
    series.between.x.push_back(k);
    series.between.y.push_back(far_speedup);
    series.between.of.push_back(fmt::format("speedup-between-nodes-k{}", k));
  }
  add(out, "most-devices-within-the-target", Quantity::count(within), kMaxPlus);
  table.says = fmt::format(
      "Compute at {} of the peak. Of these numbers: {} Between nodes the largest speedup is {:.2f}x.",
      cell_of_ratio(layers.share_of_peak),
      within > 0 ? fmt::format("inside a node the all-reduces stay below {} of the step up to {} devices.",
                               cell_of_ratio(target), within)
                 : fmt::format("inside a node the all-reduces take {} of the step or more for all of them.",
                               cell_of_ratio(target)),
      *std::max_element(series.between.y.begin(), series.between.y.end()));
  out.tables.push_back(std::move(table));
  return series;
}

}  // namespace

Result<Computation> compute_tensor_parallel(const Inputs& in, const ComputeOptions& /*options*/) {
  COX_TRY(const int hidden, in.count("hidden"));
  COX_TRY(const int layer_count, in.count("layers"));
  COX_TRY(const int split, in.count("devices", {.least = 2, .most = 4096}));
  COX_TRY(const std::vector<int> others, in.counts("other numbers of devices", {.least = 2, .most = 4096}));
  COX_TRY(const Bytes element_coded, in.size("bytes per element, as coded"));
  COX_TRY(const Bytes element, in.size("bytes per element"));
  COX_TRY(const int sequence, in.count("sequence"));
  COX_TRY(const int samples, in.count("samples"));
  COX_TRY(const int per_layer, in.count("all-reduces per layer", {.least = 1, .most = 64}));
  COX_TRY(const Quantity layer_work, in.quantity("work per layer, as coded", Dimension::Work));
  COX_TRY(const Quantity peak, in.quantity("peak", Dimension::WorkRate));
  COX_TRY(const double share_of_peak, in.ratio("share of the peak", RatioBetween{}));
  COX_TRY(const double target, in.ratio("target share of communication", RatioBetween{}));
  COX_TRY(const int wide, in.count("width of the inner layer", {.least = 1, .most = 64}));
  COX_TRY(const int check_width, in.count("width of the numeric check", {.least = 1, .most = 1024}));
  COX_TRY(const Bandwidth inside, in.rate("bandwidth inside a node"));
  COX_TRY(const Bandwidth both_ways, in.rate("bandwidth, both directions"));
  COX_TRY(const Bandwidth between, in.rate("bandwidth between nodes"));
  Computation out;
  const Layers layers{.count = layer_count,
                      .all_reduces = per_layer,
                      .message = element * (std::int64_t{samples} * sequence * hidden),
                      .compute = step_compute(hidden, wide, layer_count, double{1} * samples * sequence,
                                              FlopRate::flops_per_s(peak.in_base_unit())),
                      .share_of_peak = share_of_peak};
  const double count = static_cast<double>(per_layer) * layer_count;
  const Seconds compute = layers.compute / split;
  add(out, "message", Quantity::of(layers.message), kClosedForm);
  add(out, "compute", Quantity::of(compute), kClosedForm);
  add(out, "parameters-per-layer", Quantity::count(parameters_of(hidden, wide)), kClosedForm);
  const double coded = 2.0 * hidden * static_cast<double>(element_coded.count()) * layer_count;
  const double coded_work = layer_work.in_base_unit() * layer_count;
  add(out, "as-coded-per-token", Quantity(Dimension::Size, coded), kClosedForm);
  add(out, "work-as-coded", Quantity(Dimension::Work, coded_work), kClosedForm);
  // Bytes over operations times operations per second, as the source has it.
  add(out, "overhead-as-coded", Quantity::ratio(coded / (coded_work * peak.in_base_unit() / split)),
      kClosedForm);
  COX_CHECK(add_communication(out, "", split, layers, inside));
  std::vector<int> ways = {split};
  for (const int k : others) {
    COX_CHECK(add_communication(out, fmt::format("-k{}", k), k, layers, inside));
    ways.push_back(k);
  }
  COX_TRY(const Seconds summed, ring_time(Collective::AllReduce, split, layers.message, both_ways));
  COX_TRY(const Seconds outside, ring_time(Collective::AllReduce, split, layers.message, between));
  add(out, "communication-over-compute-both-directions", Quantity::ratio(count * summed / compute), kMaxPlus);
  add(out, "communication-over-compute-between-nodes", Quantity::ratio(count * outside / compute), kMaxPlus);
  COX_TRY(Scaling scaling, add_scaling(out, layers, ways, inside, between, target));
  COX_CHECK(add_splits(out, wide, split, layers.message, inside));
  add_split_check(out, check_width, wide, split);
  out.notes = {
      "Rings of one direction without latency. Communication over compute: at the peak, so the shares are the "
      "least favourable to communication; speedups: at the share of the peak that is an input.",
      "The source's code has neither tokens nor the number of devices in its volume, and divides bytes by a product "
      "of operations and operations per second.",
      "The numeric check multiplies one token with both matrices of a block, in float sums, in one piece and split: "
      "by columns nothing is added in another order, by rows and in a pair each device's sum is."};
  out.picture = {.title = "Speedup by tensor parallelism",
                 .x_label = "devices that share a layer",
                 .y_label = "times one device",
                 .x_is_log = true,
                 .series = {std::move(scaling.inside), std::move(scaling.between)}};
  return out;
}

}  // namespace cox::study
