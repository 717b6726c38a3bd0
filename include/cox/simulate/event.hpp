// SPDX-License-Identifier: Apache-2.0
/// \file
/// The event engine: operations, messages and shared resources in the order in which they happen.
/// For what has no order fixed beforehand: imported schedules, any-source receives, servers,
/// failures, asynchronous policies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"

namespace cox::simulate {

/// LogGOPS parameters (Hoefler, Schneider, Lumsdaine 2010), read by `parse_loggops` from
/// `L=1us,o=0ns,g=0ns,G=20ps/B,O=0ps/B,S=64KiB`.
struct LogGops {
  Seconds latency{};
  Seconds overhead{};
  Seconds gap{};
  TimePerByte gap_per_byte{};
  TimePerByte overhead_per_byte{};
  Bytes eager_limit{std::numeric_limits<std::int64_t>::max()};
};
/// L and G must be there; o, g and O are 0 and S is infinite where not. Errors: goal-007, base-001.
[[nodiscard]] Result<LogGops> parse_loggops(std::string_view text);

struct EventOutcome {
  std::vector<Seconds> finish;  ///< per rank
  std::int64_t messages = 0;
  std::int64_t events = 0;
};

/// Work on a resource that its users share by weight (cores, an input link, storage).
///
/// Rates:  weighted max-min: each of the n jobs gets min(limit_i, x w_i) with the largest x at which they
///         sum to at most the capacity. A spinning waiter (infinite work) uses its share and gets nothing done.
/// Units:  of work: the caller's, say bytes or core seconds; capacity and limits: that per second.
///         Jobs without a limit all have the same level, what each has had per weight: a job ends when the level
///         reaches that of its own end.
/// Memory: 40 bytes per job with a limit, 160 without. Cost per call: O(jobs with a limit + log of the others).
/// Same calls, same answers on every machine.
/// Held by: src/simulate/event/shared_resource_test.cpp (hand-solved cases)
class SharedResource {
 public:
  using Job = std::uint32_t;
  static constexpr Job kNoJob = 0xffffffff;
  explicit SharedResource(double capacity) : capacity_(capacity) {}
  /// Adds a job with `work` units left (infinite: spins until removed), from `now` on. Times given to one
  /// resource never go back (asserted).
  Job add(Seconds now, double work, double weight = 1,
          double limit = std::numeric_limits<double>::infinity());
  /// Removes it, finished or not; what is left of its work, exactly 0 where it was done.
  double remove(Seconds now, Job job);
  /// When the next job finishes if nothing changes, and which (the lowest of several); infinite and kNoJob
  /// where none does. A job that is done still takes its share until it is removed.
  struct Next {
    Seconds at;
    Job job;
  };
  [[nodiscard]] Next next() const;
  [[nodiscard]] std::size_t jobs() const { return limited_.size() + others_.size(); }

 private:
  struct Limited {
    double left;
    double weight;
    double limit;
    double rate;
    Job job;
  };
  struct Other {
    double end;  ///< level
    double weight;
  };
  /// Of what comes and goes, without the digits that sums and differences lose (Neumaier).
  class Sum {
   public:
    void add(double x);
    [[nodiscard]] double value() const { return sum_ + lost_; }

   private:
    double sum_ = 0;
    double lost_ = 0;
  };
  void advance(Seconds now);
  void share();
  [[nodiscard]] Seconds finish_of(const Limited& e) const;
  [[nodiscard]] Seconds finish_of_first() const;

  double capacity_;
  Seconds at_{};
  std::vector<Limited> limited_;  ///< by limit per weight
  std::map<Job, Other> others_;
  std::set<std::pair<double, Job>> by_level_;  ///< ends of the others
  Sum weight_of_others_;
  double level_ = 0;
  double speed_ = 0;  ///< of the level, per second
  Job made_ = 0;
};

}  // namespace cox::simulate
