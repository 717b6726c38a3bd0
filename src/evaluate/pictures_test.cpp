// SPDX-License-Identifier: Apache-2.0
// The picture of every study of the tree, whichever room computes it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "cox/study/computation.hpp"
#include "cox/study/write.hpp"

#include "evaluate/all_studies_for_tests.hpp"

namespace cox::evaluate {
namespace {

using namespace study;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text)
    out += c == '&'   ? std::string("&amp;")
           : c == '<' ? std::string("&lt;")
           : c == '>' ? std::string("&gt;")
           : c == '"' ? std::string("&quot;")
                      : std::string(1, c);
  return out;
}

/// From the title of a row to its end; empty where the row is missing.
std::string_view row_of(std::string_view svg, const Printed& p, Verdict verdict) {
  const auto from = svg.find(fmt::format("<title>{}: printed {}, ", escaped(p.name), escaped(p.text())));
  if (from == std::string_view::npos) return {};
  const std::string_view row = svg.substr(from, svg.find("</g>", from) - from);
  return row.find(fmt::format(", {}</title>", name_of(verdict))) == std::string_view::npos ? "" : row;
}

TEST(Pictures, HoldEveryPrintedNumberOfEveryStudy) {
  std::size_t marked = 0;
  for (const Study& s : studies()) {
    const AnsweredStudy* a = answer_of(s.name);
    ASSERT_NE(a, nullptr);
    const std::string svg = to_svg(*a);
    EXPECT_EQ(svg.find("nan"), std::string::npos) << s.name;
    for (std::size_t i = 0; i < s.printed.size(); ++i) {
      const std::string_view row = row_of(svg, s.printed[i], a->judged[i].verdict);
      ASSERT_FALSE(row.empty()) << s.name << ": " << s.printed[i].name;
      if (!a->judged[i].computed) continue;
      EXPECT_NE(row.find("class=\"mark\""), std::string_view::npos) << s.name << ": " << s.printed[i].name;
      ++marked;
    }
  }
  EXPECT_GT(marked, 300U);
}

}  // namespace
}  // namespace cox::evaluate
