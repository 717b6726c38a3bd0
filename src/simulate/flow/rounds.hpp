// SPDX-License-Identifier: Apache-2.0
/// \file
/// The rounds of a schedule's lane as tables of messages, one table for rounds that are alike.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cox/model/schedule.hpp"

namespace cox::simulate {

/// Messages of a round, by sender and by receiver. A message from a participant to itself is left out.
struct RoundTable {
  std::vector<model::Transfer> messages;      ///< of one sender beside each other, in the schedule's order
  std::vector<std::uint32_t> sends_first;     ///< participants + 1
  std::vector<std::uint32_t> receives_first;  ///< participants + 1
  std::vector<std::uint32_t> receives;        ///< numbers of messages

  bool regular = false;  ///< not a list

  /// In lists a participant goes on when its sends have arrived too, unless it receives one message and sends
  /// at most one (the rule of `model::Schedule`).
  [[nodiscard]] bool waits_for_sends(int place) const {
    return !regular && !(receives_of(place).size() == 1 && sends_end(place) - sends_begin(place) <= 1);
  }
  /// Which of the messages that its receiver gets `number` is.
  [[nodiscard]] std::uint32_t ordinal_of(std::uint32_t number) const {
    const std::span<const std::uint32_t> all = receives_of(messages[number].to);
    return static_cast<std::uint32_t>(std::find(all.begin(), all.end(), number) - all.begin());
  }
  [[nodiscard]] std::uint32_t sends_begin(int place) const {
    return sends_first[static_cast<std::size_t>(place)];
  }
  [[nodiscard]] std::uint32_t sends_end(int place) const {
    return sends_first[static_cast<std::size_t>(place) + 1];
  }
  [[nodiscard]] std::span<const std::uint32_t> receives_of(int place) const {
    const std::size_t p = static_cast<std::size_t>(place);
    return std::span(receives).subspan(receives_first[p], receives_first[p + 1] - receives_first[p]);
  }
};

/// Rounds in which the same messages go (a ring of equal chunks) are a run and share a table; a table lives
/// from the first participant's entry to the last one's leaving.
class LaneRounds {
 public:
  /// `keeps`: its tables, until it is gone.
  LaneRounds(const model::Schedule& schedule, int lane, bool keeps = false);
  /// As new: nobody has left any round.
  void begin_again();
  [[nodiscard]] std::int64_t rounds() const { return static_cast<std::int64_t>(run_of_.size()); }
  /// The table of round `k`; made when first asked for.
  [[nodiscard]] const RoundTable& table(std::int64_t k);
  /// Rounds of the same run as `k`, itself included, that are not over: run_end(k) - k.
  [[nodiscard]] std::int64_t run_begin(std::int64_t k) const {
    return runs_[run_of_[static_cast<std::size_t>(k)]].begin;
  }
  [[nodiscard]] std::int64_t run_end(std::int64_t k) const;
  /// A participant has left round `k`.
  void leave(std::int64_t k);

 private:
  struct Run {
    std::int64_t begin = 0;
    std::int64_t left = 0;  ///< participants that are past it
    std::unique_ptr<RoundTable> table;
  };
  const model::Schedule& schedule_;
  int lane_;
  bool keeps_;
  std::vector<std::uint32_t> run_of_;
  std::vector<Run> runs_;
  std::vector<model::Transfer> scratch_;
};

}  // namespace cox::simulate
