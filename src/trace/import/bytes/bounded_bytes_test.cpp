// SPDX-License-Identifier: Apache-2.0
#include "trace/import/bytes/bounded_bytes.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string_view>

namespace cox::trace {
namespace {

struct Opened : BoundedBytes {
  using BoundedBytes::BoundedBytes;
  using BoundedBytes::rest;
  using BoundedBytes::take;
};

TEST(BoundedBytes, TakesWhatIsThere) {
  Opened b("abcdef");
  EXPECT_EQ(b.take(2), "ab");
  b.skip(1);
  EXPECT_EQ(b.position(), 3U);
  EXPECT_EQ(b.rest(), "def");
  EXPECT_EQ(b.take(3), "def");
  EXPECT_EQ(b.left(), 0U);
  EXPECT_EQ(b.take(0), "");
  EXPECT_TRUE(b.ok());
}

TEST(BoundedBytes, NeverLeavesThem) {
  for (const std::uint64_t n : {std::uint64_t{5}, std::numeric_limits<std::uint64_t>::max()}) {
    Opened b("abcdef");
    b.skip(2);
    EXPECT_EQ(b.take(n), "") << n;
    EXPECT_FALSE(b.ok()) << n;
    EXPECT_EQ(b.left(), 0U) << n;
    EXPECT_EQ(b.take(0), "") << n;
    EXPECT_FALSE(b.ok()) << n << ": for good";
  }
}

}  // namespace
}  // namespace cox::trace
