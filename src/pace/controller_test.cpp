// SPDX-License-Identifier: Apache-2.0
#include "cox/pace/controller.hpp"

#include <gtest/gtest.h>

namespace cox::pace {
namespace {

using std::chrono::milliseconds;

TEST(Controller, ObservingNeverDelays) {
  Settings settings;
  settings.mode = Mode::Observe;
  Controller controller(settings, 0, 4);
  for (std::uint64_t step = 0; step < 500; ++step) {
    controller.observe({.step = step, .work = milliseconds{20}, .sync = milliseconds{10}});
    ASSERT_EQ(controller.decide().delay, Duration::zero());
    ASSERT_EQ(controller.decide().reason, Reason::Observing);
  }
}

}  // namespace
}  // namespace cox::pace
