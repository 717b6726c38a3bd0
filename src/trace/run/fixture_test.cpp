// SPDX-License-Identifier: Apache-2.0
// Files of version 1 as they were first written. They are never made anew:
// if this fails, the reader broke a promise.
#include <gtest/gtest.h>

#include "cox/trace/read.hpp"

namespace cox::trace {
namespace {

// The last return of all, to the picosecond.
constexpr Duration kLastReturn{72'578'792'936};

TEST(Fixture, RunOfVersionOneStaysReadable) {
  const auto run = open_run(std::filesystem::path(COX_TEST_DATA) / "run-v1");
  ASSERT_TRUE(run) << run.error().to_string();
  EXPECT_TRUE(run->notes.empty());
  EXPECT_EQ(run->info.name, "run-v1");
  EXPECT_EQ(run->info.provenance, Provenance::Simulated);
  EXPECT_EQ(run->world_size, 4);
  EXPECT_EQ(run->origin_realtime_ns, 1'700'000'000'000'000'000);
  ASSERT_EQ(run->nodes.size(), 2U);
  EXPECT_EQ(run->nodes[1].host, "node1");
  ASSERT_EQ(run->communicators.size(), 1U);
  EXPECT_EQ(run->communicators[0].name, "world");
  EXPECT_EQ(run->communicators[0].ranks.size(), 4U);
  ASSERT_EQ(run->ranks.size(), 4U);
  for (const RankTrack& t : run->ranks) {
    EXPECT_EQ(t.events.size(), 18U);
    EXPECT_EQ(t.state, WriterState::Closed);
    EXPECT_EQ(t.program, "/opt/synthetic/train");
    int collectives = 0;
    for (std::size_t i = 0; i < t.events.size(); ++i) {
      if (t.events.kind[i] == EventKind::Step) {
        EXPECT_EQ(t.events.step_number(i), static_cast<std::int64_t>(i / 3));
        continue;
      }
      EXPECT_EQ(t.events.collective(i), model::Collective::AllReduce);
      EXPECT_EQ(t.events.seq[i], static_cast<std::uint32_t>(collectives));
      EXPECT_EQ(t.events.bytes[i], Bytes{25'000'000});
      ++collectives;
    }
    EXPECT_EQ(collectives, 12);
  }
  // Everybody leaves together, on raw (nanosecond) and compact (picosecond) files alike.
  EXPECT_EQ(run->ranks[2].events.end.back(), run->ranks[3].events.end.back());
  EXPECT_LT(std::chrono::abs(run->ranks[0].events.end.back() - run->ranks[2].events.end.back()),
            std::chrono::nanoseconds{1});
  EXPECT_EQ(run->ranks[3].events.end.back().count(), kLastReturn.count());
}

}  // namespace
}  // namespace cox::trace
