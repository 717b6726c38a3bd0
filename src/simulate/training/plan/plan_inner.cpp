// SPDX-License-Identifier: Apache-2.0
// Whether what the ranks of a unit exchange meets other messages on a link.
#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "simulate/training/plan/plan.hpp"

namespace cox::simulate::training {

bool Plan::inner_spans_nodes() const {
  for (int r = 0; r < ranks(); ++r)
    if (node_of(r) != node_of(r - r % ranks_per_unit())) return true;
  return false;
}

/// Groups that leave their node share its cards and the links behind them, at least with each other. One inside has
/// the ports of its devices for itself, unless replicas or stages that send to each other sit in that node, too, the
/// way inside is the one to the card, or the unit's own ranks sum gradients there: those of context groups do.
bool Plan::inner_would_meet() const {
  const bool sends =
      std::ranges::any_of(job().layers, [](const model::Layer& l) { return l.activations > Bytes{}; });
  if (ranks_per_unit() == 1 || !sends) return false;
  if (inner_spans_nodes() || layout().context > 1) return true;
  if (units() > 1 && scenario_.cluster.scale_up.bandwidth <= Bandwidth{}) return true;
  std::set<std::pair<int, int>> stages_of, replicas_of;  // of a node
  for (int d = 0; d < layout().data; ++d)
    for (int s = 0; s < stages(); ++s) {
      const int node = node_of(rank_of(d, s, 0));
      if (!stages_of.emplace(node, s).second || !replicas_of.emplace(node, d).second) return true;
    }
  return false;
}

bool Plan::inner_meets_others() const {
  return network_ != nullptr && inner_would_meet();
}

/// Of a step, about: two all-reduces of a layer in each direction, three exchanges of context ranks.
double Plan::inner_messages() const {
  const double t = layout().tensor;
  const double c = layout().context;
  const double layer = 4 * 2 * (t - 1) * t * c + 3 * (c - 1) * c * t;
  return layer * static_cast<double>(job().layers.size()) * job().micro_batches * layout().data;
}

Result<model::Schedule> Plan::inner_schedule(const InnerCollective& c) const {
  const GroupCosts& group = c.kind == model::Collective::AllReduce ? tensor_ : context_;
  return schedule(spec(c.kind, c.bytes, group.members, group.per_node));
}

std::optional<model::LookedUp> Plan::inner_dips(bool tensor, Bytes bytes) const {
  const GroupCosts& group = tensor ? tensor_ : context_;
  if (!dips() || group.members == 1) return std::nullopt;
  const auto kind = tensor ? model::Collective::AllReduce : model::Collective::AllGather;
  const std::optional<model::LookedUp> found = whole(kind, bytes, group, group.members);
  return found && found->probability > 0 ? found : std::nullopt;
}

}  // namespace cox::simulate::training
