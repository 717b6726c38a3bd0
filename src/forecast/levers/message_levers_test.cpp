// SPDX-License-Identifier: Apache-2.0
#include "forecast/levers/message_levers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace cox::forecast {
namespace {

using model::Collective;

constexpr double kLatency = 1e-3;
constexpr double kPerByte = 1e-9;

double hockney(double bytes) {
  return kLatency + kPerByte * bytes;
}

MessageTimes times_of(std::int64_t ranks, bool one_node, std::int64_t bytes, double seconds) {
  return {.kind = Collective::AllReduce,
          .ranks = ranks,
          .one_node = one_node,
          .bytes = Bytes{bytes},
          .times = std::vector<Seconds>(30, Seconds{seconds})};
}

/// Eight ranks on nodes of two that sum a million bytes a step: half of its 2 ms is latency.
Sample sample_of(const std::vector<std::int64_t>& sizes) {
  Sample s;
  for (std::int32_t r = 0; r < 8; ++r) s.ranks.push_back({.rank = r, .node = r / 2});
  s.positions.push_back(
      {.name = {},
       .own = {},
       .traffic = {
           .kind = Collective::AllReduce, .bytes = Bytes{1'000'000}, .transfer = Seconds{hockney(1e6)}}});
  for (const std::int64_t bytes : sizes)
    s.record.messages.push_back(times_of(8, false, bytes, hockney(static_cast<double>(bytes))));
  return s;
}

PartsCase job() {
  PartsCase out;
  out.parts.ranks = 8;
  out.parts.rest = {.value = Seconds{2e-3}, .low = Seconds{2e-3}, .high = Seconds{2e-3}};
  out.ranks = 8;
  return out;
}

std::vector<PartLever> levers(const Sample& sample) {
  std::vector<PartLever> out;
  add_message_levers(job(), sample, out);
  return out;
}

const PartLever& of(const std::vector<PartLever>& all, const std::string& name) {
  return *std::ranges::find(all, name, &PartLever::name);
}

double rest_with(const PartLever& lever) {
  PartsCase c = job();
  c.rest = [](std::int64_t ranks) {
    const Seconds s{1e-3 * static_cast<double>(ranks)};
    return TimeEstimate{.value = s, .low = s, .high = s};
  };
  lever.apply(c);
  EXPECT_NEAR(c.rest(64).value.count() / 64e-3, c.parts.rest.value.count() / 2e-3, 1e-12);
  return c.parts.rest.value.count();
}

// Hockney's line by hand: 1 ms + 0.25 ms with a quarter of the bytes, 4 ms + 1 ms in four messages.
TEST(MessageLevers, BytesAreTakenFromTheLineThroughSizes) {
  const auto all = levers(sample_of({10'000, 1'000'000, 4'000'000}));
  EXPECT_NEAR(rest_with(of(all, "compression")), 1.25e-3, 1e-8);
  EXPECT_NEAR(rest_with(of(all, "buckets")), 5e-3, 1e-8);
  EXPECT_FALSE(of(all, "compression").learning.empty());
}

TEST(MessageLevers, OneSizeTellsNothingOfBytes) {
  const auto all = levers(sample_of({1'000'000}));
  for (const char* name : {"compression", "buckets"}) {
    EXPECT_FALSE(of(all, name).apply) << name;
    EXPECT_NE(of(all, name).why_not.find("messages of one size"), std::string::npos) << name;
  }
}

// Inside a node a tenth of the time, across nodes half as long for the same bytes.
TEST(MessageLevers, SumsInsideTheNodeFirstNeedTheirTimes) {
  Sample s = sample_of({10'000, 1'000'000});
  EXPECT_NE(of(levers(s), "hierarchical").why_not.find("were not recorded"), std::string::npos);
  for (const std::int64_t bytes : {10'000, 1'000'000}) {
    const double line = hockney(static_cast<double>(bytes));
    s.record.messages.push_back(times_of(2, true, bytes, 0.1 * line));
    s.record.messages.push_back(times_of(4, false, bytes, 0.5 * line));
  }
  const double inside = 0.1 * hockney(1e6), across = 0.5 * hockney(5e5);
  EXPECT_NEAR(rest_with(of(levers(s), "hierarchical")), inside + across, 1e-8);
  s.ranks[1].node = 1;  // one, three, two and two ranks
  EXPECT_EQ(of(levers(s), "hierarchical").why_not, "nodes have unlike numbers of ranks");
}

TEST(MessageLevers, WhatIsNotRecordedIsSaid) {
  Sample s = sample_of({10'000, 1'000'000});
  EXPECT_NE(of(levers(s), "placement").why_not.find("node after node"), std::string::npos);
  std::swap(s.ranks[1].node, s.ranks[2].node);
  EXPECT_NE(of(levers(s), "placement").why_not.find("was not recorded"), std::string::npos);
  s.record.background.push_back({.operations = 1, .in_flight = Seconds{1}, .hidden = Seconds{0.5}});
  EXPECT_NE(of(levers(s), "buckets").why_not.find("under way beside work"), std::string::npos);
  EXPECT_NE(of(levers(s), "overlap").does.find("already"), std::string::npos);
  EXPECT_NE(of(levers(s), "compression").does.find("at least"), std::string::npos);
  s.positions[0].traffic.bytes = {};
  EXPECT_NE(of(levers(s), "compression").why_not.find("how many bytes"), std::string::npos);
  s.positions[0].traffic.kind = Collective::AllToAll;
  EXPECT_NE(of(levers(s), "compression").why_not.find("no sum"), std::string::npos);
  for (SampleRank& r : s.ranks) r.node = -1;
  EXPECT_NE(of(levers(s), "hierarchical").why_not.find("not known"), std::string::npos);
}

// None to all of it is hidden, as long as there is work: 2 ms beside 100 ms, or beside half a one.
TEST(MessageLevers, OverlapIsARangeUpToAllThatWorkHides) {
  const auto all = levers(sample_of({1'000'000}));
  const PartLever& overlap = of(all, "overlap");
  EXPECT_TRUE(overlap.range);
  EXPECT_NE(overlap.does.find("none to all of 2.00 ms"), std::string::npos) << overlap.does;
  PartsCase c = job();
  c.rest = [](std::int64_t ranks) {
    const Seconds s{1e-3 * static_cast<double>(ranks)};
    return TimeEstimate{.value = s, .low = s, .high = s};
  };
  c.parts.positions.resize(1);
  c.parts.positions[0].level.value = Seconds{0.1};
  PartsCase little = c;
  little.parts.positions[0].level.value = Seconds{0.5e-3};
  overlap.apply(c);
  EXPECT_EQ(c.parts.rest.value, Seconds{});
  EXPECT_EQ(c.rest(64).value, Seconds{});
  EXPECT_NEAR(c.rest(128).value.count(), 0.028, 1e-12);
  overlap.apply(little);
  EXPECT_NEAR(little.parts.rest.value.count(), 1.5e-3, 1e-12);
}

// Two ranks of a node take 0.1 ms + 1e-10 s/B; a ring of eight of such messages is 7 times the first, 7/4 of the second.
TEST(MessageLevers, PlacementIsARangeDownToMessagesInsideANode) {
  Sample s = sample_of({10'000, 1'000'000});
  std::swap(s.ranks[1].node, s.ranks[2].node);
  EXPECT_NE(of(levers(s), "placement").why_not.find("was not recorded"), std::string::npos);
  for (const std::int64_t bytes : {10'000, 1'000'000})
    s.record.messages.push_back(times_of(2, true, bytes, 0.1 * hockney(static_cast<double>(bytes))));
  const auto all = levers(s);
  const PartLever& placement = of(all, "placement");
  EXPECT_TRUE(placement.range);
  EXPECT_NEAR(rest_with(placement), 0.7e-3 + 1.75e-4, 1e-8);
  s.record.messages.back() = times_of(2, true, 1'000'000, 10 * hockney(1e6));
  EXPECT_NE(of(levers(s), "placement").why_not.find("not quicker"), std::string::npos);
}

/// Ranks stand in waits alone; sums of two sizes end beside work.
Sample beside_work() {
  Sample s = sample_of({250'000, 1'000'000});
  s.positions[0].traffic = {.kind = Collective::Other, .bytes = {}, .transfer = Seconds{2e-3}};
  s.record.background.push_back({.operations = 2, .in_flight = Seconds{1}, .hidden = Seconds{0.5}});
  return s;
}

// A step ends no later than with all sums as the smaller one, of whose 1.25 ms 1 ms is latency.
TEST(MessageLevers, SumsBesideWorkAreShorterByAtLeastAsMuchAsTheLeastShortened) {
  const auto all = levers(beside_work());
  EXPECT_NEAR(rest_with(of(all, "compression")), 2e-3 * (1 + 0.25 / 4) / 1.25, 1e-8);
  EXPECT_NE(of(all, "compression").does.find("at least"), std::string::npos);
  EXPECT_NE(of(all, "buckets").why_not.find("could begin"), std::string::npos);
}

TEST(MessageLevers, WhatIsMissingOfSumsBesideWorkIsSaid) {
  Sample one = beside_work();
  one.record.messages.pop_back();
  EXPECT_NE(of(levers(one), "compression").why_not.find("messages of one size"), std::string::npos);
  Sample requests = beside_work();
  requests.record.messages.clear();
  requests.record.until_waits = true;
  EXPECT_NE(of(levers(requests), "compression").why_not.find("was done is not recorded"), std::string::npos);
  Sample some = beside_work();
  for (MessageTimes& m : some.record.messages) m.ranks = 4;
  EXPECT_NE(of(levers(some), "compression").why_not.find("no sum of all ranks"), std::string::npos);
}

// What is not sure of latency and bytes is in the interval.
TEST(MessageLevers, ScatterOfTimesIsInTheInterval) {
  Sample s = sample_of({500'000, 1'000'000, 2'000'000});
  for (MessageTimes& m : s.record.messages)
    for (std::size_t i = 0; i < m.times.size(); ++i) m.times[i] *= 1 + 0.1 * (static_cast<double>(i % 5) - 2);
  PartsCase c = job();
  of(levers(s), "compression").apply(c);
  EXPECT_LT(c.parts.rest.low, c.parts.rest.value);
  EXPECT_GT(c.parts.rest.high, c.parts.rest.value);
  EXPECT_GE(c.parts.rest.low, Seconds{0.25 * 2e-3});
  EXPECT_LE(c.parts.rest.high, Seconds{2e-3});
}

}  // namespace
}  // namespace cox::forecast
