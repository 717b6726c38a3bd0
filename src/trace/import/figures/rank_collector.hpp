// SPDX-License-Identifier: Apache-2.0
/// \file
/// Collects figures of ranks into quantities.
#pragma once

#include <map>
#include <set>
#include <string>

#include "cox/trace/figures.hpp"

namespace cox::trace {

class RankCollector {
 public:
  explicit RankCollector(std::size_t most_quantities) : most_quantities_(most_quantities) {}

  /// Whether another rank fits the limits.
  [[nodiscard]] bool takes(Rank rank) const;
  /// That the table names a rank, whether or not it has a value.
  void saw(Rank rank) { ranks_.insert(rank.value()); }
  /// The first value of a rank counts; later ones are counted as repeated.
  void add(const std::string& quantity, bool is_time, const RankFigure& figure);
  [[nodiscard]] bool is_empty() const { return table_.quantities.empty(); }
  [[nodiscard]] Figures finish(const char* format) &&;

 private:
  std::size_t most_quantities_;
  RankTable table_;
  std::map<std::string, std::size_t> number_of_;
  std::set<std::pair<std::size_t, std::int32_t>> seen_;
  std::set<std::int32_t> ranks_;
  std::int64_t repeated_ = 0;
  std::int64_t left_out_ = 0;
};

}  // namespace cox::trace
