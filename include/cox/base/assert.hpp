// SPDX-License-Identifier: Apache-2.0
/// \file
/// Checks of our own invariants, on in every build. Never used in guest objects: a guest disables itself.
#pragma once

#include <source_location>

namespace cox {
/// Prints `what`, `why` and the place on stderr and aborts.
[[noreturn]] void assertion_failed(const char* what, const char* why,
                                   std::source_location at = std::source_location::current());
}  // namespace cox

/// Aborts with a message where `cond` does not hold: a bug in Coxswain, never bad input.
#define COX_ASSERT(cond, why) ((cond) ? static_cast<void>(0) : ::cox::assertion_failed(#cond, why))
