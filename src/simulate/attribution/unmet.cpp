// SPDX-License-Identifier: Apache-2.0
#include "simulate/attribution/unmet.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <variant>

namespace cox::simulate {
namespace {

/// Those on which a rank sits; where a rule or file may leave some of them free, all that it chooses from.
std::vector<int> nodes_of_job(const model::Scenario& s) {
  const model::Places& places = s.job.places;
  std::vector<int> nodes = places.nodes;
  if (nodes.empty()) {
    nodes.resize(static_cast<std::size_t>(std::max(0, s.cluster.nodes)));
    std::iota(nodes.begin(), nodes.end(), 0);
  }
  const auto* alone = std::get_if<model::CollectiveJob>(&s.job.work);
  if (alone == nullptr || alone->collective.ranks <= 0 || places.rule != model::PlaceRule::Packed)
    return nodes;
  const std::int64_t each = std::max(1, s.cluster.devices_per_node);
  const std::int64_t used = (alone->collective.ranks + each - 1) / each;
  nodes.resize(std::min(nodes.size(), static_cast<std::size_t>(used)));
  return nodes;
}

bool adds_in_switches(const model::Scenario& s) {
  const auto* alone = std::get_if<model::CollectiveJob>(&s.job.work);
  const auto* step = std::get_if<model::TrainingJob>(&s.job.work);
  const model::Algorithm algorithm = alone != nullptr  ? alone->collective.algorithm
                                     : step != nullptr ? step->collective.algorithm
                                                       : model::Algorithm::Ring;
  return algorithm == model::Algorithm::InNetwork;
}

}  // namespace

WhereItSits::WhereItSits(const model::Scenario& s) : fabric_(s.fabric), by_switches_(adds_in_switches(s)) {
  using enum model::Workload;
  const model::Workload w = s.job.workload();
  if (s.neighbours.empty() && (w == Collective || w == Training || w == Chakra)) nodes_ = nodes_of_job(s);
}

std::string WhereItSits::on_one_node() const {
  return nodes_.size() == 1 && !by_switches_ ? "all ranks are on one node" : "";
}

bool WhereItSits::within(int nodes) const {
  return !nodes_.empty() && nodes > 0 && !by_switches_ && fabric_.kind == model::FabricKind::FatTree &&
         std::ranges::all_of(nodes_, [&](int n) { return n / nodes == nodes_.front() / nodes; });
}

std::string WhereItSits::below_one_leaf() const {
  return within(fabric_.hosts_per_leaf) ? "all ranks are below one leaf switch" : "";
}

std::string WhereItSits::below_one_pod() const {
  return within(fabric_.hosts_per_leaf * fabric_.leaves_per_pod) ? "all ranks are in one pod" : "";
}

std::string WhereItSits::off(const model::NodeClass& of) const {
  const auto is_of = [&](int node) { return node >= of.first && node - of.first < of.count; };
  return nodes_.empty() || std::ranges::any_of(nodes_, is_of) ? "" : "no rank is on a node of the class";
}

}  // namespace cox::simulate
