// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a forecast is made from, read: a Run as a Sample, tables of own work, tables of sizes and values.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "cox/base/result.hpp"
#include "cox/trace/run.hpp"

#include "forecast/sample/sample.hpp"

namespace cox::forecast {

/// A Run, recorded, imported or simulated, as a Sample.
///
/// A position is a synchronisation of all ranks; its own work is the time from the one before, without delays that were
/// served. What smaller groups wait for inside it stays in: it belongs to the group, whatever the size of the job. Where
/// steps have different numbers of synchronisations the steps of the commonest number are kept; where ranks differ, or a
/// step has more than 32, own work is taken per step. The first step, and steps with an evaluation, are left out.
/// Everything left out is said in `left_out`.
/// Errors:  forecast-002 (no steps, or fewer than two of one kind).
/// Cost:    that of matching. Held by: src/forecast/sample/run_test.cpp
[[nodiscard]] Result<Sample> sample_of(const trace::Run& run, int threads = 0);

/// A table of ours: own work per step and rank, or values over sizes. One of the two is there.
struct Table {
  std::optional<Sample> sample;
  std::optional<Curve> curve;
};

/// Reads a table whose header names it as ours; nothing where the file is something else.
///
/// Columns: `step,rank,compute_s` (also `_ms`, `_us`; `node` and `position` beside them if wanted), every rank in every
/// step; or a size (`size`, `ranks`, `gpus`, `devices`, `nodes`) and a value (`step_s`, `step_ms`, `step_us`,
/// `throughput_per_s`). Lines that begin with # are comments.
/// Errors:  forecast-003 (a line that cannot be read, a value without or with an unknown unit, a rank missing in a step;
///          names file and line), base-002, base-003, base-004.
/// Limits:  256 MB, 20 million values, 1,048,576 ranks. Cost: linear. Held by: src/forecast/sample/table_test.cpp, fuzz/forecast_table
[[nodiscard]] Result<std::optional<Table>> read_table(const std::filesystem::path& path);
/// The same of a text; `name` is what messages call it.
[[nodiscard]] Result<std::optional<Table>> parse_table(std::string_view text, const std::string& name);

}  // namespace cox::forecast
