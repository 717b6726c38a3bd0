// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ranks that are threads of one process.
#pragma once

#include <cstddef>
#include <memory>

#include "cox/base/units.hpp"

#include "train/transport/transport.hpp"

namespace cox::train {

/// A mailbox per rank. What lies in it is a reference to the sender's buffer, copied once, by the receiver; so `wait` of a
/// sender lasts until all that it sent was taken. Memory: `places` entries per sender and mailbox; a sender that finds none
/// free keeps its message until there is one. Not per mailbox: those who are a round ahead would take the places of whom its owner waits
/// for.
/// Outlives its transports. Threads: each rank's transport has one owner; ranks may be on any.
/// Held by: src/train/transport/threads_test.cpp
class ThreadHub {
 public:
  /// `patience`: of one `wait`.
  ThreadHub(int ranks, Seconds patience, std::size_t places = 64);
  ~ThreadHub();
  ThreadHub(const ThreadHub&) = delete;
  ThreadHub& operator=(const ThreadHub&) = delete;
  /// To be called once for each rank.
  [[nodiscard]] std::unique_ptr<Transport> transport(int rank);

 private:
  class Link;
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace cox::train
