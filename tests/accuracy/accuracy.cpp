// SPDX-License-Identifier: Apache-2.0
// How often a culprit is named, missed or invented, family by family and effect by effect.
// Usage: accuracy ACCURACY.MD [--write | --show FAMILY]: compares the tables in that page with what comes out,
// writes them, or prints what was said in the cases of one family that are not right.
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "family.hpp"
#include "support/page_table.hpp"

namespace {

using namespace cox;
using namespace cox::accuracy;

struct Count {
  int cases = 0;
  int answers[4] = {};
  int mean_guilty = 0;
  int last_guilty = 0;
  [[nodiscard]] int of(Answer a) const { return answers[static_cast<std::size_t>(a)]; }
};
using Counts = std::array<Count, kLevels.size()>;

bool is_guilty(const std::optional<Answer>& a) {
  return a == Answer::Right || a == Answer::Half;
}

Counts count(const Family& family, std::string_view shown) {
  Counts counts;
  for (int i = 0; i < family.cases; ++i) {
    const Judged j = family.judge(i);
    Count& c = counts[j.level];
    ++c.cases;
    ++c.answers[static_cast<std::size_t>(j.tool)];
    c.mean_guilty += is_guilty(j.largest_mean);
    c.last_guilty += is_guilty(j.last_most);
    if (shown == family.name && j.tool != Answer::Right) {
      constexpr const char* kNames[] = {"right", "half", "wrong", "silent"};
      fmt::print("{} {}: {}\n", kNames[static_cast<std::size_t>(j.tool)], i, j.said);
    }
  }
  return counts;
}

std::string table_of(const Family& family, const Counts& counts) {
  std::string out = fmt::format(
      "\n**{}**: {}.\n\n"
      "| effect / noise | cases | right | half | wrong | silent | largest mean: guilty, innocent | last most "
      "often: guilty, innocent |\n|---|---|---|---|---|---|---|---|\n",
      family.name, family.what);
  for (std::size_t l = 0; l < kLevels.size(); ++l) {
    const Count& c = counts[l];
    if (c.cases == 0) continue;
    out += fmt::format("| {} | {} | {} | {} | {} | {} | {}, {} | {}, {} |\n", kLevels[l], c.cases,
                       c.of(Answer::Right), c.of(Answer::Half), c.of(Answer::Wrong), c.of(Answer::Silent),
                       c.mean_guilty, c.cases - c.mean_guilty, c.last_guilty, c.cases - c.last_guilty);
  }
  return out;
}

bool holds(const Family& family, const Counts& counts) {
  const auto part = [](int n, int of) { return static_cast<double>(n) / std::max(1, of); };
  int wrong = 0;
  int cases = 0;
  bool good = true;
  const auto check = [&](bool fine, const char* what, double is, double bar) {
    if (!fine) std::fprintf(stderr, "%s: %s is %.4f, expected %.4f\n", family.name, what, is, bar);
    good = good && fine;
  };
  for (std::size_t l = 0; l < kLevels.size(); ++l) {
    const Count& c = counts[l];
    if (kLevels[l] <= 0) {
      const double is = part(c.of(Answer::Wrong), c.cases);
      check(is <= family.bars.most_wrong_without, "wrong without an effect", is,
            family.bars.most_wrong_without);
      continue;
    }
    wrong += c.of(Answer::Wrong);
    cases += c.cases;
    if (kLevels[l] < 2 || c.cases == 0) continue;
    const double is = part(c.of(Answer::Right), c.cases);
    check(is >= family.bars.least_right_at_twice, "right at twice the noise or more", is,
          family.bars.least_right_at_twice);
  }
  check(part(wrong, cases) <= family.bars.most_wrong, "wrong with an effect", part(wrong, cases),
        family.bars.most_wrong);
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: accuracy ACCURACY.MD [--write | --show FAMILY]\n", stderr);
    return 2;
  }
  const std::string_view mode = argc > 2 ? argv[2] : "";
  const std::string_view shown = mode == "--show" && argc > 3 ? argv[3] : "";
  std::string tables;
  bool good = true;
  for (const Family& family : naming_families()) {
    if (!shown.empty() && shown != family.name) continue;
    const Counts counts = count(family, shown);
    tables += table_of(family, counts);
    good = holds(family, counts) && good;
  }
  std::fputs(tables.c_str(), stdout);
  if (!shown.empty()) return 0;
  const bool told = test::table_in_page({argv[1], "naming", "tests/accuracy"}, tables, mode == "--write");
  return told && good ? 0 : 1;
}
