// SPDX-License-Identifier: Apache-2.0
#include "learn/answer/cluster.hpp"

#include <gtest/gtest.h>

#include "learn/answer/job_for_tests.hpp"

namespace cox::learn {
namespace {

TEST(StreamOfAWay, PostLocalIsSynchronousFirstAndOneStreamThroughout) {
  const auto way = read_way("post-local,local-steps=5,synchronous-steps=20");
  ASSERT_TRUE(way);
  sync::Ledger ledger(4);
  Seconds last{};
  std::int64_t single = 0, rounds = 0;
  ASSERT_TRUE(stream_way(testing::job(4), *way, 60, 1, [&](const sync::Event& e, Seconds at) {
    EXPECT_TRUE(ledger.take(e)) << ledger.error();
    EXPECT_GE(at, last);
    last = at;
    if (e.kind == sync::Event::Kind::Delivered) ++(e.update.steps == 1 ? single : rounds);
    return true;
  }));
  EXPECT_EQ(single, 4 * 20);
  EXPECT_EQ(rounds, 4 * 8);
  EXPECT_EQ(ledger.version(), 28);
}

TEST(StreamOfAWay, StopsInEitherPart) {
  const auto way = read_way("post-local,local-steps=5,synchronous-steps=20");
  for (const int events : {10, 200}) {
    int taken = 0;
    ASSERT_TRUE(stream_way(testing::job(4), *way, 60, 1,
                           [&](const sync::Event&, Seconds) { return ++taken < events; }));
    EXPECT_EQ(taken, events);
  }
}

}  // namespace
}  // namespace cox::learn
