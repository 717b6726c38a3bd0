// SPDX-License-Identifier: Apache-2.0
/// \file
/// Why a schedule could not finish.
#pragma once

#include <cstdint>
#include <span>

#include "cox/base/result.hpp"

#include "simulate/event/first_receives.hpp"
#include "simulate/event/goal_image.hpp"
#include "simulate/event/message_matcher.hpp"

namespace cox::simulate {

/// simulate-004: the first blocked rank, its operation, and what it waits for. Call it when the queue is
/// empty and something is left: operations with predecessors in `left`, or entries in `first` or `matcher`. Cost:
/// O(operations), plus O(operations of one rank) per step along a cycle, at most 64 steps.
[[nodiscard]] Error explain_blocked(const GoalImage& image, std::span<const std::uint32_t> left,
                                    const FirstReceives& first, const MessageMatcher& matcher);

}  // namespace cox::simulate
