// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/compact_command.hpp"

#include <fmt/format.h>

#include <ostream>

#include "cox/base/units_text.hpp"
#include "cox/trace/compact.hpp"

#include "cli/frame/interrupt.hpp"
#include "cli/input/run_input.hpp"
#include "cli/output/envelope.hpp"

namespace cox::cli {
namespace {

std::string sentence(const trace::CompactReport& r) {
  std::string text;
  if (r.files == 0) {
    text = "nothing to compact\n";
  } else {
    const double per_event =
        r.events > 0 ? static_cast<double>(r.compact_bytes.count()) / static_cast<double>(r.events) : 0;
    text = fmt::format("compacted {} {}: {} events, {} to {} ({:.3g} bytes per event)\n", r.files,
                       r.files == 1 ? "file" : "files", r.events, to_string(r.raw_bytes),
                       to_string(r.compact_bytes), per_event);
  }
  if (r.kept_raw > 0) text += fmt::format("left {} raw: their processes still run\n", r.kept_raw);
  return text;
}

Result<ExitCode> run(const Invocation& call, Console& console) {
  const FinishFirst unbroken;
  COX_TRY(const trace::CompactReport report, trace::compact_run(call.args.front(), call.common.threads));
  warn_about(report.notes, call, console);
  if (!call.common.json) {
    console.out << sentence(report);
    return ExitCode::Ok;
  }
  std::vector<std::string> warnings;
  warnings.reserve(report.notes.size());
  for (const trace::Note& note : report.notes)
    warnings.push_back(fmt::format("{}: {}", note.file, note.text));
  console.out << to_json({.schema = "cox.compact/1", .inputs = {call.args.front()}, .warnings = warnings},
                         JsonObject{{"files", report.files},
                                    {"kept_raw", report.kept_raw},
                                    {"events", report.events},
                                    {"raw_bytes", report.raw_bytes.count()},
                                    {"compact_bytes", report.compact_bytes.count()}});
  return ExitCode::Ok;
}

}  // namespace

const Command& compact_command() {
  static const Command command{
      .spec = {.name = "compact",
               .summary = "compress the raw files of a Run (observe does it at the end)",
               .about =
                   "Compresses the raw files of a Run; safe while the job runs. observe does it at its end.",
               .examples = {{"cox compact run", "after a job that was killed with its launcher"},
                            {"cox compact run --json", "files, events and bytes for programs"}},
               .args = {{.name = "PATH", .help = "Run folder", .complete = Complete::Folder}},
               .shared = {.json = true, .threads = true},
               .notes = "A raw file is removed only once the compact one was read back and compared. Files "
                        "of processes that still run are left alone."},
      .run = run};
  return command;
}

}  // namespace cox::cli
