// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the files of the PyTorch guest say to each other. attach.cpp: the table of wrappers. groups.cpp:
/// process groups and what is submitted to them. phases.cpp: steps and phases of DistributedDataParallel.
#pragma once

#include <cstdint>

#include "guest/gloo/state.hpp"

namespace cox::guest::torch {

using gloo::pacing;
using gloo::writer;

/// Collective handed to a process group's workers last on this thread: communicator (0 = none) and number.
struct Submitted {
  std::uint32_t comm = 0;
  std::uint32_t tag = 0;
};
[[nodiscard]] Submitted last_submitted() noexcept;
/// Whether this thread is inside a process group's method that submits a collective.
[[nodiscard]] bool is_submitting() noexcept;

/// Says once what this PyTorch does not offer, and registers for its named ranges where it can. Called where
/// the first process group is made. `anchor` is any function of its library.
void inspect(const void* anchor) noexcept;
/// What is still open when the process ends in order.
void settle() noexcept;
/// Registers for named ranges where the layout of what that takes is known. `library` is dlopen's handle of
/// the library that has PyTorch's operators, `file` its path.
void start_ranges(void* library, const char* file) noexcept;

}  // namespace cox::guest::torch
