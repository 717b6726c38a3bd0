// SPDX-License-Identifier: Apache-2.0
#include "study/compute/section_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cox/base/assert.hpp"

namespace cox::study {

std::string to_section(const SectionTable& table) {
  std::string out = fmt::format("## {}\n\n{}\n\n| {} |\n|---|", table.heading, table.sentence,
                                fmt::join(table.columns, " | "));
  for (std::size_t i = 1; i < table.columns.size(); ++i) out += "---:|";
  out += '\n';
  for (const std::vector<std::string>& row : table.rows) {
    COX_ASSERT(row.size() == table.columns.size(), "a row has a cell for each column");
    out += fmt::format("| {} |\n", fmt::join(row, " | "));
  }
  return out + '\n';
}

std::string cell_of(Seconds t) {
  return to_string(Quantity::of(t));
}

std::string cell_of_ratio(double ratio) {
  return to_string(Quantity::ratio(ratio));
}

}  // namespace cox::study
