// SPDX-License-Identifier: Apache-2.0
// libFuzzer target of GOAL schedules for simulation.
#include <cstdint>

#include "fuzz/entries.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  cox::fuzz::goal_schedule({reinterpret_cast<const char*>(data), size});
  return 0;
}
