// SPDX-License-Identifier: Apache-2.0
/// \file
/// The cores of one host, given to its ranks in slices: what an operating system does, where SharedResource
/// is the limit of ever shorter slices.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "cox/base/units.hpp"

namespace cox::simulate {

/// A core runs one job for at most a slice; then the job that has run least for its weight is next.
///
/// Formula: virtual runtime = run time / weight (stride scheduling: Waldspurger, Weihl 1995; Linux's fair
///          scheduler); a job begins at that of the job picked last. Of equals the heavier one, then the one
///          that has waited longer. No preemption within a slice: jobs shorter than one run in the order in
///          which they come.
/// Cost: O(log n + cores) per slice. Held by: src/simulate/event/core_queue_test.cpp
class CoreQueue {
 public:
  /// `woken` is told of a rank that `wake` queued when it gets a core for the first time, and says how much
  /// CPU time it wants; it must not call the queue.
  using Woken = std::function<Seconds(int rank, Seconds now)>;
  explicit CoreQueue(int cores, Seconds slice, Woken woken = {})
      : slice_(slice), woken_(std::move(woken)), running_(static_cast<std::size_t>(cores)) {}
  /// `work` is CPU time; infinite: a waiter that spins.
  void add(Seconds now, int rank, Seconds work, double weight);
  /// A rank that does not know yet what it will do: it finds out when it has a core. Pre: there is a `woken`.
  void wake(Seconds now, int rank, double weight);
  /// The slice that ends first, on the lowest core of several; `rank` is -1 where no core is busy.
  struct Next {
    Seconds at;
    int rank = -1;
  };
  [[nodiscard]] Next next() const;
  /// Ends that slice and gives the core to the next job. Whether the job's work is done.
  bool advance();

 private:
  struct Job {
    int rank = -1;
    Seconds left{};
    double weight = 1;
    Seconds used{};  ///< virtual runtime
    std::uint64_t order = 0;
    bool is_waking = false;
  };
  struct Core {
    Job job;
    Seconds length{};
    Seconds ends{};
  };
  [[nodiscard]] std::size_t first() const;
  void give(Core& core, Seconds now);
  void wait(const Job& job);
  void queue(const Job& job, Seconds now);

  Seconds slice_;
  Woken woken_;
  std::vector<Core> running_;
  std::vector<Job> ready_;  ///< a heap
  Seconds floor_{};
  std::uint64_t added_ = 0;
};

}  // namespace cox::simulate
