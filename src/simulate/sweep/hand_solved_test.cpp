// SPDX-License-Identifier: Apache-2.0
// The numbers that docs/concepts/mechanisms.md solves by hand, of the scenarios that it names: with and without the mechanism.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "cox/model/toml.hpp"
#include "cox/simulate/outcome.hpp"

namespace cox::simulate {
namespace {

/// Of an example scenario with these changes, in milliseconds.
double total_ms(const std::string& name, const std::vector<std::string>& set) {
  const auto read =
      model::read_scenario(std::filesystem::path(COX_EXAMPLES) / (name + ".toml"), {.set = set});
  if (!read) return -1;
  const auto out = simulate(read->scenario, {.threads = 1});
  return out ? out->total.count() * 1e3 : -1;
}

TEST(HandSolved, BackgroundLoad) {
  // 8 buckets of 100 MB in 30 rounds of 6.25 MB; two messages of a round on each up-link of 25 GB/s, four links of 1 us.
  for (const double load : {0.0, 0.5, 0.75}) {
    const double round = 4e-3 + 6.25 / ((1 - load) * 25 / 2);
    const double wanted = 8 * 2 + 4 + 8 * 30 * round;
    EXPECT_NEAR(total_ms("background-load", {"fabric.background_load=" + std::to_string(load)}), wanted,
                1e-9 * wanted)
        << load;
  }
}

TEST(HandSolved, StoreAndForward) {
  const double own = 1048576 / 25e9 * 1e3;
  EXPECT_NEAR(total_ms("store-and-forward", {}), 4 * (own + 5e-4), 1e-9);
  EXPECT_NEAR(total_ms("store-and-forward", {"fabric.switching=cut-through"}), own + 4 * 5e-4, 1e-9);
}

TEST(HandSolved, PauseFrames) {
  // Two rounds of 50 MB over four links; the way back from the other leaf is free, that to it carries three pushes of 25 / 3 GB/s.
  EXPECT_NEAR(total_ms("pause-frames", {"fabric.pause=false"}), 2 * (4e-3 + 2), 1e-9);
  EXPECT_NEAR(total_ms("pause-frames", {}), 2 * (4e-3 + 3 * 2), 1e-9);
}

TEST(HandSolved, OverlapCosts) {
  // Buckets of 25 MB in six rounds of 6.25 MB beside seven layers, the last one behind them; 4 ms a layer.
  const double bucket = 6 * (2e-3 + 6.25 / 25);
  for (const double slower : {0.0, 0.25, 1.0}) {
    const double wanted = 8 * 2 + 8 * 4 + 7 * bucket * slower / (1 + slower) + bucket;
    EXPECT_NEAR(total_ms("overlap-costs", {"job.overlap_slowdown=" + std::to_string(slower)}), wanted, 1e-9)
        << slower;
  }
  // Buckets that take longer than their layer: 2 x 4 ms beside all but the first, and the stream is never idle.
  const double longer = 6 * (2e-3 + 62.5 / 25);
  EXPECT_NEAR(
      total_ms("overlap-costs", {"job.overlap_slowdown=1", "job.layers.gradients=250MB", "job.bucket=250MB"}),
      8 * 2 + 4 + 8 * longer, 1e-9);
}

}  // namespace
}  // namespace cox::simulate
