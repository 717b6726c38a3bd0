// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "bench/pace/worker/network.hpp"
#include "bench/pace/worker/socket.hpp"

namespace cox::bench::worker {
namespace {

constexpr std::uint16_t kRingPort = 8000;

void make_nonblocking(int socket) {
  fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
}

bool is_for_later() {
  return errno == EAGAIN || errno == EINTR;
}

}  // namespace

Ring::Ring(int rank, int ranks, Bytes payload)
    : rank_(rank),
      ranks_(ranks),
      chunk_(std::max<std::size_t>(
          1, static_cast<std::size_t>(payload.count()) / sizeof(float) / static_cast<std::size_t>(ranks))),
      values_(chunk_ * static_cast<std::size_t>(ranks)),
      incoming_(chunk_) {}

Ring::~Ring() {
  for (const int socket : {listener_, next_, previous_})
    if (socket >= 0) close(socket);
}

bool Ring::listen() {
  listener_ = listen_on(static_cast<std::uint16_t>(kRingPort + rank_));
  return listener_ >= 0;
}

bool Ring::connect() {
  const int next = (rank_ + 1) % ranks_;
  next_ = connect_to(next >= ranks_ / 2 ? 2 : 1, static_cast<std::uint16_t>(kRingPort + next));
  if (next_ < 0) return false;
  previous_ = accept_one(listener_);
  listener_ = -1;
  if (previous_ < 0) return false;
  make_nonblocking(next_);
  make_nonblocking(previous_);
  return true;
}

// Sends one chunk and takes one in at the same time: both ends full would otherwise wait for each other.
bool Ring::exchange(int send, int receive, bool add, const Control& control) {
  const std::size_t size = chunk_ * sizeof(float);
  const auto* out = reinterpret_cast<const char*>(values_.data() + static_cast<std::size_t>(send) * chunk_);
  float* into = add ? incoming_.data() : values_.data() + static_cast<std::size_t>(receive) * chunk_;
  auto* in = reinterpret_cast<char*>(into);
  std::size_t sent = 0;
  std::size_t got = 0;
  while (sent < size || got < size) {
    std::array<pollfd, 2> wait{{{.fd = sent < size ? next_ : -1, .events = POLLOUT, .revents = 0},
                                {.fd = got < size ? previous_ : -1, .events = POLLIN, .revents = 0}}};
    constexpr int kLook = 200;  // milliseconds
    if (poll(wait.data(), wait.size(), kLook) == 0 && control.stop.load() != 0) return false;
    if (wait[0].revents != 0) {
      const ssize_t n = ::send(next_, out + sent, size - sent, MSG_NOSIGNAL);
      if (n < 0 && !is_for_later()) return false;
      sent += static_cast<std::size_t>(std::max<ssize_t>(n, 0));
    }
    if (wait[1].revents != 0) {
      const ssize_t n = recv(previous_, in + got, size - got, 0);
      if (n == 0 || (n < 0 && !is_for_later())) return false;
      got += static_cast<std::size_t>(std::max<ssize_t>(n, 0));
    }
  }
  if (!add) return true;
  float* sum = values_.data() + static_cast<std::size_t>(receive) * chunk_;
  for (std::size_t i = 0; i < chunk_; ++i) sum[i] += incoming_[i];
  return true;
}

bool Ring::all_reduce(const Control& control) {
  std::fill(values_.begin(), values_.end(), static_cast<float>(rank_ + 1));
  const auto place = [&](int i) { return ((rank_ - i) % ranks_ + ranks_) % ranks_; };
  for (int i = 0; i < ranks_ - 1; ++i)
    if (!exchange(place(i), place(i + 1), true, control)) return false;
  for (int i = 0; i < ranks_ - 1; ++i)
    if (!exchange(place(i - 1), place(i), false, control)) return false;
  const auto wanted = 0.5F * static_cast<float>(ranks_ * (ranks_ + 1));
  return values_.front() == wanted && values_.back() == wanted;
}

}  // namespace cox::bench::worker
