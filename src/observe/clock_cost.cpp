// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>

#include "cox/observe/doctor.hpp"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace cox::observe {
namespace {

constexpr int kBatches = 15;
constexpr int kReadings = 4000;

/// Median over batches of the time of one call.
template <class Read>
Duration cost_of(Read read) {
  std::array<Duration, kBatches> batches{};
  for (Duration& batch : batches) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kReadings; ++i) read();
    batch = std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - start) / kReadings;
  }
  std::nth_element(batches.begin(), batches.begin() + kBatches / 2, batches.end());
  return batches[kBatches / 2];
}

}  // namespace

ClockCost measure_clock_cost() {
  ClockCost cost;
#if defined(__x86_64__)
  cost.counter = cost_of([] { static_cast<void>(__rdtsc()); });  // volatile: never left out
#endif
  cost.monotonic = cost_of([] {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
  });
  return cost;
}

}  // namespace cox::observe
