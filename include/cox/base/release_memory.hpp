// SPDX-License-Identifier: Apache-2.0
/// \file
/// Lets go of what a container holds, its room included.
#pragma once

namespace cox {

/// Empties a container whose memory moves with it, as that of a std::vector does, and frees that memory. `clear()` keeps
/// the room, and so does `c = {}` of a std::vector: that calls the assignment of an empty initializer list.
/// Threads: as the container. Cost: that of its destructor. Held by: src/base/large_memory_test.cpp
template <class Container>
void release_memory(Container& c) noexcept {
  c = Container();
}

}  // namespace cox
