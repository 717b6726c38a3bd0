// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "forecast/answer/forecast.hpp"
#include "forecast/calibrate/calibrate.hpp"
#include "support/forecast_sample.hpp"

namespace cox::forecast {
namespace {

Evidence slow_rank() {
  Sample sample = test::sample_of({.residual = 1}, 4, 4, 200, 3);
  for (std::size_t k = 0; k < 200; ++k) {
    Seconds& own = sample.positions[0].own[k * 16 + 9];
    own += Seconds{30};
    sample.steps[k].length = std::max(sample.steps[k].length, own + Seconds{7});
  }
  Evidence out;
  out.samples.push_back(std::move(sample));
  return out;
}

std::string joined(const std::vector<TextLine>& lines) {
  std::string out;
  for (const TextLine& l : lines) out += l.text + "\n";
  return out;
}

TEST(PartControl, LeversOfARunNameItsRanksAndTheSetIsTakenToAllSizes) {
  const Evidence evidence = slow_rank();
  FullForecast made;
  made.parts = calibrate(evidence.samples).value();
  made.seen_ranks = made.margins_at = 16;
  for (const std::int64_t ranks : {16, 64})
    made.projection.points.push_back(project_one(*made.parts, ranks, {}));
  ControlQuestion control;
  control.levers = true;
  control.target = parse_target("throughput >= 1.05 * baseline").value();
  add_part_levers(made, evidence, {}, control);
  ASSERT_TRUE(made.full_control);
  const FullControl& c = *made.full_control;
  ASSERT_TRUE(c.set && c.set->reached);
  EXPECT_EQ(c.set->best.names, std::vector<std::string>{"remove-worst-1"});
  EXPECT_EQ(c.levers->ranks, 16);
  ASSERT_EQ(c.controlled.size(), 2u);
  for (const ControlledSize& at : c.controlled) EXPECT_GT(at.throughput_ratio, 1.05) << at.ranks;
  const std::string text = joined(text_lines(c));
  for (const std::string_view part :
       {"levers, alone", "as it is", "rank 9 replaced", "the cheapest at a price of 5", "price: stated"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

}  // namespace
}  // namespace cox::forecast
