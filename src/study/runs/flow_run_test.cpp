// SPDX-License-Identifier: Apache-2.0
#include "study/runs/flow_run.hpp"

#include <gtest/gtest.h>

#include "study/runs/collective_run.hpp"

namespace cox::study {
namespace {

const model::Link kInside{.latency = Seconds{1e-6}, .bandwidth = Bandwidth::bytes_per_s(600e9)};
const model::Link kAcross{.latency = Seconds{10e-6}, .bandwidth = Bandwidth::bytes_per_s(25e9)};

double tree_time(int nodes, int devices, int rails, Placing placing) {
  const auto cluster = railed_cluster(nodes, devices, kInside, kAcross, rails);
  const auto spec = all_reduce(model::Algorithm::BinomialTree, nodes * devices, Bytes{10'000'000});
  const auto t = shared_time(spec, cluster, placing);
  EXPECT_TRUE(t) << t.error().to_string();
  if (!t) return 0;
  EXPECT_NEAR(t->count(), tree_on_rails(spec, cluster, placing).count(), 1e-9 * t->count())
      << nodes << " x " << devices << ", " << rails;
  return t->count();
}

// 10 MB take 0.4 ms over a rail: 8 devices of a node that send at once over one take 8 times as long.
TEST(Rails, AreSharedByThoseWhoSendAtOnce) {
  EXPECT_NEAR(tree_time(2, 8, 1, Placing::Dealt), 2 * (10e-6 + 8 * 0.4e-3) + 6 * (1e-6 + 1e7 / 600e9), 1e-9);
  EXPECT_NEAR(tree_time(2, 8, 4, Placing::Dealt), 2 * (10e-6 + 2 * 0.4e-3) + 6 * (1e-6 + 1e7 / 600e9), 1e-9);
  EXPECT_NEAR(tree_time(2, 8, 8, Placing::Dealt), 2 * (10e-6 + 0.4e-3) + 6 * (1e-6 + 1e7 / 600e9), 1e-9);
}

// In order one device of each node crosses at a time, so more rails do not help.
TEST(Rails, ATreeInNodeOrderUsesOne) {
  const double one = tree_time(4, 8, 1, Placing::InOrder);
  EXPECT_NEAR(one, 4 * (10e-6 + 0.4e-3) + 6 * (1e-6 + 1e7 / 600e9), 1e-9);
  EXPECT_NEAR(tree_time(4, 8, 8, Placing::InOrder), one, 1e-12);
}

TEST(Rails, OneDeviceANodeIsTheSameEitherWay) {
  EXPECT_NEAR(tree_time(16, 1, 1, Placing::Dealt), tree_time(16, 1, 1, Placing::InOrder), 1e-12);
}

}  // namespace
}  // namespace cox::study
