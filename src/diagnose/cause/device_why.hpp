// SPDX-License-Identifier: Apache-2.0
/// \file
/// Why a late rank is late, from what its device and host did: docs/concepts/causes.md.
#pragma once

#include <optional>

#include "cox/diagnose/cause.hpp"

#include "diagnose/naming/naming.hpp"

namespace cox::diagnose {

/// Nothing where the finding is not about one rank, or it or more than a third of the others recorded no
/// activity. Source: diagnosis.md 2.6 (launch late or queue long). Cost: linear in activities of the ranks.
/// Held by: src/diagnose/cause/device_why_test.cpp
[[nodiscard]] std::optional<DeviceWhy> find_device_why(const Evidenced& x, const Named& named);

}  // namespace cox::diagnose
