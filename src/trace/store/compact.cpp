// SPDX-License-Identifier: Apache-2.0
#include "cox/trace/compact.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include "cox/base/file.hpp"
#include "cox/base/parallel.hpp"
#include "cox/base/process_table.hpp"
#include "cox/trace/run_files.hpp"
#include "cox/trace/writer_process.hpp"

#include "trace/raw/meta_entries.hpp"
#include "trace/raw/raw_file.hpp"
#include "trace/raw/sample_block.hpp"
#include "trace/store/compact_file.hpp"
#include "trace/store/run_folder.hpp"

namespace cox::trace {
namespace {

namespace fs = std::filesystem;

/// What became of one raw file.
struct Outcome {
  bool compacted = false;
  bool elsewhere = false;  ///< another process compacts or has compacted it
  std::int64_t events = 0;
  Bytes compact_bytes{};
  std::vector<std::string> notes;
  std::optional<Error> error;  ///< only where the folder cannot be written
};

/// Whether somebody has the file open, in any container of this machine:
/// a lease is granted on idle files only.
bool is_open_somewhere(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  const bool refused = ::fcntl(fd, F_SETLEASE, F_WRLCK) != 0 && errno == EAGAIN;
  if (!refused) ::fcntl(fd, F_SETLEASE, F_UNLCK);
  ::close(fd);
  return refused;
}

/// Why a raw file must stay as it is; nothing where its process is certainly gone (or has closed it, in a
/// folder that is ours alone).
std::optional<std::string> still_in_use(const RawHeader& header, const fs::path& path, CompactScope scope) {
  if (header.state != WriterState::Open && scope == CompactScope::All) return std::nullopt;
  const WriterProcess writer = look_for_writer(header, this_machine());
  if (writer != WriterProcess::Elsewhere) {
    if (writer == WriterProcess::Runs) return fmt::format("process {} still runs; left as it is", header.pid);
    // In a shared folder the one who has it open may be another that compacts;
    // a closed file needs no second witness.
    if (header.state == WriterState::Open && is_open_somewhere(path))
      return "a process has it open; left as it is";
    return std::nullopt;
  }
  // Another machine, or this one before it was started anew: an hour without a write tells.
  std::error_code ec;
  const auto age = fs::file_time_type::clock::now() - fs::last_write_time(path, ec);
  if (ec || age < std::chrono::hours{1})
    return "its process ran on another machine and may still run; left as it is";
  return std::nullopt;
}

bool same(const ProcessRecords& a, const ProcessRecords& b) {
  return std::equal(reinterpret_cast<const char*>(&a.header), reinterpret_cast<const char*>(&a.header + 1),
                    reinterpret_cast<const char*>(&b.header)) &&
         a.meta == b.meta && a.records == b.records && same_samples(a.samples, b.samples);
}

/// Reads a compact file back and compares it with what it should hold.
bool holds(const fs::path& path, const ProcessRecords& wanted) {
  const auto bytes = read_file(path, kMaxFileBytes);
  if (!bytes) return false;
  const auto decoded = decode_compact(*bytes);
  return decoded && decoded->losses.empty() && same(*decoded, wanted);
}

/// Has the disk hold a file, or the names in a folder; an errno where it cannot.
int sync(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  const int cause = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  return cause;
}

/// Removes the raw file once the disk holds the compact one and its name: a machine that goes down at any moment
/// leaves one of them whole. Why not, where it stays.
std::optional<std::string> remove_raw(const fs::path& raw, const fs::path& compact) {
  int cause = sync(compact);
  if (cause == 0) cause = sync(compact.parent_path().empty() ? fs::path(".") : compact.parent_path());
  if (cause != 0)
    return fmt::format("kept beside the compact one, which cannot be made durable: {}", std::strerror(cause));
  if (::unlink(raw.c_str()) == 0 || errno == ENOENT) return std::nullopt;
  return fmt::format("cannot be removed after compaction: {}", std::strerror(errno));
}

Outcome keep(std::string why) {
  Outcome out;
  out.notes.push_back(std::move(why));
  return out;
}

Outcome elsewhere() {
  Outcome out;
  out.elsewhere = true;
  return out;
}

Outcome outcome_of(const ProcessRecords& records, const fs::path& target) {
  std::error_code ec;
  Outcome out;
  out.compacted = true;
  out.events = static_cast<std::int64_t>(records.records.size());
  out.compact_bytes = Bytes{static_cast<std::int64_t>(fs::file_size(target, ec))};
  return out;
}

Outcome compact_file(const ProcessPaths& paths, CompactScope scope) {
  const auto bytes = read_file(paths.raw, kMaxFileBytes);
  if (!bytes && bytes.error().code == Errc::NotFound) return elsewhere();
  if (!bytes) return keep(bytes.error().message);
  auto parsed = parse_raw_file(*bytes);
  if (!parsed) return keep(parsed.error().message);
  if (auto why = still_in_use(parsed->header, paths.raw, scope)) return keep(*std::move(why));
  if (!parsed->losses.empty()) {
    // What this version cannot read, a person or a later version may.
    Outcome out;
    out.notes = std::move(parsed->losses);
    out.notes.emplace_back("damaged or cut: left as it is");
    return out;
  }
  fs::path target = paths.raw;
  target.replace_extension(kCompactSuffix);
  if (!paths.compact.empty() && !holds(paths.compact, *parsed))
    return keep(fmt::format("{} is there already and differs; both are left as they are",
                            paths.compact.filename().string()));
  Outcome out;
  if (paths.compact.empty()) {
    if (auto status =
            write_file_atomically(target, encode_compact(*parsed), IfExists::Fail, rights_of(paths.raw));
        !status) {
      if (status.error().id == "base-005") return elsewhere();  // somebody made it since we looked
      out.error = std::move(status).error();
      return out;
    }
    const auto again = read_file(paths.raw, kMaxFileBytes);
    const bool whole = holds(target, *parsed);
    // Another that compacts this folder saw both files, found the compact one whole and removed the raw one:
    // ours is the only copy now.
    if (!again && again.error().code == Errc::NotFound && whole) return outcome_of(*parsed, target);
    if (!again || *again != *bytes || !whole) {
      std::error_code ec;
      fs::remove(target, ec);
      return keep("changed while it was compacted; left as it is");
    }
  }
  out = outcome_of(*parsed, target);
  if (auto why = remove_raw(paths.raw, target)) out.notes.push_back(*std::move(why));
  return out;
}

}  // namespace

Result<CompactReport> compact_run(const fs::path& dir, int threads, CompactScope scope,
                                  std::int64_t observer) {
  COX_TRY(std::vector<ProcessPaths> paths, list_run(dir));
  const std::string prefix = scope == CompactScope::All ? std::string{} : own_host() + '-';
  const std::string mark = scope == CompactScope::Observer ? observer_mark(observer) : std::string{};
  std::erase_if(paths, [&](const ProcessPaths& p) {
    return p.raw.empty() || !p.raw.filename().string().starts_with(prefix) ||
           !p.raw.stem().string().ends_with(mark);
  });
  std::vector<Outcome> outcomes(paths.size());
  parallel_for(paths.size(), threads, [&](std::size_t i) { outcomes[i] = compact_file(paths[i], scope); });
  CompactReport report;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    Outcome& o = outcomes[i];
    if (o.error) return fail(*std::move(o.error));
    if (o.elsewhere) continue;
    ++(o.compacted ? report.files : report.kept_raw);
    report.events += o.events;
    report.raw_bytes += Bytes{o.events * static_cast<std::int64_t>(sizeof(RawRecord))};
    report.compact_bytes += o.compact_bytes;
    for (std::string& note : o.notes)
      report.notes.push_back({.file = paths[i].raw.filename().string(), .text = std::move(note)});
  }
  return report;
}

}  // namespace cox::trace
