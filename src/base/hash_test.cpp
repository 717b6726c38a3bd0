// SPDX-License-Identifier: Apache-2.0
#include "cox/base/hash.hpp"

#include <gtest/gtest.h>

namespace cox {
namespace {

// Of the test vectors that come with the authors' program (test_fnv.c).
TEST(Fnv1a, GivesThePublishedValues) {
  EXPECT_EQ(fnv1a(""), 0xcbf29ce484222325U);
  EXPECT_EQ(fnv1a("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(fnv1a("foobar"), 0x85944171f73967e8U);
  EXPECT_EQ(fnv1a_32(""), 0x811c9dc5U);
  EXPECT_EQ(fnv1a_32("a"), 0xe40c292cU);
  EXPECT_EQ(fnv1a_32("foobar"), 0xbf9cf968U);
}

TEST(Fnv1a, GoesOnWhereItStopped) {
  Fnv1a first;
  first.add("foo");
  Fnv1a second(first.value());
  second.add("bar");
  EXPECT_EQ(second.value(), fnv1a("foobar"));
}

TEST(Fnv1a, TakesNumbersFromTheirLowestByteOn) {
  Fnv1a number;
  number.add_number(0x0201, 2);
  EXPECT_EQ(number.value(), fnv1a("\x01\x02"));
  Fnv1a whole;
  whole.add_number(0x61);
  EXPECT_EQ(whole.value(), fnv1a(std::string_view("a\0\0\0\0\0\0\0", 8)));
}

TEST(Fnv1a, AnIdentityIsNeverZero) {
  EXPECT_EQ(Fnv1a(0).identity(), 1U);
  EXPECT_EQ(Fnv1a(7).identity(), 7U);
}

// As splitmix64.c of Vigna prints them.
TEST(SplitMix, GivesThePublishedValues) {
  SplitMix random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317U);
  EXPECT_EQ(random.next(), 3203168211198807973U);
  EXPECT_EQ(random.next(), 9817491932198370423U);
}

TEST(SplitMix, StaysBelow) {
  SplitMix random(1);
  bool seen[3] = {};
  for (int i = 0; i < 100; ++i) {
    const std::size_t n = random.below(3);
    ASSERT_LT(n, 3U);
    seen[n] = true;
  }
  EXPECT_TRUE(seen[0] && seen[1] && seen[2]);
}

}  // namespace
}  // namespace cox
