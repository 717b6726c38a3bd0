// SPDX-License-Identifier: Apache-2.0
// Messages of one kind that meet at a network card of their node, and which of them are priced as if they did not.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "simulate/collective/shared_cards.hpp"
#include "simulate/training/plan/plan.hpp"

namespace cox::simulate::training {
/// Who uses each card; whether two did that are priced as if each were alone.
class Cards {
 public:
  explicit Cards(const model::Cluster& c)
      : cluster_(c),
        users_(static_cast<std::size_t>(c.nodes) * static_cast<std::size_t>(std::max(1, c.nics_per_node)),
               kNobody) {}

  void use(int device, int user) {
    int& now = users_[static_cast<std::size_t>(card_of(cluster_, device))];
    met_ = met_ || (now != kNobody && now != user);
    now = user;
  }
  /// A group. Around a ring only those next to another node leave theirs; of lists each member is one by itself.
  void use(const std::vector<int>& group, bool ring, bool lists, int user) {
    const int home = node_of(group.front());
    if (std::ranges::all_of(group, [&](int d) { return node_of(d) == home; })) return;
    for (std::size_t m = 0; m < group.size(); ++m) {
      const int next = group[(m + 1) % group.size()];
      if (!ring) {
        use(group[m], user + (lists ? static_cast<int>(m) : 0));
      } else if (node_of(group[m]) != node_of(next)) {
        use(group[m], user);
        use(next, user);
      }
    }
  }
  [[nodiscard]] bool met() const { return met_; }

 private:
  [[nodiscard]] int node_of(int device) const { return device / std::max(1, cluster_.devices_per_node); }

  static constexpr int kNobody = -1;
  const model::Cluster& cluster_;
  std::vector<int> users_;
  bool met_ = false;
};

std::string Plan::flow_does_it() const {
  if (scenario_.price != model::CollectivePrice::Rounds || scenario_.protocol == model::Protocol::LogGops)
    return "";
  return scenario_.protocol == model::Protocol::EagerGap ? " (cost.protocol = \"eager\" does it)"
                                                         : " (--engine flow does it)";
}

/// Where not all meet in a step, only sets of shards have collectives with neighbours that are known.
bool Plan::may_have_channels(const GroupCosts& group) const {
  return scenario_.policy.in_step() || &group == &costs(ReplicaGroup::Shards);
}

/// Of the groups of a kind, or of those within units.
void Plan::use_cards(ReplicaGroup of, Cards& cards) const {
  const bool exchange = of == ReplicaGroup::Experts;
  const auto made =
      schedule(exchange ? model::Collective::AllToAll : model::Collective::AllReduce, Bytes{}, of);
  if (!made) return;
  const bool ring = made->lanes() == 1 && made->spec().algorithm == model::Algorithm::Ring;
  const bool lists = has_lists(*made);
  int user = 0;
  for (int stage = 0; stage < stages(); ++stage)
    for (int group = 0; group < groups_.count(of); ++group)
      for (int at = 0; at < layout().context; at += groups_.ranks_of_member(of))
        for (int t = 0; t < layout().tensor; ++t) {
          std::vector<int> devices = members_of(of, group, stage, at);
          for (int& one : devices) one = device_of(one + t);
          cards.use(devices, ring, lists, user);
          user += static_cast<int>(devices.size());
        }
}

/// Messages of ranks to the same place of their next stage, each way.
bool Plan::stages_meet_at_cards() const {
  Cards out(scenario_.cluster), in(scenario_.cluster);
  const int next = stages() * ranks_per_unit();
  for (int rank = 0; rank < ranks(); ++rank) {
    const bool last = rank / ranks_per_unit() % stages() == stages() - 1;
    if (stages() == 1 || (last && chunks_ == 1)) continue;
    const int to = rank + ranks_per_unit() - (last ? next : 0);
    if (node_of(rank) == node_of(to)) continue;
    out.use(device_of(rank), rank);
    in.use(device_of(to), rank);
  }
  return out.met() || in.met();
}

/// Rounds of one group that meet at a card are priced (shared_ports.hpp), unless they are lists; those of two groups of a
/// kind, of two ranks that send to their next stage, and of workers without a common step are not.
bool Plan::meets_unpriced_at_cards() const {
  const model::Cluster& c = scenario_.cluster;
  const model::PolicySpec& policy = scenario_.policy;
  if (scenario_.price != model::CollectivePrice::Rounds || network_ || server_network_ || striped_ ||
      c.nodes == 1 || c.nics_per_node >= std::min(c.devices_per_node, ranks()))
    return false;
  if (policy.has_servers() || policy.backups > 0) return true;
  for (const ReplicaGroup of : kAllReplicaGroups) {
    if (!uses(of) || costs(of).members == 1) continue;
    Cards cards(c);
    use_cards(of, cards);
    if (cards.met()) return true;
  }
  Cards cards(c);
  for (int unit = 0; unit < units() && context_.members > 1; ++unit)
    for (int t = 0; t < layout().tensor; ++t) {
      std::vector<int> devices;
      for (int at = 0; at < layout().context; ++at)
        devices.push_back(device_of(unit * ranks_per_unit() + at * layout().tensor + t));
      cards.use(devices, job().collective.algorithm == model::Algorithm::Ring, false,
                unit * layout().tensor + t);
    }
  return cards.met() || stages_meet_at_cards();
}

}  // namespace cox::simulate::training
