// SPDX-License-Identifier: Apache-2.0
#include "simulate/event/first_receives.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "cox/base/random.hpp"
#include "cox/simulate/goal.hpp"

namespace cox::simulate {
namespace {

using Key = std::pair<std::uint32_t, std::uint32_t>;  // source, tag

/// Rank 0 posts `receives` at random sources and tags; the others nothing.
std::string schedule(std::uint32_t ranks, std::uint32_t tags, std::uint32_t receives) {
  const RandomStream draws(1, receives);
  std::string text = fmt::format("num_ranks {}\nrank 0 {{\n", ranks);
  for (std::uint32_t i = 0; i < receives; ++i)
    text += fmt::format("recv 8b from {} tag {}\n", draws.bits(0, i) % ranks, draws.bits(1, i) % tags);
  return text + "}\n";
}

void compare(std::uint32_t ranks, std::uint32_t tags, std::uint32_t receives) {
  SCOPED_TRACE(fmt::format("{} ranks, {} tags, {} receives", ranks, tags, receives));
  const std::string bytes = goal_binary(schedule(ranks, tags, receives), "s").value();
  const GoalImage image = GoalImage::check(std::as_bytes(std::span(bytes)), "s").value();
  ASSERT_EQ(image.block(0).root_receives, receives);
  FirstReceives first(image);
  first.reserve(FirstReceives::places(receives));
  first.add_rank(receives);
  first.add_rank(0);
  std::map<Key, std::uint32_t> want;
  for (std::uint32_t i = 0; i < receives; ++i) {
    const GoalNode node = image.block(0).node(i);
    ASSERT_EQ(first.add(0, i), want.emplace(Key{node.peer(), node.tag()}, i).second);
  }
  ASSERT_EQ(first.waiting(), want.size());
  std::set<std::uint32_t> seen;
  first.for_each([&](std::uint32_t rank, std::uint32_t operation) {
    EXPECT_EQ(rank, 0U);
    seen.insert(operation);
  });
  EXPECT_EQ(seen.size(), want.size());
  for (std::uint32_t source = 0; source < ranks; ++source)
    for (std::uint32_t tag = 0; tag < tags; ++tag)
      for (int time = 0; time < 2; ++time) {
        const auto at = want.find(Key{source, tag});
        const std::uint32_t expected = at == want.end() ? FirstReceives::kNone : at->second;
        ASSERT_EQ(first.take(0, source, tag), expected);
        ASSERT_EQ(first.take(1, source, tag), FirstReceives::kNone);
        if (at != want.end()) want.erase(at);
      }
  EXPECT_EQ(first.waiting(), 0U);
}

TEST(FirstReceives, GivesTheFirstOfEachKeyOnce) {
  for (const std::uint32_t receives : {1U, 2U, 63U, 64U, 1000U})
    for (const std::uint32_t tags : {1U, 5U, 400U}) compare(7, tags, receives);
}

}  // namespace
}  // namespace cox::simulate
