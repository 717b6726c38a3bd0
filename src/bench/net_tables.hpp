// SPDX-License-Identifier: Apache-2.0
/// \file
/// From printed tables to points, and from points to a line.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/bench/net.hpp"

namespace cox::bench {

/// What a time consists of: `latencies` times alpha plus `bytes` times beta.
struct CostPoint {
  double latencies = 1;  ///< messages that follow each other
  Bytes bytes{};         ///< that pass one link one after the other
  Seconds low{};  ///< quartiles over the repetitions, or the same as `middle` where there is one figure
  Seconds middle{};
  Seconds high{};
};

/// The line with the least sum of relative deviations, with neither part negative: one outlier does not move
/// it, and small messages count as much as large ones. It goes through two of the points or through one with
/// one part zero (a vertex of the linear programme), so these are tried. Cost: O(n^3), n at most 256. Errors:
/// bench-005 (fewer than two different sizes). Held by: src/bench/net_fit_test.cpp
[[nodiscard]] Result<LinkFit> fit_link(std::span<const CostPoint> points);

/// What our probe printed, in samples.
struct ProbeSeries {
  Bytes size{};
  std::vector<double> message_s{};  ///< half a round trip
  std::vector<double> stream_s{};   ///< per message, sent back to back
  std::vector<double> start_s{};    ///< of the processor, to start one
};
struct ProbeTable {
  std::string library{};
  int ranks = 0;
  std::vector<ProbeSeries> inside{};  ///< two ranks of a host, by size
  std::vector<ProbeSeries> across{};  ///< two hosts
};
/// Reads the probe's output of at most 64 MB. Errors: bench-002 (line, got, wanted).
[[nodiscard]] Result<ProbeTable> parse_probe(std::string_view text, const std::string& name);

[[nodiscard]] Result<PlaceCost> cost_of(std::span<const ProbeSeries> series);

/// What a table of another tool holds.
enum class TableKind : std::uint8_t { Latency, Bandwidth, Collective };
struct ImportedTable {
  std::string format{};  ///< `OSU`, `nccl-tests`
  std::string test{};    ///< as the table names it; empty where it does not
  TableKind kind = TableKind::Latency;
  int ranks = 0;           ///< 0: not in the table
  double busbw_ratio = 0;  ///< nccl-tests: busbw over algbw; 0 = not in the table
  struct Row {
    Bytes size{};
    Seconds low{};
    Seconds time{};  ///< of one operation (Bandwidth: of one message among many)
    Seconds high{};
  };
  std::vector<Row> rows{};
};
/// Reads a table of at most 16 MB. Errors: bench-002 (line, got, wanted), bench-003 (no format that is
/// known). Held by: src/bench/net_import_test.cpp
[[nodiscard]] Result<ImportedTable> parse_net_table(std::string_view text, const std::string& name);

/// The table's rows as points. `ranks` 0: those of the table.
/// Errors: bench-004 (the number of ranks is missing or contradicts the table,
/// or busbw is not an all-reduce's).
[[nodiscard]] Result<std::vector<CostPoint>> cost_points(const ImportedTable& table, CollectiveForm form,
                                                         int ranks);

}  // namespace cox::bench
