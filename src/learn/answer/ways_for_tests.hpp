// SPDX-License-Identifier: Apache-2.0
/// \file
/// For tests: a small question about ways of synchronising.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>

#include "cox/learn/compare.hpp"

namespace cox::learn::testing {

/// A quadratic of 20 parameters with noise, three rates.
inline WaysQuestion question(std::initializer_list<const char*> ways) {
  WaysQuestion q{
      .problem = {.dimension = 20, .condition = 10, .noise = 0.3}, .optimizer = {.rate = 0.5}, .ways = {}};
  for (const char* way : ways) {
    auto read = read_way(way);
    EXPECT_TRUE(read) << way;
    q.ways.push_back(*read);
  }
  q.rate_factors = {0.0625, 0.25, 1};
  q.seeds = 3;
  q.steps = 400;
  return q;
}

}  // namespace cox::learn::testing
