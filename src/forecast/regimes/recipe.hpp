// SPDX-License-Identifier: Apache-2.0
/// \file
/// A job in closed form that has all four regimes between 8 and 8,192 nodes, for tests: every term on a sheet of paper.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cox/forecast/scaling_job.hpp"

namespace cox::forecast::testing {

/// H_n, the mean of the slowest of n exponentials, and its derivative by ln n. Error: below 1e-8 for n >= 8.
inline TimeAtSize harmonic(double n) {
  return {Seconds{std::log(n) + 0.57721566490153286 + 1 / (2 * n) - 1 / (12 * n * n)},
          Seconds{1 - 1 / (2 * n) + 1 / (6 * n * n)}};
}

/// Sizes are nodes of 8 ranks. Work 1 s, communication that nothing hides 0.05 s, exponential jitter of 10 ms per rank, a
/// 4:1 tree between pods of 32 nodes (0.15 s, in full from 512 nodes on), time-outs of 4 ms with 2e-8 per message in
/// 2 (n - 1) rounds of 8 n messages, 6.5 failures per 1,000 node-days, checkpoints of 60 s, restarts of 300 s + 0.3 s a node.
inline ScalingJob recipe() {
  std::vector<StepTerm> terms;
  terms.push_back({{}, [](std::int64_t) { return TimeAtSize{Seconds{0.05}, {}}; }});
  terms.push_back(
      {{"oversubscription", Reach::Flattens}, [](std::int64_t n) {
         const double part = std::clamp((static_cast<double>(n) - 32) / 480, 0.0, 1.0);
         const bool grows = n > 32 && n < 512;
         return TimeAtSize{Seconds{0.15 * part}, Seconds{grows ? 0.15 * static_cast<double>(n) / 480 : 0}};
       }});
  terms.push_back({{"jitter", Reach::Flattens}, [](std::int64_t n) {
                     const TimeAtSize h = harmonic(8 * static_cast<double>(n));
                     // One rank alone has 10 ms of it: what stays when the waiting for others is switched off.
                     return TimeAtSize{0.01 * (h.value - Seconds{1}), 0.01 * h.growth};
                   }});
  terms.push_back({{}, [](std::int64_t) { return TimeAtSize{Seconds{0.01}, {}}; }});
  terms.push_back({{"time-outs", Reach::Lowers}, [](std::int64_t nodes) {
                     const auto n = static_cast<double>(nodes);
                     const double none = std::exp(8 * n * std::log1p(-2e-8));
                     const double each = 8 * n * -std::log1p(-2e-8) * none;  // d (1 - none) / d ln n
                     return TimeAtSize{Seconds{0.008 * (n - 1) * (1 - none)},
                                       Seconds{0.008 * (n * (1 - none) + (n - 1) * each)}};
                   }});
  return job_of(Seconds{1}, std::move(terms),
                FailureTerm{.node_mean_time = Seconds{1000 * 86400 / 6.5},
                            .ranks_per_node = 1,
                            .checkpoint = Seconds{60},
                            .restart = Seconds{300},
                            .restart_per_node = Seconds{0.3}});
}

}  // namespace cox::forecast::testing
