// SPDX-License-Identifier: Apache-2.0
#include "cli/run_input.hpp"

#include <fmt/format.h>

#include <ostream>

namespace cox::cli {
namespace {

constexpr std::size_t kNotesShown = 5;

}  // namespace

std::unique_ptr<Progress> make_progress(const Invocation& call, Console& console, const std::string& label) {
  const bool dumb = console.env("TERM").value_or("") == "dumb";
  const ProgressStyle style = call.common.quiet                  ? ProgressStyle::Off
                              : console.err_is_terminal && !dumb ? ProgressStyle::Bar
                                                                 : ProgressStyle::Lines;
  return std::make_unique<Progress>(console.err, style, label);
}

trace::Progress callback(Progress& progress) {
  return [&progress](std::int64_t done, std::int64_t total) { progress.update(done, total); };
}

Result<trace::Run> read_run(const Invocation& call, Console& console) {
  const auto progress = make_progress(call, console, "reading");
  Result<trace::Run> run =
      trace::open_run(call.args.front(), {.threads = call.common.threads, .progress = callback(*progress)});
  progress->finish();
  if (run) warn_about(run->notes, call, console);
  return run;
}

void warn_about(const std::vector<trace::Note>& notes, const Invocation& call, Console& console) {
  if (call.common.quiet) return;
  std::size_t shown = 0;
  for (const trace::Note& note : notes) {
    if (shown == kNotesShown && !call.common.verbose) {
      console.err << fmt::format("cox: warning: {} more like these; --verbose lists them\n",
                                 notes.size() - shown);
      break;
    }
    ++shown;
    console.err << (note.file.empty() ? fmt::format("cox: warning: {}\n", note.text)
                                      : fmt::format("cox: warning: {}: {}\n", note.file, note.text));
  }
}

}  // namespace cox::cli
