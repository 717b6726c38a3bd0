// SPDX-License-Identifier: Apache-2.0
/// \file
/// A rank's own work told apart by what it was: phases of the program,
/// or kernels, copies and the host's doings.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/trace/run.hpp"

#include "diagnose/match/matched.hpp"

namespace cox::diagnose {

/// What tells the activities of a Run apart; the same for all its ranks.
class ActivityScheme {
 public:
  /// Activities where every rank has them, else phases where every rank has them, else nothing: one class.
  explicit ActivityScheme(const Matched& matched);

  /// Names of the classes; the last one is time in none of the others.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] std::size_t size() const { return names_.size(); }

  /// For each of the gaps (ascending, not overlapping) the time in each class, gap-major; they add up to the
  /// gap. Where spans overlap the class that comes first has it. Cost: O(spans log spans + gaps x classes).
  [[nodiscard]] std::vector<Duration> divide(const trace::RankTrack& track,
                                             const std::vector<std::pair<Duration, Duration>>& gaps) const;

 private:
  enum class From : std::uint8_t { Nothing, Phases, Activities };
  From from_ = From::Nothing;
  std::vector<std::string> names_{"work"};
};

}  // namespace cox::diagnose
