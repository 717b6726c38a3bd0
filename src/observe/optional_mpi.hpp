// SPDX-License-Identifier: Apache-2.0
/// \file
/// Programs that would run without an MPI library and look whether one is there.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "observe/library_paths.hpp"

namespace cox::observe {

/// How a program looks for MPI although it is linked to none.
struct OptionalMpi {
  std::string object{};  ///< the program, or the library of its, that does
  std::string how{};     ///< `the weak symbol MPI_Init`, `dlsym`
};

/// The first program that a command names for which that holds; those too that `sh -c` or shell scripts start by a word as it
/// stands there (no variable, no `cd`).
/// Why: our object has MPI's functions for the sake of those programs that call them, and it is there from the
/// start. A program that takes `MPI_Init != nullptr` for a library would find ours and no MPI behind it.
/// Looks at programs and at the libraries that they are linked to; nothing is loaded. Nothing where an MPI
/// library is among them, and for what is no ELF program of this machine.
/// Cost: reads each program and library once, 64 programs and scripts at most; of other files four bytes.
/// Held by: tests/e2e/own_business_test.sh
[[nodiscard]] std::optional<OptionalMpi> looks_for_mpi(const std::vector<std::string>& command,
                                                       const LibraryPaths& paths);

}  // namespace cox::observe
