// SPDX-License-Identifier: Apache-2.0
/// \file
/// Other tools that stand before us: their MPI_X is called, they call PMPI_X,
/// and our hook of X never hears of it.
#pragma once

#include <cstddef>

namespace cox::guest {

/// Whether calls of this function reach somebody else than us first. Off the hot path: one symbol look-up.
[[nodiscard]] bool is_bypassed(const char* symbol);

/// One sentence about the MPI functions of `symbols` that reach somebody else first,
/// naming the first of them and whose it is; null where there is none. The text lives as long as the
/// process. Not for two threads at once.
[[nodiscard]] const char* describe_bypassed(const char* const* symbols, std::size_t count);

}  // namespace cox::guest
