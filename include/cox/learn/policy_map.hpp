// SPDX-License-Identifier: Apache-2.0
/// \file
/// The best way of synchronising over two properties of a cluster: what communication takes beside computing, and how unlike
/// the speeds of its workers are.
#pragma once

#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/text_line.hpp"
#include "cox/learn/compare.hpp"
#include "cox/model/scenario.hpp"

namespace cox::learn {

/// The cells of a map: each value of one axis with each of the other. Both rise.
struct MapAxes {
  /// Sum of all gradients over all workers, alone and in one message, over what a worker computes in a step; above 0.
  std::vector<double> communication{0.1, 0.3, 1, 3};
  /// Coefficient of variation of the workers' times, lognormal, for good; 0 or above.
  std::vector<double> speeds{0, 0.1, 0.2, 0.5};
};
inline constexpr std::size_t kMostMapCells = 64;

struct MappedWays {
  std::vector<TextLine> lines;  ///< the screen
  std::string json;             ///< `cox.learn-map/1`: docs/reference/learn-json.md
  bool any_reached = false;     ///< the target, on every seed, in some cell
};

/// Runs `compare` in each cell, on the same seeds. A cell is the scenario with the times that it computes scaled to the cell's
/// communication, and with the cell's spread in place of speeds that stay. A cell is decided where the first is told apart
/// from every other, seed by seed at 95 %. Progress counts the runs of all cells.
/// Errors: learn-002 (axes that are empty, do not rise or have too many cells; a job that computes nothing or whose workers
/// exchange nothing), those of `compare`. Deterministic for any number of threads. Cost: cells x `compare`.
/// Held by: src/learn/answer/policy_map_test.cpp
[[nodiscard]] Result<MappedWays> map_ways(const model::Scenario& scenario, const WaysQuestion& question,
                                          const MapAxes& axes, const std::vector<std::string>& inputs);

}  // namespace cox::learn
