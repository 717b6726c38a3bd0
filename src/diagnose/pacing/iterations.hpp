// SPDX-License-Identifier: Apache-2.0
/// \file
/// The iterations of one group as its controllers saw them, with what they decided.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cox/pace/controller.hpp"

#include "diagnose/match/matched.hpp"

namespace cox::diagnose {

/// No decision is in force: none was recorded yet.
inline constexpr std::uint8_t kNoReason = 255;

/// One iteration of one rank.
struct SeenIteration {
  std::uint64_t step = 0;
  Duration begin{};
  Duration end{};
  Duration sync{};        ///< inside synchronisations of the group
  Duration transfer{-1};  ///< the part of it that is known to be transfer; negative = not known
  Duration delayed{};     ///< served in it
  Duration others[pace::Controller::kOtherGroups] = {};
  std::uint8_t other_groups = 0;    ///< bit per one that synchronised in it
  std::uint8_t reason = kNoReason;  ///< pace::Reason in force
  bool told = false;                ///< a Pace record says so in it
  pace::Decision recorded;          ///< where `told`
};

/// One Pace record.
struct PaceEntry {
  std::uint64_t step = 0;  ///< iteration that it precedes
  Duration begin{};
  Duration end{};
  pace::Decision decision;
  double gain_ratio = 0;
  std::uint8_t mode = 0;
};

struct GroupMember {
  std::size_t track = 0;            ///< index into `run.ranks`
  std::uint32_t place = 0;          ///< in the group
  std::vector<SeenIteration> seen;  ///< in order, since its controller began anew for the last time
  std::vector<PaceEntry> entries;   ///< in order
};

/// Column k is iteration `first` + k.
struct GroupIterations {
  CommId comm = trace::kNoComm;
  std::string name;
  std::uint32_t size = 0;
  std::uint64_t first = 0;
  std::size_t count = 0;
  bool paced = false;  ///< some member left a Pace record
  std::vector<GroupMember> members;

  /// A member's iteration of a column, or null.
  [[nodiscard]] const SeenIteration* at(const GroupMember& m, std::size_t column) const {
    const std::uint64_t step = first + column;
    if (m.seen.empty() || step < m.seen.front().step) return nullptr;
    const std::uint64_t i = step - m.seen.front().step;
    return i < m.seen.size() ? &m.seen[i] : nullptr;
  }
};

/// The group that was paced; else `preferred` where the Run has a communicator of that name;
/// else the one with the most ranks, of several the one with the most calls.
/// Nothing where none has two ranks that iterate.
///
/// Iterations as the guest cuts them: from the fourth synchronisation of the group on, each ends at a
/// synchronisation; once the program waits for its gradients, at these waits; once it marks its steps, at the
/// marks (of the C API; frameworks tell their steps otherwise). They count from 0 each time, with a new
/// controller. Where the Run's beginning was overwritten, as its Pace records number them. `settings` says
/// how transfer is known. Cost: n log n in events; about 130 bytes per iteration and member.
[[nodiscard]] std::optional<GroupIterations> find_group_iterations(const Matched& matched,
                                                                   const pace::Settings& settings,
                                                                   const std::string& preferred = {});

/// Time that a synchronisation takes once its last rank has come, where no rank knows it by itself.
///
/// Formula: 90 % quantile over iterations of the least time that any member was inside its synchronisations;
///          of those iterations that all members have and none knows the transfer of.
///          The last to come waits for nobody.
/// Nothing where fewer than 32 such iterations are there, or members of the group are not in the Run.
/// Cost: linear in iterations and members. Held by: src/diagnose/pacing/pacing_test.cpp
[[nodiscard]] std::optional<Duration> find_transfer(const GroupIterations& g);

/// Whether any rank left a record of a decision.
[[nodiscard]] bool has_pace_records(const Matched& matched);

}  // namespace cox::diagnose
