// SPDX-License-Identifier: Apache-2.0
#include "cox/base/release_memory.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace cox {
namespace {

TEST(ReleaseMemory, LeavesNoRoomWhereAssigningNothingDoes) {
  std::vector<double> v(1000);
  v = {};
  EXPECT_EQ(v.capacity(), 1000U) << "if this fails, the function is no longer needed";
  release_memory(v);
  EXPECT_EQ(v.capacity(), 0U);
}

}  // namespace
}  // namespace cox
