// SPDX-License-Identifier: Apache-2.0
/// \file
/// Findings put into words and numbers: evidence, verdict, and what the input does not answer.
#pragma once

#include <string>
#include <vector>

#include "cox/diagnose/diagnosis.hpp"

#include "diagnose/naming/naming.hpp"

namespace cox::diagnose {

[[nodiscard]] Finding put_into_words(const Evidenced& x, const Named& named, std::size_t named_in_all,
                                     Duration lost, Duration run_time);
[[nodiscard]] std::vector<std::string> name_gaps(const Matched& matched, const Diagnosis& d);
[[nodiscard]] std::string verdict_of(const Diagnosis& d);

/// `23 %`, `0.4 %`; below one in a thousand `under 0.1 %`.
[[nodiscard]] std::string percent(double ratio);

}  // namespace cox::diagnose
