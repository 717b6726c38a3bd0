// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "cox/simulate/training.hpp"

#include "simulate/training/scenarios.hpp"

namespace cox::simulate {
namespace {

using namespace testing;
using trace::EventKind;

trace::Run run_of(const model::Scenario& s) {
  auto out = simulate_training(s, {.want_run = true});
  EXPECT_TRUE(out) << s.name << ": " << (out ? "" : out.error().to_string());
  return out ? *std::move(out->run) : trace::Run{};
}

TEST(TrainingRecord, EveryCollectiveIsSeenByAllItsMembersInOneOrder) {
  for (const model::Scenario& s : assorted()) {
    const trace::Run run = run_of(s);
    ASSERT_EQ(run.ranks.size(), static_cast<std::size_t>(s.cluster.ranks()));
    EXPECT_EQ(run.info.provenance, trace::Provenance::Simulated);
    std::map<std::pair<CommId, std::uint32_t>, std::set<Rank>> seen;
    std::map<std::pair<CommId, std::uint32_t>, std::set<std::pair<std::uint8_t, Bytes>>> what;
    for (const trace::RankTrack& t : run.ranks) {
      const trace::EventColumns& e = t.events;
      EXPECT_TRUE(std::is_sorted(e.begin.begin(), e.begin.end())) << s.name;
      for (std::size_t i = 0; i < e.size(); ++i) {
        EXPECT_LE(e.begin[i], e.end[i]);
        if (e.kind[i] != EventKind::Collective) continue;
        seen[{e.comm[i], e.seq[i]}].insert(t.rank);
        what[{e.comm[i], e.seq[i]}].insert({e.op[i], e.bytes[i]});
      }
    }
    EXPECT_FALSE(seen.empty());
    for (const auto& [key, ranks] : seen) {
      const trace::Communicator* comm = run.find(key.first);
      ASSERT_NE(comm, nullptr);
      EXPECT_EQ(ranks, std::set<Rank>(comm->ranks.begin(), comm->ranks.end()))
          << s.name << ": " << comm->name;
      EXPECT_EQ(what[key].size(), 1U) << s.name << ": " << comm->name;
    }
  }
}

TEST(TrainingRecord, StepsBeginAndTheRunEndsWhenTheOutcomeSays) {
  for (const model::Scenario& s : assorted()) {
    const auto out = simulate_training(s, {.want_run = true});
    ASSERT_TRUE(out && out->run);
    Duration last{};
    for (const trace::RankTrack& t : out->run->ranks) {
      EXPECT_EQ(std::count(t.events.kind.begin(), t.events.kind.end(), EventKind::Step), s.job.steps);
      for (const Duration end : t.events.end) last = std::max(last, end);
    }
    EXPECT_NEAR(in_seconds(last), out->total.count(), 2e-12) << s.name;
  }
}

TEST(TrainingRecord, KernelsAreTheRanksOwnComputation) {
  model::Scenario s = data_parallel(2, 4);
  work_of(s).micro_batches = 3;
  s.noise.push_back(slow_rank(1, 0.5));
  const trace::Run run = run_of(s);
  for (const trace::RankTrack& t : run.ranks) {
    std::map<std::string, Duration> by_name;
    Duration before{};
    for (std::size_t i = 0; i < t.activities.size(); ++i) {
      EXPECT_EQ(t.activities.kind[i], trace::ActivityKind::Kernel);
      EXPECT_GE(t.activities.begin[i], before);
      before = t.activities.end[i];
      by_name[run.names[t.activities.name[i]]] += t.activities.end[i] - t.activities.begin[i];
    }
    const double factor = t.rank == Rank{1} ? 1.5 : 1;
    ASSERT_EQ(by_name.size(), 7U);
    EXPECT_NEAR(in_seconds(by_name["forward 2"]), factor * 4e-3, 1e-11);
    EXPECT_NEAR(in_seconds(by_name["backward 0"]), factor * 8e-3, 1e-11);
    EXPECT_NEAR(in_seconds(by_name["optimizer"]), factor * 0.4e-3, 1e-11);
  }
}

TEST(TrainingRecord, RolesAndGroupsFollowTheLayout) {
  model::Scenario s = assorted().front();
  ASSERT_EQ(work_of(s).layout.context, 2);
  const trace::Run run = run_of(s);
  // ((data x 2 + stage) x 2 + context) x 2 + tensor
  EXPECT_EQ(run.ranks[13].role, (model::Role{.data = 1, .tensor = 1, .pipeline = 1, .expert = -1}));
  EXPECT_EQ(run.ranks[13].node, NodeId{3});
  const auto members = [&](const std::string& name) {
    for (const trace::Communicator& c : run.communicators)
      if (c.name == name) return c.ranks;
    return std::vector<Rank>{};
  };
  EXPECT_EQ(members("data of stage 1 tensor 0"), (std::vector<Rank>{Rank{4}, Rank{6}, Rank{12}, Rank{14}}));
  EXPECT_EQ(members("tensor of rank 6"), (std::vector<Rank>{Rank{6}, Rank{7}}));
  EXPECT_EQ(members("context of rank 5"), (std::vector<Rank>{Rank{5}, Rank{7}}));
  for (std::size_t i = 0; i < run.communicators.size(); ++i)
    EXPECT_EQ(run.communicators[i].id, CommId{static_cast<std::int32_t>(i)});
}

TEST(TrainingRecord, FailuresLeaveGapsBetweenSteps) {
  model::Scenario s = data_parallel(2, 4);
  s.job.steps = 30;
  s.failures = {.node_mtbf = Seconds{0.2},
                .restart = Seconds{0.05},
                .checkpoint = Seconds{1e-3},
                .checkpoint_interval = Seconds{0.03}};
  const auto out = simulate_training(s, {.want_run = true});
  ASSERT_TRUE(out && out->run);
  EXPECT_GT(out->total, Seconds{30 * 13e-3});
  const trace::EventColumns& e = out->run->ranks[0].events;
  EXPECT_TRUE(std::is_sorted(e.begin.begin(), e.begin.end()));
  EXPECT_LE(in_seconds(e.end.back()), out->total.count() + 1e-11);
  EXPECT_NEAR(in_seconds(e.end.back()), out->step_ends.back().count(), 1e-11);
}

TEST(TrainingRecord, ARunTooLargeToWriteIsRefused) {
  model::Scenario s = data_parallel(4096, 96);
  s.job.steps = 1000;
  const auto out = simulate_training(s, {.want_run = true});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().id, "simulate-003");
}

}  // namespace
}  // namespace cox::simulate
