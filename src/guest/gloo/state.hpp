// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the parts of the Gloo and PyTorch guest share: the writer, the communicators, who we are.
///
/// gloo_typed.cpp: Gloo's own collectives and the table of wrappers. c10d_groups.cpp: PyTorch's process
/// groups and what is submitted to them. c10d_phases.cpp: steps and phases of DistributedDataParallel.
#pragma once

#include <cstdint>

#include "cox/model/collective.hpp"

#include "guest/seam/communicators.hpp"
#include "guest/seam/typed.hpp"

namespace cox::observe::guest::gloo {

extern const Host* host;
extern const WriterApi* writer;
extern const PaceApi* pacing;      ///< null where nobody asked for it
extern CommTable contexts;         ///< by gloo::Context
extern Occurrences occurrences;    ///< of groups with one set of members, or one chain of prefixes
extern std::uint32_t main_thread;  ///< of a rank; a forked child records nothing
extern bool under_torch;           ///< collectives then run on pool threads and carry an operation number
extern std::int32_t world_size;    ///< of the first group of this process; 0 before

/// Collective handed to a process group's workers last on this thread: communicator (0 = none) and number.
struct Submitted {
  std::uint32_t comm = 0;
  std::uint32_t tag = 0;
};
[[nodiscard]] Submitted last_submitted() noexcept;
/// Payload of the collectives that pool threads ran since the last call; negative where none was seen to run.
[[nodiscard]] std::int64_t take_background_bytes() noexcept;
/// Whether this thread is inside a process group's method that submits a collective.
[[nodiscard]] bool is_submitting() noexcept;

/// Says once what this PyTorch does not offer, and registers for its named ranges where it can. Called where
/// the first process group is made. `anchor` is any function of its library.
void inspect_torch(const void* anchor) noexcept;
/// Whether named ranges (optimizer, data, DDP forward) reach us in this process.
[[nodiscard]] bool has_ranges() noexcept;

/// Whether a library's file name says that its ranges are laid out as we know.
[[nodiscard]] bool knows_ranges(const char* file) noexcept;
/// Registers for named ranges where the layout of what that takes is known. `library` is dlopen's handle of
/// the library that has PyTorch's operators, `file` its path.
void start_ranges(void* library, const char* file) noexcept;

}  // namespace cox::observe::guest::gloo
