// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cox/replay/graph.hpp"

namespace cox::replay {
namespace {

TEST(Replay, WaitsForTheLatestPredecessor) {
  Graph g;
  const Node a = g.add();
  const Node b = g.add();
  const Node both[] = {a, b};
  g.add(both);
  const Duration d[] = {Duration(3), Duration(5), Duration(2)};
  EXPECT_EQ(replay(g, d).makespan, Duration(7));
}

}  // namespace
}  // namespace cox::replay
