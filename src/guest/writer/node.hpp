// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the processes of one Run on one node agree on: who does what belongs to the node, and that somebody told
/// all of them to stop.
///
/// By names of abstract Unix sockets: bound by one process at a time, gone with it however it ends, and no business
/// of any file system. Where there are none (another network namespace, a sandbox) each process is alone.
/// Use when: the writer's keeper wakes, in its own table of descriptors. System calls only.
/// Threads:  the keeper alone.
/// Held by:  src/guest/writer/node_test.cpp
#pragma once

namespace cox::guest {

/// Begins to take part; `folder` is the Run's. Opens a descriptor.
void join_node(const char* folder) noexcept;

/// Knocks at the `cox observe` in front of the job, which sees from the socket whose process it is and when that ends.
/// Where nobody listens nothing happens.
void tell_of_start() noexcept;

/// Tells it that the file of this process takes no more. Where nobody listens nothing happens.
void tell_of_failure(int error) noexcept;

/// Whether this process does what belongs to the node. Exactly one of those that joined; where it ends, the first
/// that asks next.
[[nodiscard]] bool speaks_for_node() noexcept;

/// Stays alone from now on, and makes no system call for it.
void leave_node() noexcept;

/// Tells all others to stop, for as long as the calling thread lives.
void stop_node() noexcept;

/// Whether another process of this user did.
[[nodiscard]] bool is_node_stopped() noexcept;

}  // namespace cox::guest
