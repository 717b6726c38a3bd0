// SPDX-License-Identifier: Apache-2.0
/// \file
/// Operations one by one, for inputs that hold so few that nothing repeats.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cox/base/ids.hpp"
#include "cox/base/units.hpp"

#include "diagnose/match/matched.hpp"

namespace cox::diagnose {

/// One sentence per operation: how far apart the members came and left, who came last where
/// that can be told, its transfer at most, and whether the host's launch says why.
/// Empty where there are more than 16 operations.
///
/// Last arriver: by entry with one clock, else the shortest call; told only where all members are there and
/// the spread of ends is under a tenth of that of begins.
/// Source: diagnosis.md 2.2 and 2.6.
/// Held by: src/diagnose/operations/few_operations_test.cpp
[[nodiscard]] std::vector<std::string> describe_few(const Matched& matched);

/// Own work of one rank beyond the median of all that are present, where operations lack members.
struct PresentDelay {
  Rank rank;
  Duration self_delay{};  ///< sum over operations of the positive part
  Duration largest{};     ///< the largest single one
  std::uint32_t at = 0;   ///< sequence number of the operation before which it was
};

/// Self-delay against those present, operation by operation.
///
/// Formula: u(r, k) = entry of operation k - exit of the rank's collective before it;
///          delay = u - median over the members present (mean of the middle two); the first operation of each
///          rank is carried in and left out.
/// Source:  diagnosis.md 2.3. Clocks: each span is on one rank's own clock. Cost: linear in collectives.
/// Held by: src/diagnose/operations/few_operations_test.cpp, tests/imports/known_answers.py
[[nodiscard]] std::vector<PresentDelay> delays_of_those_present(const Matched& matched);

}  // namespace cox::diagnose
