// SPDX-License-Identifier: Apache-2.0
/// \file
/// From a named set of ranks to a finding with its numbers.
#pragma once

#include <vector>

#include "cox/diagnose/finding.hpp"

#include "diagnose/naming/naming.hpp"
#include "diagnose/naming/of_operations.hpp"

namespace cox::diagnose {

[[nodiscard]] Finding make_finding(const Evidenced& x, const Named& named, std::size_t named_in_all,
                                   Duration lost, Duration run_time);
/// The same of what operations say. Where many lack a member no gain is promised: one who is absent may have been
/// later.
[[nodiscard]] Finding make_finding(const Evidenced& x, const NamedOver& named, const Presence& presence,
                                   std::size_t named_in_all, Duration lost, Duration run_time);

}  // namespace cox::diagnose
