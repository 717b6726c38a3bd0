// SPDX-License-Identifier: Apache-2.0
#include "report/analyses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"

#include "report/markup.hpp"
#include "report/words.hpp"

namespace cox::report {
namespace {

std::string section(std::string_view id, std::string_view title, std::string_view body) {
  return fmt::format(
      "<section id=\"{}\" aria-labelledby=\"{}-title\">\n<h2 id=\"{}-title\">{}</h2>\n{}\n</section>\n", id,
      id, id, html(title), body);
}

/// Titles are lower case in the terminal, where they stand among words.
std::string capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string list(const Page& page, const std::vector<std::string>& lines) {
  if (lines.empty()) return {};
  std::string items;
  for (const std::string& line : lines) items += fmt::format("<li>{}</li>\n", html(page.names.text(line)));
  return "<ul class=\"limits\">" + items + "</ul>\n";
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_of("0123456789") <= 1;
}

using Rows = std::vector<std::vector<std::string>>;
using Shades = std::vector<std::vector<double>>;

/// One cell; a shaded one is a picture whose value is also text.
std::string cell(const Page& page, const Rows& rows, const Shades& shades, std::size_t row,
                 std::size_t column) {
  const std::string text = html(page.names.text(rows[row][column]));
  const char* kind = is_number(rows[row][column]) ? " class=\"n\"" : "";
  if (row == 0) return fmt::format("<th scope=\"col\"{}>{}</th>", kind, text);
  if (column == 0) return fmt::format("<th scope=\"row\"{}>{}</th>", kind, text);
  if (row - 1 < shades.size() && column - 1 < shades[row - 1].size())
    return fmt::format("<td class=\"n shade\" style=\"--shade:{:.3f}\">{}</td>",
                       std::clamp(shades[row - 1][column - 1], 0.0, 1.0), text);
  return fmt::format("<td{}>{}</td>", kind, text);
}

std::string table(const Page& page, const Rows& rows, const Shades& shades = {}) {
  if (rows.size() < 2) return {};
  std::string lines;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string cells;
    for (std::size_t c = 0; c < rows[r].size(); ++c) cells += cell(page, rows, shades, r, c);
    lines += (r == 0 ? "<thead><tr>" : "<tr>") + cells + (r == 0 ? "</tr></thead>\n<tbody>\n" : "</tr>\n");
  }
  return "<div class=\"scroll\" tabindex=\"0\"><table class=\"analysis\">\n" + lines +
         "</tbody></table></div>\n";
}

}  // namespace

std::string comparison_section(const Page& page, const diagnose::Comparison& comparison) {
  const Rows rows{{"", "before", "after"},
                  {"median step", to_string(comparison.before), to_string(comparison.after)},
                  {"lost to late arrivals", percent(comparison.lost_before), percent(comparison.lost_after)}};
  return section("against", "Before and after", list(page, comparison.lines) + table(page, rows));
}

std::string remedies_section(const Page& page) {
  if (page.diagnosis.remedies.empty()) return {};
  std::string rows;
  for (const diagnose::Remedy& r : page.diagnosis.remedies)
    rows += fmt::format(
        "<tr><td class=\"n\" data-label=\"gain\">{}</td><td data-label=\"what\">{}</td><td data-label=\"how "
        "it is known\">{}</td><td data-label=\"how to see it\">{}</td></tr>\n",
        r.gain_ratio ? percent(*r.gain_ratio) : "not estimated", html(page.names.text(r.text)),
        html(page.names.text(r.basis)), html(page.names.text(r.verify)));
  return section(
      "remedies", "What to do",
      "<div class=\"scroll\"><table class=\"stack\"><thead><tr><th class=\"n\">gain</th><th>what</th><th>how "
      "it is known</th><th>how to see it</th></tr></thead>\n<tbody>\n" +
          rows + "</tbody></table></div>\n");
}

std::string analyses_sections(const Page& page) {
  std::string out;
  for (const diagnose::Section& s : page.diagnosis.sections) {
    if (s.kind == diagnose::SectionKind::Pacing) continue;  // a section of its own, with charts
    out += section(diagnose::name_of(s.kind), capital(s.title),
                   list(page, s.lines) + table(page, s.table, s.shades));
  }
  return out;
}

}  // namespace cox::report
