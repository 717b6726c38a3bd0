// SPDX-License-Identifier: Apache-2.0
#include "cox/pace/controller.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>
#include <vector>

namespace cox::pace {
namespace {

/// Deterministic observations that differ widely from one to the next.
std::vector<Observation> observations(std::size_t count) {
  std::vector<Observation> out;
  std::uint64_t state = 42;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    out.push_back({.work = Duration{static_cast<std::int64_t>(state >> 24)},
                   .sync = Duration{static_cast<std::int64_t>((state >> 20) % 1'000'000'007)}});
  }
  return out;
}

TEST(Controller, NeverDelays) {
  Controller controller;
  EXPECT_EQ(controller.decide().delay, Duration::zero());
  for (const Observation& o : observations(500)) {
    controller.observe(o);
    ASSERT_EQ(controller.decide().delay, Duration::zero());
    ASSERT_EQ(controller.decide().reason, Reason::Observing);
  }
}

TEST(Controller, MeansAreThoseOfTheLastWindow) {
  Controller controller;
  const auto all = observations(5 * Controller::kWindow + 3);
  for (std::size_t n = 1; n <= all.size(); ++n) {
    controller.observe(all[n - 1]);
    Duration work{};
    Duration sync{};
    const std::size_t first = n > Controller::kWindow ? n - Controller::kWindow : 0;
    for (std::size_t i = first; i < n; ++i) {
      work += all[i].work;
      sync += all[i].sync;
    }
    const auto count = static_cast<std::int64_t>(n - first);
    ASSERT_EQ(controller.mean_work(), work / count) << "after " << n;
    ASSERT_EQ(controller.mean_sync(), sync / count) << "after " << n;
    ASSERT_EQ(controller.seen(), n);
  }
}

TEST(Controller, IsZeroBeforeTheFirstObservation) {
  const Controller controller;
  EXPECT_EQ(controller.seen(), 0U);
  EXPECT_EQ(controller.mean_work(), Duration::zero());
  EXPECT_EQ(controller.mean_sync(), Duration::zero());
}

TEST(Controller, FitsAGuest) {
  EXPECT_LE(sizeof(Controller), 1088U);
  static_assert(std::is_trivially_copyable_v<Controller> && std::is_trivially_destructible_v<Controller>);
  static_assert(noexcept(std::declval<Controller&>().observe({})));
  static_assert(noexcept(std::declval<const Controller&>().decide()));
}

TEST(Controller, RunsWithoutAProcess) {
  // A constant expression cannot read a clock, allocate or call the system.
  constexpr auto kMean = [] {
    Controller controller;
    for (int i = 1; i <= 100; ++i) controller.observe({.work = Duration{i}, .sync = Duration{2 * i}});
    return controller.mean_work();
  }();
  static_assert(kMean == Duration{68});  // mean of 37..100 is 68.5, in whole picoseconds
}

}  // namespace
}  // namespace cox::pace
