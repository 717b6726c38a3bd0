// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rows of a table of operations, however they were stored, and the Run that they make.
///
/// The columns are those of ByteDance's straggler artifact (OSDI 2025): docs/reference/inputs/tables.md has
/// the mapping. CSV and Parquet readers fill the same rows, so equal tables give equal parts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/trace/import.hpp"

namespace cox::trace {

/// Columns in the order of `kOperationColumnNames`.
enum class OperationColumn : std::uint8_t {
  DataRank,
  Stage,
  TensorRank,
  Rank,
  Step,
  Type,
  Start,
  Duration,
  Sequence,
  Chunk,
  MicroBatch,
};
inline constexpr int kOperationColumnCount = 11;

/// Column meant by a name of the file; -1 = none of ours.
[[nodiscard]] int find_operation_column(std::string_view name);
/// Whether these are enough for a table of operations: type, start, duration, and a rank or a place.
/// Errors: import-005, naming the column that is missing.
[[nodiscard]] Result<void> check_operation_columns(const std::vector<int>& found);

/// A row. Whole numbers that are missing are -1.
struct OperationRow {
  double start_s = 0;     ///< on the ranks' common clock; NaN = missing
  double duration_s = 0;  ///< NaN = missing
  std::int64_t rank = -1;
  std::int64_t step = -1;
  std::int64_t data = -1;
  std::int64_t stage = -1;
  std::int64_t tensor = -1;
  std::int64_t sequence = -1;
  std::int64_t chunk = -1;
  std::int64_t micro_batch = -1;
  std::uint32_t type = 0;  ///< index into `OperationRows::types`
};

struct OperationRows {
  std::vector<OperationRow> rows;
  std::vector<std::string> types;  ///< as in the file
};

/// Makes the part of a Run. The order of the rows does not matter.
/// Errors: import-005 where no row can be used.
/// Cost:   O(n log n) for n rows.
[[nodiscard]] Result<ImportedJob> make_operation_part(std::string file, std::string format,
                                                      OperationRows table);

}  // namespace cox::trace
