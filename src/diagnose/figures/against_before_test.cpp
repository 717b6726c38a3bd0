// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "diagnose/figures/figures.hpp"
#include "support/figures_sample.hpp"

namespace cox::diagnose {
namespace {

using test::figures;
using test::says;

TEST(AgainstBefore, OnlySlowerIsNotClean) {
  const auto table = [](double mean, const char* name = "forward") {
    std::string text = fmt::format("rank,{}_mean_s,{}_std_s,count\n", name, name);
    for (int rank = 0; rank < 8; ++rank) text += fmt::format("{},{},0.004,500\n", rank, mean);
    return figures(text);
  };
  const trace::Figures before = table(0.1);
  const FiguresAnswer slower = understand_figures(table(0.12), &before);
  EXPECT_FALSE(slower.is_clean());
  EXPECT_EQ(figure_lines(slower).front(), "forward: every rank takes more than before, 20 % in the median.");
  const FiguresAnswer faster = understand_figures(table(0.08), &before);
  EXPECT_TRUE(faster.is_clean());
  EXPECT_EQ(figure_lines(faster).front(), "forward: every rank takes less than before, 20 % in the median.");
  EXPECT_TRUE(understand_figures(before, &before).is_clean());
  const trace::Figures named =
      figures("rank,mean_s,std_s,count\n0,1.00,0.05,400\n1,1.01,0.05,400\n2,1.30,0.05,400\n");
  EXPECT_TRUE(understand_figures(named, &named).is_clean()) << "rank 2 takes what it took";
  EXPECT_FALSE(understand_figures(named).is_clean());
  const trace::Figures bare = figures("rank,time_s\n0,2\n1,2\n");
  EXPECT_FALSE(understand_figures(bare, &bare).is_clean()) << "not tested";
}

TEST(AgainstBefore, AllOfItIsCompared) {
  const auto sizes = [](int count_of_b, double times_of_b, bool has_b = true) {
    std::string text = "config,bytes,time_us\n";
    for (int k = 3; k < 23; ++k) text += fmt::format("a,{},{}\n", 1 << k, 10 + (1 << k) * 1e-4);
    for (int k = 3; has_b && k < 3 + count_of_b; ++k)
      text += fmt::format("b,{},{}\n", 1 << k, (10 + (1 << k) * 1e-4) * times_of_b);
    return figures(text);
  };
  const trace::Figures before = sizes(20, 1);
  EXPECT_TRUE(understand_figures(before, &before).is_clean());
  const FiguresAnswer few = understand_figures(sizes(3, 10), &before);
  EXPECT_FALSE(few.is_clean()) << "ten times as long at three sizes";
  EXPECT_EQ(figure_lines(few).front(), "Not all of before could be compared; nothing is told to be slower.");
  const FiguresAnswer gone = understand_figures(sizes(0, 1, false), &before);
  EXPECT_FALSE(gone.is_clean());
  EXPECT_TRUE(says(gone, "Before and not comparable here: b."));
  EXPECT_EQ(nlohmann::json::parse(to_json(gone, "x"))["result"]["gone"], nlohmann::json({"b"}));
  const trace::Figures alone = sizes(0, 1, false);
  EXPECT_TRUE(understand_figures(before, &alone).is_clean()) << "b is new";

  const auto ranks = [](double bare, const char* name = "backward") {
    std::string text = fmt::format("rank,forward_mean_s,forward_std_s,{}_mean_s,count\n", name);
    for (int rank = 0; rank < 8; ++rank) text += fmt::format("{},0.1,0.004,{},500\n", rank, bare);
    return figures(text);
  };
  const trace::Figures quiet = ranks(1);
  EXPECT_FALSE(understand_figures(ranks(3), &quiet).is_clean()) << "backward has no spread";
  const FiguresAnswer renamed = understand_figures(ranks(1, "backwards"), &quiet);
  EXPECT_FALSE(renamed.is_clean());
  EXPECT_EQ(renamed.gone, std::vector<std::string>{"backward"});
}

TEST(AgainstBefore, WhatIsSlowerIsSaidBeforeWhatIsFaster) {
  const auto table = [](double forward, double backward_of_3) {
    std::string text = "name,rank,mean_s,std_s,count\n";
    for (int rank = 0; rank < 8; ++rank) {
      text += fmt::format("forward,{},{},0.004,500\n", rank, forward);
      text += fmt::format("backward,{},{},0.004,500\n", rank, rank == 3 ? backward_of_3 : 0.2);
    }
    return figures(text);
  };
  const trace::Figures before = table(0.1, 0.15);
  const FiguresAnswer a = understand_figures(table(0.08, 0.195), &before);
  EXPECT_TRUE(a.quantities[0].above.empty() && a.quantities[1].above.empty());
  EXPECT_FALSE(a.is_clean());
  EXPECT_EQ(figure_lines(a).front(), "backward: rank 3 takes more than before.");
  const std::string line = to_summary(a, "x", figure_lines(a).front());
  EXPECT_EQ(nlohmann::json::parse(line)["verdict"], "backward: rank 3 takes more than before.");
  const auto rates = [](double rate) {
    std::string text = "rank,forward_mean_s,forward_std_s,tokens_per_s_mean,tokens_per_s_std,count\n";
    for (int rank = 0; rank < 8; ++rank)
      text += fmt::format("{},{},0.004,{},20,500\n", rank, 80 / rate, rate);
    return figures(text);
  };
  const trace::Figures slow = rates(800);
  EXPECT_EQ(figure_lines(understand_figures(rates(1000), &slow)).front(),
            "tokens_per_s: every rank has more than before, 25 % in the median.");
}

TEST(AgainstBefore, WhatHasNothingInCommonIsSaidInOneLine) {
  const auto nccl = [](const std::string& test) {
    return figures("# Collective test starting: " + test +
                   "\n#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
                   "  8  2 float sum -1 10 0 0 0\n  1024 256 float sum -1 11 0 0 0\n");
  };
  const trace::Figures gathered = nccl("all_gather_perf");
  const FiguresAnswer a = understand_figures(nccl("all_reduce_perf"), &gathered);
  EXPECT_TRUE(a.nothing_in_common);
  EXPECT_FALSE(a.is_clean()) << "nothing was compared";
  EXPECT_NE(figure_lines(a).front().find("Nothing to compare"), std::string::npos);
  EXPECT_NE(figure_lines(a).front().find("all_gather_perf"), std::string::npos);
  const trace::Figures small = figures("size,time_us\n8,1\n16,1\n");
  EXPECT_TRUE(understand_figures(figures("size,time_us\n64,1\n128,1\n"), &small).nothing_in_common);
  const trace::Figures forward = figures("rank,forward_s\n0,1\n1,1\n");
  EXPECT_TRUE(understand_figures(figures("rank,backward_s\n0,1\n1,1\n"), &forward).nothing_in_common);
  EXPECT_FALSE(understand_figures(small, &small).nothing_in_common);
}

}  // namespace
}  // namespace cox::diagnose
