// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "cox/base/file.hpp"

#include "bench/net_tables.hpp"

namespace cox::bench {
namespace {

constexpr std::size_t kMostTableBytes = std::size_t{16} << 20U;

}  // namespace

Result<FoundCost> cost_of_tables(std::span<const std::string> files, CollectiveForm form, int ranks) {
  std::vector<CostPoint> points;
  FoundCost out{.place = "across", .from = "From"};
  for (const std::string& name : files) {
    COX_TRY(const std::string text, read_file(name, kMostTableBytes));
    COX_TRY(const ImportedTable table, parse_net_table(text, name));
    COX_TRY(const std::vector<CostPoint> more, cost_points(table, form, ranks));
    points.insert(points.end(), more.begin(), more.end());
    out.from += fmt::format(" {} ({})", std::filesystem::path(name).filename().string(),
                            table.test.empty() ? table.format : table.test);
  }
  COX_TRY(out.cost.fit, fit_link(points));
  return out;
}

Result<std::vector<FoundCost>> costs_of_probe(std::string_view text, const std::string& host) {
  COX_TRY(const ProbeTable table, parse_probe(text, "the probe's output"));
  std::vector<FoundCost> out;
  for (const auto& [place, series] :
       {std::pair{"inside", &table.inside}, std::pair{"across", &table.across}}) {
    if (series->empty()) continue;
    COX_TRY(const PlaceCost cost, cost_of(*series));
    out.push_back({.place = place,
                   .cost = cost,
                   .from = fmt::format("Measured by `cox bench net` from {} over {}, {} ranks", host,
                                       table.library, table.ranks)});
  }
  return out;
}

}  // namespace cox::bench
