// SPDX-License-Identifier: Apache-2.0
/// \file
/// A clock with an offset and a drift, for tests that need several hosts on one machine. Compiled only into a
/// guest that is never installed (COX_TEST_GUEST); the shipped one has no such branch.
///
/// COX_TEST_CLOCK=SECONDS,PPM,EPOCH_NS: the monotonic clock shows SECONDS more than it should at EPOCH_NS (of
/// the true one) and runs PPM faster; the counter runs as much faster, from a base of its own. The realtime
/// clock is left alone. A fourth and a fifth number, AFTER_S,STEP_S: that long after the process began, the
/// monotonic clock (not the counter) is set STEP_S further.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace cox::guest::test_clock {

struct Setting {
  double offset_s = 0;
  double rate = 0;
  std::int64_t epoch_ns = 0;
  std::int64_t step_at_ns = 0;
  std::int64_t step_ns = 0;  ///< 0 = it is not set
};
inline Setting setting;

// Before anything in the process can ask for the time.
[[gnu::constructor(101)]] inline void read_setting() {
  const char* text = getenv("COX_TEST_CLOCK");
  if (text == nullptr) return;
  char* end = nullptr;
  setting.offset_s = strtod(text, &end);
  if (*end == ',') setting.rate = strtod(end + 1, &end) * 1e-6;
  if (*end == ',') setting.epoch_ns = strtoll(end + 1, &end, 10);
  if (*end != ',') return;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  setting.step_at_ns = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec +
                       static_cast<std::int64_t>(strtod(end + 1, &end) * 1e9);
  if (*end == ',') setting.step_ns = static_cast<std::int64_t>(strtod(end + 1, &end) * 1e9);
}

inline std::int64_t monotonic(std::int64_t ns) {
  const double since = static_cast<double>(ns - setting.epoch_ns);
  const std::int64_t step = ns < setting.step_at_ns ? 0 : setting.step_ns;
  return ns + step + static_cast<std::int64_t>(setting.offset_s * 1e9) +
         static_cast<std::int64_t>(since * setting.rate);
}

// The drift in 128 bits: a double would round a long-running counter to several ticks.
inline std::uint64_t counter(std::uint64_t ticks) {
  __extension__ typedef __int128 Wide;
  const auto rate = static_cast<std::int64_t>(setting.rate * 0x1p60);
  const auto base = static_cast<std::int64_t>(setting.offset_s * 3e9);
  return ticks + static_cast<std::uint64_t>((Wide{rate} * static_cast<Wide>(ticks)) >> 60) +
         static_cast<std::uint64_t>(base);
}

}  // namespace cox::guest::test_clock
