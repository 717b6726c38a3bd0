// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a collective takes as a whole, where the scenario's price says just that, and the sentences about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"

namespace cox::simulate {

/// Where the price says the time of the collective from its last arrival on.
struct WholePrice {
  model::LookedUp price;
  std::vector<std::string> notes;
};

/// Whatever its rounds would be, nobody plays them: `spec` gets an algorithm that every kind has.
/// Errors: simulate-003, simulate-008 (no such time was measured).
[[nodiscard]] Result<WholePrice> price_whole(const model::Scenario& scenario, model::CollectiveSpec& spec);

/// What NCCL's tuning model leaves out.
inline constexpr std::string_view kNcclKnowsNoFabric =
    "links, switches and routes of the fabric: NCCL's tuning model knows collectives as a whole";
/// What the protocol `loggops` leaves out where `shares_links_beyond_loggops`.
inline constexpr std::string_view kLogGopsSharesNoLinks =
    "links that messages share: under loggops each has its way to itself";
[[nodiscard]] inline bool shares_links_beyond_loggops(const model::Scenario& s) {
  return s.protocol == model::Protocol::LogGops && s.price == model::CollectivePrice::Rounds &&
         s.cluster.nodes > 1 && s.fabric.kind != model::FabricKind::FullBisection;
}
/// The sentence of an Outcome that names what NCCL's tuning model chose for `what`.
[[nodiscard]] std::string nccl_note(std::string_view what, const model::NcclEstimate& made,
                                    const model::NcclCost& cost);

inline constexpr std::string_view kTableKnowsNoNeighbours =
    "links that collectives share with what runs at the same time: measured times are those of one alone";
/// A time that was looked up, or its dip, by a draw of its own for each step and number.
[[nodiscard]] Seconds drawn_time(const model::LookedUp& whole, std::uint64_t seed, std::int64_t step,
                                 std::int64_t number);
/// What was asked of a table below its smallest and above its largest size.
void table_notes(std::optional<Bytes> below, std::optional<Bytes> above, std::vector<std::string>& notes);
/// The sentence of an Outcome about sums of `bytes` that are sent with fewer.
[[nodiscard]] std::string compression_note(const model::Compressed& sum, Bytes bytes);
/// What one ring leaves unused of nodes with several network cards; empty where it is no single ring, or members of a node
/// (`per_node` of them) have one card.
[[nodiscard]] std::string one_ring_note(const model::CollectiveSpec& spec, int per_node,
                                        const model::Cluster& cluster);

}  // namespace cox::simulate
