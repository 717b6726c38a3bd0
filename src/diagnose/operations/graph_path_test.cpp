// SPDX-License-Identifier: Apache-2.0
#include "diagnose/operations/graph_path.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "diagnose/operations/graph_path_json.hpp"
#include "support/test_data.hpp"
#include "trace/import/part/reader.hpp"

namespace cox::diagnose {
namespace {

using model::kNoComm;
using model::kNoDuration;
using model::OperationKind;

struct Op {
  std::uint32_t rank = 0;
  OperationKind kind = OperationKind::Compute;
  std::int64_t duration = -1;  ///< -1 = not known
  std::vector<std::uint32_t> before{};
  CommId comm = kNoComm;
};

model::Program program_of(std::uint32_t ranks, const std::vector<Op>& list) {
  model::Program p;
  p.world_size = static_cast<int>(ranks);
  for (std::uint32_t r = 0; r < ranks; ++r) p.ranks.push_back({.rank = Rank(static_cast<std::int32_t>(r))});
  p.names = {"compute", "collective", "send", "receive", "memory", "other"};
  for (const Op& op : list) {
    p.rank.push_back(op.rank);
    p.kind.push_back(op.kind);
    p.name.push_back(static_cast<std::uint32_t>(op.kind));
    p.begin.push_back(kNoDuration);
    p.duration.push_back(op.duration < 0 ? kNoDuration : Duration(op.duration));
    p.bytes.emplace_back();
    p.comm.push_back(op.comm);
    p.needs.add(op.before);
  }
  return p;
}

bool has_limit(const GraphPath& path, const std::string& part) {
  return std::any_of(path.limits.begin(), path.limits.end(),
                     [&](const std::string& l) { return l.find(part) != std::string::npos; });
}

TEST(GraphPath, FindsTheLongestChain) {
  const auto path =
      find_graph_path(program_of(1, {{.duration = 5, .before = {2}},
                                     {.duration = 3},
                                     {.duration = 10, .before = {1}},
                                     {.kind = OperationKind::Memory, .duration = 12, .before = {1}}}));
  ASSERT_TRUE(path && path->times);
  EXPECT_EQ(path->times->makespan, Duration(18));
  EXPECT_EQ(path->times->work, Duration(30));
  EXPECT_DOUBLE_EQ(path->times->parallelism_ratio, 30.0 / 18);
  EXPECT_EQ(path->times->path_operations, 3);
  ASSERT_EQ(path->times->names.size(), 1U);
  EXPECT_EQ(path->times->names[0].name, "compute");
  EXPECT_EQ(path->times->names[0].on_path, Duration(18));
  ASSERT_EQ(path->kinds.size(), 2U);
  EXPECT_EQ(path->kinds[1].on_path, Duration::zero());
  EXPECT_EQ(path->ranks[0].on_path, Duration(18));
  EXPECT_TRUE(has_limit(*path, "one rank only"));
}

TEST(GraphPath, TablesAndEmptyRunsHaveNone) {
  EXPECT_FALSE(find_graph_path(model::Program()));
  model::Program table = program_of(1, {{.duration = 5}});
  table.needs = {};
  EXPECT_FALSE(find_graph_path(table));
}

TEST(GraphPath, WithoutDurationsThereAreCountsOnly) {
  const auto path = find_graph_path(program_of(2, {{}, {.rank = 1, .before = {0}}}));
  ASSERT_TRUE(path);
  EXPECT_FALSE(path->times);
  EXPECT_EQ(path->operations, 2);
  EXPECT_EQ(path->edges, 1);
  EXPECT_TRUE(has_limit(*path, "counts only"));
}

TEST(GraphPath, MessagesTieRanks) {
  const CommId channel{0};
  const model::Program program =
      program_of(2, {{.rank = 0, .duration = 50},
                     {.rank = 0, .kind = OperationKind::Send, .duration = 2, .before = {0}, .comm = channel},
                     // Its 51 are a wait for the sender.
                     {.rank = 1, .kind = OperationKind::Receive, .duration = 51, .comm = channel},
                     {.rank = 1, .duration = 7, .before = {2}},
                     {.rank = 1, .kind = OperationKind::Receive, .comm = channel}});
  const auto path = find_graph_path(program);
  ASSERT_TRUE(path && path->times);
  EXPECT_EQ(path->messages, 1);
  EXPECT_EQ(path->unmatched, 1);
  EXPECT_EQ(path->times->makespan, Duration(50 + 2 + 2 + 7));
  EXPECT_EQ(path->ranks[0].on_path, Duration(52));
  EXPECT_EQ(path->ranks[1].on_path, Duration(9));
  EXPECT_TRUE(has_limit(*path, "1 of 2 receives have no duration"));
}

TEST(GraphPath, CollectivesBeginTogetherAndLastAsLongAsTheShortest) {
  const CommId comm{0};
  const model::Program program = program_of(
      3, {{.rank = 0, .duration = 10},
          {.rank = 1, .duration = 100},
          {.rank = 0, .kind = OperationKind::Collective, .duration = 95, .before = {0}, .comm = comm},
          {.rank = 1, .kind = OperationKind::Collective, .duration = 5, .before = {1}, .comm = comm},
          {.rank = 0, .duration = 20, .before = {2}}});
  const auto path = find_graph_path(program);
  ASSERT_TRUE(path && path->times);
  EXPECT_EQ(path->joined_collectives, 1);
  EXPECT_EQ(path->times->makespan, Duration(125));
  EXPECT_EQ(path->ranks[1].on_path, Duration(100)) << "the late rank";
  EXPECT_EQ(path->ranks[0].on_path, Duration(25));
  EXPECT_EQ(path->times->path_operations, 3) << "the meeting point is no operation";
  EXPECT_TRUE(has_limit(*path, "2 of 3 ranks"));
}

TEST(GraphPath, RanksInContradictionAreNotTied) {
  const CommId a{0};
  const CommId b{1};
  const auto collective = OperationKind::Collective;
  const model::Program program =
      program_of(2, {{.rank = 0, .kind = collective, .duration = 1, .comm = a},
                     {.rank = 0, .kind = collective, .duration = 1, .before = {0}, .comm = b},
                     {.rank = 1, .kind = collective, .duration = 1, .comm = b},
                     {.rank = 1, .kind = collective, .duration = 1, .before = {2}, .comm = a}});
  const auto path = find_graph_path(program);
  ASSERT_TRUE(path && path->times);
  EXPECT_EQ(path->joined_collectives, 0);
  EXPECT_EQ(path->times->makespan, Duration(2));
  EXPECT_TRUE(has_limit(*path, "disagree on the order"));
  const auto circle =
      find_graph_path(program_of(1, {{.duration = 1, .before = {1}}, {.duration = 1, .before = {0}}}));
  ASSERT_TRUE(circle);
  EXPECT_FALSE(circle->times);
  EXPECT_TRUE(has_limit(*circle, "in a circle"));
}

TEST(GraphPath, CallersAreNoOrder) {
  model::Program program = program_of(1, {{.duration = 5}, {.duration = 4, .before = {0}}});
  program.is_calls = true;
  const auto path = find_graph_path(program);
  ASSERT_TRUE(path);
  EXPECT_FALSE(path->times);
  EXPECT_TRUE(has_limit(*path, "who called whom"));
}

TEST(GraphPath, RenumberingOperationsMovesNothing) {
  const auto chain = [](bool reversed) {
    constexpr std::uint32_t kLength = 1000;
    std::vector<Op> list(kLength);
    for (std::uint32_t i = 0; i < kLength; ++i) {
      const std::uint32_t at = reversed ? kLength - 1 - i : i;
      list[at].duration = i % 7;
      list[at].rank = i % 3;
      if (i > 0) list[at].before = {reversed ? kLength - i : i - 1};
    }
    return find_graph_path(program_of(3, list));
  };
  const auto a = chain(false);
  const auto b = chain(true);
  ASSERT_TRUE(a && b && a->times && b->times);
  EXPECT_EQ(a->times->makespan, b->times->makespan);
  for (std::size_t r = 0; r < 3; ++r) EXPECT_EQ(a->ranks[r].on_path, b->ranks[r].on_path);
}

TEST(GraphPath, LongChainsAndHugeDurationsAreFine) {
  std::vector<Op> list(200'000);
  for (std::uint32_t i = 0; i < list.size(); ++i) {
    list[i].duration = 1;
    if (i > 0) list[i].before = {i - 1};
  }
  const auto path = find_graph_path(program_of(1, list));
  ASSERT_TRUE(path && path->times);
  EXPECT_EQ(path->times->path_operations, 200'000);
  for (Op& op : list) op.duration = INT64_MAX / 2;
  const auto huge = find_graph_path(program_of(1, list));
  ASSERT_TRUE(huge && huge->times);
  EXPECT_EQ(huge->times->work, Duration::max());
  EXPECT_EQ(huge->times->makespan, Duration::max());
}

TEST(GraphPath, JsonNamesUnits) {
  nlohmann::ordered_json out;
  const auto path = find_graph_path(program_of(1, {{.duration = 2'000'000'000'000}}));
  write_json(*path, out);
  EXPECT_DOUBLE_EQ(out.at("times").at("makespan_s").get<double>(), 2.0);
  EXPECT_EQ(out.at("ranks_on_path").at(0).at("rank"), 0);
  EXPECT_EQ(out.at("kinds").at(0).at("kind"), "compute");
  const auto counts = find_graph_path(program_of(1, {{}}));
  write_json(*counts, out);
  EXPECT_TRUE(out.at("times").is_null());
}

TEST(GraphPathData, ChakraOfOneRank) {
  COX_NEED_DATA(dir, "traces/chakra-et");
  const auto job = trace::kChakraProtobufReader.read(dir / "chakra.0.et", {});
  ASSERT_TRUE(job);
  const auto path = find_graph_path(job->program);
  ASSERT_TRUE(path && path->times);
  // Longest chain over data dependencies and sum of durations, computed apart from this program.
  EXPECT_EQ(path->times->makespan, Duration(46'140'000'000));
  EXPECT_EQ(path->times->work, Duration(381'795'000'000));
  EXPECT_TRUE(has_limit(*path, "one rank only"));
}

}  // namespace
}  // namespace cox::diagnose
