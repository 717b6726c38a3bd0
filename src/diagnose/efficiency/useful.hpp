// SPDX-License-Identifier: Apache-2.0
/// \file
/// Useful time of each rank, and the calls in which its program does not compute.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "diagnose/efficiency/efficiency.hpp"
#include "diagnose/match/matched.hpp"
#include "diagnose/match/span_math.hpp"

namespace cox::diagnose {

/// One call of the program's own thread into communication.
struct ProgramCall {
  std::size_t event = 0;
  Duration entry{};  ///< never before the exit of the call before
  Duration exit{};
  bool open = false;  ///< it never returned
};

/// Walks the calls of one rank. Nested and overlapping calls are cut, so that gaps and calls fill the time.
class CallCursor {
 public:
  CallCursor(const trace::EventColumns& events, const RankScan& scan, Duration from)
      : events_(&events), scan_(&scan), exit_(from) {}

  /// The next call; false at the end and after a call that never returned.
  bool next(ProgramCall& call) {
    const trace::EventColumns& e = *events_;
    while (at_ < e.size()) {
      const std::size_t i = at_++;
      if (!is_program_call(i)) continue;
      call.event = i;
      call.entry = std::max(e.begin[i], exit_);
      call.open = e.end[i] == trace::kStillRunning;
      call.exit = exit_ = call.open ? call.entry : std::max(e.end[i], call.entry);
      if (call.open) at_ = e.size();
      return true;
    }
    return false;
  }

 private:
  [[nodiscard]] bool is_program_call(std::size_t i) const {
    const trace::EventColumns& e = *events_;
    if (e.kind[i] == trace::EventKind::Wait || is_served_delay(e, i)) return true;
    if (e.kind[i] != trace::EventKind::Collective) return false;
    return !scan_->program_waits ||
           ((e.flags[i] & trace::kOffThread) == 0 && e.thread[i] == scan_->program_thread);
  }

  const trace::EventColumns* events_;
  const RankScan* scan_;
  std::size_t at_ = 0;
  Duration exit_;
};

struct UsefulTime {
  UsefulSource source = UsefulSource::OwnWork;
  Duration from{};   ///< begin of the time that is looked at
  Duration until{};  ///< end of the last rank
  /// Per rank: where its own account begins and ends, and the useful time in between.
  std::vector<Duration> first;
  std::vector<Duration> last;
  std::vector<Duration> useful;
  std::optional<UsefulCounters> counters;
  /// All time outside communication is a useful stretch, and other time between calls that are events is not.
  bool outside_is_useful = false;
};

/// Nothing where nothing was timed.
[[nodiscard]] std::optional<UsefulTime> find_useful_time(const Matched& matched);

}  // namespace cox::diagnose
