// SPDX-License-Identifier: Apache-2.0
#include "bench/pace/worker/socket.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "bench/pace/worker/shared.hpp"

namespace cox::bench::worker {
namespace {

constexpr int kOn = 1;

sockaddr_in address_of(std::uint32_t host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(host);
  return address;
}

// BBR, the default of some kernels, shares a link unfairly: shares of 6 to 100 Mbit/s of 400 were seen.
int prepared(int socket) {
  for (const char* law : {"cubic", "reno"})
    if (setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, law, static_cast<socklen_t>(std::strlen(law))) == 0)
      break;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &kOn, sizeof kOn);
  return socket;
}

}  // namespace

int listen_on(std::uint16_t port) {
  const int socket = prepared(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = address_of(INADDR_ANY, port);
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &kOn, sizeof kOn);
  if (socket >= 0 && bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      listen(socket, 4) == 0)
    return socket;
  if (socket >= 0) close(socket);
  return -1;
}

int accept_one(int listener) {
  int socket = -1;
  while ((socket = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC)) < 0 && errno == EINTR) {
  }
  close(listener);
  return socket < 0 ? -1 : prepared(socket);
}

int connect_to(int host, std::uint16_t port) {
  constexpr std::uint32_t kNetwork = 0x0a4d0000;  // 10.77.0.0
  constexpr std::int64_t kPause = 20'000'000;
  for (int turn = 0; turn < 500; ++turn) {
    const int socket = prepared(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = address_of(kNetwork + static_cast<std::uint32_t>(host), port);
    if (connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return socket;
    close(socket);
    sleep_until(now_ns() + kPause);
  }
  return -1;
}

bool send_all(int socket, const void* data, std::size_t size) {
  const auto* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = send(socket, at, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool receive_all(int socket, void* data, std::size_t size) {
  auto* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = recv(socket, at, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace cox::bench::worker
