// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "cox/simulate/goal.hpp"

namespace cox::simulate {
namespace {

const LogGops kPlain = parse_loggops("L=1us,G=1ns/B").value();

Result<EventOutcome> simulate_text(const std::string& text, const LogGops& cost = kPlain) {
  return simulate_goal(std::as_bytes(std::span(text)), "s.goal", cost);
}

std::vector<long long> done_ps(const Result<EventOutcome>& outcome) {
  std::vector<long long> out;
  if (outcome)
    for (const Seconds s : outcome->finish) out.push_back(std::llround(s.count() * 1e12));
  return out;
}

void expect_error(const Result<EventOutcome>& outcome, const std::string& id, const std::string& part) {
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().id, id);
  EXPECT_NE(outcome.error().message.find(part), std::string::npos) << outcome.error().message;
}

TEST(ParseLogGops, ReadsAllParametersWithTheirUnits) {
  const auto cost = parse_loggops("L=1us,o=2ns,g=3ns,G=20ps/B,O=1.11ps/B,S=64KiB");
  ASSERT_TRUE(cost);
  EXPECT_DOUBLE_EQ(cost->latency.count(), 1e-6);
  EXPECT_DOUBLE_EQ(cost->overhead.count(), 2e-9);
  EXPECT_DOUBLE_EQ(cost->gap.count(), 3e-9);
  EXPECT_DOUBLE_EQ(cost->gap_per_byte.in_seconds_per_byte(), 20e-12);
  EXPECT_DOUBLE_EQ(cost->overhead_per_byte.in_seconds_per_byte(), 1.11e-12);
  EXPECT_EQ(cost->eager_limit, Bytes{65536});
}

TEST(ParseLogGops, RefusesWhatItDoesNotUnderstand) {
  for (const char* text : {"", "L", "L=1us", "G=1ns/B", "L=1us,G=1ns", "L=1us,L=2us,G=1ns/B",
                           "L=1us,G=1ns/B,", "L=1us,G=1ns/B,x=1ns", "L=1,G=1ns/B", "L=1us,G=1ns/B,S=5"}) {
    const auto cost = parse_loggops(text);
    EXPECT_FALSE(cost) << text;
  }
}

TEST(EventEngine, CalculationsOfOneCpuComeOneAfterTheOther) {
  EXPECT_EQ(
      done_ps(simulate_text("num_ranks 2\nrank 0 {\ncalc 5\ncalc 7\ncalc 9 cpu 1\n}\nrank 1 {\ncalc 3\n}\n")),
      (std::vector<long long>{12000, 3000}));
}

TEST(EventEngine, AZeroByteMessageCostsItsLatency) {
  EXPECT_EQ(done_ps(simulate_text("num_ranks 2\nrank 0 {\nsend 0b to 1\n}\nrank 1 {\nrecv 0b from 0\n}\n")),
            (std::vector<long long>{0, 1000000}));
}

TEST(EventEngine, FractionsOfAPicosecondAreRoundedPerMessage) {
  // 1000 bytes at 1.1114 ps: 999 x 1.1114 = 1110.2886.
  const auto cost = parse_loggops("L=1us,G=1.1114ps/B").value();
  EXPECT_EQ(done_ps(simulate_text(
                "num_ranks 2\nrank 0 {\nsend 1000b to 1\n}\nrank 1 {\nrecv 1000b from 0\n}\n", cost)),
            (std::vector<long long>{0, 1001110}));
}

TEST(EventEngine, TheSizeThatWasSentDecidesTheProtocol) {
  // Sent eagerly, taken by a longer receive after it came: the sender is done once, and early.
  const auto cost = parse_loggops("L=1us,G=1ns/B,S=100B").value();
  EXPECT_EQ(done_ps(simulate_text("num_ranks 2\nrank 0 {\nl1: send 10b to 1\nl2: calc 5\nl2 requires l1\n}\n"
                                  "rank 1 {\nl1: calc 5000\nl2: recv 1000b from 0\nl2 requires l1\n}\n",
                                  cost)),
            (std::vector<long long>{5000, 5009000}));
}

// Incast: the receiver's port is the bottleneck, so the last of k messages is there at k n beta + alpha.
TEST(EventEngine, IncastTakesAsLongAsItsReceiversPort) {
  for (const int k : {2, 16, 128}) {
    constexpr int kBytes = 100000;
    std::string text = fmt::format("num_ranks {}\nrank 0 {{\n", k + 1);
    for (int w = 1; w <= k; ++w) text += fmt::format("recv {}b from -1 tag 3\n", kBytes);
    text += "}\n";
    for (int w = 1; w <= k; ++w) text += fmt::format("rank {} {{\nsend {}b to 0 tag 3\n}}\n", w, kBytes);
    const auto outcome = simulate_text(text);
    ASSERT_TRUE(outcome);
    const double expected = 1e-6 + k * static_cast<double>(kBytes) * 1e-9;
    EXPECT_NEAR(outcome->finish[0].count(), expected, 0.01 * expected) << k;
  }
}

// Each of n ready sends asked again whenever one is done would be n^2 / 2 events.
/// A reduce-scatter ring of n bytes, as model::write_goal has it.
std::string ring_text(int ranks, int bytes) {
  std::string text = fmt::format("num_ranks {}\n", ranks);
  for (int r = 0; r < ranks; ++r) {
    text += fmt::format("rank {} {{\n", r);
    const auto chunk = [&](int place, int k) {
      const int i = ((place - k) % ranks + ranks) % ranks;
      return bytes / ranks + (i < bytes % ranks ? 1 : 0);
    };
    for (int k = 0; k + 1 < ranks; ++k) {
      const int before = (r + ranks - 1) % ranks;
      text += fmt::format("s{}: send {}b to {} tag 0\n", k, chunk(r, k), (r + 1) % ranks);
      text += fmt::format("r{}: recv {}b from {} tag 0\n", k, chunk(before, k), before);
      if (k > 0) text += fmt::format("s{0} requires r{1}\nr{0} requires r{1}\n", k, k - 1);
    }
    text += "}\n";
  }
  return text;
}

// An arrival holds the CPU until its last byte. Where the next message begins to arrive before the last one is in (its
// sender got a byte less, and the latency is shorter than a byte), it takes the CPU before the rank's own send can:
// that send comes a whole message later. Not so from a latency of a byte on.
TEST(EventEngine, AnArrivalThatOvertakesASendHoldsItUpForAllOfItself) {
  const auto last = [](const std::string& text, const char* cost) {
    const auto done = done_ps(simulate_text(text, parse_loggops(cost).value()));
    EXPECT_EQ(done.size(), 5U);
    return *std::ranges::max_element(done) / 1000;
  };
  const std::string uneven = ring_text(5, 65'537);
  EXPECT_EQ(last(uneven, "L=2ns,G=1ns/B"), 4 * (13'107 + 2));
  EXPECT_EQ(last(uneven, "L=0s,G=1ns/B"), 4 * 13'107 + 13'106);
  EXPECT_EQ(last(ring_text(5, 65'535), "L=0s,G=1ns/B"), 4 * 13'106);
}

TEST(EventEngine, ManyReadySendsAreNotAskedAgainAndAgain) {
  constexpr int kCount = 200000;
  std::string text = "num_ranks 2\nrank 0 {\n";
  for (int i = 0; i < kCount; ++i) text += "send 9b to 1\n";
  text += "}\nrank 1 {\n";
  for (int i = 0; i < kCount; ++i) text += "recv 9b from 0\n";
  const auto outcome = simulate_text(text + "}\n");
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->messages, kCount);
  EXPECT_EQ(std::llround(outcome->finish[1].count() * 1e12), 1000000 + kCount * 8000LL);
}

// Counts of predecessors are a byte where none has more than 255.
TEST(EventEngine, AnOperationWaitsForAllOfItsPredecessors) {
  for (const int before : {2, 255, 256, 300, 512}) {
    std::string text = "num_ranks 1\nrank 0 {\nlast: calc 1\n";
    for (int i = 0; i < before; ++i) text += fmt::format("c{0}: calc 1 cpu 1\nlast requires c{0}\n", i);
    // Had it not waited for all that run, one after the other, on the other CPU, it would end before them.
    text += "after: calc 1 cpu 1\nafter requires last\n}\n";
    EXPECT_EQ(done_ps(simulate_text(text)), (std::vector<long long>{(before + 1) * 1000LL})) << before;
    const std::string blocked =
        text.substr(0, text.size() - 2) + "never: recv 1b from 0\nlast requires never\n}\n";
    expect_error(simulate_text(blocked), "simulate-004", "waits for 1 bytes from rank 0");
  }
}

TEST(EventEngine, AReceiveWithoutAMessageIsNamed) {
  expect_error(simulate_text("num_ranks 3\nrank 1 {\ncalc 5\nl2: recv 100b from 2 tag 7\ncalc 9\n}\n"),
               "simulate-004",
               "rank 1 is blocked: operation 1 waits for 100 bytes from rank 2, tag 7, that nobody sends");
  expect_error(simulate_text("num_ranks 2\nrank 1 {\nrecv 100b from -1 tag -1\n}\n"), "simulate-004",
               "from any rank, any tag");
}

TEST(EventEngine, AMessageWithoutAReceiveIsNamed) {
  expect_error(
      simulate_text("num_ranks 3\nrank 2 {\nsend 64b to 0 tag 4\nsend 64b to 1 tag 4\n}\n"), "simulate-004",
      "rank 2 is blocked: operation 0 sends 64 bytes to rank 0, tag 4, and no receive takes them; 1 more");
}

TEST(EventEngine, TwoRendezvousSendsThatWaitForEachOtherAreNamed) {
  const auto cost = parse_loggops("L=1us,G=1ns/B,S=8B").value();
  const std::string half = "{{\nl1: send 64b to {}\nl2: recv 64b from {}\nl2 requires l1\n}}\n";
  const std::string text = "num_ranks 2\nrank 0 " + fmt::format(fmt::runtime(half), 1, 1) + "rank 1 " +
                           fmt::format(fmt::runtime(half), 0, 0);
  expect_error(simulate_text(text, cost), "simulate-004",
               "rank 0 is blocked: operation 0 sends 64 bytes to rank 1");
  EXPECT_TRUE(simulate_text(text));  // eager: no wait
}

TEST(EventEngine, OperationsThatWaitForEachOtherInARankAreNamed) {
  expect_error(
      simulate_text("num_ranks 2\nrank 1 {\na: calc 1\nb: calc 2\nc: calc 3\nd: calc 4\nb requires d\n"
                    "c requires b\nd irequires c\nb requires a\n}\n"),
      "simulate-004", "rank 1 is blocked: its operations 1, 3, 2 wait for each other in a circle");
  expect_error(simulate_text("num_ranks 1\nrank 0 {\na: calc 1\na requires a\n}\n"), "simulate-004",
               "its operations 0 wait");
}

TEST(EventEngine, TimesBeyondItsRangeAreRefused) {
  expect_error(simulate_text("num_ranks 1\nrank 0 {\ncalc 18446744073709551615\n}\n"), "goal-006",
               "18446744073709551615");
  std::string text = "num_ranks 1\nrank 0 {\n";
  for (int i = 0; i < 100; ++i) text += "calc 500000000000000\n";
  expect_error(simulate_text(text + "}\n"), "goal-006", "26 days");
}

TEST(EventEngine, CpusThatNobodyCouldKeepAreRefused) {
  expect_error(simulate_text("num_ranks 65536\nrank 0 {\nsend 1b to 0 cpu 255 nic 255\nrecv 1b from 0\n}\n"),
               "goal-006", "bytes of clocks");
}

/// Streams, ports, waits for a start, any source and tag.
TEST(EventEngine, AWaitForAStartDoesNotWaitForTheEnd) {
  const std::string text =
      "num_ranks 2\nrank 0 {\na: calc 50 cpu 1\nb: calc 30\nc: send 1000b to 1 tag 4 nic 1\n"
      "b irequires a\nc requires b\n}\nrank 1 {\na: recv 1000b from -1 tag 4\nb: calc 20\nb requires a\n}\n";
  const auto outcome = simulate_text(text, parse_loggops("L=100ns,o=10ns,g=5ns,G=1ns/B").value());
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  // Had it waited for the end it would be done 30 ns later.
  EXPECT_NEAR(outcome->finish[0].count() * 1e9, 50, 1e-6);
}

}  // namespace
}  // namespace cox::simulate
