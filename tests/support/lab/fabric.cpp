// SPDX-License-Identifier: Apache-2.0
// A network with rates and delays between the namespaces of one machine, where the kernel has no netem.
//
//   fabric CONFIG     needs root; runs until SIGTERM or SIGINT, then prints what it sent and dropped
//
// CONFIG, one entry a line:
//   host NAMESPACE ADDRESS LEAF MBIT DELAY_US    a TAP device eth0 in that namespace, ADDRESS/24, on switch
//   LEAF spine MBIT DELAY_US                          every leaf's link to and from the spine switch limit
//   BYTES                                  queue of each link; what does not fit is dropped mtu BYTES
// Each link is a queue with a rate and a delay in one direction: host up, leaf up, leaf down, host down.
// Switches cut through: a frame leaves while it still arrives, but never faster than it arrives. Frames
// between hosts of one leaf do not see the spine.
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <queue>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Nanoseconds = std::int64_t;

constexpr std::size_t kLongestFrame = 9100;
constexpr int kWireOverheadBytes = 0;  // rates are of Ethernet frames without preamble and gap

volatile sig_atomic_t stop_asked = 0;

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "fabric: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

Nanoseconds now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return Nanoseconds{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

/// One direction of a cable.
struct Link {
  double ns_per_byte = 0;
  Nanoseconds delay = 0;
  Nanoseconds free_at = 0;  ///< when the last frame's tail has left

  /// Bytes that wait at `t`.
  [[nodiscard]] double waiting(Nanoseconds t) const {
    return free_at > t ? static_cast<double>(free_at - t) / ns_per_byte : 0;
  }
};

struct Frame {
  std::size_t bytes = 0;
  std::uint8_t data[kLongestFrame];
};

/// The head of a frame reaches a link at `head`, its tail at `tail`. `hop` 0: host up, 1: leaf up, 2: leaf
/// down, 3: host down, 4: delivered.
struct Event {
  Nanoseconds head;
  Nanoseconds tail;
  std::uint64_t order;
  int from, to, hop;
  std::shared_ptr<Frame> frame;
  [[nodiscard]] Nanoseconds due() const { return hop == 4 ? tail : head; }
  bool operator>(const Event& o) const { return due() != o.due() ? due() > o.due() : order > o.order; }
};

struct Host {
  std::string space, address;
  int leaf = 0;
  Link up, down;
  int device = -1;
};

struct Fabric {
  std::vector<Host> hosts;
  std::vector<Link> leaf_up, leaf_down;
  double limit = 512'000;
  int mtu = 1500;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  std::uint64_t made = 0, sent = 0, dropped = 0;
};

Link make_link(double mbit, double delay_us) {
  return {.ns_per_byte = 8000.0 / mbit, .delay = static_cast<Nanoseconds>(delay_us * 1000), .free_at = 0};
}

Fabric read_config(const char* path) {
  Fabric fabric;
  std::ifstream file(path);
  if (!file) give_up(path);
  double spine_mbit = 1e6;
  double spine_delay = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key;
    if (!(words >> key) || key[0] == '#') continue;
    double rate = 0;
    double delay = 0;
    if (key == "host") {
      Host host;
      words >> host.space >> host.address >> host.leaf >> rate >> delay;
      host.up = host.down = make_link(rate, delay);
      fabric.hosts.push_back(host);
    } else if (key == "spine") {
      words >> spine_mbit >> spine_delay;
    } else if (key == "limit") {
      words >> fabric.limit;
    } else if (key == "mtu") {
      words >> fabric.mtu;
    }
    if (!words) {
      std::fprintf(stderr, "fabric: %s: cannot read '%s'\n", path, line.c_str());
      std::exit(1);
    }
  }
  int leaves = 0;
  for (const Host& h : fabric.hosts) leaves = std::max(leaves, h.leaf + 1);
  fabric.leaf_up.assign(static_cast<std::size_t>(leaves), make_link(spine_mbit, spine_delay));
  fabric.leaf_down = fabric.leaf_up;
  return fabric;
}

/// Makes eth0 in the host's namespace; host i has the address 02:00:00:00:00:i, which the switch routes by.
int make_device(const Host& host, int index, int mtu) {
  const int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  const int space = open(("/run/netns/" + host.space).c_str(), O_RDONLY | O_CLOEXEC);
  if (home < 0 || space < 0 || setns(space, CLONE_NEWNET) != 0) give_up("namespace " + host.space);
  const int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  ifreq request{};
  std::strcpy(request.ifr_name, "eth0");
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  if (device < 0 || ioctl(device, TUNSETIFF, &request) != 0) give_up("TAP device in " + host.space);
  const int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  request.ifr_hwaddr.sa_family = 1;
  std::memset(request.ifr_hwaddr.sa_data, 0, sizeof request.ifr_hwaddr.sa_data);
  request.ifr_hwaddr.sa_data[0] = 2;
  request.ifr_hwaddr.sa_data[5] = static_cast<char>(index);
  if (ioctl(control, SIOCSIFHWADDR, &request) != 0) give_up("hardware address");
  request.ifr_mtu = mtu;
  if (ioctl(control, SIOCSIFMTU, &request) != 0) give_up("mtu");
  auto* address = reinterpret_cast<sockaddr_in*>(&request.ifr_addr);
  *address = {};
  address->sin_family = AF_INET;
  if (inet_pton(AF_INET, host.address.c_str(), &address->sin_addr) != 1) give_up("address " + host.address);
  if (ioctl(control, SIOCSIFADDR, &request) != 0) give_up("address " + host.address);
  inet_pton(AF_INET, "255.255.255.0", &address->sin_addr);
  if (ioctl(control, SIOCSIFNETMASK, &request) != 0) give_up("netmask");
  for (const char* name : {"eth0", "lo"}) {
    std::snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    if (ioctl(control, SIOCSIFFLAGS, &request) != 0) give_up("interface up");
  }
  close(control);
  if (setns(home, CLONE_NEWNET) != 0) give_up("own namespace");
  close(space);
  close(home);
  return device;
}

/// Puts the frame through the link of its hop: false where the queue is full.
/// Afterwards it is at the next hop.
bool pass(Fabric& fabric, Event& e) {
  const Host& from = fabric.hosts[static_cast<std::size_t>(e.from)];
  const Host& to = fabric.hosts[static_cast<std::size_t>(e.to)];
  Link* link = nullptr;
  switch (e.hop) {
    case 0:
      link = &fabric.hosts[static_cast<std::size_t>(e.from)].up;
      break;
    case 1:
      link = &fabric.leaf_up[static_cast<std::size_t>(from.leaf)];
      break;
    case 2:
      link = &fabric.leaf_down[static_cast<std::size_t>(to.leaf)];
      break;
    default:
      link = &fabric.hosts[static_cast<std::size_t>(e.to)].down;
      break;
  }
  if (link->waiting(e.head) > fabric.limit) return false;
  const auto occupied =
      static_cast<Nanoseconds>(static_cast<double>(e.frame->bytes + kWireOverheadBytes) * link->ns_per_byte);
  const Nanoseconds start = std::max(e.head, link->free_at);
  link->free_at = std::max(start + occupied, e.tail);
  e.head = start + link->delay;
  e.tail = link->free_at + link->delay;
  e.hop = e.hop == 0 && from.leaf == to.leaf ? 3 : e.hop + 1;
  return true;
}

void accept(Fabric& fabric, int from) {
  auto frame = std::make_shared<Frame>();
  while (true) {
    const ssize_t got = read(fabric.hosts[static_cast<std::size_t>(from)].device, frame->data, kLongestFrame);
    if (got < 14) return;
    frame->bytes = static_cast<std::size_t>(got);
    const Nanoseconds t = now();
    const bool to_all = (frame->data[0] & 1) != 0;
    for (int to = 0; to < static_cast<int>(fabric.hosts.size()); ++to) {
      if (to == from || (!to_all && frame->data[5] != to)) continue;
      // ARP goes to all; it is too small and too rare to be charged to the spine more than once per host.
      fabric.events.push(
          {.head = t, .tail = t, .order = fabric.made++, .from = from, .to = to, .hop = 0, .frame = frame});
    }
    frame = std::make_shared<Frame>();
  }
}

void run_due(Fabric& fabric) {
  while (!fabric.events.empty() && fabric.events.top().due() <= now()) {
    Event e = fabric.events.top();
    fabric.events.pop();
    if (e.hop == 4) {
      const int device = fabric.hosts[static_cast<std::size_t>(e.to)].device;
      if (write(device, e.frame->data, e.frame->bytes) < 0) ++fabric.dropped;
      ++fabric.sent;
    } else if (pass(fabric, e)) {
      fabric.events.push(std::move(e));
    } else {
      ++fabric.dropped;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: fabric CONFIG\n");
    return 2;
  }
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // a lab that was killed leaves no process behind
  Fabric fabric = read_config(argv[1]);
  std::vector<pollfd> waits;
  for (std::size_t i = 0; i < fabric.hosts.size(); ++i) {
    Host& host = fabric.hosts[i];
    host.device = make_device(host, static_cast<int>(i), fabric.mtu);
    waits.push_back({.fd = host.device, .events = POLLIN, .revents = 0});
  }
  struct sigaction action {};
  action.sa_handler = [](int) { stop_asked = 1; };
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  std::printf("ready\n");
  std::fflush(stdout);
  while (stop_asked == 0) {
    timespec pause{.tv_sec = 1, .tv_nsec = 0};
    if (!fabric.events.empty()) {
      const Nanoseconds left = std::max<Nanoseconds>(0, fabric.events.top().due() - now());
      pause = {.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
    }
    if (ppoll(waits.data(), waits.size(), &pause, nullptr) > 0) {
      for (std::size_t i = 0; i < waits.size(); ++i)
        if ((waits[i].revents & POLLIN) != 0) accept(fabric, static_cast<int>(i));
    }
    run_due(fabric);
  }
  std::fprintf(stderr, "fabric: sent %llu dropped %llu\n", static_cast<unsigned long long>(fabric.sent),
               static_cast<unsigned long long>(fabric.dropped));
  return 0;
}
