// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "cox/learn/learner.hpp"
#include "cox/sync/shards.hpp"

#include "learn/drive/drive.hpp"
#include "learn/drive/job_for_tests.hpp"

namespace cox::learn {
namespace {

struct ShardEventAt {
  sync::StreamEvent event{};
  Seconds at{};
};

/// Every event of a run goes through the ledgers of all shards, and times do not fall.
std::vector<ShardEventAt> played(const model::Scenario& s, const char* word, std::int64_t steps,
                                 int workers) {
  const auto way = read_way(word);
  EXPECT_TRUE(way) << word;
  sync::ShardLedgers ledgers(workers, way->shards_of(workers));
  std::vector<ShardEventAt> out;
  const Status streamed = stream_ruled(s, *way, {}, steps, 1, [&](const sync::StreamEvent& e, Seconds at) {
    EXPECT_TRUE(ledgers.take(e)) << word << ": " << ledgers.error();
    EXPECT_TRUE(ledgers.conserved());
    EXPECT_TRUE(out.empty() || at >= out.back().at) << word;
    out.push_back({e, at});
    return ledgers.error().empty();
  });
  EXPECT_TRUE(streamed) << (streamed ? "" : streamed.error().message);
  return out;
}

model::Scenario noisy_job(int workers) {
  model::Scenario s = testing::job(workers);
  testing::make_uneven(s, 0.3);
  model::NoiseSource jitter;
  jitter.law = model::NoiseLaw::Lognormal;
  jitter.cv = 0.3;
  s.noise.push_back(jitter);
  return s;
}

/// Steps whose worker had read unlike versions of its `shards` shards.
int torn_steps(const std::vector<ShardEventAt>& events, int workers, std::size_t shards) {
  std::vector<std::vector<std::int64_t>> read(static_cast<std::size_t>(workers));
  int torn = 0;
  for (const auto& [e, at] : events) {
    if (e.kind != sync::StreamEvent::Kind::Read) continue;
    std::vector<std::int64_t>& mine = read[static_cast<std::size_t>(e.update.worker)];
    mine.push_back(e.update.version_read);
    if (mine.size() < shards) continue;
    torn += std::ranges::min(mine) < std::ranges::max(mine) ? 1 : 0;
    mine.clear();
  }
  return torn;
}

TEST(DriveShards, EveryShardOfEveryWayKeepsItsLedger) {
  for (const char* word : {"sharded-asynchronous,servers=4", "sharded-bounded-wait,staleness=1,servers=3",
                           "pipedream", "hogwild,blocks=8", "hogwild,blocks=1"}) {
    const auto events = played(noisy_job(5), word, 40, 5);
    std::vector<int> pieces(5);
    for (const auto& [e, at] : events)
      if (e.kind == sync::StreamEvent::Kind::Delivered && e.update.shard == 0)
        ++pieces[static_cast<std::size_t>(e.update.worker)];
    EXPECT_GE(std::ranges::max(pieces), 38) << word;
    EXPECT_GE(std::ranges::min(pieces), 15) << word;
  }
}

// One server whose ports are idle takes the time of groups of one worker, which have a policy of their own.
TEST(DriveShards, OneServerIsTheServerOfGroups) {
  const model::Scenario s = testing::job(1);
  const auto way = read_way("groups-asynchronous,group=1");
  ASSERT_TRUE(way);
  std::vector<Seconds> mine, groups;
  for (const auto& [e, at] : played(s, "sharded-asynchronous,servers=1", 10, 1))
    if (e.kind == sync::StreamEvent::Kind::Advanced) mine.push_back(at);
  ASSERT_TRUE(stream_ruled(s, *way, {}, 10, 1, [&](const sync::StreamEvent& e, Seconds at) {
    if (e.kind == sync::StreamEvent::Kind::Advanced) groups.push_back(at);
    return true;
  }));
  ASSERT_EQ(mine.size(), groups.size());
  for (std::size_t i = 0; i < mine.size(); ++i) EXPECT_NEAR(mine[i].count(), groups[i].count(), 1e-12) << i;
}

// Four servers take a quarter of the bytes each: eight even workers that meet at one server queue four times as long.
TEST(DriveShards, ServersShareWhatOnePortWouldCarry) {
  const model::Scenario s = testing::job(8, Bandwidth::gbyte_per_s(2));
  const Seconds one = played(s, "sharded-asynchronous,servers=1", 30, 8).back().at;
  const Seconds four = played(s, "sharded-asynchronous,servers=4", 30, 8).back().at;
  // A worker's own port passes 80 MB in 40 ms, there and back; one server passes those of all eight, 320 ms, in each direction.
  EXPECT_NEAR(one.count() / 30, 0.320, 0.03);
  EXPECT_LT(four, one / 2);
}

// Steps read a shard when its server's turn comes, so with several the versions of one step are unlike; in one piece they cannot be.
TEST(DriveShards, PiecesOfAStepMeetUnlikeVersions) {
  EXPECT_GT(torn_steps(played(noisy_job(6), "sharded-asynchronous,servers=4", 60, 6), 6, 4), 20);
  EXPECT_GT(torn_steps(played(noisy_job(6), "hogwild,blocks=8", 60, 6), 6, 8), 20);
  EXPECT_EQ(torn_steps(played(noisy_job(6), "hogwild,blocks=1", 60, 6), 6, 1), 0);
}

// Stage i of n holds at most n - i minibatches, so weights are at most n - 1 - i versions old there, whatever the noise; on even
// stages without messages exactly that, and a minibatch ends every n-th part of a step.
TEST(DriveShards, AStageOfAPipelineHasItsOwnAge) {
  for (const auto& [e, at] : played(noisy_job(5), "pipedream", 40, 5))
    if (e.kind == sync::StreamEvent::Kind::Delivered) {
      EXPECT_LE(e.update.age(), 4 - e.update.shard);
    }
  const auto even = played(testing::job(4), "pipedream", 40, 4);
  Seconds first{}, last{};
  int minibatches = 0;
  for (const auto& [e, at] : even) {
    if (e.kind != sync::StreamEvent::Kind::Delivered || e.update.version_applied < 8) continue;
    EXPECT_EQ(e.update.age(), 3 - e.update.shard);
    if (e.update.shard > 0) continue;
    if (minibatches++ == 0) first = at;
    last = at;
  }
  ASSERT_GT(minibatches, 100);
  EXPECT_NEAR(((last - first) / (minibatches - 1)).count(), 0.030 / 4, 0.03 * 0.03 / 4);
}

/// Largest size of each coordinate over the last events, of four stages on a quadratic of curvature 1.
std::vector<double> after_pipeline(double rate) {
  const auto way = read_way("pipedream");
  EXPECT_TRUE(way);
  const auto problem = make_problem({.dimension = 8, .condition = 1});
  EXPECT_TRUE(problem);
  Learner learner(**problem, {.rate = rate}, *way, {}, 4);
  std::vector<double> largest(8);
  EXPECT_TRUE(stream_ruled(testing::job(4), *way, {}, 600, 1, [&](const sync::StreamEvent& e, Seconds) {
    learner.take(e);
    for (std::size_t k = 0; k < 8 && learner.version() > 2300; ++k)
      largest[k] = std::max(largest[k], std::abs(static_cast<double>(learner.parameters()[k])));
    return learner.version() < 2350;
  }));
  return largest;
}

// Each stage's coordinates have the limit of that stage's own delay: beyond the limit of 3 versions the first stage explodes, and the
// others, whose delays are 2, 1 and 0, go on to the optimum. With one clock for all, all would.
TEST(DriveShards, AStageHasTheLimitOfItsOwnDelay) {
  const double edge = 2 * std::sin(std::numbers::pi / (2 * (2 * 3 + 1)));
  for (const double v : after_pipeline(0.98 * edge)) EXPECT_LT(v, 0.1);
  const std::vector<double> beyond = after_pipeline(1.02 * edge);
  EXPECT_GT(beyond[0], 10);
  EXPECT_GT(beyond[1], 10);
  for (std::size_t k = 2; k < 8; ++k) EXPECT_LT(beyond[k], 1e-6) << k;
}

}  // namespace
}  // namespace cox::learn
