// SPDX-License-Identifier: Apache-2.0
/// \file
/// How somebody waits for others.
#pragma once

#include <cstdint>

namespace cox::pace {

enum class WaitMode : std::uint8_t {
  Unknown = 0,
  Spin = 1,   ///< polls and keeps its core
  Yield = 2,  ///< polls, and offers its core to others in between
  Block = 3,  ///< sleeps until it is woken
};
[[nodiscard]] const char* name_of(WaitMode mode) noexcept;  ///< `unknown`, `spin`, `yield`, `block`

}  // namespace cox::pace
