// SPDX-License-Identifier: Apache-2.0
#include "learn/answer/servers.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace cox::learn {
namespace {

/// Runs of a way whose server 2 dies at 100 ms: none where it was over before, else when its standby served.
struct Ended {
  bool died = false;
  std::optional<Seconds> served{};
  std::int64_t lost = 0;
};
WayResult result(const char* word, const std::vector<Ended>& runs) {
  const auto way = read_way(word);
  EXPECT_TRUE(way) << word;
  WayResult w{.way = way.value_or(Way{})};
  for (const Ended& run : runs) {
    Attempt a{.seed = w.attempts.size()};
    if (run.died)
      a.death = ServerDeath{
          .server = 2, .at = Seconds{0.1}, .version = 30, .served_again = run.served, .lost = run.lost};
    w.attempts.push_back(a);
  }
  return w;
}

std::vector<std::string> said(const WayResult& w) {
  std::vector<TextLine> lines;
  add_death(w, lines);
  std::vector<std::string> out;
  for (const TextLine& line : lines) out.push_back(line.text);
  return out;
}

constexpr const char* kStandsBy = "sharded-asynchronous,dies=0.1,server=2,standby=asynchronous";

TEST(Servers, WhatCameOfADeathIsSaidAsItWas) {
  const std::string name = std::string(kStandsBy) + ": server 2 ";
  using Lines = std::vector<std::string>;
  EXPECT_EQ(said(result(kStandsBy, {{true, Seconds{0.2}, 7}, {true, Seconds{0.2}, 10}})),
            Lines{name + "died at 100 ms, its standby served from 200 ms on; updates lost: 7 to 10"});
  // A run may be over while nobody serves the shard: with sparse pulls others go on.
  EXPECT_EQ(said(result(kStandsBy, {{true}, {true}})),
            Lines{name + "died at 100 ms, and the run was over before its standby served"});
  EXPECT_EQ(
      said(result(kStandsBy, {{true}, {true, Seconds{0.2}, 3}, {}})),
      (Lines{name + "died at 100 ms on 1 of 3 seeds, its standby served from 200 ms on; updates lost: 3",
             name + "died at 100 ms on 1 of 3 seeds, and the run was over before its standby served"}));
  EXPECT_EQ(said(result(kStandsBy, {{}, {}})), Lines{name + "did not die: every run was over before 100 ms"});
  EXPECT_TRUE(said(result("sharded-asynchronous", {{}})).empty());
}

TEST(Servers, OnlyWhoHasNoStandbyIsGoneForGood) {
  EXPECT_FALSE(unserved(result(kStandsBy, {{true}, {true, Seconds{0.2}}})));
  const WayResult alone = result("sharded-asynchronous,dies=0.1,server=2", {{}, {true}});
  EXPECT_TRUE(unserved(alone));
  EXPECT_EQ(said(alone), std::vector<std::string>{
                             "sharded-asynchronous,dies=0.1,server=2, seed 1: server 2 died at 100 ms, "
                             "version 30, and has no standby"});
  EXPECT_FALSE(unserved(result("sharded-asynchronous,dies=0.1,server=2", {{}})));
}

}  // namespace
}  // namespace cox::learn
