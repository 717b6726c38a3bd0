// SPDX-License-Identifier: Apache-2.0
/// \file
/// The event engine: operations, messages and shared resources in the order in which they happen. For what
/// has no order fixed beforehand: imported schedules, any-source receives, servers, failures, asynchronous
/// policies.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"

namespace cox::simulate {

enum class GraphOp : std::uint8_t { Calc, Send, Receive };
inline constexpr std::uint32_t kAnySource = 0xffffffff;
inline constexpr std::uint32_t kAnyTag = 0xffffffff;

/// A schedule of all ranks: operations of rank r are [first[r], first[r + 1]), each with its predecessors in
/// the rank.
struct OperationGraph {
  std::vector<std::uint64_t> first;  ///< ranks + 1
  std::vector<GraphOp> kind;
  std::vector<std::int64_t> amount;  ///< Calc: units of `calc_unit`; else bytes
  std::vector<std::uint32_t> peer;   ///< kAnySource
  std::vector<std::uint32_t> tag;
  std::vector<std::uint8_t> cpu;            ///< stream of execution; empty = 0
  std::vector<std::uint8_t> nic;            ///< port; empty = 0
  std::vector<std::uint64_t> first_before;  ///< operations + 1
  std::vector<std::uint32_t> before;        ///< index in the rank of a predecessor
  std::vector<std::uint8_t>
      on_start;  ///< GOAL's irequires: after its start instead of its end; empty = never

  [[nodiscard]] std::size_t ranks() const { return first.empty() ? 0 : first.size() - 1; }
};

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
[[nodiscard]] Result<LogGops> parse_loggops(std::string_view text);

struct EventOutcome {
  std::vector<Seconds> finish;  ///< per rank
  std::int64_t messages = 0;
  std::int64_t events = 0;
};

/// Runs a schedule under LogGOPS. `calc_unit`: what one unit of GOAL's `calc` lasts.
/// Errors: simulate-004 (cannot finish: the first blocked rank, its operation and what it waits for).
/// Order of simultaneous events: by (time, kind, rank, order of insertion), so the same on every machine.
[[nodiscard]] Result<EventOutcome> run_graph(const OperationGraph& graph, const LogGops& cost,
                                             Seconds calc_unit);

/// Work on a resource that its users share by weight (cores, an input link, storage).
/// Each of n users with weight w_i gets min(limit_i, capacity w_i / sum w) by max-min; a spinning waiter uses
/// its share and gets nothing done.
class SharedResource {
 public:
  using Job = std::uint32_t;
  explicit SharedResource(double capacity) : capacity_(capacity) {}
  /// Adds a job with `work` units left (infinite: spins until removed), from `now` on.
  Job add(Seconds now, double work, double weight = 1,
          double limit = std::numeric_limits<double>::infinity());
  /// Removes it, finished or not; what is left of its work.
  double remove(Seconds now, Job job);
  /// When the next job finishes if nothing changes, and which; infinite where none does.
  struct Next {
    Seconds at;
    Job job;
  };
  [[nodiscard]] Next next() const;

 private:
  struct Entry {
    double left;
    double weight;
    double limit;
    double rate;
    Job job;
  };
  double capacity_;
  Seconds at_{};
  std::vector<Entry> jobs_;
  Job made_ = 0;
};

}  // namespace cox::simulate
