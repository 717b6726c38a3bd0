// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which PyTorch a library is of.
#pragma once

namespace cox::guest::torch {

/// Whether a text begins with a version whose layouts abi.hpp has, `MAJOR.MINOR` and then the end or a point.
[[nodiscard]] bool knows_version(const char* text) noexcept;

/// Whether `file`, as the loader names it, is a `libtorch_cpu.so` of such a version: by what follows that in its name, and where nothing
/// does (wheels), by `../version.py` beside it. Opens at most that file. Held by: src/guest/torch/version_test.cpp, tests/e2e/torch_wheel
[[nodiscard]] bool knows_ranges(const char* file) noexcept;

}  // namespace cox::guest::torch
