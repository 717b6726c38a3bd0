// SPDX-License-Identifier: Apache-2.0
#include "diagnose/over_time/time_structure.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cox/base/random.hpp"

#include "diagnose/match/synthetic_job.hpp"
#include "diagnose/over_time/json.hpp"
#include "diagnose/over_time/parts.hpp"
#include "tests/support/test_data.hpp"

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;

std::vector<StepId> numbers(std::size_t n) {
  std::vector<StepId> steps;
  for (std::size_t s = 0; s < n; ++s) steps.emplace_back(static_cast<std::int64_t>(s));
  return steps;
}

std::vector<Duration> times_of(const std::vector<double>& seconds) {
  std::vector<Duration> times;
  times.reserve(seconds.size());
  for (const double x : seconds) times.push_back(duration_from_seconds(x));
  return times;
}

template <class Level>
std::vector<Duration> series(int n, std::uint64_t seed, double jitter, const Level& level) {
  std::vector<Duration> times;
  times.reserve(static_cast<std::size_t>(n));
  for (int s = 0; s < n; ++s)
    times.push_back(testing::lognormal_work(seed, 0, s, duration_from_seconds(0.1 * level(s)), jitter));
  return times;
}

TEST(TimeStructure, JitterAloneHasNone) {
  for (std::uint64_t seed = 0; seed < 50; ++seed)
    for (const double jitter : {0.01, 0.05, 0.3, 0.8}) {
      const auto times = series(40 + static_cast<int>(seed * 7), seed, jitter, [](int) { return 1.0; });
      const TimeStructure t = understand_times(times, numbers(times.size()));
      EXPECT_FALSE(t.evident()) << "seed " << seed << " jitter " << jitter << ": " << describe(t).front();
    }
}

// A clock too coarse for some steps: the level of a stretch is nothing, and no ratio to it is a number.
TEST(TimeStructure, StepsOfNoLengthEnd) {
  std::vector<double> seconds(240, 0.0);
  for (std::size_t i = 0; i < seconds.size(); ++i)
    if (i < 160 || i % 7 == 0) seconds[i] = 0.001;
  const TimeStructure t = understand_times(times_of(seconds), numbers(seconds.size()));
  for (const ChangePoint& c : t.changes) EXPECT_TRUE(std::isfinite(c.shift_ratio));
  for (double& s : seconds) s = s > 0 ? 0 : 0.001;
  for (std::size_t i = 0; i < 130; ++i) seconds[i] = 0.001;
  EXPECT_GT(understand_times(times_of(seconds), numbers(seconds.size())).count, 0);
}

TEST(TimeStructure, HeavyTailsHaveNone) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<Duration> times;
    times.reserve(300);
    for (int s = 0; s < 300; ++s) times.push_back(testing::pareto_work(seed, 1, s, 100ms));
    const TimeStructure t = understand_times(times, numbers(times.size()));
    EXPECT_FALSE(t.evident()) << "seed " << seed << ": " << describe(t).front();
  }
}

TEST(TimeStructure, ASpeedThatWandersALittleHasNone) {
  int evident = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    double wander = 0;
    const auto times = series(400, seed, 0.01, [&](int s) {
      wander = 0.9 * wander + 0.03 * std::log(in_seconds(testing::lognormal_work(seed, 9, s, 1s, 1.0)));
      return std::exp(wander);
    });
    evident += understand_times(times, numbers(times.size())).evident();
  }
  EXPECT_LE(evident, 3);
}

TEST(TimeStructure, FindsAnOnset) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto times = series(300, seed, 0.03, [](int s) { return s < 120 ? 1.0 : 1.15; });
    const TimeStructure t = understand_times(times, numbers(times.size()));
    ASSERT_EQ(t.changes.size(), 1U) << seed;
    EXPECT_NEAR(static_cast<double>(t.changes[0].first_step.value()), 120, 2);
    EXPECT_NEAR(t.changes[0].shift_ratio, 0.15, 0.02);
    EXPECT_GE(t.changes[0].posterior, 0.8);
    EXPECT_LE(t.changes[0].earliest_step, t.changes[0].first_step);
    EXPECT_GE(t.changes[0].latest_step, t.changes[0].first_step);
    EXPECT_FALSE(t.drift);
  }
}

TEST(TimeStructure, FindsBothEndsOfAnEpisodeInALongSeries) {
  const auto times = series(20000, 4, 0.05, [](int s) { return s >= 9000 && s < 10000 ? 1.3 : 1.0; });
  const TimeStructure t = understand_times(times, numbers(times.size()));
  ASSERT_EQ(t.changes.size(), 2U);
  EXPECT_NEAR(static_cast<double>(t.changes[0].first_step.value()), 9000, 3);
  EXPECT_NEAR(static_cast<double>(t.changes[1].first_step.value()), 10000, 3);
}

TEST(TimeStructure, AShiftThatIsTooSmallOrTooShortIsNone) {
  const auto small = series(300, 1, 0.01, [](int s) { return s < 120 ? 1.0 : 1.006; });
  EXPECT_TRUE(understand_times(small, numbers(300)).changes.empty());
  const auto brief = series(300, 1, 0.01, [](int s) { return s >= 120 && s < 125 ? 1.5 : 1.0; });
  EXPECT_TRUE(understand_times(brief, numbers(300)).changes.empty());
}

TEST(TimeStructure, BoundariesThatAreNearEachOtherStayInOrder) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 draw(seed);
    std::vector<double> values;
    double level = 1;
    while (values.size() < 1500) {
      const std::size_t length = 15 + draw() % 60;  // short levels, some spikes
      level = std::exp2(static_cast<double>(draw() % 9) - 4);
      for (std::size_t i = 0; i < length; ++i)
        values.push_back(level * (draw() % 3 == 0 ? 30 : 1 + static_cast<double>(draw() % 100) / 1000));
    }
    std::size_t before = 0;
    for (const LevelChange& c : find_levels(values, {})) {
      ASSERT_GT(c.at, before) << seed;
      before = c.at;
    }
  }
}

TEST(TimeStructure, TellsDriftFromSteps) {
  const auto times = series(500, 2, 0.02, [](int s) { return 1 + 0.3 * s / 500.0; });
  const TimeStructure t = understand_times(times, numbers(500));
  ASSERT_TRUE(t.drift);
  EXPECT_NEAR(t.drift->total_ratio, 0.3, 0.03);
  EXPECT_TRUE(t.changes.empty());
  EXPECT_EQ(t.long_count, 0);
}

TEST(TimeStructure, FindsCheckpointsAndThatTheyConcernEverybody) {
  std::vector<std::vector<Duration>> work(4);
  std::vector<Duration> times;
  for (int s = 0; s < 400; ++s) {
    const Duration extra = s % 50 == 49 ? 60ms : 0ms;
    Duration longest{};
    for (int r = 0; r < 4; ++r) {
      work[static_cast<std::size_t>(r)].push_back(testing::lognormal_work(3, r, s, 100ms, 0.01) + extra);
      longest = std::max(longest, work[static_cast<std::size_t>(r)].back());
    }
    times.push_back(longest + 5ms);
  }
  const TimeStructure t = understand_times(times, numbers(400), work);
  ASSERT_TRUE(t.recurrence);
  EXPECT_EQ(t.recurrence->period_steps, 50);
  EXPECT_EQ(t.recurrence->episodes, 8);
  EXPECT_EQ(t.long_kind, LongStepKind::Everybody);
  EXPECT_TRUE(t.changes.empty());

  for (std::size_t s = 49; s < 400; s += 50)  // the same, by one rank alone
    for (std::size_t r = 1; r < 4; ++r) work[r][s] -= 60ms;
  EXPECT_EQ(understand_times(times, numbers(400), work).long_kind, LongStepKind::SomeRank);
  for (std::size_t s = 49; s < 400; s += 50) work[0][s] -= 60ms;
  EXPECT_EQ(understand_times(times, numbers(400), work).long_kind, LongStepKind::Communication);
}

TEST(TimeStructure, TellsWhoseWorkAChangeIsIn) {
  struct Case {
    Duration of_all, of_one, of_transfers;
    std::optional<LongStepKind> kind;
  };
  for (const Case& c :
       {Case{30ms, 0ms, 0ms, LongStepKind::Everybody}, Case{0ms, 30ms, 0ms, LongStepKind::SomeRank},
        Case{0ms, 0ms, 30ms, LongStepKind::Communication}, Case{15ms, 0ms, 15ms, std::nullopt}}) {
    std::vector<std::vector<Duration>> work(4);
    std::vector<Duration> times;
    for (int s = 0; s < 100; ++s) {
      const bool later = s >= 60;
      Duration longest{};
      for (int r = 0; r < 4; ++r) {
        const Duration extra = later ? c.of_all + (r == 2 ? c.of_one : 0ms) : Duration{};
        work[static_cast<std::size_t>(r)].push_back(testing::lognormal_work(3, r, s, 100ms, 0.01) + extra);
        longest = std::max(longest, work[static_cast<std::size_t>(r)].back());
      }
      times.push_back(longest + 5ms + (later ? c.of_transfers : Duration{}));
    }
    const TimeStructure t = understand_times(times, numbers(100), work);
    ASSERT_EQ(t.changes.size(), 1U);
    EXPECT_EQ(t.change_kind, c.kind);
  }
}

TEST(TimeStructure, HandlesWhatIsHardlyASeries) {
  EXPECT_FALSE(understand_times({}, {}).evident());
  const std::vector<Duration> equal(50, 10ms);
  EXPECT_FALSE(understand_times(equal, numbers(50)).evident());
  const std::vector<Duration> zero(50, 0ms);
  EXPECT_FALSE(understand_times(zero, numbers(50)).evident());
  std::vector<Duration> extreme(50, Duration::max());
  extreme[3] = Duration::min();
  EXPECT_FALSE(understand_times(extreme, numbers(50)).evident());
  EXPECT_EQ(understand_times(equal, numbers(49)).median, 10ms);
}

TEST(TimeStructure, MegatronRestartsComeBack) {
  COX_NEED_DATA(path, "traces/megatron-steps/gpt3_15b_8t_a100_iteration_time.csv");
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  std::vector<Duration> times;
  std::vector<StepId> steps;
  while (std::getline(file, line)) {
    const auto comma = line.find(',');
    steps.emplace_back(std::stoll(line.substr(0, comma)));
    times.push_back(duration_from_seconds(std::stod(line.substr(comma + 1))));
  }
  const TimeStructure t = understand_times(times, steps);
  EXPECT_EQ(t.count, 508);
  EXPECT_NEAR(in_seconds(t.median), 3.39, 1e-4);
  EXPECT_EQ(t.long_count, 13);
  EXPECT_EQ(t.long_steps.front().step, StepId{100});
  EXPECT_EQ(t.long_steps[4].step, StepId{15300});
  EXPECT_TRUE(t.changes.empty());
  EXPECT_FALSE(t.drift);
  ASSERT_TRUE(t.recurrence);
  EXPECT_EQ(t.recurrence->episodes, 13);
  EXPECT_NEAR(t.tail.p95_ratio, 1.0122, 2e-3);
  EXPECT_NEAR(t.tail.p99_ratio, 1.0702, 5e-3);
  EXPECT_NEAR(t.tail.longest_ratio, 1.2649, 1e-3);
  EXPECT_GE(t.recurrence->shortest_steps, 3600);
  EXPECT_LE(t.recurrence->longest_steps, 3900);
}

TEST(TimeStructure, MlperfRunsAreSteadyButForOne) {
  COX_NEED_DATA(path, "traces/mlperf-steps/step_blocks_dev.csv");
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  std::map<std::string, std::vector<Duration>> runs;
  while (std::getline(file, line)) {
    std::vector<std::string> cell;
    std::istringstream in(line);
    for (std::string c; std::getline(in, c, ',');) cell.push_back(c);
    if (cell.size() <= 10 || cell[10].empty()) continue;
    runs[cell[2] + " " + cell[4] + " " + cell[5] + " " + cell[6]].push_back(
        duration_from_seconds(std::stod(cell[10])));
  }
  for (auto& [name, times] : runs) {
    // Mostly the first block is long; on the H100 runs of llama31_405b it is not.
    if (name.find("GB200 1536") != std::string::npos) {
      EXPECT_TRUE(understand_times(times, numbers(times.size())).first_is_long) << name;
    }
    times.erase(times.begin(), times.begin() + 3);
    const TimeStructure t = understand_times(times, numbers(times.size()));
    if (name == "llama31_405b GB200 1536 2") {
      EXPECT_NEAR(t.cv, 0.112, 0.003);
      EXPECT_GE(t.long_count, 7);
    }
    if (name == "llama31_405b GB200 1536 0") {
      EXPECT_NEAR(t.cv, 0.010, 0.001);
    }
    EXPECT_TRUE(t.changes.empty()) << name << describe(t).front();
  }
}

TEST(TimeStructure, AShiftOfAFewPercentIsHeldAgainstNoiseAndLength) {
  const auto shift = [](int s) { return s < 1200 ? 1.0 : 1.03; };
  const TimeStructure quiet = understand_times(series(3000, 1, 0.02, shift), numbers(3000));
  ASSERT_EQ(quiet.changes.size(), 1U);
  EXPECT_NEAR(quiet.changes[0].shift_ratio, 0.03, 0.005);
  EXPECT_LE(quiet.changes[0].earliest_step.value(), 1200);
  EXPECT_GE(quiet.changes[0].latest_step.value(), 1200);
  EXPECT_FALSE(understand_times(series(60, 1, 0.1, shift), numbers(60)).evident());
}

TEST(TimeStructure, RareLargeStallsHaveTheirOwnPeriodBesideSmallOnes) {
  const auto times =
      series(3000, 7, 0.01, [](int s) { return 1.0 + (s % 11 == 3 ? 0.12 : 0) + (s % 130 == 77 ? 1.5 : 0); });
  const TimeStructure t = understand_times(times, numbers(3000));
  ASSERT_EQ(t.tiers.size(), 2U);
  EXPECT_EQ(t.tiers[0].recurrence.period_steps, 130);
  EXPECT_EQ(t.tiers[1].recurrence.period_steps, 11);
  EXPECT_GT(t.tiers[0].least_over_ratio, t.tiers[1].most_over_ratio);
}

TEST(TimeStructure, AFixedPhaseIsHeldAgainstTheOtherSteps) {
  const auto times = series(400, 4, 0.01, [](int s) { return s % 2 == 1 ? 5.0 : 1.0; });
  const TimeStructure t = understand_times(times, numbers(400));
  ASSERT_TRUE(t.phase);
  EXPECT_NEAR(t.phase->over_ratio, 4, 0.1) << "the median of all lies between the two";
}

TEST(TimeStructure, EveryNthStepALittleLongerIsAFixedPhase) {
  const auto times = series(2000, 3, 0.02, [](int s) { return s % 8 == 5 ? 1.03 : 1.0; });
  const TimeStructure t = understand_times(times, numbers(2000));
  ASSERT_TRUE(t.phase);
  EXPECT_EQ(t.phase->period_steps, 8);
  EXPECT_EQ(t.phase->first_step, StepId{5});
  EXPECT_NEAR(t.phase->over_ratio, 0.03, 0.01);
  EXPECT_TRUE(t.changes.empty());
}

TEST(TimeStructure, TwoTimesWithTheirShareAndWhenEachHolds) {
  std::mt19937 draw(5);
  const auto scattered = series(1000, 3, 0.02, [&](int) { return draw() % 10 < 3 ? 1.2 : 1.0; });
  const TimeStructure t = understand_times(scattered, numbers(1000));
  ASSERT_TRUE(t.two_times);
  EXPECT_NEAR(t.two_times->high_share_ratio, 0.3, 0.05);
  EXPECT_NEAR(in_seconds(t.two_times->high) / in_seconds(t.two_times->low), 1.2, 0.01);
  EXPECT_LT(t.two_times->stretch_steps, 2);
  EXPECT_TRUE(t.changes.empty());
  EXPECT_EQ(t.long_count, 0) << "the longer time is a usual one";

  const auto on_end = series(4000, 3, 0.02, [&](int s) { return s / 40 % 3 == 1 ? 1.2 : 1.0; });
  const TimeStructure u = understand_times(on_end, numbers(4000));
  ASSERT_TRUE(u.two_times);
  EXPECT_NEAR(u.two_times->stretch_steps, 40, 2);
}

TEST(TimeStructure, LongStepsNearEachOtherAreABurst) {
  const auto times =
      series(2000, 3, 0.02, [](int s) { return s >= 700 && s < 760 && s * 7 % 5 < 2 ? 1.5 : 1.0; });
  const TimeStructure t = understand_times(times, numbers(2000));
  ASSERT_EQ(t.bursts.size() + t.changes.size() / 2, 1U);
  const StepId first = t.bursts.empty() ? t.changes[0].first_step : t.bursts[0].first_step;
  EXPECT_NEAR(static_cast<double>(first.value()), 700, 5);
}

TEST(TimeStructure, NumbersOfADamagedRecordingAreHarmless) {
  std::vector<Duration> times = series(100, 3, 0.02, [](int) { return 1.0; });
  std::vector<StepId> wild;
  wild.reserve(100);
  for (int s = 0; s < 100; ++s)
    wild.emplace_back(s % 2 == 0 ? std::numeric_limits<std::int64_t>::min() + s
                                 : std::numeric_limits<std::int64_t>::max() - s);
  EXPECT_EQ(understand_times(times, wild).count, 100);
}

TEST(TimeStructure, JsonNamesTheRecurrence) {
  std::vector<Duration> times(300, 100ms);
  for (std::size_t s = 20; s < 300; s += 40) times[s] = 150ms;
  const TimeStructure t = understand_times(times, numbers(300));
  nlohmann::ordered_json j;
  write_json(t, j);
  EXPECT_EQ(j["recurrence"]["period_steps"], 40);
  EXPECT_EQ(j["long_steps"].size(), 7U);
  EXPECT_TRUE(j["drift"].is_null());
}

TEST(TimeStructure, ThreeTimesAreThree) {
  std::vector<double> values;
  const RandomStream random(7, 3);
  for (std::uint64_t i = 0; i < 300; ++i)
    values.push_back(std::array{1.0, 1.2, 1.5}[static_cast<std::size_t>(random.uniform(0, i) * 3)] +
                     0.02 * random.normal(1, i));
  const TimeStructure t = understand_times(times_of(values), numbers(values.size()));
  ASSERT_TRUE(t.two_times.has_value());
  ASSERT_EQ(t.two_times->places.size(), 3U);
  EXPECT_NEAR(in_seconds(t.two_times->places[1].time), 1.2, 0.01);
  EXPECT_NEAR(t.two_times->places[2].share_ratio, 1 / 3.0, 0.08);
  EXPECT_EQ(t.two_times->high, t.two_times->places[2].time);
  EXPECT_NE(describe(t).front().find("one of three times"), std::string::npos);
}

TEST(TimeStructure, ADriftIsFoundInTwentySteps) {
  int drifts = 0;
  int wrong = 0;
  constexpr int kSeeds = 400;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const RandomStream random(11, static_cast<std::uint32_t>(seed));
    const std::size_t n = 20 + static_cast<std::size_t>(seed) % 40;
    std::vector<double> even;
    std::vector<double> slower;
    for (std::uint64_t i = 0; i < n; ++i) {
      even.push_back(1 + 0.02 * random.normal(1, i));
      slower.push_back(even.back() * (1 + 0.5 * static_cast<double>(i) / static_cast<double>(n)));
    }
    wrong += understand_times(times_of(even), numbers(n)).drift.has_value();
    drifts += understand_times(times_of(slower), numbers(n)).drift.has_value();
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(drifts, kSeeds * 95 / 100);
}

TEST(TimeStructure, AQuietSeriesSaysWhatItWouldHaveShown) {
  int found = 0;
  constexpr int kSeeds = 20;
  for (int seed = 0; seed < kSeeds; ++seed) {
    std::vector<double> values;
    const RandomStream random(11, static_cast<std::uint32_t>(seed));
    for (std::uint64_t i = 0; i < 300; ++i) values.push_back(1 + 0.02 * random.normal(1, i));
    const TimeStructure quiet = understand_times(times_of(values), numbers(values.size()));
    ASSERT_TRUE(quiet.is_quiet());
    EXPECT_EQ(describe_briefly(quiet).front().rfind("Nothing lasts", 0), 0U);
    ASSERT_GT(quiet.least_shift_ratio, 0);
    for (std::size_t i = 150; i < values.size(); ++i) values[i] *= 1 + quiet.least_shift_ratio;
    found += !understand_times(times_of(values), numbers(values.size())).changes.empty();
  }
  EXPECT_GE(found, kSeeds - 1);
}

TEST(TimeStructure, BriefSentencesHoldAllKindsAndOnePercentageEach) {
  std::vector<double> values;
  const RandomStream random(13, 1);
  for (std::uint64_t i = 0; i < 2000; ++i)
    values.push_back(1 + 0.02 * random.normal(1, i) + (i % 12 == 3 ? 0.3 : 0) + (i % 137 == 5 ? 2 : 0) +
                     (i >= 800 && i < 1300 ? 0.05 : 0));
  const std::vector<std::string> lines =
      describe_briefly(understand_times(times_of(values), numbers(values.size())));
  std::string text;
  for (const std::string& line : lines) {
    text += line + '\n';
    const std::size_t at = line.find(" %");
    EXPECT_TRUE(at == std::string::npos || line.find(" %", at + 1) == std::string::npos) << line;
  }
  for (const char* part : {"every 12 steps", "every 137 steps", "From step 80", "from step 1300 on"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

}  // namespace
}  // namespace cox::diagnose
