// SPDX-License-Identifier: Apache-2.0
#include "cox/simulate/flow.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cox/base/random.hpp"
#include "cox/model/closed_form.hpp"
#include "cox/simulate/max_plus.hpp"

#include "simulate/flow/link_loads.hpp"
#include "simulate/flow/max_min.hpp"

namespace cox::simulate {
namespace {

constexpr double kLatency = 250e-9;
constexpr double kRate = 50e9;
const model::Link kCable{.latency = Seconds{kLatency}, .bandwidth = Bandwidth::bytes_per_s(kRate)};

struct Setting {
  model::Cluster cluster;
  model::Fabric fabric;
  model::CollectiveSpec spec;
  FlowOptions options{};
  std::vector<int> rank_of{};
  std::vector<Seconds> times{};
};

Setting switched(int hosts) {
  Setting s;
  s.cluster.nodes = hosts;
  s.cluster.nic = kCable;
  s.fabric.link = kCable;
  s.spec = {.ranks = hosts, .bytes = Bytes{1 << 20}};
  return s;
}

Setting oversubscribed(int hosts) {
  Setting s = switched(hosts);
  s.fabric.kind = model::FabricKind::FatTree;
  s.fabric.oversubscription = 4;
  return s;
}

std::vector<int> shuffled(int n, std::uint64_t seed) {
  std::vector<int> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  const RandomStream draw(seed, 2);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[draw.bits(0, i) % i]);
  return order;
}

// Runs it and checks what always holds: conservation of bytes, and no link beyond its bandwidth.
FlowOutcome run(Setting& s) {
  const auto network = Network::make(s.cluster, s.fabric);
  EXPECT_TRUE(network) << network.error().to_string();
  const auto schedule = model::Schedule::make(s.spec);
  EXPECT_TRUE(schedule) << schedule.error().to_string();
  const auto places = static_cast<std::size_t>(schedule->participants());
  if (s.rank_of.empty()) {
    for (std::size_t p = 0; p < places; ++p) s.rank_of.push_back(static_cast<int>(p));
  }
  if (s.times.empty()) s.times.resize(static_cast<std::size_t>(schedule->ranks()));
  const double begin = s.times.empty() ? 0 : std::min_element(s.times.begin(), s.times.end())->count();
  FlowOutcome outcome = run_flows(*schedule, *network, s.fabric, s.rank_of, s.options, s.times);
  double end = 0;
  for (const Seconds t : s.times) end = std::max(end, t.count());
  std::vector<double> wanted(network->links().size(), 0);
  std::vector<model::Transfer> transfers;
  std::vector<LinkIndex> way;
  std::int64_t messages = 0;
  for (int lane = 0; lane < schedule->lanes(); ++lane)
    for (std::int64_t k = 0; k < schedule->rounds(lane); ++k) {
      schedule->transfers(k, transfers, lane);
      messages += static_cast<std::int64_t>(transfers.size());
      if (s.fabric.routing != model::Routing::Static) continue;
      for (const model::Transfer& t : transfers) {
        const int from = s.rank_of[static_cast<std::size_t>(t.from)];
        const int to = s.rank_of[static_cast<std::size_t>(t.to)];
        network->route(from, to, network->static_choice(from, to), way);
        for (const LinkIndex link : way) wanted[link] += static_cast<double>(t.bytes.count());
      }
    }
  EXPECT_EQ(outcome.messages, messages);
  for (std::size_t l = 0; l < wanted.size(); ++l) {
    if (s.fabric.routing == model::Routing::Static) {
      EXPECT_DOUBLE_EQ(outcome.link_bytes[l], wanted[l]) << network->links()[l].name;
    }
    EXPECT_LE(outcome.link_bytes[l],
              (end - begin) * network->links()[l].bandwidth.in_bytes_per_s() * (1 + 1e-9))
        << network->links()[l].name << " carried more than it can";
  }
  return outcome;
}

double last(const Setting& s) {
  return std::max_element(s.times.begin(), s.times.end())->count();
}

double closed(const Setting& s) {
  const auto form = model::closed_form(
      s.spec, {.latency = Seconds{2 * kLatency}, .per_byte = TimePerByte::seconds_per_byte(1 / kRate)});
  return form ? form->count() : -1;
}

TEST(Flow, IdleSwitchIsTheClosedForm) {
  using enum model::Algorithm;
  for (const auto algorithm : {Ring, RecursiveDoubling, HalvingDoubling, BinomialTree})
    for (const int ranks : {1, 2, 4, 8, 16})
      for (const std::int64_t bytes : {0, 1, 1000, 1 << 20, 1 << 28}) {
        Setting s = switched(ranks);
        s.spec.algorithm = algorithm;
        s.spec.bytes = Bytes{bytes};
        (void)run(s);
        ASSERT_GE(closed(s), 0);
        EXPECT_NEAR(last(s), closed(s), 1e-9 * closed(s))
            << name_of(algorithm) << " over " << ranks << " of " << bytes << " bytes";
      }
}

TEST(Flow, SwitchesThatAddUpHaveAPortForEveryRank) {
  Setting s = switched(8);
  s.spec.algorithm = model::Algorithm::InNetwork;
  s.rank_of = {0, 1, 2, 3, 4, 5, 6, 7, 0};  // the switch is that of rank 0
  const auto network = Network::make(s.cluster, s.fabric);
  const auto schedule = model::Schedule::make(s.spec);
  ASSERT_EQ(schedule->participants(), 9);
  s.times.resize(8);
  (void)run_flows(*schedule, *network, s.fabric, s.rank_of, s.options, s.times);
  // Up one link and down one link, all ranks beside each other.
  EXPECT_NEAR(last(s), 2 * (kLatency + (1 << 20) / kRate), 1e-15);
}

// By hand: up one link of a device and down one, half of the latency each; the switch has no link of its own.
TEST(Flow, ASwitchThatAddsUpInASingleNodeIsBetweenItsDevices) {
  Setting s = switched(8);
  s.cluster.nodes = 1;
  s.cluster.devices_per_node = 8;
  s.spec.algorithm = model::Algorithm::InNetwork;
  s.rank_of = {0, 1, 2, 3, 4, 5, 6, 7, 0};
  const auto expect = [&s](double seconds) {
    const auto network = Network::make(s.cluster, s.fabric);
    const auto schedule = model::Schedule::make(s.spec);
    ASSERT_TRUE(network && schedule);
    s.times.assign(8, Seconds{});
    (void)run_flows(*schedule, *network, s.fabric, s.rank_of, s.options, s.times);
    EXPECT_NEAR(last(s), seconds, 1e-12);
  };
  s.cluster.scale_up = {.latency = Seconds{700e-9}, .bandwidth = Bandwidth::gbyte_per_s(100)};
  expect(2 * (350e-9 + (1 << 20) / 100e9));
  s.cluster.pcie = {.latency = Seconds{500e-9}, .bandwidth = Bandwidth::gbyte_per_s(10)};
  expect(2 * (350e-9 + (1 << 20) / 100e9));  // PCIe leads to cards
  s.cluster.scale_up = {};
  expect(2 * (500e-9 + (1 << 20) / 10e9));
}

TEST(Flow, ArrivalsShiftTheResult) {
  Setting s = switched(4);
  (void)run(s);
  const double alone = last(s);
  s.times.assign(4, Seconds{1000});
  (void)run(s);
  EXPECT_NEAR(last(s), 1000 + alone, 1e-9);
  // One late rank: a ring cannot end before it has come and everything has gone round.
  s.times = {Seconds{1}, Seconds{0}, Seconds{0}, Seconds{0}};
  (void)run(s);
  EXPECT_NEAR(last(s), 1 + alone, 1e-9);
}

TEST(Flow, IncastIsWhatTheReceiverTakes) {
  for (const int k : {1, 2, 7, 64}) {
    Setting s = switched(k + 1);
    s.spec = {.kind = model::Collective::AllReduce,
              .algorithm = model::Algorithm::ParameterServer,
              .ranks = k,
              .bytes = Bytes{4 << 20},
              .servers = 1};
    double push_end = 0;
    s.options.on_message = [&](const FlowMessage& m) {
      if (m.round == 0) push_end = std::max(push_end, m.end.count());
    };
    (void)run(s);
    const double wanted = 2 * kLatency + k * (4 << 20) / kRate;
    EXPECT_NEAR(push_end, wanted, 1e-9 * wanted) << k;
    // The pull leaves the server one after the other, latencies overlapped.
    EXPECT_NEAR(last(s), 2 * wanted, 1e-9 * wanted) << k;
  }
}

TEST(Flow, SharedUpLinkHandSolved) {
  // Ranks 0..7 are one leaf, 8..15 the other; 2 up-links. Peers 1, 2 and 4 away are in the leaf; those 8 away
  // are four flows on each up-link.
  Setting s = oversubscribed(16);
  s.spec.algorithm = model::Algorithm::RecursiveDoubling;
  (void)run(s);
  const double own = (1 << 20) / kRate;
  EXPECT_NEAR(last(s), 3 * (2 * kLatency + own) + 4 * kLatency + 4 * own, 1e-15);
}

TEST(Flow, RoomThatAFlowLeavesIsTakenAtOnce) {
  // One leaf, so only NICs are shared. Rank 0 sends to 1 and 2 at once (two lanes of a ring of three): all
  // six flows get half a NIC.
  Setting s = switched(3);
  s.spec.algorithm = model::Algorithm::BidirectionalRing;
  s.spec.bytes = Bytes{6 << 20};
  (void)run(s);
  // Each lane carries half of the buffer in thirds, 4 rounds, at half the rate.
  EXPECT_NEAR(last(s), 4 * (2 * kLatency + 2 * (1 << 20) / kRate), 1e-15);
}

TEST(Flow, StoreAndForwardPaysEveryHop) {
  Setting s = switched(2);
  s.fabric.switching = model::Switching::StoreAndForward;
  (void)run(s);
  // Two rounds of half the buffer, each over two links one after the other.
  EXPECT_NEAR(last(s), 2 * (2 * kLatency + 2 * (1 << 19) / kRate), 1e-12);
}

TEST(Flow, RoutingDecidesWhatCollides) {
  // Two leaves of 8 with 8 up-links: destinations 8, 16, 24 .. of one leaf all go over up-link 0.
  Setting s = switched(72);
  s.fabric.kind = model::FabricKind::FatTree;
  s.spec = {.kind = model::Collective::Broadcast,
            .algorithm = model::Algorithm::Chain,
            .ranks = 2,
            .bytes = Bytes{1 << 20}};
  const auto network = Network::make(s.cluster, s.fabric);
  ASSERT_TRUE(network);
  const auto ring_over = [&](model::Routing routing) {
    Setting r = s;
    // Place 2 i sits in leaf 0, place 2 i + 1 is the first host of another leaf.
    r.spec = {.ranks = 16, .bytes = Bytes{16 << 20}};
    for (int i = 0; i < 8; ++i) {
      r.rank_of.push_back(i);
      r.rank_of.push_back(8 * (i + 1));
    }
    r.fabric.routing = routing;
    (void)run(r);
    return last(r);
  };
  const double fixed = ring_over(model::Routing::Static);
  const double hashed = ring_over(model::Routing::Ecmp);
  const double adaptive = ring_over(model::Routing::Adaptive);
  const double sprayed = ring_over(model::Routing::Spray);
  const double idle = 30 * (4 * kLatency + (1 << 20) / kRate);
  EXPECT_NEAR(sprayed, idle, 1e-9 * idle);
  EXPECT_NEAR(adaptive, idle, 1e-9 * idle);
  EXPECT_GT(hashed, 1.2 * idle);
  EXPECT_GT(fixed, 4 * idle);
}

TEST(Flow, EcmpDependsOnItsSeedOnly) {
  Setting s = oversubscribed(64);
  s.fabric.routing = model::Routing::Ecmp;
  s.rank_of = shuffled(64, 1);
  std::vector<std::vector<double>> bytes;
  for (const std::uint64_t seed : {1U, 1U, 2U}) {
    s.options.seed = seed;
    s.times.clear();
    bytes.push_back(run(s).link_bytes);
  }
  EXPECT_EQ(bytes[0], bytes[1]);
  EXPECT_NE(bytes[0], bytes[2]);
}

TEST(Flow, BackgroundLoadTakesItsPartOfSwitchLinksOnly) {
  Setting s = switched(16);
  s.fabric.kind = model::FabricKind::FatTree;
  s.fabric.background_load = 0.5;
  s.spec = {.kind = model::Collective::AllToAll,
            .algorithm = model::Algorithm::Direct,
            .ranks = 16,
            .bytes = Bytes{16 << 20}};
  double inside = 0;
  double across = 0;
  s.options.on_message = [&](const FlowMessage& m) {
    const double took = (m.end - m.begin).count();
    if (m.round == 0 && m.from == 0) inside = took;
    if (m.round == 7 && m.from == 0) across = took;
  };
  (void)run(s);
  EXPECT_NEAR(inside, 2 * kLatency + (1 << 20) / kRate, 1e-12);
  EXPECT_NEAR(across, 4 * kLatency + 2 * (1 << 20) / kRate, 1e-12);
}

TEST(Flow, BackgroundFlowsSlowDownAndRepeatBySeed) {
  Setting s = oversubscribed(16);
  s.spec.bytes = Bytes{64 << 20};
  (void)run(s);
  const double alone = last(s);
  s.options.background = {.flows = 20, .mean_on = Seconds{1e-4}, .mean_off = Seconds{1e-4}};
  std::vector<double> ends;
  for (const std::uint64_t seed : {1U, 1U, 2U}) {
    s.options.seed = seed;
    s.times.clear();
    (void)run(s);
    ends.push_back(last(s));
  }
  EXPECT_GT(ends[0], 1.05 * alone);
  EXPECT_EQ(ends[0], ends[1]);
  EXPECT_NE(ends[0], ends[2]);
}

TEST(Flow, PauseMakesVictimsAndIncastLossCosts) {
  const auto all_to_all = [](bool pause, bool loss) {
    Setting s = oversubscribed(32);
    s.spec = {.kind = model::Collective::AllReduce,
              .algorithm = model::Algorithm::ParameterServer,
              .ranks = 31,
              .bytes = Bytes{1 << 20},
              .servers = 1};
    s.fabric.pause = pause;
    s.fabric.incast_loss = loss;
    (void)run(s);
    return last(s);
  };
  const double plain = all_to_all(false, false);
  EXPECT_GE(all_to_all(true, false), plain * (1 - 1e-12));
  // 31 flows where 8 fit: the push takes 31 / 8 as long; the pull as before.
  const double push = 31.0 * (1 << 20) / kRate;
  EXPECT_GT(all_to_all(false, true), plain + 1.5 * push);
}

// Where states may repeat no link has a clock, without a memo it has: the same ends to rounding.
TEST(Flow, ACrowdThatFollowsItsLinkEndsAsEachOfItsFlowsAlone) {
  Setting alone = oversubscribed(64);
  alone.spec = {.kind = model::Collective::AllReduce,
                .algorithm = model::Algorithm::ParameterServer,
                .ranks = 62,
                .bytes = Bytes{1 << 20},
                .servers = 2};
  for (int r = 0; r < 62; ++r) alone.times.emplace_back(1e-6 * (r * 37 % 62));
  Setting together = alone;
  together.options.memo = false;
  const FlowOutcome one_by_one = run(alone);
  const FlowOutcome followed = run(together);
  EXPECT_FALSE(one_by_one.memo);
  EXPECT_GT(followed.peak_flows, 32);
  for (std::size_t r = 0; r < alone.times.size(); ++r)
    EXPECT_NEAR(together.times[r].count(), alone.times[r].count(), 1e-12 * last(alone)) << r;
}

TEST(Flow, EagerIsNeverLaterThanRendezvous) {
  Setting s = oversubscribed(16);
  for (int r = 0; r < 16; ++r) s.times.emplace_back(1e-5 * (r * 7 % 16));
  Setting e = s;
  e.options.protocol = model::Protocol::Eager;
  (void)run(s);
  (void)run(e);
  EXPECT_LT(last(e), last(s));
  Setting tree = switched(16);
  tree.spec.algorithm = model::Algorithm::BinomialTree;
  tree.options.protocol = model::Protocol::Eager;
  (void)run(tree);
  EXPECT_NEAR(last(tree), closed(tree), 1e-9 * closed(tree));
}

// By hand: a sender waits for nothing, what it sends leaves in turn, and latencies pass beside each other.
TEST(Flow, EagerListsAreOneStream) {
  Setting chain = switched(4);
  chain.spec.kind = model::Collective::Broadcast;
  chain.spec.algorithm = model::Algorithm::Chain;
  chain.spec.chunks = 8;
  const double chunk = (1 << 20) / 8 / kRate;
  Setting eager = chain;
  eager.options.protocol = model::Protocol::Eager;
  (void)run(eager);
  EXPECT_NEAR(last(eager), 3 * 2 * kLatency + (3 + 8 - 1) * chunk, 1e-15);
  (void)run(chain);  // the next chunk sets out when the one before is there
  EXPECT_NEAR(last(chain), (3 + 8 - 1) * (2 * kLatency + chunk), 1e-15);
}

// By hand: what is far sets out first and is under way while what is near leaves behind it; and what is far arrives its whole
// latency after it has left, whatever left before it. L far, l near, t to leave.
TEST(Flow, EagerPortsAreFreeWhenTheBytesHaveLeft) {
  constexpr double kFar = 200e-6;
  constexpr double kNear = 1e-6;
  for (const double leave : {0.1e-6, 1e-3})
    for (const bool far_first : {true, false}) {
      Setting s = switched(2);
      s.cluster.devices_per_node = s.cluster.nics_per_node = 2;
      s.cluster.nic = {.latency = Seconds{kFar / 2}, .bandwidth = Bandwidth::gbyte_per_s(10)};
      s.cluster.scale_up = {.latency = Seconds{kNear}, .bandwidth = Bandwidth::gbyte_per_s(10)};
      s.spec = {.kind = model::Collective::Broadcast,
                .algorithm = model::Algorithm::BinaryTree,
                .ranks = 3,
                .bytes = Bytes{static_cast<std::int64_t>(std::llround(leave * 10e9))}};
      s.options.protocol = model::Protocol::Eager;
      s.rank_of = far_first ? std::vector<int>{0, 2, 1} : std::vector<int>{0, 1, 2};
      (void)run(s);
      EXPECT_NEAR(s.times[1].count(), leave + (far_first ? kFar : kNear), 1e-15);
      EXPECT_NEAR(s.times[2].count(), 2 * leave + (far_first ? kNear : kFar), 1e-15);
    }
}

// By hand: up one link and down one for each chunk, all ranks beside each other, whatever the protocol. Of chunks of time c a
// link L away, an eager rank sends the first two at once; the first is back at 2 L + 2 c, the second at 2 L + 3 c, when
// the third and the fourth set out: back at 4 L + 4 c and 4 L + 5 c.
TEST(Flow, EagerSwitchesHaveAPortForEveryRank) {
  for (const int chunks : {1, 4})
    for (const auto protocol : {model::Protocol::Rendezvous, model::Protocol::Eager}) {
      Setting s = switched(8);
      s.spec.algorithm = model::Algorithm::InNetwork;
      s.spec.chunks = chunks;
      s.options.protocol = protocol;
      s.rank_of = {0, 1, 2, 3, 4, 5, 6, 7, 0};
      const auto network = Network::make(s.cluster, s.fabric);
      const auto schedule = model::Schedule::make(s.spec);
      ASSERT_TRUE(network && schedule);
      s.times.resize(8);
      (void)run_flows(*schedule, *network, s.fabric, s.rank_of, s.options, s.times);
      const double chunk = (1 << 20) / chunks / kRate;
      const double latencies = protocol == model::Protocol::Eager && chunks == 4 ? 4 : chunks + 1;
      EXPECT_NEAR(last(s), latencies * kLatency + (chunks + 1) * chunk, 1e-15) << chunks;
    }
}

// By hand: four stages (to the leaf, to the top, and back) of a link each; a leaf is that of its ranks, wherever the caller
// puts it, and the top is in nobody's leaf.
TEST(Flow, SwitchesThatAddUpStandAtTheirLeavesAndAtTheTop) {
  for (const int leaves : {2, 4}) {
    Setting s = switched(4 * leaves);
    s.fabric.kind = model::FabricKind::FatTree;
    s.fabric.hosts_per_leaf = 4;
    s.fabric.oversubscription = 4;
    s.spec.algorithm = model::Algorithm::InNetwork;
    s.spec.group = 4;
    const auto network = Network::make(s.cluster, s.fabric);
    const auto schedule = model::Schedule::make(s.spec);
    ASSERT_TRUE(network && schedule);
    ASSERT_EQ(schedule->participants(), 5 * leaves + 1);
    for (int p = 0; p < schedule->participants(); ++p) s.rank_of.push_back(p < 4 * leaves ? p : 0);
    s.times.resize(static_cast<std::size_t>(4 * leaves));
    const FlowOutcome out = run_flows(*schedule, *network, s.fabric, s.rank_of, s.options, s.times);
    EXPECT_NEAR(last(s), 4 * (kLatency + (1 << 20) / kRate), 1e-15);
    double between = 0;
    for (LinkIndex l = 0; l < network->links().size(); ++l)
      if (network->between_switches(l)) between += out.link_bytes[l];
    EXPECT_DOUBLE_EQ(between, 2.0 * leaves * (1 << 20));
  }
}

// By hand: two switches of two ranks each at a leaf, whose up-link carries what both send, 2 x 8 MB in 16 ms, and the other one what both
// get. Chunks of time c leave a switch in turn, up and down: the first is there for it after c, the last comes down for both in 2 c
// and to its ranks in c more.
TEST(Flow, EagerChunksLeaveASwitchInTurn) {
  for (const int chunks : {2, 8, 16}) {
    Setting s = switched(8);
    s.cluster.nic = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(1)};
    s.fabric = {.kind = model::FabricKind::FatTree, .link = s.cluster.nic};
    s.fabric.hosts_per_leaf = 4;
    s.fabric.oversubscription = 4;
    s.spec = {.algorithm = model::Algorithm::InNetwork,
              .ranks = 8,
              .bytes = Bytes{8'000'000},
              .group = 2,
              .chunks = chunks};
    s.options.protocol = model::Protocol::Eager;
    const auto network = Network::make(s.cluster, s.fabric);
    const auto schedule = model::Schedule::make(s.spec);
    ASSERT_TRUE(network && schedule);
    s.rank_of = {0, 1, 2, 3, 4, 5, 6, 7, 0, 2, 4, 6, 0};
    s.times.resize(8);
    (void)run_flows(*schedule, *network, s.fabric, s.rank_of, s.options, s.times);
    EXPECT_NEAR(last(s), 16e-3 + 4 * 8e-3 / chunks, 1e-12) << chunks;
  }
}

TEST(Flow, EveryAlgorithmFinishesAndConservesBytes) {
  using enum model::Algorithm;
  const struct {
    model::Collective kind;
    model::Algorithm algorithm;
    int ranks;
  } cases[] = {{model::Collective::AllReduce, BidirectionalRing, 7},
               {model::Collective::AllReduce, BinaryTree, 11},
               {model::Collective::AllReduce, DoubleBinaryTree, 8},
               {model::Collective::AllReduce, Hierarchical2, 12},
               {model::Collective::AllReduce, RecursiveDoubling, 13},
               {model::Collective::AllReduce, HalvingDoubling, 6},
               {model::Collective::AllToAll, TwoLevel, 12},
               {model::Collective::Barrier, Dissemination, 9},
               {model::Collective::Broadcast, Chain, 10},
               {model::Collective::AllGather, Ring, 5}};
  for (const auto& c : cases)
    for (const auto protocol : {model::Protocol::Rendezvous, model::Protocol::Eager}) {
      Setting s = oversubscribed(16);
      s.spec = {.kind = c.kind,
                .algorithm = c.algorithm,
                .ranks = c.ranks,
                .bytes = Bytes{1000003},
                .group = 3,
                .chunks = 4};
      s.rank_of = shuffled(16, 3);
      s.rank_of.resize(static_cast<std::size_t>(c.ranks));
      s.options.protocol = protocol;
      if (!model::Schedule::make(s.spec)) s.spec.group = 2;
      (void)run(s);
      EXPECT_GT(last(s), 0);
    }
}

// With whole periods skipped or not, the same to 1e-9.
TEST(Flow, MemoEqualsNoMemo) {
  for (const int hosts : {16, 64}) {
    Setting with = oversubscribed(hosts);
    with.spec.bytes = Bytes{256 << 20};
    with.rank_of = shuffled(hosts, 5);
    Setting without = with;
    without.options.memo = false;
    const FlowOutcome a = run(with);
    const FlowOutcome b = run(without);
    EXPECT_FALSE(b.memo);
    EXPECT_EQ(a.messages, b.messages);
    for (std::size_t r = 0; r < with.times.size(); ++r)
      EXPECT_NEAR(with.times[r].count(), without.times[r].count(), 1e-9 * without.times[r].count());
  }
}

TEST(Flow, MemoSkipsWhatRepeats) {
  Setting s = switched(64);
  s.spec.bytes = Bytes{64 << 20};
  const FlowOutcome outcome = run(s);
  EXPECT_TRUE(outcome.memo);
  EXPECT_LT(outcome.solved, 30);
  EXPECT_NEAR(last(s), closed(s), 1e-9 * closed(s));
}

TEST(Flow, UnevenChunksAreNotTakenForARepetition) {
  Setting s = switched(16);
  s.spec.bytes = Bytes{1'000'003};
  EXPECT_FALSE(run(s).memo);
  EXPECT_NEAR(last(s), closed(s), 1e-9 * closed(s));
}

TEST(Flow, DisturbedMessagesAreLater) {
  Setting s = switched(2);
  (void)run(s);
  const double plain = last(s);
  s.times.clear();
  s.options.disturb = [](const FlowMessage&, Seconds idle) { return idle + Seconds{1e-6}; };
  (void)run(s);
  EXPECT_NEAR(last(s), plain + 2e-6, 1e-15);
}

// On an idle switch nothing is shared, so noise must do what it does in the max-plus engine, draw by draw.
TEST(Flow, NoiseIsThatOfTheMaxPlusEngine) {
  const std::vector<model::NoiseSource> sources{{.name = "jitter",
                                                 .target = model::NoiseTarget::Message,
                                                 .law = model::NoiseLaw::Uniform,
                                                 .mean_ratio = 0.05}};
  const auto noise = Noise::make(sources, {.ranks = 8}, 4);
  ASSERT_TRUE(noise) << noise.error().to_string();
  Setting s = switched(8);
  s.options.noise = &*noise;
  s.options.step = 3;
  EXPECT_FALSE(run(s).memo);
  EXPECT_GT(last(s), closed(s) * 1.01);
  const auto schedule = model::Schedule::make(s.spec);
  LinkCosts costs;
  costs.across = {.latency = Seconds{2 * kLatency}, .per_byte = TimePerByte::seconds_per_byte(1 / kRate)};
  std::vector<Seconds> times(8);
  (void)run_collective(*schedule, costs, {.noise = &*noise, .step = 3}, times);
  for (std::size_t r = 0; r < 8; ++r)
    EXPECT_NEAR(s.times[r].count(), times[r].count(), 1e-9 * times[r].count());
}

TEST(Flow, LoadsAreWhatWasSent) {
  Setting s = switched(2);
  const FlowOutcome outcome = run(s);
  const auto network = Network::make(s.cluster, s.fabric);
  const auto loads = link_loads(*network, outcome.link_bytes, Seconds{last(s)});
  ASSERT_EQ(loads.size(), 4U);
  EXPECT_EQ(loads[0].name, "n0->switch");
  EXPECT_EQ(loads[0].bytes.count(), 1 << 20);
  EXPECT_NEAR(loads[0].utilisation_ratio, (1 << 20) / kRate / last(s), 1e-12);
  EXPECT_EQ(outcome.peak_flows, 2);
}

}  // namespace
}  // namespace cox::simulate
