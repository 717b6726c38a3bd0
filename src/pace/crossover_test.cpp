// SPDX-License-Identifier: Apache-2.0
#include "cox/pace/crossover.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "cox/base/random.hpp"

namespace cox::pace {
namespace {

using Verdict = Crossover::Verdict;

/// A hold whose steps with delay gain `gain` at once and cost `cost` spread over the `span` steps after.
struct Held {
  double gain = 0.02;
  double cost = 0;
  std::uint64_t span = 1;
  double noise = 0;

  /// Verdicts that were not None, to the first harm or for `steps`.
  std::vector<Verdict> play(Crossover& crossover, std::uint64_t from, std::uint64_t steps) const {
    std::vector<Verdict> all;
    std::vector<double> carried(from + steps + span + 1);
    const RandomStream draws(3, 1);
    crossover.begin(from);
    double due = 0;
    for (std::uint64_t step = from; step < from + steps; ++step) {
      due += carried[step];
      double time = 1 + due + noise * draws.normal(0, step);
      if (!crossover.is_off(step)) {
        time -= gain;
        const double each = cost / static_cast<double>(span);
        carried[step + 1] += each;
        carried[step + 1 + span] -= each;
      }
      crossover.add(step, Seconds{time});
      const Verdict verdict = crossover.verdict(step, 0);
      if (verdict != Verdict::None) all.push_back(verdict);
      if (verdict == Verdict::Harm) break;
    }
    return all;
  }
};

TEST(Crossover, WithoutCarryThereIsNone) {
  Crossover crossover(1, 16, 0);
  EXPECT_TRUE(Held{}.play(crossover, 160, 5000).empty());
  for (std::uint64_t step = 160; step < 5160; ++step) ASSERT_FALSE(crossover.is_off(step));
}

TEST(Crossover, AGainIsProvenAfterTwoFramesAndThenRarelyTested) {
  Crossover crossover(1, 16, 256);
  const std::vector<Verdict> first = Held{}.play(crossover, 128, 512 + 128 + 2048);
  EXPECT_EQ(first, (std::vector{Verdict::Gain, Verdict::Gain}));
  EXPECT_TRUE(crossover.is_proven());
  EXPECT_EQ(crossover.unproven(), 0);
  EXPECT_EQ(crossover.longest(), 64 * (8 - 2 + 32 - 6));
  int off = 0;
  for (std::uint64_t step = 2816; step < 3072 + 8192; ++step) {
    off += crossover.is_off(step) ? 1 : 0;
    crossover.add(step, Seconds{crossover.is_off(step) ? 1 : 0.98});
    if (crossover.verdict(step, 0) != Verdict::None) break;
  }
  EXPECT_EQ(off, 384);
}

TEST(Crossover, SeesALossThatIsSpreadOverLaterSteps) {
  for (const std::uint64_t span : {1U, 20U, 100U}) {
    Crossover crossover(7, 16, 256);
    const std::vector<Verdict> seen =
        Held{.cost = 0.05, .span = span, .noise = 0.01}.play(crossover, 256, 512);
    EXPECT_EQ(seen, std::vector{Verdict::Harm}) << span;
    EXPECT_NEAR(crossover.gain(), -0.03, 0.015) << span;
  }
  Crossover crossover(7, 16, 256);
  const std::vector<Verdict> seen =
      Held{.cost = 0.05, .span = 300, .noise = 0.003}.play(crossover, 256, 512 + 384 + 2048);
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.back(), Verdict::Harm);
}

TEST(Crossover, StretchesAreWholePairsAlikeOnAllRanksAndMoveWithTheSeed) {
  int same = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Crossover one(seed, 16, 256);
    Crossover two(seed, 16, 256);
    Crossover other(seed + 1, 16, 256);
    one.begin(130);  // a pair later, in the same unit
    two.begin(146);
    other.begin(130);
    std::uint64_t begins = 0;
    for (std::uint64_t step = 256; step < 768; ++step) {
      ASSERT_EQ(one.is_off(step), two.is_off(step)) << seed;
      ASSERT_EQ(one.is_off(step), one.is_off(step / 16 * 16)) << seed;
      if (one.is_off(step) && begins == 0) begins = step;
    }
    same += other.is_off(begins) && !other.is_off(begins - 1) ? 1 : 0;
  }
  EXPECT_LT(same, 8);  // of 25 places
}

TEST(Crossover, GapsLeaveAFrameUnmeasured) {
  Crossover crossover(1, 16, 256);
  crossover.begin(0);
  Verdict verdict = Verdict::None;
  for (std::uint64_t step = 0; verdict == Verdict::None && step < 2000; step += step % 32 == 7 ? 2 : 1) {
    crossover.add(step, Seconds{1});
    verdict = crossover.verdict(step, 0);
  }
  EXPECT_EQ(verdict, Verdict::Unmeasured);
}

}  // namespace
}  // namespace cox::pace
