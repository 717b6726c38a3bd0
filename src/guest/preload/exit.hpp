// SPDX-License-Identifier: Apache-2.0
/// \file
/// What is done before a process ends, however it ends in order.
#pragma once

namespace cox::guest {

/// Completes what is still open and has it written out; waits two seconds at most. Does nothing in a child of
/// the process that records. Async-signal-safe.
void end_recording() noexcept;

/// Finds the library's ways to end a process; before the first of them is needed.
void find_exits() noexcept;

}  // namespace cox::guest
