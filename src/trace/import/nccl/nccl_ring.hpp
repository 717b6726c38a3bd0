// SPDX-License-Identifier: Apache-2.0
/// \file
/// What is missing from one ring of the NCCL Inspector, told from the sequence numbers that it kept.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cox/model/collective.hpp"

namespace cox::trace {

/// Sequence numbers of one communicator in one process.
///
/// Collectives and messages are counted apart. Whether a communicator numbers its collectives together or
/// each function on its own is told from the numbers: the same number twice means the latter.
class NcclRing {
 public:
  void add(bool message, model::Collective function, std::uint32_t sequence);
  /// "kept exactly 2 x 1024 collectives, 812 missing between 0 and 2859: ...";
  /// empty where nothing is missing.
  /// Source: the Inspector's ring of 1,024 records by default overwrites silently (NVIDIA/nccl PR 2304).
  [[nodiscard]] std::string describe() &&;

 private:
  static constexpr std::size_t kMessages = model::kCollectiveCount;
  std::array<std::vector<std::uint32_t>, kMessages + 1> kept_;
};

}  // namespace cox::trace
