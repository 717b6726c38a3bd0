// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the object for Gloo and PyTorch shares: the writer, the communicators, who we are. Knows nothing
/// of PyTorch but that its numbers come along; src/guest/torch fills this in.
#pragma once

#include <cstdint>

#include "cox/model/collective.hpp"

#include "guest/seam/communicators.hpp"
#include "guest/seam/typed.hpp"

namespace cox::guest::gloo {

extern const Host* host;
extern const WriterApi* writer;
extern const PaceApi* pacing;      ///< null where nobody asked for it
extern CommTable contexts;         ///< by where the numbers of a gloo::Context lie (abi.hpp)
extern Occurrences occurrences;    ///< of groups with one set of members, or one chain of prefixes
extern std::uint32_t main_thread;  ///< of a rank; a forked child records nothing
extern bool under_torch;           ///< collectives then run on pool threads and carry an operation number
extern std::int32_t world_size;    ///< of the first group of this process; 0 before

/// A symbol whose absence says that Gloo is linked in privately.
inline constexpr char kAllreduce[] = "_ZN4gloo9allreduceERKNS_16AllreduceOptionsE";
[[nodiscard]] Wrappers collective_wrappers() noexcept;
/// Payload of the collectives that pool threads ran since the last call; negative where none was seen to run.
[[nodiscard]] std::int64_t take_background_bytes() noexcept;

}  // namespace cox::guest::gloo
