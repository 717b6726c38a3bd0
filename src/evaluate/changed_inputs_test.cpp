// SPDX-License-Identifier: Apache-2.0
// Inputs of each study are changed, and every sentence is read again: none may keep a figure that is no longer so.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cox/evaluate/computations.hpp"
#include "cox/study/computation.hpp"

#include "evaluate/quick_study_for_tests.hpp"

namespace cox::evaluate {
namespace {

using namespace study;

std::vector<Study> studies() {
  auto read = read_studies(COX_STUDIES);
  EXPECT_TRUE(read) << read.error().to_string();
  return read ? *read : std::vector<Study>{};
}

std::string change_of(const StudyInput& in, double factor) {
  std::string values;
  for (const WrittenQuantity& w : in.values) values += (values.empty() ? "" : ", ") + times(w, factor);
  return fmt::format("\"{}\" = {}", in.name, in.is_list ? "[" + values + "]" : values);
}

/// A number as it stands in a text.
struct Figure {
  std::string text;
  double value = 0;
  int decimals = 0;
};

/// Names such as `C.1`, `fp16` and `1F1B` are none; thousands are not grouped in pages.
std::vector<Figure> figures_of(const std::string& text) {
  const auto is_digit = [&](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  const auto is_letter = [&](std::size_t i) {
    return i < text.size() && std::isalpha(static_cast<unsigned char>(text[i])) != 0;
  };
  std::vector<Figure> out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_digit(i)) continue;
    const std::size_t from = i;
    while (is_digit(i) || (text[i] == '.' && is_digit(i + 1))) ++i;
    const bool is_name = from > 0 && (is_letter(from - 1) || text[from - 1] == '.' || text[from - 1] == '_');
    Figure f{.text = text.substr(from, i - from)};
    const auto point = f.text.find('.');
    f.decimals = point == std::string::npos ? 0 : static_cast<int>(f.text.size() - point - 1);
    if (is_name || std::count(f.text.begin(), f.text.end(), '.') > 1) continue;
    f.value = std::stod(f.text);
    out.push_back(std::move(f));
  }
  return out;
}

/// Every sentence of an answer, by its place.
std::map<std::string, std::string> sentences_of(const AnsweredStudy& a) {
  std::map<std::string, std::string> out = {{"question", a.study.question}, {"answer", a.answer.text}};
  for (std::size_t i = 0; i < a.judged.size(); ++i)
    out["reason of " + a.study.printed[i].name] = a.judged[i].reason.text;
  for (std::size_t i = 0; i < a.computation.notes.size(); ++i)
    out[fmt::format("note {}", i)] = a.computation.notes[i];
  for (std::size_t i = 0; i < a.computation.tables.size(); ++i) {
    const ValueTable& t = a.computation.tables[i];
    out[fmt::format("table {}, title", i)] = t.title;
    out[fmt::format("table {}, says", i)] = t.says;
    for (std::size_t k = 0; k < t.columns.size(); ++k)
      out[fmt::format("table {}, column {}", i, k)] = t.columns[k];
  }
  std::vector<const Picture*> pictures = {&a.computation.picture};
  for (const Picture& p : a.computation.picture.below) pictures.push_back(&p);
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    out[fmt::format("picture {}, title", i)] = pictures[i]->title;
    out[fmt::format("picture {}, axes", i)] = pictures[i]->x_label + " " + pictures[i]->y_label;
    for (std::size_t k = 0; k < pictures[i]->series.size(); ++k)
      out[fmt::format("picture {}, series {}", i, k)] = pictures[i]->series[k].name;
  }
  std::size_t line = 0;
  for (std::size_t from = 0; from < a.computation.section.size(); ++line) {
    const auto to = std::min(a.computation.section.find('\n', from), a.computation.section.size());
    if (a.computation.section[from] != '|')
      out[fmt::format("section, line {}", line)] = a.computation.section.substr(from, to - from);
    from = to + 1;
  }
  return out;
}

/// Numbers that stand for something: inputs, computed values, cells of tables.
std::vector<double> data_of(const AnsweredStudy& a) {
  std::vector<double> out;
  for (const StudyInput& in : a.study.inputs)
    for (const WrittenQuantity& w : in.values) {
      out.push_back(std::stod(w.text));
      out.push_back(w.value.in_base_unit());
    }
  for (const Computed& c : a.computation.values) out.push_back(c.value.in_base_unit());
  for (const ValueTable& t : a.computation.tables)
    for (const auto& row : t.rows)
      for (const std::string& cell : row)
        for (const Figure& f : figures_of(cell)) out.push_back(f.value);
  return out;
}

bool stands_for(const Figure& f, const std::vector<double>& data) {
  constexpr std::array kScales = {1.0,  100.0, 1e3,        1e6,           1e9,
                                  1e12, 1e-3,  1e-6,       1e-9,          1e-12,
                                  8.0,  8e-9,  1.0 / 1024, 1.0 / 1048576, 1.0 / 1073741824};
  const auto digits = std::count_if(f.text.begin(), f.text.end(), [](char c) { return c != '.'; });
  // A rounded figure has three digits or more; fewer are an input or a count.
  const double room = digits < 3 ? 1e-9 * f.value : 0.5001 * std::pow(10, -f.decimals);
  return std::any_of(data.begin(), data.end(), [&](double v) {
    return std::any_of(kScales.begin(), kScales.end(),
                       [&](double s) { return std::abs(std::abs(v) * s - f.value) <= room; });
  });
}

/// Figures that look stale and are not; each was read.
const std::set<std::string>& allowed() {
  static const std::set<std::string> all = {
      "expert-routing: 8.192",  // kB of a token, from inputs that were not changed
      "pacing-table: 1.0",      // -1.0 % is computed; so is 1.0x
  };
  return all;
}

/// Figures of sentences that were so before, are no longer, and stand nevertheless.
std::vector<std::string> stale(const AnsweredStudy& before, const AnsweredStudy& after) {
  std::set<std::string> printed;
  for (const Printed& p : before.study.printed)
    for (const Figure& f : figures_of(p.text() + " " + p.name)) printed.insert(f.text);
  const auto was = data_of(before);
  const auto is = data_of(after);
  const std::string& name = before.study.name;
  const auto now = sentences_of(after);
  std::vector<std::string> out;
  for (const auto& [place, sentence] : sentences_of(before)) {
    const auto at = now.find(place);
    if (at == now.end()) continue;
    const auto after_it = figures_of(at->second);
    for (const Figure& f : figures_of(sentence)) {
      const bool stays =
          std::any_of(after_it.begin(), after_it.end(), [&](const Figure& o) { return o.text == f.text; });
      const bool is_small = f.text == "1" || f.text == "2";  // of formulas: 2 (N - 1) / N
      if (stays && !is_small && !printed.contains(f.text) && !allowed().contains(name + ": " + f.text) &&
          stands_for(f, was) && !stands_for(f, is))
        out.push_back(fmt::format("{}: {} in: {}", place, f.text, at->second));
    }
  }
  return out;
}

std::optional<AnsweredStudy> answer(const Study& s) {
  static const ComputationTable table = computations();
  auto a = run_study(s, table, {.threads = 2});
  if (a) return *std::move(a);
  EXPECT_EQ(a.error().code, Errc::InvalidInput) << s.name << ": " << a.error().to_string();
  EXPECT_EQ(a.error().message.find('\n'), std::string::npos);
  return {};
}

/// The study with few draws, seeds and rates.
Study quick(Study s) {
  constexpr std::size_t kEvery = 4;
  for (StudyInput& in : s.inputs) {
    std::string change;
    for (const auto* few : {&sampling(), &smaller()})
      if (const auto at = few->find(in.name); at != few->end() && !in.is_list)
        change = fmt::format("{}", at->second);
    if (in.name == "rates tried")
      for (std::size_t i = 0; i < in.values.size(); i += kEvery)
        change += (change.empty() ? "[" : ", ") + in.values[i].text;
    if (change.empty()) continue;
    if (in.is_list) change += "]";
    EXPECT_TRUE(set_input(s, fmt::format("\"{}\" = {}", in.name, change))) << s.name << ": " << in.name;
  }
  return s;
}

/// Which inputs are changed. Each run of the table of pacing fits its mechanisms anew, which takes seconds: two of its ten.
bool is_changed(const Study& s, const StudyInput& in) {
  if (s.compute == "pacing-table") return &in < s.inputs.data() + 2;
  return in.name != "rates tried";
}

/// Whether every sentence of the file is said.
bool says_all(const AnsweredStudy& a) {
  return !a.answer.is_withdrawn &&
         std::ranges::none_of(a.judged, [](const Judged& j) { return j.reason.is_withdrawn; });
}

/// What an input that is set to `factor` times its value gives; nothing where it is refused for its bounds.
std::optional<AnsweredStudy> changed(Study s, const StudyInput& in, double factor) {
  const std::string change = change_of(in, factor);
  EXPECT_TRUE(set_input(s, change)) << s.name << ": " << change;
  return answer(s);
}

constexpr std::size_t kParts =
    6;  // of the studies: each is computed again for each of its inputs, which takes minutes in all

// Any input may be set: to nothing, too.
class ChangedInputs : public testing::TestWithParam<std::size_t> {};

TEST_P(ChangedInputs, LeaveNoStaleFigureInASentence) {
  int changes = 0;
  const std::vector<Study> all = studies();
  for (std::size_t i = GetParam(); i < all.size(); i += kParts) {
    const Study& whole = all[i];
    Study s = whole.compute == "pacing-table" ? whole : quick(whole);
    auto before = answer(s);
    ASSERT_TRUE(before) << s.name;
    // With few draws a sentence may not hold, and what is not said is not looked at.
    if (!says_all(*before)) {
      s = whole;
      before = answer(s);
    }
    ASSERT_TRUE(before && says_all(*before)) << s.name;
    for (const StudyInput& in : s.inputs) {
      if (!is_changed(s, in)) continue;
      static_cast<void>(changed(s, in, 0));
      auto after = changed(s, in, 2);
      if (!after) after = changed(s, in, 0.5);  // 200 % is no share
      if (!after) continue;
      ++changes;
      for (const std::string& found : stale(*before, *after))
        ADD_FAILURE() << s.name << ", other '" << in.name << "': " << found;
    }
  }
  EXPECT_GT(changes, 300 / static_cast<int>(kParts) / 2) << "they have unlike numbers of inputs";
}

INSTANTIATE_TEST_SUITE_P(OfStudies, ChangedInputs, testing::Range<std::size_t>(0, kParts));

TEST(AChangedInput, LeavesAStaleFigureThatIsFound) {
  const std::vector<Study> all = studies();
  const auto s = std::ranges::find(all, "example-03", &Study::name);
  ASSERT_NE(s, all.end());
  const auto before = answer(*s);
  auto after = changed(*s, s->inputs.front(), 2);
  ASSERT_TRUE(before && after);
  EXPECT_EQ(stale(*before, *after).size(), 0U);
  after->answer = before->answer;
  after->study.question = before->study.question;
  EXPECT_GE(stale(*before, *after).size(), 2U);
}

}  // namespace
}  // namespace cox::evaluate
