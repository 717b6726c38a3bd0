// SPDX-License-Identifier: Apache-2.0
/// \file
/// Collects figures of ranks into quantities.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "cox/trace/figures.hpp"

namespace cox::trace {

class RankCollector {
 public:
  /// What is said of several values of a rank: which of them counts.
  enum class Repeated : std::uint8_t { First, Newest };

  RankCollector(std::size_t most_quantities, Repeated repeated)
      : most_quantities_(most_quantities), which_(repeated) {}

  /// Whether another rank fits the limits.
  [[nodiscard]] bool takes(Rank rank) const;
  /// That the table names a rank, whether or not it has a value.
  void saw(Rank rank) { ranks_.insert(rank.value()); }
  /// Of several values of a rank one counts, and the others are counted as repeated: the first that was added, or the
  /// one with the highest `moment`, of equal ones the last.
  void add(const std::string& quantity, bool is_time, const RankFigure& figure, double moment = 0);
  [[nodiscard]] bool is_empty() const { return table_.quantities.empty(); }
  [[nodiscard]] Figures finish(const char* format) &&;

 private:
  /// Where a rank's value stands in its quantity, and when it was taken.
  struct Place {
    std::size_t figure = 0;
    double moment = 0;
  };
  std::size_t most_quantities_;
  Repeated which_;
  RankTable table_;
  std::map<std::string, std::size_t> number_of_;
  std::map<std::pair<std::size_t, std::int32_t>, Place> seen_;
  std::set<std::int32_t> ranks_;
  std::int64_t repeated_ = 0;
  std::int64_t left_out_ = 0;
};

}  // namespace cox::trace
