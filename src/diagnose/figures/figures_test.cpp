// SPDX-License-Identifier: Apache-2.0
#include "diagnose/figures/figures.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "diagnose/figures/parts.hpp"
#include "support/figures_sample.hpp"
#include "tests/support/test_data.hpp"

namespace cox::diagnose {
namespace {

using test::answer;
using test::figures;
using test::kSizes;
using test::nccl_sweep;
using test::says;
using test::table_of;

TEST(Figures, ARankBeyondTheSpreadIsNamed) {
  const FiguresAnswer a =
      answer("rank,mean_s,std_s,count\n0,1.00,0.05,400\n1,1.01,0.05,400\n2,1.30,0.05,400\n3,0.99,0.05,400\n");
  ASSERT_EQ(a.quantities.size(), 1U);
  EXPECT_EQ(a.quantities[0].above, std::vector<Rank>{Rank(2)});
  EXPECT_TRUE(a.has_trouble());
  EXPECT_EQ(figure_lines(a).front(), "time: rank 2 is above the other ranks.");
}

TEST(Figures, APlainNumberThatIsHigherTakesNoLonger) {
  const auto rates = [](const std::string& of_two) {
    return answer("rank,tokens_per_s_mean,tokens_per_s_std,count\n0,4000,20,400\n1,4010,20,400\n2," + of_two +
                  ",20,400\n3,3990,20,400\n");
  };
  EXPECT_TRUE(says(rates("4800"), "tokens_per_s: rank 2 is higher, 20 % above the other ranks (median"));
  EXPECT_EQ(figure_lines(rates("3200")).front(), "tokens_per_s: rank 2 is below the other ranks.");
}

TEST(Figures, WithoutASpreadTheExtremeIsStatedAndNobodyNamed) {
  const FiguresAnswer a = answer("rank,time_s\n0,1.00\n1,1.01\n2,1.90\n3,0.99\n");
  EXPECT_TRUE(a.quantities[0].above.empty());
  EXPECT_FALSE(a.has_trouble());
  EXPECT_FALSE(a.is_clean()) << "nothing was tested";
  EXPECT_TRUE(says(a, "Nobody can be named"));
  EXPECT_TRUE(says(a, "highest 1.90 s (rank 2)"));
}

TEST(Figures, RanksAreHeldAgainstThemselvesBefore) {
  const std::string head = "rank,mean_s,std_s,count\n";
  const trace::Figures before =
      figures(head + "0,1.00,0.05,400\n1,1.01,0.05,400\n2,1.30,0.05,400\n3,0.99,0.05,400\n");
  const trace::Figures after =
      figures(head + "0,1.01,0.05,400\n1,1.25,0.05,400\n2,1.00,0.05,400\n3,0.99,0.05,400\n");
  const FiguresAnswer a = understand_figures(after, &before);
  ASSERT_EQ(a.rank_comparisons.size(), 1U);
  const RankComparison& c = a.rank_comparisons[0];
  EXPECT_EQ(c.more, std::vector<Rank>{Rank(1)});
  EXPECT_EQ(c.less, std::vector<Rank>{Rank(2)});
  EXPECT_NEAR(c.less_ratio, 0.3 / 1.3, 1e-9);
  EXPECT_TRUE(says(a, "time, against before: rank 1 takes more, up to 24 %; rank 2 takes less, up to 23 %"));
  const FiguresAnswer same = understand_figures(after, &after);
  EXPECT_TRUE(says(same, "no rank changed; a change is told from"));
  const FiguresAnswer unknown = understand_figures(figures("rank,time_s\n0,2\n1,2\n"), &after);
  EXPECT_FALSE(unknown.rank_comparisons[0].tested);
}

TEST(Figures, ATableWithoutAUnitPrintsNoSeconds) {
  std::string before = "size,value\n";
  std::string after = before;
  for (int k = 0; k < 12; ++k) {
    const int size = 8 << (2 * k);
    before += std::to_string(size) + "," + std::to_string(10.0 + 1e-6 * size) + "\n";
    after += std::to_string(size) + "," + std::to_string(17.5 + 1e-6 * size) + "\n";
  }
  const trace::Figures b = figures(before);
  const FiguresAnswer a = understand_figures(figures(after), &b);
  ASSERT_FALSE(a.comparisons.empty());
  EXPECT_NE(a.comparisons[0].difference, SizeDifference::None);
  for (const std::string& line : figure_lines(a)) EXPECT_EQ(line.find(" s "), std::string::npos) << line;
  EXPECT_TRUE(nlohmann::json::parse(to_json(a, "x"))["result"]["time_unit"].is_null());
}

TEST(Figures, EvenJobsBeforeAndAfterNameNobody) {
  // Means of 400 steps whose speed wanders (correlation 0.9 from one step to the next), with heavy tails in half of them.
  int named = 0;
  std::mt19937_64 random(71);
  std::normal_distribution<double> draw(0, 1);
  std::uniform_real_distribution<double> chance(0, 1);
  constexpr int kTables = 400;
  for (int table = 0; table < kTables; ++table) {
    trace::RankTable sides[2];
    for (trace::RankTable& side : sides) {
      side.quantities.push_back({.name = "time", .is_time = true, .figures = {}});
      for (int r = 0; r < 16; ++r) {
        std::vector<double> steps;
        double wander = 0;
        for (int s = 0; s < 400; ++s) {
          wander = 0.9 * wander + std::sqrt(1 - 0.81) * draw(random);
          const double tail = table % 2 == 1 && chance(random) < 0.02 ? 0.5 : 0;
          steps.push_back(1 + 0.05 * wander + tail);
        }
        double sum = 0, squares = 0;
        for (const double x : steps) sum += x;
        const double mean = sum / 400;
        for (const double x : steps) squares += (x - mean) * (x - mean);
        side.quantities[0].figures.push_back(
            {.rank = Rank(r), .value = mean, .spread = std::sqrt(squares / 399), .count = 400});
        side.ranks.emplace_back(r);
      }
    }
    const trace::Figures before{.format = "rank-summary", .table = sides[0], .notes = {}};
    const trace::Figures after{.format = "rank-summary", .table = sides[1], .notes = {}};
    const FiguresAnswer a = understand_figures(after, &before);
    named += !a.rank_comparisons.at(0).more.empty() || !a.rank_comparisons.at(0).less.empty();
  }
  EXPECT_LE(named, kTables / 100);
}

TEST(Figures, AWideSpreadHidesADifference) {
  const FiguresAnswer a =
      answer("rank,mean_s,std_s,count\n0,1.00,1,20\n1,1.01,1,20\n2,1.30,1,20\n3,0.99,1,20\n");
  EXPECT_TRUE(a.quantities[0].above.empty());
  EXPECT_GT(a.quantities[0].least_seen_ratio, 0.3);
}

TEST(Figures, WhoSpendsLeastInACollectiveIsNotCalledLast) {
  const FiguresAnswer a = answer(
      "name,rank,count,mean_us,deviation_us\nall_reduce,0,400,50,4\nall_reduce,1,400,51,4\nall_reduce,2,400,20,4\n"
      "all_reduce,3,400,50,4\n");
  EXPECT_EQ(a.quantities[0].below, std::vector<Rank>{Rank(2)});
  EXPECT_FALSE(a.has_trouble());
  EXPECT_TRUE(says(a, "no order was recorded"));
  EXPECT_TRUE(says(a, "Nobody can be named from these figures."));
}

TEST(Figures, AGaugeThatSomeReportSaysNothingOfTheGroup) {
  const FiguresAnswer a = answer(
      "# TYPE step_seconds gauge\nstep_seconds{rank=\"0\"} 1\nstep_seconds{rank=\"1\"} 9\nstep_seconds{rank=\"2\"} 1\n"
      "# TYPE other gauge\nother{rank=\"0\"} 1\nother{rank=\"2\"} 5\n");
  ASSERT_EQ(a.quantities.size(), 2U);
  EXPECT_EQ(a.quantities[1].missing, std::vector<Rank>{Rank(1)});
  EXPECT_TRUE(says(a, "other: 2 of 3 ranks report it; rank 1 does not."));
  EXPECT_FALSE(a.has_trouble());
}

std::string two_configurations(double (*change)(double size, double time)) {
  std::string text = "config,bytes,time_us\n";
  for (const char* name : {"a", "b"})
    for (int k = 3; k < 27; ++k) {
      const double size = std::exp2(k);
      double time = 10 + size / 1e4;
      if (name[0] == 'b') time = change(size, time);
      text += std::string(name) + "," + std::to_string(static_cast<long>(size)) + "," + std::to_string(time) +
              "\n";
    }
  return text;
}

TEST(Figures, ConfigurationsDifferInOnePartOfThePath) {
  struct Known {
    double (*change)(double, double);
    SizeDifference difference;
  };
  const std::vector<Known> known{
      {[](double, double t) { return t; }, SizeDifference::None},
      {[](double, double t) { return 1.3 * t; }, SizeDifference::Factor},
      {[](double, double t) { return t + 4; }, SizeDifference::Offset},
      {[](double s, double t) { return s < 5000 ? 1.5 * t : t; }, SizeDifference::SmallOnly},
      {[](double s, double t) { return s > 5000 ? 1.5 * t : t; }, SizeDifference::LargeOnly},
      {[](double s, double t) { return s > 5000 && s < 500000 ? 1.5 * t : t; }, SizeDifference::Band},
      {[](double s, double t) { return s < 50000 ? 1.3 * t : t / 1.3; }, SizeDifference::Crossing},
      {[](double s, double) { return 14 + s / 1.4e4; }, SizeDifference::Crossing}};
  for (const Known& k : known) {
    const FiguresAnswer a = answer(two_configurations(k.change));
    ASSERT_EQ(a.comparisons.size(), 1U);
    EXPECT_STREQ(name_of(a.comparisons[0].difference), name_of(k.difference));
  }
}

TEST(Figures, ABandHasTwoBordersAndACrossingTwoRatios) {
  const FiguresAnswer band =
      answer(two_configurations([](double s, double t) { return s > 5000 && s < 500000 ? 1.5 * t : t; }));
  EXPECT_EQ(band.comparisons[0].border, Bytes(8192));
  EXPECT_EQ(band.comparisons[0].border_end, Bytes(262144));
  EXPECT_TRUE(says(band, "50 % longer from 8.19 kB to 262 kB only"));
  const FiguresAnswer crossing =
      answer(two_configurations([](double s, double t) { return s < 50000 ? 1.3 * t : t / 1.3; }));
  EXPECT_EQ(crossing.comparisons[0].border, Bytes(65536));
  EXPECT_NEAR(crossing.comparisons[0].ratio, 1.3, 0.02);
  ASSERT_TRUE(crossing.comparisons[0].ratio_beyond.has_value());
  EXPECT_NEAR(*crossing.comparisons[0].ratio_beyond, 1 / 1.3, 0.02);
  EXPECT_TRUE(says(crossing, "they cross at 65.5 kB"));
  EXPECT_TRUE(crossing.has_trouble());
}

TEST(Figures, LatencyAndBandwidthAreToldApart) {
  const FiguresAnswer a = answer(two_configurations([](double, double t) { return t; }));
  ASSERT_TRUE(a.sizes[0].latency && a.sizes[0].bandwidth);
  EXPECT_NEAR(a.sizes[0].latency->count(), 10e-6, 1e-8);
  EXPECT_NEAR(a.sizes[0].bandwidth->in_bytes_per_s(), 1e10, 1e7);
  EXPECT_LT(a.sizes[0].fit_error_ratio, 1e-3);
  EXPECT_TRUE(a.sizes[0].dips.empty());
}

TEST(Figures, AConfigurationOfZerosHasNoRate) {
  const FiguresAnswer a = answer("config,size,time_us\na,8,0\na,16,0\nb,8,10\nb,16,11\n");
  EXPECT_TRUE(says(a, "a: no time above zero."));
  EXPECT_FALSE(says(a, "0 sizes"));
}

TEST(Figures, ADipIsListed) {
  const FiguresAnswer a =
      answer("size,time_us\n8,10\n64,10\n512,11\n4096,12\n32768,90\n262144,40\n2097152,300\n");
  ASSERT_EQ(a.sizes[0].dips.size(), 1U);
  EXPECT_EQ(a.sizes[0].dips[0].size, Bytes(32768));
  EXPECT_EQ(a.sizes[0].dips[0].larger, Bytes(262144));
}

TEST(Figures, WhatScattersHasNoDips) {
  // Without repetitions the sizes themselves tell how much a time varies.
  std::string text = "size,time_us\n";
  for (int k = 0; k < 20; ++k)
    text += std::to_string(1 << k) + "," + std::to_string(10 * (1 + 0.25 * std::sin(k * 2.4))) + "\n";
  EXPECT_TRUE(answer(text).sizes[0].dips.empty());
}

TEST(Figures, ADifferenceInOnePlaceIsCalledThat) {
  std::string text = "nodes,config,bytes,time_us\n";
  for (const int nodes : {1, 2, 4})
    for (const char* name : {"a", "b"})
      for (int k = 3; k < 20; ++k) {
        const double time = (10 + std::exp2(k) / 1e4) * (nodes > 1 && name[0] == 'b' ? 1.4 : 1);
        text += std::to_string(nodes) + "," + name + "," + std::to_string(1 << k) + "," +
                std::to_string(time) + "\n";
      }
  const FiguresAnswer a = answer(text);
  EXPECT_TRUE(says(a, "b: equal inside a node, so the difference is between nodes."));
  ASSERT_EQ(a.places.size(), 1U);
  EXPECT_EQ(a.places[0].place, DifferencePlace::BetweenNodes);
}

TEST(Figures, TheAlpsTableShowsItsCeilingAndItsDips) {
  COX_NEED_DATA(path, "traces/facts/alps_default_allreduce_le32nodes.csv");
  const auto figures = trace::read_figures(path);
  ASSERT_TRUE(figures && *figures);
  const FiguresAnswer a = understand_figures(**figures);
  ASSERT_EQ(a.sizes.size(), 6U);
  for (const SizeAnswer& s : a.sizes) EXPECT_GT(s.ceiling.in_bytes_per_s(), 1e10);
}

struct Pair {
  trace::Figures before;
  trace::Figures after;
};

SizeComparison compared(double noise, double ratio, const std::vector<int>& slow, std::mt19937_64& random,
                        bool tails = false) {
  const Pair p{{.format = "size-table", .table = table_of(noise, 1, {}, tails, random), .notes = {}},
               {.format = "size-table", .table = table_of(noise, ratio, slow, tails, random), .notes = {}}};
  return understand_figures(p.after, &p.before).comparisons.front();
}

TEST(Outlying, AQuietPairStaysQuiet) {
  for (const bool tails : {false, true})
    for (const double noise : {0.01, 0.03, 0.1}) {
      std::mt19937_64 random(17);
      int differ = 0;
      int single = 0;
      for (int i = 0; i < 400; ++i) {
        const SizeComparison c = compared(noise, 1, {}, random, tails);
        differ += differs(c);
        single += !c.outlying.empty();
      }
      RecordProperty("single", single);
      EXPECT_LE(single, tails ? 12 : 4) << noise << " tails " << tails;
      EXPECT_LE(differ, tails ? 8 : 4) << noise << " tails " << tails;
    }
}

TEST(Outlying, OneSizeOrTwoAreNamedAndNothingElse) {
  struct Known {
    double noise, ratio;
    int least_of_200;
  };
  for (const Known& k : {Known{0.01, 1.5, 196}, Known{0.03, 2, 196}, Known{0.1, 3, 160}, Known{0.1, 2, 40}})
    for (const std::size_t count : {1U, 2U}) {
      std::mt19937_64 random(29);
      int right = 0;
      for (int i = 0; i < 200; ++i) {
        const int first = static_cast<int>(random() % kSizes);
        std::vector<int> slow{first};
        if (count == 2) slow.push_back((first + 2 + static_cast<int>(random() % (kSizes - 4))) % kSizes);
        const SizeComparison c = compared(k.noise, k.ratio, slow, random);
        bool all = !differs(c) && c.outlying.size() == slow.size();
        for (const OutlyingSize& o : c.outlying)
          all = all &&
                std::find(slow.begin(), slow.end(), std::lround(std::log2(o.size.count())) - 3) != slow.end();
        right += all;
      }
      EXPECT_GE(right, k.least_of_200) << k.noise << " x" << k.ratio << " at " << count;
    }
}

TEST(Outlying, TheyAreSaidAndAreTrouble) {
  std::mt19937_64 random(3);
  const Pair p{{.format = "size-table", .table = table_of(0.01, 1, {}, false, random), .notes = {}},
               {.format = "size-table", .table = table_of(0.01, 3.1, {16}, false, random), .notes = {}}};
  const FiguresAnswer a = understand_figures(p.after, &p.before);
  EXPECT_EQ(figure_lines(a).front(), "Configurations differ at single sizes only.");
  EXPECT_TRUE(says(a, "at 524 kB 3.1 times as long; elsewhere no difference"));
  EXPECT_TRUE(a.has_trouble());
  const auto j = nlohmann::json::parse(to_json(a, "x"))["result"]["comparisons"][0];
  EXPECT_EQ(j["difference"], "none");
  EXPECT_EQ(j["outlying"][0]["bytes"], 524288);
}

TEST(Figures, LessBandwidthIsInThePartThatGrowsWithTheSize) {
  int right = 0;
  int only_large = 0;
  for (int seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    std::normal_distribution<double> normal(0, 1);
    const double noise = seed % 2 == 0 ? 0.01 : 0.03;
    trace::SizeTable tables[2];
    for (int side = 0; side < 2; ++side) {
      trace::SizeSeries s;
      for (int k = 3; k < 27; ++k) {
        const double time = 1e-5 + std::exp2(k) * 1e-10 * (side == 1 ? 1.3 : 1);
        s.values.push_back({Bytes(std::int64_t{1} << k), Seconds(time * std::exp(noise * normal(random)))});
      }
      tables[side].series.push_back(s);
    }
    const trace::Figures before{.format = "size-table", .table = tables[0], .notes = {}};
    const trace::Figures after{.format = "size-table", .table = tables[1], .notes = {}};
    const SizeComparison c = understand_figures(after, &before).comparisons.front();
    right +=
        c.difference == SizeDifference::Bandwidth && std::abs(c.ratio - 1.3) < 0.05 && c.outlying.empty();
    only_large += c.difference == SizeDifference::LargeOnly;
  }
  EXPECT_GE(right, 180) << only_large << " as large ones only";
  EXPECT_GE(right + only_large, 196);
}

TEST(Figures, OneSweepTellsLatencyBandwidthAndItsCeiling) {
  const FiguresAnswer a = answer(nccl_sweep(28, 1));
  EXPECT_EQ(
      figure_lines(a).front(),
      "all_reduce_perf, out of place, 1 node: latency 25.0 µs, bandwidth 100 GB/s algbw (line under 0.1 % "
      "off); ceiling 175 GB/s busbw, reached from 33.6 MB on.");
  EXPECT_TRUE(says(a, "no dips"));
  EXPECT_FALSE(says(a, "in place,")) << "nothing differs";
  const FiguresAnswer slow = answer(nccl_sweep(28, 1.3));
  EXPECT_EQ(figure_lines(slow).front(), figure_lines(a).front());
  EXPECT_TRUE(
      says(slow, "remark: all_reduce_perf, in place, 1 node against all_reduce_perf, out of place: 30 %"));
  EXPECT_FALSE(slow.has_trouble());
  const auto j = nlohmann::json::parse(to_json(slow, "x"))["result"];
  EXPECT_TRUE(j["comparisons"][0]["of_places"]);
  EXPECT_NEAR(j["sizes"][0]["bus_ratio"], 1.75, 1e-3);
}

TEST(Figures, ACeilingIsToldOnlyWhereItIsReached) {
  const auto reached = [](int sizes) { return answer(nccl_sweep(sizes, 1)).sizes.front().ceiling_reached; };
  EXPECT_FALSE(reached(10)) << "4 kB";
  EXPECT_FALSE(reached(20)) << "4 MB, 40 % of the time is latency";
  EXPECT_TRUE(reached(25)) << "134 MB";
  EXPECT_TRUE(
      says(answer(nccl_sweep(10, 1)), "no ceiling: the rate still rises at the largest size measured"));
  EXPECT_FALSE(answer("size,time_us\n8,10\n16,10\n").sizes.front().ceiling_reached);
  EXPECT_TRUE(answer("size,time_us\n8,1\n16,2\n").sizes.front().ceiling_reached);
}

TEST(Figures, OtherTestsAreNotCompared) {
  const FiguresAnswer a = answer(nccl_sweep(28, 1) + nccl_sweep(28, 1, "all_gather_perf", 0.875));
  EXPECT_TRUE(std::all_of(a.comparisons.begin(), a.comparisons.end(),
                          [](const SizeComparison& c) { return c.of_places; }));
  const FiguresAnswer no_names = answer(nccl_sweep(28, 1, "") + nccl_sweep(28, 1, "", 0.875));
  EXPECT_TRUE(std::all_of(no_names.comparisons.begin(), no_names.comparisons.end(),
                          [](const SizeComparison& c) { return c.of_places; }));
  const FiguresAnswer again = answer(nccl_sweep(28, 1) + nccl_sweep(28, 1.3, "all_reduce_perf", 1.75, 1.3));
  ASSERT_EQ(again.comparisons.size(), 3U);
  EXPECT_EQ(figure_lines(again).front(), "Configurations differ.");
}

TEST(Figures, WhatIsToldFromSomewhereOnIsToldThere) {
  std::mt19937_64 random(47);
  for (const double noise : {0.01, 0.03, 0.1}) {
    int told = 0;
    int told_of_half = 0;
    for (int i = 0; i < 100; ++i) {
      Pair p{{.format = "size-table", .table = table_of(noise, 1, {}, false, random), .notes = {}},
             {.format = "size-table", .table = table_of(noise, 1, {}, false, random), .notes = {}}};
      const SizeComparison quiet = understand_figures(p.after, &p.before).comparisons.front();
      if (i % 2 == 1) p.after.table = table_of(noise, 1, {}, false, random);
      ASSERT_TRUE(quiet.least_seen_ratio);
      const trace::Figures even = p.after;
      const auto is_told = [&](double part) {
        p.after = even;
        for (trace::SizeTime& v : std::get<trace::SizeTable>(p.after.table).series.front().values)
          v.time = Seconds(v.time.count() * (1 + part * *quiet.least_seen_ratio));
        return differs(understand_figures(p.after, &p.before).comparisons.front());
      };
      told += is_told(1);
      told_of_half += is_told(0.5);
    }
    EXPECT_GE(told, 90) << noise;
    EXPECT_LE(told_of_half, 75) << noise << ": half of it is not told from on";
  }
}

TEST(Figures, WhatScattersTooMuchIsNotTested) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal(0, 1);
  const auto rows = [&](const char* name) {
    std::string text;
    for (int k = 3; k < 15; ++k)
      text += fmt::format("{},{},{}\n", name, 1 << k, 10 * std::exp(normal(random)));
    return text;
  };
  const std::string head = "config,bytes,time_us\n";
  const std::string first = rows("a");
  const FiguresAnswer a = answer(head + first + rows("b"));
  EXPECT_EQ(a.comparisons[0].difference, SizeDifference::None);
  EXPECT_FALSE(a.comparisons[0].least_seen_ratio);
  EXPECT_TRUE(says(a, "b against a: these times scatter too much to tell a difference."));
  EXPECT_FALSE(says(a, "Configurations do not differ."));
  EXPECT_TRUE(
      nlohmann::json::parse(to_json(a, "x"))["result"]["comparisons"][0]["least_seen_ratio"].is_null());
  const trace::Figures before = figures(head + first);
  EXPECT_FALSE(understand_figures(figures(head + rows("a")), &before).is_clean());
  EXPECT_TRUE(understand_figures(before, &before).is_clean()) << "of the same numbers nothing scatters";
}

TEST(Figures, APlaceIsToldAlikeWhereItIsFasterAndWhereItIsSlower) {
  const auto places = [](double ratio, double least_seen) {
    const auto compared = [&](std::int64_t nodes, SizeDifference difference, double r) {
      return SizeComparison{.before = "a",
                            .after = "b",
                            .nodes = nodes,
                            .sizes = 12,
                            .difference = difference,
                            .ratio = r,
                            .least_seen_ratio = least_seen};
    };
    return find_places({compared(1, SizeDifference::None, 1), compared(2, SizeDifference::Factor, ratio)})
        .size();
  };
  EXPECT_EQ(places(2, 0.7), 1U);
  EXPECT_EQ(places(0.5, 0.7), 1U);
  EXPECT_EQ(places(1.5, 0.7), 0U);
  EXPECT_EQ(places(1 / 1.5, 0.7), 0U);
}

TEST(Outlying, NoneOfFewAndNoneWhereManyDiffer) {
  EXPECT_TRUE(outlying({0, 0, 0, 0, 9}, {}).empty());
  EXPECT_TRUE(outlying({0, 0.1, -0.1, 0, 5, 5, 5, 5, 0, 0.1}, {}).empty());
  EXPECT_EQ(outlying({0, 0.1, -0.1, 0.05, 5, 0, -0.05, 0.1, 0, -7}, {}), (std::vector<std::size_t>{4, 9}));
}

TEST(Figures, JsonNamesTheSchema) {
  const auto j = nlohmann::json::parse(
      to_json(answer("rank,mean_s,std_s,count\n0,1,0.1,4\n1,1,0.1,4\n2,1,0.1,4\n"), "x.csv"));
  EXPECT_EQ(j["schema"], "cox.figures/1");
  EXPECT_EQ(j["result"]["quantities"][0]["ranks"], 3);
}

TEST(Figures, ASummaryCountsWhatStandsOutInAKilobyte) {
  const auto summary = [](const FiguresAnswer& a) {
    const std::string line = to_summary(a, "x.csv", figure_lines(a).front());
    EXPECT_EQ(line.find('\n'), line.size() - 1) << "one line";
    EXPECT_LE(line.size(), 1024U) << line;
    return nlohmann::json::parse(line);
  };
  EXPECT_EQ(summary(answer(nccl_sweep(28, 1)))["schema"], "cox.figures-summary/1");
  const std::string head = "rank,mean_s,std_s,count\n";
  const trace::Figures slow = figures(head + "0,1.0,0.01,400\n1,1.3,0.01,400\n2,1.0,0.01,400\n");
  const auto named = summary(understand_figures(slow));
  EXPECT_EQ(named["differences_count"], 1);
  EXPECT_EQ(named["differences"][0]["quantity"], "time");
  EXPECT_EQ(named["differences"][0]["against"], "others");
  EXPECT_NEAR(named["differences"][0]["ratio"], 1.3, 1e-9);
  EXPECT_EQ(named["differences"][0]["more_count"], 1);
  const trace::Figures even = figures(head + "0,1.0,0.01,400\n1,1.0,0.01,400\n2,1.0,0.01,400\n");
  const auto changed = summary(understand_figures(even, &slow));
  EXPECT_EQ(changed["differences"][0]["against"], "before");
  EXPECT_NEAR(changed["differences"][0]["ratio"], 1 / 1.3, 1e-9);
  EXPECT_EQ(changed["differences"][0]["less_count"], 1);

  std::string many = "config,bytes,time_us\n";
  std::string quantities = "name,rank,mean_s,std_s,count\n";
  for (int i = 0; i < 10; ++i) {
    const std::string name = fmt::format("{}{}{}", i, std::string(110, 'n'), i);
    for (int k = 3; k < 15; ++k)
      many += fmt::format("{},{},{}\n", name, 1 << k, (10 + (1 << k) * 1e-3) * (1 + i * 0.2777777777));
    for (int rank = 0; rank < 8; ++rank)
      quantities += fmt::format("{},{},{},0.01,400\n", name, rank, rank == 3 ? 1.7777777777777 : 1.0);
  }
  const auto of_many = summary(answer(many));
  EXPECT_EQ(of_many["differences_count"], 9);
  EXPECT_EQ(of_many["differences"].size(), 3U);
  EXPECT_EQ(of_many["differences"][2]["after"], "3nnnnnnnnnnn...nnnnnnnnnnnn3");
  EXPECT_EQ(summary(answer(quantities))["differences_count"], 10);
}

}  // namespace
}  // namespace cox::diagnose
