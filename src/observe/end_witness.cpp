// SPDX-License-Identifier: Apache-2.0
#include "observe/end_witness.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <system_error>
#include <utility>

#include "cox/base/process_table.hpp"
#include "cox/guest/node_name.hpp"
#include "cox/trace/raw_format.hpp"
#include "cox/trace/run_files.hpp"

namespace cox::observe {
namespace {

namespace fs = std::filesystem;

/// Tags of what is waited for; others are indices of processes.
constexpr std::uint64_t kListener = ~std::uint64_t{0};
constexpr std::uint64_t kStop = kListener - 1;
constexpr std::size_t kMostLooks = 16;
constexpr int kMostWaiting = 4096;  // the kernel takes its own limit where that is less

bool wait_for(int events, int fd, std::uint64_t tag) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = tag;
  return epoll_ctl(events, EPOLL_CTL_ADD, fd, &event) == 0;
}

std::int64_t realtime_ns() {
  std::timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Bound to the name that the Run's guests know, or -1.
int listen_for(const fs::path& dir) {
  struct stat about {};
  if (::stat(dir.c_str(), &about) != 0) return -1;
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  sockaddr_un name;
  const socklen_t length =
      guest::node_name(guest::kEndsSocket, {.device = about.st_dev, .inode = about.st_ino}, name);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&name), length) == 0 && listen(fd, kMostWaiting) == 0)
    return fd;
  close(fd);
  return -1;
}

/// Inode of the PID namespace that this process's numbers are of; 0 where it cannot be read.
std::uint64_t own_pid_namespace() {
  struct stat about {};
  return ::stat("/proc/self/ns/pid", &about) == 0 ? about.st_ino : 0;
}

/// The last file of each rank of the Run.
std::map<int, trace::RawHeader> heads_of(const fs::path& dir) {
  std::map<int, trace::RawHeader> last;
  const std::uint64_t here = own_pid_namespace();
  const std::string boot = this_machine().boot_id();
  for (const fs::path& file : trace::run_entries(dir)) {
    std::error_code ec;
    if (file.extension() != ".coxraw" || !fs::is_regular_file(file, ec)) continue;
    trace::RawHeader head{};
    std::ifstream in(file, std::ios::binary);
    if (!in.read(reinterpret_cast<char*>(&head), sizeof head) ||
        std::memcmp(head.magic, trace::kRawMagic, sizeof head.magic) != 0 || head.rank < 0)
      continue;
    // Another's number, of this machine or of another one: the first namespace has one number on all.
    const std::string_view booted(head.boot_id, strnlen(head.boot_id, sizeof head.boot_id));
    const bool is_here = booted.empty() || booted == boot;
    if (!is_here || (head.pid_namespace != 0 && head.pid_namespace != here)) head.pid = 0;
    const auto at = last.find(head.rank);
    if (at == last.end() || at->second.start_time < head.start_time) last.insert_or_assign(head.rank, head);
  }
  return last;
}

}  // namespace

EndWitness::EndWitness(const fs::path& dir) : listener_(listen_for(dir)) {}

EndWitness::~EndWitness() {
  static_cast<void>(stop());
}

void EndWitness::start() {
  if (listener_ < 0) return;
  events_ = epoll_create1(EPOLL_CLOEXEC);
  stop_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (events_ < 0 || stop_ < 0 || !wait_for(events_, listener_, kListener) ||
      !wait_for(events_, stop_, kStop))
    return;
  try {
    thread_ = std::thread([this] { watch(); });
  } catch (const std::system_error&) {  // no thread to spare: nothing is seen
  }
}

SeenEnds EndWitness::stop() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t told = write(stop_, &one, sizeof one);
    thread_.join();
  }
  for (int* fd : {&listener_, &events_, &stop_})
    if (*fd >= 0) close(std::exchange(*fd, -1));
  for (int& process : processes_)
    if (process >= 0) close(process);
  processes_.clear();
  return std::exchange(seen_, {});
}

/// Events come in the order in which they happened. Told to stop, it greets who has knocked, takes the ends that wait, and
/// hears nobody more.
void EndWitness::watch() {
  bool is_last = false;
  for (;;) {
    std::array<epoll_event, 64> ready{};
    const int n = epoll_wait(events_, ready.data(), static_cast<int>(ready.size()), is_last ? 0 : -1);
    if (n < 0 && errno == EINTR) continue;
    for (int i = 0; i < n; ++i)
      if (!take(ready.at(static_cast<std::size_t>(i)).data.u64)) {
        is_last = true;
        while (greet_some()) continue;
        stop_listening();
        epoll_ctl(events_, EPOLL_CTL_DEL, stop_, nullptr);
      }
    if (n < 0 || (is_last && n == 0)) return;  // each end is taken once
  }
}

void EndWitness::stop_listening() {
  epoll_ctl(events_, EPOLL_CTL_DEL, listener_, nullptr);
}

/// Whether it was about the job; else it is to stop.
bool EndWitness::take(std::uint64_t tag) {
  if (tag == kStop) return false;
  if (tag == kListener) {
    greet_some();
    return true;
  }
  const auto at = static_cast<std::size_t>(tag);
  const int process = std::exchange(processes_[at], -1);
  epoll_ctl(events_, EPOLL_CTL_DEL, process, nullptr);
  close(process);
  seen_.ended.push_back({.process = seen_.began[at],
                         .realtime_ns = realtime_ns(),
                         .was_alone = others_live(),
                         .began = seen_.began.size()});
  return true;
}

/// Of the first few ends only: each look asks for every process.
bool EndWitness::others_live() const {
  if (seen_.ended.size() >= kMostLooks) return false;
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    if (processes_[i] < 0) continue;
    const auto other = this_machine().find({.pid = seen_.began[i]});
    if (!other || other->is_ending || other->state == 'Z' || other->state == 'X') return false;
  }
  return true;
}

/// Who has knocked, some at a time, so that ends are not kept waiting; whether there may be more. A process that cannot be waited for is not counted
/// as having begun: then its Run lacks one, and nobody is named.
bool EndWitness::greet_some() {
  constexpr int kAtOnce = 64;
  constexpr int kMostStrangers = 256;
  for (int i = 0; i < kAtOnce; ++i) {
    const int caller = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (caller < 0) {
      // Without a descriptor to spare the one who knocks would be told of again and again.
      if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) stop_listening();
      return false;
    }
    ucred owner{};
    socklen_t size = sizeof owner;
    const bool known = getsockopt(caller, SOL_SOCKET, SO_PEERCRED, &owner, &size) == 0 && owner.pid > 0 &&
                       owner.uid == geteuid();
    if (known && !hears_of_failure(caller, owner.pid)) watch_process(owner.pid);
    close(caller);  // after that: a caller that waits for it knows that its end will be seen
    if (!known && ++strangers_ == kMostStrangers) {
      stop_listening();
      return false;
    }
  }
  return true;
}

/// Who knocks to say why says so at once; who begins says nothing and closes, and so does another program in the same process.
/// A process under a filter has not knocked before.
bool EndWitness::hears_of_failure(int caller, pid_t pid) {
  pollfd ready{.fd = caller, .events = POLLIN, .revents = 0};
  constexpr int kPatienceMs = 100;  // between its knock and its word
  guest::WriteFailure what{.mark = 0};
  if (poll(&ready, 1, kPatienceMs) != 1 || recv(caller, &what, sizeof what, MSG_DONTWAIT) != sizeof what ||
      what.mark != guest::WriteFailure::kMark)
    return false;
  constexpr std::size_t kMost = 65536;
  if (seen_.unwritten.size() < kMost) seen_.unwritten.push_back({.process = pid, .error = what.error});
  return true;
}

void EndWitness::watch_process(pid_t pid) {
  const auto process = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (process < 0) return;
  if (!wait_for(events_, process, processes_.size())) {
    close(process);
    return;
  }
  processes_.push_back(process);
  seen_.began.push_back(pid);
}

std::vector<trace::UnwrittenRank> unwritten_ranks(const fs::path& dir, const SeenEnds& seen) {
  std::vector<trace::UnwrittenRank> out;
  if (seen.unwritten.empty()) return out;
  std::map<pid_t, int> rank_of;
  for (const auto& [rank, head] : heads_of(dir)) rank_of.emplace(head.pid, rank);
  for (const SeenEnds::Unwritten& u : seen.unwritten) {
    const auto at = rank_of.find(u.process);
    out.push_back({.rank = at == rank_of.end() ? -1 : at->second, .error = u.error});
  }
  std::ranges::sort(out, {}, &trace::UnwrittenRank::rank);
  return out;
}

std::optional<trace::RankEnd> first_end(const fs::path& dir, const SeenEnds& seen) {
  if (seen.ended.empty()) return std::nullopt;
  const std::map<int, trace::RawHeader> heads = heads_of(dir);
  std::map<pid_t, const trace::RawHeader*> by_process;
  for (const auto& [rank, head] : heads) {
    if (head.world_size != static_cast<int>(heads.size()) ||
        std::ranges::find(seen.began, pid_t{head.pid}) == seen.began.end())
      return std::nullopt;
    by_process.emplace(head.pid, &head);
  }
  if (by_process.size() != heads.size()) return std::nullopt;
  // The last of these processes to begin. Who ended before was of an earlier start of the job; who ended later and is none of
  // them is of another world at the same time (spawned, or launched beside it), whose ranks have the same numbers.
  std::size_t all_began = 0;
  for (std::size_t i = 0; i < seen.began.size(); ++i)
    if (by_process.contains(seen.began[i])) all_began = i + 1;
  for (const SeenEnds::End& end : seen.ended) {
    const auto at = by_process.find(end.process);
    if (at == by_process.end() && end.began >= all_began) return std::nullopt;
    if (at == by_process.end()) continue;
    const bool is_open = at->second->state == trace::WriterState::Open;
    if ((is_open && !end.was_alone) || (!is_open && at->second->state != trace::WriterState::Closed))
      return std::nullopt;
    return trace::RankEnd{.rank = at->second->rank,
                          .exit_status = is_open ? trace::RankEnd::kCutOff : trace::RankEnd::kInOrder,
                          .realtime_ns = end.realtime_ns};
  }
  return std::nullopt;
}

}  // namespace cox::observe
