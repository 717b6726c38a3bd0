// SPDX-License-Identifier: Apache-2.0
#include "diagnose/charge/activities.hpp"

#include <algorithm>
#include <array>

#include "diagnose/match/span_math.hpp"

namespace cox::diagnose {
namespace {

using trace::ActivityKind;
using trace::PhaseKind;

/// The device first: what runs there sets the pace, and what the host does meanwhile costs nothing. While it
/// stands still, the host's doing that explains most comes first.
constexpr std::array<ActivityKind, 8> kActivityOrder = {
    ActivityKind::Kernel,     ActivityKind::Copy,     ActivityKind::Gc,     ActivityKind::DataLoad,
    ActivityKind::Allocation, ActivityKind::HostSync, ActivityKind::Launch, ActivityKind::HostOp};
constexpr std::array<std::pair<PhaseKind, const char*>, 5> kPhaseOrder = {
    {{PhaseKind::Data, "data"},
     {PhaseKind::Evaluation, "evaluation"},
     {PhaseKind::Optimizer, "optimizer"},
     {PhaseKind::Backward, "backward"},
     {PhaseKind::Forward, "forward"}}};

/// Begin or end of a span of a class.
struct Edge {
  Duration at{};
  std::uint8_t kind = 0;
  std::int8_t change = 0;
};

void add_span(std::vector<Edge>& edges, Duration begin, Duration end, std::size_t kind) {
  if (end <= begin || end == trace::kStillRunning) return;
  edges.push_back({begin, static_cast<std::uint8_t>(kind), 1});
  edges.push_back({end, static_cast<std::uint8_t>(kind), -1});
}

std::vector<Edge> edges_of(const trace::ActivityColumns& a) {
  std::vector<Edge> edges;
  edges.reserve(2 * a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto at = std::find(kActivityOrder.begin(), kActivityOrder.end(), a.kind[i]);
    if (at != kActivityOrder.end())
      add_span(edges, a.begin[i], a.end[i], static_cast<std::size_t>(at - kActivityOrder.begin()));
  }
  return edges;
}

std::vector<Edge> edges_of(const trace::EventColumns& e) {
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < e.size(); ++i) {
    if (e.kind[i] != trace::EventKind::Phase) continue;
    const auto at = std::find_if(kPhaseOrder.begin(), kPhaseOrder.end(),
                                 [&](const auto& p) { return p.first == static_cast<PhaseKind>(e.op[i]); });
    if (at != kPhaseOrder.end())
      add_span(edges, e.begin[i], e.end[i], static_cast<std::size_t>(at - kPhaseOrder.begin()));
  }
  return edges;
}

}  // namespace

ActivityScheme::ActivityScheme(const Matched& matched) {
  const auto tracks = matched.tracks();
  const auto& scans = matched.scans();
  const bool activities = std::all_of(tracks.begin(), tracks.end(),
                                      [](const trace::RankTrack& t) { return t.activities.size() > 0; });
  if (activities && !tracks.empty()) {
    from_ = From::Activities;
    names_.clear();
    for (const ActivityKind kind : kActivityOrder) names_.emplace_back(trace::name_of(kind));
    names_.emplace_back("idle");
    return;
  }
  if (scans.empty() ||
      !std::all_of(scans.begin(), scans.end(), [](const RankScan& s) { return s.has_phases; }))
    return;
  from_ = From::Phases;
  names_.clear();
  for (const auto& [kind, name] : kPhaseOrder) names_.emplace_back(name);
  names_.emplace_back("outside_phases");
}

std::vector<Duration> ActivityScheme::divide(const trace::RankTrack& track,
                                             const std::vector<std::pair<Duration, Duration>>& gaps) const {
  const std::size_t classes = names_.size();
  std::vector<Duration> out(gaps.size() * classes, Duration::zero());
  std::vector<Edge> edges;
  if (from_ == From::Activities) edges = edges_of(track.activities);
  if (from_ == From::Phases) edges = edges_of(track.events);
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });

  std::vector<std::int64_t> open(classes, 0);
  std::size_t next = 0;
  for (std::size_t g = 0; g < gaps.size(); ++g) {
    Duration at = gaps[g].first;
    while (at < gaps[g].second) {
      for (; next < edges.size() && edges[next].at <= at; ++next)
        open[edges[next].kind] += edges[next].change;
      const Duration to = next < edges.size() ? std::min(edges[next].at, gaps[g].second) : gaps[g].second;
      std::size_t kind = 0;
      while (kind + 1 < classes && open[kind] <= 0) ++kind;
      add_to(out[g * classes + kind], minus_clamped(to, at));
      at = to;
    }
  }
  return out;
}

}  // namespace cox::diagnose
