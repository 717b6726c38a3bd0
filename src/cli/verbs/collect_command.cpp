// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/collect_command.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "cox/base/child.hpp"
#include "cox/base/units_text.hpp"
#include "cox/report/terminal.hpp"
#include "cox/trace/collect.hpp"

#include "cli/frame/interrupt.hpp"
#include "cli/input/run_input.hpp"
#include "cli/output/envelope.hpp"
#include "cli/output/failure.hpp"

namespace cox::cli {
namespace {

std::string sentence(const trace::CollectReport& r, std::size_t inputs, const std::string& out) {
  std::string text = fmt::format(
      "collected {} {} of {} {} in {} ({})\n", r.processes, r.processes == 1 ? "process" : "processes",
      inputs, inputs == 1 ? "input" : "inputs", report::terminal_text(out), to_string(r.bytes));
  if (r.repeated > 0) text += fmt::format("{} were in more than one input\n", r.repeated);
  if (r.kept_raw > 0)
    text += fmt::format("left {} raw: damaged, or their processes may still run\n", r.kept_raw);
  return text;
}

Result<ExitCode> run(const Invocation& call, Console& console) {
  const std::string out = call.value("output");
  if (out.empty())
    return fail(usage_error("cli-004", "-o RUN is missing",
                            "for example: " + std::string(call.command->spec.examples.front().command)));
  const FinishFirst unbroken;
  const std::vector<std::filesystem::path> inputs(call.args.begin(), call.args.end());
  COX_TRY(const trace::CollectReport report, trace::collect_runs(inputs, out, call.common.threads));
  warn_about(report.notes, call, console);
  if (!call.common.json) {
    console.out << sentence(report, inputs.size(), out);
    if (!call.common.quiet)
      console.err << fmt::format("cox: next: cox diagnose {}\n", report::terminal_text(shell_word(out)));
    return ExitCode::Ok;
  }
  std::vector<std::string> warnings;
  warnings.reserve(report.notes.size());
  for (const trace::Note& note : report.notes)
    warnings.push_back(fmt::format("{}: {}", note.file, note.text));
  console.out << to_json({.schema = "cox.collect/1", .inputs = call.args, .warnings = warnings},
                         JsonObject{{"run", out},
                                    {"processes", report.processes},
                                    {"repeated", report.repeated},
                                    {"kept_raw", report.kept_raw},
                                    {"bytes", report.bytes.count()}});
  return ExitCode::Ok;
}

}  // namespace

const Command& collect_command() {
  static const Command command{
      .spec =
          {.name = "collect",
           .summary = "put the folders of several hosts together into one Run",
           .about = "Copies what a job left in the folders of several hosts into one new Run.",
           .examples = {{"cox collect host-a/run host-b/run -o run", "folders copied from the hosts"},
                        {"cox collect run-* -o run --json", "processes and bytes for programs"}},
           .args = {{.name = "PATH",
                     .help = "Run folder, or one file of it",
                     .complete = Complete::Folder,
                     .repeats = true}},
           .flags = {{.name = "output",
                      .letter = 'o',
                      .value = "RUN",
                      .help = "the new folder; required",
                      .complete = Complete::Folder}},
           .shared = {.json = true, .threads = true},
           .notes =
               "The inputs stay as they are, and nothing is replaced: RUN must not be there yet. It appears "
               "when all of it is written, or not at all. Raw files that are whole are compacted on the way. "
               "Files of one name and different content are both kept."},
      .run = run};
  return command;
}

}  // namespace cox::cli
