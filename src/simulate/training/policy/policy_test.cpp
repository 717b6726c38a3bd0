// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "cox/simulate/training.hpp"

#include "simulate/training/scenarios.hpp"

namespace cox::simulate {
namespace {

using namespace testing;
using model::PolicyKind;

model::Scenario server_job(int workers, const model::PolicySpec& policy) {
  model::Scenario s = data_parallel(workers, 4);
  s.policy = policy;
  s.job.steps = 40;
  return s;
}

PolicyOutcome run(const model::Scenario& s) {
  auto out = simulate_policy(s, s.seed);
  EXPECT_TRUE(out) << out.error().to_string();
  return out ? *std::move(out) : PolicyOutcome{};
}

TEST(TrainingPolicy, IncastAtTheServersIsTheChaptersRatio) {
  // C.11: 256 workers push 700 MB to 16 shards at once; a ring moves it in N^2 / ((N - 1) S) less time.
  model::Scenario s = data_parallel(256, 1);
  s.policy = {.kind = PolicyKind::BoundedWait, .servers = 16};
  work_of(s).layers[0] = {
      .forward = Seconds{1e-3}, .backward = {}, .gradients = Bytes{700'000'000}, .activations = {}};
  work_of(s).optimizer = {};
  s.across = {.latency = {}, .per_byte = Bandwidth::gbyte_per_s(25).time_per_byte()};
  const Seconds push = run(s).step_ends[0] - Seconds{1e-3};
  EXPECT_NEAR(push.count(), 256 * 700e6 / 16 / 25e9, 1e-12);
  s.policy = {};
  work_of(s).overlap = false;
  const Seconds ring = simulate_training(s, {})->step_ends[0] - Seconds{1e-3};
  EXPECT_NEAR(2 * push / ring, 256.0 * 256 / (255 * 16), 1e-6);
  EXPECT_NEAR(2 * push / ring, 16.06, 0.005);
}

TEST(TrainingPolicy, OneWorkerIsHeldUpByItsOwnPortAlone) {
  model::Scenario s = server_job(1, {.kind = PolicyKind::Asynchronous, .servers = 4});
  s.job.steps = 3;
  const double bytes = 4 * 8e6;
  const double message = 10e-6 + bytes / 25e9;
  const double step = 4 * 3e-3 + 0.4e-3;
  EXPECT_NEAR(run(s).total.count(), 3 * (step + message) + 2 * message, 1e-12);
}

TEST(TrainingPolicy, EqualAsynchronousWorkersSeeAnAgeOfAllOthers) {
  for (const int workers : {2, 8, 16}) {
    const PolicyOutcome o = run(server_job(workers, {.kind = PolicyKind::Asynchronous, .servers = 4}));
    EXPECT_EQ(o.discarded, 0);
    EXPECT_EQ(o.log.size(), static_cast<std::size_t>(40 * workers));
    EXPECT_NEAR(o.mean_age, workers - 1, 0.05 * workers);
    EXPECT_TRUE(std::is_sorted(o.at.begin(), o.at.end()));
  }
}

TEST(TrainingPolicy, DiscardedUpdatesAreThoseBeyondTheBound) {
  model::Scenario s = server_job(8, {.kind = PolicyKind::BoundedDiscard, .staleness = 5, .servers = 4});
  s.noise.push_back(jitter(0.3));
  const PolicyOutcome o = run(s);
  EXPECT_GT(o.discarded, 0);
  for (const sync::Update& u : o.log) EXPECT_EQ(u.applied, u.age() <= 5);
  s.policy.staleness = 1000;
  EXPECT_EQ(run(s).discarded, 0);
}

TEST(TrainingPolicy, WaitingForNobodyMoreThanZeroStepsIsABarrier) {
  // Where communication is free, the schedule of waiting with bound 0 is that of the barrier, bit by bit.
  model::Scenario s = server_job(9, {.kind = PolicyKind::BoundedWait});
  s.across = s.inside = {};
  work_of(s).optimizer = {};  // of the workers; behind the barrier it would be each one's own
  s.noise.push_back(jitter(0.3));
  const PolicyOutcome wait = run(s);
  s.policy = {};
  const auto barrier = simulate_training(s, {});
  ASSERT_TRUE(barrier);
  ASSERT_EQ(wait.step_ends.size(), barrier->step_ends.size());
  for (std::size_t k = 0; k < wait.step_ends.size(); ++k)
    EXPECT_NEAR(wait.step_ends[k].count(), barrier->step_ends[k].count(),
                1e-12 * barrier->step_ends[k].count());
  const Seconds idle = std::accumulate(wait.idle.begin(), wait.idle.end(), Seconds{});
  EXPECT_GT(idle, Seconds{});
}

TEST(TrainingPolicy, LooserBoundsHideMoreJitter) {
  model::Scenario s = server_job(8, {.kind = PolicyKind::BoundedWait, .servers = 8});
  s.noise.push_back(jitter(0.4));
  double before = 1e9;
  for (const int bound : {0, 1, 4, 16}) {
    s.policy.staleness = bound;
    const double now = run(s).total.count();
    EXPECT_LE(now, before * 1.001) << bound;
    before = now;
  }
}

TEST(TrainingPolicy, ABoundOnlyDefersTheWaitForAPersistentStraggler) {
  model::Scenario s = server_job(8, {.kind = PolicyKind::BoundedWait, .staleness = 5, .servers = 8});
  s.noise.push_back(slow_rank(2, 4));
  const double waiting = run(s).total.count();
  s.policy = {.kind = PolicyKind::BoundedDiscard, .staleness = 12, .servers = 8};
  const PolicyOutcome o = run(s);
  // All the same the slow worker does its own 40 steps; the others are done long before.
  EXPECT_NEAR(waiting, o.total.count(), 0.02 * waiting);
  EXPECT_GT(o.discarded, 0);
}

TEST(TrainingPolicy, NoBackupIsTheBarrier) {
  model::Scenario s = data_parallel(6, 4);
  s.job.steps = 20;
  work_of(s).overlap = false;
  work_of(s).bucket = Bytes{1'000'000'000};
  work_of(s).optimizer = {};
  s.noise.push_back(jitter(0.2));
  const auto barrier = simulate_training(s, {});
  s.policy = {.kind = PolicyKind::Backup};
  const auto backup = simulate_training(s, {});
  ASSERT_TRUE(barrier && backup);
  for (std::size_t k = 0; k < 20; ++k)
    EXPECT_NEAR(backup->step_ends[k].count(), barrier->step_ends[k].count(),
                1e-9 * barrier->step_ends[k].count());
}

TEST(TrainingPolicy, ABackupAbsorbsAPersistentStraggler) {
  model::Scenario s = data_parallel(6, 4);
  s.job.steps = 20;
  work_of(s).overlap = false;
  const double even = simulate_training(s, {})->total.count();
  s.noise.push_back(slow_rank(4, 3));
  const double held_up = simulate_training(s, {})->total.count();
  s.policy = {.kind = PolicyKind::Backup, .backups = 1};
  const PolicyOutcome o = run(s);
  EXPECT_GT(held_up, 3 * even);
  EXPECT_LT(o.total.count(), 1.02 * even);
  EXPECT_GT(o.discarded, 0);
  EXPECT_EQ(std::count_if(o.log.begin(), o.log.end(),
                          [](const sync::Update& u) { return u.applied && u.worker == 4; }),
            0);
  EXPECT_EQ(std::count_if(o.log.begin(), o.log.end(), [](const sync::Update& u) { return u.applied; }),
            20 * 5);
}

TEST(TrainingPolicy, ALateWorkerFetchesTheParametersBeforeItGoesOn) {
  model::Scenario s = data_parallel(6, 4);
  s.job.steps = 20;
  s.noise.push_back(slow_rank(4, 3));
  s.policy = {.kind = PolicyKind::Backup, .backups = 1};
  const PolicyOutcome o = run(s);
  std::vector<double> late;
  for (std::size_t i = 0; i < o.log.size(); ++i)
    if (o.log[i].worker == 4) late.push_back(o.at[i].count());
  ASSERT_GE(late.size(), 2U);
  const double work = 4 * (4 * 3e-3 + 0.4e-3), fetch = 10e-6 + 4 * 8e6 / 25e9;
  EXPECT_NEAR(late[0], work, 1e-12);
  EXPECT_GE(late[1] - late[0], work + fetch - 1e-12);
  EXPECT_LE(late[1] - late[0], work + 3 * fetch);  // at most one meeting was still going on
}

/// Two replicas a worker, one layer of four with experts.
model::Scenario expert_job(int workers, const model::PolicySpec& policy) {
  model::Scenario s = data_parallel(2 * workers, 4);
  work_of(s).layout.expert = 2;
  work_of(s).moe_layers = 1;
  for (model::Layer& l : work_of(s).layers) l.activations = Bytes{2'000'000};
  s.policy = policy;
  s.job.steps = 20;
  return s;
}

// Two exchanges forward, two backward, of 1 MB each way; both replicas push 32 MB to four shards.
TEST(TrainingPolicy, AWorkerIsAllWhoShareExperts) {
  model::Scenario s = expert_job(1, {.kind = PolicyKind::Asynchronous, .servers = 4});
  s.job.steps = 3;
  const double bytes = 4 * 8e6;
  const double message = 10e-6 + bytes / 25e9;  // its own port: the shards' are done in half of that
  const double exchanges = 4 * (10e-6 + 1e6 / 25e9);
  const double step = 4 * 3e-3 + exchanges + 0.4e-3;
  EXPECT_NEAR(run(s).total.count(), 3 * (step + message) + 2 * message, 1e-12);
  s.policy.servers = 1;  // two replicas behind one another
  EXPECT_NEAR(run(s).total.count(), 3 * (step + 10e-6 + 2 * bytes / 25e9) + 2 * (10e-6 + 2 * bytes / 25e9),
              1e-12);
}

// On the network: the server sits beside the first replica, so what the second one sends is what takes time.
TEST(TrainingPolicy, AllReplicasOfAWorkerSendOverTheNetwork) {
  model::Scenario s = expert_job(1, {.kind = PolicyKind::Asynchronous, .servers = 1});
  s.cluster.nic = {.latency = Seconds{5e-6}, .bandwidth = Bandwidth::gbyte_per_s(25)};
  s.fabric.link = s.cluster.nic;
  s.engine = model::EngineKind::Flow;
  s.job.steps = 3;
  const double message = 10e-6 + 4 * 8e6 / 25e9;
  const double step = 4 * 3e-3 + 4 * (10e-6 + 1e6 / 25e9) + 0.4e-3;
  EXPECT_NEAR(run(s).total.count(), 3 * (step + message) + 2 * message, 1e-9);
}

TEST(TrainingPolicy, NoBackupIsTheBarrierWithExpertsToo) {
  model::Scenario s = expert_job(3, {});
  work_of(s).overlap = false;
  work_of(s).bucket = Bytes{1'000'000'000};
  work_of(s).optimizer = {};
  s.noise.push_back(jitter(0.2));
  const auto barrier = simulate_training(s, {});
  s.policy = {.kind = PolicyKind::Backup};
  const auto backup = simulate_training(s, {});
  ASSERT_TRUE(barrier && backup);
  for (std::size_t k = 0; k < 20; ++k) {
    // A worker's replicas leave their last exchange together, and the barrier lets each begin alone: no earlier.
    EXPECT_GE(backup->step_ends[k].count(), barrier->step_ends[k].count() * (1 - 1e-9));
    EXPECT_NEAR(backup->step_ends[k].count(), barrier->step_ends[k].count(),
                0.05 * barrier->step_ends[k].count());
  }
}

TEST(TrainingPolicy, ABackupAbsorbsAStragglerAmongExperts) {
  model::Scenario s = expert_job(4, {});
  work_of(s).overlap = false;
  const double even = simulate_training(s, {})->total.count();
  s.noise.push_back(slow_rank(5, 3));  // of the third worker
  s.policy = {.kind = PolicyKind::Backup, .backups = 1};
  const PolicyOutcome o = run(s);
  EXPECT_LT(o.total.count(), 1.02 * even);
  EXPECT_EQ(std::count_if(o.log.begin(), o.log.end(),
                          [](const sync::Update& u) { return u.applied && u.worker == 2; }),
            0);
  s.policy.backups = 4;
  EXPECT_FALSE(simulate_policy(s, 1));
}

TEST(TrainingPolicy, ShardsOfAllReplicasNeedAllOfThem) {
  model::Scenario s = data_parallel(4, 4);
  s.policy = {.kind = PolicyKind::Asynchronous, .servers = 2};
  for (const int zero : {1, 2, 3}) {
    work_of(s).zero_stage = zero;
    EXPECT_FALSE(simulate_policy(s, 1)) << zero;
  }
}

TEST(TrainingPolicy, WorkersMayBePipelines) {
  model::Scenario s = data_parallel(4, 8);
  s.cluster = cluster(4, 8);
  work_of(s).layout = {.data = 4, .tensor = 2, .pipeline = 4};
  work_of(s).micro_batches = 8;
  s.job.steps = 10;
  s.policy = {.kind = PolicyKind::Asynchronous, .servers = 4};
  const auto out = simulate_training(s, {.want_run = true});
  ASSERT_TRUE(out);
  EXPECT_EQ(out->engine, model::EngineKind::Event);
  EXPECT_GT(out->total, Seconds{10 * 11 * 3e-3});
  ASSERT_TRUE(out->run);
  for (const trace::RankTrack& t : out->run->ranks) {
    EXPECT_EQ(std::count(t.events.kind.begin(), t.events.kind.end(), trace::EventKind::Step), 10);
    EXPECT_TRUE(std::is_sorted(t.events.begin.begin(), t.events.begin.end()));
  }
}

/// Four workers of 3 ms, 8 MB of gradients, links of 1 GB/s that the flow engine plays.
model::Scenario on_links(int servers, PolicyKind kind = PolicyKind::Asynchronous) {
  model::Scenario s = data_parallel(4, 1);
  s.policy = {.kind = kind, .servers = servers};
  work_of(s).optimizer = {};
  s.cluster.nic = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(1)};
  s.fabric.link = s.cluster.nic;
  s.across = {.latency = {}, .per_byte = Bandwidth::gbyte_per_s(1).time_per_byte()};
  s.engine = model::EngineKind::Flow;
  return s;
}

TEST(TrainingPolicy, ServersShareTheCardsOfTheirNodes) {
  // One server beside rank 0: the gradients of the three others meet in its card, 24 ms; those of rank 0 cross nothing.
  model::Scenario s = on_links(1);
  EXPECT_NEAR(run(s).total.count(), 27e-3, 1e-12);
  EXPECT_NEAR(run(s).servers_busy, 24.0 / 27, 1e-9);
  // Then all three read at once, 24 ms again, compute and push.
  s.job.steps = 2;
  EXPECT_NEAR(run(s).total.count(), 27e-3 + 24e-3 + 3e-3 + 24e-3, 1e-12);
  // Shards beside every rank: three quarters of all bytes cross each card, 6 ms.
  s.policy.servers = 4;
  EXPECT_NEAR(run(s).total.count(), 9e-3 + 6e-3 + 9e-3, 1e-12);
  // What the arithmetic without links says of one shard: all four queue at its port.
  s = on_links(1);
  s.engine = model::EngineKind::Event;
  EXPECT_NEAR(run(s).total.count(), 3e-3 + 32e-3, 1e-12);
}

TEST(TrainingPolicy, ServersBehindAnOversubscribedTreeTakeAsManyTimesAsLong) {
  model::Scenario s = on_links(8);
  s.cluster.nodes = 8;
  work_of(s).layout.data = 8;
  s.fabric.kind = model::FabricKind::FatTree;
  s.fabric.hosts_per_leaf = 4;
  // Each of four nodes sends 8 / 8 MB to each of four servers in the other leaf: 16 MB through 4 / ratio up-links.
  // Within the leaf 3 MB come to each card, beside the 4 from outside: 7 ms without oversubscription.
  EXPECT_NEAR(run(s).total.count(), 3e-3 + 7e-3, 1e-9);
  s.fabric.oversubscription = 4;
  EXPECT_NEAR(run(s).total.count(), 3e-3 + 16e-3, 1e-9);
  const auto out = simulate_training(s, {});
  ASSERT_TRUE(out) << out.error().to_string();
  EXPECT_EQ(out->engine, model::EngineKind::Flow);
  EXPECT_FALSE(out->links.empty());
}

TEST(TrainingPolicy, WaitingForNobodyAheadIsABarrierOnLinksToo) {
  // Bound 0: all push, 6 ms, and all read, 6 ms, in every step.
  model::Scenario s = on_links(4, PolicyKind::BoundedWait);
  s.job.steps = 5;
  EXPECT_NEAR(run(s).total.count(), 5 * (3e-3 + 6e-3) + 4 * 6e-3, 1e-12);
}

/// As many workers, the last of them three times as slow and not waited for: 3 ms, then a ring of the others.
model::Scenario backups_on_links(int workers) {
  model::Scenario s = on_links(1, PolicyKind::Backup);
  s.policy.backups = 1;
  s.cluster.nodes = workers;
  work_of(s).layout.data = workers;
  s.noise = {slow_rank(workers - 1, 2)};
  return s;
}

TEST(TrainingPolicy, BackupsSumOverLinks) {
  // A ring of three: 4 rounds of 8/3 MB, nothing shared.
  model::Scenario s = backups_on_links(4);
  EXPECT_NEAR(run(s).total.count(), 3e-3 + 4 * 8e-3 / 3, 1e-8);
  // Five of six, whose nodes lie by turns behind two leaf switches with one link each: 0 3 1 4 2. Four of five messages of a
  // round cross, two each way, at half the rate: 8 rounds of 8/5 MB.
  s = backups_on_links(6);
  s.fabric.kind = model::FabricKind::FatTree;
  s.fabric.hosts_per_leaf = 3;
  s.fabric.oversubscription = 3;
  EXPECT_NEAR(run(s).total.count(), 3e-3 + 8 * 8e-3 / 5, 1e-8) << "in order one crosses each way";
  s.job.places.nodes = {0, 3, 1, 4, 2, 5};
  EXPECT_NEAR(run(s).total.count(), 3e-3 + 8 * 2 * 8e-3 / 5, 1e-8);
  const auto out = simulate_training(s, {});
  ASSERT_TRUE(out) << out.error().to_string();
  EXPECT_EQ(out->engine, model::EngineKind::Flow);
  EXPECT_FALSE(out->links.empty());
}

bool says(const std::vector<std::string>& lines, std::string_view words) {
  return std::ranges::any_of(lines,
                             [&](const std::string& line) { return line.find(words) != std::string::npos; });
}

/// Four workers of 3 ms, 8 MB of gradients, on nodes of so many devices with a card of 1 GB/s each; ports inside pass `inside` GB/s.
model::Scenario on_nodes(int nodes, double inside, const model::PolicySpec& policy) {
  model::Scenario s = on_links(1);
  s.policy = policy;
  s.cluster.nodes = nodes;
  s.cluster.devices_per_node = s.cluster.nics_per_node = 4 / nodes;
  s.cluster.scale_up = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(inside)};
  s.inside = {.latency = {}, .per_byte = s.cluster.scale_up.bandwidth.time_per_byte()};
  if (nodes == 1) s.across = {};
  s.engine = model::EngineKind::Auto;
  return s;
}

// Three of four on one node: 4 rounds of 8/3 MB through ports of 2 GB/s, by links and by arithmetic.
TEST(TrainingPolicy, BackupsOfANodeSumThroughItsPorts) {
  model::Scenario s = on_nodes(1, 2, {.kind = PolicyKind::Backup, .backups = 1});
  s.noise = {slow_rank(3, 2)};
  EXPECT_NEAR(run(s).total.count(), 3e-3 + 4 * 4e-3 / 3, 1e-8);
  EXPECT_EQ(simulate_training(s, {})->engine, model::EngineKind::Flow);
  s.engine = model::EngineKind::Event;
  EXPECT_NEAR(run(s).total.count(), 3e-3 + 4 * 4e-3 / 3, 1e-8);
  // Where only costs are said there are no links.
  s.engine = model::EngineKind::Auto;
  s.cluster.scale_up = {};
  const auto costs = simulate_training(s, {});
  ASSERT_TRUE(costs) << costs.error().to_string();
  EXPECT_EQ(costs->engine, model::EngineKind::Event);
  EXPECT_NEAR(costs->total.count(), 3e-3 + 4 * 4e-3 / 3, 1e-8);
}

// A server beside the first of four on a node: what three send shares its port of 2 GB/s, 12 ms; by arithmetic four queue, 16 ms.
TEST(TrainingPolicy, ServersOfANodeAreReachedThroughItsPorts) {
  model::Scenario s = on_nodes(1, 2, {.kind = PolicyKind::Asynchronous, .servers = 1});
  EXPECT_NEAR(run(s).total.count(), 3e-3 + 12e-3, 1e-8);
  const auto links = simulate_training(s, {});
  EXPECT_EQ(links->engine, model::EngineKind::Flow);
  EXPECT_NEAR(links->servers_busy_ratio.value(), 12.0 / 15, 1e-6) << "its port, which no other node reaches";
  s.engine = model::EngineKind::Event;
  EXPECT_NEAR(run(s).total.count(), 3e-3 + 16e-3, 1e-8);
}

// Two nodes of two, ports inside half as fast as cards: the first sends 4 times 8/3 MB to the second at 0.5 GB/s, and all wait for
// that. Arithmetic has cards alone.
TEST(TrainingPolicy, BackupsThatShareNodesArePlayedOrToldOf) {
  constexpr std::string_view kOnePrice =
      "messages between workers of a node: they cost what those between nodes do";
  model::Scenario s = on_nodes(2, 0.5, {.kind = PolicyKind::Backup, .backups = 1});
  s.noise = {slow_rank(3, 2)};
  const auto links = simulate_training(s, {});
  s.engine = model::EngineKind::Event;
  const auto alone = simulate_training(s, {});
  ASSERT_TRUE(links && alone);
  EXPECT_EQ(links->engine, model::EngineKind::Flow);
  EXPECT_NEAR(links->total.count(), 3e-3 + 4 * 16e-3 / 3, 1e-8);
  EXPECT_NEAR(alone->total.count(), 3e-3 + 4 * 8e-3 / 3, 1e-8);
  EXPECT_FALSE(says(links->not_modelled, kOnePrice));
  EXPECT_TRUE(says(alone->not_modelled, kOnePrice));
  // What the late one reads crosses nobody's card in either.
  EXPECT_TRUE(says(links->not_modelled, "what a late worker reads, on links"));
  EXPECT_TRUE(says(alone->not_modelled, "what a late worker reads, on cards"));
}

// A worker with a node of its own meets nobody there.
TEST(TrainingPolicy, BackupsOnNodesOfTheirOwnAreByArithmetic) {
  model::Scenario s = backups_on_links(4);
  s.engine = model::EngineKind::Auto;
  const auto out = simulate_training(s, {});
  ASSERT_TRUE(out) << out.error().to_string();
  EXPECT_EQ(out->engine, model::EngineKind::Event);
  EXPECT_NEAR(out->total.count(), 3e-3 + 4 * 8e-3 / 3, 1e-8);
  EXPECT_FALSE(says(out->not_modelled, "messages between workers of a node"));
  EXPECT_TRUE(says(out->not_modelled, "what a late worker reads, on cards"));
  // Both directions of a ring at one card: 4 MB each way, at half the rate.
  work_of(s).collective.algorithm = model::Algorithm::BidirectionalRing;
  EXPECT_NEAR(run(s).total.count(), 3e-3 + 4 * 8e-3 / 3, 1e-8);
  EXPECT_EQ(simulate_training(s, {})->engine, model::EngineKind::Flow);
}

// 2,000 workers on nodes of two send to as many servers: eight million messages a step.
TEST(TrainingPolicy, ServersOfManyMessagesAreLeftToArithmetic) {
  model::Scenario few = on_nodes(2, 2, {.kind = PolicyKind::Asynchronous, .servers = 2});
  model::Scenario many = few;
  many.cluster.nodes = 1000;
  work_of(many).layout.data = many.policy.servers = 2000;
  const auto out = simulate_training(many, {});
  ASSERT_TRUE(out) << out.error().to_string();
  EXPECT_EQ(out->engine, model::EngineKind::Event);
  EXPECT_TRUE(says(out->not_modelled, "messages between workers of a node"));
  EXPECT_EQ(simulate_training(few, {})->engine, model::EngineKind::Flow);
  model::Scenario both[] = {few, many};
  take_one_engine(both);
  for (const model::Scenario& s : both) EXPECT_EQ(s.engine, model::EngineKind::Event);
}

// Six workers of 12 ms send 40 MB at 10 GB/s to one server, eight times. Its port serves the next one every 4 ms, who compute
// meanwhile. On links five share its card: 12 ms, 20 ms there and 20 back, each time.
TEST(TrainingPolicy, ServersByArithmeticSayHowMuchLongerLinksMayTake) {
  model::Scenario s = data_parallel(6, 4);
  s.policy = {.kind = PolicyKind::BoundedDiscard, .staleness = 1, .servers = 1};
  s.job.steps = 8;
  work_of(s).optimizer = {};
  for (model::Layer& l : work_of(s).layers) l.gradients = Bytes{10'000'000};
  s.cluster.nic = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(10)};
  s.fabric.link = s.cluster.nic;
  s.across = {.latency = {}, .per_byte = s.cluster.nic.bandwidth.time_per_byte()};
  const auto ports = simulate_training(s, {});
  s.engine = model::EngineKind::Flow;
  const auto links = simulate_training(s, {});
  ASSERT_TRUE(ports && links);
  EXPECT_NEAR(ports->total.count(), 12e-3 + 8 * 24e-3, 1e-8);
  EXPECT_NEAR(links->total.count(), 8 * (12e-3 + 40e-3) - 20e-3, 1e-8);
  EXPECT_TRUE(says(ports->notes, "up to three times as long"));
  EXPECT_FALSE(says(links->notes, "up to three times as long"));
}

// Beyond four million messages in a step `auto` leaves links alone and says so.
TEST(TrainingPolicy, BackupsOfManyMessagesAreLeftAlone) {
  const auto job_of = [](int workers) {
    model::Scenario s = backups_on_links(workers);
    s.fabric.kind = model::FabricKind::FatTree;
    s.fabric.hosts_per_leaf = 3;
    s.fabric.oversubscription = 3;
    s.engine = model::EngineKind::Auto;
    return s;
  };
  const auto told = [](const Outcome& out) {
    return says(out.not_modelled, "more messages than can be played soon (--engine flow");
  };
  model::Scenario s = job_of(6);
  s.job.steps = 100;  // of 40 messages
  const auto few = simulate_training(s, {});
  s = job_of(2100);
  s.job.steps = 1;
  const auto many = simulate_training(s, {});
  ASSERT_TRUE(few && many);
  EXPECT_EQ(few->engine, model::EngineKind::Flow);
  EXPECT_EQ(many->engine, model::EngineKind::Event);
  EXPECT_FALSE(told(*few));
  EXPECT_TRUE(told(*many));
}

// Four of five by halving and doubling.
TEST(TrainingPolicy, BackupsSumByTheJobsAlgorithm) {
  model::Scenario s = backups_on_links(5);
  s.engine = model::EngineKind::Event;
  work_of(s).collective.algorithm = model::Algorithm::HalvingDoubling;
  EXPECT_NEAR(run(s).total.count(), 3e-3 + 2 * 6e-3, 1e-8) << "4 MB and 2, and back";
  s.engine = model::EngineKind::Flow;
  EXPECT_NEAR(run(s).total.count(), 3e-3 + 2 * 6e-3, 1e-8);
}

TEST(TrainingPolicy, NoBackupIsTheBarrierOnLinksToo) {
  model::Scenario s = on_links(1, PolicyKind::Synchronous);
  s.cluster = cluster(4, 2);
  s.cluster.nics_per_node = 2;
  s.cluster.nic = s.cluster.scale_up = {.latency = Seconds{1e-6}, .bandwidth = Bandwidth::gbyte_per_s(1)};
  s.fabric.kind = model::FabricKind::FatTree;
  s.fabric.hosts_per_leaf = 2;
  s.fabric.oversubscription = 4;
  work_of(s).layout = {.data = 4, .tensor = 2};
  work_of(s).overlap = false;
  s.job.steps = 8;
  s.noise = {jitter(0.2)};
  const auto barrier = simulate_training(s, {});
  s.policy = {.kind = PolicyKind::Backup};
  const auto backup = simulate_training(s, {});
  ASSERT_TRUE(barrier && backup);
  for (std::size_t k = 0; k < 8; ++k)
    EXPECT_NEAR(backup->step_ends[k].count(), barrier->step_ends[k].count(),
                1e-9 * barrier->step_ends[k].count());
  EXPECT_EQ(backup->engine, model::EngineKind::Flow);
}

TEST(TrainingPolicy, ServersThatSetThePaceAreNamed) {
  model::Scenario s = server_job(16, {.kind = PolicyKind::Asynchronous, .servers = 1});
  const auto named = [&] {
    const auto out = simulate_training(s, {});
    EXPECT_TRUE(out);
    return out && std::ranges::any_of(out->notes, [](const std::string& note) {
             return note.find("the servers set the pace") != std::string::npos;
           });
  };
  EXPECT_TRUE(named());
  s.policy.servers = 64;
  EXPECT_FALSE(named());
}

}  // namespace
}  // namespace cox::simulate
