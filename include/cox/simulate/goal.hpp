// SPDX-License-Identifier: Apache-2.0
/// \file
/// GOAL schedules from files, text or binary, run under LogGOPS. Reference: docs/reference/goal.md.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "cox/base/file.hpp"
#include "cox/base/result.hpp"
#include "cox/simulate/event.hpp"

namespace cox::simulate {

/// Runs a schedule file, `calc` in nanoseconds. Which form it has, its first bytes say.
/// Errors: base-002, base-003 (file); goal-001 to goal-006 (not a schedule, statement, label, rank, damaged
/// binary, out of range); goal-007 (parameters); simulate-004 (cannot finish). Memory beside the mapped file:
/// a byte per operation where any waits for two others (4 where one waits for more than 255), 168 per rank (one CPU and
/// port), 8 to 16 per receive that is ready at the start, and what is on its way or waits (36 to 72 bytes per event, 48 to 120
/// per unmatched message or receive beyond four at a rank); text: its binary form as well. Times inside are whole picoseconds;
/// G and O that are not are rounded per message. Order of simultaneous events: that in which they were caused, so the same on
/// every machine. Held by:
/// src/simulate/event/goal_golden_test.cpp (answers of LogGOPSim 76451de), fuzz/corpus/goal_text, goal_binary
[[nodiscard]] Result<EventOutcome> simulate_goal(const std::filesystem::path& file, const LogGops& cost);
/// The same from memory; `name` is the file as shown in errors.
[[nodiscard]] Result<EventOutcome> simulate_goal(std::span<const std::byte> bytes, const std::string& name,
                                                 const LogGops& cost);

/// The binary form of a schedule's text, as txt2bin of LogGOPSim writes it.
[[nodiscard]] Result<std::string> goal_binary(std::string_view text, const std::string& name);
/// Writes it beside the text or elsewhere. Errors: those of the text, base-005, base-006.
[[nodiscard]] Status convert_goal(const std::filesystem::path& text, const std::filesystem::path& binary,
                                  IfExists if_exists);

}  // namespace cox::simulate
