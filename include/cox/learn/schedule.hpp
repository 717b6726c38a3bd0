// SPDX-License-Identifier: Apache-2.0
/// \file
/// How the rate of an optimizer's steps follows their number and their batch.
#pragma once

#include <cstdint>

#include "cox/learn/optimizer.hpp"

namespace cox::learn {

/// What the spec's rate is multiplied by in step `step` (from 1 on) with the mean gradient of `batch` samples.
///
/// Formula: s min(1, step / warm_up), s = batch / base_batch (linear), its root (root), or 1.
/// Source:  linear and warm-up: Goyal et al. 2017, sections 2.1 and 2.2 (theirs begins at the unscaled rate, this at 0); root:
///          Krizhevsky 2014, section 4.
/// Exactly 1 where the spec has neither. Held by: src/learn/optimize/schedule_test.cpp
[[nodiscard]] double rate_factor(const OptimizerSpec& spec, std::int64_t step, std::int64_t batch);

}  // namespace cox::learn
