// SPDX-License-Identifier: Apache-2.0
/// \file
/// A process for tests of what paces one: a clock of nanoseconds that moves when told and while it sleeps.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <numeric>
#include <vector>

#include "guest/pacing/pacing.hpp"

namespace cox::guest {

struct FakeProcess {
  bool recording = true;
  bool accelerator = false;
  bool room = true;  ///< in the file
  std::uint32_t thread = 7;
  std::uint64_t now = 1'000'000'000;
  bool clock_runs = true;                      ///< while it sleeps
  std::int64_t steps_during_sleep = 0;         ///< of the clock
  std::function<void()> while_asleep = [] {};  ///< what another thread does meanwhile
  std::vector<Duration> slept;
  std::deque<trace::RawRecord> records;

  [[nodiscard]] Duration slept_in_all() const {
    return std::accumulate(slept.begin(), slept.end(), Duration{});
  }
};
/// The one that `kFakeWorld` is of; a test sets it.
inline FakeProcess* fake = nullptr;

inline constexpr PaceWorld kFakeWorld = {
    .is_recording = []() noexcept { return fake->recording; },
    .thread = []() noexcept { return fake->thread; },
    .ticks = []() noexcept { return fake->now; },
    .picoseconds_per_tick = []() noexcept { return 1000.0; },
    .sleep =
        [](Duration d) noexcept {
          fake->slept.push_back(d);
          const std::int64_t passed = fake->clock_runs ? d.count() / 1000 : 0;
          fake->now += static_cast<std::uint64_t>(passed + fake->steps_during_sleep);
          fake->while_asleep();
        },
    .begin = [](trace::EventKind kind, std::uint8_t op, std::uint16_t flags, std::uint32_t comm,
                std::uint32_t seq, std::uint64_t bytes, std::uint32_t aux) noexcept -> trace::RawRecord* {
      fake->records.push_back({.begin = fake->now,
                               .end = 0,
                               .bytes = bytes,
                               .comm = comm,
                               .seq = seq,
                               .kind = static_cast<std::uint8_t>(kind),
                               .op = op,
                               .flags = flags,
                               .aux = aux});
      return &fake->records.back();
    },
    .end = [](trace::RawRecord* r) noexcept { r->end = fake->now; },
    .is_stored = [](const trace::RawRecord*) noexcept { return fake->room; },
    .drives_accelerator = []() noexcept { return fake->accelerator; },
    .decided = nullptr,
};

/// Each test has a process of its own.
class FakeProcessTest : public testing::Test {
 protected:
  void SetUp() override { fake = &process_; }
  void TearDown() override { fake = nullptr; }
  FakeProcess process_;
};

}  // namespace cox::guest
