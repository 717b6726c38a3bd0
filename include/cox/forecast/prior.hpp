// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a forecast takes to be likely where no input says it. Each number can be stated: `cox forecast --prior`.
#pragma once

#include <string>
#include <string_view>

#include "cox/base/result.hpp"

namespace cox::forecast {

/// Where each comes from: docs/concepts/forecasting.md, docs/concepts/goodput.md.
struct Prior {
  double slow_nodes =
      0.5 / 60.5;          ///< mean share of nodes that are slow for good, before any was seen; 0 = none is
  double slow_down = 0.5;  ///< the most that such a node is slower by, as a part of its work
  double growth = 0.03;    ///< mean power of the ranks by which a step grows that one size does not show
  double shared = 0.5;     ///< the most of that power where all ranks share something
  double failures = 1.5;   ///< within which factor stated times between failures hold, nine of ten
  double restarts = 1.25;  ///< of stated restarts and repair
  double checkpoints = 1.25;  ///< of stated checkpoints
  double start = 1.25;        ///< of a stated start
  bool operator==(const Prior&) const = default;
};

/// `slow-nodes=0.02,growth=0`: names as the fields, with hyphens. Errors: forecast-039 (what was read, what can be said).
/// Held by: src/forecast/project/prior_test.cpp
[[nodiscard]] Result<Prior> parse_prior(std::string_view text);

/// What of it is not as it is without saying: `slow-nodes 0.02, growth 0`; empty = nothing.
[[nodiscard]] std::string changes_of(const Prior& prior);

}  // namespace cox::forecast
