// SPDX-License-Identifier: Apache-2.0
#include "observe/launch_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include "cox/trace/raw_format.hpp"
#include "cox/trace/read.hpp"
#include "cox/trace/run_info.hpp"

namespace cox::observe {
namespace {

namespace fs = std::filesystem;

/// How far apart ranks of one launch may start where nothing but the time tells launches apart.
constexpr std::chrono::seconds kLaunchSpread{120};

Error refused(const fs::path& dir, const char* why, const char* hint) {
  return Error{.code = Errc::InvalidInput,
               .id = "observe-001",
               .message = fmt::format("{} {}", dir.string(), why),
               .hint = hint,
               .where = {}};
}

Error not_made(const fs::path& dir, const std::error_code& ec) {
  return Error{.code = Errc::Io,
               .id = "observe-005",
               .message = fmt::format("{} cannot be made: {}", dir.string(), ec.message()),
               .hint = "choose another folder with -o",
               .where = {}};
}

bool is_ours(const fs::path& file) {
  const std::string name = file.filename().string();
  // A name with a suffix is one that is being written beside its place.
  return file.extension() == ".coxraw" || file.extension() == ".cox" || name.starts_with("run.json") ||
         name.find(".cox.tmp-") != std::string::npos;
}

enum class Content : std::uint8_t { Empty, Run, Foreign };

Content look_at(const fs::path& dir) {
  std::error_code ec;
  Content found = Content::Empty;
  for (fs::directory_iterator it(dir, ec), end; !ec && it != end; it.increment(ec)) {
    if (!is_ours(it->path())) return Content::Foreign;
    found = Content::Run;
  }
  return found;
}

/// Whether a folder looks like a Run that we made and so may be replaced.
bool is_own_run(const fs::path& dir) {
  std::error_code ec;
  if (fs::exists(dir / "run.json", ec)) return true;
  return std::ranges::any_of(fs::directory_iterator(dir, ec), [](const fs::directory_entry& e) {
    return e.path().extension() == ".coxraw" || e.path().extension() == ".cox";
  });
}

/// Whether a process of our rank and attempt has recorded there: then an earlier launch made it. Called for
/// young Runs only, so little has to be read.
bool holds_this_rank(const fs::path& dir, const guest::Place& place) {
  std::error_code ec;
  for (fs::directory_iterator it(dir, ec), end; !ec && it != end; it.increment(ec)) {
    const fs::path extension = it->path().extension();
    if (extension == ".coxraw") {
      trace::RawHeader head{};
      std::ifstream in(it->path(), std::ios::binary);
      if (!in.read(reinterpret_cast<char*>(&head), sizeof head)) continue;
      // Ranks that another launcher numbered are other ranks (torchrun below srun).
      const std::string_view launcher(head.launcher, strnlen(head.launcher, sizeof head.launcher));
      if (head.rank == place.rank && head.attempt == place.attempt && launcher == place.launcher) return true;
    } else if (extension == ".cox") {
      const auto process = trace::open_run(it->path(), {.threads = 1});
      if (process && !process->ranks.empty() && process->ranks.front().rank.value() == place.rank &&
          process->ranks.front().attempt == place.attempt)
        return true;
    }
  }
  return false;
}

bool is_young(const fs::path& dir) {
  std::error_code ec;
  const auto written = fs::last_write_time(dir / "run.json", ec);
  return !ec && std::chrono::abs(fs::file_time_type::clock::now() - written) < kLaunchSpread;
}

/// Whether the run.json that is there is our launch's.
Status check_same_launch(const fs::path& dir, const trace::RunInfo& info, const guest::Launcher& launcher) {
  constexpr const char* kHint = "choose another folder with -o";
  COX_TRY(const std::optional<trace::RunInfo> there, trace::read_run_info(dir));
  if (!there || there->launch != info.launch)
    return fail(refused(dir, "holds the Run of another job", kHint));
  const guest::Place place = guest::place_of(&launcher);
  const bool user_chose_id = std::strcmp(launcher.name, "torchrun") == 0;  // the same one, job after job
  if ((guest::variable(launcher.launch) != nullptr && !user_chose_id) || place.attempt > 0) return {};
  if (!is_young(dir) || holds_this_rank(dir, place))
    return fail(refused(dir, "holds the Run of an earlier job", kHint));
  return {};
}

}  // namespace

bool is_one_of_many(const guest::Place& place) {
  // RANK and WORLD_SIZE alone are often set for a whole pod: they say nothing about who started this process.
  return place.launcher != nullptr && place.rank >= 0 && place.world_size != 1 &&
         std::strcmp(place.launcher, "env") != 0;
}

std::string launch_key(const guest::Launcher& launcher) {
  std::string key = launcher.name;
  if (guest::variable(launcher.launch) == nullptr && guest::batch_job() == nullptr) return key;
  char job[64];
  guest::write_job(&launcher, job, sizeof job);
  return key + ' ' + job;
}

Status make_folder(const fs::path& dir, const trace::RunInfo& info, bool force) {
  std::error_code ec;
  if (fs::exists(dir, ec)) {
    const bool folder = fs::is_directory(dir, ec);
    const bool empty = folder && fs::is_empty(dir, ec);
    if (!empty && !force)
      return fail(refused(dir, "exists already",
                          "choose another folder with -o, or add --force to replace that Run"));
    if (!empty && (!folder || !is_own_run(dir)))
      return fail(refused(dir, "exists and is no Run: not replaced", "choose another folder with -o"));
    if (!empty) fs::remove_all(dir, ec);
  }
  fs::create_directories(dir, ec);
  if (ec) return fail(not_made(dir, ec));
  return trace::write_run_info(dir, info);
}

Status join_folder(const fs::path& dir, const trace::RunInfo& info, const guest::Launcher& launcher) {
  std::error_code ec;
  fs::create_directories(dir, ec);
  if (ec) return fail(not_made(dir, ec));
  const Content content = look_at(dir);
  if (content == Content::Foreign)
    return fail(refused(dir, "exists and is no Run: not used", "choose another folder with -o"));
  // Files without run.json are an older Run's: a launch writes run.json before any of its processes begins.
  if (content == Content::Run && !fs::exists(dir / "run.json", ec) && is_own_run(dir))
    return fail(refused(dir, "exists already", "choose another folder with -o"));
  if (Status created = trace::create_run_info(dir, info); created || created.error().id != "base-005")
    return created;
  return check_same_launch(dir, info, launcher);
}

}  // namespace cox::observe
