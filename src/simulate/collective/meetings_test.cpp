// SPDX-License-Identifier: Apache-2.0
#include "simulate/collective/meetings.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "cox/simulate/outcome.hpp"
#include "cox/simulate/training.hpp"

namespace cox::simulate {
namespace {

using model::Algorithm;
using model::Collective;
using model::EngineKind;

/// Nodes at 1 GB/s without latency, each with a card.
model::Scenario job(int nodes, int devices, Collective kind, Algorithm algorithm, int megabytes) {
  model::Scenario s;
  s.cluster.nodes = nodes;
  s.cluster.devices_per_node = devices;
  s.cluster.nic.bandwidth = Bandwidth::gbyte_per_s(1);
  s.across = {.per_byte = s.cluster.nic.bandwidth.time_per_byte()};
  s.cluster.scale_up.bandwidth = Bandwidth::gbyte_per_s(100);
  s.inside = {.per_byte = s.cluster.scale_up.bandwidth.time_per_byte()};
  s.job.as<model::CollectiveJob>().collective = {.kind = kind,
                                                 .algorithm = algorithm,
                                                 .ranks = nodes * devices,
                                                 .bytes = Bytes{std::int64_t{megabytes} * 1'000'000}};
  return s;
}

bool meets(const model::Scenario& s) {
  const auto schedule = model::Schedule::make(s.job.as<model::CollectiveJob>().collective);
  EXPECT_TRUE(schedule);
  std::vector<int> devices(static_cast<std::size_t>(schedule->participants()));
  std::iota(devices.begin(), devices.end(), 0);
  return may_meet(s, *schedule, devices);
}

double total(model::Scenario s, EngineKind engine) {
  s.engine = engine;
  const auto made = simulate(s, {});
  EXPECT_TRUE(made) << made.error().to_string();
  return made ? made->total.count() : -1;
}

const model::NoiseSource kWork{
    .name = "w", .law = model::NoiseLaw::Exponential, .relative = false, .mean = Seconds{1e-3}};
const model::NoiseSource kWire{.name = "m",
                               .target = model::NoiseTarget::Message,
                               .law = model::NoiseLaw::Exponential,
                               .mean_ratio = 0.3};

// Five ranks fold to four: rank 0 gives its 5 MB to rank 1, pairs exchange halves, and rank 1 gives rank 0 its part back. The parts of
// three originals beside two are unlike: who has got the smaller one goes on while its own message is in its card.
TEST(Meetings, HalvesOfFiveRanksMeetInACard) {
  const model::Scenario s = job(5, 1, Collective::ReduceScatter, Algorithm::HalvingDoubling, 5);
  EXPECT_TRUE(meets(s));
  EXPECT_EQ(total(s, EngineKind::Auto), total(s, EngineKind::Flow));
}

TEST(Meetings, RanksInStepMeetNobody) {
  model::Scenario s = job(16, 1, Collective::AllToAll, Algorithm::Direct, 16);
  EXPECT_FALSE(meets(s));
  EXPECT_NEAR(total(s, EngineKind::MaxPlus) / total(s, EngineKind::Flow), 1, 1e-9);
  s.noise = {kWork};  // who comes late is still sent the last part when its sender is at the next
  EXPECT_TRUE(meets(s));
  s.noise[0].off = true;
  EXPECT_FALSE(meets(s));
}

TEST(Meetings, NoiseThatIsOffDisturbsNobody) {
  model::Scenario s = job(8, 1, Collective::AllReduce, Algorithm::RecursiveDoubling, 8);
  const double quiet = total(s, EngineKind::ClosedForm);
  s.noise = {kWire};
  EXPECT_TRUE(model::disturbs_messages(s));
  s.noise[0].off = true;
  EXPECT_FALSE(model::disturbs_messages(s));
  EXPECT_FALSE(meets(s));
  EXPECT_EQ(total(s, EngineKind::ClosedForm), quiet);
}

TEST(Meetings, ARingAndAChainPassOnWhatever) {
  for (const Algorithm a : {Algorithm::Ring, Algorithm::Chain}) {
    model::Scenario s = job(4, 2, a == Algorithm::Ring ? Collective::AllReduce : Collective::Broadcast, a, 8);
    s.noise = {kWork, kWire};
    EXPECT_FALSE(meets(s));
    EXPECT_NEAR(total(s, EngineKind::MaxPlus) / total(s, EngineKind::Flow), 1, 1e-9);
  }
}

// Both of a pair are done together, unless one of their messages is late.
TEST(Meetings, PairsThatExchangeMeetWhereMessagesAreLate) {
  for (const int ranks : {8, 7}) {  // seven fold to four: rounds are lists
    model::Scenario s = job(ranks, 1, Collective::AllReduce, Algorithm::RecursiveDoubling, 8);
    s.noise = {kWork};
    EXPECT_FALSE(meets(s)) << ranks;
    EXPECT_NEAR(total(s, EngineKind::MaxPlus) / total(s, EngineKind::Flow), 1, 1e-9);
    s.noise = {kWire};
    EXPECT_TRUE(meets(s)) << ranks;
  }
}

// Two devices of a node send through one card, or each waits for the other's inside message: only the first is in step.
TEST(Meetings, CardsAsFullAsAllOthersAreInStep) {
  model::Scenario s = job(4, 2, Collective::AllReduce, Algorithm::HalvingDoubling, 8);
  EXPECT_FALSE(meets(s));
  EXPECT_NEAR(total(s, EngineKind::MaxPlus) / total(s, EngineKind::Flow), 1, 1e-6);
  s = job(4, 2, Collective::AllToAll, Algorithm::Direct, 8);
  EXPECT_TRUE(meets(s));
}

// Three ranks, two of them in one node, 1 MB in parts of 333 kB. Rank 0 gives its part to rank 1 (17.37 us), which sends two to rank 2 (67.1
// us) and has got the third from it after 33.73 us; then it gives rank 0 all three over scale-up (50.70 us), while its card is still busy
// with what goes to rank 2.
TEST(Meetings, AnInsideMessageDoesNotWaitForTheCard) {
  model::Scenario s = job(6, 2, Collective::AllGather, Algorithm::RecursiveDoubling, 1);
  s.cluster.nics_per_node = 2;
  s.cluster.nic = {.latency = Seconds{0.2e-6}, .bandwidth = Bandwidth::gbyte_per_s(10)};
  s.across = {.latency = Seconds{0.4e-6}, .per_byte = s.cluster.nic.bandwidth.time_per_byte()};
  s.cluster.scale_up = {.latency = Seconds{0.7e-6}, .bandwidth = Bandwidth::gbyte_per_s(20)};
  s.inside = {.latency = Seconds{0.7e-6}, .per_byte = s.cluster.scale_up.bandwidth.time_per_byte()};
  s.job.as<model::CollectiveJob>().collective.ranks = 3;
  const double part = 1e6 / 3;
  const double want = 0.7e-6 + part / 20e9 + 0.4e-6 + part / 10e9 + 0.7e-6 + 3 * part / 20e9;
  EXPECT_FALSE(meets(s));
  for (const EngineKind engine : {EngineKind::Auto, EngineKind::Flow, EngineKind::MaxPlus})
    EXPECT_NEAR(total(s, engine), want, 1e-9) << model::name_of(engine);
}

// Steps of the large one have more messages than are played.
TEST(Meetings, SizesThatAreComparedAreByOneEngine) {
  const auto sized = [](std::int64_t chunks) {
    model::Scenario s = job(16, 1, Collective::AllReduce, Algorithm::DoubleBinaryTree, 16);
    s.job.as<model::CollectiveJob>().collective.chunks = static_cast<int>(chunks);
    return s;
  };
  const model::Scenario small = sized(8), large = sized(1'000'000);
  EXPECT_EQ(simulate(small, {})->engine, EngineKind::Flow);
  model::Scenario both[] = {small, large};
  take_one_engine(both);
  for (const model::Scenario& s : both) EXPECT_EQ(s.engine, EngineKind::MaxPlus);
  EXPECT_FALSE(simulate(both[0], {})->not_modelled.empty()) << "is said";
  model::Scenario alike[] = {small, small};
  take_one_engine(alike);
  EXPECT_EQ(alike[0].engine, EngineKind::Auto);
  model::Scenario ring = sized(1'000'000);
  ring.job.as<model::CollectiveJob>().collective.algorithm = Algorithm::Ring;
  ring.job.as<model::CollectiveJob>().collective.chunks = 1;
  model::Scenario meets_nobody[] = {small, ring};
  take_one_engine(meets_nobody);
  EXPECT_EQ(meets_nobody[1].engine, EngineKind::Auto);
}

TEST(Meetings, ServersAreOnDevicesOfRanks) {
  model::Scenario s = job(4, 1, Collective::AllReduce, Algorithm::ParameterServer, 1);
  EXPECT_TRUE(meets(s));
  // three push 1 MB into the card of the first, which then sends as much to each
  EXPECT_NEAR(total(s, EngineKind::Auto), 6e-3, 1e-12);
  s.across.latency =
      Seconds{1e-6};  // links do not say this: by max-plus, where the server has a card of its own
  s.engine = EngineKind::Auto;
  const auto made = simulate(s, {});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->engine, EngineKind::MaxPlus);
  ASSERT_EQ(made->not_modelled.size(), 1U);
  EXPECT_NE(made->not_modelled[0].find("servers and switches"), std::string::npos);
}

TEST(Meetings, NothingThatIsSentMeetsNothing) {
  EXPECT_FALSE(meets(job(4, 1, Collective::AllReduce, Algorithm::ParameterServer, 0)));
}

}  // namespace
}  // namespace cox::simulate
