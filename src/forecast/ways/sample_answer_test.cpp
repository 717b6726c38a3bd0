// SPDX-License-Identifier: Apache-2.0
#include "forecast/ways/sample_answer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "cox/base/stats.hpp"

#include "forecast/calibrate/divided_work.hpp"
#include "support/forecast_sample.hpp"

namespace cox::forecast {
namespace {

/// A run of a job whose ranks differ by 4 for good, own work of 100 that grows by so much a doubling.
Sample run_of(int ranks, double growth, std::uint64_t seed) {
  Sample out = test::sample_of({.rank = 4, .residual = 2}, ranks / 8, 8, 200, seed);
  const Seconds more{growth * std::log2(ranks / 8)};
  for (Seconds& x : out.positions[0].own) x += more;
  for (SampleStep& s : out.steps) s.length += more;
  return out;
}

SizePoint foretold(const std::vector<Sample>& samples) {
  return answer_samples(samples, {512}, {.replicates = 100}).value().projection.points[0];
}

// What lasts hides growth: 20 jobs each, which more than one of a thousand times hold as few as this where nine in ten bands hold.
TEST(SampleAnswer, BandsOfTwoSizesHoldWhereWhatLastsHidesGrowth) {
  constexpr int kJobs = 20;
  for (const double growth : {0.0, 1.0}) {
    std::int64_t outside = 0;
    for (std::uint64_t j = 0; j < kJobs; ++j) {
      const std::uint64_t seed = 1000 * (j + 1) + (growth > 0 ? 500 : 0);
      const SizePoint at = foretold({run_of(16, growth, seed + 1), run_of(64, growth, seed + 2)});
      const Seconds truth = step_mean(run_of(512, growth, seed + 4)).mean;
      if (at.refused.empty() && (truth < at.mean.low || truth > at.mean.high)) ++outside;
    }
    EXPECT_GT(binomial_upper_tail(outside, kJobs, 0.1), 1e-3) << growth << ", " << outside << " outside";
  }
}

// Two inputs of one size that are apart by more than their noise: neither is outside of the band there, and it is said.
TEST(SampleAnswer, InputsOfOneSizeThatAreApartAreBothInTheBand) {
  Sample quick = test::sample_of({.residual = 2}, 2, 8, 300, 7);
  Sample slow = test::sample_of({.residual = 12}, 2, 8, 300, 8);
  const SampleAnswer answer =
      answer_samples(std::vector<Sample>{quick, slow}, {16}, {.replicates = 100}).value();
  const TimeBand& here = answer.projection.points[0].mean;
  const Seconds less = step_mean(quick).mean, more = step_mean(slow).mean;
  ASSERT_GT(more, 1.03 * less);
  EXPECT_LE(here.low, less);
  EXPECT_GE(here.high, more);
  const auto says = [](const Parts& parts) {
    return std::ranges::any_of(parts.untold, [](const std::string& s) {
      return s.starts_with("which of the inputs of 16 ranks the job is: they take ");
    });
  };
  EXPECT_TRUE(says(answer.parts));
  const Sample again = test::sample_of({.residual = 2}, 2, 8, 300, 9);
  EXPECT_FALSE(
      says(answer_samples(std::vector<Sample>{quick, again}, {16}, {.replicates = 20}).value().parts));
}

// One size leaves growth open; a second of which what lasts hides all growth closes that by what it says, and not to nothing.
TEST(SampleAnswer, ASecondSizeNarrowsByWhatItSays) {
  double one = 0;
  double far = 0;
  double near = 0;
  double steady = 0;
  for (std::uint64_t j = 0; j < 8; ++j) {
    const auto width = [&](const std::vector<Sample>& seen) {
      const TimeBand band = foretold(seen).mean;
      return (band.high - band.low).count() / 8;
    };
    const Sample large = run_of(64, 0, 100 * j + 1);
    one += width({large});
    far += width({run_of(8, 0, 100 * j + 2), large});
    near += width({run_of(56, 0, 100 * j + 3), large});
    steady += width({test::sample_of({.residual = 2}, 1, 8, 200, 100 * j + 4),
                     test::sample_of({.residual = 2}, 8, 8, 200, 100 * j + 5)});
  }
  EXPECT_LT(far, one);
  EXPECT_LT(steady, far) << "where nothing lasts a second size tells more";
  EXPECT_GT(near, far) << "sizes that are near each other tell less of growth";
  EXPECT_GT(near, 0.3 * one) << "they tell next to nothing";
}

TEST(SampleAnswer, ABandThatIsNotFiniteLeavesTheOtherSizesTheirMiss) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
  const auto band = [](double low, double high) {
    return TimeBand{Seconds{high}, Seconds{low}, Seconds{high}};
  };
  const TimeBand usual = band(9, 10);
  EXPECT_NEAR(missed_by(std::vector{Seconds{12}}, std::vector{usual}), 0.2, 1e-12);
  EXPECT_NEAR(missed_by(std::vector{Seconds{6}}, std::vector{usual}), 1.0 / 3, 1e-12);
  EXPECT_EQ(missed_by(std::vector{Seconds{9.5}}, std::vector{usual}), 0);
  for (const TimeBand& other : {band(1e-320, 1e-320), band(kInfinite, kInfinite), band(kNoNumber, kNoNumber),
                                band(9, kNoNumber), band(0, 0)})
    for (const bool first : {true, false})
      EXPECT_NEAR(missed_by(std::vector{Seconds{12}, Seconds{12}},
                            first ? std::vector{other, usual} : std::vector{usual, other}),
                  0.2, 1e-12)
          << other.high.count() << first;
}

/// So many ranks of a job whose own work is 20 + 1280 / N, with a residual of this part of it and of this deviation beside.
Sample strong(int ranks, double part, double fixed, std::uint64_t seed) {
  Sample out = test::sample_of({.residual = 1}, ranks / 8, 8, 400, seed);
  const double work = 20 + 1280.0 / ranks;
  for (std::size_t k = 0; k < out.steps.size(); ++k) {
    Seconds slowest{};
    for (int r = 0; r < ranks; ++r) {
      Seconds& x = out.positions[0].own[k * static_cast<std::size_t>(ranks) + static_cast<std::size_t>(r)];
      x = Seconds{work + (part * work + fixed) * (x.count() - 100)};
      slowest = std::max(slowest, x);
    }
    out.steps[k].length = slowest + Seconds{3};
  }
  return out;
}

double step_of(const Sample& sample) {
  return step_mean(sample).mean.count();
}

SizePoint foretold_strong(const std::vector<Sample>& samples, std::int64_t ranks) {
  return answer_samples(samples, {ranks}, {.scaling = Scaling::Strong}).value().projection.points[0];
}

TEST(DividedWork, WhatIsNotDividedIsFoundInTwoSizes) {
  for (const auto& [part, fixed] : {std::pair{0.05, 0.0}, {0.0, 2.0}}) {
    const SizePoint at = foretold_strong({strong(16, part, fixed, 1), strong(64, part, fixed, 2)}, 256);
    const double truth = step_of(strong(256, part, fixed, 3));
    ASSERT_TRUE(at.refused.empty()) << at.refused;
    EXPECT_NEAR(at.mean.value.count(), truth, 0.02 * truth) << part;
    EXPECT_LE(at.mean.low.count(), truth);
    EXPECT_GE(at.mean.high.count(), truth);
  }
}

/// Both in one step, one after the other.
Sample after(Sample first, const Sample& second) {
  first.positions.push_back(second.positions.front());
  first.positions[0].name = "allreduce 1 of 2";
  first.positions[1].name = "allreduce 2 of 2";
  for (std::size_t k = 0; k < first.steps.size(); ++k) first.steps[k].length += second.steps[k].length;
  return first;
}

// One position varies by a part of its work, the other by as much at any size: each goes on in its own way, in either order.
TEST(DividedWork, EachPositionVariesByItsOwnPower) {
  const auto both = [](int ranks, bool part_first, std::uint64_t seed) {
    const Sample part = strong(ranks, 0.2, 0, seed);
    const Sample fixed = strong(ranks, 0, 8, seed + 100);
    return part_first ? after(part, fixed) : after(fixed, part);
  };
  for (const bool part_first : {true, false}) {
    const std::vector<Sample> samples{both(16, part_first, 1), both(64, part_first, 2)};
    const Parts parts = parts_of_samples(samples, WorkOf::Whole).value();
    ASSERT_EQ(parts.positions.size(), 2U);
    EXPECT_NEAR(parts.positions[part_first ? 0 : 1].residual_sd.value / Seconds{8}, 1, 0.05);
    const double truth = step_of(both(256, part_first, 3));
    EXPECT_NEAR(foretold_strong(samples, 256).mean.value.count(), truth, 0.02 * truth);
    EXPECT_NEAR(parts.positions[part_first ? 0 : 1].spread_power, 1, 0.1);
    EXPECT_NEAR(parts.positions[part_first ? 1 : 0].spread_power, 0, 0.1);
    const double ratio = foretold_strong(samples, 264).mean.value / foretold_strong(samples, 248).mean.value;
    EXPECT_NEAR(foretold_strong(samples, 256).elasticity, -std::log(ratio) / std::log(264.0 / 248), 0.01);
  }
}

TEST(DividedWork, ItsSizesComeBack) {
  const std::vector<Sample> samples{strong(16, 0.05, 0, 1), strong(64, 0.05, 0, 2)};
  for (const Sample& s : samples)
    EXPECT_NEAR(foretold_strong(samples, s.size()).mean.value.count(), step_of(s), 0.01 * step_of(s));
}

TEST(DividedWork, ElasticityIsThatOfTheSteps) {
  const std::vector<Sample> samples{strong(16, 0.05, 0, 1), strong(64, 0.05, 0, 2)};
  const double ratio = foretold_strong(samples, 264).mean.value / foretold_strong(samples, 248).mean.value;
  EXPECT_NEAR(foretold_strong(samples, 256).elasticity, -std::log(ratio) / std::log(264.0 / 248), 0.01);
}

TEST(DividedWork, OneSizeIsDividedWhole) {
  const Parts one = parts_of_samples(std::vector{strong(64, 0.05, 0, 1)}, WorkOf::Whole).value();
  EXPECT_EQ(one.positions[0].spread_power, 1);
  EXPECT_TRUE(one.positions[0].growth.empty());
}

// Of 100 s at 16 ranks 20 s are not divided, which one size does not tell: the second band holds it, and it is said.
TEST(DividedWork, WhatOneSizeDoesNotTellIsInTheSecondBand) {
  const SampleAnswer one =
      answer_samples(std::vector{strong(16, 0.05, 0, 1)}, {16, 256}, {.scaling = Scaling::Strong}).value();
  const double truth = step_of(strong(256, 0.05, 0, 3));
  const SizePoint& at = one.projection.points[1];
  EXPECT_LT(at.mean.high.count(), truth) << "the whole is taken to be divided";
  EXPECT_GT(at.with_shared.high.count(), truth);
  EXPECT_LT(at.with_shared.low.count(), truth);
  EXPECT_EQ(one.projection.points[0].mean.high, one.projection.points[0].without_growth.high);
  EXPECT_NE(one.parts.untold.front().find("not divided by the ranks"), std::string::npos);
}

TEST(DividedWork, WhatIsNotDividedIsNamed) {
  const Parts parts =
      parts_of_samples(std::vector{strong(16, 0.05, 0, 1), strong(64, 0.05, 0, 2)}, WorkOf::Whole).value();
  const auto said = std::ranges::find_if(
      parts.notes, [](const std::string& note) { return note.find("not divided") != std::string::npos; });
  ASSERT_NE(said, parts.notes.end());
  EXPECT_TRUE(said->find(": 20.") != std::string::npos || said->find(": 19.") != std::string::npos) << *said;
}

// What a step has beside own work falls with the ranks, as nothing that grows does: one size is missed, and other sizes are no surer.
TEST(DividedWork, AMissAtAMeasuredSizeIsInTheBand) {
  std::vector<Sample> samples{strong(16, 0.05, 0, 1), strong(64, 0.05, 0, 2)};
  const SampleAnswer held = answer_samples(samples, {256}, {.scaling = Scaling::Strong}).value();
  EXPECT_LT(held.missed, 0.01);
  for (SampleStep& s : samples[0].steps) s.length += Seconds{30};
  const SampleAnswer missed = answer_samples(samples, {256}, {.scaling = Scaling::Strong}).value();
  EXPECT_GT(missed.missed, 0.05);
  const TimeBand before = held.projection.points[0].mean;
  const TimeBand after = missed.projection.points[0].mean;
  EXPECT_GT((after.high - after.low).count(),
            (before.high - before.low).count() + missed.missed * after.value.count());
}

}  // namespace
}  // namespace cox::forecast
