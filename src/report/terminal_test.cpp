// SPDX-License-Identifier: Apache-2.0
#include "cox/report/terminal.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "cox/trace/time_unit.hpp"

#include "report/layout.hpp"
#include "report/sample.hpp"
#include "support/make_run.hpp"

namespace cox::report {
namespace {

using namespace std::chrono_literals;

struct Input {
  trace::Run run;
  diagnose::Diagnosis diagnosis;
};

Input named_input(int ranks = 8) {
  Input in;
  in.run = test::make_run({.ranks = ranks, .steps = 60, .extras = {{.rank = 3, .amount = 4ms}}});
  in.diagnosis = test::sample_diagnosis(in.run);
  in.diagnosis.findings = {test::slow_rank_finding(3)};
  in.diagnosis.lead =
      "its own work takes 4.02 ms longer per step than the median rank's, in 99 % of those steps; "
      "without that the run would be 27 % shorter (estimated).";
  in.diagnosis.verdict = "rank 3 sets the pace: " + in.diagnosis.lead;
  return in;
}

std::string text_of(const Input& in, Color color = Color::Off) {
  return render_text(in.run, in.diagnosis, {.color = color});
}

TEST(Terminal, ComesInOrder) {
  const std::string text = text_of(named_input());
  std::size_t at = 0;
  for (const char* part :
       {"! Rank 3 sets the pace (simulated)", "Its own work takes 4.02 ms longer", "coverage 100 %",
        "clocks: one for all ranks", "step time ", "findings", "1. slow rank: rank 3", "who sets the pace",
        "self-delay", "what this input cannot tell"}) {
    const std::size_t found = text.find(part);
    ASSERT_NE(found, std::string::npos) << part << " in\n" << text;
    EXPECT_GE(found, at) << part;
    at = found;
  }
}

TEST(Terminal, FitsEightyColumns) {
  Input in = named_input(40);
  in.diagnosis.coverage.missing_ranks = {Rank{40}, Rank{44}};
  in.diagnosis.coverage.dropped_records = 123'456;
  std::istringstream lines(text_of(in));
  for (std::string line; std::getline(lines, line);) {
    const auto width = std::count_if(line.begin(), line.end(),
                                     [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
    EXPECT_LE(width, 80) << line;
  }
}

TEST(Terminal, LongNumbersOfAnUnknownUnitFitTheirTable) {
  for (const auto& [charged, shown] :
       {std::pair{2'000'006'000'000'000, std::string_view(" 2 000 006  ")},
        std::pair{99'000'000'000, std::string_view(" 99.0 units  ")},
        std::pair{9'000'000'000'000'000'000, std::string_view("  9.00e+09  ")}}) {
    Input in = named_input();
    for (trace::RankTrack& r : in.run.ranks)
      r.timing = trace::timing_in_unknown_unit(r.timing, Seconds(1e-3));
    for (diagnose::RankAccount& a : in.diagnosis.ranks)
      a.wait = a.charged = a.self_delay_median = Duration{charged};
    const std::string text = text_of(in);
    EXPECT_NE(text.find(shown), std::string::npos) << text;
    EXPECT_NE(text.find("+" + std::string(shown).substr(shown.find_first_not_of(' '))), std::string::npos)
        << text;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(columns_of(line), 80U) << line;
  }
}

TEST(Terminal, KeepsUnitsWithTheirNumbers) {
  for (std::string pad; pad.size() < 80; pad += 'x') {
    Input in = named_input();
    in.diagnosis.lead = pad + " 12.5 % of 3.00 ms, then 7 \u00B5s.";
    const std::string text = text_of(in);
    for (const char* broken : {"\n%", "\nms", "\n\u00B5s"})
      EXPECT_EQ(text.find(broken), std::string::npos) << text;
  }
}

TEST(Terminal, MarksTheNamedRankWithoutColour) {
  const std::string text = text_of(named_input());
  EXPECT_NE(text.find("\n>       3 "), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(Terminal, ColourOnlyAddsEscapes) {
  const Input in = named_input();
  std::string coloured = text_of(in, Color::On);
  ASSERT_NE(coloured.find('\x1b'), std::string::npos);
  for (std::size_t at = 0; (at = coloured.find('\x1b', at)) != std::string::npos;) {
    coloured.erase(at, coloured.find('m', at) - at + 1);
  }
  EXPECT_EQ(coloured, text_of(in));
}

TEST(Terminal, ListsTheMostCostlyAndCountsTheRest) {
  const std::string text = text_of(named_input(40));
  EXPECT_NE(text.find("and 24 more ranks"), std::string::npos) << text;
}

TEST(Terminal, CoverageIsFullOnlyWhereAllWasSeen) {
  Input in = named_input();
  EXPECT_NE(text_of(in).find("coverage 100 %: "), std::string::npos);
  in.diagnosis.coverage.ratio = 0.9999;
  EXPECT_NE(text_of(in).find("coverage over 99.9 %: "), std::string::npos) << text_of(in);
}

TEST(Terminal, SaysNobody) {
  Input in = named_input();
  in.diagnosis.findings.clear();
  in.diagnosis.verdict = "nobody: no rank stands out.";
  in.diagnosis.lead = "no rank stands out.";
  const std::string text = text_of(in);
  EXPECT_EQ(text.rfind("= Nobody sets the pace (simulated)\nNo rank stands out.\n", 0), 0U) << text;
}

TEST(Terminal, LetsNoEscapeThroughFromTheInput) {
  Input in = named_input();
  in.diagnosis.verdict = in.diagnosis.lead = "\x1b]0;owned\x07";
  in.diagnosis.findings.push_back(test::slow_transfers_finding("\x1b]0;owned\x07"));
  in.diagnosis.cannot_tell = {"\x1b[2J"};
  in.run.notes = {{"\x1b[1m", "\x1b[1m"}};
  EXPECT_EQ(text_of(in).find_first_of("\x1b\x07"), std::string::npos);
}

}  // namespace
}  // namespace cox::report
