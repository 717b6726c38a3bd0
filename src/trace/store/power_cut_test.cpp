// SPDX-License-Identifier: Apache-2.0
// The power goes at any moment of a compaction: its system calls are written down as they are made, and every
// beginning of that list is played onto a disk that forgets what was not synchronised, in every order that a
// file system is free to choose.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "cox/trace/compact.hpp"
#include "cox/trace/read.hpp"

#include "support/make_run.hpp"

namespace {

namespace fs = std::filesystem;

struct Call {
  enum class Kind { Create, Write, Sync, Link, Rename, Unlink } kind;
  std::string path;
  std::string to{};       // Link, Rename
  std::string content{};  // Write: appended
};

/// Null where nobody listens. Compaction runs on one thread here.
std::vector<Call>* calls = nullptr;
std::map<int, std::string> open_files;

template <class... T>
void note(Call::Kind kind, T&&... more) {
  if (calls != nullptr) calls->push_back({kind, std::forward<T>(more)...});
}

}  // namespace

// What compaction calls of libc reaches these first; all but the list is as in libc.
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name,cert-dcl50-cpp)
extern "C" {
int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const int mode = (flags & O_CREAT) != 0 ? va_arg(list, int) : 0;
  va_end(list);
  const auto fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
  if (fd >= 0 && calls != nullptr) {
    open_files[fd] = path;
    if ((flags & O_CREAT) != 0) note(Call::Kind::Create, path);
  }
  return fd;
}
ssize_t write(int fd, const void* from, size_t bytes) {
  const ssize_t n = syscall(SYS_write, fd, from, bytes);
  if (n > 0 && calls != nullptr && open_files.contains(fd))
    note(Call::Kind::Write, open_files[fd], "",
         std::string(static_cast<const char*>(from), static_cast<std::size_t>(n)));
  return n;
}
int fsync(int fd) {
  if (calls != nullptr) note(Call::Kind::Sync, open_files[fd]);
  return 0;  // the disk is a played one
}
int link(const char* from, const char* to) noexcept {
  const auto rc = static_cast<int>(syscall(SYS_link, from, to));
  if (rc == 0) note(Call::Kind::Link, from, to);
  return rc;
}
int rename(const char* from, const char* to) noexcept {
  const auto rc = static_cast<int>(syscall(SYS_rename, from, to));
  if (rc == 0) note(Call::Kind::Rename, from, to);
  return rc;
}
int unlink(const char* path) noexcept {
  const auto rc = static_cast<int>(syscall(SYS_unlink, path));
  if (rc == 0) note(Call::Kind::Unlink, path);
  return rc;
}
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name,cert-dcl50-cpp)

namespace cox::trace {
namespace {

using test::ScratchDir;

/// A disk with a folder: names lead to files, and both are kept in memory until somebody synchronises.
class Disk {
 public:
  void put(const std::string& name, const std::string& content) {
    names_[name] = files_.size();
    files_.push_back({.content = content, .durable = content.size()});
    durable_names_ = names_;
  }
  void play(const Call& call, const fs::path& dir) {
    const std::string name = fs::path(call.path).filename();
    if (call.path == dir) {  // fsync of the folder
      durable_names_ = names_;
      pending_.clear();
      return;
    }
    switch (call.kind) {
      case Call::Kind::Create:
        pending_.push_back({name, files_.size()});
        files_.emplace_back();
        break;
      case Call::Kind::Write:
        files_[names_.at(name)].content += call.content;
        return;
      case Call::Kind::Sync:
        files_[names_.at(name)].durable = files_[names_.at(name)].content.size();
        return;
      case Call::Kind::Rename:
        pending_.push_back({fs::path(call.to).filename(), names_.at(name)});
        apply(pending_.back(), names_);
        pending_.push_back({name, std::nullopt});
        break;
      case Call::Kind::Link:
        pending_.push_back({fs::path(call.to).filename(), names_.at(name)});
        break;
      case Call::Kind::Unlink:
        pending_.push_back({name, std::nullopt});
        break;
    }
    apply(pending_.back(), names_);
  }
  /// What is there after the power went: any of the changes of names that nobody synchronised, and of each file
  /// as much as chance wants beyond what somebody did; the rest is zeros, or missing.
  void cut(const fs::path& dir, std::mt19937& random) const {
    auto names = durable_names_;
    for (const Change& change : pending_)
      if (random() % 2 == 0) apply(change, names);
    for (const auto& [name, file] : names) {
      const File& f = files_[file];
      std::string content = f.content;
      const std::size_t kept = f.durable + random() % (content.size() - f.durable + 1);
      if (random() % 2 == 0)
        content.resize(kept);
      else
        std::fill(content.begin() + static_cast<std::ptrdiff_t>(kept), content.end(), '\0');
      test::put_file(dir / name, content);
    }
  }

 private:
  struct File {
    std::string content;
    std::size_t durable = 0;
  };
  struct Change {
    std::string name;
    std::optional<std::size_t> file;  // none: the name goes
  };
  using Names = std::map<std::string, std::size_t>;
  static void apply(const Change& change, Names& names) {
    if (change.file)
      names[change.name] = *change.file;
    else
      names.erase(change.name);
  }
  std::vector<File> files_;
  Names names_;
  Names durable_names_;
  std::vector<Change> pending_;
};

/// Compaction of a Run of two processes, and what it asked the system for.
class PowerCut : public testing::Test {
 protected:
  void SetUp() override {
    run_ = test::make_run({.ranks = 2, .steps = 30});
    ASSERT_TRUE(test::write_raw_files(run_, dir_.path()));
    for (const auto& entry : fs::directory_iterator(dir_.path()))
      before_[entry.path().filename()] = test::file_content(entry.path());
    calls = &calls_;
    const auto report = compact_run(dir_.path(), 1);
    calls = nullptr;
    ASSERT_TRUE(report);
    ASSERT_EQ(report->files, 2);
  }

  /// How many of `cuts` leave a Run that is not as it was, now or after another compaction.
  int losses(const std::vector<Call>& made, int cuts) {
    const auto wanted = events_of_before();
    std::mt19937 random(7);
    int lost = 0;
    for (int i = 0; i < cuts; ++i) {
      Disk disk;
      for (const auto& [name, content] : before_) disk.put(name, content);
      const std::size_t until = static_cast<std::size_t>(i) % (made.size() + 1);
      for (std::size_t k = 0; k < until; ++k) disk.play(made[k], dir_.path());
      const ScratchDir after;
      disk.cut(after.path(), random);
      lost += holds(after.path(), wanted) &&
                      (static_cast<void>(compact_run(after.path(), 1)), holds(after.path(), wanted))
                  ? 0
                  : 1;
    }
    return lost;
  }

  std::vector<Call> calls_;

 private:
  trace::Run events_of_before() {
    const ScratchDir dir;
    for (const auto& [name, content] : before_) test::put_file(dir.path() / name, content);
    return *open_run(dir.path());
  }
  static bool holds(const fs::path& dir, const trace::Run& wanted) {
    const auto now = open_run(dir);
    return now && test::difference(wanted, *now).empty();
  }
  ScratchDir dir_;
  trace::Run run_;
  std::map<std::string, std::string> before_;
};

TEST_F(PowerCut, LosesNothingAtAnyMomentOfACompaction) {
  ASSERT_GT(calls_.size(), 10U);
  EXPECT_EQ(losses(calls_, 400), 0);
}

TEST_F(PowerCut, WouldLoseARunWithoutTheSynchronisation) {
  std::erase_if(calls_, [](const Call& call) { return call.kind == Call::Kind::Sync; });
  EXPECT_GT(losses(calls_, 400), 0);
}

}  // namespace
}  // namespace cox::trace
