// SPDX-License-Identifier: Apache-2.0
// Which all-reduce for which size: C.4.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cox/model/closed_form.hpp"

#include "study/compute/computations.hpp"
#include "study/runs/collective_run.hpp"

namespace cox::study {
namespace {

using model::Algorithm;

constexpr Between kRanks{.least = 2, .most = 4096};

model::CollectiveSpec one_way_tree(int ranks) {
  return {.kind = model::Collective::Broadcast,
          .algorithm = Algorithm::BinomialTree,
          .ranks = ranks,
          .bytes = {}};
}

/// A link, and who is on it.
struct Place {
  std::string name;
  int ranks = 2;
  Seconds latency{};
  Bandwidth bandwidth{};
  int passes = 2;  ///< of the tree: 2 reduce and broadcast, 1 one way
  int trees = 1;   ///< with an equal part of the bytes each

  [[nodiscard]] Crossing pair() const {
    return {.few_rounds =
                passes == 2 ? all_reduce(Algorithm::BinomialTree, ranks, Bytes{0}) : one_way_tree(ranks),
            .few_bytes = all_reduce(Algorithm::Ring, ranks, Bytes{0}),
            .parts = trees};
  }
  /// m* = alpha (2 (N - 1) - k L) / (beta (k L / t - 2 (N - 1) / N)) for k passes of t trees of depth L = log2 N.
  /// Continuous sizes: a check to 1e-3.
  [[nodiscard]] Quantity by_formula() const {
    int depth = 0;
    while ((1 << depth) < ranks) ++depth;
    const double rounds = 2.0 * (ranks - 1) - passes * depth;
    const double bytes = static_cast<double>(passes * depth) / trees - 2.0 * (ranks - 1) / ranks;
    return {Dimension::Size, latency.count() * rounds / (bytes / bandwidth.in_bytes_per_s())};
  }
};

/// Where the ring overtakes the tree; empty where it never does.
Result<std::string> add_crossing(Computation& out, const Place& p) {
  const simulate::LinkCosts links = uniform_links(p.latency, p.bandwidth);
  COX_TRY(const auto at, crossing(p.pair(), links, links));
  if (!at) return std::string("never");
  add(out, p.name, Quantity::of(*at), kMaxPlus);
  out.checks.push_back(
      {.name = p.name, .engine = Quantity::of(*at), .oracle = p.by_formula(), .limit_ratio = 2e-3});
  return to_string(Quantity::of(*at));
}

/// The job, and the links of the nodes that it may be made of.
struct Job {
  int workers = 2;
  Seconds latency{};
  Bandwidth bandwidth{};
  int node = 1;
  simulate::LinkCosts inside{};

  [[nodiscard]] simulate::LinkCosts links() const { return uniform_links(latency, bandwidth); }
};

/// Two complementary trees, cut into as many pieces as are quickest by the closed form.
model::CollectiveSpec double_tree(const Job& job, Bytes bytes) {
  constexpr int kMostChunks = 256;
  model::CollectiveSpec best = all_reduce(Algorithm::DoubleBinaryTree, job.workers, bytes);
  auto least = model::closed_form(best, job.links().across);
  model::CollectiveSpec tried = best;
  for (tried.chunks = 2; tried.chunks <= kMostChunks; tried.chunks *= 2) {
    const auto time = model::closed_form(tried, job.links().across);
    if (!time || (least && *time >= *least)) continue;
    best = tried;
    least = time;
  }
  return best;
}

struct Timed {
  const char* name;
  const char* title;
  Seconds time;
};

Result<std::vector<Timed>> times_of(Computation& out, const Job& job, const std::string& size, Bytes bytes) {
  const simulate::LinkCosts links = job.links();
  std::vector<Timed> all;
  for (const auto& [name, title, spec] :
       {std::tuple{"ring", "ring", all_reduce(Algorithm::Ring, job.workers, bytes)},
        std::tuple{"tree", "tree", all_reduce(Algorithm::BinomialTree, job.workers, bytes)},
        std::tuple{"double-tree", "double tree", double_tree(job, bytes)},
        std::tuple{"halving-doubling", "halving and doubling",
                   all_reduce(Algorithm::HalvingDoubling, job.workers, bytes)}}) {
    COX_TRY(const Seconds time, checked_time(out, fmt::format("{}, {}", title, size), spec, links));
    all.push_back({name, title, time});
  }
  model::CollectiveSpec levels = all_reduce(Algorithm::Hierarchical2, job.workers, bytes);
  levels.group = job.node;
  COX_TRY(const Seconds time, idle_time(levels, two_level_links(job.inside, links, job.node)));
  all.push_back({"two-levels", "two levels", time});
  return all;
}

/// All algorithms over all sizes; the picture.
Status add_sizes(Computation& out, const Inputs& in, const Job& job) {
  COX_TRY(auto sizes, in.list("smaller sizes", Dimension::Size));
  COX_TRY(const auto larger, in.list("sizes", Dimension::Size));
  sizes.insert(sizes.end(), larger.begin(), larger.end());
  ValueTable table{.title = "Algorithms by size", .says = {}, .columns = {"size"}, .rows = {}};
  std::vector<Series> curves;
  for (const WrittenQuantity& size : sizes) {
    const Bytes bytes{std::llround(size.value.in_base_unit())};
    COX_TRY(const std::vector<Timed> all, times_of(out, job, size.text, bytes));
    table.rows.push_back({size.text});
    curves.resize(all.size());
    const Timed* best = nullptr;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Timed& t = all[i];
      if (table.columns.size() <= all.size()) table.columns.emplace_back(t.title);
      add(out, fmt::format("{}-{}", t.name, size.text), Quantity::of(t.time), kMaxPlus);
      table.rows.back().push_back(to_string(Quantity::of(t.time)));
      curves[i].name = t.title;
      curves[i].x.push_back(static_cast<double>(bytes.count()) / 1e6);
      curves[i].y.push_back(t.time.count() * 1e3);
      curves[i].of.push_back(out.values.back().name);
      if (i + 1 < all.size() && (best == nullptr || t.time < best->time)) best = &t;
    }
    table.rows.back().emplace_back(best->title);
  }
  table.columns.emplace_back("quickest on flat links");
  table.says = fmt::format(
      "Of {} the quickest on links that are all alike is {}, of {} {}. The double tree is cut into as many pieces as are "
      "best; two levels have nodes of {} with links of their own, so they are no like for like.",
      sizes.front().text, table.rows.front().back(), sizes.back().text, table.rows.back().back(), job.node);
  out.tables.push_back(std::move(table));
  out.picture = {.title = fmt::format("All-reduce over {} workers", job.workers),
                 .x_label = "size, MB",
                 .y_label = "ms",
                 .x_is_log = true,
                 .y_is_log = true,
                 .series = std::move(curves)};
  return {};
}

/// Where the ring overtakes the tree, by link.
Status add_crossings(Computation& out, const Inputs& in, const Job& job) {
  COX_TRY(const int node, in.count("workers of the node claim", kRanks));
  COX_TRY(const Seconds node_latency, in.time("latency of the node claim"));
  COX_TRY(const Bandwidth node_bandwidth, in.rate("bandwidth of the node claim"));
  COX_TRY(const int many, in.count("workers of the Ethernet claim", kRanks));
  COX_TRY(const Seconds slow_latency, in.time("latency of the Ethernet claim"));
  COX_TRY(const Bandwidth slow_bandwidth, in.rate("bandwidth of the Ethernet claim"));
  COX_TRY(const Bandwidth infiniband, in.rate("bandwidth of the InfiniBand claim"));
  const Seconds by_theorem = job.latency * (job.workers / std::log2(static_cast<double>(job.workers)));
  add(out, "crossover-by-its-theorem",
      Quantity(Dimension::Size, by_theorem.count() * job.bandwidth.in_bytes_per_s()), kClosedForm);
  for (const Place& p : {Place{"crossover", job.workers, job.latency, job.bandwidth},
                         Place{"crossover-one-way-tree", job.workers, job.latency, job.bandwidth, 1},
                         Place{"crossover-two-trees", job.workers, job.latency, job.bandwidth, 2, 2},
                         Place{"crossover-infiniband", job.workers, job.latency, infiniband},
                         Place{"crossover-node", node, node_latency, node_bandwidth},
                         Place{"crossover-ethernet", many, slow_latency, slow_bandwidth}}) {
    COX_TRY([[maybe_unused]] const std::string at, add_crossing(out, p));
  }
  return {};
}

/// What the CPU, the protocol and other all-reduces take of the link.
Status add_losses(Computation& out, const Inputs& in, const Job& job) {
  COX_TRY(const Seconds cpu, in.time("CPU time per operation"));
  COX_TRY(const double efficiency, in.ratio("efficiency of the link", RatioBetween{}));
  COX_TRY(const std::vector<int> others, in.counts("all-reduces at once", {.least = 1, .most = 1000}));
  COX_TRY(const Bytes bytes, in.size("size of the losses"));
  std::vector<std::tuple<std::string, std::string, Seconds, double>> rows = {
      {"as-stated", "as stated", Seconds{0}, 1},
      {"cpu", fmt::format("{} of CPU per operation", to_string(Quantity::of(cpu))), cpu, 1},
      {"efficiency", fmt::format("{} of the bandwidth", to_string(Quantity::ratio(efficiency))), Seconds{0},
       efficiency}};
  for (const int n : others)
    rows.emplace_back(fmt::format("{}-at-once", n), fmt::format("{} all-reduces at once", n), Seconds{0},
                      1.0 / n);
  rows.emplace_back("all", fmt::format("all of it, {} at once", others.back()), cpu,
                    efficiency / others.back());
  ValueTable table{.title = "What the link loses",
                   .says = {},
                   .columns = {"loss", fmt::format("ring, {}", to_string(Quantity::of(bytes))),
                               fmt::format("tree, {}", to_string(Quantity::of(bytes))), "crossover"},
                   .rows = {}};
  const model::CollectiveSpec ring = all_reduce(Algorithm::Ring, job.workers, bytes);
  const model::CollectiveSpec tree = all_reduce(Algorithm::BinomialTree, job.workers, bytes);
  for (const auto& [name, title, extra, share] : rows) {
    const simulate::LinkCosts links = uniform_links(job.latency + extra, job.bandwidth * share);
    COX_TRY(const Seconds r, checked_time(out, fmt::format("ring, {}", title), ring, links));
    COX_TRY(const Seconds t, checked_time(out, fmt::format("tree, {}", title), tree, links));
    add(out, fmt::format("ring-with-{}", name), Quantity::of(r), kMaxPlus);
    add(out, fmt::format("tree-with-{}", name), Quantity::of(t), kMaxPlus);
    COX_TRY(std::string at, add_crossing(out, {fmt::format("crossover-with-{}", name), job.workers,
                                               job.latency + extra, job.bandwidth * share}));
    table.rows.push_back({title, to_string(Quantity::of(r)), to_string(Quantity::of(t)), std::move(at)});
  }
  table.says = fmt::format(
      "The CPU's time adds to each round's latency, and moves the crossover from {} to {}; what is lost of the bandwidth "
      "moves it the other way, to {} where {} all-reduces share the link.",
      table.rows[0][3], table.rows[1][3], table.rows[table.rows.size() - 2][3], others.back());
  out.tables.push_back(std::move(table));
  // What the CPU adds, whatever the size.
  for (const auto& [name, algorithm] :
       {std::pair{"ring", Algorithm::Ring}, std::pair{"tree", Algorithm::BinomialTree}}) {
    COX_TRY(const Seconds added,
            idle_time(all_reduce(algorithm, job.workers, Bytes{0}), uniform_links(cpu, job.bandwidth)));
    add(out, fmt::format("cpu-of-a-{}", name), Quantity::of(added), kMaxPlus);
  }
  return {};
}

/// Share of the links' time, both directions of nobody idle, that bytes of a run take.
Result<Quantity> utilisation(const model::CollectiveSpec& spec, const Place& at) {
  COX_TRY(const Seconds time, idle_time(spec, uniform_links(at.latency, at.bandwidth)));
  COX_TRY(const model::Schedule schedule, model::Schedule::make(spec));
  const std::vector<Bytes> sent = model::bytes_sent(schedule);
  const Bytes all = std::accumulate(sent.begin(), sent.end(), Bytes{0});
  return Quantity::ratio(at.bandwidth.time_per_byte().over(all) / spec.ranks / time);
}

/// Single numbers that the source states.
Status add_claims(Computation& out, const Inputs& in, const Job& job) {
  COX_TRY(const int node, in.count("workers of the node claim", kRanks));
  COX_TRY(const Seconds node_latency, in.time("latency of the node claim"));
  COX_TRY(const Bandwidth node_bandwidth, in.rate("bandwidth of the node claim"));
  constexpr Bytes kLarge{1'000'000'000};
  const Place nvlink{"", node, node_latency, node_bandwidth};
  COX_TRY(const Quantity ring, utilisation(all_reduce(Algorithm::Ring, node, kLarge), nvlink));
  COX_TRY(const Quantity tree, utilisation(all_reduce(Algorithm::BinomialTree, node, kLarge), nvlink));
  add(out, "utilisation-of-a-ring", ring, kMaxPlus);
  add(out, "utilisation-of-a-tree", tree, kMaxPlus);
  COX_TRY(const Seconds latencies,
          idle_time(all_reduce(Algorithm::Ring, job.workers, Bytes{0}), job.links()));
  add(out, "latencies-of-a-ring", Quantity::of(latencies), kMaxPlus);
  COX_TRY(const model::Schedule groups,
          model::Schedule::make(all_reduce(Algorithm::Ring, std::max(1, job.workers / job.node), kLarge)));
  add(out, "rounds-across-groups", Quantity::count(static_cast<double>(groups.rounds())), kSchedule);
  add(out, "time-per-byte", Quantity::of(job.bandwidth.time_per_byte()), kClosedForm);
  COX_TRY(const Bytes sent, most_sent(all_reduce(Algorithm::Ring, job.workers, kLarge)));
  add(out, "sent-per-worker-over-size", Quantity::ratio(sent / kLarge), kSchedule);
  return {};
}

}  // namespace

Result<Computation> compute_all_reduce_crossover(const Inputs& in, const ComputeOptions& /*options*/) {
  Job job;
  COX_TRY(job.workers, in.count("workers", kRanks));
  COX_TRY(job.latency, in.time("latency"));
  COX_TRY(job.bandwidth, in.rate("bandwidth"));
  COX_TRY(job.node, in.count("workers of the node claim", kRanks));
  COX_TRY(const Seconds inside_latency, in.time("latency of the node claim"));
  COX_TRY(const Bandwidth inside_bandwidth, in.rate("bandwidth of the node claim"));
  job.inside = uniform_links(inside_latency, inside_bandwidth);
  Computation out;
  COX_CHECK(add_sizes(out, in, job));
  COX_CHECK(add_crossings(out, in, job));
  COX_CHECK(add_losses(out, in, job));
  COX_CHECK(add_claims(out, in, job));
  out.notes = {
      "The tree reduces to a root and broadcasts, the whole buffer in each of 2 log2 N rounds; "
      "nothing is cut into pieces.",
      "Below the crossover the tree is quicker, above it the ring.",
      "All-reduces at once have an equal part of each link's bandwidth."};
  return out;
}

}  // namespace cox::study
