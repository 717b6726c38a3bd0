// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "cox/simulate/outcome.hpp"

namespace cox::simulate {
namespace {

TEST(LinkTiers, AreTheNamesWithoutTheirNumbers) {
  const std::vector<LinkLoad> links = {{"n10->leaf0", Bytes{5}, 0.5},
                                       {"leaf0->n10", Bytes{0}, 0},
                                       {"n2->leaf1", Bytes{0}, 0},
                                       {"leaf0->spine3", Bytes{1}, 1.5}};
  const std::vector<LinkTier> tiers = tiers_of(links);
  ASSERT_EQ(tiers.size(), 2U) << "a tier that carried nothing is none";
  EXPECT_EQ(tiers[0].name, "leaf->spine");
  EXPECT_EQ(tiers[0].busiest_ratio, 1.5);
  EXPECT_EQ(tiers[1].name, "n->leaf");
  ASSERT_EQ(tiers[1].links.size(), 2U);
  EXPECT_EQ(tiers[1].links[0], &links[0]);
  EXPECT_EQ(tiers[1].mean_ratio, 0.25) << "over all links of the tier";
  EXPECT_EQ(tiers[1].busiest_ratio, 0.5);
}

}  // namespace
}  // namespace cox::simulate
