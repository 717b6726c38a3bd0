// SPDX-License-Identifier: Apache-2.0
#include "cli/input/run_input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>
#include <span>
#include <unordered_map>
#include <utility>

#include "cox/base/large_memory.hpp"
#include "cox/report/terminal.hpp"
#include "cox/trace/import.hpp"
#include "cox/trace/time_unit.hpp"

namespace cox::cli {
namespace {

constexpr std::size_t kNotesShown = 5;
constexpr std::size_t kFilesShown = 3;  // of which one thing is said
constexpr std::size_t kSourcesShown = 3;
constexpr std::size_t kRunsNamed = 6;

/// One line for the files that were not used, the names of the first few; all of them with --verbose.
void warn_about_sources(const std::vector<trace::SourceFile>& sources, const Invocation& call,
                        Console& console) {
  if (call.common.quiet) return;
  std::vector<const trace::SourceFile*> unused;
  for (const trace::SourceFile& s : sources)
    if (!s.used && !s.why.starts_with("read with ")) unused.push_back(&s);
  for (std::size_t i = 0; i < unused.size(); ++i) {
    if (i == kSourcesShown && !call.common.verbose) {
      console.err << fmt::format("cox: warning: {} more files are not used; --verbose lists them\n",
                                 unused.size() - i);
      return;
    }
    console.err << fmt::format("cox: warning: {}: not used: {}\n", report::terminal_text(unused[i]->file),
                               report::terminal_text(unused[i]->why));
  }
}

std::string names_of(const std::vector<trace::ImportedJob>& jobs) {
  std::string names;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (i == kRunsNamed) return names + fmt::format(" and {} more", jobs.size() - i);
    names += (i > 0 ? ", " : "") + jobs[i].run.info.name;
  }
  return names;
}

/// What is said of one file or of several.
struct SaidOfFiles {
  std::string text;
  std::vector<std::string> files;  ///< in their order; none: of the input
};

/// Notes of one text together, where the first of them stands.
std::vector<SaidOfFiles> by_text(const std::vector<trace::Note>& notes) {
  std::vector<SaidOfFiles> told;
  std::unordered_map<std::string, std::size_t> place;
  for (const trace::Note& note : notes) {
    const auto [at, is_new] = place.try_emplace(note.text, told.size());
    if (is_new) told.push_back({.text = note.text, .files = {}});
    std::vector<std::string>& files = told[at->second].files;
    if (!note.file.empty() && (files.empty() || files.back() != note.file)) files.push_back(note.file);
  }
  return told;
}

/// The names before a text: the first few, or all.
std::string files_of(const SaidOfFiles& said, bool all) {
  if (said.files.empty()) return {};
  const std::size_t shown = all ? said.files.size() : std::min(said.files.size(), kFilesShown);
  const std::size_t more = said.files.size() - shown;
  return fmt::format("{}{}: ", fmt::join(std::span(said.files).first(shown), ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

Result<FoundJobs> read_all_jobs(const std::string& path, const Invocation& call, Console& console) {
  prepare_for_large_data();
  const auto progress = make_progress(call, console, "reading");
  Result<trace::Imported> found =
      trace::import_path(path, {.threads = call.common.threads, .progress = callback(*progress)});
  progress->finish();
  if (!found) return fail(std::move(found).error());
  warn_about_sources(found->sources, call, console);
  FoundJobs out{.jobs = std::move(found->jobs), .unread = {}};
  for (const trace::SourceFile& s : found->unread) out.unread.push_back({s.file, "not used: " + s.why});
  return out;
}

Result<trace::ImportedJob> only(std::vector<trace::ImportedJob> jobs, const std::string& path) {
  if (jobs.size() > 1)
    return fail(Error{.code = Errc::Usage,
                      .id = "cli-009",
                      .message = fmt::format("{} runs in it, expected one: {}", jobs.size(), names_of(jobs)),
                      .hint = "name one with --run NAME, or one of its files",
                      .where = Where{.file = path}});
  return std::move(jobs.front());
}

/// By its name; else by the only one that is printed so where it does not fit.
std::vector<trace::ImportedJob>::iterator find_named(std::vector<trace::ImportedJob>& jobs,
                                                     std::string_view wanted) {
  const auto exact = std::find_if(jobs.begin(), jobs.end(),
                                  [&](const trace::ImportedJob& j) { return j.run.info.name == wanted; });
  if (exact != jobs.end()) return exact;
  const auto is_meant = [&](const trace::ImportedJob& j) {
    return report::is_shown_as(report::terminal_text(j.run.info.name), wanted);
  };
  return std::count_if(jobs.begin(), jobs.end(), is_meant) == 1
             ? std::find_if(jobs.begin(), jobs.end(), is_meant)
             : jobs.end();
}

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

Error mixed_units() {
  return Error{.code = Errc::Usage,
               .id = "cli-003",
               .message = "--against: the times on one of the two sides have no unit, or not the same one",
               .hint = "name the unit in the column or key, e.g. time_ms",
               .where = {}};
}

Status check_units(const trace::Run& before, const trace::Run& after) {
  if (trace::unknown_unit(before.ranks) == trace::unknown_unit(after.ranks)) return {};
  return fail(mixed_units());
}

FlagSpec run_flag() {
  return {.name = "run", .value = "NAME", .help = "only this one, where PATH holds several runs"};
}

ArgSpec path_arg() {
  return {.name = "PATH", .help = "Run folder, trace file, or a folder of them", .complete = Complete::File};
}

Result<FoundJobs> read_jobs(const std::string& path, const Invocation& call, Console& console) {
  COX_TRY(FoundJobs found, read_all_jobs(path, call, console));
  std::vector<trace::ImportedJob>& jobs = found.jobs;
  if (const std::string wanted = call.value("run"); !wanted.empty()) {
    const auto at = find_named(jobs, wanted);
    if (at == jobs.end())
      return fail(Error{.code = Errc::Usage,
                        .id = "cli-003",
                        .message = fmt::format("--run {}: no such run, expected {}", wanted, names_of(jobs)),
                        .hint = "names are those that `cox diagnose` prints",
                        .where = Where{.file = path}});
    trace::ImportedJob one = std::move(*at);
    jobs.clear();
    jobs.push_back(std::move(one));
    found.unread.clear();
  }
  std::vector<trace::Note> notes;
  for (const trace::ImportedJob& job : jobs)
    notes.insert(notes.end(), job.run.notes.begin(), job.run.notes.end());
  warn_about(notes, call, console);
  return found;
}

Result<trace::ImportedJob> read_job(const Invocation& call, Console& console) {
  COX_TRY(FoundJobs found, read_jobs(call.args.front(), call, console));
  return only(std::move(found.jobs), call.args.front());
}

Result<trace::Run> read_run(const Invocation& call, Console& console) {
  COX_TRY(trace::ImportedJob job, read_job(call, console));
  return std::move(job.run);
}

Result<trace::ImportedJob> read_only_job(const std::string& path, const Invocation& call, Console& console) {
  COX_TRY(FoundJobs found, read_all_jobs(path, call, console));
  return only(std::move(found.jobs), path);
}

void warn_about(const std::vector<trace::Note>& notes, const Invocation& call, Console& console) {
  if (call.common.quiet) return;
  const std::vector<SaidOfFiles> told = by_text(notes);
  const std::size_t most = call.common.verbose ? told.size() : kNotesShown;
  for (const SaidOfFiles& each : std::span(told).first(std::min(most, told.size())))
    console.err << fmt::format("cox: warning: {}\n",
                               report::terminal_text(files_of(each, call.common.verbose) + each.text));
  if (told.size() > most)
    console.err << fmt::format("cox: warning: {} more like these; --verbose lists them\n",
                               told.size() - most);
}

}  // namespace cox::cli
