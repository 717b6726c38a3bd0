// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

namespace cox::observe {

/// The object that is preloaded, and those of single libraries that it opens from its own folder when a process uses one.
/// A build without a library's headers lacks its object.
inline constexpr const char* kPreload = "libcox-preload.so";
inline constexpr std::array kLibraryGuests = {"libcox-mpi-openmpi.so", "libcox-mpi-mpich.so",
                                              "libcox-mpi-abi.so", "libcox-gloo.so"};

}  // namespace cox::observe
