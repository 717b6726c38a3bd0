// SPDX-License-Identifier: Apache-2.0
#include "model/goal.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "model/every_collective.hpp"

namespace cox::model {
namespace {

std::string goal_of(const CollectiveSpec& spec) {
  std::ostringstream out;
  write_goal(*Schedule::make(spec), out);
  return out.str();
}

TEST(Goal, RingChainsItsReceives) {
  const std::string got = goal_of({.ranks = 3, .bytes = Bytes{7}});
  EXPECT_EQ(got.substr(0, got.find("rank 1")),
            "num_ranks 3\n"
            "rank 0 {\n"
            "l1: send 3b to 1 tag 0\n"
            "l2: recv 2b from 2 tag 0\n"
            "l3: send 2b to 1 tag 0\n"
            "l3 requires l2\n"
            "l4: recv 2b from 2 tag 0\n"
            "l4 requires l2\n"
            "l5: send 2b to 1 tag 0\n"
            "l5 requires l4\n"
            "l6: recv 3b from 2 tag 0\n"
            "l6 requires l4\n"
            "l7: send 3b to 1 tag 0\n"
            "l7 requires l6\n"
            "l8: recv 2b from 2 tag 0\n"
            "l8 requires l6\n"
            "}\n");
}

// Reads what was written and runs it: messages of a pair and tag match in order, and an operation is done
// when all that it requires is, and, for a receive, its send. Names what never gets done.
struct Operation {
  bool sends = false;
  std::tuple<int, int, int> channel;  // from, to, tag
  std::int64_t bytes = 0;
  std::vector<int> requires_{};
  bool done = false;
};

std::vector<std::vector<Operation>> read(const std::string& text) {
  std::vector<std::vector<Operation>> ranks;
  std::istringstream in(text);
  std::string line;
  while (std::getline(in, line)) {
    int label = 0;
    int other = 0;
    int tag = 0;
    long bytes = 0;
    const int rank = static_cast<int>(ranks.size()) - 1;
    if (line.rfind("rank ", 0) == 0) ranks.emplace_back();
    if (std::sscanf(line.c_str(), "l%d: send %ldb to %d tag %d", &label, &bytes, &other, &tag) == 4)
      ranks.back().push_back({.sends = true, .channel = {rank, other, tag}, .bytes = bytes});
    if (std::sscanf(line.c_str(), "l%d: recv %ldb from %d tag %d", &label, &bytes, &other, &tag) == 4)
      ranks.back().push_back({.sends = false, .channel = {other, rank, tag}, .bytes = bytes});
    if (std::sscanf(line.c_str(), "l%d requires l%d", &label, &other) == 2)
      ranks.back().at(static_cast<std::size_t>(label - 1)).requires_.push_back(other - 1);
  }
  return ranks;
}

bool finishes(std::vector<std::vector<Operation>> ranks) {
  std::map<std::tuple<int, int, int>, std::vector<std::int64_t>> on_the_way;
  bool all = false;
  for (bool moved = true; moved;) {
    moved = false;
    all = true;
    for (auto& ops : ranks)
      for (auto& op : ops) {
        if (op.done) continue;
        bool ready = true;
        for (const int r : op.requires_) ready = ready && ops.at(static_cast<std::size_t>(r)).done;
        auto& queue = on_the_way[op.channel];
        if (ready && op.sends) {
          queue.push_back(op.bytes);
          op.done = moved = true;
        } else if (ready && !queue.empty()) {
          EXPECT_EQ(queue.front(), op.bytes);
          queue.erase(queue.begin());
          op.done = moved = true;
        }
        all = all && op.done;
      }
  }
  for (const auto& [channel, left] : on_the_way) EXPECT_TRUE(left.empty());
  return all;
}

TEST(Goal, EverySchedulePlaysToItsEnd) {
  for (const int ranks : {1, 2, 3, 6, 8, 11})
    for (const auto& spec : every_collective(ranks, Bytes{53})) {
      const auto graph = read(goal_of(spec));
      EXPECT_EQ(static_cast<int>(graph.size()), Schedule::make(spec)->participants()) << text_of(spec);
      EXPECT_TRUE(finishes(graph)) << text_of(spec);
    }
}

}  // namespace
}  // namespace cox::model
