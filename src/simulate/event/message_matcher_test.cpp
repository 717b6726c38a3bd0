// SPDX-License-Identifier: Apache-2.0
// The matcher against the definition: lists that are searched from their front.
#include "simulate/event/message_matcher.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace cox::simulate {
namespace {

constexpr std::uint32_t kAny = 0xffffffff;

struct Entry {
  std::uint32_t rank;
  std::uint32_t source;
  std::uint32_t tag;
  std::uint32_t operation;
};

/// First of `list` that fits, removed; kAny where none does.
std::uint32_t take_first(std::vector<Entry>& list, std::uint32_t rank, std::uint32_t source,
                         std::uint32_t tag) {
  const auto at = std::find_if(list.begin(), list.end(), [&](const Entry& e) {
    return e.rank == rank && (e.source == source || e.source == kAny || source == kAny) &&
           (e.tag == tag || e.tag == kAny || tag == kAny);
  });
  if (at == list.end()) return kAny;
  const std::uint32_t operation = at->operation;
  list.erase(at);
  return operation;
}

void compare(MessageMatcher::Wildcards wildcards, std::uint32_t seed, std::uint32_t ranks,
             std::uint32_t tags) {
  MessageMatcher matcher(wildcards, ranks);
  std::vector<Entry> posted;
  std::vector<Entry> unexpected;
  std::mt19937 bits(seed);
  const auto draw = [&bits] { return static_cast<std::uint32_t>(bits()); };
  for (std::uint32_t i = 0; i < 4000; ++i) {
    const std::uint32_t rank = draw() % ranks;
    std::uint32_t source = draw() % ranks;
    std::uint32_t tag = draw() % tags;
    if (draw() % 2 == 0) {
      const std::uint32_t expected = take_first(posted, rank, source, tag);
      if (expected == kAny) unexpected.push_back({rank, source, tag, i});
      const auto got = matcher.arrive(rank, source, tag, i);
      ASSERT_EQ(got.operation, expected);
    } else {
      const std::uint32_t way = draw() % 4;
      if ((way == 1 && wildcards.source) || (way == 3 && wildcards.both)) source = kAny;
      if ((way == 2 && wildcards.tag) || (way == 3 && wildcards.both)) tag = kAny;
      const std::uint32_t expected = take_first(unexpected, rank, source, tag);
      if (expected == kAny) posted.push_back({rank, source, tag, i});
      const auto got = matcher.post(rank, source, tag, i);
      ASSERT_EQ(got.operation, expected);
    }
    ASSERT_EQ(matcher.waiting(), posted.size() + unexpected.size());
  }
  std::size_t messages = 0;
  std::size_t receives = 0;
  matcher.for_each([&](std::uint32_t, bool message, const MessageMatcher::Waiting&) {
    ++(message ? messages : receives);
  });
  EXPECT_EQ(messages, unexpected.size());
  EXPECT_EQ(receives, posted.size());
}

TEST(MessageMatcher, GivesWhatASearchFromTheFrontGives) {
  std::uint32_t seed = 0;
  for (int uses = 0; uses < 8; ++uses)
    for (const std::uint32_t ranks : {1U, 3U, 40U})
      for (const std::uint32_t tags : {1U, 4U, 100U})
        compare({.source = (uses & 1) != 0, .tag = (uses & 2) != 0, .both = (uses & 4) != 0}, ++seed, ranks,
                tags);
}

}  // namespace
}  // namespace cox::simulate
