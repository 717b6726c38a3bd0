// SPDX-License-Identifier: Apache-2.0
#include "cox/observe/recording.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <thread>

#include "cox/base/file.hpp"
#include "cox/base/process_table.hpp"
#include "cox/guest/writer.hpp"
#include "cox/trace/raw_format.hpp"
#include "cox/trace/run_files.hpp"
#include "cox/trace/run_info.hpp"
#include "cox/trace/writer_process.hpp"

namespace cox::observe {
namespace {

namespace fs = std::filesystem;

bool read_head(const fs::path& file, trace::RawHeader& head) {
  std::ifstream in(file, std::ios::binary);
  return in.read(reinterpret_cast<char*>(&head), sizeof head) &&
         std::memcmp(head.magic, trace::kRawMagic, sizeof head.magic) == 0;
}

void count_open(const trace::RawHeader& head, Recording& sum) {
  switch (trace::look_for_writer(head, this_machine())) {
    case trace::WriterProcess::Runs:
      ++sum.here;
      return;
    case trace::WriterProcess::Gone:
      ++sum.over;
      return;
    case trace::WriterProcess::Hidden:
    case trace::WriterProcess::Elsewhere:
      ++sum.elsewhere;
  }
}

}  // namespace

Recording look_at_recording(const fs::path& dir) {
  Recording sum;
  for (const fs::path& file : trace::run_entries(dir)) {
    std::error_code ec;
    trace::RawHeader head{};
    if (file.extension() != ".coxraw" || !fs::is_regular_file(file, ec) || !read_head(file, head)) continue;
    if (head.state == trace::WriterState::Disabled)
      ++sum.stopped;
    else if (head.state != trace::WriterState::Open)
      ++sum.over;
    else
      count_open(head, sum);
  }
  return sum;
}

Recording wait_for_end(const fs::path& dir, std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds kPause{20};
  const auto until = std::chrono::steady_clock::now() + patience;
  for (;;) {
    const Recording now = look_at_recording(dir);
    if (now.here == 0 || std::chrono::steady_clock::now() >= until) return now;
    std::this_thread::sleep_for(kPause);
  }
}

Result<Recording> detach(const fs::path& dir, std::chrono::milliseconds patience) {
  const auto info = trace::read_run_info(dir);
  if (!info) return fail(info.error());
  if (!*info || (*info)->provenance != trace::Provenance::Observed)
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "observe-011",
                      .message = "no folder that cox observe records into",
                      .hint = "name the folder that was given to cox observe -o",
                      .where = Where{.file = dir.string()}});
  if ((*info)->exit_status >= 0) {
    Recording now = look_at_recording(dir);
    now.has_ended = now.here + now.elsewhere == 0;
    if (now.has_ended) return now;
  }
  const fs::path file = dir / trace::kDetachFile;
  const Status told = write_file_atomically(file, "", IfExists::Replace, rights_of(dir / "run.json"));
  if (!told) return fail(told.error());
  return wait_for_end(dir, patience);
}

std::string why_no_file(const fs::path& dir) {
  rlimit most{};
  if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < guest::kLeastFileBytes)  // a signal would end us
    return fmt::format("files may grow to {} bytes only (ulimit -f), {} are needed", most.rlim_cur,
                       guest::kLeastFileBytes);
  const std::string name = (dir / fmt::format(".cox.tmp-{}-probe", getpid())).string();
  const int fd = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return std::strerror(errno);
  int cause = 0;
  do cause = posix_fallocate(fd, 0, static_cast<off_t>(guest::kFirstFileBytes));
  while (cause == EINTR);
  ::close(fd);
  ::unlink(name.c_str());
  return cause == 0 ? std::string{} : std::strerror(cause);
}

}  // namespace cox::observe
