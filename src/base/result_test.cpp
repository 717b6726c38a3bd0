// SPDX-License-Identifier: Apache-2.0
#include "cox/base/result.hpp"

#include <gtest/gtest.h>

#include <string>

namespace cox {
namespace {

Error some_error() {
  return Error{.code = Errc::InvalidInput, .id = "base-001", .message = "no", .hint = {}, .where = {}};
}

/// Notes in `ran` what ran beside the check.
Status check_where(bool wanted, const Status& status, std::string& ran) {
  if (wanted)
    COX_CHECK(status);
  else
    ran += "else";
  ran += "checked";
  return {};
}

TEST(Result, ACheckIsOneStatementAndTakesNoElse) {
  std::string ran;
  EXPECT_TRUE(check_where(true, {}, ran));
  EXPECT_EQ(ran, "checked");
  ran.clear();
  EXPECT_TRUE(check_where(false, fail(some_error()), ran));
  EXPECT_EQ(ran, "elsechecked");
  ran.clear();
  const Status failed = check_where(true, fail(some_error()), ran);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().id, "base-001");
  EXPECT_EQ(ran, "");
}

Result<int> twice(const Result<int>& value) {
  COX_TRY(const int one, value);
  return 2 * one;
}

TEST(Result, ATryGivesTheValueOrReturnsTheError) {
  EXPECT_EQ(*twice(21), 42);
  EXPECT_EQ(twice(fail(some_error())).error().id, "base-001");
}

}  // namespace
}  // namespace cox
