// SPDX-License-Identifier: Apache-2.0
/// \file
/// Names of times in which ranks wait for each other.
#pragma once

#include <string_view>

namespace cox::trace {

/// Whether a time of this name (`allreduce`, `wait_ms`, `comm`) is waiting as well as work: who came last has the least
/// of it. Held by: src/trace/run/communication_names_test.cpp
[[nodiscard]] bool is_communication(std::string_view name);

}  // namespace cox::trace
