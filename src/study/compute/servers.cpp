// SPDX-License-Identifier: Apache-2.0
// Parameter servers against rings: C.11 and worked example 6.
#include <fmt/format.h>

#include "study/compute/collective_run.hpp"
#include "study/compute/computations.hpp"

namespace cox::study {
namespace {

using model::Algorithm;

constexpr Between kRanks{.least = 2, .most = 4096};

model::CollectiveSpec push_and_pull(int workers, int servers, Bytes bytes) {
  model::CollectiveSpec spec = all_reduce(Algorithm::ParameterServer, workers, bytes);
  spec.servers = servers;
  return spec;
}

}  // namespace

Result<Computation> compute_server_against_all_reduce(const Inputs& in, const ComputeOptions& /*options*/) {
  COX_TRY(const int workers, in.count("workers", kRanks));
  COX_TRY(const Bytes gradients, in.size("gradients"));
  COX_TRY(const int shards, in.count("shards", kRanks));
  COX_TRY(const Bandwidth stated, in.rate("bandwidth"));
  COX_TRY(const Bandwidth meant, in.rate("bandwidth if it is bits"));
  COX_TRY(const std::vector<int> sweep, in.counts("shard counts", {.least = 1, .most = 4096}));
  COX_TRY(const Bytes model_size, in.size("model of the 100 Gbps claim"));
  COX_TRY(const Bandwidth slow, in.rate("bandwidth of the 100 Gbps claim"));
  const Seconds none{0};
  Computation out;
  const model::CollectiveSpec server = push_and_pull(workers, shards, gradients);
  const model::CollectiveSpec ring = all_reduce(Algorithm::Ring, workers, gradients);
  COX_TRY(const Seconds server_time, checked_time(out, "servers", server, uniform_links(none, stated)));
  COX_TRY(const Seconds ring_time, checked_time(out, "ring", ring, uniform_links(none, stated)));
  COX_TRY(const Seconds server_bits, checked_time(out, "servers, bits", server, uniform_links(none, meant)));
  COX_TRY(const Seconds ring_bits, checked_time(out, "ring, bits", ring, uniform_links(none, meant)));
  COX_TRY(const Seconds one,
          checked_time(out, "one server", push_and_pull(workers, 1, gradients), uniform_links(none, stated)));
  COX_TRY(const Seconds large,
          checked_time(out, "1 GB", push_and_pull(workers, shards, model_size), uniform_links(none, slow)));
  add(out, "servers", Quantity::of(server_time), kMaxPlus);
  add(out, "ring", Quantity::of(ring_time), kMaxPlus);
  add(out, "servers-over-ring", Quantity::ratio(server_time / ring_time), kMaxPlus);
  add(out, "servers-if-bits", Quantity::of(server_bits), kMaxPlus);
  add(out, "ring-if-bits", Quantity::of(ring_bits), kMaxPlus);
  add(out, "one-server", Quantity::of(one), kMaxPlus);
  add(out, "one-server-over-ring", Quantity::ratio(one / ring_time), kMaxPlus);
  add(out, "ring-over-servers-efficiency", Quantity::ratio(ring_time / server_time), kMaxPlus);
  add(out, "efficiency-by-its-formula", Quantity::ratio(1 / (1 + static_cast<double>(workers - 1) / shards)),
      kClosedForm);
  add(out, "one-gigabyte-at-100-gbps", Quantity::of(large), kMaxPlus);
  out.checks.push_back(
      {.name = "servers over ring is N^2 / ((N - 1) S)",
       .engine = Quantity::ratio(server_time / ring_time),
       .oracle = Quantity::ratio(static_cast<double>(workers) * workers / ((workers - 1.0) * shards)),
       .limit_ratio = 1e-4});
  Series curve{.name = "servers over ring", .x = {}, .y = {}};
  for (const int s : sweep) {
    COX_TRY(const Seconds t, idle_time(push_and_pull(workers, s, gradients), uniform_links(none, stated)));
    add(out, fmt::format("servers-over-ring-s{}", s), Quantity::ratio(t / ring_time), kMaxPlus);
    curve.x.push_back(s);
    curve.y.push_back(t / ring_time);
  }
  out.notes = {
      "All workers push at once; a shard takes one message after the other at its link's rate and answers "
      "when it has all. No latency: the source gives none."};
  out.picture = {.title = fmt::format("Time of push and pull over that of a ring, {} workers", workers),
                 .x_label = "shards",
                 .y_label = "ratio",
                 .x_is_log = true,
                 .y_is_log = true,
                 .series = {std::move(curve)}};
  return out;
}

Result<Computation> compute_single_server(const Inputs& in, const ComputeOptions& /*options*/) {
  COX_TRY(const int workers, in.count("workers", kRanks));
  COX_TRY(const Bytes gradients, in.size("gradients"));
  COX_TRY(const Bandwidth slow, in.rate("link, slow"));
  COX_TRY(const Bandwidth fast, in.rate("link, fast"));
  COX_TRY(const Seconds update, in.time("update"));
  COX_TRY(const int many, in.count("more workers", kRanks));
  COX_TRY(const Bandwidth rare, in.rate("uplink of the server"));
  COX_TRY(const int shards, in.count("shards", kRanks));
  COX_TRY(const auto said_ring, in.size("ring traffic, as printed"));
  COX_TRY(const auto reported, in.ratio("reported speedup"));
  COX_TRY(const int cores, in.count("cores of the report"));
  const Seconds none{0};
  Computation out;
  const model::CollectiveSpec one = push_and_pull(workers, 1, gradients);
  const model::CollectiveSpec ring = all_reduce(Algorithm::Ring, workers, gradients);
  COX_TRY(const Seconds both, checked_time(out, "server", one, uniform_links(none, fast)));
  COX_TRY(const Seconds ring_slow, checked_time(out, "ring, slow", ring, uniform_links(none, slow)));
  COX_TRY(const Seconds ring_many,
          checked_time(out, "ring, more workers", all_reduce(Algorithm::Ring, many, gradients),
                       uniform_links(none, slow)));
  COX_TRY(const Seconds many_one, checked_time(out, "server, more workers", push_and_pull(many, 1, gradients),
                                               uniform_links(none, rare)));
  COX_TRY(const Seconds many_sharded,
          checked_time(out, "shards, more workers", push_and_pull(many, shards, gradients),
                       uniform_links(none, fast)));
  COX_TRY(const Bytes sent, most_sent(ring));
  const Seconds push = both / 2;
  add(out, "received", Quantity::of(gradients * workers), kClosedForm);
  add(out, "incoming-rate", Quantity::of(slow * workers), kClosedForm);
  add(out, "aggregate-rate", Quantity::of(fast * workers), kClosedForm);
  add(out, "push-by-the-servers-own-link", Quantity::of(push), kMaxPlus);
  add(out, "push-if-the-server-takes-all-links",
      Quantity::of((fast * workers).time_per_byte().over(gradients * workers)), kClosedForm);
  add(out, "step-with-its-own-parts",
      Quantity::of(2 * (fast * workers).time_per_byte().over(gradients * workers) + update), kClosedForm);
  add(out, "push-and-pull", Quantity::of(both), kMaxPlus);
  add(out, "ring-sent-per-worker", Quantity::of(sent), kSchedule);
  add(out, "ring-on-slow-links", Quantity::of(ring_slow), kMaxPlus);
  add(out, "ring-of-more-workers-on-slow-links", Quantity::of(ring_many), kMaxPlus);
  add(out, "printed-ring-traffic-on-slow-links", Quantity::of(slow.time_per_byte().over(said_ring)),
      kClosedForm);
  add(out, "push-of-more-workers", Quantity::of(many_one / 2), kMaxPlus);
  add(out, "push-of-more-workers-sharded", Quantity::of(many_sharded / 2), kMaxPlus);
  add(out, "server-over-ring-of-more-workers", Quantity::ratio(many_one / 2 / ring_many), kMaxPlus);
  add(out, "efficiency-of-the-report", Quantity::ratio(reported / cores), kClosedForm);
  Series bars{.name = "time", .x = {}, .y = {}};
  for (const Seconds t : {both, many_one, many_sharded, ring_slow, ring_many}) bars.y.push_back(t.count());
  out.notes = {
      "Push is half of push and pull: the server answers once it has everything, and both ways are alike."};
  out.picture = {.kind = Picture::Kind::Bars,
                 .title = fmt::format("One step's traffic of {}", to_string(Quantity::of(gradients))),
                 .x_label = "",
                 .y_label = "s",
                 .y_is_log = true,
                 .series = {std::move(bars)},
                 .categories = {"1 server", fmt::format("{} workers", many), fmt::format("{} shards", shards),
                                "ring, slow", "ring, slow, more"}};
  return out;
}

}  // namespace cox::study
