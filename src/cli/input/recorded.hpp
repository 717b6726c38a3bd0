// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the processes of a job say about themselves in the heads of their raw files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>

#include "cox/base/units.hpp"

namespace cox::cli {

/// Sums over the raw files of a Run folder, cheap for any size: only heads are read.
struct Recorded {
  std::set<std::int32_t> ranks{};
  std::int64_t files = 0;  ///< also of processes that say no rank
  std::int32_t world_size = 0;
  std::uint64_t dropped_records = 0;
  std::uint64_t recycled_records = 0;
  Duration overhead_per_event{};    ///< the worst process's own measurement
  std::int64_t disabled = 0;        ///< processes whose recording switched itself off
  std::int64_t detached = 0;        ///< processes that `cox detach` stopped
  std::int64_t storage_failed = 0;  ///< processes whose file could not grow
  int storage_errno = 0;            ///< why, of the last of them
  std::int64_t alone = 0;           ///< processes that say that they are rank 0 of 1
  std::int64_t singletons = 0;      ///< most of those that ran at the same time
};

/// Heads that are cut or not ours count as nothing; `compact_run` reports them. `mark`: only files whose names
/// end so, before their suffix (trace::observer_mark).
/// Held by: src/cli/input/recorded_test.cpp
[[nodiscard]] Recorded read_heads(const std::filesystem::path& dir, const std::string& mark = {});

}  // namespace cox::cli
