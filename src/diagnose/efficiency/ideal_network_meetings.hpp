// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which calls of the ranks are one operation in which they meet: collectives, and waits for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "diagnose/efficiency/useful.hpp"

namespace cox::diagnose {

using Meeting = std::uint32_t;
inline constexpr Meeting kNoMeeting = 0xffffffff;

/// What a call does about a meeting.
struct Attendance {
  Meeting meeting = kNoMeeting;
  bool arrives = false;  ///< the others cannot be done before this call begins
  bool stays = false;    ///< it does not return before all have arrived
};

/// All meetings of a Run, numbered densely.
///
/// Collectives are told by communicator and sequence number, waits that name none by their order (as
/// `number_waits` makes it equal). Memory: 4 bytes per meeting; a communicator whose numbers lie too far
/// apart for that is refused.
class Meetings {
 public:
  /// Nothing where sequence numbers are no sequence.
  [[nodiscard]] static std::optional<Meetings> find(const Matched& matched);

  [[nodiscard]] std::size_t size() const { return expected_.size(); }
  /// How many calls arrive at a meeting.
  [[nodiscard]] std::uint32_t expected(Meeting m) const { return expected_[m]; }
  [[nodiscard]] std::size_t arrivals() const { return arrivals_; }  ///< at all of them
  /// Place of a waiting rank in the order of its waits, kept by the caller while it walks a rank's calls.
  using WaitCounts = std::vector<std::int64_t>;
  [[nodiscard]] WaitCounts wait_counts(std::size_t rank) const;
  [[nodiscard]] Attendance attend(const trace::EventColumns& e, std::size_t event, WaitCounts& counts) const;

 private:
  struct Range {
    std::size_t first = 0;  ///< meeting of the first operation
    std::size_t count = 0;
    std::uint32_t first_seq = 0;
  };
  explicit Meetings(const Matched& matched);
  bool lay_out(const std::vector<RankScan>& scans);
  [[nodiscard]] Meeting by_number(CommId comm, std::uint32_t seq) const;
  [[nodiscard]] Attendance at_start(const trace::EventColumns& e, std::size_t event) const;
  [[nodiscard]] Attendance by_order(const trace::EventColumns& e, std::size_t event,
                                    WaitCounts& counts) const;

  const CommIndex* comms_;
  const std::vector<RankScan>* scans_;
  std::vector<Range> by_comm_;                                 ///< by communicator index
  std::unordered_map<std::uint64_t, std::size_t> wait_kinds_;  ///< (communicator, kind) to index below
  std::vector<Range> by_wait_;
  std::size_t first_start_ = 0;  ///< one meeting per communicator for the start of its processes
  std::vector<std::uint32_t> expected_;
  std::size_t arrivals_ = 0;
  bool messages_ = false;  ///< the Run has any
};

}  // namespace cox::diagnose
