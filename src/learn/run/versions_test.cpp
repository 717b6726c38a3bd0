// SPDX-License-Identifier: Apache-2.0
#include "learn/run/versions.hpp"

#include <gtest/gtest.h>

namespace cox::learn {
namespace {

TEST(Versions, NothingIsCopiedWhereNobodyHoldsTheNewest) {
  auto problem = make_problem({.dimension = 4});
  Versions v(**problem, 2);
  v.forget(0);
  v.forget(1);
  const float* before = v.newest().data();
  v.next()[0] = 7;
  EXPECT_EQ(v.newest().data(), before);
  EXPECT_EQ(v.buffers(), 1U);
}

TEST(Versions, WhatWasReadStaysAsItWas) {
  auto problem = make_problem({.dimension = 4});
  Versions v(**problem, 3);
  for (int step = 0; step < 100; ++step) {
    const int w = step % 3;
    const float old = v.of(w)[0];
    v.next()[0] += 1;
    EXPECT_EQ(v.of(w)[0], old);
    EXPECT_EQ(v.newest()[0], static_cast<float>(step + 2));
    v.forget(w);
    v.read(w);
    EXPECT_EQ(v.of(w)[0], v.newest()[0]);
  }
  EXPECT_LE(v.buffers(), 4U) << "memory grows with the number of updates";
}

}  // namespace
}  // namespace cox::learn
