// SPDX-License-Identifier: Apache-2.0
/// \file
/// In which phase of the step a late rank spends its extra time, where the program told its phases.
#pragma once

#include <optional>
#include <vector>

#include "cox/diagnose/cause.hpp"

#include "diagnose/naming/naming.hpp"

namespace cox::diagnose {

/// The phase that holds most of the extra work of one late rank against the median of all others.
/// Nothing where not all ranks recorded phases, or the finding is not about one rank.
[[nodiscard]] std::optional<PhaseExcess> find_phase(const Evidenced& x, const Named& named);

}  // namespace cox::diagnose
