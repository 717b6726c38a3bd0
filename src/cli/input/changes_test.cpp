// SPDX-License-Identifier: Apache-2.0
#include "cli/input/changes.hpp"

#include <gtest/gtest.h>

namespace cox::cli {
namespace {

using Texts = std::vector<std::string>;

TEST(Changes, AreSplitAtCommasThatAreNotInAValue) {
  EXPECT_EQ(split_changes(""), Texts{});
  EXPECT_EQ(split_changes("a=1"), Texts{"a=1"});
  EXPECT_EQ(split_changes("a=1,b=[2, 3],c={x=1,y=2}"), (Texts{"a=1", "b=[2, 3]", "c={x=1,y=2}"}));
  EXPECT_EQ(split_changes("\"link, slow\"=1Gbps,d=2"), (Texts{"\"link, slow\"=1Gbps", "d=2"}));
}

}  // namespace
}  // namespace cox::cli
