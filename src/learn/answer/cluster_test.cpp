// SPDX-License-Identifier: Apache-2.0
#include "learn/answer/cluster.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "learn/drive/job_for_tests.hpp"

namespace cox::learn {
namespace {

TEST(StreamOfAWay, PostLocalIsSynchronousFirstAndOneStreamThroughout) {
  const auto way = read_way("post-local,local-steps=5,synchronous-steps=20");
  ASSERT_TRUE(way);
  sync::Ledger ledger(4);
  Seconds last{};
  std::int64_t single = 0, rounds = 0;
  ASSERT_TRUE(stream_way(testing::job(4), *way, {}, 60, 1, [&](const sync::StreamEvent& e, Seconds at) {
    EXPECT_TRUE(ledger.take(e)) << ledger.error();
    EXPECT_GE(at, last);
    last = at;
    if (e.kind == sync::StreamEvent::Kind::Delivered) ++(e.update.steps == 1 ? single : rounds);
    return true;
  }));
  EXPECT_EQ(single, 4 * 20);
  EXPECT_EQ(rounds, 4 * 8);
  EXPECT_EQ(ledger.version(), 28);
}

TEST(StreamOfAWay, PostLocalOfOneStepIsSynchronousEventByEvent) {
  model::Scenario noisy = testing::job(4);
  model::NoiseSource noise;
  noise.law = model::NoiseLaw::Lognormal;
  noise.cv = 0.3;
  noisy.noise.push_back(noise);
  std::vector<Seconds> at[2];
  std::size_t k = 0;
  for (const char* text : {"synchronous", "post-local,local-steps=1,synchronous-steps=20"}) {
    const auto way = read_way(text);
    ASSERT_TRUE(way);
    ASSERT_TRUE(stream_way(noisy, *way, {}, 50, 7, [&](const sync::StreamEvent&, Seconds time) {
      at[k].push_back(time);
      return true;
    }));
    ++k;
  }
  EXPECT_EQ(at[0], at[1]);
}

TEST(StreamOfAWay, StopsInEitherPart) {
  const auto way = read_way("post-local,local-steps=5,synchronous-steps=20");
  for (const int events : {10, 200}) {
    int taken = 0;
    ASSERT_TRUE(stream_way(testing::job(4), *way, {}, 60, 1,
                           [&](const sync::StreamEvent&, Seconds) { return ++taken < events; }));
    EXPECT_EQ(taken, events);
  }
}

TEST(StreamOfAWay, FewerBytesTakeLessTime) {
  auto problem = make_problem({.dimension = 1000});
  std::map<std::string, Seconds> ends;
  for (const char* text : {"synchronous", "synchronous+fp16", "synchronous+top-k,keep=0.01"}) {
    const auto way = read_way(text);
    ASSERT_TRUE(way) << text;
    const model::Scenario slow = testing::job(8, Bandwidth::gbit_per_s(1));
    ASSERT_TRUE(
        stream_way(slow, *way, wire_of(*way, **problem), 5, 1, [&](const sync::StreamEvent&, Seconds at) {
          ends[text] = at;
          return true;
        }));
  }
  // 80 MB at 1 Gbit/s: 2 x 7/8 of it in a ring, half of that in FP16, 7 x 1 % x 2 of it in an all-gather.
  EXPECT_NEAR(ends["synchronous"] / ends["synchronous+fp16"], 2, 0.1);
  EXPECT_GT(ends["synchronous"] / ends["synchronous+top-k,keep=0.01"], 8);
}

}  // namespace
}  // namespace cox::learn
