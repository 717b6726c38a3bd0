// SPDX-License-Identifier: Apache-2.0
/// \file
/// Studies whose question is a job at many sizes: what `cox forecast` takes of them.
#pragma once

#include "cox/base/result.hpp"
#include "cox/forecast/stated_job.hpp"
#include "cox/study/study.hpp"

namespace cox::evaluate {

/// The job that a study states, by the terms that its computation has.
/// Errors: forecast-014 (its computation is of no job), study-003 (inputs). Held by: src/evaluate/hyperscale_test.cpp
[[nodiscard]] Result<forecast::StatedJob> stated_job(const study::Study& study);

}  // namespace cox::evaluate
