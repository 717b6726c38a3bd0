// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a guest reads about its own process and machine, on the keeper thread and never on the hot path.
///
/// Use when: the writer's keeper wakes. Libc and system calls only: no heap, no locks, no descriptor kept.
/// Threads:  one caller at a time (the buffers are static).
/// Cost:     docs/concepts/samples.md; bench/sampler_bench.cpp.
/// Held by:  src/guest/writer/sampler_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>

#include "cox/trace/raw_format.hpp"

namespace cox::guest {

/// Fills all of a sample but `ticks`; what cannot be read is all ones. `whole` also reads what
/// is dear or changes slowly: the CPU's frequency and throttling, the control group's quota,
/// and, `for_node`, the machine's pressure. Else those are all ones. Files of the process stay open.
void take_sample(trace::RawSample& out, bool whole, bool for_node) noexcept;

/// Gives lines `path<TAB>value<LF>` about where the process may run, in pieces of whole lines, at most
/// kLocalityBytes altogether, with those of `read_machine`, which begins anew.
void read_locality(void (*put)(const char* lines, std::size_t bytes)) noexcept;
/// The same for the machine's topology and devices, which all of a node share: about `files` files of it, the next
/// ones with every call, so that no start opens more where there are more CPUs. Whether more is to come.
bool read_machine(int files, void (*put)(const char* lines, std::size_t bytes)) noexcept;
inline constexpr std::size_t kLocalityPiece = std::size_t{16} * 1024;
inline constexpr std::size_t kLocalityBytes = std::size_t{256} * 1024;

/// When the process started, in clock ticks after boot, and the inode of its namespace of a kind (`time`, `pid`); 0 = not known.
[[nodiscard]] std::uint64_t own_start_time() noexcept;
/// How many filters lie over the main thread's system calls; before Linux 5.9 whether one does. The keeper alone.
[[nodiscard]] std::uint64_t own_filters() noexcept;
[[nodiscard]] std::uint64_t own_namespace(const char* kind) noexcept;

/// Has the calling thread, and no other, run on the CPUs of a list (`3,7-8`); false where it may not or none is named.
[[nodiscard]] bool run_on(const char* cpus) noexcept;

/// Gives the calling thread a table of descriptors of its own, empty but for 0 to 2, which lead nowhere. So
/// nothing that it opens ever takes a number that the job expects for itself. False where the system refuses.
[[nodiscard]] bool separate_descriptors() noexcept;

}  // namespace cox::guest
