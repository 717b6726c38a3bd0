// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include "cox/base/assert.hpp"
#include "cox/report/terminal.hpp"
#include "cox/trace/figures.hpp"

#include "diagnose/figures/figures.hpp"
#include "fuzz/entries.hpp"

namespace cox::fuzz {
namespace {

bool is_share(double part) {
  return part >= 0 && part <= 1;
}

void check(const diagnose::FiguresAnswer& a) {
  for (const diagnose::SizeAnswer& s : a.sizes) {
    COX_ASSERT(std::isfinite(s.fit_error_ratio), "a fit has an error");
    COX_ASSERT(!s.latency || (std::isfinite(s.latency->count()) && s.latency->count() >= 0),
               "no time is below zero");
  }
  for (const diagnose::QuantityAnswer& q : a.quantities) {
    COX_ASSERT(q.has_spread || (q.above.empty() && q.below.empty()), "without a spread nobody is named");
    COX_ASSERT(q.missing.empty() || (q.above.empty() && q.below.empty()),
               "nor in a group that misses members");
    COX_ASSERT(q.lowest_value <= q.highest_value && is_share(q.below_ratio >= 1 ? 1 : q.below_ratio),
               "extremes");
  }
  COX_ASSERT(!figure_lines(a).empty(), "something is said");
  const std::vector<std::string> lines = figure_lines(a);
  for (const std::string& text : {report::render_lines(lines, {}), report::render_list(lines)})
    for (const char c : text) COX_ASSERT(c >= ' ' || c < 0 || c == '\n', "that a terminal can show");
  COX_ASSERT(to_json(a, "x").size() > 2, "also for programs");
}

}  // namespace

void figures(std::string_view bytes) {
  const auto read = trace::figures_of(bytes);
  if (!read) {
    COX_ASSERT(read.error().id == "import-005", "bad figures have one error");
    COX_ASSERT(read.error().message.size() < 2000, "a message is a line");
    return;
  }
  if (!*read) return;
  const trace::Figures& f = **read;
  if (const auto* table = std::get_if<trace::SizeTable>(&f.table)) {
    for (const trace::SizeSeries& s : table->series)
      for (std::size_t i = 0; i < s.values.size(); ++i) {
        COX_ASSERT(s.values[i].time.count() >= 0 && std::isfinite(s.values[i].time.count()),
                   "times are times");
        COX_ASSERT(i == 0 || s.values[i - 1].size <= s.values[i].size, "sizes ascend");
      }
  } else {
    for (const trace::RankQuantity& q : std::get<trace::RankTable>(f.table).quantities)
      for (std::size_t i = 0; i < q.figures.size(); ++i) {
        COX_ASSERT(std::isfinite(q.figures[i].value), "values are numbers");
        COX_ASSERT(i == 0 || q.figures[i - 1].rank < q.figures[i].rank, "each rank once");
      }
  }
  check(diagnose::understand_figures(f));
  check(diagnose::understand_figures(f, &f));
}

}  // namespace cox::fuzz
