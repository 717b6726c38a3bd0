// SPDX-License-Identifier: Apache-2.0
// Which all-reduce on which links: the worked examples 5 and 8.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "study/compute/computations.hpp"
#include "study/runs/collective_run.hpp"
#include "study/runs/flow_run.hpp"
#include "study/runs/step_run.hpp"

namespace cox::study {
namespace {

using model::Algorithm;

constexpr Between kRanks{.least = 2, .most = 4096};

}  // namespace

Result<Computation> compute_ring_pattern(const Inputs& in, const ComputeOptions& /*options*/) {
  COX_TRY(const int workers, in.count("workers", kRanks));
  COX_TRY(const Bytes gradients, in.size("gradients"));
  COX_TRY(const Bytes compressed, in.size("compressed gradients"));
  COX_TRY(const Bandwidth bandwidth, in.rate("bandwidth"));
  COX_TRY(const Bandwidth slow, in.rate("bandwidth of the slow link"));
  COX_TRY(const int many, in.count("more workers", kRanks));
  COX_TRY(const Seconds latency, in.time("latency of a step"));
  const simulate::LinkCosts links = uniform_links(Seconds{0}, bandwidth);
  simulate::LinkCosts one_slow = links;
  one_slow.into.assign(static_cast<std::size_t>(workers), links.across);
  one_slow.into.back().per_byte = slow.time_per_byte();
  const model::CollectiveSpec ring = all_reduce(Algorithm::Ring, workers, gradients);
  const model::CollectiveSpec small = all_reduce(Algorithm::Ring, workers, compressed);
  const model::CollectiveSpec large = all_reduce(Algorithm::Ring, many, gradients);
  Computation out;
  COX_TRY(const model::Schedule schedule, model::Schedule::make(ring));
  COX_TRY(const model::Schedule longer, model::Schedule::make(large));
  COX_TRY(const Seconds time, checked_time(out, "ring", ring, links));
  COX_TRY(const Seconds slow_time, idle_time(ring, one_slow));
  COX_TRY(const Seconds small_time, checked_time(out, "ring, compressed", small, links));
  COX_TRY(const Seconds small_slow, idle_time(small, one_slow));
  COX_TRY(const Seconds large_time, checked_time(out, "ring, more workers", large, links));
  COX_TRY(const Seconds latencies,
          checked_time(out, "ring, latency", all_reduce(Algorithm::Ring, many, Bytes{0}),
                       uniform_links(latency, bandwidth)));
  COX_TRY(const Bytes sent, most_sent(ring));
  COX_TRY(const Bytes sent_large, most_sent(large));
  model::CollectiveSpec star = all_reduce(Algorithm::ParameterServer, workers, gradients);
  COX_TRY(const model::Schedule star_schedule, model::Schedule::make(star));
  const std::vector<Bytes> star_sent = model::bytes_sent(star_schedule);
  add(out, "time", Quantity::of(time), kMaxPlus);
  add(out, "steps-per-phase", Quantity::count(static_cast<double>(schedule.rounds()) / 2), kSchedule);
  add(out, "sent-per-worker", Quantity::of(sent), kSchedule);
  add(out, "sent-and-received-per-worker", Quantity::of(2 * sent), kSchedule);
  add(out, "over-the-lower-bound",
      Quantity::ratio(static_cast<double>(sent.count()) /
                      (2.0 * (workers - 1) / workers * static_cast<double>(gradients.count()))),
      kSchedule);
  add(out, "star-per-worker", Quantity::of(2 * star_sent.front()), kSchedule);
  add(out, "star-at-the-centre", Quantity::of(2 * star_sent.back()), kSchedule);
  add(out, "time-with-a-slow-link", Quantity::of(slow_time), kMaxPlus);
  add(out, "time-compressed", Quantity::of(small_time), kMaxPlus);
  add(out, "time-compressed-with-a-slow-link", Quantity::of(small_slow), kMaxPlus);
  add(out, "steps-of-more-workers", Quantity::count(static_cast<double>(longer.rounds())), kSchedule);
  add(out, "time-of-more-workers", Quantity::of(large_time), kMaxPlus);
  add(out, "latency-of-more-workers", Quantity::of(latencies), kMaxPlus);
  add(out, "sent-and-received-of-more-workers", Quantity::of(2 * sent_large), kSchedule);
  Series bars{.name = "time",
              .x = {},
              .y = {},
              .of = {"time", "time-with-a-slow-link", "time-compressed", "time-compressed-with-a-slow-link",
                     "time-of-more-workers"}};
  for (const Seconds t : {time, slow_time, small_time, small_slow, large_time})
    bars.y.push_back(t.count() * 1e3);
  out.picture = {.kind = Picture::Kind::Bars,
                 .title = fmt::format("Ring all-reduce of {}", to_string(Quantity::of(gradients))),
                 .x_label = "",
                 .y_label = "ms",
                 .y_is_log = true,
                 .series = {std::move(bars)},
                 .categories = {fmt::format("{} ranks", workers), "one slow link", "compressed", "both",
                                fmt::format("{} ranks", many)}};
  return out;
}

Result<Computation> compute_shared_uplink(const Inputs& in, const ComputeOptions& /*options*/) {
  COX_TRY(const int workers, in.count("workers", kRanks));
  COX_TRY(const int group, in.count("workers per switch", kRanks));
  COX_TRY(const Bytes gradients, in.size("gradients"));
  COX_TRY(const Seconds compute, in.time("compute"));
  COX_TRY(const Bandwidth fast, in.rate("InfiniBand, as stated"));
  COX_TRY(const Bandwidth uplink, in.rate("uplink"));
  COX_TRY(const Bandwidth inside, in.rate("bandwidth inside a node"));
  COX_TRY(const int many, in.count("more workers", kRanks));
  COX_TRY(const Seconds said, in.time("all-reduce, as printed"));
  COX_TRY(const Bandwidth said_share, in.rate("share of the uplink, as printed"));
  COX_TRY(const Bytes compressed, in.size("compressed gradients"));
  COX_TRY(const int local_steps, in.count("local steps"));
  COX_TRY(const double batch_factor, in.ratio("larger batch"));
  COX_TRY(const Seconds rule_comm, in.time("all-reduce of the rule"));
  COX_TRY(const Seconds rule_compute, in.time("compute of the rule"));
  COX_TRY(const Seconds before, in.time("time on 16"));
  COX_TRY(const Seconds after, in.time("time on 1024"));
  const Seconds none{0};
  const simulate::LinkCosts share = uniform_links(none, uplink * (1.0 / group));
  const simulate::LinkCosts as_printed = uniform_links(none, said_share);
  model::CollectiveSpec two_level = all_reduce(Algorithm::Hierarchical2, workers, gradients);
  two_level.group = group;
  const model::CollectiveSpec ring = all_reduce(Algorithm::Ring, workers, gradients);
  const simulate::LinkCosts nvlink = uniform_links(none, inside);
  Computation out;
  COX_TRY(const Seconds ideal, checked_time(out, "ring, no shared link", ring, uniform_links(none, fast)));
  COX_TRY(const Seconds split, checked_time(out, "ring, uplink split", ring, share));
  const model::Cluster cluster = one_nic_cluster(workers / group, group, {none, inside}, {none, uplink});
  COX_TRY(const Seconds flat, shared_time(ring, cluster));
  COX_TRY(const Seconds levels, shared_time(two_level, cluster));
  COX_TRY(const Seconds flat_alone,
          idle_time(ring, two_level_links(nvlink, uniform_links(none, uplink), group)));
  COX_TRY(const Seconds levels_evenly, idle_time(two_level, two_level_links(nvlink, share, group)));
  out.checks.push_back({.name = "ring in node order: shared links against links of its own",
                        .engine = Quantity::of(flat),
                        .oracle = Quantity::of(flat_alone)});
  out.checks.push_back({.name = "two levels: shared links against a bandwidth divided by the devices",
                        .engine = Quantity::of(levels),
                        .oracle = Quantity::of(levels_evenly)});
  COX_TRY(const Seconds more,
          checked_time(out, "ring, more workers", all_reduce(Algorithm::Ring, many, gradients), as_printed));
  COX_TRY(const Seconds more_small,
          checked_time(out, "ring, compressed", all_reduce(Algorithm::Ring, many, compressed), as_printed));
  const auto step_of = [&](Seconds comm, Seconds work) {
    return run_step({.forward = Seconds{0},
                     .backward = {work},
                     .buckets = {{.ready_after = 1, .all_reduce = comm}}})
        .step;
  };
  add(out, "ideal-ring", Quantity::of(ideal), kMaxPlus);
  add(out, "share-of-the-uplink", Quantity::of(uplink * (1.0 / group)), kClosedForm);
  add(out, "ring-uplink-split", Quantity::of(split), kMaxPlus);
  add(out, "ring-in-node-order", Quantity::of(flat), kFlow);
  add(out, "two-levels", Quantity::of(levels), kFlow);
  add(out, "share-of-compute-as-printed", Quantity::ratio(said / compute), kClosedForm);
  add(out, "share-of-step-as-printed", Quantity::ratio(said / step_of(said, compute)), kReplay);
  add(out, "share-of-step", Quantity::ratio(flat / step_of(flat, compute)), kReplay);
  add(out, "ring-of-more-workers", Quantity::of(more), kMaxPlus);
  add(out, "ring-of-more-workers-compressed", Quantity::of(more_small), kMaxPlus);
  add(out, "larger-batch-share", Quantity::ratio(said / (batch_factor * compute)), kClosedForm);
  add(out, "local-steps", Quantity::of(said / local_steps), kClosedForm);
  add(out, "rule-share-of-compute", Quantity::ratio(rule_comm / rule_compute), kClosedForm);
  add(out, "rule-share-of-step", Quantity::ratio(rule_comm / step_of(rule_comm, rule_compute)), kReplay);
  add(out, "speedup-16-to-1024", Quantity::ratio(before / after), kClosedForm);
  add(out, "efficiency-16-to-1024", Quantity::ratio(before / after / 64), kClosedForm);
  Series bars{.name = "time",
              .x = {},
              .y = {},
              .of = {"ideal-ring", "ring-uplink-split", "ring-in-node-order", "two-levels"}};
  for (const Seconds t : {ideal, split, flat, levels}) bars.y.push_back(t.count() * 1e3);
  out.notes = {"In node order a ring crosses each uplink once in each direction, so nothing shares it.",
               "Two levels: the devices of a node send their parts at the same time and share its uplink."};
  out.picture = {
      .kind = Picture::Kind::Bars,
      .title = fmt::format("All-reduce of {} over {} devices", to_string(Quantity::of(gradients)), workers),
      .x_label = "",
      .y_label = "ms",
      .series = {std::move(bars)},
      .categories = {"full links", "uplink split by 8", "ring in node order", "two levels"}};
  return out;
}

}  // namespace cox::study
