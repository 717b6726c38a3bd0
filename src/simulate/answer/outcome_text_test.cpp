// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cox/simulate/render.hpp"

namespace cox::simulate {
namespace {

std::string total_line(Seconds mean, Seconds half) {
  Outcome o;
  o.over_replicas = {.mean = mean, .half_width_95 = half, .p50 = mean, .p99 = mean, .replicas = 3};
  return text_lines(model::Scenario{}, o, nullptr).at(3);
}

TEST(OutcomeText, AnIntervalThatReachesBelowZeroIsCutThereAndSaysSo) {
  EXPECT_EQ(total_line(Seconds{2}, Seconds{0.5}),
            "total        mean of 3 seeds 2.00 ± 0.5 s (95 %), p50 2.00 s, p99 2.00 s");
  EXPECT_EQ(total_line(Seconds{2}, Seconds{3}),
            "total        mean of 3 seeds 2.00 s (95 %: 0 to 5.00 s, cut at 0), p50 2.00 s, p99 2.00 s");
}

TEST(OutcomeText, ExposedIsOfAllRanksAndWithoutGroupsNotKnown) {
  Outcome o;
  EXPECT_FALSE(o.exposed_ratio());
  o.groups = {{.name = "a", .ranks = 3, .busy = Seconds{3}, .exposed = Seconds{1}, .waiting = Seconds{0}},
              {.name = "b", .ranks = 1, .busy = Seconds{1}, .exposed = Seconds{1}, .waiting = Seconds{2}}};
  EXPECT_DOUBLE_EQ(*o.exposed_ratio(), 4. / 16);
}

TEST(OutcomeText, ATableOfSizesSaysOfWhatItsSharesAre) {
  SizeOutcome small{.nodes = 1, .ranks = 8, .step = {.mean = Seconds{1}}};
  EXPECT_EQ(text_lines({small}),
            (std::vector<std::string>{
                "   nodes      ranks  step                           efficiency  throughput",
                "       1          8  1.00 s                              100 %          x1"}));
  small.exposed_ratio = 0.25;
  small.attribution = {.with = Seconds{3},
                       .without = Seconds{2},
                       .mechanisms = {{.name = "n", .share = Seconds{1}, .seeds_half_width = Seconds{0.1}}}};
  EXPECT_EQ(text_lines({small}),
            (std::vector<std::string>{
                "exposed: of the ranks' time in all steps, communication that nothing hides",
                "under each size: what each mechanism adds to the run, of the run there without any of them "
                "(Shapley value)",
                "   nodes      ranks  step                             exposed efficiency  throughput",
                "       1          8  1.00 s                              25 %      100 %          x1",
                "                        +50.0 %  n"}));
  small.attribution->seeds = 5;
  const std::vector<std::string> seeds = text_lines({small});
  EXPECT_NE(seeds[1].find("over 5 seeds"), std::string::npos) << seeds[1];
  EXPECT_EQ(seeds.back(), "                        +50.0 % ±  5.0 %  n");
}

}  // namespace
}  // namespace cox::simulate
