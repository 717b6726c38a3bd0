// SPDX-License-Identifier: Apache-2.0
// What is written is read back by the reader of scenarios.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cox/bench/noise.hpp"
#include "cox/model/toml.hpp"

#include "bench/net_tables.hpp"

namespace cox::bench {
namespace {

PlaceCost cost(double latency, double per_byte) {
  std::vector<CostPoint> points;
  for (const std::int64_t n : {8, 1024, 65536, 4 << 20}) {
    const Seconds t{latency + per_byte * static_cast<double>(n)};
    points.push_back({.latencies = 1, .bytes = Bytes{n}, .low = 0.9 * t, .middle = t, .high = 1.2 * t});
  }
  PlaceCost place;
  place.fit = *fit_link(points);
  place.overhead = Seconds{0.4e-6};
  place.samples = 400;
  return place;
}

TEST(ScenarioParts, AreReadAsTheyWereMeasured) {
  DetourTrace trace{.core = 0, .length = Seconds{10}, .threshold = Seconds{1e-6}};
  trace.detours = {{.at = Seconds{1}, .lasts = Seconds{5e-6}}};
  const std::vector<DetourTrace> traces{trace};
  const std::string text =
      "[cluster]\nnodes = 2\ndevices_per_node = 2\n[job.collective]\nkind = \"all-reduce\"\nalgorithm = \"ring\"\n"
      "bytes = \"1MiB\"\n" +
      cost_part("inside", cost(2e-6, 1e-10), "made up") +
      cost_part("across", cost(1.25e-3, 8.36e-8), "made up") +
      noise_part(traces, "host \"a\"", "a b.detours");
  const auto read = model::parse_scenario(text, "measured.toml", "/folder");
  ASSERT_TRUE(read) << read.error().to_string() << "\n" << text;
  const model::Scenario& s = read->scenario;
  EXPECT_NEAR(s.inside.latency.count(), 2e-6, 1e-12);
  EXPECT_NEAR(s.inside.per_byte.in_seconds_per_byte(), 1e-10, 1e-15);
  EXPECT_NE(text.find("# overhead: 400ns"), std::string::npos) << text;
  EXPECT_NEAR(s.across.latency.count(), 1.25e-3, 1e-9);
  EXPECT_NEAR(s.across.per_byte.in_seconds_per_byte(), 8.36e-8, 1e-13);
  ASSERT_EQ(s.noise.size(), 1U);
  EXPECT_EQ(s.noise[0].law, model::NoiseLaw::Trace);
  EXPECT_EQ(s.noise[0].target, model::NoiseTarget::Compute);
  EXPECT_EQ(s.noise[0].name, "detours of host \"a\"");
  EXPECT_TRUE(s.noise[0].file.ends_with("a b.detours")) << s.noise[0].file;
}

}  // namespace
}  // namespace cox::bench
