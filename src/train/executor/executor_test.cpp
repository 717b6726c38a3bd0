// SPDX-License-Identifier: Apache-2.0
#include "train/executor/executor.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "model/every_collective.hpp"
#include "train/executor/ranks_for_tests.hpp"

namespace cox::train {
namespace {

using A = model::Algorithm;
using C = model::Collective;
using Buffers = std::vector<std::vector<float>>;

bool is_carried_out(const model::CollectiveSpec& s) {
  return s.kind != C::AllToAll && s.kind != C::Barrier;
}

/// Small whole numbers: their sums are exact in any order.
float value_of(int rank, std::size_t i) {
  return static_cast<float>((rank + 1) * 7 + static_cast<int>(i % 11));
}

/// What all participants hold afterwards, and what was sent. Whoever is no rank begins with zeros.
struct Ran {
  Buffers values;
  std::vector<std::vector<Bytes>> sent;
};
Ran ran(const model::CollectiveSpec& spec) {
  const auto schedule = model::Schedule::make(spec);
  EXPECT_TRUE(schedule) << text_of(spec);
  const int participants = schedule->participants();
  const auto floats = static_cast<std::size_t>(spec.bytes.count()) / sizeof(float);
  Ran made{.values = Buffers(static_cast<std::size_t>(participants), std::vector<float>(floats)), .sent = {}};
  for (int r = 0; r < spec.ranks; ++r)
    for (std::size_t i = 0; i < floats; ++i) made.values[static_cast<std::size_t>(r)][i] = value_of(r, i);
  made.sent = on_ranks(participants, [&](Transport& link) {
    auto executor = Executor::make(spec, link.rank());
    ASSERT_TRUE(executor) << text_of(spec);
    const Status done = executor->run(link, made.values[static_cast<std::size_t>(link.rank())]);
    EXPECT_TRUE(done) << text_of(spec) << ": " << (done ? "" : done.error().message);
  });
  return made;
}

std::vector<Bytes> rows(const std::vector<std::vector<Bytes>>& sent) {
  std::vector<Bytes> sums;
  for (const auto& row : sent) {
    sums.emplace_back();
    for (const Bytes b : row) sums.back() += b;
  }
  return sums;
}

TEST(Executor, EveryAllReduceLeavesTheSumOnEveryRank) {
  std::set<A> seen;
  for (const int ranks : {1, 2, 3, 4, 6, 8})
    for (const std::int64_t floats : {1, 37, 64})
      for (const auto& spec : model::every_collective(ranks, Bytes{4 * floats})) {
        if (spec.kind != C::AllReduce) continue;
        seen.insert(spec.algorithm);
        const Ran made = ran(spec);
        for (int r = 0; r < ranks; ++r)
          for (std::size_t i = 0; i < static_cast<std::size_t>(floats); ++i) {
            float sum = 0;
            for (int other = 0; other < ranks; ++other) sum += value_of(other, i);
            ASSERT_EQ(made.values[static_cast<std::size_t>(r)][i], sum)
                << text_of(spec) << " rank " << r << " element " << i;
          }
      }
  EXPECT_EQ(seen, (std::set{A::Ring, A::BidirectionalRing, A::BinomialTree, A::BinaryTree,
                            A::DoubleBinaryTree, A::RecursiveDoubling, A::HalvingDoubling, A::Hierarchical2,
                            A::Hierarchical3, A::InNetwork, A::ParameterServer}));
}

TEST(Executor, BytesPerParticipantAreTheSchedules) {
  int compared = 0;
  for (const int ranks : {2, 3, 4, 8})
    for (const std::int64_t floats : {37, 960})
      for (const auto& spec : model::every_collective(ranks, Bytes{4 * floats})) {
        if (!is_carried_out(spec)) continue;
        const auto expected = scheduled_bytes(spec);
        ASSERT_TRUE(expected);
        const auto counted = rows(ran(spec).sent);
        EXPECT_EQ(counted, *expected) << text_of(spec);
        if (floats != 960) continue;  // all chunks are whole floats: the schedule of bytes says the same
        EXPECT_EQ(counted, model::bytes_sent(*model::Schedule::make(spec))) << text_of(spec);
        ++compared;
      }
  EXPECT_GT(compared, 100);
}

TEST(Executor, BytesPerLinkAreThoseOfTheSchedulesMessages) {
  for (const auto& spec : model::every_collective(6, Bytes{4 * 90})) {
    if (!is_carried_out(spec)) continue;
    model::CollectiveSpec floats = spec;
    floats.bytes = Bytes{90};
    const auto schedule = model::Schedule::make(floats);
    std::map<std::pair<int, int>, std::int64_t> links;
    model::for_each_round(*schedule, [&](int, std::int64_t, const std::vector<model::Transfer>& list) {
      for (const model::Transfer& t : list) links[{t.from, t.to}] += 4 * t.bytes.count();
    });
    const Ran made = ran(spec);
    for (std::size_t from = 0; from < made.sent.size(); ++from)
      for (std::size_t to = 0; to < made.sent.size(); ++to)
        EXPECT_EQ(made.sent[from][to].count(), (links[{static_cast<int>(from), static_cast<int>(to)}]))
            << text_of(spec) << " " << from << " to " << to;
  }
}

TEST(Executor, ReduceAndBroadcastFromAnyRoot) {
  for (const int ranks : {2, 5, 8})
    for (const auto& spec : model::every_collective(ranks, Bytes{4 * 41})) {
      const bool reduces = spec.kind == C::Reduce;
      if ((!reduces && spec.kind != C::Broadcast) || spec.algorithm == A::ParameterServer) continue;
      const Ran made = ran(spec);
      for (int r = 0; r < ranks; ++r) {
        if (reduces && r != spec.root) continue;
        for (std::size_t i = 0; i < 41; ++i) {
          float sum = 0;
          for (int other = 0; other < ranks; ++other) sum += value_of(other, i);
          ASSERT_EQ(made.values[static_cast<std::size_t>(r)][i], reduces ? sum : value_of(spec.root, i))
              << text_of(spec) << " rank " << r;
        }
      }
    }
}

TEST(Executor, AnExecutorRunsAgain) {
  const model::CollectiveSpec spec{
      .kind = C::AllReduce, .algorithm = A::DoubleBinaryTree, .ranks = 4, .bytes = Bytes{40}, .chunks = 3};
  on_ranks(4, [&](Transport& link) {
    auto executor = Executor::make(spec, link.rank());
    ASSERT_TRUE(executor);
    std::vector<float> values(10, 1);
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(executor->run(link, values));
    EXPECT_EQ(values, std::vector<float>(10, 1024));
  });
}

TEST(Executor, WhatIsNotCarriedOutIsRefused) {
  const auto made =
      Executor::make({.kind = C::AllToAll, .algorithm = A::Direct, .ranks = 2, .bytes = Bytes{8}}, 0);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().id, "train-002");
  EXPECT_EQ(made.error().code, Errc::Unsupported);
  const auto unknown =
      Executor::make({.kind = C::AllReduce, .algorithm = A::Direct, .ranks = 2, .bytes = Bytes{8}}, 0);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().id, "model-001");
}

}  // namespace
}  // namespace cox::train
