// SPDX-License-Identifier: Apache-2.0
#include "simulate/event/operation_replay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace cox::simulate {
namespace {

using model::kNoComm;
using model::kNoDuration;
using model::OperationKind;
using Programs = std::vector<model::Program>;

/// One rank's trace, built operation by operation.
struct Trace {
  model::Program program;
  explicit Trace(int rank) {
    program.ranks = {{.rank = Rank{rank}}};
    program.names = {"op"};
  }
  CommId comm(const std::string& name, int size) {
    auto& groups = program.groups;
    const auto at = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.name == name; });
    const CommId id{static_cast<int>(at - groups.begin())};
    if (at == groups.end()) groups.push_back({.name = name, .size = size});
    return id;
  }
  void add(OperationKind kind, Duration duration, Bytes bytes, CommId on, std::vector<std::uint32_t> before,
           model::Collective which = model::Collective::Other) {
    program.rank.push_back(0);
    program.kind.push_back(kind);
    program.name.push_back(0);
    program.duration.push_back(duration);
    program.bytes.push_back(bytes);
    program.comm.push_back(on);
    program.collective.push_back(which);
    program.needs.add(before);
  }
  void compute(std::int64_t us, std::vector<std::uint32_t> before = {}) {
    add(OperationKind::Compute, std::chrono::microseconds{us}, Bytes{}, kNoComm, std::move(before));
  }
  void all_reduce(std::int64_t bytes, std::vector<std::uint32_t> before, const char* name = "dp",
                  int size = 2) {
    add(OperationKind::Collective, kNoDuration, Bytes{bytes}, comm(name, size), std::move(before),
        model::Collective::AllReduce);
  }
  void message(OperationKind kind, const char* channel, std::int64_t bytes,
               std::vector<std::uint32_t> before) {
    add(kind, kNoDuration, Bytes{bytes}, comm(channel, 2), std::move(before));
  }
};

/// All leave `1 us + 1 ns per byte` after the last came; a message costs the same.
OperationCosts costs() {
  OperationCosts c;
  c.collective = [](const CollectiveCall& call, std::span<Seconds> times) {
    const Seconds last = *std::max_element(times.begin(), times.end());
    const Seconds done = last + Seconds{1e-6 + 1e-9 * static_cast<double>(call.bytes.count())};
    std::fill(times.begin(), times.end(), done);
  };
  c.message = [](Rank, Rank, Bytes n) { return Seconds{1e-6 + 1e-9 * static_cast<double>(n.count())}; };
  return c;
}

std::vector<double> finish_us(const OperationOutcome& outcome) {
  std::vector<double> out;
  out.reserve(outcome.finish.size());
  for (const Seconds s : outcome.finish) out.push_back(s.count() * 1e6);
  return out;
}

TEST(OperationReplay, ACollectiveWaitsForTheLastAndComputationGoesOnBesideIt) {
  // Rank 0 computes 10, rank 1 30; then both reduce 1000 bytes (2 us) beside 5 us of computation, then 1 us.
  Programs programs;
  for (const int us : {10, 30}) {
    Trace t(static_cast<int>(programs.size()));
    t.compute(us);
    t.all_reduce(1000, {0});
    t.compute(5, {0});
    t.compute(1, {1, 2});
    programs.push_back(t.program);
  }
  const auto outcome = replay_operations(programs, costs());
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_EQ(outcome->collectives, 1);
  EXPECT_NEAR(finish_us(*outcome)[0], 33, 1e-9);
  EXPECT_NEAR(finish_us(*outcome)[1], 36, 1e-9);
  EXPECT_NEAR(outcome->end[0][1].count() * 1e6, 32, 1e-9);
}

TEST(OperationReplay, ADeviceDoesOneThingAtATimeUnlessAsked) {
  Trace t(0);
  t.compute(10);
  t.compute(20);
  OperationCosts c = costs();
  EXPECT_NEAR(finish_us(replay_operations(std::span(&t.program, 1), c).value())[0], 30, 1e-9);
  c.one_at_a_time = false;
  EXPECT_NEAR(finish_us(replay_operations(std::span(&t.program, 1), c).value())[0], 20, 1e-9);
}

TEST(OperationReplay, MessagesFollowTheirProtocol) {
  Trace a(4);
  a.compute(10);
  a.message(OperationKind::Send, "4 to 7, tag 0", 1000, {0});
  Trace b(7);
  b.compute(50);
  b.message(OperationKind::Receive, "4 to 7, tag 0", 1000, {0});
  const Programs programs{b.program, a.program};
  OperationCosts c = costs();
  const auto rendezvous = replay_operations(programs, c).value();
  EXPECT_EQ(rendezvous.ranks, (std::vector<Rank>{Rank{7}, Rank{4}}));
  EXPECT_EQ(rendezvous.messages, 1);
  EXPECT_NEAR(finish_us(rendezvous)[0], 52, 1e-9);
  EXPECT_NEAR(finish_us(rendezvous)[1], 52, 1e-9);
  c.rendezvous = false;
  const auto eager = replay_operations(programs, c).value();
  EXPECT_NEAR(finish_us(eager)[0], 50, 1e-9);
  EXPECT_NEAR(finish_us(eager)[1], 10, 1e-9);
}

TEST(OperationReplay, TheCallSaysWhatItIs) {
  Programs programs;
  for (const int rank : {5, 2, 9}) {
    Trace t(rank);
    t.all_reduce(std::int64_t{100} * rank, {}, "world", 8);
    programs.push_back(t.program);
  }
  OperationCosts c = costs();
  int calls = 0;
  c.collective = [&](const CollectiveCall& call, std::span<Seconds>) {
    ++calls;
    EXPECT_EQ(std::vector<Rank>(call.ranks.begin(), call.ranks.end()),
              (std::vector<Rank>{Rank{2}, Rank{5}, Rank{9}}));
    EXPECT_EQ(call.size, 8);
    EXPECT_EQ(call.kind, model::Collective::AllReduce);
    EXPECT_EQ(call.bytes, Bytes{900});
    EXPECT_EQ(call.communicator, "world");
  };
  const auto outcome = replay_operations(programs, c);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(calls, 1);
  ASSERT_EQ(outcome->notes.size(), 1U);
  EXPECT_EQ(outcome->notes[0], "`world`: 3 of 8 members are in the traces");
}

TEST(OperationReplay, DurationsThatAreMissingAreRefusedOrEstimated) {
  Trace t(0);
  t.add(OperationKind::Compute, kNoDuration, Bytes{2'000'000}, kNoComm, {});
  OperationCosts c = costs();
  const auto refused = replay_operations(std::span(&t.program, 1), c);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().id, "simulate-006");
  c.memory = Bandwidth::gbyte_per_s(2);
  const auto outcome = replay_operations(std::span(&t.program, 1), c);
  ASSERT_TRUE(outcome);
  EXPECT_NEAR(finish_us(*outcome)[0], 1000, 1e-9);
}

TEST(OperationReplay, WhoNeverComesIsNamed) {
  Trace a(0);
  a.all_reduce(64, {});
  a.all_reduce(64, {0});
  Trace b(1);
  b.all_reduce(64, {});
  const Programs uneven{a.program, b.program};
  const auto outcome = replay_operations(uneven, costs());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().id, "simulate-004");
  EXPECT_NE(
      outcome.error().message.find("rank 0 is blocked: operation 1 (`op`, 64 bytes) is number 1 on `dp`"),
      std::string::npos)
      << outcome.error().message;
}

TEST(OperationReplay, CrossedCollectivesAreNamed) {
  Trace a(0);
  a.all_reduce(64, {}, "x");
  a.all_reduce(64, {0}, "y");
  Trace b(1);
  b.all_reduce(64, {}, "y");
  b.all_reduce(64, {0}, "x");
  const Programs crossed{a.program, b.program};
  const auto outcome = replay_operations(crossed, costs());
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().message.find("on `x` and waits for rank 1"), std::string::npos)
      << outcome.error().message;
}

TEST(OperationReplay, AMessageWithoutItsChannelIsRefused) {
  Trace t(0);
  t.add(OperationKind::Send, kNoDuration, Bytes{1}, kNoComm, {});
  const auto outcome = replay_operations(std::span(&t.program, 1), costs());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().id, "simulate-006");
}

TEST(OperationReplay, ARankInTwoTracesIsRefused) {
  Trace t(0);
  t.compute(1);
  const Programs twice{t.program, t.program};
  EXPECT_FALSE(replay_operations(twice, costs()));
}

}  // namespace
}  // namespace cox::simulate
