// SPDX-License-Identifier: Apache-2.0
/// \file
/// How far a job is from a boundary: the smallest relative change of one parameter, or of several at once, that crosses it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cox::forecast {

/// One parameter alone.
struct Margin {
  std::string name{};
  std::optional<double> factor{};  ///< the nearest to 1 that crosses, in ln; empty = none looked at does
  bool banded = false;             ///< there were replicates: else the next three say nothing
  std::optional<double> low{};     ///< of 90 % of the replicates; empty = beyond what is looked at
  std::optional<double> high{};
  double beyond = 0;          ///< share of replicates that no factor takes across: counted, not dropped
  bool within_error = false;  ///< smaller than the parameter's own error, which means: no margin
};

/// All of them together: the smallest sqrt(sum ln^2 factor) that crosses.
struct WorstMargin {
  std::vector<double> factors{};  ///< in the order of the parameters; 1 where one takes no part
  double distance = 0;            ///< sqrt(sum ln^2 factor)
};

struct Margins {
  double elasticity = 0;  ///< now
  double level = 0;       ///< of the boundary
  /// Share of draws, with what was not seen of a Run, that lie on the other side of the level; empty = not asked.
  std::optional<double> other_side{};
  bool crossed = false;  ///< eps is below the level already: factors are those that lead back
  std::vector<Margin> alone{};
  std::optional<WorstMargin> worst{};  ///< empty = nothing that is looked at crosses
};

}  // namespace cox::forecast
