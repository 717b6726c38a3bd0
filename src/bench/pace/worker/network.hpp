// SPDX-License-Identifier: Apache-2.0
/// \file
/// Two hosts and the cable between them: network namespaces without names, so that they are gone with the
/// last process in them, however it ended.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/bench/pace.hpp"

#include "bench/pace/worker/shared.hpp"

namespace cox::bench::worker {

/// The calling process is on the near host afterwards, and so is what it forks. On the far host: servers of
/// input, one per rank, and the sink of the background traffic. Each direction of the cable has the rate.
class Network {
 public:
  Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  /// Empty, or why it cannot be made here.
  [[nodiscard]] std::string make(const PacePlan& plan);
  /// Starts the sender of background traffic (near host). 0 where there is none.
  [[nodiscard]] pid_t start_background(const PacePlan& plan, Control& control) const;
  /// For a rank: enters its host. False where it cannot.
  [[nodiscard]] bool enter(bool far) const;
  [[nodiscard]] pid_t far_process() const { return far_; }

 private:
  pid_t far_ = 0;
};

/// A rank's connection to its server of input.
class Input {
 public:
  Input() = default;
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  ~Input();
  [[nodiscard]] bool open(int rank);
  /// Asks for so many bytes and takes them in.
  [[nodiscard]] bool fetch(Bytes size);

 private:
  int socket_ = -1;
};

/// A ring of TCP connections; all-reduce by reduce-scatter and all-gather, 2 (P - 1) messages of S / P.
class Ring {
 public:
  Ring(int rank, int ranks, Bytes payload);
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring();
  /// Waits for connections; to be called before anybody connects.
  [[nodiscard]] bool listen();
  [[nodiscard]] bool connect();
  /// Sums what all ranks hold; every rank puts in its number + 1 anew. False where a partner is gone or the
  /// sum is wrong.
  [[nodiscard]] bool all_reduce(const Control& control);

 private:
  [[nodiscard]] bool exchange(int send, int receive, bool add, const Control& control);
  int rank_;
  int ranks_;
  std::size_t chunk_;  // floats
  std::vector<float> values_;
  std::vector<float> incoming_;
  int listener_ = -1;
  int next_ = -1;
  int previous_ = -1;
};

/// Ranks of the far host; the others are on the near one.
[[nodiscard]] inline bool is_far(const model::Iteration& job, int rank) {
  return job.reduce.count() > 0 && rank >= job.ranks / 2;
}

}  // namespace cox::bench::worker
