// SPDX-License-Identifier: Apache-2.0
/// \file
/// The page's data: columns of small integers, deflated. Layout: docs/reference/report.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cox/diagnose/diagnosis.hpp"
#include "cox/diagnose/timeline.hpp"
#include "cox/trace/run.hpp"

namespace cox::report {

/// Part of the inflated bytes.
struct Section {
  std::string name;
  std::size_t offset = 0;
  std::size_t length = 0;
};

/// One rank's part of the timeline columns, in units of `Columns::unit` from the origin.
struct Row {
  std::int64_t spans = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
};

struct Columns {
  std::string deflated;  ///< zlib format
  std::vector<Section> sections;
  std::vector<Row> rows;
  Duration unit{};           ///< times of the timeline are rounded to it
  std::int64_t merged = 1;   ///< neighbouring steps per cell and per span
  std::int64_t columns = 0;  ///< steps after merging
  std::int64_t spans = 0;    ///< before merging
  diagnose::WorstStep worst{};
};

/// Encodes for at most `budget` bytes: first coarser times (1 ns to 1 us), then merged steps.
/// The coarsest form is returned where nothing fits.
[[nodiscard]] Columns encode_columns(const trace::Run& run, const diagnose::Timeline& timeline,
                                     const diagnose::Diagnosis& diagnosis, std::size_t budget);

/// `1 ns`, `100 ns`, `1 us`: what times are rounded to, without the digits that suggest more.
[[nodiscard]] std::string grain_of(const Columns& columns);

/// What the data may take of a page of `limit` bytes, of which `text` are there already: without its description, about 64
/// bytes a rank, and base64's third.
[[nodiscard]] std::size_t data_budget(Bytes limit, std::size_t text, std::size_t ranks);

/// A length of time in 16 bits: 5 bits of exponent, 11 of mantissa; exact to 2047 ns, then within 0.03 %;
/// longer than 73 minutes stays at 73 minutes. Held by: src/report/columns_test.cpp
[[nodiscard]] std::uint16_t short_time(Duration d);
[[nodiscard]] Duration from_short_time(std::uint16_t code);

}  // namespace cox::report
