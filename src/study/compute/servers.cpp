// SPDX-License-Identifier: Apache-2.0
// Parameter servers against rings: C.11 and worked example 6.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "cox/base/number_text.hpp"
#include "cox/simulate/training.hpp"

#include "study/compute/computations.hpp"
#include "study/runs/collective_run.hpp"
#include "study/runs/routing.hpp"
#include "study/runs/training_run.hpp"

namespace cox::study {
namespace {

using model::Algorithm;

constexpr Between kRanks{.least = 2, .most = 4096};

model::CollectiveSpec push_and_pull(int workers, int servers, Bytes bytes) {
  model::CollectiveSpec spec = all_reduce(Algorithm::ParameterServer, workers, bytes);
  spec.servers = servers;
  return spec;
}

/// Dense gradients of so many workers in so many shards, over one kind of link without latency.
struct Comparison {
  int workers = 0;
  int shards = 0;
  Bytes gradients{};
  Bandwidth link{};

  [[nodiscard]] Result<Seconds> servers(Bytes bytes) const {
    return idle_time(push_and_pull(workers, shards, bytes), uniform_links(Seconds{0}, link));
  }
  [[nodiscard]] Result<Seconds> ring() const {
    return idle_time(all_reduce(Algorithm::Ring, workers, gradients), uniform_links(Seconds{0}, link));
  }
  [[nodiscard]] Result<double> servers_over_ring() const {
    COX_TRY(const Seconds s, servers(gradients));
    COX_TRY(const Seconds r, ring());
    return s / r;
  }
};

/// Fewest workers from which on the servers take more than twice as long as a ring; nothing up to 4,096. With more
/// workers than shards the ratio grows with the workers.
Result<std::optional<int>> workers_for_twice(Comparison c) {
  const auto above = [&](int n) -> Result<bool> {
    c.workers = n;
    COX_TRY(const double at, c.servers_over_ring());
    return at > 2;
  };
  int low = std::max<int>(kRanks.least, c.shards + 1);
  int high = low;
  for (;; high = std::min<int>(2 * high, kRanks.most)) {
    COX_TRY(const bool there, above(high));
    if (there) break;
    if (high == kRanks.most) return std::optional<int>{};
    low = high + 1;
  }
  while (low < high) {
    const int middle = low + (high - low) / 2;
    COX_TRY(const bool there, above(middle));
    if (there)
      high = middle;
    else
      low = middle + 1;
  }
  return std::optional(high);
}

/// Over numbers of workers.
Result<Picture> add_workers(Computation& out, Comparison c, const std::vector<int>& sweep) {
  ValueTable table{.title = "Numbers of workers",
                   .says = {},
                   .columns = {"workers", "servers", "ring", "ratio"},
                   .rows = {}};
  Series servers{.name = fmt::format("{} shards", c.shards), .x = {}, .y = {}, .of = {}};
  Series rings{.name = "ring", .x = {}, .y = {}, .of = {}};
  const Comparison stated = c;
  double least = std::numeric_limits<double>::infinity();
  for (const int n : sweep) {
    c.workers = n;
    COX_TRY(const Seconds server, c.servers(c.gradients));
    COX_TRY(const Seconds ring, c.ring());
    add(out, fmt::format("servers-n{}", n), Quantity::of(server), kMaxPlus);
    add(out, fmt::format("ring-n{}", n), Quantity::of(ring), kMaxPlus);
    table.rows.push_back(
        {fmt::format("{}", n), cell_of(server), cell_of(ring), fmt::format("{:.3f}x", server / ring)});
    least = std::min(least, server / ring);
    for (Series* s : {&servers, &rings}) s->x.push_back(n);
    servers.y.push_back(server.count() * 1e3);
    rings.y.push_back(ring.count() * 1e3);
    servers.of.push_back(fmt::format("servers-n{}", n));
    rings.of.push_back(fmt::format("ring-n{}", n));
  }
  COX_TRY(const auto twice, workers_for_twice(stated));
  if (twice) add(out, "workers-that-make-servers-half-as-efficient", Quantity::count(*twice), kMaxPlus);
  table.says = fmt::format(
      "{} shards, {} of dense gradients. At best the servers take {:.3f} times as long as a ring: a worker's own link passes "
      "all of its gradients, and the shards' links those of all workers.{}",
      c.shards, to_string(Quantity::of(c.gradients)), least,
      twice ? fmt::format(" From {} workers on it is more than twice as long.", *twice) : "");
  out.tables.push_back(std::move(table));
  return Picture{.title = "Time of a step's gradients over numbers of workers",
                 .x_label = "workers",
                 .y_label = "ms",
                 .x_is_log = true,
                 .y_is_log = true,
                 .series = {std::move(servers), std::move(rings)}};
}

/// Sparse gradients: values and their indices to the servers, the whole to the ring.
Status add_densities(Computation& out, const Comparison& c, const std::vector<double>& densities, Bytes index,
                     Bytes value) {
  ValueTable table{.title = "Sparse gradients",
                   .says = {},
                   .columns = {"density", "sent to the servers", "servers", "servers over ring"},
                   .rows = {}};
  const double per_value = 1 + index / value;
  COX_TRY(const Seconds ring, c.ring());
  const auto sent = [&](double density) {
    // A sender whose indices would cost more than they save sends everything.
    return Bytes{std::llround(std::min(1.0, density * per_value) * static_cast<double>(c.gradients.count()))};
  };
  for (const double d : densities) {
    COX_TRY(const Seconds servers, c.servers(sent(d)));
    add(out, fmt::format("servers-over-ring-density-{}", percent_in_name(d)), Quantity::ratio(servers / ring),
        kMaxPlus);
    table.rows.push_back({percent(d, PartDigits::AsSet), to_string(Quantity::of(sent(d))), cell_of(servers),
                          fmt::format("{:.3f}x", servers / ring)});
  }
  // Without latency time is proportional to bytes.
  COX_TRY(const double dense, c.servers_over_ring());
  const double even = 1 / (dense * per_value);
  add(out, "sparsity-that-makes-servers-as-quick", Quantity::count(1 / even), kMaxPlus);
  if (even * per_value <= 1) {
    COX_TRY(const Seconds servers, c.servers(sent(even)));
    out.checks.push_back({.name = "servers and ring, at the density that makes them equal",
                          .engine = Quantity::of(servers),
                          .oracle = Quantity::of(ring),
                          .limit_ratio = 1e-4});
  }
  table.says = fmt::format(
      "A value that is sent takes {} bytes and {} more for its place; the ring adds up all {}. Servers are as quick as a ring "
      "where one value in {:.3g} is not zero.",
      value.count(), index.count(), to_string(Quantity::of(c.gradients)), 1 / even);
  out.tables.push_back(std::move(table));
  return {};
}

/// Shards of unequal load: the busiest holds everybody up.
Status add_skew(Computation& out, const Comparison& c, const std::vector<int>& exponents) {
  ValueTable table{.title = "Hot keys",
                   .says = {},
                   .columns = {"Zipf exponent", "load of the busiest shard", "servers", "times even shards"},
                   .rows = {}};
  COX_TRY(const Seconds even, c.servers(c.gradients));
  double most = 1;
  for (const int e : exponents) {
    const double share = zipf_shares(c.shards, e).front();
    Comparison busiest = c;
    busiest.shards = 1;
    COX_TRY(const Seconds time,
            busiest.servers(Bytes{std::llround(share * static_cast<double>(c.gradients.count()))}));
    add(out, fmt::format("servers-zipf{}", e), Quantity::of(time), kMaxPlus);
    most = std::max(most, time / even);
    table.rows.push_back(
        {fmt::format("{}", e), cell_of_ratio(share), cell_of(time), fmt::format("{:.3f}x", time / even)});
  }
  table.says = fmt::format(
      "Shard i of {} takes a share proportional to 1 / i^exponent, and a step lasts as long as its busiest shard: up to "
      "{:.3g} times as long as with even shards. Exponent 0 is even.",
      c.shards, most);
  out.tables.push_back(std::move(table));
  return {};
}

/// When each worker's last update was taken, all together.
Seconds last_updates(const simulate::PolicyOutcome& run, int workers) {
  std::vector<Seconds> last(static_cast<std::size_t>(workers));
  for (std::size_t i = 0; i < run.log.size(); ++i)
    last[static_cast<std::size_t>(run.log[i].worker)] = run.at[i];
  return std::accumulate(last.begin(), last.end(), Seconds{0});
}

/// Asynchronous steps: who is at the servers at a time, and how old gradients are.
Status add_queues(Computation& out, const Comparison& c, const std::vector<WrittenQuantity>& computes,
                  double cv, int steps) {
  ValueTable table{
      .title = "Queues of an asynchronous job",
      .says = {},
      .columns = {"compute of a step", "step", "workers at the servers", "busiest port", "mean age"},
      .rows = {}};
  double most = 0;
  for (const WrittenQuantity& w : computes) {
    model::Scenario s = data_parallel_job(
        c.workers, uniform_links(Seconds{0}, c.link),
        {{.forward = Seconds{w.value.in_base_unit()}, .gradients = c.gradients}}, c.gradients);
    s.policy = {.kind = model::PolicyKind::Asynchronous, .servers = c.shards};
    s.job.steps = steps;
    s.noise = {{.name = "compute", .law = model::NoiseLaw::Lognormal, .cv = cv}};
    COX_TRY(const simulate::PolicyOutcome run, simulate::simulate_policy(s, s.seed));
    s.across.per_byte = {};  // the same draws, with nothing at the servers
    COX_TRY(const simulate::PolicyOutcome alone, simulate::simulate_policy(s, s.seed));
    const Seconds all = last_updates(run, c.workers);
    const double waiting = c.workers * ((all - last_updates(alone, c.workers)) / all);
    most = std::max(most, waiting);
    const std::string suffix = fmt::format("-compute-{}", w.text);
    add(out, "queue" + suffix, Quantity::count(waiting), kTraining);
    add(out, "age" + suffix, Quantity::count(run.mean_age), kTraining);
    add(out, "ports-busy" + suffix, Quantity::ratio(run.servers_busy), kTraining);
    table.rows.push_back({w.text, cell_of(all / c.workers / steps), fmt::format("{:.1f}", waiting),
                          cell_of_ratio(run.servers_busy), fmt::format("{:.1f}", run.mean_age)});
  }
  table.says = fmt::format(
      "{} workers in {} steps each, compute times of coefficient of variation {}. At the servers are those who push, pull "
      "or wait: up to {:.1f} of them at a time. Age is how many updates came between reading and writing.",
      c.workers, steps, percent(cv, PartDigits::AsSet), most);
  out.tables.push_back(std::move(table));
  return {};
}

/// Over numbers of shards.
Result<Picture> shards_picture(Computation& out, Comparison c, const std::vector<int>& sweep) {
  Series curve{.name = "servers over ring", .x = {}, .y = {}, .of = {}};
  for (const int s : sweep) {
    c.shards = s;
    COX_TRY(const double ratio, c.servers_over_ring());
    const std::string name = fmt::format("servers-over-ring-s{}", s);
    add(out, name, Quantity::ratio(ratio), kMaxPlus);
    curve.x.push_back(s);
    curve.y.push_back(ratio);
    curve.of.push_back(name);
  }
  return Picture{.title = fmt::format("Time of push and pull over that of a ring, {} workers", c.workers),
                 .x_label = "shards",
                 .y_label = "ratio",
                 .x_is_log = true,
                 .y_is_log = true,
                 .series = {std::move(curve)}};
}

}  // namespace

Result<Computation> compute_server_against_all_reduce(const Inputs& in, const ComputeOptions& /*options*/) {
  COX_TRY(const int workers, in.count("workers", kRanks));
  COX_TRY(const Bytes gradients, in.size("gradients"));
  COX_TRY(const int shards, in.count("shards", kRanks));
  COX_TRY(const Bandwidth stated, in.rate("bandwidth"));
  COX_TRY(const Bandwidth meant, in.rate("bandwidth if it is bits"));
  COX_TRY(const std::vector<int> shard_counts, in.counts("shard counts", {.least = 1, .most = 4096}));
  COX_TRY(const std::vector<int> worker_counts, in.counts("worker counts", kRanks));
  COX_TRY(const std::vector<double> densities, in.ratios("densities", RatioBetween{}));
  COX_TRY(const Bytes index, in.size("bytes per index"));
  COX_TRY(const Bytes value, in.size("bytes per value"));
  COX_TRY(const std::vector<int> exponents,
          in.counts("Zipf exponents of the shards", {.least = 0, .most = 8}));
  COX_TRY(const auto computes, in.list("compute of an asynchronous step", Dimension::Time));
  COX_TRY(const double cv, in.ratio("spread of compute", RatioBetween{}));
  COX_TRY(const int steps, in.count("asynchronous steps", {.least = 1, .most = 1000}));
  COX_TRY(const Bytes model_size, in.size("model of the 100 Gbps claim"));
  COX_TRY(const Bandwidth slow, in.rate("bandwidth of the 100 Gbps claim"));
  COX_CHECK(in.check_draws(1.0 * workers * shards * steps * static_cast<double>(computes.size()),
                           "workers, shards and asynchronous steps"));
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
  COX_TRY(const model::Schedule large_messages,
          model::Schedule::make(push_and_pull(workers, shards, model_size)));
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
  // A worker pulls as much as it pushes.
  add(out, "traffic-per-worker", Quantity::of(2 * model::bytes_sent(large_messages).front()), kSchedule);
  out.checks.push_back(
      {.name = "servers over ring is N^2 / ((N - 1) S)",
       .engine = Quantity::ratio(server_time / ring_time),
       .oracle = Quantity::ratio(static_cast<double>(workers) * workers / ((workers - 1.0) * shards)),
       .limit_ratio = 1e-4});
  const Comparison c{.workers = workers, .shards = shards, .gradients = gradients, .link = stated};
  COX_TRY(out.picture, add_workers(out, c, worker_counts));
  COX_CHECK(add_densities(out, c, densities, index, value));
  COX_CHECK(add_skew(out, c, exponents));
  COX_CHECK(add_queues(out, c, computes, cv, steps));
  COX_TRY(Picture by_shards, shards_picture(out, c, shard_counts));
  out.picture.below.push_back(std::move(by_shards));
  out.notes = {
      "All workers push at once; a shard takes one message after the other at its link's rate and answers "
      "when it has all. No latency: the source gives none. Adding gradients up takes no time.",
      "Efficiency is the ring's time over that of the servers."};
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
  COX_TRY(const Bandwidth of_shard, in.rate("uplink of a shard"));
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
                       uniform_links(none, of_shard)));
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
