// SPDX-License-Identifier: Apache-2.0
/// \file
/// How somebody waits for others.
#pragma once

#include <cstdint>

namespace cox::pace {

/// The first three are numbered as the words of scenarios and studies are.
enum class WaitMode : std::uint8_t {
  Spin = 0,   ///< polls and keeps its core
  Yield = 1,  ///< polls, and offers its core to others in between
  Block = 2,  ///< sleeps until it is woken
  Unknown = 3,
};
[[nodiscard]] const char* name_of(WaitMode mode) noexcept;  ///< `unknown`, `spin`, `yield`, `block`

}  // namespace cox::pace
