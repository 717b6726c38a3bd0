// SPDX-License-Identifier: Apache-2.0
#include "simulate/event/waiting_list.hpp"

#include <gtest/gtest.h>

#include <set>

#include "cox/base/random.hpp"

namespace cox::simulate {
namespace {

/// Pushes and takes at random, against a sorted set; `disorder` is how far an order may lie behind the last one.
void against_a_set(std::uint64_t disorder, std::uint64_t pushes_of_8) {
  const RandomStream draws(1, 7);
  WaitingList list;
  std::set<std::uint64_t> want;
  std::uint64_t next = disorder + 1;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    const std::uint64_t bits = draws.bits(0, i);
    if (want.empty() || bits % 8 < pushes_of_8) {
      next += 2;
      std::uint64_t order = next;
      if (disorder > 0 && bits % 5 == 0) order -= 2 * ((bits >> 16) % disorder) + 1;
      if (!want.insert(order).second) continue;
      list.push({order, static_cast<std::uint32_t>(order), 3});
    } else {
      list.pop();
      want.erase(want.begin());
    }
    ASSERT_EQ(list.empty(), want.empty());
    if (want.empty()) continue;
    ASSERT_EQ(list.front().order, *want.begin());
    ASSERT_EQ(list.front().rank, static_cast<std::uint32_t>(*want.begin()));
  }
}

TEST(WaitingList, InOrder) {
  against_a_set(0, 4);
  against_a_set(0, 6);
}

TEST(WaitingList, LateOnesGoFirst) {
  against_a_set(3, 4);
  against_a_set(500, 4);
  against_a_set(500, 6);
}

}  // namespace
}  // namespace cox::simulate
