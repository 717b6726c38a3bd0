// SPDX-License-Identifier: Apache-2.0
#include "trace/import/graphs/chakra_graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "trace/import/graphs/chakra_memory_file.hpp"

namespace cox::trace {
namespace {

struct Item {
  std::uint64_t id;
  std::vector<std::uint64_t> data;
  std::vector<std::uint64_t> control{};
  Duration duration = kNoDuration;
};

ImportedJob build(const std::vector<Item>& items, const GraphRules& rules = {}) {
  PartBuilder part("f", "test");
  part.add_rank(Rank(0));
  GraphBuilder graph(part);
  for (const Item& i : items)
    graph.add({.id = i.id, .name = part.operation_name(std::to_string(i.id)), .duration = i.duration}, i.data,
              i.control);
  graph.finish(rules);
  return std::move(part).finish_job();
}

std::vector<std::uint32_t> before(const ImportedJob& job, std::uint32_t i) {
  const auto before = job.program.needs.before(i);
  return {before.begin(), before.end()};
}

std::vector<std::string> names(const ImportedJob& job) {
  std::vector<std::string> out;
  out.reserve(job.program.name.size());
  for (const std::uint32_t n : job.program.name) out.push_back(job.program.names[n]);
  return out;
}

TEST(GraphBuilder, ResolvesForwardReferencesAndSortsByIdWhateverTheOrder) {
  std::vector<Item> items{{9, {4, 7, 4}}, {4, {}}, {7, {4}}, {12, {9, 7}}};
  const ImportedJob first = build(items);
  EXPECT_EQ(names(first), (std::vector<std::string>{"4", "7", "9", "12"}));
  EXPECT_EQ(before(first, 2), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(before(first, 3), (std::vector<std::uint32_t>{1, 2}));
  std::mt19937 random(5);
  for (int k = 0; k < 24; ++k) {
    std::shuffle(items.begin(), items.end(), random);
    const ImportedJob again = build(items);
    EXPECT_EQ(names(again), names(first));
    EXPECT_EQ(again.program.needs, first.program.needs);
  }
}

TEST(GraphBuilder, SaysWhatItCouldNotUse) {
  const ImportedJob job = build({{1, {1}}, {2, {77, 1}}, {2, {}}});
  EXPECT_EQ(job.program.size(), 2U);
  EXPECT_EQ(before(job, 1), (std::vector<std::uint32_t>{0}));
  EXPECT_NE(notes_of(job.run).find("1 dependency on a node that is not in the file"), std::string::npos);
  EXPECT_NE(notes_of(job.run).find("1 node that depends on itself"), std::string::npos);
  EXPECT_NE(notes_of(job.run).find("1 node has the id of an earlier one"), std::string::npos);
  EXPECT_EQ(job.run.sources.front().records, 3);
  EXPECT_EQ(job.run.sources.front().used_records, 2);
}

TEST(GraphBuilder, DropsOneEdgePerCycleAndAlwaysTheSame) {
  std::vector<Item> items{{1, {3}}, {2, {1}}, {3, {2}}, {4, {3}}};
  const ImportedJob first = build(items);
  EXPECT_EQ(first.program.needs.edges(), 3U);
  EXPECT_NE(notes_of(first.run).find("1 dependency dropped that closed a cycle"), std::string::npos);
  std::reverse(items.begin(), items.end());
  EXPECT_EQ(build(items).program.needs, first.program.needs);
}

TEST(GraphBuilder, UsesControlDependenciesUnlessTheyContradictTheData) {
  const ImportedJob both = build({{1, {}}, {2, {1}}, {3, {}, {2}}});
  EXPECT_EQ(before(both, 2), (std::vector<std::uint32_t>{1}));
  // 2 is called by 3, which waits for it: the caller ends last.
  const ImportedJob data = build({{1, {}}, {2, {1}, {3}}, {3, {2}}});
  EXPECT_EQ(edges_of(data.program), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_NE(notes_of(data.run).find("1 control dependency not used: it contradicts"), std::string::npos);
}

TEST(GraphBuilder, TakesAbsentDurationsForZeroOnlyWhereTheFormatLeavesOutZeros) {
  const std::vector<Item> items{{1, {}, {}, Duration(5)}, {2, {1}}};
  EXPECT_EQ(build(items).program.duration[1], kNoDuration);
  EXPECT_EQ(build(items, {.absent_is_zero = true}).program.duration[1], Duration::zero());
  EXPECT_EQ(build({{1, {}}}, {.absent_is_zero = true}).program.duration[0], kNoDuration);
}

TEST(GraphBuilder, WalksLongChainsAndRingsWithoutRecursion) {
  constexpr std::uint64_t kLength = 200'000;
  std::vector<Item> chain;
  for (std::uint64_t i = 0; i < kLength; ++i) chain.push_back({i, {(i + 1) % kLength}});
  const ImportedJob job = build(chain);
  EXPECT_EQ(job.program.needs.edges(), kLength - 1);
}

TEST(GraphBuilder, SpansFromFilesSaturate) {
  EXPECT_EQ(duration_from_micros(3), Duration(3'000'000));
  EXPECT_EQ(duration_from_nanos(3), Duration(3'000));
  EXPECT_EQ(duration_from_micros(UINT64_MAX), duration_from_nanos(UINT64_MAX / 2));
  EXPECT_LT(duration_from_micros(UINT64_MAX), kStillRunning);
}

}  // namespace
}  // namespace cox::trace
