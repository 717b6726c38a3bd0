// SPDX-License-Identifier: Apache-2.0
#include "forecast/levers/stated_levers.hpp"

#include <gtest/gtest.h>

#include <string>

namespace cox::forecast {
namespace {

StatedTerm term(Seconds each, TermOf of, std::string lever) {
  return {.term = {.mechanism = {},
                   .at =
                       [each](std::int64_t n) {
                         return TimeAtSize{each * static_cast<double>(n), {}};
                       }},
          .of = of,
          .lever = {.name = std::move(lever), .does = "something"}};
}

StatedJob job() {
  StatedJob out{.name = "job", .work = Seconds{1}, .ranks_per_node = 2};
  out.terms = {term(Seconds{0.01}, TermOf::Communication, "shorter"),
               term(Seconds{0.5}, TermOf::Communication, ""), term(Seconds{0.02}, TermOf::Waiting, "steady")};
  out.control = StatedControl{
      .what = "restart 1 s instead of 9 s", .lever = "restarts", .failures = {.restart = Seconds{1}}};
  return out;
}

TEST(StatedLevers, EachTakesItsTermAway) {
  const auto levers = stated_levers(job());
  ASSERT_EQ(levers.size(), 3U);
  EXPECT_EQ(levers[0].name, "shorter");
  EXPECT_EQ(levers[1].name, "steady");
  EXPECT_EQ(levers[2].name, "restarts");
  PartsCase c;
  c.rest = [](std::int64_t) {
    return TimeEstimate{.value = Seconds{1}, .low = Seconds{1}, .high = Seconds{1}};
  };
  c.parts.positions.push_back({.residual = Law::exponential(Seconds{1})});
  c.failing.emplace().failures.restart = Seconds{9};
  for (const PartLever& l : levers) l.apply(c);
  EXPECT_NEAR(c.rest(20).value.count(), 0.9, 1e-12);  // ten nodes
  EXPECT_NEAR(c.rest(1'000).value.count(), 0, 1e-12) << "nothing takes less than no time";
  EXPECT_TRUE(c.parts.positions.front().residual.is_constant());
  EXPECT_EQ(c.failing->failures.restart, Seconds{1});
}

TEST(StatedLevers, WithoutFailuresTheControlChangesNothing) {
  PartsCase c;
  stated_levers(job()).back().apply(c);
  EXPECT_FALSE(c.failing);
}

}  // namespace
}  // namespace cox::forecast
