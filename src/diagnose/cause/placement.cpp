// SPDX-License-Identifier: Apache-2.0
#include "diagnose/cause/placement.hpp"

#include <algorithm>

namespace cox::diagnose {
namespace {

/// Ranks of all hosts for which something holds.
template <class List>
std::vector<Rank> over_hosts(std::span<const NodeLocality> hosts, const List& list) {
  std::vector<Rank> all;
  for (const NodeLocality& host : hosts) all.insert(all.end(), list(host).begin(), list(host).end());
  return all;
}

bool has(std::span<const Rank> ranks, Rank rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

/// Whether it holds for the late ranks, and for nobody but ranks that are named.
CauseTestState theirs_alone(std::span<const Rank> late, std::span<const Rank> named,
                            std::span<const Rank> ranks) {
  const bool theirs = std::all_of(late.begin(), late.end(), [&](Rank r) { return has(ranks, r); });
  const bool alone = std::all_of(ranks.begin(), ranks.end(), [&](Rank r) { return has(named, r); });
  return theirs && alone ? CauseTestState::Fired : CauseTestState::NotFired;
}

/// Asks about one kind of device, where the hosts of the late ranks say where theirs are.
void ask_distance(std::span<const Rank> late, std::span<const Rank> named,
                  std::span<const NodeLocality> hosts, DeviceNodes NodeLocality::*devices, const char* what,
                  Binding& out) {
  const NodeLocality* where = nullptr;
  for (const NodeLocality& host : hosts) {
    const bool concerned = std::any_of(late.begin(), late.end(), [&](Rank r) { return has(host.known, r); });
    if (!concerned) continue;
    if ((host.*devices).nodes.empty()) return;
    if (where == nullptr) where = &host;
  }
  if (where == nullptr) return;
  out.far = theirs_alone(
      late, named, over_hosts(hosts, [&](const NodeLocality& h) -> auto& { return (h.*devices).away; }));
  if (out.far != CauseTestState::Fired) return;
  out.device = what;
  out.host = where->host;
  out.device_nodes = (where->*devices).nodes;
}

}  // namespace

std::optional<Binding> find_placement(std::span<const Rank> late, std::span<const Rank> named,
                                      std::span<const NodeLocality> hosts, bool several_hosts) {
  const auto known = over_hosts(hosts, [](const NodeLocality& h) -> auto& { return h.known; });
  const bool late_known =
      !late.empty() && std::all_of(late.begin(), late.end(), [&](Rank r) { return has(known, r); });
  const bool others_known = std::any_of(known.begin(), known.end(), [&](Rank r) { return !has(named, r); });
  if (!late_known || !others_known) return std::nullopt;
  Binding out;
  ask_distance(late, named, hosts, &NodeLocality::gpus, "GPUs", out);
  if (several_hosts && out.far != CauseTestState::Fired)
    ask_distance(late, named, hosts, &NodeLocality::ports, "network ports", out);
  out.shared =
      theirs_alone(late, named, over_hosts(hosts, [](const NodeLocality& h) -> auto& { return h.sharing; }));
  return out;
}

}  // namespace cox::diagnose
