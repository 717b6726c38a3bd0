// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/diagnose_command.hpp"

#include <fmt/format.h>

#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "cox/base/process_table.hpp"
#include "cox/diagnose/comparison.hpp"
#include "cox/diagnose/diagnosis.hpp"
#include "cox/report/terminal.hpp"

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
Result<std::optional<diagnose::Diagnosis>> diagnose_before(const Asked& asked) {
  const std::string path = asked.call.value("against");
  if (path.empty()) return std::nullopt;
  COX_TRY(const trace::ImportedJob before, read_only_job(path, asked.call, asked.console));
  COX_TRY(diagnose::Diagnosis d, diagnose_one(before, asked));
  return std::optional(std::move(d));
}

/// Writes one run's diagnosis. `alone`: it is the only one, so its name goes without saying.
void print(const trace::Run& run, const diagnose::Diagnosis& d,
           const std::optional<diagnose::Diagnosis>& before, const Asked& asked, bool alone, Output& output) {
  const Invocation& call = asked.call;
  std::ostream& out = output.stream();
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
    if (!alone) out << fmt::format("== {}\n", run.info.name);
    const bool color =
        use_color(call.common.color, asked.console.out_is_terminal && !output.is_file(), asked.console);
    out << report::render_text(run, d, color ? report::Color::On : report::Color::Off, against);
    if (!alone) out << '\n';
  }
}

/// The runs as sizes of one program, smallest first.
Status print_sizes(const std::vector<diagnose::Efficiencies>& sizes, const Invocation& call, Output& output) {
  const auto problem =
      call.value("sizes") == "grows" ? diagnose::ProblemSize::Grows : diagnose::ProblemSize::Fixed;
  const auto compared = diagnose::compare_sizes(sizes, problem);
  if (!compared)
    return fail(Error{
        .code = Errc::Usage,
        .id = "cli-003",
        .message = fmt::format("--sizes: {} runs with efficiencies, expected at least two", sizes.size()),
        .hint = "name a folder that holds runs of one program on several sizes",
        .where = Where{.file = call.args.front()}});
  if (call.common.json) {
    output.stream() << diagnose::to_json(*compared, call.args.front());
    return {};
  }
  output.stream() << "== sizes\n";
  for (const std::string& line : diagnose::scaling_lines(*compared)) output.stream() << line << '\n';
  return {};
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

Result<ExitCode> run(const Invocation& call, Console& console) {
  COX_CHECK(check_forms(call));
  const auto if_exists = call.has("force") ? IfExists::Replace : IfExists::Fail;
  COX_TRY(Output output, Output::open(call.value("output"), if_exists, console.out));
  const Asked asked{call, console, this_machine().monotonic_ns()};
  COX_TRY(const std::vector<trace::ImportedJob> jobs, read_jobs(call.args.front(), call, console));
  COX_TRY(const std::optional<diagnose::Diagnosis> before, diagnose_before(asked));
  bool trouble = false;
  std::size_t told = 0;
  std::vector<diagnose::Efficiencies> sizes;
  for (const trace::ImportedJob& each : jobs) {
    Result<diagnose::Diagnosis> made = diagnose_one(each, asked);
    if (!made && jobs.size() == 1) return fail(std::move(made).error());
    if (!made) {
      console.err << fmt::format("cox: warning: {}: {}\n", each.run.info.name, made.error().message);
      continue;
    }
    ++told;
    print(each.run, *made, before, asked, jobs.size() == 1, output);
    trouble = trouble || diagnose::has_trouble(*made);
    if (made->efficiencies) sizes.push_back(*made->efficiencies);
  }
  if (told == 0) return fail(diagnose::diagnose(jobs.front().run).error());
  if (!call.value("sizes").empty()) COX_CHECK(print_sizes(sizes, call, output));
  COX_CHECK(output.commit());
  return call.has("check") && trouble ? ExitCode::BadAnswer : ExitCode::Ok;
}

}  // namespace

const Command& diagnose_command() {
  static const Command command{
      .spec =
          {.name = "diagnose",
           .summary = "say who sets the pace of a Run or trace, why, and what it costs",
           .about =
               "Says which ranks set the pace of a Run or trace, what that costs, and what the input cannot tell.",
           .examples = {{"cox diagnose run", "verdict, coverage, ranking of ranks"},
                        {"cox diagnose traces/", "whatever lies there: profiler traces, rings, MPI traces"},
                        {"cox diagnose run --json -o run.json", "the same for programs"}},
           .args = {path_arg()},
           .flags = {{.name = "check",
                      .help = "exit with 1 where somebody is named, a call hangs or members disagree"},
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
               "What could not be read is listed on standard error and counted in the coverage. A folder may "
               "hold several runs: each is told in turn, with --json as one document after another."},
      .run = run};
  return command;
}

}  // namespace cox::cli
