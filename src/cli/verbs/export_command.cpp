// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/export_command.hpp"

#include <fmt/format.h>

#include <ostream>

#include "cox/report/terminal.hpp"
#include "cox/trace/export.hpp"

#include "cli/input/run_input.hpp"
#include "cli/output/envelope.hpp"
#include "cli/output/output_file.hpp"

namespace cox::cli {
namespace {

constexpr const char* kDefaultOutput = "trace.json";
constexpr const char* kDefaultFormat = "perfetto";

Result<ExitCode> run(const Invocation& call, Console& console) {
  const std::string name = call.value("output", kDefaultOutput);
  COX_TRY(Output output, open_output(name, "trace", call, console));
  COX_TRY(const trace::Run run, read_run(call, console));
  COX_CHECK(trace::export_perfetto(run, output.stream()));
  COX_CHECK(output.commit());
  const auto events = static_cast<std::int64_t>(run.event_count());
  if (call.common.json) {
    console.out << to_json(
        {.schema = "cox.export/1", .inputs = {call.args.front()}},
        JsonObject{{"file", name}, {"format", std::string(kDefaultFormat)}, {"events", events}});
  } else if (output.is_file() && !call.common.quiet) {
    console.err << fmt::format("cox: wrote {} ({} events); open it in ui.perfetto.dev\n",
                               report::terminal_text(name), events);
  }
  return ExitCode::Ok;
}

}  // namespace

const Command& export_command() {
  static const Command command{
      .spec = {.name = "export",
               .summary = "write a Run in another tool's format",
               .about = "Writes a Run in another tool's format.",
               .examples = {{"cox export run", "writes trace.json for ui.perfetto.dev"},
                            {"cox export run --to perfetto -o - | gzip > t.json.gz", "the same, packed"}},
               .args = {path_arg()},
               .flags = {run_flag(),
                         {.name = "to",
                          .value = "FORMAT",
                          .help = "perfetto: Chrome trace-event JSON, times in microseconds",
                          .fallback = kDefaultFormat,
                          .complete = Complete::Choices,
                          .choices = {kDefaultFormat}},
                         {.name = "output",
                          .letter = 'o',
                          .value = "FILE",
                          .help = "the trace; - for standard output",
                          .fallback = kDefaultOutput,
                          .complete = Complete::File},
                         {.name = "force", .letter = 'f', .help = "replace FILE where it exists"}},
               .shared = {.json = true, .threads = true}},
      .run = run};
  return command;
}

}  // namespace cox::cli
