// SPDX-License-Identifier: Apache-2.0
/// \file
/// One direction of a server's port.
#pragma once

#include <algorithm>

#include "cox/base/units.hpp"

namespace cox::learn {

/// A message after the other, in the order in which they come.
class ServerPort {
 public:
  ServerPort(Seconds service, Seconds latency) : service_(service), latency_(latency) {}
  /// When a message that is there from `at` on has passed.
  Seconds pass(Seconds at) { return begin(at) + service_ + latency_; }
  /// When its turn comes; the port is taken from then on.
  Seconds begin(Seconds at) {
    const Seconds turn = std::max(at, free_);
    free_ = turn + service_;
    return turn;
  }
  [[nodiscard]] Seconds service() const { return service_; }
  [[nodiscard]] Seconds latency() const { return latency_; }

 private:
  Seconds service_;
  Seconds latency_;
  Seconds free_{};
};

}  // namespace cox::learn
