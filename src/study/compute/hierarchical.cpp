// SPDX-License-Identifier: Apache-2.0
// All-reduce in two levels against flat ones: C.18.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "study/compute/computations.hpp"
#include "study/runs/collective_run.hpp"
#include "study/runs/flow_run.hpp"

namespace cox::study {
namespace {

using model::Algorithm;

constexpr Between kRanks{.least = 2, .most = 4096};

/// Devices in nodes, and what they all-reduce. A rail is a NIC of every node. Two levels: all devices of a node send at once
/// and have an equal part of its rails. A flat ring has one crossing per node and way, which uses all rails. Messages of a
/// flat tree share their node's rails (flow engine).
struct Levels {
  int workers = 0;
  int group = 0;  ///< devices per node
  Bytes bytes{};
  model::Link inside{};
  model::Link between{};  ///< of one rail

  [[nodiscard]] simulate::LinkCosts flat_links(int rails) const {
    return uniform_links(between.latency, between.bandwidth * rails);
  }
  [[nodiscard]] simulate::LinkCosts level_links(int rails) const {
    return two_level_links(uniform_links(inside.latency, inside.bandwidth),
                           uniform_links(between.latency, between.bandwidth * (1.0 * rails / group)), group);
  }
  [[nodiscard]] model::Cluster cluster(int rails) const {
    return railed_cluster(workers / group, group, inside, between, rails);
  }
  [[nodiscard]] model::CollectiveSpec flat(Algorithm algorithm) const {
    return all_reduce(algorithm, workers, bytes);
  }
  [[nodiscard]] model::CollectiveSpec two_level() const {
    model::CollectiveSpec spec = all_reduce(Algorithm::Hierarchical2, workers, bytes);
    spec.group = group;
    return spec;
  }
};

/// A flat ring and two levels on the same rails.
struct Pair {
  Seconds flat{};
  Seconds levels{};
  [[nodiscard]] double gain() const { return flat / levels; }
};
Result<Pair> on_rails(const Levels& l, int rails) {
  Pair out;
  COX_TRY(out.flat, idle_time(l.flat(Algorithm::Ring), l.flat_links(rails)));
  COX_TRY(out.levels, idle_time(l.two_level(), l.level_links(rails)));
  return out;
}

/// Both on `rails` NICs of a node by the flow engine: a flat ring cut into one per NIC, two levels as they are.
Status check_rails(Computation& out, const Levels& l, int rails, const Pair& p) {
  if (l.group % rails != 0) return {};
  COX_TRY(const Seconds levels, shared_time(l.two_level(), l.cluster(rails)));
  out.checks.push_back({.name = fmt::format("two levels, rails {}: shared links against equal parts", rails),
                        .engine = Quantity::of(levels),
                        .oracle = Quantity::of(p.levels)});
  // Every message of every ring is played: few of them show it.
  if (rails > 2 || l.workers > 512) return {};
  model::CollectiveSpec rings = l.flat(Algorithm::Ring);
  if (rails > 1) {
    rings.channels = rails;
    rings.group = l.group;
  }
  COX_TRY(const Seconds ring, shared_time(rings, l.cluster(rails)));
  out.checks.push_back(
      {.name = fmt::format("flat ring, rails {}: a ring per rail on shared links against one on all", rails),
       .engine = Quantity::of(ring),
       .oracle = Quantity::of(p.flat),
       .limit_ratio = 1e-6});
  return {};
}

/// The same rails in both columns.
Status add_rails(Computation& out, const Levels& l, const std::vector<int>& rails) {
  ValueTable table{.title = "Rails",
                   .says = {},
                   .columns = {"rails per node", "flat ring", "two levels", "gain"},
                   .rows = {}};
  double least = 0;
  double most = 0;
  for (const int r : rails) {
    COX_TRY(const Pair p, on_rails(l, r));
    COX_CHECK(check_rails(out, l, r, p));
    add(out, fmt::format("flat-ring-rails{}", r), Quantity::of(p.flat), kMaxPlus);
    add(out, fmt::format("two-levels-rails{}", r), Quantity::of(p.levels), kMaxPlus);
    add(out, fmt::format("gain-rails{}", r), Quantity::ratio(p.gain()), kMaxPlus);
    least = least == 0 ? p.gain() : std::min(least, p.gain());
    most = std::max(most, p.gain());
    table.rows.push_back(
        {fmt::format("{}", r), cell_of(p.flat), cell_of(p.levels), fmt::format("{:.3f}x", p.gain())});
  }
  table.says = fmt::format(
      "{} over {} devices, {} in a node. Both use all rails of a node, a flat ring for its one crossing, two levels an equal "
      "part for each device: a flat ring over two levels is between {:.3f}x and {:.3f}x.",
      to_string(Quantity::of(l.bytes)), l.workers, l.group, least, most);
  out.tables.push_back(std::move(table));
  return {};
}

/// Nodes of other sizes, the number of devices unchanged.
Result<Picture> add_groups(Computation& out, Levels l, const std::vector<int>& groups) {
  ValueTable table{
      .title = "Devices per node",
      .says = {},
      .columns = {"devices per node", "two levels, 1 rail", "gain", "two levels, a rail per device", "gain"},
      .rows = {}};
  Series one{.name = "1 rail per node", .x = {}, .y = {}, .of = {}};
  Series each{.name = "a rail per device", .x = {}, .y = {}, .of = {}};
  int best = 0;
  Seconds least{};
  for (const int g : groups) {
    l.group = g;
    COX_TRY(const Pair single, on_rails(l, 1));
    COX_TRY(const Pair railed, on_rails(l, g));
    if (best == 0 || single.levels < least) {
      least = single.levels;
      best = g;
    }
    add(out, fmt::format("gain-g{}", g), Quantity::ratio(single.gain()), kMaxPlus);
    add(out, fmt::format("gain-g{}-rail-per-device", g), Quantity::ratio(railed.gain()), kMaxPlus);
    table.rows.push_back({fmt::format("{}", g), cell_of(single.levels), fmt::format("{:.3f}x", single.gain()),
                          cell_of(railed.levels), fmt::format("{:.3f}x", railed.gain())});
    for (Series* s : {&one, &each}) s->x.push_back(g);
    one.y.push_back(single.gain());
    each.y.push_back(railed.gain());
    one.of.push_back(fmt::format("gain-g{}", g));
    each.of.push_back(fmt::format("gain-g{}-rail-per-device", g));
  }
  add(out, "best-devices-per-node", Quantity::count(best), kMaxPlus);
  table.says = fmt::format(
      "Gain over a flat ring on the same rails. With one rail per node, nodes of {} devices are the quickest of these.",
      best);
  out.tables.push_back(std::move(table));
  return Picture{.title = "Gain of two levels over a flat ring on the same rails",
                 .x_label = "devices per node",
                 .y_label = "times",
                 .x_is_log = true,
                 .series = {std::move(one), std::move(each)}};
}

/// A flat tree on the rails of a node, and two levels on the same.
Result<Seconds> tree_time(Levels l, Bytes bytes, Placing placing) {
  l.bytes = bytes;
  return shared_time(l.flat(Algorithm::BinomialTree), l.cluster(1), placing);
}
Result<Seconds> levels_time(Levels l, Bytes bytes) {
  l.bytes = bytes;
  return idle_time(l.two_level(), l.level_links(1));
}

/// Trees on shared rails against their closed form.
Status check_trees(Computation& out, const Levels& l) {
  const auto is_power = [](int n) { return std::has_single_bit(static_cast<unsigned>(n)); };
  if (!is_power(l.workers) || !is_power(l.group)) return {};
  for (const Placing placing : {Placing::InOrder, Placing::Dealt}) {
    COX_TRY(const Seconds tree, tree_time(l, l.bytes, placing));
    out.checks.push_back(
        {.name = placing == Placing::InOrder
                     ? "flat tree in node order, one rail: one device of a node crosses at a time"
                     : fmt::format(
                           "flat tree, ranks dealt, one rail: {} that cross at once take {} times as long",
                           l.group, l.group),
         .engine = Quantity::of(tree),
         .oracle = Quantity::of(tree_on_rails(l.flat(Algorithm::BinomialTree), l.cluster(1), placing))});
  }
  return {};
}

/// The size from which two levels are quicker than a flat tree, as a sentence; added under `name`.
Result<std::string> add_tree_crossing(Computation& out, const Levels& l, Placing placing,
                                      const std::string& name, const std::string& tree) {
  COX_TRY(const auto at, crossing([&](Bytes n) { return tree_time(l, n, placing); },
                                  [&](Bytes n) { return levels_time(l, n); }));
  if (!at) return fmt::format("{} is always quicker than two levels.", tree);
  add(out, name, Quantity::of(*at), kFlow);
  return fmt::format("Below {} {} is quicker than two levels.", to_string(Quantity::of(*at)), tree);
}

/// What an all-reduce takes over one rail per node.
struct OnOneRail {
  std::string title;
  std::string name;  ///< of its values, before the size
  std::string_view engine;
  TimeOver time;
};
std::vector<OnOneRail> all_on_one_rail(const Levels& l) {
  return {
      {"flat tree, in node order", "tree", kFlow, [l](Bytes n) { return tree_time(l, n, Placing::InOrder); }},
      {"flat tree, ranks dealt", "tree-dealt", kFlow,
       [l](Bytes n) { return tree_time(l, n, Placing::Dealt); }},
      {"flat ring", "ring", kMaxPlus,
       [l](Bytes n) { return idle_time(all_reduce(Algorithm::Ring, l.workers, n), l.flat_links(1)); }},
      {"two levels", "levels", kMaxPlus, [l](Bytes n) { return levels_time(l, n); }}};
}

/// Small messages and large ones, one rail per node in every row.
Result<Picture> add_sizes(Computation& out, const Levels& l, const std::vector<WrittenQuantity>& sizes) {
  ValueTable table{.title = "Sizes", .says = {}, .columns = {"size"}, .rows = {}};
  Picture picture{.title = "One rail per node, over sizes",
                  .x_label = "size, MB",
                  .y_label = "ms",
                  .x_is_log = true,
                  .y_is_log = true};
  const std::vector<OnOneRail> all = all_on_one_rail(l);
  for (const OnOneRail& one : all) {
    table.columns.push_back(one.title);
    picture.series.push_back({.name = one.title, .x = {}, .y = {}, .of = {}});
  }
  table.columns.emplace_back("quickest");
  for (const WrittenQuantity& w : sizes) {
    table.rows.push_back({w.text});
    std::vector<Seconds> times;
    for (std::size_t i = 0; i < all.size(); ++i) {
      COX_TRY(const Seconds t, all[i].time(Bytes{std::llround(w.value.in_base_unit())}));
      times.push_back(t);
      table.rows.back().push_back(cell_of(t));
      Series& s = picture.series[i];
      s.x.push_back(w.value.in_base_unit() / 1e6);
      s.y.push_back(t.count() * 1e3);
      s.of.push_back(fmt::format("{}-{}", all[i].name, w.text));
      add(out, s.of.back(), Quantity::of(t), all[i].engine);
    }
    table.rows.back().push_back(
        all[static_cast<std::size_t>(std::min_element(times.begin(), times.end()) - times.begin())].title);
  }
  COX_TRY(const std::string in_order,
          add_tree_crossing(out, l, Placing::InOrder, "size-from-which-two-levels-beat-a-tree",
                            "a flat tree in node order"));
  COX_TRY(const std::string dealt,
          add_tree_crossing(out, l, Placing::Dealt, "size-from-which-two-levels-beat-a-dealt-tree",
                            "a flat tree with ranks dealt to the nodes in turn"));
  table.says = fmt::format(
      "One rail per node for every column. Two levels: all {} devices of a node send at once and share it. Flat tree: messages "
      "that leave or enter a node at the same time share it; in node order one device of a node crosses at a time, with ranks "
      "dealt to the nodes in turn all {} do. Flat ring, in node order: one crossing per node and way, and hops inside a node "
      "counted like it. {} {}",
      l.group, l.group, in_order, dealt);
  out.tables.push_back(std::move(table));
  return picture;
}

/// Bytes that leave a node, counted message by message; `group` neighbours share one.
Result<double> bytes_out_of_a_node(const model::CollectiveSpec& spec, int group) {
  COX_TRY(const model::Schedule schedule, model::Schedule::make(spec));
  double bytes = 0;
  std::vector<model::Transfer> messages;
  for (int lane = 0; lane < schedule.lanes(); ++lane)
    for (std::int64_t k = 0; k < schedule.rounds(lane); ++k) {
      schedule.transfers(k, messages, lane);
      for (const model::Transfer& m : messages)
        if (m.from / group != m.to / group) bytes += static_cast<double>(m.bytes.count());
    }
  return bytes * group / spec.ranks;
}

/// What a flat ring sends out of a node over what two levels do.
Status add_traffic(Computation& out, const Levels& l) {
  COX_TRY(const double levels, bytes_out_of_a_node(l.two_level(), l.group));
  COX_TRY(const double in_order, bytes_out_of_a_node(l.flat(Algorithm::Ring), l.group));
  COX_TRY(const double all, bytes_out_of_a_node(l.flat(Algorithm::Ring), 1));
  add(out, "traffic-over-two-levels", Quantity::ratio(all * l.group / levels), kSchedule);
  add(out, "traffic-over-two-levels-in-node-order", Quantity::ratio(in_order / levels), kSchedule);
  return {};
}

/// What is asked of them.
struct Asked {
  Levels levels{};
  std::vector<int> rail_counts{};
  int rails = 0;  ///< of the source's text
  std::vector<int> groups{};
  std::vector<WrittenQuantity> sizes{};
  Bandwidth claimed{};
};
Result<Asked> asked_in(const Inputs& in) {
  Asked a;
  COX_TRY(a.levels.workers, in.count("workers", kRanks));
  COX_TRY(a.levels.group, in.count("workers per node", kRanks));
  const int group = a.levels.group;
  COX_TRY(a.levels.bytes, in.size("gradients"));
  COX_TRY(a.levels.inside.latency, in.time("latency inside a node"));
  COX_TRY(a.levels.inside.bandwidth, in.rate("bandwidth inside a node"));
  COX_TRY(a.levels.between.latency, in.time("latency between nodes"));
  COX_TRY(a.levels.between.bandwidth, in.rate("bandwidth between nodes"));
  COX_TRY(a.rail_counts, in.counts("rails per node", {.least = 1, .most = group}));
  COX_TRY(a.rails, in.count("rails", {.least = 1, .most = group}));
  COX_TRY(a.groups, in.counts("sizes of a node", kRanks));
  COX_TRY(a.sizes, in.list("sizes", Dimension::Size));
  COX_TRY(a.claimed, in.rate("bandwidth of the 3 to 5 times claim"));
  return a;
}

/// Two levels where the devices of a node share one NIC, checked against a part of it for each.
Result<Seconds> one_nic_time(Computation& out, const Levels& l) {
  const simulate::LinkCosts inside = uniform_links(l.inside.latency, l.inside.bandwidth);
  const simulate::LinkCosts part = uniform_links(l.between.latency, l.between.bandwidth * (1.0 / l.group));
  COX_TRY(const Seconds shared, shared_time(l.two_level(), l.cluster(1)));
  COX_TRY(const Seconds evenly, idle_time(l.two_level(), two_level_links(inside, part, l.group)));
  out.checks.push_back({.name = "one NIC: shared links against a bandwidth divided by the devices",
                        .engine = Quantity::of(shared),
                        .oracle = Quantity::of(evenly)});
  return shared;
}

/// Two levels where each device has a rail.
Quantity formula_with_rails(const Levels& l) {
  const int nodes = l.workers / l.group;
  return Quantity::of(
      2 * (l.group - 1) * (l.inside.latency + l.inside.bandwidth.time_per_byte().over(l.bytes) / l.group) +
      2 * (nodes - 1) * (l.between.latency + l.between.bandwidth.time_per_byte().over(l.bytes) / l.workers));
}

/// The all-reduce of the source, as its code adds it up and as it is.
struct Ways {
  Seconds flat{};
  Seconds as_coded{};
  Seconds one_nic{};
};
Result<Ways> add_ways(Computation& out, const Levels& l) {
  const simulate::LinkCosts inside = uniform_links(l.inside.latency, l.inside.bandwidth);
  const simulate::LinkCosts across = l.flat_links(1);
  Ways w;
  COX_TRY(w.flat, checked_time(out, "flat ring", l.flat(Algorithm::Ring), across));
  COX_TRY(const Seconds flat_rails,
          checked_time(out, "flat ring, all rails", l.flat(Algorithm::Ring), l.flat_links(l.group)));
  COX_TRY(const Seconds in_node,
          checked_time(out, "inside", all_reduce(Algorithm::Ring, l.group, l.bytes), inside));
  COX_TRY(w.one_nic, one_nic_time(out, l));
  COX_TRY(const Seconds rails, idle_time(l.two_level(), two_level_links(inside, across, l.group)));
  // What the source's code adds up: each of the 2 (n - 1) rounds between nodes carries the whole buffer.
  const int nodes = l.workers / l.group;
  COX_TRY(const Seconds uncut, checked_time(out, "between nodes, not cut",
                                            all_reduce(Algorithm::Ring, nodes, l.bytes * nodes), across));
  w.as_coded = in_node + uncut;
  add(out, "as-coded", Quantity::of(w.as_coded), kMaxPlus);
  add(out, "flat-ring", Quantity::of(w.flat), kMaxPlus);
  add(out, "speedup-as-coded", Quantity::ratio(w.flat / w.as_coded), kMaxPlus);
  add(out, "inside-a-node", Quantity::of(in_node), kMaxPlus);
  add(out, "one-nic", Quantity::of(w.one_nic), kFlow);
  add(out, "speedup-one-nic", Quantity::ratio(w.flat / w.one_nic), kFlow);
  add(out, "a-rail-per-device", Quantity::of(rails), kMaxPlus);
  add(out, "speedup-a-rail-per-device", Quantity::ratio(w.flat / rails), kMaxPlus);
  add(out, "flat-ring-all-rails", Quantity::of(flat_rails), kMaxPlus);
  add(out, "fair-speedup", Quantity::ratio(flat_rails / rails), kMaxPlus);
  COX_TRY(const Bytes sent, most_sent(l.two_level()));
  add(out, "sent-per-device", Quantity::of(sent), kSchedule);
  out.checks.push_back({.name = "two levels, a rail per device",
                        .engine = Quantity::of(rails),
                        .oracle = formula_with_rails(l),
                        .limit_ratio = 1e-6});
  return w;
}

/// On the rails of the source's text, and on slower ones.
Result<Pair> add_rails_of_text(Computation& out, const Asked& a) {
  Levels slower = a.levels;
  slower.between.bandwidth = a.claimed;
  COX_TRY(const Pair same, on_rails(a.levels, a.rails));
  COX_TRY(const Pair slow, on_rails(slower, a.rails));
  add(out, "flat-ring-on-the-rails", Quantity::of(same.flat), kMaxPlus);
  add(out, "two-levels-on-the-rails", Quantity::of(same.levels), kMaxPlus);
  add(out, "gain-on-the-rails", Quantity::ratio(same.gain()), kMaxPlus);
  add(out, "gain-on-slower-rails", Quantity::ratio(slow.gain()), kMaxPlus);
  return same;
}

/// Gains that the source prints, as they come out here.
Picture gains_picture(const Computation& out, const Asked& a) {
  Series gains{.name = "computed",
               .x = {},
               .y = {},
               .of = {"speedup-as-coded", "gain-on-the-rails", "gain-on-slower-rails"}};
  for (const std::string& name : gains.of)
    for (const Computed& c : out.values)
      if (c.name == name) gains.y.push_back(c.value.in_base_unit());
  return {.kind = Picture::Kind::Bars,
          .title = fmt::format("Gain of two levels over a flat ring; the last two on {} rails", a.rails),
          .x_label = "",
          .y_label = "times",
          .series = {std::move(gains)},
          .categories = {"as coded", to_string(Quantity::of(a.levels.between.bandwidth)),
                         to_string(Quantity::of(a.claimed))}};
}

}  // namespace

Result<Computation> compute_hierarchical_all_reduce(const Inputs& in, const ComputeOptions& /*options*/) {
  COX_TRY(const Asked a, asked_in(in));
  Computation out;
  COX_TRY(const Ways w, add_ways(out, a.levels));
  COX_TRY(const Pair same, add_rails_of_text(out, a));
  COX_CHECK(add_traffic(out, a.levels));
  COX_CHECK(check_trees(out, a.levels));
  COX_CHECK(add_rails(out, a.levels, a.rail_counts));
  COX_TRY(Picture by_group, add_groups(out, a.levels, a.groups));
  COX_TRY(Picture by_size, add_sizes(out, a.levels, a.sizes));
  Series bars{
      .name = "time",
      .x = {},
      .y = {},
      .of = {"flat-ring", "as-coded", "one-nic", "flat-ring-on-the-rails", "two-levels-on-the-rails"}};
  for (const Seconds t : {w.flat, w.as_coded, w.one_nic, same.flat, same.levels})
    bars.y.push_back(t.count() * 1e3);
  out.notes = {
      "One NIC: the node's devices send their parts at the same time and share its bandwidth.",
      "A flat ring crosses each node's link once in each direction; with all rails it uses every NIC of the "
      "node for its one crossing."};
  out.picture = {
      .kind = Picture::Kind::Bars,
      .title = fmt::format("All-reduce of {} over {} devices", to_string(Quantity::of(a.levels.bytes)),
                           a.levels.workers),
      .x_label = "",
      .y_label = "ms",
      .y_is_log = true,
      .series = {std::move(bars)},
      .categories = {"flat ring", "as coded", "two levels, 1 NIC", fmt::format("flat, {} rails", a.rails),
                     fmt::format("two levels, {} rails", a.rails)},
      .below = {gains_picture(out, a), std::move(by_group), std::move(by_size)}};
  return out;
}

}  // namespace cox::study
