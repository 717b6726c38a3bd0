// SPDX-License-Identifier: Apache-2.0
#include "observe/launch_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <regex>
#include <set>
#include <thread>
#include <utility>

#include "cox/observe/recording.hpp"
#include "cox/trace/raw_format.hpp"
#include "cox/trace/run_files.hpp"
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

/// What an entry of a Run folder is, by its name.
enum class Kind : std::uint8_t { Foreign, Info, Note, Raw, Compact, Unfinished };

/// `HOST-PID-TIME`, and `.byPID` behind it, as guests name their files; `rank-000003` of a Run that the tool wrote.
bool is_name_of_process(const std::string& stem) {
  static const std::regex kOurs(R"(rank-\d{6,}|.+-\d+-[0-9a-f]+(\.by\d+)?)");
  return std::regex_match(stem, kOurs);
}

Kind kind_of(const fs::path& file) {
  const std::string name = file.filename().string();
  if (name == "run.json") return Kind::Info;
  if (name == "run.ends" || name == trace::kDetachFile || name == trace::kClaimsFile) return Kind::Note;
  // A name with a suffix is one that is being written beside its place.
  const std::size_t beside = name.find(".cox.tmp-");
  if (name.starts_with("run.json.tmp-") || beside == 0 ||
      (beside != std::string::npos && is_name_of_process(name.substr(0, beside))))
    return Kind::Unfinished;
  if (!is_name_of_process(file.stem().string())) return Kind::Foreign;
  if (file.extension() == ".coxraw") return Kind::Raw;
  return file.extension() == ".cox" ? Kind::Compact : Kind::Foreign;
}

enum class Content : std::uint8_t { Empty, Run, Foreign };

/// A process that could not begin its file leaves its host's folder so.
bool is_empty_folder(const fs::path& path) {
  std::error_code ec;
  return kind_of(path) == Kind::Foreign && fs::symlink_status(path, ec).type() == fs::file_type::directory &&
         fs::is_empty(path, ec) && !ec;
}

/// What an NFS client keeps of a removed file that is still open; it goes with its last reader.
bool is_leftover_of_nfs(const fs::path& file) {
  return file.filename().string().starts_with(".nfs");
}

Content look_at(const fs::path& dir) {
  std::error_code ec;
  Content found = Content::Empty;
  for (fs::directory_iterator it(dir, ec), end; !ec && it != end; it.increment(ec)) {
    if (kind_of(it->path()) == Kind::Foreign && !trace::is_host_folder(it->path()) &&
        !is_empty_folder(it->path()))
      return Content::Foreign;
    found = Content::Run;
  }
  return found;
}

bool holds_records(const fs::path& dir) {
  return std::ranges::any_of(trace::run_entries(dir), [](const fs::path& file) {
    return kind_of(file) == Kind::Raw || kind_of(file) == Kind::Compact;
  });
}

/// Whether a folder looks like a Run that we made.
bool is_own_run(const fs::path& dir) {
  std::error_code ec;
  return fs::exists(dir / "run.json", ec) || holds_records(dir);
}

/// Whether a file begins as ours do. A raw file of a process that was killed while it began is all zeros.
bool begins_as_ours(const fs::path& file, Kind kind) {
  std::string head(6, '\0');
  std::ifstream in(file, std::ios::binary);
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  if (kind == Kind::Compact) return head == "COXRUN";
  return head == "COXRAW" || head == std::string(6, '\0');
}

/// Zeros and ones, by rank.
bool holds_claims_only(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return std::all_of(std::istreambuf_iterator<char>(in), {}, [](char c) { return c == 0 || c == 1; });
}

/// Whether an entry of an old Run is certainly one of its files, by name, type and content.
bool is_certainly_ours(const fs::path& file, const fs::path& dir) {
  std::error_code ec;
  const Kind kind = kind_of(file);
  if (kind == Kind::Foreign || !fs::is_regular_file(fs::symlink_status(file, ec))) return false;
  if (kind == Kind::Raw || kind == Kind::Compact) return begins_as_ours(file, kind);
  if (file.filename() == trace::kDetachFile) return fs::file_size(file, ec) == 0;
  if (file.filename() == trace::kClaimsFile) return holds_claims_only(file);
  if (kind != Kind::Info) return true;
  const auto info = trace::read_run_info(dir);
  return info && *info;
}

/// The files of the Run that `--force` replaces, and behind them the folders of its hosts. Refused as a whole where anything else lies there.
Result<std::vector<fs::path>> files_to_replace(const fs::path& dir) {
  constexpr const char* kHint = "nothing was removed; choose another folder with -o";
  std::vector<fs::path> files;
  std::error_code ec;
  if (!fs::is_directory(dir, ec)) return fail(refused(dir, "is no folder", kHint));
  const std::vector<fs::path> entries = trace::run_entries(dir, ec);
  if (ec) return fail(refused(dir, "cannot be read", kHint));
  std::set<fs::path> hosts;
  for (const fs::path& file : entries) {
    if (is_empty_folder(file) || is_leftover_of_nfs(file))
      continue;  // they stay: nobody knows whose they are
    if (!is_certainly_ours(file, dir)) {
      const std::string why = fmt::format("holds {}, which is no file of a Run", file.filename().string());
      return fail(refused(dir, why.c_str(), kHint));
    }
    files.push_back(file);
    if (file.parent_path() != dir) hosts.insert(file.parent_path());
  }
  files.insert(files.end(), hosts.begin(), hosts.end());
  if (!files.empty() && !is_own_run(dir)) return fail(refused(dir, "exists and is no Run", kHint));
  if (const std::int64_t busy = look_at_recording(dir).here; busy > 0)
    return fail(refused(dir, fmt::format("is being recorded into by {} processes", busy).c_str(), kHint));
  return files;
}

/// Makes a folder that was not there with the rights of a Run's. Of several that try, all succeed.
std::error_code make_with_rights(const fs::path& dir, Rights rights) {
  std::error_code ec;
  if (fs::exists(dir, ec)) return {};
  if (dir.has_parent_path()) fs::create_directories(dir.parent_path(), ec);
  if (ec) return ec;
  const mode_t mode = rights == Rights::Group ? 0750 : 0700;
  if (::mkdir(dir.c_str(), mode) != 0)
    return errno == EEXIST ? std::error_code{} : std::error_code(errno, std::generic_category());
  if (rights == Rights::Group) ::chmod(dir.c_str(), mode);  // whatever the umask
  return {};
}

/// Takes this rank of a launch without a name: false where somebody took it before, who then is of an earlier
/// launch. One file for all ranks, a byte for each, so that no rank looks at what others left; the lock is of that
/// byte alone. Where the file system has no locks, or the file cannot be written, the age of the Run must do.
bool claim_rank(const fs::path& dir, std::int32_t rank) {
  constexpr int kTries = 25;
  constexpr std::chrono::milliseconds kPause{20};
  const fs::path file = dir / trace::kClaimsFile;
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (fd < 0) return true;
  struct stat about {};
  if (::fstat(fd, &about) != 0 || !S_ISREG(about.st_mode) || about.st_uid != ::geteuid()) {
    ::close(fd);
    return true;  // somebody else's: says nothing
  }
  struct flock one {};
  one.l_type = F_WRLCK;
  one.l_whence = SEEK_SET;
  one.l_start = rank;
  one.l_len = 1;
  for (int i = 0; i < kTries && ::fcntl(fd, F_OFD_SETLK, &one) != 0 && (errno == EAGAIN || errno == EACCES);
       ++i)
    std::this_thread::sleep_for(kPause);  // whoever holds it for longer holds nobody up
  char taken = 0;
  static_cast<void>(::pread(fd, &taken, 1, rank));
  if (taken == 0) {
    const char mine = 1;
    static_cast<void>(::pwrite(fd, &mine, 1, rank));
  }
  ::close(fd);
  return taken == 0;
}

/// Whether the launcher gives every launch a name of its own.
bool has_own_name(const guest::Launcher& launcher) {
  const bool user_chose_it = std::strcmp(launcher.name, "torchrun") == 0;  // the same one, job after job
  return guest::variable(launcher.launch) != nullptr && !user_chose_it;
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
  if (has_own_name(launcher) || guest::place_of(&launcher).attempt > 0) return {};
  return is_young(dir) ? Status{} : fail(refused(dir, "holds the Run of an earlier job", kHint));
}

/// Whoever finds no run.json waits for the first rank of its host to write it: else all would at once.
bool wait_for_info(const fs::path& dir, const guest::LauncherPlace& place) {
  constexpr int kTries = 20;
  constexpr std::chrono::milliseconds kPause{10};
  std::error_code ec;
  for (int i = place.local_rank > 0 ? 0 : kTries; i < kTries; ++i) {
    if (fs::exists(dir / "run.json", ec)) return true;
    std::this_thread::sleep_for(kPause);
  }
  return fs::exists(dir / "run.json", ec);
}

/// Makes run.json in a folder that must be new, or joins whoever made it in the meantime.
Status begin_shared(const fs::path& dir, const trace::RunInfo& info, const guest::Launcher& launcher,
                    Rights rights) {
  std::error_code ec;
  const Content content = look_at(dir);
  if (content == Content::Foreign)
    return fail(refused(dir, "exists and is no Run: not used", "choose another folder with -o"));
  // Records without run.json are an older Run's: a launch writes run.json before any of its processes begins. So records
  // are looked for first: another rank may write run.json at any moment.
  if (content == Content::Run && holds_records(dir) && !fs::exists(dir / "run.json", ec))
    return fail(refused(dir, "exists already", "choose another folder with -o"));
  if (Status created = trace::create_run_info(dir, info, rights); created || created.error().id != "base-005")
    return created;
  return check_same_launch(dir, info, launcher);
}

}  // namespace

bool is_one_of_many(const guest::LauncherPlace& place) {
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

Result<std::vector<fs::path>> make_folder(const fs::path& dir, const trace::RunInfo& info, bool force,
                                          Rights rights) {
  std::error_code ec;
  std::vector<fs::path> old;
  const bool in_use = fs::exists(dir, ec) && !(fs::is_directory(dir, ec) && fs::is_empty(dir, ec));
  if (in_use && !force) {
    COX_CHECK(files_to_replace(dir));  // what --force would refuse, too, is said instead
    return fail(
        refused(dir, "exists already", "choose another folder with -o, or add --force to replace that Run"));
  }
  if (in_use) {
    COX_TRY(old, files_to_replace(dir));
    if (::access(dir.c_str(), W_OK) != 0)
      return fail(not_made(dir, std::error_code(errno, std::generic_category())));
    return old;
  }
  if (const std::error_code bad = make_with_rights(dir, rights)) return fail(not_made(dir, bad));
  COX_CHECK(trace::write_run_info(dir, info, rights));
  return old;
}

Status replace_run(const std::vector<fs::path>& old, const fs::path& dir, const trace::RunInfo& info,
                   Rights rights) {
  for (const fs::path& file : old)
    if (kind_of(file) != Kind::Info && ::unlink(file.c_str()) != 0) ::rmdir(file.c_str());
  ::chmod(dir.c_str(), rights == Rights::Group ? 0750 : 0700);
  return trace::write_run_info(dir, info, rights);
}

void unmake_folder(const fs::path& dir) {
  ::unlink((dir / "run.json").c_str());
  ::rmdir(dir.c_str());
}

Status join_folder(const fs::path& dir, const trace::RunInfo& info, const guest::Launcher& launcher,
                   Rights rights) {
  if (const std::error_code bad = make_with_rights(dir, rights)) return fail(not_made(dir, bad));
  const guest::LauncherPlace place = guest::place_of(&launcher);
  if (wait_for_info(dir, place)) {
    COX_CHECK(check_same_launch(dir, info, launcher));
  } else {
    COX_CHECK(begin_shared(dir, info, launcher, rights));
  }
  if (has_own_name(launcher) || place.attempt > 0 || claim_rank(dir, place.rank)) return {};
  return fail(refused(dir, "holds the Run of an earlier job", "choose another folder with -o"));
}

}  // namespace cox::observe
