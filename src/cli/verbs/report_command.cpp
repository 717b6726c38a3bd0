// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/report_command.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <ostream>

#include "cox/base/process_table.hpp"
#include "cox/base/units_text.hpp"
#include "cox/base/unknown_unit.hpp"
#include "cox/diagnose/comparison.hpp"
#include "cox/diagnose/diagnosis.hpp"
#include "cox/diagnose/matched.hpp"
#include "cox/report/report.hpp"
#include "cox/report/terminal.hpp"
#include "cox/trace/time_unit.hpp"

#include "cli/input/run_input.hpp"
#include "cli/output/envelope.hpp"
#include "cli/output/output_file.hpp"

namespace cox::cli {
namespace {

constexpr const char* kDefaultOutput = "report.html";

Result<ExitCode> run(const Invocation& call, Console& console) {
  const std::string name = call.value("output", kDefaultOutput);
  COX_TRY(Output output, open_output(name, "page", call, console));
  const std::int64_t asked = this_machine().monotonic_ns();
  COX_TRY(const trace::ImportedJob job, read_job(call, console));
  const auto progress = make_progress(call, console, "diagnosing");
  const std::shared_ptr<const diagnose::Matched> matched =
      diagnose::match_run(job.run, {.threads = call.common.threads, .progress = callback(*progress)});
  Result<diagnose::Diagnosis> made = diagnose::diagnose(*matched, {.threads = call.common.threads,
                                                                   .progress = callback(*progress),
                                                                   .processes = &this_machine(),
                                                                   .asked_monotonic_ns = asked,
                                                                   .program = &job.program});
  progress->finish();
  COX_TRY(const diagnose::Diagnosis diagnosis, std::move(made));
  std::optional<diagnose::Comparison> comparison;
  if (const std::string path = call.value("against"); !path.empty()) {
    COX_TRY(const trace::ImportedJob before, read_only_job(path, call, console));
    COX_CHECK(check_units(before.run, job.run));
    const UnknownUnit unit(trace::unknown_unit(job.run.ranks));
    COX_TRY(const diagnose::Diagnosis d,
            diagnose::diagnose(before.run, {.threads = call.common.threads, .program = &before.program}));
    comparison = diagnose::compare(d, diagnosis);
  }
  const report::ReportOptions options{
      .anonymize = call.has("anonymize") ? report::Anonymize::Yes : report::Anonymize::No,
      .against = comparison ? &*comparison : nullptr};
  COX_TRY(const std::string page, report::render_html(job.run, *matched, diagnosis, options));
  output.stream() << page;
  COX_CHECK(output.commit());
  const Bytes size{static_cast<std::int64_t>(page.size())};
  if (call.common.json) {
    console.out << to_json(
        {.schema = "cox.report/1", .inputs = {call.args.front()}},
        JsonObject{{"file", name}, {"size_bytes", size.count()}, {"verdict", diagnosis.verdict}});
  } else if (output.is_file() && !call.common.quiet) {
    console.err << fmt::format("cox: wrote {} ({}); open it in a browser\n", report::terminal_text(name),
                               to_string(size));
  }
  return ExitCode::Ok;
}

}  // namespace

const Command& report_command() {
  static const Command command{
      .spec = {.name = "report",
               .summary = "write one self-contained HTML page about a Run",
               .about =
                   "Writes one HTML page about a Run: verdict, step times, timeline, waits. Opens offline.",
               .examples = {{"cox report run", "writes report.html"},
                            {"cox report run -o page.html --anonymize", "fit to be shown to others"}},
               .args = {path_arg()},
               .flags = {run_flag(),
                         {.name = "against",
                          .value = "PATH",
                          .help = "compare with this run of the same job, before a change",
                          .complete = Complete::File},
                         {.name = "output",
                          .letter = 'o',
                          .value = "FILE",
                          .help = "the page; - for standard output",
                          .fallback = kDefaultOutput,
                          .complete = Complete::File},
                         {.name = "force", .letter = 'f', .help = "replace FILE where it exists"},
                         {.name = "anonymize", .help = "replace names of hosts, paths and command lines"}},
               .shared = {.json = true, .threads = true},
               .notes =
                   "A page is at most 15 MB: beyond that, neighbouring steps are merged and the page says "
                   "so. With --json a summary of what was written goes to standard output."},
      .run = run};
  return command;
}

}  // namespace cox::cli
