// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/study_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "cox/base/file.hpp"
#include "cox/base/spelling.hpp"
#include "cox/evaluate/computations.hpp"
#include "cox/report/terminal.hpp"
#include "cox/study/computation.hpp"
#include "cox/study/study.hpp"
#include "cox/study/write.hpp"

#include "cli/frame/embedded.hpp"
#include "cli/input/changes.hpp"
#include "cli/output/envelope.hpp"
#include "cli/output/failure.hpp"
#include "cli/output/terminal.hpp"
#include "cli/verbs/pacing_study_command.hpp"

namespace cox::cli {
namespace {

constexpr const char* kAll = "all";
constexpr const char* kPacing = "pacing";

/// Those of --studies, else those that are part of the program.
Result<std::vector<study::Study>> known_studies(const Invocation& call) {
  if (const std::string folder = call.value("studies"); !folder.empty()) return study::read_studies(folder);
  std::vector<study::Study> studies;
  for (const EmbeddedFile& file : embedded_studies()) {
    if (file.name == study::kPacingFile) continue;
    COX_TRY(study::Study s, study::parse_study(file.text, fmt::format("studies/{}", file.name)));
    studies.push_back(std::move(s));
  }
  return studies;
}

Result<ExitCode> list_studies(std::vector<study::Study> studies, const Invocation& call, Console& console) {
  if (call.value("studies").empty()) {  // measured, not computed: no file of the others' form
    study::Study pacing;
    pacing.name = kPacing;
    pacing.title = "What pacing early ranks is worth";
    pacing.question =
        "What does it bring to hold early ranks back? (measured here: cox study pacing --quick)";
    pacing.source = "studies/pacing.toml";
    const auto after =
        std::find_if(studies.begin(), studies.end(), [](const study::Study& s) { return s.name > kPacing; });
    studies.insert(after, std::move(pacing));
  }
  for (study::Study& s : studies) {
    COX_TRY(s.question, study::question_of(s));
  }
  std::vector<JsonObject> list;
  std::string text;
  std::size_t wide = 0;
  for (const study::Study& s : studies) wide = std::max(wide, s.name.size());
  for (const study::Study& s : studies) {
    list.push_back({{"name", s.name}, {"title", s.title}, {"question", s.question}, {"source", s.source}});
    text +=
        fmt::format("{:<{}}  {}\n", report::terminal_text(s.name), wide, report::terminal_text(s.question));
  }
  console.out << (call.common.json ? to_json({.schema = "cox.study-list/1"}, "studies", list) : text);
  return ExitCode::Ok;
}

/// The one that is asked for, or all of them.
Result<std::vector<study::Study>> chosen(std::vector<study::Study> studies, const std::string& name) {
  if (name == kAll) return studies;
  std::vector<std::string> names = {kAll, kPacing};
  for (study::Study& s : studies) {
    if (s.name == name) return std::vector<study::Study>{std::move(s)};
    names.push_back(s.name);
  }
  const auto near = nearest(name, names);
  return fail(
      usage_error("study-006", fmt::format("no study has the name '{}'", name),
                  near ? fmt::format("did you mean {}?", *near) : "`cox study --list` shows all of them"));
}

Status write_answers(const std::vector<study::AnsweredStudy>& answers, const std::filesystem::path& folder,
                     bool all, IfExists if_exists) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem)
    return fail(Error{.code = Errc::Io,
                      .id = "base-006",
                      .message = fmt::format("cannot make the folder: {}", problem.message()),
                      .hint = "check the path and its rights",
                      .where = Where{.file = folder.string()}});
  for (const study::AnsweredStudy& a : answers) {
    const std::string svg = study::to_svg(a);
    const std::string& name = a.study.name;
    const std::string picture = svg.empty() ? "" : name + ".svg";
    COX_CHECK(write_file_atomically(folder / (name + ".md"), study::to_markdown(a, picture), if_exists));
    COX_CHECK(write_file_atomically(folder / (name + ".csv"), study::to_csv(a), if_exists));
    if (!svg.empty()) COX_CHECK(write_file_atomically(folder / picture, svg, if_exists));
  }
  if (!all) return {};
  return write_file_atomically(folder / "README.md", study::index_markdown(answers), if_exists);
}

void warn_about_checks(const study::AnsweredStudy& a, Console& console) {
  for (const study::CrossCheck& c : a.computation.checks)
    if (!c.agrees())
      console.err << fmt::format("cox: warning: {}: {}\n", report::terminal_text(a.study.name),
                                 report::terminal_text(study::to_text(c)));
}

/// Those that only make sense for what is measured.
Status check_flags(const Invocation& call) {
  for (const char* flag : {"quick", "full", "dry-run", "from", "only", "into"})
    if (call.has(flag) || !call.value(flag).empty())
      return fail(usage_error("cli-003", fmt::format("--{} belongs to the study {}", flag, kPacing),
                              fmt::format("`cox study {} --{}`", kPacing, flag)));
  return {};
}

Result<ExitCode> run(const Invocation& call, Console& console) {
  if (!call.has("list") && !call.args.empty() && call.args.front() == kPacing)
    return run_pacing_study(call, console);
  COX_CHECK(check_flags(call));
  if (call.has("list") && !call.args.empty())
    return fail(usage_error("cli-003", fmt::format("--list and the name '{}' clash", call.args.front()),
                            "`cox study --list` lists all of them"));
  COX_TRY(std::vector<study::Study> studies, known_studies(call));
  if (call.has("list") || call.args.empty()) return list_studies(std::move(studies), call, console);
  const std::string& name = call.args.front();
  COX_TRY(studies, chosen(std::move(studies), name));
  const std::vector<std::string> changes = split_changes(call.value("set"));
  if (!changes.empty() && name == kAll)
    return fail(
        usage_error("cli-003", "--set changes the inputs of one study, not of all", "name the study"));
  COX_CHECK(study::set_inputs(studies.front(), changes));
  const study::ComputationTable known = evaluate::computations();
  std::vector<study::AnsweredStudy> answers;
  for (const study::Study& s : studies) {
    COX_TRY(study::AnsweredStudy a, study::run_study(s, known, {.threads = call.common.threads}));
    answers.push_back(std::move(a));
  }
  for (const study::AnsweredStudy& a : answers) warn_about_checks(a, console);
  if (const std::string folder = call.value("output"); !folder.empty()) {
    const auto if_exists = call.has("force") ? IfExists::Replace : IfExists::Fail;
    COX_CHECK(write_answers(answers, folder, name == kAll, if_exists));
    if (!call.common.quiet && !call.common.json)
      console.err << fmt::format("cox: wrote {} to {}\n",
                                 answers.size() == 1 ? answers.front().study.name + ".md, .csv and .svg"
                                                     : fmt::format("{} studies", answers.size()),
                                 report::terminal_text(folder));
  }
  if (call.common.json) {
    console.out << study::to_json(answers, {name});
    return ExitCode::Ok;
  }
  for (const study::AnsweredStudy& a : answers)
    console.out << terminal_lines(study::to_text(a)) << (answers.size() > 1 ? "\n" : "");
  return ExitCode::Ok;
}

}  // namespace

const Command& study_command() {
  static const Command command{
      .spec =
          {.name = "study",
           .summary = "compute what a source printed, and say whether it follows",
           .about =
               "Computes studies with the engines and compares the result with what their source printed.",
           .examples = {{"cox study allreduce-crossover", "printed and computed, side by side"},
                        {"cox study stragglers --set workers=64", "another input, judged again"},
                        {"cox study pacing --quick", "what holding early ranks back does on this machine"}},
           .args = {{.name = "NAME",
                     .help = "a study, all, or pacing (measured here); without one they are listed",
                     .required = false}},
           .flags =
               {{.name = "list", .help = "list the studies"},
                {.name = "set",
                 .value = "NAME=VALUE,...",
                 .help = "inputs instead of the study's, judged again: workers=64,sizes=[1MB,1GB]"},
                {.name = "output",
                 .letter = 'o',
                 .value = "DIR",
                 .help = "also write NAME.md, .csv and .svg into this folder; pacing: this JSON file",
                 .complete = Complete::Folder},
                {.name = "force", .letter = 'f', .help = "replace files"},
                {.name = "quick", .help = "pacing: measure four conditions, some 7 minutes"},
                {.name = "full", .help = "pacing: measure all conditions, at most 25 minutes"},
                {.name = "only",
                 .value = "CONDITION",
                 .help = "pacing: these only, A,B,...; `sizes` is one of them"},
                {.name = "into",
                 .value = "FILE",
                 .help =
                     "pacing: with --full, put them into earlier results; with --from, claims into a page"},
                {.name = "dry-run", .help = "pacing: print what would be measured"},
                {.name = "from",
                 .value = "FILE",
                 .help = "pacing: write pacing.md into DIR from the results in FILE",
                 .complete = Complete::File},
                {.name = "studies",
                 .value = "DIR",
                 .help = "studies of this folder (*.toml) instead of those that are part of cox",
                 .complete = Complete::Folder}},
           .shared = {.json = true, .threads = true},
           .notes =
               "A printed number follows or does not follow; that is computed. What a study's file declares beside "
               "it (an input that the source does not state, a number that was fitted or drawn) is checked, named in "
               "the verdict and counted apart, and never replaces the comparison: docs/reference/study-files.md.\n\n"
               "Pacing is another kind of study: real processes are measured on this machine, which should "
               "be idle. What runs and how it is judged is frozen in studies/pacing.toml. Conditions with a "
               "network need root; what cannot run here is skipped, and the reason is printed. "
               "--full writes its results to pacing.json unless -o says otherwise."},
      .run = run};
  return command;
}

}  // namespace cox::cli
