// SPDX-License-Identifier: Apache-2.0
#include "diagnose/charge/validity.hpp"

#include <algorithm>
#include <vector>

#include "cox/base/stats.hpp"

#include "diagnose/match/span_math.hpp"

namespace cox::diagnose {
namespace {

constexpr std::int64_t kSampledOps = 256;

/// First cells of complete operations that hold all members, evenly spaced.
std::vector<std::size_t> sample(const Matching& m, const Group& group) {
  std::vector<std::size_t> cells;
  const std::int64_t stride = 1 + (group.ops - 1) / kSampledOps;
  for (std::int64_t op = 0; op < group.ops; op += stride) {
    bool all = model::synchronizes_all(m.ops[group.first_op + static_cast<std::size_t>(op)].kind);
    for (std::size_t k = 0; all && k < group.members.size(); ++k)
      all = m.entry[group.cell(op, k)] != kUnknown;
    if (all) cells.push_back(group.cell(op, 0));
  }
  return cells;
}

/// Median over operations of the largest minus the smallest time, less each rank's offset.
double median_spread(const std::vector<Duration>& times, const std::vector<std::size_t>& cells,
                     const std::vector<double>& offset) {
  std::vector<double> spreads;
  for (const std::size_t first : cells) {
    double low = 0;
    double high = 0;
    for (std::size_t k = 1; k < offset.size(); ++k) {
      const double t = in_seconds(minus_clamped(times[first + k], times[first])) - offset[k];
      low = std::min(low, t);
      high = std::max(high, t);
    }
    spreads.push_back(high - low);
  }
  return median_in_place(spreads);
}

std::vector<double> offsets_of(const Matching& m, const std::vector<std::size_t>& cells,
                               std::size_t members) {
  std::vector<double> offset(members, 0);
  std::vector<double> ends;
  for (std::size_t k = 1; k < members; ++k) {
    ends.clear();
    for (const std::size_t first : cells)
      ends.push_back(in_seconds(minus_clamped(m.exit[first + k], m.exit[first])));
    offset[k] = median_in_place(ends);
  }
  return offset;
}

}  // namespace

double validity_where_it_matters(const Matching& m) {
  double validity = 1;
  double most_apart = 0;
  for (const Group& group : m.groups) {
    if (group.first_cell == kNoCells || group.members.size() < 2) continue;
    const std::vector<std::size_t> cells = sample(m, group);
    if (cells.empty()) continue;
    const std::vector<double> offset = offsets_of(m, cells, group.members.size());
    const double begins = median_spread(m.entry, cells, offset);
    const double apart = begins * static_cast<double>(group.ops);
    if (apart <= most_apart) continue;
    most_apart = apart;
    validity = std::min(1.0, median_spread(m.exit, cells, offset) / begins);
  }
  return validity;
}

}  // namespace cox::diagnose
