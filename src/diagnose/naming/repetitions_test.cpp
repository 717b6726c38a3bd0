// SPDX-License-Identifier: Apache-2.0
#include "diagnose/naming/repetitions.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <set>

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;

struct Shape {
  std::size_t ranks = 8;
  std::int64_t operations = 200;
  std::int64_t steps = 5;
  std::uint32_t kinds = 1;
  std::function<bool(std::size_t rank, std::int64_t op)> present = [](std::size_t, std::int64_t) {
    return true;
  };
};

/// Work of 1 ms with 100 us of normal noise, and what `extra` adds in spreads of it.
RepetitionTable table_of(const Shape& s, unsigned seed,
                         const std::function<double(std::size_t rank, std::int64_t op)>& extra) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> noise(0, 1);
  RepetitionTable t{.ranks = s.ranks, .kinds = s.kinds, .steps = s.steps, .operations = {}, .works = {}};
  for (std::int64_t op = 0; op < s.operations; ++op) {
    RepeatedOperation o{.kind = static_cast<std::uint32_t>(op % s.kinds),
                        .step = s.steps > 0 ? op * s.steps / s.operations : -1,
                        .first = t.works.size()};
    for (std::size_t r = 0; r < s.ranks; ++r) {
      const double z = noise(bits) + extra(r, op);
      if (!s.present(r, op)) continue;
      t.works.push_back({static_cast<std::int32_t>(r), duration_from_seconds(1e-3 + 1e-4 * z)});
      ++o.count;
    }
    if (o.count >= 2) t.operations.push_back(o);
  }
  return t;
}

std::set<std::size_t> ranks_of(const std::vector<LateOver>& late) {
  std::set<std::size_t> ranks;
  for (const LateOver& l : late) ranks.insert(l.rank);
  return ranks;
}

using Ranks = std::set<std::size_t>;

TEST(Repetitions, ARankThatIsLateInAllIsNamedWithItsDelay) {
  const auto late =
      find_late_over(table_of({}, 1, [](std::size_t r, std::int64_t) { return r == 3 ? 1.0 : 0.0; }));
  ASSERT_EQ(ranks_of(late), Ranks{3});
  EXPECT_NEAR(in_seconds(late.front().delay), 100e-6, 40e-6);
  EXPECT_EQ(late.front().operations, 200);
  EXPECT_EQ(late.front().kind, LateOver::kAllKinds);
  EXPECT_LT(late.front().chance, 1e-3);
}

TEST(Repetitions, ASetIsNamedExactly) {
  Shape s;
  s.ranks = 16;
  const auto late =
      find_late_over(table_of(s, 2, [](std::size_t r, std::int64_t) { return r % 5 == 1 ? 2.0 : 0.0; }));
  EXPECT_EQ(ranks_of(late), (Ranks{1, 6, 11}));
}

TEST(Repetitions, LatenessBeforeOneKindIsThatKinds) {
  Shape s;
  s.kinds = 4;
  s.operations = 400;
  const auto late = find_late_over(
      table_of(s, 3, [](std::size_t r, std::int64_t op) { return r == 5 && op % 4 == 2 ? 3.0 : 0.0; }));
  ASSERT_EQ(ranks_of(late), Ranks{5});
  EXPECT_EQ(late.front().kind, 2);
}

TEST(Repetitions, EvenRanksAreQuiet) {
  int named = 0;
  for (unsigned seed = 0; seed < 300; ++seed)
    named += !find_late_over(table_of({}, seed, [](std::size_t, std::int64_t) { return 0.0; })).empty();
  EXPECT_LE(named, 3);
}

TEST(Repetitions, ARankThatIsSlowInOneStepOfFiveIsNot) {
  const auto late = find_late_over(
      table_of({}, 4, [](std::size_t r, std::int64_t op) { return r == 2 && op < 40 ? 4.0 : 0.0; }));
  EXPECT_TRUE(late.empty());
}

TEST(Repetitions, StepsAreTheRepetitionsWhereARankIsSlowForAStep) {
  // One draw per rank and step: 200 operations are five repetitions.
  int named = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 bits(seed + 1000);
    std::normal_distribution<double> noise(0, 1);
    std::vector<std::vector<double>> of(8, std::vector<double>(5));
    for (auto& row : of)
      for (double& x : row) x = noise(bits);
    named += !find_late_over(table_of({}, seed, [&](std::size_t r, std::int64_t op) {
                return of[r][static_cast<std::size_t>(op / 40)];
              })).empty();
  }
  EXPECT_LE(named, 2);
}

TEST(Repetitions, RanksThatNeverMeetAreComparedThroughThoseTheyShare) {
  Shape s;
  s.operations = 400;
  // Ranks 0 and 7 are never in one operation; who is there makes an operation's work look longer or shorter.
  s.present = [](std::size_t r, std::int64_t op) { return r == 0 ? op % 2 == 0 : r != 7 || op % 2 == 1; };
  const auto late = find_late_over(table_of(s, 5, [](std::size_t r, std::int64_t op) {
    return (op % 2 == 0 ? 20.0 : 0.0) + (r == 7 ? 1.5 : 0.0);
  }));
  EXPECT_EQ(ranks_of(late), Ranks{7});
}

TEST(Repetitions, TooFewSayNothing) {
  Shape s;
  s.operations = 14;
  s.steps = 0;
  EXPECT_TRUE(find_late_over(table_of(s, 6, [](std::size_t r, std::int64_t) {
                return r == 3 ? 50.0 : 0.0;
              })).empty());
  EXPECT_TRUE(find_late_over({}).empty());
}

}  // namespace
}  // namespace cox::diagnose
