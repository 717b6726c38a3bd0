// SPDX-License-Identifier: Apache-2.0
/// \file
/// The collectives, by NCCL's names, and what the field calls their bandwidth.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "cox/base/units.hpp"

namespace cox::model {

/// Kind of collective operation. The values are part of the Run format and are never renumbered.
/// v/w forms and non-blocking forms are flags of the event, not kinds of their own.
enum class Collective : std::uint8_t {
  Other = 0,
  AllReduce = 1,
  ReduceScatter = 2,
  AllGather = 3,
  Broadcast = 4,
  Reduce = 5,
  Gather = 6,
  Scatter = 7,
  Scan = 8,
  AllToAll = 9,
  Barrier = 10,
  Neighbor = 11,
  SendRecv = 12,
};
inline constexpr int kCollectiveCount = 13;

/// Name as in NCCL: `AllReduce`. Unknown values give `Other`.
[[nodiscard]] std::string_view name_of(Collective c);
[[nodiscard]] std::optional<Collective> collective_from_name(std::string_view name);

/// A collective that holds every rank back, as programs spell it: `all_reduce`, `AllReduce`, `nccl:all_reduce`,
/// `reduce_scatter_tensor`, `barrier`. Case, signs and the name of a library in front do not matter; anything else in the name
/// makes it another thing. Held by: src/model/collective_test.cpp
[[nodiscard]] std::optional<Collective> synchronization_from_spelling(std::string_view name);

/// Whether no rank can leave before the last one has entered, for any size (true for AllReduce, AllGather,
/// ReduceScatter, AllToAll, Barrier). Only then does a short duration mean a late arrival.
[[nodiscard]] bool synchronizes_all(Collective c);

/// Factor that turns algbw = S/t into busbw for `ranks` members.
/// Formula: 2(n-1)/n AllReduce; (n-1)/n ReduceScatter, AllGather, AllToAll; 1 otherwise, and for fewer than
/// two ranks. Source:  nccl-tests doc/PERFORMANCE.md. Held by: src/model/collective_test.cpp
[[nodiscard]] double busbw_factor(Collective c, int ranks);

}  // namespace cox::model
