// SPDX-License-Identifier: Apache-2.0
/// \file
/// Meta entries of one process: the communicators it knows, and what its guest had to say.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cox/trace/run.hpp"

namespace cox::trace {

/// A communicator as one process declared it.
struct LocalCommunicator {
  std::uint64_t identity = 0;
  std::uint32_t local_number = 0;
  int size = 0;
  int my_rank = -1;
  std::vector<MetaRanks> members;  ///< world ranks as listed; empty where unknown
  std::string name;
};

struct MetaContent {
  std::vector<LocalCommunicator> communicators;  ///< by local number, each number once
  std::vector<std::string> guest_notes;
  std::vector<LocalityFact> locality;
  std::vector<std::string> losses;
};

/// The ranges that a list of ranks is made of.
[[nodiscard]] std::vector<MetaRanks> ranges_of(std::span<const Rank> ranks);

/// Bytes at the front of `meta` that are whole entries.
[[nodiscard]] std::size_t whole_entries(std::string_view meta);
[[nodiscard]] MetaContent parse_meta(std::string_view meta);

/// Text of unknown origin made safe to print and to store as JSON: valid UTF-8, no control characters.
[[nodiscard]] std::string clean_text(std::string_view text);

}  // namespace cox::trace
