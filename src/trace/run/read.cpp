// SPDX-License-Identifier: Apache-2.0
#include "cox/trace/read.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cox/base/file.hpp"
#include "cox/base/parallel.hpp"
#include "cox/trace/run_info.hpp"

#include "trace/raw/process_file.hpp"
#include "trace/raw/raw_file.hpp"
#include "trace/run/assemble.hpp"
#include "trace/store/compact_file.hpp"
#include "trace/store/run_folder.hpp"

namespace cox::trace {
namespace {

namespace fs = std::filesystem;

/// A file that was read, or why not, and whether all of it was there.
struct ReadFile {
  std::optional<ProcessFile> process;
  std::optional<Error> error;
  bool whole = false;
};

Result<ReadFile> read_raw(const fs::path& path) {
  // Read, never mapped: a file that its owner truncates meanwhile must not end this process.
  COX_TRY(const std::string bytes, read_file(path, kMaxFileBytes));
  COX_TRY(ProcessRecords parsed, parse_raw_file(bytes));
  ProcessBuilder builder(path.filename().string(), parsed.header, parsed.meta, parsed.records.size());
  builder.add(parsed.records);
  builder.add_samples(parsed.samples);
  ReadFile out;
  out.whole = parsed.losses.empty();
  builder.add_losses(std::move(parsed.losses));
  out.process = std::move(builder).finish();
  return out;
}

Result<ReadFile> read_compact(const fs::path& path) {
  COX_TRY(const std::string bytes, read_file(path, kMaxFileBytes));
  COX_TRY(CompactReader reader, CompactReader::open(bytes));
  ProcessBuilder builder(path.filename().string(), reader.header(), reader.meta(), reader.expected_records());
  RecordColumns block;
  while (reader.next(block)) builder.add(block);
  builder.add_samples(reader.take_samples());
  ReadFile out;
  std::vector<std::string> losses = reader.take_losses();
  out.whole = losses.empty();
  builder.add_losses(std::move(losses));
  out.process = std::move(builder).finish();
  return out;
}

ReadFile settle(Result<ReadFile> result) {
  if (result) return *std::move(result);
  return {.process = std::nullopt, .error = std::move(result).error(), .whole = false};
}

/// Reads a process from its compact file; from the raw one where the compact one is missing or not whole.
ReadFile read_process(const ProcessPaths& paths) {
  if (paths.compact.empty()) return settle(read_raw(paths.raw));
  ReadFile compact = settle(read_compact(paths.compact));
  if (paths.raw.empty()) return compact;
  ReadFile raw = compact.whole ? ReadFile{} : settle(read_raw(paths.raw));
  const bool use_raw =
      raw.process && (!compact.process || raw.process->events.size() >= compact.process->events.size());
  ReadFile& used = use_raw ? raw : compact;
  if (used.process)
    used.process->notes.push_back(fmt::format("the process left a raw and a compact file; the {} one is used",
                                              use_raw ? "raw" : "compact"));
  return std::move(used);
}

Error with_file(Error error, const ProcessPaths& paths) {
  error.where = Where{.file = (paths.compact.empty() ? paths.raw : paths.compact).string()};
  return error;
}

/// What to say where not one file could be used: a newer version first, since that has a remedy.
Error nothing_usable(const std::vector<ReadFile>& files, const std::vector<ProcessPaths>& paths) {
  std::size_t pick = 0;
  for (std::size_t i = files.size(); i-- > 0;)
    if (files[i].error && files[i].error->id == "trace-003") pick = i;
  Error error = with_file(*files[pick].error, paths[pick]);
  if (files.size() > 1)
    error.message += fmt::format(" (and {} more files that cannot be used)", files.size() - 1);
  return error;
}

/// Ranks whose files took no more say so nowhere in them.
void mark_unwritten(Run& run) {
  if (run.info.unwritten.empty()) return;
  for (RankTrack& track : run.ranks)
    for (const UnwrittenRank& u : run.info.unwritten)
      if (track.rank.value() == u.rank) track.state = WriterState::Disabled;
  const UnwrittenRank& first = run.info.unwritten.front();
  const std::string who = first.rank < 0 ? std::string("a process") : fmt::format("rank {}", first.rank);
  const std::size_t more = run.info.unwritten.size() - 1;
  run.notes.push_back(
      {.file = {},
       .text =
           fmt::format("the file of {}{} could not be written any more ({}): what came after is missing", who,
                       more == 0 ? "" : fmt::format(" and of {} more", more), std::strerror(first.error))});
}

void add_info(const fs::path& path, Run& run) {
  std::error_code ec;
  const fs::path dir = fs::is_directory(path, ec) ? path : path.parent_path();
  auto info = read_run_info(dir);
  if (!info) {
    run.notes.push_back({.file = "run.json", .text = info.error().message});
  } else if (*info) {
    const std::string job = std::move(run.info.job);
    run.info = **std::move(info);
    if (run.info.job.empty()) run.info.job = job;
    mark_unwritten(run);
  }
  if (run.info.name.empty()) {
    const fs::path whole = fs::absolute(dir.empty() ? fs::path(".") : dir, ec).lexically_normal();
    run.info.name = (whole.has_filename() ? whole : whole.parent_path()).filename().string();
  }
}

}  // namespace

Result<Run> open_run(const fs::path& path, const ReadOptions& options) {
  COX_TRY(const std::vector<ProcessPaths> paths, list_run(path));
  std::vector<ReadFile> files(paths.size());
  std::mutex progress_lock;
  std::int64_t done = 0;
  parallel_for(paths.size(), options.threads, [&](std::size_t i) {
    files[i] = read_process(paths[i]);
    if (!options.progress) return;
    const std::scoped_lock lock(progress_lock);
    options.progress(++done, static_cast<std::int64_t>(paths.size()));
  });
  std::vector<ProcessFile> processes;
  processes.reserve(files.size());
  std::vector<Note> notes;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (files[i].process) {
      processes.push_back(*std::move(files[i].process));
    } else {
      const fs::path& file = paths[i].compact.empty() ? paths[i].raw : paths[i].compact;
      notes.push_back({.file = file.filename().string(), .text = "not used: " + files[i].error->message});
    }
  }
  if (processes.empty()) return fail(nothing_usable(files, paths));
  Run run = assemble(std::move(processes), options.threads);
  run.notes.insert(run.notes.begin(), notes.begin(), notes.end());
  add_info(path, run);
  return run;
}

}  // namespace cox::trace
