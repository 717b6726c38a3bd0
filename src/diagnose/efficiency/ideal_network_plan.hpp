// SPDX-License-Identifier: Apache-2.0
/// \file
/// What one rank does, in order: its calls and postings, with the time outside communication before each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "diagnose/efficiency/ideal_network_meetings.hpp"
#include "diagnose/efficiency/ideal_network_messages.hpp"
#include "diagnose/efficiency/useful.hpp"

namespace cox::diagnose {

/// A call, or a posting in none.
struct PlannedCall {
  const Posting* posting = nullptr;
  std::uint32_t event = 0;  ///< where it is a call
  Duration gap{};           ///< outside communication, since what was before
  Attendance at{};
  bool open = false;    ///< it never returned
  bool blocks = false;  ///< returns only when its messages are there
};

/// Reads a rank's calls a few at a time: ranks take turns call by call, and so their columns stay in cache.
class RankPlan {
 public:
  RankPlan(const Matched& matched, std::size_t rank, const UsefulTime& useful, const Meetings& meetings,
           const std::vector<Posting>& postings);

  /// The next one, valid until the next call; null at the end.
  const PlannedCall* next();
  /// Outside communication, from the last call to the end of the rank.
  [[nodiscard]] Duration rest();

 private:
  static constexpr std::size_t kReadAhead = 16;
  void read_ahead();
  void plan_call();
  void plan_posting();
  /// Time outside communication until `to`, which is then where the rank is.
  Duration pass(Duration to);

  const trace::RankTrack* track_;
  const Meetings* meetings_;
  const std::vector<Posting>* postings_;
  CallCursor cursor_;
  Meetings::WaitCounts counts_;
  bool only_useful_;  ///< other time between calls is inside communication too
  Duration now_;
  Duration last_;
  std::size_t stretch_ = 0;  ///< first of the useful ones that does not lie behind
  std::size_t next_posting_ = 0;
  std::optional<ProgramCall> ahead_;
  std::array<PlannedCall, kReadAhead> plan_{};
  std::size_t planned_ = 0;
  std::size_t taken_ = 0;
};

}  // namespace cox::diagnose
