// SPDX-License-Identifier: Apache-2.0
#include "cox/forecast/prior.hpp"

#include <gtest/gtest.h>

#include <string>

#include "forecast/project/project.hpp"

namespace cox::forecast {
namespace {

std::string refused(const char* text) {
  const auto prior = parse_prior(text);
  EXPECT_FALSE(prior) << text;
  return prior ? "" : prior.error().id + ": " + prior.error().message;
}

TEST(Priors, WhatIsSaidIsTakenAndTheRestStays) {
  const auto prior = parse_prior("slow-nodes=0.02,growth=0,failures=3");
  ASSERT_TRUE(prior) << prior.error().to_string();
  Prior wanted;
  wanted.slow_nodes = 0.02;
  wanted.growth = 0;
  wanted.failures = 3;
  EXPECT_EQ(*prior, wanted);
  EXPECT_EQ(changes_of(*prior), "slow-nodes 0.02, growth 0, failures 3");
  EXPECT_EQ(changes_of(Prior{}), "");
}

TEST(Priors, WhatCannotBeReadNamesWhatCan) {
  EXPECT_EQ(
      refused("slow=1"),
      "forecast-039: prior \"slow=1\": 'slow' is none of slow-nodes, slow-down, growth, shared, failures, restarts, "
      "checkpoints, start");
  EXPECT_EQ(refused("failures=0.5"),
            "forecast-039: prior \"failures=0.5\": failures has '0.5', expected a number from 1 to 1 000");
  EXPECT_NE(refused("growth"), "");
  EXPECT_NE(refused("growth=many"), "");
  EXPECT_NE(refused(""), "");
  EXPECT_NE(refused("growth=nan"), "");
}

// The mean of Beta(alpha, beta) is the share that was stated; without one it is the prior that bands were held with.
TEST(Priors, TheShareOfSlowNodesIsTheMeanOfItsLaw) {
  const UnseenPrior usual = unseen_prior(Prior{});
  EXPECT_EQ(usual.alpha, 0.5);
  EXPECT_EQ(usual.beta, 60);
  const UnseenPrior more = unseen_prior({.slow_nodes = 0.05, .slow_down = 0.3});
  EXPECT_NEAR(more.alpha / (more.alpha + more.beta), 0.05, 1e-12);
  EXPECT_EQ(more.most, 0.3);
  EXPECT_EQ(unseen_prior({.slow_nodes = 0}).alpha, 0);
}

}  // namespace
}  // namespace cox::forecast
