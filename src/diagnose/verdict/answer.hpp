// SPDX-License-Identifier: Apache-2.0
/// \file
/// Named, nobody, cannot tell, or the job failed.
#pragma once

#include <optional>

#include "cox/diagnose/diagnosis.hpp"

namespace cox::diagnose {

/// Of a diagnosis that is complete but for its words. `least_effect`: what naming would have seen, as part of a
/// step; nothing where it was not asked. `few_steps`: too few for so many ranks.
///
/// Rule:    the job failed where it ended with a status, a call hangs, or members disagree. Else named, where
///          there are findings. Else cannot tell, where a reason of `AnswerReason` holds. Else nobody.
/// Held by: src/diagnose/verdict/answer_test.cpp
[[nodiscard]] Answer judge(const Diagnosis& d, std::optional<double> least_effect, bool few_steps = false);

}  // namespace cox::diagnose
