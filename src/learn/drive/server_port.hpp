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
  /// When a message that is there from `at` on has passed; `part` times as long as others.
  Seconds pass(Seconds at, double part = 1) { return through(begin(at, part), part); }
  /// When its turn comes; the port is taken from then on.
  Seconds begin(Seconds at, double part = 1) {
    const Seconds turn = std::max(at, free_);
    free_ = turn + service_ * part;
    busy_ += service_ * part;
    return turn;
  }
  /// What waits for it does so no more.
  void idle_from(Seconds at) { free_ = at; }
  /// When a message has passed whose turn has come.
  [[nodiscard]] Seconds through(Seconds turn, double part = 1) const {
    return turn + service_ * part + latency_;
  }
  [[nodiscard]] Seconds service() const { return service_; }
  /// That it has been taken for, or will be.
  [[nodiscard]] Seconds busy() const { return busy_; }

 private:
  Seconds service_;
  Seconds latency_;
  Seconds free_{};
  Seconds busy_{};
};

}  // namespace cox::learn
