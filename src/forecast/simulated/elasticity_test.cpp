// SPDX-License-Identifier: Apache-2.0
// What is said of a size beside what is said of the sizes around it: an elasticity is the slope of the rates that are printed.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "cox/model/toml.hpp"

#include "forecast/answer/forecast.hpp"

namespace cox::forecast {
namespace {

FullForecast forecast_of(const std::string& noise, std::vector<std::int64_t> sizes) {
  const std::string text = R"(
[cluster]
preset = "cloud-100g"
nodes = 8
[job]
compute = "100ms"
steps = 200
[job.collective]
kind = "all-reduce"
bytes = "10MB"
)" + noise;
  auto read = model::parse_scenario(text, "test.toml", ".");
  EXPECT_TRUE(read) << (read ? "" : read.error().message);
  Evidence evidence;
  evidence.inputs.push_back({.path = "test.toml", .kind = InputKind::Scenario});
  evidence.scenario = std::move(read->scenario);
  Asked asked;
  asked.sizes = std::move(sizes);
  asked.project.replicates = 20;
  auto made = make_forecast(evidence, asked);
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  return *std::move(made);
}

void expect_slopes_of_rates(const std::string& noise) {
  const FullForecast made = forecast_of(noise, {128, 256, 512, 1'024, 2'048});
  const auto& points = made.projection.points;
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    ASSERT_EQ(points[i].refused, "");
    const double longer = std::log(points[i + 1].mean.value / points[i - 1].mean.value);
    EXPECT_NEAR(points[i].elasticity, 1 - longer / std::log(4.0), 0.02) << points[i].ranks << noise;
  }
}

TEST(Elasticity, IsTheSlopeOfTheRatesWhereAllVary) {
  expect_slopes_of_rates("[[noise]]\nlaw = \"exponential\"\nmean = \"5ms\"\n");
}
TEST(Elasticity, IsTheSlopeOfTheRatesWhereNodesDiffer) {
  expect_slopes_of_rates(
      "[[noise]]\nlaw = \"gaussian\"\ncv = 0.05\nscope = \"node\"\npattern = \"persistent\"\n");
}
TEST(Elasticity, IsTheSlopeOfTheRatesWhereFewAreNamed) {
  expect_slopes_of_rates("[[noise]]\nlaw = \"exponential\"\nmean = \"80ms\"\nranks = [3, 5]\n");
}
TEST(Elasticity, IsTheSlopeOfTheRatesWhereFewAreNamedAndAllVary) {
  expect_slopes_of_rates(
      "[[noise]]\nlaw = \"exponential\"\nmean = \"80ms\"\nranks = [3, 5]\n"
      "[[noise]]\nlaw = \"exponential\"\nmean = \"5ms\"\n");
}
TEST(Elasticity, IsTheSlopeOfTheRatesWhereOneAfterTheOtherIsSlow) {
  expect_slopes_of_rates("[[noise]]\nlaw = \"exponential\"\nmean = \"80ms\"\npattern = \"rotating\"\n");
}

}  // namespace
}  // namespace cox::forecast
