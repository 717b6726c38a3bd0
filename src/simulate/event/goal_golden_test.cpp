// SPDX-License-Identifier: Apache-2.0
// The answers of LogGOPSim 76451de, to the picosecond, on the schedules of tests/data/goal (made by
// make_goldens.py there, which has the command), and on rings that are too long to keep.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <fstream>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "cox/base/file.hpp"
#include "cox/simulate/goal.hpp"

namespace cox::simulate {
namespace {

struct Golden {
  std::string schedule;
  LogGops cost;
  std::vector<long long> done_ns;
};

Golden parse(const std::string& line) {
  Golden g;
  std::istringstream in(line);
  long long v[6];
  in >> g.schedule;
  for (long long& x : v) in >> x;
  g.cost = LogGops{.latency = Seconds{static_cast<double>(v[0]) * 1e-9},
                   .overhead = Seconds{static_cast<double>(v[1]) * 1e-9},
                   .gap = Seconds{static_cast<double>(v[2]) * 1e-9},
                   .gap_per_byte = TimePerByte::seconds_per_byte(static_cast<double>(v[3]) * 1e-9),
                   .overhead_per_byte = TimePerByte::seconds_per_byte(static_cast<double>(v[4]) * 1e-9),
                   .eager_limit = Bytes{v[5]}};
  for (long long ns = 0; in >> ns;) g.done_ns.push_back(ns);
  return g;
}

std::vector<long long> in_ns(const EventOutcome& outcome) {
  std::vector<long long> out;
  for (const Seconds s : outcome.finish) {
    const long long ps = std::llround(s.count() * 1e12);
    EXPECT_EQ(ps % 1000, 0);
    out.push_back(ps / 1000);
  }
  return out;
}

std::string schedule_text(const std::string& name) {
  return read_file(std::string(COX_GOAL_DATA) + "/" + name + ".goal", 1 << 20).value();
}

TEST(GoalGolden, EveryScheduleGivesTheAnswerOfLogGopSim) {
  std::ifstream goldens(std::string(COX_GOAL_DATA) + "/goldens.txt");
  std::set<std::string> schedules;
  for (std::string line; std::getline(goldens, line);) {
    SCOPED_TRACE(line);
    const Golden g = parse(line);
    const std::string text = schedule_text(g.schedule);
    const auto from_text = simulate_goal(std::as_bytes(std::span(text)), g.schedule, g.cost);
    ASSERT_TRUE(from_text) << from_text.error().to_string();
    EXPECT_EQ(in_ns(*from_text), g.done_ns);
    const std::string binary = goal_binary(text, g.schedule).value();
    const auto from_binary = simulate_goal(std::as_bytes(std::span(binary)), g.schedule, g.cost);
    ASSERT_TRUE(from_binary);
    EXPECT_EQ(in_ns(*from_binary), g.done_ns);
    schedules.insert(g.schedule);
  }
  EXPECT_EQ(schedules.size(), 48U);
}

/// The ring all-reduce of goal.py: `python3 goal.py ring P BYTES`.
std::string ring(std::uint32_t ranks, std::int64_t bytes) {
  std::string text = fmt::format("num_ranks {}\n", ranks);
  for (std::uint32_t r = 0; r < ranks; ++r) {
    text += fmt::format("rank {} {{\n", r);
    for (std::uint32_t k = 0; k < 2 * (ranks - 1); ++k) {
      text += fmt::format("s{}: send {}b to {}\nr{}: recv {}b from {}\n", k, bytes / ranks, (r + 1) % ranks,
                          k, bytes / ranks, (r + ranks - 1) % ranks);
      if (k > 0) text += fmt::format("s{} requires r{}\nr{} requires r{}\n", k, k - 1, k, k - 1);
    }
    text += "}\n";
  }
  return text;
}

// txt2bin -i r.goal -o r.bin; LogGOPSim -f r.bin -L 1000000 -o 0 -g 0 -G 20 -O 0 -S 2000000000 -b
TEST(GoalGolden, RingOf256MiBInPicoseconds) {
  const auto cost = parse_loggops("L=1us,o=0ns,g=0ns,G=20ps/B,O=0ps/B,S=2GB").value();
  const std::string text = ring(64, std::int64_t{1} << 28);
  const auto outcome = simulate_goal(std::as_bytes(std::span(text)), "ring", cost);
  ASSERT_TRUE(outcome);
  Seconds last{};
  for (const Seconds s : outcome->finish) last = std::max(last, s);
  EXPECT_EQ(std::llround(last.count() * 1e12), 10695643560);
  EXPECT_EQ(outcome->messages, 8064);
  EXPECT_EQ(outcome->events, 24192);
}

}  // namespace
}  // namespace cox::simulate
