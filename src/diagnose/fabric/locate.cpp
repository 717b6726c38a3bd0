// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "cox/base/stats.hpp"

#include "diagnose/fabric/pass.hpp"

namespace cox::diagnose {
namespace {

/// A component may be part of so few fast groups and still explain the slow ones: one in this many.
constexpr std::size_t kFastAmong = 10;
constexpr std::size_t kLargestSet = 3;
constexpr std::size_t kMostCandidates = 64;
constexpr std::size_t kMostAlternatives = 16;

/// Where a rank's port is.
struct Port {
  NodeId host;
  LocalRank local;
  auto operator<=>(const Port&) const = default;
};

/// Local ranks as told; by their order on the node where several say the same.
std::map<Rank, Port> ports_of(const Matched& matched) {
  std::map<NodeId, std::vector<const trace::RankTrack*>> nodes;
  for (const trace::RankTrack& track : matched.tracks()) nodes[track.node].push_back(&track);
  std::map<Rank, Port> ports;
  for (const auto& [node, tracks] : nodes) {
    std::set<LocalRank> distinct;
    for (const auto* track : tracks) distinct.insert(track->local_rank);
    for (std::size_t i = 0; i < tracks.size(); ++i)
      ports[tracks[i]->rank] = {
          node, distinct.size() == tracks.size() ? tracks[i]->local_rank : LocalRank{static_cast<int>(i)}};
  }
  return ports;
}

std::string host_name(const Matched& matched, NodeId id) {
  for (const trace::Node& node : matched.nodes())
    if (node.id == id && !node.host.empty()) return node.host;
  return fmt::format("node {}", id.value());
}

class Locator {
 public:
  Locator(const Matched& matched, std::vector<GroupTransfer> groups)
      : matched_(matched), ports_(ports_of(matched)) {
    out_.groups = std::move(groups);
  }

  Fabric locate() {
    std::vector<double> ratios;
    bool comparable = false;
    for (const GroupTransfer& g : out_.groups) {
      if (g.hosts < 2) continue;
      ++out_.crossing;
      if (g.slow_ratio <= 0) continue;
      comparable = true;
      (g.slow() ? slow_ : fast_).push_back(&g);
      if (!g.slow()) continue;
      out_.slow_groups.push_back(g.comm);
      ratios.push_back(std::max(g.slow_ratio, 1 + g.dip_ratio * (g.dip_depth - 1)));
    }
    if (out_.crossing == 0) return std::move(out_);
    out_.verdict = !comparable ? FabricVerdict::Alone : FabricVerdict::Healthy;
    if (slow_.empty()) return std::move(out_);
    out_.slow_ratio = median(ratios);
    collect_candidates();
    find_smallest();
    return std::move(out_);
  }

 private:
  struct Candidate {
    Component component;
    std::vector<std::size_t> slow;  ///< indices into slow_, ascending
    std::size_t fast = 0;
  };

  [[nodiscard]] Component make(ComponentKind kind, std::vector<NodeId> hosts,
                               std::vector<LocalRank> local) const {
    Component c{kind, std::move(hosts), {}, std::move(local)};
    for (const NodeId host : c.hosts) c.host_names.push_back(host_name(matched_, host));
    return c;
  }

  /// Everything between hosts that a group's transfers use for certain.
  [[nodiscard]] std::vector<Component> used_by(const GroupTransfer& g) const {
    std::set<Port> ports;
    std::set<NodeId> hosts;
    std::set<LocalRank> rails;
    for (const Rank r : g.ranks) {
      const Port& port = ports_.at(r);
      ports.insert(port);
      hosts.insert(port.host);
      rails.insert(port.local);
    }
    std::vector<Component> used;
    used.reserve(hosts.size());
    for (const NodeId host : hosts) used.push_back(make(ComponentKind::Host, {host}, {}));
    if (hosts.size() == 2)
      used.push_back(make(ComponentKind::HostPair, {*hosts.begin(), *hosts.rbegin()}, {}));
    for (const Port& p : ports) used.push_back(make(ComponentKind::Nic, {p.host}, {p.local}));
    if (ports.size() == 2) {
      const Port& a = *ports.begin();
      const Port& b = *ports.rbegin();
      used.push_back(make(ComponentKind::Link, {a.host, b.host}, {a.local, b.local}));
    }
    for (const LocalRank l : rails) used.push_back(make(ComponentKind::Rail, {}, {l}));
    return used;
  }

  using Key = std::tuple<ComponentKind, std::vector<NodeId>, std::vector<LocalRank>>;
  static Key key_of(const Component& c) { return {c.kind, c.hosts, c.local}; }

  void collect_candidates() {
    std::map<Key, Candidate> all;
    for (std::size_t i = 0; i < slow_.size(); ++i)
      for (Component& c : used_by(*slow_[i])) {
        Candidate& candidate = all[key_of(c)];
        candidate.component = std::move(c);
        candidate.slow.push_back(i);
      }
    for (const GroupTransfer* g : fast_)
      for (const Component& c : used_by(*g))
        if (const auto at = all.find(key_of(c)); at != all.end()) ++at->second.fast;
    for (auto& [key, candidate] : all)
      if (candidate.fast * kFastAmong <= candidate.slow.size() + candidate.fast)
        candidates_.push_back(std::move(candidate));
    drop_weaker();
  }

  static bool covers(const Candidate& a, const Candidate& b) {
    return std::includes(a.slow.begin(), a.slow.end(), b.slow.begin(), b.slow.end());
  }

  /// What explains less than another one explains nothing that the other does not; of two that explain the
  /// same, a part of the other says nothing more.
  void drop_weaker() {
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const Candidate& a, const Candidate& b) { return a.slow.size() > b.slow.size(); });
    std::vector<Candidate> kept;
    for (Candidate& c : candidates_) {
      const bool weaker = std::any_of(kept.begin(), kept.end(), [&](const Candidate& k) {
        return covers(k, c) && (k.slow.size() > c.slow.size() || is_part(c.component, k.component));
      });
      if (weaker || kept.size() >= kMostCandidates) continue;
      kept.push_back(std::move(c));
    }
    candidates_ = std::move(kept);
  }

  /// The only port of a host is the host as far as anybody can tell; likewise the only link of two hosts. A
  /// port of a rail is not: either may be broken.
  static bool is_part(const Component& part, const Component& whole) {
    if (part.kind == ComponentKind::Nic && whole.kind == ComponentKind::Host)
      return part.hosts == whole.hosts;
    if (part.kind == ComponentKind::Link && whole.kind == ComponentKind::HostPair)
      return part.hosts == whole.hosts;
    return false;
  }

  void find_smallest() {
    std::vector<std::size_t> chosen;
    for (std::size_t size = 1; size <= kLargestSet && found_.empty(); ++size) choose(0, size, chosen);
    if (found_.empty()) {
      out_.verdict = FabricVerdict::Unexplained;
      return;
    }
    if (found_.size() > 1) {
      out_.verdict = FabricVerdict::Ambiguous;
      out_.alternatives = std::move(found_);
      return;
    }
    out_.components = std::move(found_.front());
    out_.verdict = FabricVerdict::Located;
    test_members();
  }

  /// All sets of `left` more candidates that cover what is not covered yet:
  /// each must hold the first uncovered.
  void choose(std::size_t depth, std::size_t left, std::vector<std::size_t>& chosen) {
    const std::size_t open = first_uncovered(chosen);
    if (open == slow_.size()) {
      std::vector<Component> set;
      std::vector<std::size_t> sorted = chosen;
      std::sort(sorted.begin(), sorted.end());
      set.reserve(sorted.size());
      for (const std::size_t c : sorted) set.push_back(candidates_[c].component);
      if (found_.size() < kMostAlternatives && std::find(found_.begin(), found_.end(), set) == found_.end())
        found_.push_back(std::move(set));
      return;
    }
    if (left == 0 || depth >= kLargestSet) return;
    for (std::size_t c = 0; c < candidates_.size(); ++c) {
      if (!std::binary_search(candidates_[c].slow.begin(), candidates_[c].slow.end(), open)) continue;
      chosen.push_back(c);
      choose(depth + 1, left - 1, chosen);
      chosen.pop_back();
    }
  }

  [[nodiscard]] std::size_t first_uncovered(const std::vector<std::size_t>& chosen) const {
    std::vector<bool> covered(slow_.size(), false);
    for (const std::size_t c : chosen)
      for (const std::size_t g : candidates_[c].slow) covered[g] = true;
    return static_cast<std::size_t>(std::find(covered.begin(), covered.end(), false) - covered.begin());
  }

  /// A rank or host that is as slow with its neighbours on the host has nothing against it that the fabric
  /// could have done.
  void test_members() {
    out_.member_test = MemberTest::NoData;
    std::size_t slow = 0;
    std::size_t tested = 0;
    for (const GroupTransfer& g : out_.groups) {
      if (g.hosts != 1 || g.slow_ratio <= 0 || !concerns(g)) continue;
      ++tested;
      slow += g.slow();
    }
    if (tested == 0) return;
    out_.member_test = 2 * slow >= tested ? MemberTest::Supported : MemberTest::Refuted;
    if (out_.member_test == MemberTest::Refuted) return;
    out_.verdict = FabricVerdict::SlowMember;
    for (const auto& [rank, port] : ports_)
      if (std::any_of(out_.components.begin(), out_.components.end(),
                      [&, &p = port](const Component& c) { return holds(c, p); }))
        out_.slow_members.push_back(rank);
  }

  static bool holds(const Component& c, const Port& p) {
    if (c.kind == ComponentKind::Rail) return c.local.front() == p.local;
    for (std::size_t i = 0; i < c.hosts.size(); ++i)
      if (c.hosts[i] == p.host && (c.local.empty() || c.local[i] == p.local)) return true;
    return false;
  }

  [[nodiscard]] bool concerns(const GroupTransfer& g) const {
    return std::any_of(g.ranks.begin(), g.ranks.end(), [&](Rank r) {
      return std::any_of(out_.components.begin(), out_.components.end(),
                         [&](const Component& c) { return holds(c, ports_.at(r)); });
    });
  }

  const Matched& matched_;
  std::map<Rank, Port> ports_;
  Fabric out_;
  std::vector<const GroupTransfer*> slow_;
  std::vector<const GroupTransfer*> fast_;
  std::vector<Candidate> candidates_;
  std::vector<std::vector<Component>> found_;
};

}  // namespace

Fabric locate_slow(const Matched& matched, std::vector<GroupTransfer> groups) {
  return Locator(matched, std::move(groups)).locate();
}

}  // namespace cox::diagnose
