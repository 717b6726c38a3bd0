// SPDX-License-Identifier: Apache-2.0
/// \file
/// Why a late rank's own work takes longer, from its samples: docs/concepts/causes.md.
#pragma once

#include <optional>
#include <vector>

#include "cox/diagnose/cause.hpp"

#include "diagnose/naming/naming.hpp"

namespace cox::diagnose {

/// Nothing where the finding is not about one rank, or samples do not cover its steps on that rank and on two
/// thirds of the others. Held by: src/diagnose/cause/why_test.cpp
[[nodiscard]] std::optional<Why> find_why(const Evidenced& x, const Named& named);

}  // namespace cox::diagnose
