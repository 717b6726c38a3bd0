// SPDX-License-Identifier: Apache-2.0
#include "cox/trace/import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "cox/base/parallel.hpp"

#include "trace/import/input_folder.hpp"
#include "trace/import/part/assemble_parts.hpp"
#include "trace/import/part/part_builder.hpp"
#include "trace/import/part/reader.hpp"
#include "trace/store/run_folder.hpp"

namespace cox::trace {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMostNamed = 3;

/// A part that was read, or why not.
struct Reading {
  std::optional<ImportedJob> part;
  std::optional<Error> error;
  std::string own_name;  ///< of the first of several runs
};

Result<ImportedJob> open_own(const Input& input, const ImportOptions& options) {
  COX_TRY(Run run, open_run(input.path, {.threads = options.threads, .progress = {}}));
  return ImportedJob{.run = std::move(run), .program = {}};
}

Reading read_input(const Input& input, const ImportOptions& options) {
  Reading out;
  Result<ImportedJob> part = input.own ? open_own(input, options) : input.reader->read(input.path, options);
  if (part) {
    out.part = *std::move(part);
    Run& run = out.part->run;
    if (!out.part->further_runs.empty()) out.own_name = run.info.name;
    if (!input.own && !run.sources.empty()) run.sources.front().file = input.name;
    for (Note& note : run.notes)
      if (!input.own) note.file = input.name;
  } else {
    out.error = std::move(part).error();
    if (!out.error->where) out.error->where = Where{.file = input.path.string()};
    if (out.error->where->file.empty()) out.error->where->file = input.path.string();
  }
  return out;
}

SourceFile source_of(const Input& input, const Reading& reading, const std::string& why) {
  SourceFile s;
  if (reading.part && !reading.part->run.sources.empty()) s = reading.part->run.sources.front();
  s.file = input.name;
  s.format = input.own ? "cox" : input.reader != nullptr ? input.reader->format : "";
  s.used = false;
  s.why = why;
  return s;
}

/// A rank that nothing tells: with one file there is no other to confuse it with.
void call_it_rank_zero(Run& run) {
  for (RankTrack& t : run.ranks)
    if (t.rank.value() < 0 && run.ranks.size() == 1) {
      t.rank = Rank(0);
      run.notes.push_back({.file = run.sources.empty() ? std::string() : run.sources.front().file,
                           .text = "the file does not say which rank it is: called rank 0"});
      for (Communicator& c : run.communicators)
        for (Rank& r : c.ranks)
          if (r.value() < 0) r = Rank(0);
    }
}

/// What many files say alike is said once.
void join_equal(std::vector<Note>& notes) {
  std::map<std::string, std::pair<std::size_t, std::size_t>> seen;  // text to (place, how often)
  std::vector<Note> out;
  for (Note& note : notes) {
    const auto [at, fresh] = seen.try_emplace(note.text, out.size(), 0);
    ++at->second.second;
    if (fresh) out.push_back(std::move(note));
  }
  for (const auto& [text, place] : seen)
    if (place.second > 1 && !out[place.first].file.empty())
      out[place.first].file += fmt::format(" and {} more", place.second - 1);
  notes = std::move(out);
}

std::string without_digits(std::string name) {
  std::erase_if(name, [](char c) { return c >= '0' && c <= '9'; });
  return name;
}

tl::unexpected<Error> nothing_known(const fs::path& path, const std::vector<Input>& inputs) {
  std::string found;
  std::size_t named = 0;
  for (const Input& input : inputs)
    if (named++ < kMostNamed)
      found += fmt::format("{}{} ({})", found.empty() ? "" : ", ", input.name,
                           input.looks_like.empty() ? "companion of a missing file" : input.looks_like);
  if (inputs.size() > kMostNamed) found += fmt::format(" and {} more", inputs.size() - kMostNamed);
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "import-001",
                    .message = fmt::format("no file of a known format; found {}",
                                           found.empty() ? "an empty folder" : found),
                    .hint = "`cox explain import-001` says which formats can be read",
                    .where = Where{.file = path.string()}});
}

/// Of several files that cannot be used the first is told: a newer version of our own before anything else.
Error nothing_usable(const std::vector<Reading>& readings) {
  std::size_t pick = 0;
  std::size_t errors = 0;
  for (std::size_t i = readings.size(); i-- > 0;)
    if (readings[i].error) {
      ++errors;
      if (!readings[pick].error || readings[pick].error->id != "trace-003" ||
          readings[i].error->id == "trace-003")
        pick = i;
    }
  Error error = *readings[pick].error;
  if (errors > 1) error.message += fmt::format(" (and {} more files that cannot be used)", errors - 1);
  return error;
}

class Importer {
 public:
  Importer(fs::path path, const ImportOptions& options) : path_(std::move(path)), options_(options) {}

  Result<Imported> run() {
    COX_TRY(inputs_, list_inputs(path_, options_.threads));
    read_all();
    const bool any_known = std::any_of(inputs_.begin(), inputs_.end(),
                                       [](const Input& i) { return i.own || i.reader != nullptr; });
    if (!any_known) {
      if (auto empty = nothing_recorded(path_)) return fail(*std::move(empty));
      return nothing_known(path_, inputs_);
    }
    parts_.resize(inputs_.size());
    std::vector<std::string> reasons(inputs_.size());
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      reasons[i] = reason(i);
      if (readings_[i].part)
        further_.push_back(std::move(readings_[i].part->further_runs));
      else
        further_.emplace_back();
      sources_.push_back(source_of(inputs_[i], readings_[i], reasons[i]));
      parts_[i] = std::move(readings_[i].part);
    }
    Grouping grouping = group_parts(inputs_, parts_);
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (!grouping.why[i].empty()) sources_[i].why = grouping.why[i];
    if (grouping.groups.empty()) return refuse();
    Imported out;
    for (std::size_t g = 0; g < grouping.groups.size(); ++g) {
      out.jobs.push_back(make_job(grouping.groups[g], grouping.names[g]));
      // Beside others a run goes by where it lies.
      if (grouping.groups.size() > 1) out.jobs.back().run.info.name = grouping.names[g];
      add_further(grouping.groups[g], grouping.names[g], out.jobs);
    }
    // Beside files that are used, one named as they are but for its number, and of no known format, is a damaged one.
    std::set<std::string> used;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (readings_[i].part) used.insert(without_digits(inputs_[i].name));
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const Input& input = inputs_[i];
      const bool unknown = !input.own && input.reader == nullptr && input.companion_of.empty();
      if (readings_[i].error || input.unreadable || (unknown && used.contains(without_digits(input.name))))
        out.unread.push_back(sources_[i]);
    }
    out.sources = std::move(sources_);
    return out;
  }

 private:
  void read_all() {
    readings_.resize(inputs_.size());
    std::mutex lock;
    std::int64_t done = 0;
    parallel_for(inputs_.size(), options_.threads, [&](std::size_t i) {
      const Input& input = inputs_[i];
      if (input.companion_of.empty() && (input.own || input.reader != nullptr))
        readings_[i] = read_input(input, options_);
      if (!options_.progress) return;
      const std::scoped_lock locked(lock);
      options_.progress(++done, static_cast<std::int64_t>(inputs_.size()));
    });
  }

  [[nodiscard]] std::string reason(std::size_t i) const {
    const Input& input = inputs_[i];
    if (!input.companion_of.empty()) return "read with " + input.companion_of;
    if (!input.own && input.reader == nullptr) return "of no known format: " + input.looks_like;
    if (readings_[i].error) return readings_[i].error->message;
    return {};
  }

  tl::unexpected<Error> refuse() {
    if (std::any_of(readings_.begin(), readings_.end(), [](const Reading& r) { return r.error.has_value(); }))
      return fail(nothing_usable(readings_));
    std::string why = "there is nothing in it that could be diagnosed";
    for (const SourceFile& s : sources_)
      if (!s.why.empty() && !s.format.empty()) why = s.file + ": " + s.why;
    return fail(
        Error{.code = Errc::InvalidInput,
              .id = "import-002",
              .message = std::move(why),
              .hint = "record it with communication and times; docs/reference/inputs.md says what is needed",
              .where = Where{.file = path_.string()}});
  }

  ImportedJob make_job(const std::vector<std::size_t>& members, const std::string& name) {
    std::vector<ImportedJob> parts;
    for (const std::size_t i : members) {
      sources_[i].used = true;
      parts.push_back(*std::move(parts_[i]));
    }
    if (members.size() == 1 && inputs_[members.front()].own) return std::move(parts.front());
    return finish(std::move(parts), members.front(), name);
  }

  ImportedJob finish(std::vector<ImportedJob> parts, std::size_t input, const std::string& name) {
    ImportedJob job = assemble_parts(std::move(parts), options_.threads);
    Run& run = job.run;
    call_it_rank_zero(run);
    if (!job.program.is_empty()) name_participants(job.program, run);
    join_equal(run.notes);
    run.info.name = name;
    if (run.info.tool.empty()) run.info.tool = inputs_[input].reader->title;
    return job;
  }

  /// The other runs of a table, by the table's name and their own.
  void add_further(const std::vector<std::size_t>& members, const std::string& name,
                   std::vector<ImportedJob>& jobs) {
    const std::size_t first = jobs.size() - 1;
    for (const std::size_t i : members) {
      if (further_[i].empty()) continue;
      if (members.size() == 1) jobs[first].run.info.name = name + "/" + readings_[i].own_name;
      for (Run& run : further_[i]) {
        for (SourceFile& s : run.sources) s.file = inputs_[i].name;
        for (Note& note : run.notes) note.file = inputs_[i].name;
        const std::string own = run.info.name;
        std::vector<ImportedJob> parts;
        parts.push_back({.run = std::move(run), .program = {}});
        jobs.push_back(finish(std::move(parts), i, name + "/" + own));
      }
    }
  }

  fs::path path_;
  const ImportOptions& options_;
  std::vector<Input> inputs_;
  std::vector<Reading> readings_;
  std::vector<std::optional<ImportedJob>> parts_;
  std::vector<SourceFile> sources_;
  std::vector<std::vector<Run>> further_;  // by input
};

}  // namespace

Result<Imported> import_path(const fs::path& path, const ImportOptions& options) {
  return Importer(path, options).run();
}

}  // namespace cox::trace
