// SPDX-License-Identifier: Apache-2.0
/// \file
/// Every rule that could name a cause, with what it found: fired, not fired, or had no data.
#pragma once

#include <vector>

#include "cox/diagnose/cause.hpp"

namespace cox::diagnose {

/// The cause that holds: why comes before where, samples of the process before activities of the device.
[[nodiscard]] Cause cause_of(const Reasons& r);
/// All rules in the order of docs/concepts/causes.md.
[[nodiscard]] std::vector<CauseTest> test_causes(const Reasons& r);

}  // namespace cox::diagnose
