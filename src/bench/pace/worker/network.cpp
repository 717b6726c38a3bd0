// SPDX-License-Identifier: Apache-2.0
// Recipe of the link: token bucket of 16 kB, segmentation left on, so that a single flow reaches the
// configured payload rate, and a queue that holds what all ranks can have under way: a lost packet costs a
// timeout of 200 ms, which would hide everything that is measured here.
#include "bench/pace/worker/network.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "cox/base/child.hpp"

#include "bench/pace/worker/socket.hpp"

namespace cox::bench::worker {
namespace {

constexpr std::uint16_t kInputPort = 7000;
constexpr std::uint16_t kSinkPort = 6999;

/// Runs a program quietly; whether it exited with 0.
bool run_words(const std::string& line) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  const auto ended = run_child(words, "bench-010", {.errors = ChildLimits::Errors::Nowhere});
  return ended && ended->status == 0;
}

/// Priority of packets that go into the queue of one flow: the number of a class
/// (tc-htb(8), "classification").
int queue_of(int flow) {
  constexpr int kHandle = 0x10000;
  constexpr int kFirst = 0x100;
  return kHandle + kFirst + flow;
}

/// What makes one end of the cable; the first line that fails, or nothing. `flows`: so many queues, served in
/// turn, so that flows share the cable evenly; everything else goes through one more.
std::string set_up(const std::string& device, int host, Bandwidth rate, int flows) {
  const auto bits = static_cast<std::int64_t>(rate.in_bytes_per_s() * 8);
  std::vector<std::string> lines = {
      "ip link set lo up", fmt::format("ip addr add 10.77.0.{}/24 dev {}", host, device),
      fmt::format("ip link set {} up", device),
      fmt::format("tc qdisc add dev {} root handle 1: htb default 10", device),
      fmt::format(
          "tc class add dev {} parent 1: classid 1:1 htb rate {}bit ceil {}bit burst 16kb cburst 16kb",
          device, bits, bits)};
  const auto add_queue = [&](int minor) {
    lines.push_back(fmt::format(
        "tc class add dev {} parent 1:1 classid 1:{:x} htb rate {}bit ceil {}bit burst 16kb cburst 16kb quantum 9000",
        device, minor, bits / (flows + 1), bits));
    lines.push_back(fmt::format("tc qdisc add dev {} parent 1:{:x} bfifo limit 4mb", device, minor));
  };
  add_queue(0x10);
  for (int flow = 0; flow < flows; ++flow) add_queue(queue_of(flow) & 0xffff);
  for (const std::string& line : lines)
    if (!run_words(line)) return line;
  const int file = ::open("/proc/sys/net/ipv4/tcp_slow_start_after_idle", O_WRONLY | O_CLOEXEC);
  if (file >= 0) {  // without it a connection that pauses between steps begins slowly each time
    [[maybe_unused]] const ssize_t ignored = write(file, "0", 1);
    close(file);
  }
  return {};
}

/// Dies with the process that forked it.
void follow(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
}

[[noreturn]] void serve_input(int listener, int rank) {
  const int socket = accept_one(listener);
  const int queue = queue_of(rank);
  setsockopt(socket, SOL_SOCKET, SO_PRIORITY, &queue, sizeof queue);
  std::vector<char> data(65536, 1);
  std::int64_t left = 0;
  while (socket >= 0 && receive_all(socket, &left, sizeof left))
    for (; left > 0; left -= static_cast<std::int64_t>(data.size()))
      if (!send_all(socket, data.data(), std::min(data.size(), static_cast<std::size_t>(left)))) _exit(0);
  _exit(0);
}

[[noreturn]] void sink(int listener, int) {
  const int socket = accept_one(listener);
  std::vector<char> data(65536);
  while (socket >= 0 && recv(socket, data.data(), data.size(), 0) > 0) {
  }
  _exit(0);
}

/// One process per listener, all children of the far process.
template <class Serve>
bool start_server(std::uint16_t port, int rank, Serve serve) {
  const int listener = listen_on(port);
  if (listener < 0) return false;
  const pid_t parent = getpid();
  const pid_t id = fork();
  if (id == 0) {
    follow(parent);
    serve(listener, rank);
  }
  close(listener);
  return id > 0;
}

/// The far host: one letter when its namespace is there, waits for one (the cable), one when all is set up.
[[noreturn]] void be_far(const PacePlan& plan, int channel) {
  char letter = unshare(CLONE_NEWNET) == 0 ? 'n' : 'x';
  if (write(channel, &letter, 1) != 1 || letter != 'n' || read(channel, &letter, 1) != 1) _exit(1);
  const int inputs = plan.job.fetch.count() > 0 ? plan.job.ranks : 0;
  bool good = set_up("cable", 2, plan.job.link, inputs).empty();
  for (int rank = 0; good && rank < inputs; ++rank)
    good = start_server(static_cast<std::uint16_t>(kInputPort + rank), rank, serve_input);
  if (good && plan.background.share > 0) good = start_server(kSinkPort, 0, sink);
  letter = good ? 's' : 'x';
  if (write(channel, &letter, 1) != 1) _exit(1);
  while (read(channel, &letter, 1) > 0) {  // until the near process is gone
  }
  _exit(0);
}

}  // namespace

std::string Network::make(const PacePlan& plan) {
  if (unshare(CLONE_NEWNET) != 0) return fmt::format("no network namespace: {}", std::strerror(errno));
  std::array<int, 2> ends{-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return std::strerror(errno);
  const pid_t parent = getpid();
  far_ = fork();
  if (far_ == 0) {
    close(ends[0]);
    follow(parent);
    be_far(plan, ends[1]);
  }
  close(ends[1]);
  char letter = 0;
  if (far_ < 0 || read(ends[0], &letter, 1) != 1 || letter != 'n') return "no second network namespace";
  const std::string link = fmt::format("ip link add cable type veth peer name cable netns {}", far_);
  if (!run_words(link)) return fmt::format("this failed: {}", link);
  if (const std::string line = set_up("cable", 1, plan.job.link, 0); !line.empty())
    return fmt::format("this failed: {}", line);
  letter = 'c';
  if (write(ends[0], &letter, 1) != 1 || read(ends[0], &letter, 1) != 1 || letter != 's')
    return "the far host could not be set up";
  return {};  // ends[0] stays open: its end is the far process's sign to leave
}

pid_t Network::start_background(const PacePlan& plan, Control& control) const {
  if (plan.background.share <= 0) return 0;
  const pid_t parent = getpid();
  const pid_t id = fork();
  if (id != 0) return id;
  follow(parent);
  const int socket = connect_to(2, kSinkPort);
  const int queue = 65536;  // what stands in the link's queue before the others' packets
  setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &queue, sizeof queue);
  const std::vector<char> data(16384, 1);
  constexpr std::int64_t kPause = 500'000;
  while (socket >= 0) {
    if (!plan.background.is_on(plan.seed, control.draw.load(std::memory_order_relaxed))) {
      sleep_until(now_ns() + kPause);
    } else if (!send_all(socket, data.data(), data.size())) {
      break;
    }
  }
  _exit(0);
}

bool Network::enter(bool far) const {
  if (!far) return true;
  const int space = ::open(fmt::format("/proc/{}/ns/net", far_).c_str(), O_RDONLY | O_CLOEXEC);
  const bool good = space >= 0 && setns(space, CLONE_NEWNET) == 0;
  if (space >= 0) close(space);
  return good;
}

Input::~Input() {
  if (socket_ >= 0) close(socket_);
}

bool Input::open(int rank) {
  socket_ = connect_to(2, static_cast<std::uint16_t>(kInputPort + rank));
  return socket_ >= 0;
}

bool Input::fetch(Bytes size) {
  std::array<char, 65536> part{};
  std::int64_t left = size.count();
  if (!send_all(socket_, &left, sizeof left)) return false;
  while (left > 0) {
    const ssize_t got = recv(socket_, part.data(), std::min(part.size(), static_cast<std::size_t>(left)), 0);
    if (got == 0 || (got < 0 && errno != EINTR)) return false;
    left -= std::max<ssize_t>(got, 0);
  }
  return true;
}

}  // namespace cox::bench::worker
