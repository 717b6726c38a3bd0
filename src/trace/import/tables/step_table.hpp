// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tables of step times: which column is which, told from the names in the first line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cox::trace {

/// What the values of a table are measured in.
enum class StepUnit : std::uint8_t { None, Seconds, Milliseconds, Microseconds, Nanoseconds };

inline constexpr std::size_t kNoColumn = static_cast<std::size_t>(-1);

/// One column per rank.
struct WideColumn {
  std::size_t column = 0;
  std::int32_t rank = 0;
};

/// Whether the values of a column are points in time: then a step is the time since the one before.
enum class IsClock : std::uint8_t { No, IfItGrows, Yes };

/// Where what stands. Long tables have one value per line, wide ones one per rank.
struct StepColumns {
  char separator = ',';
  std::size_t step = kNoColumn;
  std::size_t rank = kNoColumn;
  std::size_t value = kNoColumn;  ///< long
  std::vector<WideColumn> wide;   ///< empty in a long table
  std::vector<std::size_t> run;   ///< columns that tell several runs apart
  StepUnit unit = StepUnit::None;
  std::vector<std::size_t> more;      ///< long: parts of a step in other columns, which are added to `value`
  bool is_part = false;               ///< long: `value` is a part of a step and the only one that is used
  std::vector<std::string> left_out;  ///< beside parts: other times, of which is not known what they hold
  std::string waiting_name;  ///< long, of ranks: a part that is left out, since it holds waiting for others
  std::string value_name;    ///< long: as in the table, cleaned; `a + b` of several
  IsClock is_clock = IsClock::No;  ///< long
  bool names_clock = false;        ///< long, by its name: `elapsed`, `time`
  bool names_step = false;         ///< long, by its name: `step_time`
  std::int64_t other_times = 0;    ///< long: columns beside it that fit as well
  bool is_summary = false;         ///< the value sums up the ranks of a step: its slowest, or their spread
};

/// Fields of one line without the blanks and quotes around them; `out` is overwritten.
void split_fields(std::string_view line, char separator, std::vector<std::string_view>& out);

/// The columns by their names; nothing where the line names no plausible step times.
/// Names of tables of operations (`dp_rank`, `stage`, `optype`) refuse the table: another reader takes those.
/// Held by: src/trace/import/tables/step_table_test.cpp
[[nodiscard]] std::optional<StepColumns> find_step_columns(std::string_view header);

}  // namespace cox::trace
