// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs made of an input that does not say what its times are in.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cox/base/units.hpp"
#include "cox/trace/run.hpp"

namespace cox::trace {

/// How long one of the input's unknown unit was taken to be; nothing where its times are in seconds.
/// Held by: src/trace/import/tables/step_table_test.cpp
[[nodiscard]] std::optional<Seconds> unknown_unit(std::span<const RankTrack> ranks);

/// `RankTrack::timing` of such a Run: the second one of 1, 1e-3, 1e-6 and 1e-9 s.
[[nodiscard]] std::string timing_in_unknown_unit(std::string_view timing, Seconds taken_as);

}  // namespace cox::trace
