// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which local communicators of which ranks are one and the same.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "cox/trace/run.hpp"

#include "trace/raw/process_file.hpp"

namespace cox::trace {

struct MatchedCommunicators {
  std::vector<Communicator> all;  ///< index = id; largest first
  /// Per process (same order as the input): local number to id.
  std::vector<std::unordered_map<std::uint32_t, CommId>> local;
  std::vector<Note> notes;
};

/// Matches by identity where there is one. Where there is none, by size and name and only if that is
/// unambiguous: no more ranks declare it than it has members. `processes` are sorted by rank, each rank once.
[[nodiscard]] MatchedCommunicators match_communicators(const std::vector<ProcessFile>& processes);

}  // namespace cox::trace
