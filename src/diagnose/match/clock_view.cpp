// SPDX-License-Identifier: Apache-2.0
#include "diagnose/match/clock_view.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cox/base/stats.hpp"

#include "diagnose/match/span_math.hpp"

namespace cox::diagnose {
namespace {

/// Operations that are looked at to align ends: enough for a median, cheap for any Run.
constexpr std::size_t kSampledOps = 256;
/// A clock that strays further than this from its own line is not compared with others.
constexpr Duration kWorstResidual = std::chrono::microseconds{50};

/// What a rank's clock is: the kernel and time namespace that keep it, else the node.
std::string domain_of(const trace::Run& run, const trace::RankTrack& track) {
  for (const trace::Node& node : run.nodes)
    if (node.id == track.node && !node.boot_id.empty()) {
      return "boot " + node.boot_id + " " + std::to_string(node.time_namespace);
    }
  return "node " + std::to_string(track.node.value());
}

/// Complete holding operations of the widest group, evenly spaced.
std::vector<std::size_t> sampled_cells(const Matching& m, const Group& group) {
  std::vector<std::int64_t> complete;
  const std::size_t n = group.members.size();
  const auto stride = std::max<std::int64_t>(1, group.ops / static_cast<std::int64_t>(2 * kSampledOps));
  for (std::int64_t op = 0; op < group.ops; op += stride) {
    bool all = model::synchronizes_all(m.ops[group.first_op + static_cast<std::size_t>(op)].kind);
    for (std::size_t k = 0; all && k < n; ++k) all = m.entry[group.cell(op, k)] != kUnknown;
    if (all) complete.push_back(op);
  }
  std::vector<std::size_t> cells;
  const std::size_t skip = std::max<std::size_t>(1, complete.size() / kSampledOps);
  for (std::size_t i = 0; i < complete.size(); i += skip) cells.push_back(group.cell(complete[i], 0));
  return cells;
}

/// Largest minus smallest of `times` after each rank's offset is taken away.
double spread(const std::vector<Duration>& times, std::size_t first, const std::vector<double>& offset) {
  double low = 0;
  double high = 0;
  for (std::size_t k = 0; k < offset.size(); ++k) {
    const double t = in_seconds(minus_clamped(times[first + k], times[first])) - offset[k];
    low = k == 0 ? t : std::min(low, t);
    high = k == 0 ? t : std::max(high, t);
  }
  return high - low;
}

/// Sum of the end spreads over that of the begin spreads, of the quarter with the widest begins.
double ratio_of_wide(const std::vector<double>& begins, const std::vector<double>& ends) {
  std::vector<std::size_t> order(begins.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return begins[a] > begins[b]; });
  order.resize((order.size() + 3) / 4);
  double begin = 0;
  double end = 0;
  for (const std::size_t i : order) {
    begin += begins[i];
    end += ends[i];
  }
  return begin > 0 ? std::min(1.0, end / begin) : 1;
}

/// Aligns the ends of the widest group's operations by a constant per rank, and tells what is left.
/// Source: end alignment, offset part only; an offset's error is about the end spread over sqrt(operations).
void align_ends(const Matching& m, ClockView& view) {
  const Group* widest = nullptr;
  for (const Group& group : m.groups)
    if (group.first_cell != kNoCells && (widest == nullptr || group.members.size() > widest->members.size()))
      widest = &group;
  if (widest == nullptr || widest->members.size() < 2) return;
  const std::vector<std::size_t> cells = sampled_cells(m, *widest);
  if (cells.empty()) return;
  std::vector<double> offset(widest->members.size(), 0);
  std::vector<double> sample;
  for (std::size_t k = 0; k < offset.size(); ++k) {
    sample.clear();
    for (const std::size_t first : cells)
      sample.push_back(in_seconds(minus_clamped(m.exit[first + k], m.exit[first])));
    offset[k] = median_in_place(sample);
  }
  std::vector<double> ends;
  std::vector<double> begins;
  for (const std::size_t first : cells) {
    ends.push_back(spread(m.exit, first, offset));
    begins.push_back(spread(m.entry, first, offset));
  }
  view.validity_of_wide = ratio_of_wide(begins, ends);
  const double end_spread = median_in_place(ends);
  const double begin_spread = median_in_place(begins);
  view.residual = std::max(view.residual, duration_from_seconds(end_spread));
  view.validity = begin_spread > 0 ? std::min(1.0, end_spread / begin_spread) : 1;
}

}  // namespace

ClockView look_at_clocks(const trace::Run& run, const Matching& m) {
  ClockView view;
  std::set<std::pair<std::string, trace::ClockKind>> domains;
  for (const trace::RankTrack& track : run.ranks) {
    domains.emplace(domain_of(run, track), track.clock.kind);
    view.residual = std::max(view.residual, track.clock.residual);
  }
  view.domains = static_cast<std::int64_t>(domains.size());
  // Calls of which only the durations are known leave together because they were placed so.
  const bool placed = run.times == trace::TimesKind::Durations;
  view.comparable = domains.size() <= 1 && view.residual <= kWorstResidual && !placed;
  if (!view.comparable && !placed) align_ends(m, view);
  return view;
}

}  // namespace cox::diagnose
