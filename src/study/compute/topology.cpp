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

/// Bytes of a ring and of a star, counted on their messages.
Status add_sent(Computation& out, const model::CollectiveSpec& ring) {
  COX_TRY(const model::Schedule schedule, model::Schedule::make(ring));
  COX_TRY(const Bytes sent, most_sent(ring));
  model::CollectiveSpec star = all_reduce(Algorithm::ParameterServer, ring.ranks, ring.bytes);
  COX_TRY(const model::Schedule star_schedule, model::Schedule::make(star));
  const std::vector<Bytes> star_sent = model::bytes_sent(star_schedule);
  add(out, "steps-per-phase", Quantity::count(static_cast<double>(schedule.rounds()) / 2), kSchedule);
  add(out, "sent-per-worker", Quantity::of(sent), kSchedule);
  add(out, "sent-and-received-per-worker", Quantity::of(2 * sent), kSchedule);
  add(out, "over-the-lower-bound",
      Quantity::ratio(static_cast<double>(sent.count()) /
                      (2.0 * (ring.ranks - 1) / ring.ranks * static_cast<double>(ring.bytes.count()))),
      kSchedule);
  add(out, "star-per-worker", Quantity::of(2 * star_sent.front()), kSchedule);
  add(out, "star-at-the-centre", Quantity::of(2 * star_sent.back()), kSchedule);
  return {};
}

/// What is asked of devices behind uplinks that they share.
struct Uplinks {
  int workers = 0;
  int group = 0;  ///< per switch
  Bytes gradients{};
  Seconds compute{};
  Bandwidth fast{};
  Bandwidth uplink{};
  Bandwidth inside{};
};
Result<Uplinks> uplinks_in(const Inputs& in) {
  Uplinks u;
  COX_TRY(u.workers, in.count("workers", kRanks));
  COX_TRY(u.group, in.count("workers per switch", kRanks));
  COX_TRY(u.gradients, in.size("gradients"));
  COX_TRY(u.compute, in.time("compute"));
  COX_TRY(u.fast, in.rate("InfiniBand, as stated"));
  COX_TRY(u.uplink, in.rate("uplink"));
  COX_TRY(u.inside, in.rate("bandwidth inside a node"));
  return u;
}

/// The source's numbers, and what follows from them alone.
struct AsPrinted {
  int many = 0;
  Seconds said{};
  Bandwidth share{};
  Bytes compressed{};
  int local_steps = 0;
  double batch_factor = 0;
  Seconds rule_comm{};
  Seconds rule_compute{};
  Seconds before{};
  Seconds after{};
};
Result<AsPrinted> printed_in(const Inputs& in) {
  AsPrinted p;
  COX_TRY(p.many, in.count("more workers", kRanks));
  COX_TRY(p.said, in.time("all-reduce, as printed"));
  COX_TRY(p.share, in.rate("share of the uplink, as printed"));
  COX_TRY(p.compressed, in.size("compressed gradients"));
  COX_TRY(p.local_steps, in.count("local steps"));
  COX_TRY(p.batch_factor, in.ratio("larger batch"));
  COX_TRY(p.rule_comm, in.time("all-reduce of the rule"));
  COX_TRY(p.rule_compute, in.time("compute of the rule"));
  COX_TRY(p.before, in.time("time on 16"));
  COX_TRY(p.after, in.time("time on 1024"));
  return p;
}

/// All-reduces behind the uplinks, and the checks of the shared ones.
struct BehindUplinks {
  Seconds ideal{};
  Seconds split{};
  Seconds flat{};
  Seconds levels{};
};
Result<BehindUplinks> behind_uplinks(Computation& out, const Uplinks& u) {
  const Seconds none{0};
  const simulate::LinkCosts share = uniform_links(none, u.uplink * (1.0 / u.group));
  model::CollectiveSpec two_level = all_reduce(Algorithm::Hierarchical2, u.workers, u.gradients);
  two_level.group = u.group;
  const model::CollectiveSpec ring = all_reduce(Algorithm::Ring, u.workers, u.gradients);
  const simulate::LinkCosts nvlink = uniform_links(none, u.inside);
  BehindUplinks b;
  COX_TRY(b.ideal, checked_time(out, "ring, no shared link", ring, uniform_links(none, u.fast)));
  COX_TRY(b.split, checked_time(out, "ring, uplink split", ring, share));
  const model::Cluster cluster =
      railed_cluster(u.workers / u.group, u.group, {none, u.inside}, {none, u.uplink}, 1);
  COX_TRY(b.flat, shared_time(ring, cluster));
  COX_TRY(b.levels, shared_time(two_level, cluster));
  COX_TRY(const Seconds flat_alone,
          idle_time(ring, two_level_links(nvlink, uniform_links(none, u.uplink), u.group)));
  COX_TRY(const Seconds levels_evenly, idle_time(two_level, two_level_links(nvlink, share, u.group)));
  out.checks.push_back({.name = "ring in node order: shared links against links of its own",
                        .engine = Quantity::of(b.flat),
                        .oracle = Quantity::of(flat_alone)});
  out.checks.push_back({.name = "two levels: shared links against a bandwidth divided by the devices",
                        .engine = Quantity::of(b.levels),
                        .oracle = Quantity::of(levels_evenly)});
  return b;
}

/// A step of `work`, then an all-reduce.
Seconds step_of(Seconds comm, Seconds work) {
  return run_step(
             {.forward = Seconds{0}, .backward = {work}, .buckets = {{.ready_after = 1, .all_reduce = comm}}})
      .step;
}

Picture picture_of(const BehindUplinks& b, const Uplinks& u) {
  Series bars{.name = "time",
              .x = {},
              .y = {},
              .of = {"ideal-ring", "ring-uplink-split", "ring-in-node-order", "two-levels"}};
  for (const Seconds t : {b.ideal, b.split, b.flat, b.levels}) bars.y.push_back(t.count() * 1e3);
  return {.kind = Picture::Kind::Bars,
          .title = fmt::format("All-reduce of {} over {} devices", to_string(Quantity::of(u.gradients)),
                               u.workers),
          .x_label = "",
          .y_label = "ms",
          .series = {std::move(bars)},
          .categories = {"full links", "uplink split by 8", "ring in node order", "two levels"}};
}

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
  COX_TRY(const model::Schedule longer, model::Schedule::make(large));
  COX_TRY(const Seconds time, checked_time(out, "ring", ring, links));
  COX_TRY(const Seconds slow_time, idle_time(ring, one_slow));
  COX_TRY(const Seconds small_time, checked_time(out, "ring, compressed", small, links));
  COX_TRY(const Seconds small_slow, idle_time(small, one_slow));
  COX_TRY(const Seconds large_time, checked_time(out, "ring, more workers", large, links));
  COX_TRY(const Seconds latencies,
          checked_time(out, "ring, latency", all_reduce(Algorithm::Ring, many, Bytes{0}),
                       uniform_links(latency, bandwidth)));
  COX_TRY(const Bytes sent_large, most_sent(large));
  add(out, "time", Quantity::of(time), kMaxPlus);
  COX_CHECK(add_sent(out, ring));
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
  COX_TRY(const Uplinks u, uplinks_in(in));
  COX_TRY(const AsPrinted p, printed_in(in));
  Computation out;
  COX_TRY(const BehindUplinks b, behind_uplinks(out, u));
  const simulate::LinkCosts as_printed = uniform_links(Seconds{0}, p.share);
  COX_TRY(const Seconds more, checked_time(out, "ring, more workers",
                                           all_reduce(Algorithm::Ring, p.many, u.gradients), as_printed));
  COX_TRY(
      const Seconds more_small,
      checked_time(out, "ring, compressed", all_reduce(Algorithm::Ring, p.many, p.compressed), as_printed));
  add(out, "ideal-ring", Quantity::of(b.ideal), kMaxPlus);
  add(out, "share-of-the-uplink", Quantity::of(u.uplink * (1.0 / u.group)), kClosedForm);
  add(out, "ring-uplink-split", Quantity::of(b.split), kMaxPlus);
  add(out, "ring-in-node-order", Quantity::of(b.flat), kFlow);
  add(out, "two-levels", Quantity::of(b.levels), kFlow);
  add(out, "share-of-compute-as-printed", Quantity::ratio(p.said / u.compute), kClosedForm);
  add(out, "share-of-step-as-printed", Quantity::ratio(p.said / step_of(p.said, u.compute)), kReplay);
  add(out, "share-of-step", Quantity::ratio(b.flat / step_of(b.flat, u.compute)), kReplay);
  add(out, "ring-of-more-workers", Quantity::of(more), kMaxPlus);
  add(out, "ring-of-more-workers-compressed", Quantity::of(more_small), kMaxPlus);
  add(out, "larger-batch-share", Quantity::ratio(p.said / (p.batch_factor * u.compute)), kClosedForm);
  add(out, "local-steps", Quantity::of(p.said / p.local_steps), kClosedForm);
  add(out, "rule-share-of-compute", Quantity::ratio(p.rule_comm / p.rule_compute), kClosedForm);
  add(out, "rule-share-of-step", Quantity::ratio(p.rule_comm / step_of(p.rule_comm, p.rule_compute)),
      kReplay);
  add(out, "speedup-16-to-1024", Quantity::ratio(p.before / p.after), kClosedForm);
  add(out, "efficiency-16-to-1024", Quantity::ratio(p.before / p.after / 64), kClosedForm);
  out.notes = {"In node order a ring crosses each uplink once in each direction, so nothing shares it.",
               "Two levels: the devices of a node send their parts at the same time and share its uplink."};
  out.picture = picture_of(b, u);
  return out;
}

}  // namespace cox::study
