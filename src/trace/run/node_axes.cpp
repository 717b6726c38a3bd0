// SPDX-License-Identifier: Apache-2.0
#include "trace/run/node_axes.hpp"

#include <fmt/format.h>

#include <map>
#include <string>

namespace cox::trace {
namespace {

bool is_simulated(const ProcessFile& p) {
  return p.launcher == name_of(Provenance::Simulated);
}

std::string clock_key(const ProcessFile& p) {
  // One clock, but its machines stay machines.
  if (is_simulated(p)) return "simulated " + p.host;
  // A container may have a time namespace of its own: another monotonic clock under the same kernel.
  return p.boot_id.empty() ? "host " + p.host : fmt::format("{} {}", p.boot_id, p.time_namespace);
}

std::int64_t median_of(std::vector<std::int64_t> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Processes of one machine share its monotonic clock.
NodeAxes place_on_nodes(const std::vector<ProcessFile>& processes) {
  NodeAxes out;
  std::map<std::string, NodeId> ids;
  std::vector<std::vector<std::int64_t>> offsets;
  std::vector<std::optional<Int128>> zero(processes.size());
  std::vector<std::optional<Int128>> base;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const ProcessFile& p = processes[i];
    const auto [at, fresh] = ids.emplace(clock_key(p), NodeId{static_cast<std::int32_t>(out.nodes.size())});
    if (fresh) {
      out.nodes.push_back(
          {.id = at->second, .host = p.host, .boot_id = p.boot_id, .time_namespace = p.time_namespace});
      offsets.emplace_back();
      base.emplace_back();
    }
    const auto node = static_cast<std::size_t>(at->second.value());
    out.processes.push_back({.node = node, .zero = std::nullopt});
    if (p.realtime_offset_ns) offsets[node].push_back(*p.realtime_offset_ns);
    if (!p.aligned) continue;
    zero[i] = Int128{p.reference_ns} * 1000 + p.reference_fraction.count();
    if (!base[node] || *zero[i] < *base[node]) base[node] = zero[i];
  }
  for (const auto& of_node : offsets)
    out.realtime_offset_ns.push_back(of_node.empty() ? std::nullopt : std::optional(median_of(of_node)));
  for (const auto& b : base) out.base_ps.push_back(b.value_or(0));
  for (std::size_t i = 0; i < processes.size(); ++i) {
    if (!zero[i]) continue;
    const Int128 from_base = *zero[i] - out.base_ps[out.processes[i].node];
    if (from_base <= kLatestPs) out.processes[i].zero = Duration{static_cast<std::int64_t>(from_base)};
  }
  return out;
}

/// Puts nodes side by side: by what their ranks did together, where they did nothing
/// together by their realtime clocks.
void put_side_by_side(const std::vector<ProcessFile>& processes, const MatchedCommunicators& communicators,
                      int threads, NodeAxes& placed) {
  const std::size_t n = placed.nodes.size();
  // A simulation has one clock, however many machines it speaks of.
  const bool simulated =
      std::any_of(processes.begin(), processes.end(), [](const ProcessFile& p) { return is_simulated(p); });
  placed.clocks =
      estimate_host_clocks(processes, placed.processes, communicators, simulated ? 0 : n, threads);
  for (std::size_t i = placed.clocks.size(); i < n; ++i) placed.clocks.emplace_back().root = i;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t root = placed.clocks[i].root;
    const auto own = placed.realtime_offset_ns[root];
    const auto first = placed.realtime_offset_ns[0];
    std::optional<Int128> start;
    if (root == 0)
      start = placed.base_ps[0];
    else if (own && first)
      start = placed.base_ps[root] + (Int128{*own} - *first) * 1000;
    placed.start_ps.push_back(start);
    ClockSource& source = placed.nodes[i].clock.source;
    if (root != i)
      source = ClockSource::Collectives;
    else if (i > 0 && !simulated)
      source = start ? ClockSource::Realtime : ClockSource::Unknown;
  }
}

}  // namespace

NodeAxes place_nodes(const std::vector<ProcessFile>& processes, const MatchedCommunicators& communicators,
                     int threads) {
  NodeAxes placed = place_on_nodes(processes);
  put_side_by_side(processes, communicators, threads, placed);
  return placed;
}

std::optional<Int128> earliest(const std::vector<ProcessFile>& processes, const NodeAxes& placed) {
  std::optional<Int128> first_event;
  std::optional<Int128> first_sample;  // or activity, of a job without an event
  const auto take = [](std::optional<Int128>& best, Int128 t) { best = best ? std::min(*best, t) : t; };
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const Mover move(placed, i, 0);
    if (!move.known()) continue;
    const ProcessFile& p = processes[i];
    if (p.events.size() > 0) take(first_event, move(p.events.begin.front()));
    if (!p.samples.empty()) take(first_sample, move(p.samples.front().at));
    if (p.activities.size() > 0) take(first_sample, move(p.activities.begin.front()));
  }
  return first_event ? first_event : first_sample;
}

std::optional<Int128> clock_at_origin(const NodeAxes& placed, std::size_t i, Int128 origin) {
  if (!placed.start_ps[i]) return std::nullopt;
  const Int128 at = std::clamp<Int128>(origin - *placed.start_ps[i], -kLatestPs, kLatestPs);
  const ClockLine& correction = placed.clocks[i].correction;
  Duration local{static_cast<std::int64_t>(at)};
  // The correction hardly changes over its own length: twice is exact.
  for (int round = 0; round < 2 && !correction.knots().empty(); ++round)
    local = Duration{static_cast<std::int64_t>(
        std::clamp<Int128>(at - correction.at(local).count(), -kLatestPs, kLatestPs))};
  return placed.base_ps[i] + local.count();
}

void describe_clock(const NodeAxes& placed, std::size_t i, Int128 origin, NodeClock& out) {
  const HostClock& clock = placed.clocks[i];
  if (out.source == ClockSource::Shared) return;
  out.against = NodeId{static_cast<std::int32_t>(clock.root)};
  out.operations = static_cast<std::int64_t>(clock.samples);
  out.residual = clock.residual;
  out.half_width = clock.half_width;
  out.drift_error_ppm = clock.drift_error * 1e6;
  const double slope = clock.correction.slope();
  if (slope != 0) out.drift_ppm = -slope / (1 + slope) * 1e6;
  const auto shown = clock_at_origin(placed, i, origin);
  if (!shown) return;
  const Int128 ns = (*shown - origin) / 1000;
  out.offset = Nanoseconds{static_cast<std::int64_t>(std::clamp<Int128>(ns, INT64_MIN, INT64_MAX))};
}

}  // namespace cox::trace
