// SPDX-License-Identifier: Apache-2.0
/// \file
/// What is done before a process ends, however it ends in order.
#pragma once

namespace cox::guest {

/// Completes what is still open and has it written out; waits two seconds at most. Does nothing in a child of
/// the process that records. Async-signal-safe.
void end_recording() noexcept;

}  // namespace cox::guest
