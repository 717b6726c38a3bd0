// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the table and its assumptions must be before anything is computed with them.
#pragma once

#include <span>

#include "cox/base/result.hpp"

#include "study/pacing_table/pacing_table.hpp"

namespace cox::study {

/// Errors: study-003. Three to 100 rows, nodes ascending in [2, 4096], rates positive, CV in (0, 1).
[[nodiscard]] Status check_rows(std::span<const TableRow> rows);
/// Errors: study-003. Bounds as in `predict_table`.
[[nodiscard]] Status check_assumptions(const TableAssumptions& assumed);
/// Errors: study-003. Sizes in [1, 4096], at most 100; at most 10^9 node steps in all.
[[nodiscard]] Status check_sizes(std::span<const int> sizes, const TableAssumptions& assumed);
/// Errors: study-003. Times, `alone` and `spread` finite and positive; `chance` in (0, 1).
[[nodiscard]] Status check_parameters(Mechanism m, const TableParameters& p);

}  // namespace cox::study
