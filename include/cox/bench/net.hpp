// SPDX-License-Identifier: Apache-2.0
/// \file
/// Latency, bandwidth and overhead of a network from measurements: our probe's, nccl-tests' and OSU's tables.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"

namespace cox::bench {

/// An alpha-beta line through measurements.
struct LinkFit {
  std::optional<Seconds> latency{};  ///< nothing where the points say nothing about it (bandwidth tables)
  Seconds latency_low{};             ///< of the lines through the lower and through the upper quartiles
  Seconds latency_high{};
  TimePerByte per_byte{};
  TimePerByte per_byte_low{};
  TimePerByte per_byte_high{};
  int sizes = 0;
  double median_error_ratio = 0;  ///< of the line against the middles, absolute
  double worst_error_ratio = 0;
};

/// A line through one place's messages, and the overhead.
struct PlaceCost {
  LinkFit fit{};
  std::optional<Seconds> overhead{};  ///< median over the sizes up to 4 KiB
  std::optional<Bandwidth> stream{};  ///< of the largest messages, sent back to back
  std::int64_t samples = 0;
};
/// How the collective of a table was carried out.
enum class CollectiveForm : std::uint8_t {
  Pair,  ///< a message between two ranks
  Ring,  ///< all-reduce: 2 (P - 1) messages of n / P
  Tree,  ///< all-reduce by a binomial tree: 2 ceil(log2 P) messages of n
};
/// What was found for one place of a Scenario, and what it is from.
struct FoundCost {
  std::string place{};  ///< `inside`, `across`
  PlaceCost cost{};
  std::string from{};
};
/// Tables that describe one link: their rows are fitted together, so that osu_latency and osu_bw complete each other.
/// `ranks` 0: those of the table. Errors: bench-002 (line, got, wanted), bench-003 (no format that is known), bench-004 (the
/// number of ranks is missing or contradicts the table, or busbw is not an all-reduce's), bench-005 (fewer than two different
/// sizes), base-002 to base-004. Held by: src/bench/net_import_test.cpp
[[nodiscard]] Result<FoundCost> cost_of_tables(std::span<const std::string> files, CollectiveForm form,
                                               int ranks);
/// Of what the probe printed on `host`, by place. Errors: bench-002, bench-005.
[[nodiscard]] Result<std::vector<FoundCost>> costs_of_probe(std::string_view text, const std::string& host);

/// `[cost.inside]` or `[cost.across]` of a Scenario, what was measured beside it as comments. `from` says
/// what it is from; it becomes the first comment.
[[nodiscard]] std::string cost_part(std::string_view place, const PlaceCost& cost, const std::string& from);

}  // namespace cox::bench
