// SPDX-License-Identifier: Apache-2.0
/// \file
/// What of the job the Run holds, and each communicator's account.
#pragma once

#include <vector>

#include "cox/diagnose/account.hpp"
#include "cox/diagnose/coverage.hpp"

#include "diagnose/match/matched.hpp"

namespace cox::diagnose {

[[nodiscard]] Coverage cover(const Matched& matched);
/// Calls that left no record, of all ranks.
[[nodiscard]] trace::UnobservedCalls count_unobserved(const Matched& matched);

/// One entry per communicator in use, as the member with most calls on it made them.
[[nodiscard]] std::vector<CommAccount> account_communicators(const Matched& matched);

}  // namespace cox::diagnose
