// SPDX-License-Identifier: Apache-2.0
#include "cox/trace/collect.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>
#include <string_view>
#include <utility>

#include "cox/trace/compact.hpp"
#include "cox/trace/run_info.hpp"

#include "trace/store/run_folder.hpp"

namespace cox::trace {
namespace {

namespace fs = std::filesystem;

Error io_error(const char* id, const fs::path& path, std::string message) {
  return Error{.code = Errc::Io,
               .id = id,
               .message = std::move(message),
               .hint = "check the folder, its rights and free space",
               .where = Where{.file = path.string()}};
}

/// A folder that is removed again unless it was given its final name.
class UnfinishedFolder {
 public:
  [[nodiscard]] static Result<UnfinishedFolder> beside(const fs::path& out) {
    for (int attempt = 0; attempt < 100; ++attempt) {
      const fs::path name = fmt::format("{}.tmp-{}-{}", out.string(), ::getpid(), attempt);
      std::error_code ec;
      if (::mkdir(name.c_str(), 0700) == 0) return UnfinishedFolder(name);
      ec = std::error_code(errno, std::generic_category());
      if (ec != std::errc::file_exists)
        return fail(io_error("base-006", out, "cannot be written: " + ec.message()));
    }
    return fail(io_error("base-006", out, "cannot be written: too many unfinished ones beside it"));
  }
  UnfinishedFolder(UnfinishedFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  UnfinishedFolder& operator=(UnfinishedFolder&&) = delete;
  ~UnfinishedFolder() {
    std::error_code ec;
    if (!path_.empty()) fs::remove_all(path_, ec);
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

  /// Gives it its name. A folder replaces nothing but an empty folder: the kernel sees to that.
  [[nodiscard]] Status finish(const fs::path& out) {
    if (std::rename(path_.c_str(), out.c_str()) != 0)
      return fail(io_error("base-006", out, fmt::format("cannot be written: {}", std::strerror(errno))));
    path_.clear();
    return {};
  }

 private:
  explicit UnfinishedFolder(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

/// Whether two files hold the same bytes, without either in memory as a whole.
bool alike(const fs::path& a, const fs::path& b) {
  std::ifstream left(a, std::ios::binary);
  std::ifstream right(b, std::ios::binary);
  std::string x(std::size_t{1} << 16, '\0');
  std::string y = x;
  while (left && right) {
    left.read(x.data(), static_cast<std::streamsize>(x.size()));
    right.read(y.data(), static_cast<std::streamsize>(y.size()));
    if (left.gcount() != right.gcount()) return false;
    if (std::memcmp(x.data(), y.data(), static_cast<std::size_t>(left.gcount())) != 0) return false;
  }
  return left.eof() && right.eof();
}

/// Copies with the time of the last write, by which a reader tells whether a process
/// of another machine may still run.
Status copy_process_file(const fs::path& from, const fs::path& to) {
  std::error_code ec;
  if (!fs::is_regular_file(from, ec))
    return fail(io_error("base-002", from, "cannot be read: not a regular file"));
  const auto written = fs::last_write_time(from, ec);
  if (!fs::copy_file(from, to, fs::copy_options::none, ec))
    return fail(io_error(ec == std::errc::permission_denied ? "base-002" : "base-006", from,
                         "cannot be copied: " + ec.message()));
  fs::last_write_time(to, written, ec);
  return {};
}

bool name_is_taken(const fs::path& dir, const std::string& stem) {
  std::error_code ec;
  return fs::exists(dir / (stem + std::string(kRawSuffix)), ec) ||
         fs::exists(dir / (stem + std::string(kCompactSuffix)), ec);
}

/// Whether the folder holds this process already, file for file.
bool holds_the_same(const fs::path& dir, const std::string& stem, const ProcessPaths& paths) {
  std::error_code ec;
  for (const auto& [from, suffix] :
       {std::pair{paths.raw, kRawSuffix}, std::pair{paths.compact, kCompactSuffix}}) {
    const fs::path there = dir / (stem + std::string(suffix));
    if (from.empty() ? fs::exists(there, ec) : !fs::exists(there, ec) || !alike(from, there)) return false;
  }
  return true;
}

/// One process into the folder; under another name where its own is taken by something else.
Status take_process(const ProcessPaths& paths, const fs::path& dir, CollectReport& report) {
  const std::string own = (paths.compact.empty() ? paths.raw : paths.compact).stem().string();
  std::string stem = own;
  for (int n = 2; name_is_taken(dir, stem); ++n) {
    if (holds_the_same(dir, stem, paths)) {
      ++report.repeated;
      return {};
    }
    stem = fmt::format("{}-{}", own, n);
  }
  if (stem != own)
    report.notes.push_back(
        {.file = own, .text = "two inputs hold different files of this name; both are kept"});
  if (!paths.raw.empty()) COX_CHECK(copy_process_file(paths.raw, dir / (stem + std::string(kRawSuffix))));
  if (!paths.compact.empty())
    COX_CHECK(copy_process_file(paths.compact, dir / (stem + std::string(kCompactSuffix))));
  ++report.processes;
  return {};
}

/// What all inputs agree on; where they do not, the first one's word, and a note.
class InfoMerger {
 public:
  void add(const fs::path& input, CollectReport& report) {
    std::error_code ec;
    const auto info = read_run_info(fs::is_directory(input, ec) ? input : input.parent_path());
    if (!info) {
      report.notes.push_back({.file = input.string(), .text = "run.json: " + info.error().message});
      return;
    }
    if (!*info) return;
    ends_.insert(ends_.end(), (*info)->ends.begin(), (*info)->ends.end());
    if (first_) {
      merged_ = **info;
      first_ = false;
      return;
    }
    // The command may differ from host to host (torchrun's --node_rank).
    for (const auto& [what, field] : {std::pair{"job", &RunInfo::job}, std::pair{"launch", &RunInfo::launch}})
      if (merged_.*field != (**info).*field)
        report.notes.push_back(
            {.file = input.string(),
             .text = fmt::format("its {} is \"{}\", another input's is \"{}\": are they of one job?", what,
                                 (**info).*field, merged_.*field)});
    if (!(*info)->started.empty() && (merged_.started.empty() || (*info)->started < merged_.started))
      merged_.started = (*info)->started;
    // A failure anywhere is the job's; not knowing anywhere is not knowing.
    if (merged_.exit_status <= 0 && (*info)->exit_status != 0) merged_.exit_status = (*info)->exit_status;
  }
  [[nodiscard]] Status write(const fs::path& dir, const std::string& name) {
    if (first_) return {};
    merged_.name = name;
    for (const RankEnd& end : ends_) COX_CHECK(append_rank_end(dir, end, Rights::Owner));
    return write_run_info(dir, merged_, Rights::Owner);
  }

 private:
  bool first_ = true;
  RunInfo merged_;
  std::vector<RankEnd> ends_;
};

Bytes size_of(const fs::path& dir) {
  std::int64_t sum = 0;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(dir, ec))
    if (entry.path().filename() != "run.json") sum += static_cast<std::int64_t>(entry.file_size(ec));
  return Bytes{sum};
}

}  // namespace

Result<CollectReport> collect_runs(const std::vector<fs::path>& inputs, const fs::path& out, int threads) {
  std::error_code ec;
  fs::path target = fs::absolute(out, ec).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();
  if (fs::exists(target, ec) && !(fs::is_directory(target, ec) && fs::is_empty(target, ec)))
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "base-005",
                      .message = "exists already",
                      .hint = "choose another folder with -o: nothing is replaced or added to",
                      .where = Where{.file = out.string()}});
  std::vector<std::vector<ProcessPaths>> found;
  for (const fs::path& input : inputs) {
    COX_TRY(std::vector<ProcessPaths> paths, list_run(input));
    found.push_back(std::move(paths));
  }
  COX_TRY(UnfinishedFolder folder, UnfinishedFolder::beside(target));
  CollectReport report;
  InfoMerger info;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (const ProcessPaths& paths : found[i]) COX_CHECK(take_process(paths, folder.path(), report));
    info.add(inputs[i], report);
  }
  COX_TRY(CompactReport compacted, compact_run(folder.path(), threads));
  report.kept_raw = compacted.kept_raw;
  for (Note& note : compacted.notes) report.notes.push_back(std::move(note));
  report.bytes = size_of(folder.path());
  COX_CHECK(info.write(folder.path(), target.filename().string()));
  COX_CHECK(folder.finish(target));
  return report;
}

}  // namespace cox::trace
