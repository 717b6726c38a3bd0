// SPDX-License-Identifier: Apache-2.0
/// \file
/// Between the preload object and its implementation of cox/abi/observe.h.
#pragma once

#include "guest/seam/typed.hpp"

namespace cox::guest {
/// The writer for marks of the C API, or null where recording is not wanted in this process.
[[nodiscard]] const WriterApi* mark_writer();
/// The controller for marked collectives, or null where none is wanted.
[[nodiscard]] const PaceApi* mark_pacing();
}  // namespace cox::guest
