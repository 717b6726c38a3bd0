// SPDX-License-Identifier: Apache-2.0
/// \file
/// Comparisons in the cells of a map.
#pragma once

#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/learn/policy_map.hpp"

#include "learn/answer/comparison.hpp"

namespace cox::learn {

/// What a scenario is on the axes before it is changed.
struct MapPlace {
  Seconds communication{};  ///< of all gradients of a worker, summed over all workers in one message
  Seconds computation{};    ///< of a worker in a step, without noise
  [[nodiscard]] double ratio() const { return communication / computation; }
};

struct MapCell {
  double communication = 0;
  double speeds = 0;
  Comparison made{};

  /// The fastest; null where nobody reached the target on every seed.
  [[nodiscard]] const WayResult* best() const;
  /// Those that reached it and are not told apart from the fastest, in the order of their times.
  [[nodiscard]] std::vector<const WayResult*> not_told_apart() const;
  [[nodiscard]] bool decided() const { return best() != nullptr && not_told_apart().empty(); }
};

struct PolicyMap {
  MapPlace own{};
  MapAxes axes{};
  std::vector<MapCell> cells;  ///< row by row: speeds, and inside communication
};

/// Errors: learn-002 (a job that computes nothing, or whose workers exchange nothing).
[[nodiscard]] Result<MapPlace> place_of(const model::Scenario& scenario);
/// The scenario in a cell. What noise adds in seconds stays as it is; noise that stays with a worker, and speeds of classes of nodes,
/// make room for the cell's. Pre: `own` is the scenario's.
[[nodiscard]] model::Scenario in_cell(const model::Scenario& scenario, const MapPlace& own,
                                      double communication, double speeds);
/// As `map_ways`, with its errors.
[[nodiscard]] Result<PolicyMap> make_map(const model::Scenario& scenario, const WaysQuestion& question,
                                         const MapAxes& axes);

[[nodiscard]] std::vector<TextLine> text_lines(const PolicyMap& map, const model::Scenario& scenario,
                                               const WaysQuestion& question);
[[nodiscard]] std::string to_json(const PolicyMap& map, const model::Scenario& scenario,
                                  const WaysQuestion& question, const std::vector<std::string>& inputs);

}  // namespace cox::learn
