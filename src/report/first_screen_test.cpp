// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <random>
#include <sstream>

#include "cox/report/terminal.hpp"

#include "report/layout.hpp"
#include "report/sample.hpp"
#include "support/make_run.hpp"

namespace cox::report {
namespace {

using namespace std::chrono_literals;
using diagnose::AnswerKind;
using diagnose::Diagnosis;

struct Input {
  trace::Run run;
  Diagnosis diagnosis;
};

Input named_input() {
  Input in;
  in.run = test::make_run({.ranks = 8, .steps = 60, .extras = {{.rank = 3, .amount = 4ms}}});
  in.diagnosis = test::sample_diagnosis(in.run);
  in.diagnosis.findings = {test::slow_rank_finding(3)};
  in.diagnosis.answer.kind = AnswerKind::Named;
  return in;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string screen_of(const Input& in, const TextStyle& style = {}) {
  return render_screen(in.run, in.diagnosis, style, "cox diagnose run --all");
}

TEST(FirstScreen, HoldsWhoCauseGainCoverageAndMore) {
  const std::string text = screen_of(named_input());
  std::size_t at = 0;
  for (const char* part : {"! Rank 3 sets the pace (simulated)", "Its own work takes",
                           "cause: ", "gain: ", "coverage: ", "more: cox diagnose run --all"}) {
    const std::size_t found = text.find(part);
    ASSERT_NE(found, std::string::npos) << part << " in\n" << text;
    EXPECT_GE(found, at) << part;
    at = found;
  }
}

TEST(FirstScreen, FitsAScreenAtAnyWidth) {
  Input in = named_input();
  for (int i = 0; i < 12; ++i) {
    in.diagnosis.findings.push_back(test::slow_rank_finding(i));
    in.diagnosis.remedies.push_back({.lever = "x",
                                     .text = std::string(300, 'w').replace(50, 1, " ").replace(100, 1, " "),
                                     .ranks = {},
                                     .gain_ratio = 0.1,
                                     .basis = {},
                                     .verify = {}});
    in.diagnosis.cannot_tell.push_back(
        "a thing that takes many words to say and goes on for more than a line or two of text");
  }
  for (auto& r : in.diagnosis.remedies)
    r.text = "do this and that and then something else which takes a long sentence to say, and more of it";
  for (std::size_t columns = 40; columns <= 80; columns += 5) {
    const auto lines = lines_of(screen_of(in, {.columns = columns}));
    EXPECT_LE(lines.size(), kScreenLines) << columns;
    for (const std::string& line : lines) EXPECT_LE(line.size(), columns) << line;
  }
}

TEST(FirstScreen, WhatHangsComesFirst) {
  Input in = named_input();
  in.diagnosis.trouble.headline = "Rank 5 is missing in AllReduce";
  in.diagnosis.trouble.ending = diagnose::Ending{.exit_status = 137, .text = "the job ended with status 137"};
  in.diagnosis.answer.kind = AnswerKind::JobFailed;
  const auto lines = lines_of(screen_of(in));
  EXPECT_EQ(lines[0], "! Rank 5 is missing in AllReduce (simulated)");
  EXPECT_EQ(lines[1], "The job ended with status 137.");
}

TEST(FirstScreen, IsAsciiInTheCLocale) {
  Input in = named_input();
  in.diagnosis.cannot_tell = {"12 \u00B5s on caf\u00E9"};
  const std::string text = screen_of(in, {.charset = Charset::Ascii});
  EXPECT_NE(text.find("12 us on caf?"), std::string::npos) << text;
  EXPECT_TRUE(
      std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; }));
}

TEST(FirstScreen, LetsNoEscapeThroughFromTheInput) {
  Input in = named_input();
  in.diagnosis.findings.push_back(test::slow_transfers_finding("\x1b]0;owned\x07"));
  in.diagnosis.findings.front().components = {"\x1b[2J"};
  in.diagnosis.cannot_tell = {"\x1b[2J"};
  EXPECT_EQ(screen_of(in).find_first_of("\x1b\x07"), std::string::npos);
}

TEST(FirstScreen, SaysEachOutcome) {
  Input in = named_input();
  in.diagnosis.findings.clear();
  in.diagnosis.answer = {.kind = AnswerKind::Nobody, .reasons = {}, .least_effect_ratio = 0.04};
  EXPECT_NE(screen_of(in).find("one with about 4.0 % of"), std::string::npos) << screen_of(in);
  in.diagnosis.answer = {.kind = AnswerKind::CannotTell,
                         .reasons = {{diagnose::AnswerReason::FewSteps, "6 steps are too few"}},
                         .least_effect_ratio = {}};
  EXPECT_EQ(screen_of(in).rfind("? Cannot tell who sets the pace (simulated)\n6 steps are too few.\n", 0), 0U)
      << screen_of(in);
  in.diagnosis.answer = {.kind = AnswerKind::JobFailed, .reasons = {}, .least_effect_ratio = {}};
  EXPECT_EQ(screen_of(in).rfind("! The job failed (simulated)\n", 0), 0U) << screen_of(in);
}

TEST(Lines, FitTheWidthAndTheLocaleAndEndWithMore) {
  std::vector<std::string> lines;
  lines.reserve(30);
  for (int i = 0; i < 30; ++i)
    lines.emplace_back(
        "  a line of 12 \u00B5s with so many words in it that it is broken on a narrow terminal \x1b[2J");
  for (const std::size_t columns : {40U, 80U}) {
    const std::string text = render_lines(lines, {.charset = Charset::Ascii, .columns = columns}, "cox more");
    const auto out = lines_of(text);
    EXPECT_LE(out.size(), kScreenLines);
    EXPECT_EQ(out.back(), "more: cox more");
    EXPECT_NE(out[0].find("12 us"), std::string::npos);
    for (const std::string& line : out) EXPECT_LE(line.size(), columns) << line;
    for (std::size_t i = 0; i + 1 < out.size(); ++i) EXPECT_EQ(out[i].rfind("  ", 0), 0U) << out[i];
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
  }
  EXPECT_GT(lines_of(render_lines(lines, {})).size(), kScreenLines);
  EXPECT_EQ(render_lines({"short"}, {}, "cox more"), "short\n");
  EXPECT_EQ(render_list({"a_b", "  c"}), "- a\\_b\n  - c\n");
}

// Two blanks in a sentence (a file's name may hold them) do not make it a row.
TEST(Lines, ASentenceIsBrokenAndARowIsNot) {
  const std::string text = "my  job: a table of sizes and values that is wider than so few columns";
  const TextStyle narrow{.charset = Charset::Ascii, .columns = 40};
  EXPECT_EQ(render_line(TextLine::row(text), narrow), text + "\n");
  EXPECT_EQ(render_line(text, narrow),
            "my job: a table of sizes and values that\nis wider than so few columns\n");
  EXPECT_EQ(render_line(TextLine(), narrow), "\n");
}

TEST(RunsTable, NamesThatDifferAtTheirEndsAreToldApart) {
  EXPECT_EQ(cut_middle("short", 8), "short");
  EXPECT_EQ(cut_middle("experiment-of-today-seed-1", 15), "experi...seed-1");
  EXPECT_EQ(cut_middle("\xC3\xA4\xC3\xB6\xC3\xBC\xC3\xA4\xC3\xB6\xC3\xBC\xC3\xA4\xC3\xB6", 7),
            "\xC3\xA4\xC3\xB6...\xC3\xA4\xC3\xB6");
}

TEST(RunsTable, OfSeriesSaysWhichAreQuiet) {
  Input quiet = named_input();
  quiet.diagnosis.findings.clear();
  quiet.diagnosis.answer.kind = AnswerKind::CannotTell;
  Input uneven = quiet;
  quiet.diagnosis.series = diagnose::SeriesState::Quiet;
  uneven.diagnosis.series = diagnose::SeriesState::Uneven;
  const auto lines =
      lines_of(render_runs({{"a", &quiet.diagnosis}, {"b", &uneven.diagnosis}}, {}, "cox one", "cox all"));
  EXPECT_NE(lines[0].find("median step"), std::string::npos);
  EXPECT_EQ(lines[1].rfind("b ", 0), 0U) << lines[1];
  EXPECT_NE(lines[1].find("not quiet"), std::string::npos);
  EXPECT_NE(lines[2].find(" quiet"), std::string::npos);
  EXPECT_EQ(screen_of(quiet).rfind("= The steps are quiet", 0), 0U) << screen_of(quiet);
}

TEST(RunsTable, NamesThatAreCutStandForOneRunOnly) {
  const Input in = named_input();
  std::vector<std::string> names;
  for (const char* model : {"v5.0/llama31_405b", "v5.0/llama2_70b_lora", "v4.1/gpt3"})
    for (const char* system : {"eos_n64", "eos_n128", "carina_ngpu512", "carina_ngpu1536"})
      for (const char* end : {"ngc25.04_nemo/0", "ngc24.04_nemo/0", "ngc25.04_nemo/1"})
        names.push_back(std::string("step_blocks_dev.csv/") + model + "/" + system + "_" + end);
  for (const std::size_t columns : {40U, 64U, 80U, 120U})
    for (std::size_t first = 0; first + 12 <= names.size(); first += 4) {
      std::vector<RunLine> runs;
      for (std::size_t i = first; i < first + 12; ++i) runs.push_back({names[i], &in.diagnosis});
      const auto lines = lines_of(render_runs(runs, {.columns = columns}, "one", "all"));
      for (std::size_t i = 0; i < runs.size(); ++i) {
        const std::string shown = lines[i + 1].substr(0, lines[i + 1].find(' '));
        EXPECT_EQ(std::count_if(runs.begin(), runs.end(),
                                [&](const RunLine& r) { return is_shown_as(r.name, shown); }),
                  1)
            << shown << " at " << columns;
        EXPECT_TRUE(is_shown_as(runs[i].name, shown)) << shown;
        // They differ at four places, which a narrow table has no room for.
        if (columns >= 80 || shown != runs[i].name) EXPECT_LE(lines[i + 1].size(), columns) << lines[i + 1];
      }
    }
  EXPECT_TRUE(is_shown_as("abcdefgh", "a...d...h"));
  EXPECT_FALSE(is_shown_as("abcdefgh", "a...h...d"));
  EXPECT_FALSE(is_shown_as("abcd", "abc...bcd")) << "letters count once";
  EXPECT_FALSE(is_shown_as("abcd", "abc"));
}

TEST(RunsTable, CutsFitWhereThereIsOneAndNamesStayWholeWhereThereIsNone) {
  // A letter in the middle is the difference, among letters of two bytes.
  const std::string end(30, 'e');
  std::string start;
  for (int i = 0; i < 30; ++i) start += "\xC3\xA4";
  const std::vector<std::string> names{start + "1" + end, start + "2" + end, start + "3" + end};
  for (const std::string& name : names) {
    const std::string shown = cut_apart(name, names, 20);
    EXPECT_LE(columns_of(shown), 20U) << shown;
    EXPECT_NE(shown.find(name[start.size()]), std::string::npos) << shown;
  }
  // What is shown of the first is of the second as well.
  const std::vector<std::string> alike{std::string(40, 'a'), std::string(41, 'a')};
  EXPECT_EQ(cut_apart(alike[0], alike, 20), alike[0]);
}

TEST(RunsTable, ManyLongNamesAreLookedAtAFewTimes) {
  std::mt19937 random(3);
  const auto long_name = [&] {
    std::string name(20, 'a');
    for (int i = 0; i < 4000; ++i) name += static_cast<char>('b' + random() % 8);
    return name + std::string(20, 'z');
  };
  std::vector<std::string> names;
  for (int i = 0; i < 4000; ++i) names.push_back(long_name());
  // The last one holds whatever is shown of the first.
  names.push_back(names.front() + names.front());
  const std::clock_t begin = std::clock();
  EXPECT_EQ(cut_apart(names.front(), names, 20), names.front());
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 1) << "of processor time";
}

TEST(RunsTable, PutsWhatNeedsALookFirstAndCountsTheRest) {
  std::vector<Input> inputs(30);
  std::vector<RunLine> runs;
  for (Input& in : inputs) in = named_input();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (i != 7) inputs[i].diagnosis.findings.clear();
    inputs[i].diagnosis.answer.kind = i == 7 ? AnswerKind::Named : AnswerKind::Nobody;
    runs.push_back({"run-" + std::to_string(i) + "\x1b[2J", &inputs[i].diagnosis});
  }
  for (const std::size_t columns : {40U, 80U}) {
    const auto lines = lines_of(
        render_runs(runs, {.columns = columns}, "cox diagnose d --run NAME", "cox diagnose d --all"));
    EXPECT_LE(lines.size(), kScreenLines);
    for (const std::string& line : lines) EXPECT_LE(line.size(), columns) << line;
    EXPECT_EQ(lines[1].rfind("run-7", 0), 0U) << lines[1];
    EXPECT_EQ(lines[1].find('\x1b'), std::string::npos);
    EXPECT_TRUE(std::any_of(lines.begin(), lines.end(),
                            [](const std::string& l) { return l.rfind("and ", 0) == 0; }));
  }
}

}  // namespace
}  // namespace cox::report
