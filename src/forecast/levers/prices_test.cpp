// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "forecast/levers/levers.hpp"
#include "support/noisy_training.hpp"

namespace cox::forecast {
namespace {

TEST(Prices, OfTheScaleUnlessStated) {
  const auto prices = parse_prices("overlap=2.5,faster-links=0");
  ASSERT_TRUE(prices) << prices.error().to_string();
  EXPECT_EQ(prices->of("overlap"), 2.5);
  EXPECT_EQ(prices->of("faster-links"), 0);
  EXPECT_EQ(prices->of("more-rails"), 30);
  EXPECT_LT(LeverPrices{}.of("checkpoint-interval"), LeverPrices{}.of("remove-worst"));
}

// Each lever has a price that can be stated: one that is not in the list of prices could not.
TEST(Prices, OfEveryLever) {
  for (const Lever& lever : levers_of(test::noisy_training(2)))
    EXPECT_TRUE(parse_prices(lever.name + "=7")) << lever.name;
}

TEST(Prices, WhatCannotBeReadIsTold) {
  EXPECT_EQ(parse_prices("overlap=1,engines=3").error().message,
            "--price: got 'engines=3', expected the name of a lever before =");
  EXPECT_NE(parse_prices("engines=3").error().hint.find("faster-links"), std::string::npos);
  for (const char* text :
       {"", "overlap", "overlap=", "overlap=-1", "overlap=nan", "=3", "engines=3", "overlap=1,,"})
    EXPECT_EQ(parse_prices(text).error().id, "forecast-037") << text;
}

}  // namespace
}  // namespace cox::forecast
