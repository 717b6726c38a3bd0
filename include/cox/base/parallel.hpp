// SPDX-License-Identifier: Apache-2.0
/// \file
/// Independent work over several threads, with results that do not depend on how many.
#pragma once

#include <cstddef>
#include <functional>

namespace cox {

/// Calls `body(i)` once for each i in [0, count) from at most `threads` threads; returns when all are done.
///
/// `threads` <= 0 means one per core. Each call may write only to what belongs to its own `i`, so the outcome
/// is the same for any number of threads. Errors: `body` must not throw. Held by: src/base/parallel_test.cpp
void parallel_for(std::size_t count, int threads, const std::function<void(std::size_t)>& body);

}  // namespace cox
