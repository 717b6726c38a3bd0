// SPDX-License-Identifier: Apache-2.0
/// \file
/// Lets go of what a container holds, its room included.
#pragma once

namespace cox {

/// Empties a container and frees its memory. `clear()` keeps the room, and so does `c = {}` of a std::vector: that
/// calls the assignment of an empty initializer list.
/// Threads: as the container. Cost: that of its destructor. Held by: src/base/release_memory_test.cpp
template <class Container>
void release_memory(Container& c) noexcept {
  c = Container();
}

}  // namespace cox
