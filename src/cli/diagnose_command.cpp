// SPDX-License-Identifier: Apache-2.0
#include "cli/diagnose_command.hpp"

#include "cox/base/process_table.hpp"
#include "cox/diagnose/diagnosis.hpp"
#include "cox/report/terminal.hpp"

#include "cli/output_file.hpp"
#include "cli/run_input.hpp"
#include "cli/terminal.hpp"

namespace cox::cli {
namespace {

Result<ExitCode> run(const Invocation& call, Console& console) {
  const auto if_exists = call.has("force") ? IfExists::Replace : IfExists::Fail;
  COX_TRY(Output output, Output::open(call.value("output"), if_exists, console.out));
  const std::int64_t asked = this_machine().monotonic_ns();
  COX_TRY(const trace::Run run, read_run(call, console));
  const auto progress = make_progress(call, console, "diagnosing");
  Result<diagnose::Diagnosis> made = diagnose::diagnose(run, {.threads = call.common.threads,
                                                              .progress = callback(*progress),
                                                              .processes = &this_machine(),
                                                              .asked_monotonic_ns = asked});
  progress->finish();
  COX_TRY(const diagnose::Diagnosis diagnosis, std::move(made));
  if (call.common.json) {
    output.stream() << diagnose::to_json(diagnosis, run, call.args.front());
  } else {
    const bool color = use_color(call.common.color, console.out_is_terminal && !output.is_file(), console);
    output.stream() << report::render_text(run, diagnosis, color ? report::Color::On : report::Color::Off);
  }
  COX_CHECK(output.commit());
  return call.has("check") && diagnose::has_trouble(diagnosis) ? ExitCode::BadAnswer : ExitCode::Ok;
}

}  // namespace

const Command& diagnose_command() {
  static const Command command{
      .spec =
          {.name = "diagnose",
           .summary = "say who sets the pace of a Run, why, and what it costs",
           .about =
               "Says which ranks set the pace of a Run, what that costs, and what the input cannot tell.",
           .examples = {{"cox diagnose run", "verdict, coverage, ranking of ranks"},
                        {"cox diagnose run --json -o run.json", "the same for programs"}},
           .args = {{.name = "PATH", .help = "Run folder, or one of its files", .complete = Complete::File}},
           .flags = {{.name = "check",
                      .help = "exit with 1 where somebody is named, a call hangs or members disagree"},
                     {.name = "output",
                      .letter = 'o',
                      .value = "FILE",
                      .help = "write there instead of to standard output",
                      .complete = Complete::File},
                     {.name = "force", .letter = 'f', .help = "replace FILE where it exists"}},
           .shared = {.json = true, .threads = true},
           .notes =
               "Naming nobody is an answer: no finding means that the differences between ranks are noise. "
               "What could not be read is listed on standard error and counted in the coverage."},
      .run = run};
  return command;
}

}  // namespace cox::cli
