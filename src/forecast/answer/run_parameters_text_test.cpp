// SPDX-License-Identifier: Apache-2.0
#include "forecast/answer/run_parameters_text.hpp"

#include <gtest/gtest.h>

namespace cox::forecast {
namespace {

TimeEstimate time(double value, double low, double high, Origin origin = Origin::Measured) {
  return {.value = Seconds{value}, .low = Seconds{low}, .high = Seconds{high}, .origin = origin};
}

RunParameters everything() {
  RunParameters p;
  MessageFit line{
      .kind = model::Collective::AllReduce, .ranks = 8, .one_node = true, .sizes = 3, .operations = 90};
  line.least = Bytes{1'000};
  line.most = Bytes{25'000'000};
  line.latency = time(20e-6, 18e-6, 22e-6);
  line.per_byte = {.value = TimePerByte::seconds_per_byte(1e-10),
                   .low = TimePerByte::seconds_per_byte(0.5e-10),
                   .high = TimePerByte::seconds_per_byte(2e-10)};
  line.dips = {.value = 0.02, .low = 0.01, .high = 0.04};
  line.dip = 4;
  MessageFit one{.kind = model::Collective::AllGather, .ranks = 2, .sizes = 1, .operations = 30};
  one.least = one.most = Bytes{8};
  one.latency = time(1e-3, 0, 1e-3, Origin::Range);
  p.messages = {line, one};
  p.hidden = RatioEstimate{.value = 0.6, .low = 0.5, .high = 0.7};
  p.in_flight = Seconds{0.02};
  p.start = StartFit{.runs = 3,
                     .sizes = 3,
                     .at_seen = time(7.4, 7, 8),
                     .fixed = time(1, 0.9, 1.1),
                     .per_rank = time(0.1, 0.09, 0.11)};
  p.failures = FailuresSeen{.node_time = Seconds{2'000}, .between = time(0, 667, 0, Origin::Range)};
  return p;
}

TEST(RunWords, TheFirstScreenHasWhatWasTold) {
  const std::vector<std::string> lines = run_lines(everything(), false);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(
      lines[0],
      "messages: AllReduce among 8 on one node, 3 sizes from 1.00 kB to 25.0 MB: 20.0 µs (18.0 µs .. 22.0 µs) and "
      "10.0 GB/s (5.00 GB/s .. 20.0 GB/s); 2.0 % of them take over twice as long, 4.0 times on average");
  EXPECT_EQ(
      lines[1],
      "overlap: 60 % of the 20.0 ms in a step in which communication runs beside the program are hidden");
  EXPECT_EQ(run_lines(everything(), true).size(), 5U);
  EXPECT_TRUE(run_lines({}, true).empty());
}

TEST(RunWords, JsonHasUnitsAndNullForWhatIsNotKnown) {
  const Json j = run_json(everything());
  EXPECT_NEAR(j["messages"][0]["bandwidth"]["low_bytes_per_s"].get<double>(), 5e9, 1);
  EXPECT_TRUE(j["messages"][1]["dip_ratio"].is_null());
  EXPECT_TRUE(j["failures"]["between_s"]["value_s"].is_null());
  EXPECT_EQ(j["startup"]["per_rank"]["value_s"].get<double>(), 0.1);
  EXPECT_TRUE(run_json({})["overlap"].is_null());
}

}  // namespace
}  // namespace cox::forecast
