// SPDX-License-Identifier: Apache-2.0
#include "trace/run/host_clocks.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <unordered_map>
#include <utility>

#include "cox/base/parallel.hpp"

namespace cox::trace {
namespace {

constexpr std::size_t kCells = 3'000'000;  // operations times nodes that are kept at once: 48 MB
constexpr std::size_t kFewestOps = 256;
constexpr std::size_t kMostOps = 16384;

/// One side of an operation: the last entry and the first exit among a node's members.
struct Side {
  Duration entry = Duration::min();
  Duration exit = Duration::max();
};

/// A communicator whose members are on more than one node.
struct Spanning {
  std::vector<std::size_t> nodes;                      // sorted
  std::size_t calls = 0;                               // of the member with most
  std::size_t stride = 1;                              // every so many operations are looked at
  std::size_t most = 0;                                // operations
  std::unordered_map<std::uint32_t, std::size_t> row;  // sequence number to row
  std::vector<std::uint8_t> kind;                      // per row; 0 = members disagree
  std::vector<Side> sides;                             // [row][node]
};

constexpr Duration kFarthest = std::chrono::hours{3 * 24};  // from a host's first process to its others

Duration add_saturated(Duration a, Duration b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a.count(), b.count(), &sum))
    return a.count() < 0 ? Duration::min() : Duration::max();
  return Duration{sum};
}

/// Whether the event is one that holds all members: no root, nothing that only starts,
/// no sizes that may be zero.
bool holds_all(const EventColumns& e, std::size_t i) {
  if (e.kind[i] != EventKind::Collective || e.end[i] == kStillRunning) return false;
  if ((e.flags[i] & (kNonBlocking | kRooted | kVariable)) != 0) return false;
  const model::Collective op = e.collective(i);
  return model::synchronizes_all(op) && (op == model::Collective::Barrier || e.bytes[i] > Bytes{0});
}

class Collector {
 public:
  Collector(const std::vector<ProcessFile>& processes, const std::vector<ClockedProcess>& clocked,
            const MatchedCommunicators& communicators)
      : processes_(processes), clocked_(clocked), communicators_(communicators) {
    find_spanning();
    for (std::size_t p = 0; p < processes.size(); ++p) count_calls(p);
    for (auto& [id, s] : spanning_) {
      s.most = std::clamp(kCells / s.nodes.size() / spanning_.size(), kFewestOps, kMostOps);
      s.stride = std::max<std::size_t>(1, (s.calls + s.most - 1) / s.most);
    }
    for (std::size_t p = 0; p < processes.size(); ++p) collect(p);
  }

  /// Samples by pair of nodes, the lower one first.
  [[nodiscard]] std::map<std::pair<std::size_t, std::size_t>, std::vector<LinkSample>> links() const {
    std::map<std::pair<std::size_t, std::size_t>, std::vector<LinkSample>> out;
    for (const auto& [id, s] : spanning_) {
      for (std::size_t slot = 1; slot < s.nodes.size(); ++slot) {
        auto& samples = out[{s.nodes[0], s.nodes[slot]}];
        for (std::size_t row = 0; row < s.kind.size(); ++row) {
          const Side& here = s.sides[row * s.nodes.size()];
          const Side& there = s.sides[row * s.nodes.size() + slot];
          if (s.kind[row] == 0 || here.exit == Duration::max() || there.exit == Duration::max()) continue;
          // Runs begin on all hosts together: what is days apart is garbage, and would overflow.
          if (here.exit - there.exit > kFarthest || there.exit - here.exit > kFarthest) continue;
          samples.push_back({.at = here.exit,
                             .upper = there.exit - here.entry,
                             .lower = there.entry - here.exit,
                             .exits = there.exit - here.exit});
        }
      }
    }
    return out;
  }

 private:
  [[nodiscard]] bool usable(std::size_t p) const {
    return clocked_[p].zero && *clocked_[p].zero <= kFarthest && *clocked_[p].zero >= -kFarthest;
  }

  void find_spanning() {
    for (std::size_t p = 0; p < processes_.size(); ++p) {
      if (!usable(p)) continue;
      for (const auto& [number, id] : communicators_.local[p]) all_[id].push_back(clocked_[p].node);
    }
    for (auto& [id, nodes] : all_) {
      std::sort(nodes.begin(), nodes.end());
      nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
      if (nodes.size() > 1) spanning_[id].nodes = std::move(nodes);
    }
  }

  /// The communicator of an event, if it spans nodes. Events of one communicator come in rows.
  class Finder {
   public:
    Finder(Collector& owner, std::size_t process)
        : owner_(owner), names_(owner.communicators_.local[process]) {}
    Spanning* operator()(CommId local) {
      if (local == last_) return found_;
      last_ = local;
      found_ = nullptr;
      const auto name = names_.find(static_cast<std::uint32_t>(local.value()));
      if (local == kNoComm || name == names_.end()) return nullptr;
      const auto at = owner_.spanning_.find(name->second);
      if (at != owner_.spanning_.end()) found_ = &at->second;
      return found_;
    }

   private:
    Collector& owner_;
    const std::unordered_map<std::uint32_t, CommId>& names_;
    CommId last_ = kNoComm;
    Spanning* found_ = nullptr;
  };

  void count_calls(std::size_t p) {
    if (!usable(p)) return;
    const EventColumns& e = processes_[p].events;
    std::map<Spanning*, std::size_t> calls;
    Finder find(*this, p);
    Spanning* last = nullptr;
    std::size_t run = 0;
    for (std::size_t i = 0; i < e.size(); ++i) {
      if (e.kind[i] != EventKind::Collective) continue;
      Spanning* s = find(e.comm[i]);
      if (s != last) {
        if (last != nullptr) calls[last] += run;
        last = s;
        run = 0;
      }
      ++run;
    }
    if (last != nullptr) calls[last] += run;
    for (const auto& [s, n] : calls) s->calls = std::max(s->calls, n);
  }

  void collect(std::size_t p) {
    if (!usable(p)) return;
    const EventColumns& e = processes_[p].events;
    const Duration zero = *clocked_[p].zero;
    Finder find(*this, p);
    for (std::size_t i = 0; i < e.size(); ++i) {
      if (!holds_all(e, i)) continue;
      Spanning* s = find(e.comm[i]);
      if (s == nullptr || e.seq[i] % s->stride != 0) continue;
      auto at = s->row.find(e.seq[i]);
      if (at == s->row.end()) {
        if (s->kind.size() >= 2 * s->most) continue;
        at = s->row.emplace(e.seq[i], s->kind.size()).first;
        s->kind.push_back(e.op[i]);
        s->sides.resize(s->sides.size() + s->nodes.size());
      }
      if (s->kind[at->second] != e.op[i]) s->kind[at->second] = 0;
      const auto slot =
          std::lower_bound(s->nodes.begin(), s->nodes.end(), clocked_[p].node) - s->nodes.begin();
      Side& side = s->sides[at->second * s->nodes.size() + static_cast<std::size_t>(slot)];
      side.entry = std::max(side.entry, zero + e.begin[i]);
      side.exit = std::min(side.exit, zero + e.end[i]);
    }
  }

  const std::vector<ProcessFile>& processes_;
  const std::vector<ClockedProcess>& clocked_;
  const MatchedCommunicators& communicators_;
  std::map<CommId, std::vector<std::size_t>> all_;
  std::map<CommId, Spanning> spanning_;
};

struct Link {
  std::size_t first = 0;
  std::size_t second = 0;
  LinkFit fit;
  [[nodiscard]] Duration cost() const {
    return add_saturated(fit.residual, std::min(fit.half_width, 4 * std::min(fit.residual, kFarthest)));
  }
};

/// The clock at the far end of a link from the one at the near end.
HostClock across(const HostClock& near, const Link& link, bool forward) {
  HostClock far;
  far.root = near.root;
  far.residual = add_saturated(near.residual, link.fit.residual);
  far.half_width = add_saturated(near.half_width, link.fit.half_width);
  far.drift_error = std::hypot(near.drift_error, link.fit.drift_error);
  far.samples = link.fit.samples;
  std::vector<ClockLine::Knot> knots;
  for (const ClockLine::Knot& k : link.fit.offset.knots()) {
    const Duration there = add_saturated(k.at, k.value);  // the same moment on the second node's axis
    if (forward)
      knots.push_back({there, add_saturated(near.correction.at(k.at), -k.value)});
    else
      knots.push_back({k.at, add_saturated(near.correction.at(there), k.value)});
  }
  far.correction = ClockLine(std::move(knots));
  return far;
}

/// Goes from `root` to all that it is connected with, over the best links first.
void spread(std::size_t root, const std::vector<Link>& links,
            const std::vector<std::vector<std::size_t>>& of_node, std::vector<bool>& known,
            std::vector<HostClock>& clocks) {
  using Step = std::pair<Duration, std::size_t>;  // cost, link
  std::priority_queue<Step, std::vector<Step>, std::greater<>> open;
  const auto enter = [&](std::size_t node) {
    known[node] = true;
    for (const std::size_t l : of_node[node]) open.emplace(links[l].cost(), l);
  };
  clocks[root].root = root;
  enter(root);
  while (!open.empty()) {
    const Link& link = links[open.top().second];
    open.pop();
    if (known[link.first] == known[link.second]) continue;
    const bool forward = known[link.first];
    const std::size_t far = forward ? link.second : link.first;
    clocks[far] = across(clocks[forward ? link.first : link.second], link, forward);
    enter(far);
  }
}

}  // namespace

std::vector<HostClock> estimate_host_clocks(const std::vector<ProcessFile>& processes,
                                            const std::vector<ClockedProcess>& clocked,
                                            const MatchedCommunicators& communicators, std::size_t nodes,
                                            int threads) {
  std::vector<HostClock> clocks(nodes);
  for (std::size_t n = 0; n < nodes; ++n) clocks[n].root = n;
  if (nodes < 2) return clocks;
  auto collected = Collector(processes, clocked, communicators).links();
  std::vector<Link> links;
  std::vector<std::vector<LinkSample>*> samples;
  for (auto& [pair, list] : collected) {
    links.push_back({.first = pair.first, .second = pair.second, .fit = {}});
    samples.push_back(&list);
  }
  std::vector<std::uint8_t> good(links.size());
  parallel_for(links.size(), threads, [&](std::size_t i) {
    if (auto fit = fit_link(std::move(*samples[i]))) {
      links[i].fit = *std::move(fit);
      good[i] = 1;
    }
  });
  std::vector<std::vector<std::size_t>> of_node(nodes);
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (good[i] == 0) continue;
    of_node[links[i].first].push_back(i);
    of_node[links[i].second].push_back(i);
  }
  std::vector<bool> known(nodes, false);
  for (std::size_t n = 0; n < nodes; ++n)
    if (!known[n]) spread(n, links, of_node, known, clocks);
  return clocks;
}

}  // namespace cox::trace
