// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/diagnose_command.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cox/base/child.hpp"
#include "cox/base/process_table.hpp"
#include "cox/base/unknown_unit.hpp"
#include "cox/diagnose/comparison.hpp"
#include "cox/diagnose/diagnosis.hpp"
#include "cox/diagnose/runs.hpp"
#include "cox/diagnose/told.hpp"
#include "cox/report/terminal.hpp"
#include "cox/trace/figures.hpp"
#include "cox/trace/time_unit.hpp"

#include "cli/input/run_input.hpp"
#include "cli/output/output_file.hpp"
#include "cli/output/terminal.hpp"

namespace cox::cli {
namespace {

struct Asked {
  const Invocation& call;
  Console& console;
  std::int64_t at_monotonic_ns = 0;
};

Result<diagnose::Diagnosis> diagnose_one(const trace::ImportedJob& job, const Asked& asked) {
  const auto progress = make_progress(asked.call, asked.console, "diagnosing");
  Result<diagnose::Diagnosis> made = diagnose::diagnose(job.run, {.threads = asked.call.common.threads,
                                                                  .progress = callback(*progress),
                                                                  .processes = &this_machine(),
                                                                  .asked_monotonic_ns = asked.at_monotonic_ns,
                                                                  .program = &job.program});
  progress->finish();
  return made;
}

/// The run that `--against` names, diagnosed; nothing where it was not asked for.
Result<std::optional<diagnose::Diagnosis>> diagnose_before(const std::vector<trace::ImportedJob>& after,
                                                           const Asked& asked) {
  const std::string path = asked.call.value("against");
  if (path.empty()) return std::nullopt;
  COX_TRY(const trace::ImportedJob before, read_only_job(path, asked.call, asked.console));
  for (const trace::ImportedJob& job : after) COX_CHECK(check_units(before.run, job.run));
  COX_TRY(diagnose::Diagnosis d, diagnose_one(before, asked));
  return std::optional(std::move(d));
}

/// A word of a command line, as a shell and a terminal may be shown it.
std::string quoted(const std::string& word) {
  return report::terminal_text(shell_word(word));
}

/// The command that was given, without the options of its output, and with others.
std::string command_with(const Invocation& call, const std::string& options) {
  std::string text = "cox diagnose " + quoted(call.args.front());
  for (const char* option : {"run", "against"})
    if (const std::string value = call.value(option); !value.empty())
      text += fmt::format(" --{} {}", option, quoted(value));
  return text + options;
}

report::TextStyle style_of(const Asked& asked, const Output& output) {
  return text_style(asked.call.common.color, asked.console.out_is_terminal && !output.is_file(),
                    asked.console);
}

/// Whether the answer is text for people, not one of the other forms.
bool is_text(const Invocation& call) {
  return !call.common.json && !call.has("summary") && !call.has("markdown");
}

/// Writes one run's diagnosis. `alone`: it is the only one, so its name goes without saying.
void print(const trace::Run& run, const diagnose::Diagnosis& d,
           const std::optional<diagnose::Diagnosis>& before, const Asked& asked, bool alone, Output& output) {
  const Invocation& call = asked.call;
  std::ostream& out = output.stream();
  const UnknownUnit unit(trace::unknown_unit(run.ranks));
  std::optional<diagnose::Comparison> comparison;
  if (before) comparison = diagnose::compare(*before, d);
  const diagnose::Comparison* against = comparison ? &*comparison : nullptr;
  const std::string& input = call.args.front();
  if (call.has("summary")) {
    out << diagnose::to_summary(d, run, input);
  } else if (call.common.json) {
    out << diagnose::to_json(d, run, input, against);
  } else if (call.has("markdown")) {
    out << report::render_markdown(run, d, against);
  } else {
    const report::TextStyle style = style_of(asked, output);
    if (!alone) out << fmt::format("\n== {}\n", report::terminal_text(run.info.name));
    out << (call.has("all") ? report::render_text(run, d, style, against)
                            : report::render_screen(run, d, style, command_with(call, " --all"), against));
  }
}

/// The runs as sizes of one program, smallest first.
Status print_sizes(const std::vector<std::shared_ptr<const diagnose::Efficiencies>>& sizes,
                   const Invocation& call, Output& output) {
  const auto problem =
      call.value("sizes") == "grows" ? diagnose::ProblemSize::Grows : diagnose::ProblemSize::Fixed;
  const auto compared = diagnose::tell_sizes(sizes, problem, call.args.front());
  if (!compared)
    return fail(Error{
        .code = Errc::Usage,
        .id = "cli-003",
        .message = fmt::format("--sizes: {} runs with efficiencies, expected at least two", sizes.size()),
        .hint = "name a folder that holds runs of one program on several sizes",
        .where = Where{.file = call.args.front()}});
  if (call.common.json) {
    output.stream() << compared->json;
    return {};
  }
  output.stream() << "== sizes\n";
  for (const std::string& line : compared->lines) output.stream() << line << '\n';
  return {};
}

/// Runs that lie side by side and tell the length of their steps only are held against each other.
void print_runs(const std::vector<diagnose::RunTimes>& runs, std::optional<Seconds> unknown_unit,
                const std::vector<std::string>& warnings, const Asked& asked, Output& output) {
  const Invocation& call = asked.call;
  if (call.has("summary")) return;
  const UnknownUnit unit(unknown_unit);
  const diagnose::Told told = diagnose::tell_runs(runs, call.args.front(), warnings);
  if (told.lines.empty()) return;
  if (call.common.json)
    output.stream() << told.json;
  else if (call.has("markdown"))
    output.stream() << "## Runs side by side\n\n" << report::render_list(told.lines);
  else
    output.stream() << "== runs side by side\n" << report::render_lines(told.lines, style_of(asked, output));
}

/// Figures of a file; nothing where it is a folder, missing, or something else.
Result<std::optional<trace::Figures>> figures_at(const std::string& path) {
  std::error_code ec;
  if (!std::filesystem::is_regular_file(path, ec)) return std::nullopt;
  // What cannot be opened or unpacked is told by the import.
  Result<std::optional<trace::Figures>> found = trace::read_figures(path);
  if (!found && found.error().id != "import-005") return std::nullopt;
  return found;
}

/// Figures that lie in a folder without anything else that is known, where that is why it cannot be read.
std::optional<trace::Figures> figures_in_place_of(const std::string& path, const Error& error) {
  std::error_code ec;
  if (error.id != "import-001" || !std::filesystem::is_directory(path, ec)) return std::nullopt;
  return trace::read_figures_folder(path);
}

/// They choose among runs.
Status check_options_of_figures(const Invocation& call) {
  for (const char* option : {"run", "sizes"})
    if (!call.value(option).empty())
      return fail(Error{.code = Errc::Usage,
                        .id = "cli-003",
                        .message = fmt::format("--{} has no meaning for figures, expected runs", option),
                        .hint = "benchmarks and summaries hold no run: leave the option out",
                        .where = Where{.file = call.args.front()}});
  return {};
}

/// Figures are no Run: they have an answer of their own.
Result<ExitCode> answer_figures(const trace::Figures& figures, const Asked& asked, Output& output) {
  const Invocation& call = asked.call;
  COX_CHECK(check_options_of_figures(call));
  std::optional<trace::Figures> before;
  if (const std::string path = call.value("against"); !path.empty()) {
    COX_TRY(before, figures_at(path));
    if (!before) before = trace::read_figures_folder(path);
    if (!before || before->table.index() != figures.table.index())
      return fail(
          Error{.code = Errc::Usage,
                .id = "cli-003",
                .message = "--against: figures are compared with figures of their kind",
                .hint = "times over message sizes with such, summaries per rank with such, runs with runs",
                .where = Where{.file = path}});
    const auto* sizes = std::get_if<trace::SizeTable>(&figures.table);
    if (sizes != nullptr && sizes->has_unit != std::get<trace::SizeTable>(before->table).has_unit)
      return fail(mixed_units());
  }
  const diagnose::Told answer =
      diagnose::tell_figures(figures, before ? &*before : nullptr, call.args.front());
  if (call.has("summary")) {
    output.stream() << answer.summary;
  } else if (call.common.json) {
    output.stream() << answer.json;
  } else if (call.has("markdown")) {
    output.stream() << report::render_list(answer.lines);
  } else {
    const std::string more = call.has("all") ? std::string() : command_with(call, " --all");
    output.stream() << report::render_lines(answer.lines, style_of(asked, output), more);
  }
  COX_CHECK(output.commit());
  if (!call.has("check")) return ExitCode::Ok;
  if (!answer.is_clean) return ExitCode::BadAnswer;
  return figures.damaged > 0 ? ExitCode::BadInput : ExitCode::Ok;
}

/// One form of output at a time.
Status check_forms(const Invocation& call) {
  const int forms = int{call.common.json} + int{call.has("markdown")} + int{call.has("summary")};
  if (forms < 2) return {};
  return fail(Error{.code = Errc::Usage,
                    .id = "cli-003",
                    .message = "--json, --markdown and --summary clash, expected one of them",
                    .hint = "run it once for each: reading is cheap",
                    .where = {}});
}

/// What --check asks for: nobody named or, with a run from before, not slower than that. A test that could not be made is
/// not passed.
bool is_clean(const diagnose::Diagnosis& d, const std::optional<diagnose::Diagnosis>& before) {
  if (!before) return d.answer.kind == diagnose::AnswerKind::Nobody;
  const diagnose::Comparison c = diagnose::compare(*before, d);
  return d.answer.kind != diagnose::AnswerKind::JobFailed && c.has_enough_steps && c.differs.empty() &&
         !diagnose::is_slower(c);
}

/// The runs of an input that could be diagnosed, and what could not.
struct Answered {
  std::vector<std::pair<trace::Run*, diagnose::Diagnosis>> runs;
  std::vector<trace::Note> unread;
};

/// Diagnoses every run. With one alone its error is the answer.
Result<Answered> diagnose_all(FoundJobs& found, const Asked& asked) {
  Answered out{.runs = {}, .unread = std::move(found.unread)};
  for (trace::ImportedJob& each : found.jobs) {
    Result<diagnose::Diagnosis> made = diagnose_one(each, asked);
    if (made) {
      out.runs.emplace_back(&each.run, *std::move(made));
      continue;
    }
    if (found.jobs.size() == 1) return fail(std::move(made).error());
    out.unread.push_back({each.run.info.name, made.error().message});
    asked.console.err << fmt::format("cox: warning: {}\n",
                                     report::terminal_text(each.run.info.name + ": " + made.error().message));
  }
  if (out.runs.empty()) return fail(diagnose::diagnose(found.jobs.front().run).error());
  // Each document tells what is missing beside it.
  for (auto& [run, d] : out.runs) run->notes.insert(run->notes.end(), out.unread.begin(), out.unread.end());
  return out;
}

void print_table(const Answered& answered, const Asked& asked, Output& output) {
  std::vector<report::RunLine> lines;
  lines.reserve(answered.runs.size());
  for (const auto& [run, d] : answered.runs)
    lines.push_back({run->info.name, &d, trace::unknown_unit(run->ranks)});
  output.stream() << report::render_runs(lines, style_of(asked, output),
                                         command_with(asked.call, " --run NAME"),
                                         command_with(asked.call, " --all"));
}

/// What the runs are together: sizes of one program, or series side by side.
Status print_together(const Answered& answered, bool several, const Asked& asked, Output& output) {
  std::vector<std::shared_ptr<const diagnose::Efficiencies>> sizes;
  std::map<std::optional<Seconds>, std::vector<diagnose::RunTimes>> steps;  // by unknown unit
  for (const auto& [run, d] : answered.runs) {
    if (several && run->times == trace::TimesKind::Steps)
      steps[trace::unknown_unit(run->ranks)].push_back({.name = run->info.name, .steps = d.step_times});
    if (d.efficiencies) sizes.push_back(d.efficiencies);
  }
  if (!asked.call.value("sizes").empty()) COX_CHECK(print_sizes(sizes, asked.call, output));
  std::vector<std::string> warnings;
  warnings.reserve(answered.unread.size());
  for (const trace::Note& note : answered.unread) warnings.push_back(note.file + ": " + note.text);
  for (const auto& [unit, runs] : steps) print_runs(runs, unit, warnings, asked, output);
  return {};
}

/// A part that could not be read may hold what the others do not: then a good answer is not one of the input.
ExitCode checked(const Answered& answered, const std::optional<diagnose::Diagnosis>& before) {
  for (const auto& [run, d] : answered.runs)
    if (!is_clean(d, before)) return ExitCode::BadAnswer;
  return answered.unread.empty() ? ExitCode::Ok : ExitCode::BadInput;
}

Result<ExitCode> run(const Invocation& call, Console& console) {
  COX_CHECK(check_forms(call));
  const auto if_exists = call.has("force") ? IfExists::Replace : IfExists::Fail;
  COX_TRY(Output output, Output::open(call.value("output"), if_exists, console.out));
  COX_TRY(const std::optional<trace::Figures> figures, figures_at(call.args.front()));
  const Asked asked{call, console, this_machine().monotonic_ns()};
  if (figures) return answer_figures(*figures, asked, output);
  Result<FoundJobs> read = read_jobs(call.args.front(), call, console);
  if (!read) {
    if (const auto folder = figures_in_place_of(call.args.front(), read.error()))
      return answer_figures(*folder, asked, output);
    return fail(std::move(read).error());
  }
  FoundJobs found = *std::move(read);
  COX_TRY(const std::optional<diagnose::Diagnosis> before, diagnose_before(found.jobs, asked));
  COX_TRY(const Answered answered, diagnose_all(found, asked));
  // Of several runs people see one table first; what it is made of is kept for --all.
  const bool several = found.jobs.size() > 1;
  const bool table_first = several && is_text(call);
  if (table_first) print_table(answered, asked, output);
  if (!table_first || call.has("all"))
    for (const auto& [run, d] : answered.runs) print(*run, d, before, asked, !several, output);
  COX_CHECK(print_together(answered, several, asked, output));
  COX_CHECK(output.commit());
  return call.has("check") ? checked(answered, before) : ExitCode::Ok;
}

}  // namespace

const Command& diagnose_command() {
  static const Command command{
      .spec =
          {.name = "diagnose",
           .summary = "say who sets the pace of a Run or trace, why, and what it costs",
           .about =
               "Says which ranks set the pace of a Run or trace, what that costs, and what the input cannot tell.",
           .examples = {{"cox diagnose run", "the answer, on one screen"},
                        {"cox diagnose traces/", "whatever lies there: profiler traces, rings, MPI traces"},
                        {"cox diagnose run --json -o run.json", "the same for programs"}},
           .args = {path_arg()},
           .flags = {{.name = "check",
                      .help = "exit with 1 unless nobody named (--against: not slower), 3: part not read"},
                     {.name = "all", .help = "everything that was found, not only the first screen"},
                     run_flag(),
                     {.name = "against",
                      .value = "PATH",
                      .help = "compare with this run of the same job, before a change",
                      .complete = Complete::File},
                     {.name = "sizes",
                      .value = "PROBLEM",
                      .help =
                          "the runs are sizes of one program whose problem is fixed, or grows with the ranks",
                      .complete = Complete::Choices,
                      .choices = {"fixed", "grows"}},
                     {.name = "markdown", .help = "a page of Markdown, for a ticket"},
                     {.name = "summary", .help = "about a kilobyte of JSON on one line, for a log"},
                     {.name = "output",
                      .letter = 'o',
                      .value = "FILE",
                      .help = "write there instead of to standard output",
                      .complete = Complete::File},
                     {.name = "force", .letter = 'f', .help = "replace FILE where it exists"}},
           .shared = {.json = true, .threads = true},
           .notes =
               "Naming nobody is an answer: no finding means that the differences between ranks are noise. "
               "Where the input cannot carry that test, or the job failed, it says so instead. "
               "What could not be read is listed on standard error and counted in the coverage. A folder may "
               "hold several runs: a table of them comes first, --run NAME tells one and --all each in turn; with "
               "--json they are one document after another. Text is as wide as the terminal, or as COLUMNS says, "
               "from 40 to 80; in a locale without UTF-8 it is ASCII."},
      .run = run};
  return command;
}

}  // namespace cox::cli
