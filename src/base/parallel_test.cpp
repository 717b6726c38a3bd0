// SPDX-License-Identifier: Apache-2.0
#include "cox/base/parallel.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace cox {
namespace {

TEST(ParallelFor, CallsEachIndexOnce) {
  for (const int threads : {-1, 0, 1, 2, 7}) {
    std::vector<std::atomic<int>> calls(1000);
    parallel_for(calls.size(), threads, [&](std::size_t i) { ++calls[i]; });
    for (const auto& c : calls) ASSERT_EQ(c.load(), 1) << threads << " threads";
  }
}

TEST(ParallelFor, OutcomeDoesNotDependOnThreads) {
  const auto run = [](int threads) {
    std::vector<double> out(513);
    parallel_for(out.size(), threads, [&](std::size_t i) {
      double x = 0;
      for (std::size_t k = 0; k <= i; ++k) x += 1.0 / static_cast<double>(k + 1);
      out[i] = x;
    });
    return out;
  };
  const auto alone = run(1);
  EXPECT_EQ(run(2), alone);
  EXPECT_EQ(run(16), alone);
}

TEST(ParallelFor, NothingToDo) {
  parallel_for(0, 4, [](std::size_t) { FAIL() << "called for an empty range"; });
}

TEST(ParallelFor, AllIsDoneOnReturn) {
  for (int round = 0; round < 50; ++round) {
    std::vector<int> out(8);
    parallel_for(out.size(), 8, [&](std::size_t i) { out[i] = static_cast<int>(i) + round; });
    for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], static_cast<int>(i) + round);
  }
}

}  // namespace
}  // namespace cox
