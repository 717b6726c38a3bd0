// SPDX-License-Identifier: Apache-2.0
#include "diagnose/charge/timeline.hpp"

#include <algorithm>
#include <map>
#include <queue>
#include <utility>

#include "diagnose/charge/messages.hpp"
#include "diagnose/match/span_math.hpp"

namespace cox::diagnose {
namespace {

/// Classes of one rank that are looked at: beyond that a Run is not a parallel layout.
constexpr std::size_t kMostClasses = 16;

bool waits_known(const Matching& m, const Group& group, std::int64_t op) {
  const Operation& about = m.ops[group.first_op + static_cast<std::size_t>(op)];
  return group.declared == static_cast<std::int64_t>(group.members.size()) && !about.mismatch &&
         model::synchronizes_all(about.kind);
}

bool is_exchange(const Matching& m, std::int32_t group) {
  return group >= 0 && m.groups[static_cast<std::size_t>(group)].exchange;
}

bool all_there(const Matching& m, const Group& group, std::int64_t op) {
  const auto first = m.entry.begin() + static_cast<std::ptrdiff_t>(group.cell(op, 0));
  return std::find(first, first + static_cast<std::ptrdiff_t>(group.members.size()), kUnknown) ==
         first + static_cast<std::ptrdiff_t>(group.members.size());
}

/// Member at a place of a communicator's own order; where that was not recorded members are in order of rank.
std::int32_t peer_at(const Matched& matched, std::int32_t comm, std::uint32_t place) {
  const trace::Communicator& c = matched.communicator(comm);
  if (!c.by_rank.empty()) return matched.rank_at(comm, place);
  const bool all = static_cast<std::int64_t>(c.ranks.size()) == c.size;
  return all && place < c.ranks.size() ? matched.index_of(c.ranks[place]) : -1;
}

class Layout {
 public:
  explicit Layout(const TimelineInput& in)
      : in_(in), m_(in.matched.operations()), reference_(in.roles), messages_(in.matched) {
    out_.ranks.resize(in.matched.ranks());
    out_.group_of_op.assign(m_.ops.size(), -1);
    out_.point_of.assign(m_.entry.size(), kNoPoint);
    out_.self_delay.assign(out_.ranks.size(), Duration::zero());
    out_.activity_delay.assign(in.activities.size(), Duration::zero());
  }

  WaitTimeline run() {
    find_classes();
    find_operations();
    for (std::size_t r = 0; r < out_.ranks.size(); ++r) walk(r);
    choose_classes();
    for (PeerWait& wait : out_.peers) place_peer(wait);
    settle_all();
    return std::move(out_);
  }

 private:
  void find_classes() {
    std::map<std::vector<std::int32_t>, std::int32_t> known;
    out_.class_of_group.assign(m_.groups.size(), -1);
    for (std::size_t g = 0; g < m_.groups.size(); ++g) {
      const Group& group = m_.groups[g];
      if (group.first_cell == kNoCells || group.members.size() < 2 || group.exchange) continue;
      const auto [at, fresh] =
          known.try_emplace(group.members, static_cast<std::int32_t>(out_.classes.size()));
      if (fresh) out_.classes.push_back({group.members, group.members.size() == out_.ranks.size(), 0});
      out_.class_of_group[g] = at->second;
    }
    out_.last.assign(out_.classes.size(), kNoPoint);
  }

  void find_operations() {
    for (std::size_t g = 0; g < m_.groups.size(); ++g) {
      if (out_.class_of_group[g] < 0) continue;
      const Group& group = m_.groups[g];
      for (std::int64_t op = 0; op < group.ops; ++op) {
        const std::size_t at = group.first_op + static_cast<std::size_t>(op);
        if (m_.ops[at].seen == 0) continue;
        if (!waits_known(m_, group, op) || !all_there(m_, group, op)) {
          out_.incomplete += model::synchronizes_all(m_.ops[at].kind);
          continue;
        }
        out_.group_of_op[at] = static_cast<std::int32_t>(g);
        ++out_.classes[static_cast<std::size_t>(out_.class_of_group[g])].ops;
      }
    }
  }

  /// The classes of each rank, those with most operations where there are too many.
  void choose_classes() {
    out_.classes_of.resize(out_.ranks.size());
    for (std::size_t c = 0; c < out_.classes.size(); ++c)
      for (const auto r : out_.classes[c].members)
        out_.classes_of[static_cast<std::size_t>(r)].push_back(static_cast<std::int32_t>(c));
    for (auto& own : out_.classes_of) {
      if (own.size() <= kMostClasses) continue;
      std::stable_sort(own.begin(), own.end(), [&](std::int32_t a, std::int32_t b) {
        return out_.classes[static_cast<std::size_t>(a)].ops > out_.classes[static_cast<std::size_t>(b)].ops;
      });
      own.resize(kMostClasses);
      std::sort(own.begin(), own.end());
    }
  }

  // One rank's points.

  void add_point(RankPoints& p, Duration entry, Duration exit, std::uint32_t op) {
    const Duration gap = p.entry.empty() ? Duration::zero() : minus_clamped(entry, p.last_exit);
    if (in_.activities.size() > 1) gaps_.emplace_back(p.entry.empty() ? entry : p.last_exit, entry);
    p.work.push_back(p.entry.empty() ? gap : plus_clamped(p.work.back(), gap));
    p.entry.push_back(entry);
    p.op.push_back(op);
    p.last_exit = exit;
  }

  /// Waits for peers recorded before event `to`, as points of their own.
  void add_peers(std::size_t r, std::size_t& at, std::size_t to, Duration until) {
    const trace::EventColumns& e = in_.matched.track(r).events;
    RankPoints& p = out_.ranks[r];
    for (; at < to; ++at) {
      if (!is_peer_wait(e, at) || e.end[at] == trace::kStillRunning) continue;
      const Duration begin = p.entry.empty() ? e.begin[at] : std::max(e.begin[at], p.last_exit);
      const Duration end = std::min(e.end[at], until);
      if (end <= begin || out_.peers.size() >= kPeerBit) continue;
      const auto comm = in_.matched.comms().find(e.comm[at]);
      const bool named = comm >= 0 && e.aux[at] != trace::kAnyPeer;
      std::int32_t peer = named ? peer_at(in_.matched, comm, e.aux[at]) : -1;
      if (peer == static_cast<std::int32_t>(r)) peer = -1;
      Duration waited = end;
      const MessageWait* told = in_.matched.message_waits().find(r, at);
      if (told != nullptr && (e.flags[at] & trace::kNumbered) != 0) peer = told->last;
      if (told != nullptr && told->last >= 0 && told->until < told->end) {
        peer = told->last;
        waited = told->until;
      } else if (told != nullptr && peer < 0 && told->last >= 0) {
        peer = told->last;
      } else if (peer >= 0) {
        waited = messages_.waited_until(r, peer, e.begin[at], e.end[at]);
      } else if (const auto last = messages_.last_to_come(r, e.begin[at], e.end[at]);
                 last.peer != static_cast<std::int32_t>(r)) {
        peer = last.peer;
        waited = last.until;
      }
      const auto number = static_cast<std::uint32_t>(out_.peers.size());
      out_.peers.push_back({static_cast<std::uint32_t>(r), static_cast<std::uint32_t>(p.size()), peer,
                            std::clamp(waited, begin, end), 0,
                            peer < 0 ? Duration::min() : met_[static_cast<std::size_t>(peer)]});
      if (told != nullptr)
        for (const AwaitedMessages& a : in_.matched.message_waits().awaited(r, *told))
          met_[static_cast<std::size_t>(a.peer)] = end;
      add_point(p, begin, end, kPeerBit | number);
      if (in_.activities.size() > 1) since_.push_back(last_hold_);
    }
  }

  void walk(std::size_t r) {
    RankPoints& p = out_.ranks[r];
    const auto points = static_cast<std::size_t>(m_.totals[r].points);
    for (auto* column : {&p.entry, &p.work, &p.waited}) column->reserve(points + 1);
    p.op.reserve(points);
    gaps_.clear();
    since_.clear();
    last_hold_ = kNoPoint;
    met_.assign(out_.ranks.size(), Duration::min());
    SyncCursor cursor = in_.matched.walk(r);
    SyncPoint point;
    std::size_t events = 0;
    while (cursor.next(point)) {
      if (is_exchange(m_, point.group)) continue;  // told by its records, with its peers
      add_peers(r, events, point.event, point.entry);
      std::uint32_t op = kNoPoint;
      if (point.group >= 0 && point.op >= 0) {
        const Group& group = m_.groups[static_cast<std::size_t>(point.group)];
        const std::size_t at = group.first_op + static_cast<std::size_t>(point.op);
        if (group.first_cell != kNoCells && out_.group_of_op[at] >= 0) {
          auto& mine = out_.point_of[group.cell(point.op, static_cast<std::size_t>(point.member))];
          if (mine == kNoPoint) {
            mine = static_cast<std::uint32_t>(p.size());
            op = static_cast<std::uint32_t>(at);
          }
        }
      }
      add_point(p, point.entry, point.exit, op);
      if (in_.activities.size() > 1) since_.push_back(last_hold_);
      if (point.holds_all) last_hold_ = static_cast<std::uint32_t>(p.size() - 1);
    }
    add_peers(r, events, in_.matched.track(r).events.size(), Duration::max());
    p.waited.assign(p.size() + 1, Duration::zero());
    if (in_.activities.size() > 1) tell_activities(r);
  }

  void tell_activities(std::size_t r) {
    const std::size_t classes = in_.activities.size();
    RankPoints& p = out_.ranks[r];
    p.activity = in_.activities.divide(in_.matched.track(r), gaps_);
    for (std::size_t i = classes; i < p.activity.size(); ++i) add_to(p.activity[i], p.activity[i - classes]);
    since_of_.resize(out_.ranks.size());
    since_of_[r] = since_;
  }

  void place_peer(PeerWait& wait) {
    if (wait.peer < 0 || !in_.matched.clocks_comparable()) return;
    const RankPoints& p = out_.ranks[static_cast<std::size_t>(wait.peer)];
    std::size_t low = 0;
    for (std::size_t high = p.size(); low < high;) {
      const std::size_t middle = low + (high - low) / 2;
      if (p.exit(middle) < wait.end)
        low = middle + 1;
      else
        high = middle;
    }
    wait.peer_points = static_cast<std::uint32_t>(low);
  }

  // All ranks' points in one order: an operation when all its members are at it.

  void settle_all() {
    const std::size_t ranks = out_.ranks.size();
    head_.assign(ranks, 0);
    held_up_.assign(ranks, false);
    arrived_.assign(m_.ops.size(), 0);
    sleepers_.resize(ranks);
    for (std::size_t r = 0; r < ranks; ++r) ready_.push_back(static_cast<std::uint32_t>(r));
    for (;;) {
      while (!ready_.empty()) {
        const std::uint32_t r = ready_.back();
        ready_.pop_back();
        advance(r);
      }
      if (!release()) break;
    }
  }

  void advance(std::uint32_t r) {
    RankPoints& p = out_.ranks[r];
    while (head_[r] < p.size()) {
      const std::uint32_t op = p.op[head_[r]];
      if (op != kNoPoint && (op & kPeerBit) != 0) {
        if (!settle_peer(r, op)) return;
      } else if (op != kNoPoint && out_.group_of_op[op] >= 0) {
        if (held_up_[r]) return;  // counted already
        const Group& group = m_.groups[static_cast<std::size_t>(out_.group_of_op[op])];
        if (++arrived_[op] < static_cast<std::int32_t>(group.members.size())) {
          held_up_[r] = true;
          return;
        }
        settle(group, op, r);
      } else {
        step(r, Duration::zero());
      }
    }
  }

  void step(std::uint32_t r, Duration wait) {
    RankPoints& p = out_.ranks[r];
    const std::size_t at = head_[r]++;
    p.waited[at + 1] = plus_clamped(p.waited[at], wait);
    held_up_[r] = false;
    auto& sleepers = sleepers_[r];
    while (!sleepers.empty() && sleepers.top().first <= head_[r]) {
      ready_.push_back(sleepers.top().second);
      sleepers.pop();
    }
  }

  bool settle_peer(std::uint32_t r, std::uint32_t op) {
    const PeerWait& wait = out_.peers[op ^ kPeerBit];
    if (wait.peer >= 0 && wait.peer_points > head_[static_cast<std::size_t>(wait.peer)]) {
      if (!held_up_[r]) sleepers_[static_cast<std::size_t>(wait.peer)].emplace(wait.peer_points, r);
      held_up_[r] = true;
      return false;
    }
    out_.order.push_back(op);
    out_.before.push_back(kNoPoint);
    step(r, minus_clamped(wait.end, out_.ranks[r].entry[wait.point]));
    return true;
  }

  void settle(const Group& group, std::uint32_t op, std::uint32_t arriver) {
    const auto number = static_cast<std::int64_t>(op - group.first_op);
    measure_gaps(in_.matched, group, number, gaps_of_op_);
    const std::size_t first = group.cell(number, 0);
    const auto cls =
        static_cast<std::size_t>(out_.class_of_group[static_cast<std::size_t>(out_.group_of_op[op])]);
    out_.order.push_back(op);
    out_.before.push_back(std::exchange(out_.last[cls], op));
    measure_delays(group, first, in_.matched.skew().facts[op]);
    for (std::size_t k = 0; k < group.members.size(); ++k) {
      const auto r = static_cast<std::uint32_t>(group.members[k]);
      const Duration inside = minus_clamped(m_.exit[first + k], m_.entry[first + k]);
      step(r, std::clamp(gaps_of_op_[k], Duration::zero(), inside));
      if (r != arriver) ready_.push_back(r);
    }
  }

  void measure_delays(const Group& group, std::size_t first, const OpFacts& facts) {
    const std::size_t n = group.members.size();
    if (facts.reference == kUnknown) return;
    if (in_.roles.count == 1 && in_.activities.size() <= 1) {
      for (std::size_t k = 0; k < n; ++k)
        add_to(out_.self_delay[static_cast<std::size_t>(group.members[k])],
               positive_part(minus_clamped(m_.work[first + k], facts.reference)));
      return;
    }
    values_.assign(m_.work.begin() + static_cast<std::ptrdiff_t>(first),
                   m_.work.begin() + static_cast<std::ptrdiff_t>(first + n));
    reference_.take(group.members, values_);
    for (std::size_t k = 0; k < n; ++k)
      add_to(out_.self_delay[static_cast<std::size_t>(group.members[k])],
             positive_part(minus_clamped(values_[k], reference_.of(group.members[k]))));
    const std::size_t classes = in_.activities.size();
    for (std::size_t x = 0; classes > 1 && x < classes; ++x) {
      for (std::size_t k = 0; k < n; ++k) {
        const auto r = static_cast<std::size_t>(group.members[k]);
        const std::size_t point = out_.point_of[first + k];
        const std::uint32_t since = since_of_[r][point];
        const auto& sums = out_.ranks[r].activity;
        values_[k] = since == kNoPoint ? Duration::zero()
                                       : minus_clamped(sums[point * classes + x], sums[since * classes + x]);
      }
      reference_.take(group.members, values_);
      for (std::size_t k = 0; k < n; ++k)
        add_to(out_.activity_delay[x],
               positive_part(minus_clamped(values_[k], reference_.of(group.members[k]))));
    }
  }

  /// Nobody can go on: what everybody stands at contradicts somebody's order. All of it is given up at once,
  /// so that a Run of nothing else costs no more than any other.
  bool release() {
    bool any = false;
    for (std::size_t r = 0; r < out_.ranks.size(); ++r) {
      RankPoints& p = out_.ranks[r];
      if (head_[r] >= p.size() || !held_up_[r]) continue;
      any = true;
      std::uint32_t& op = p.op[head_[r]];
      if ((op & kPeerBit) != 0) {
        out_.peers[op ^ kPeerBit].peer = -1;
        out_.peers[op ^ kPeerBit].peer_points = 0;
      } else if (out_.group_of_op[op] >= 0) {
        out_.group_of_op[op] = -1;
        ++out_.contradictory;
      }
      held_up_[r] = false;
      ready_.push_back(static_cast<std::uint32_t>(r));
    }
    return any;
  }

  using Sleeper = std::pair<std::uint32_t, std::uint32_t>;  ///< points of the peer, who waits for them
  using Sleepers = std::priority_queue<Sleeper, std::vector<Sleeper>, std::greater<>>;

  const TimelineInput& in_;
  const Matching& m_;
  RoleReference reference_;
  MessageEnds messages_;
  WaitTimeline out_;
  std::vector<std::pair<Duration, Duration>> gaps_;
  std::vector<std::uint32_t> since_;
  std::vector<std::vector<std::uint32_t>> since_of_;  ///< per point: the last one before it that held all
  std::uint32_t last_hold_ = kNoPoint;
  std::vector<Duration> met_;  ///< per peer: end of the last call of the rank at hand that waited for it
  std::vector<std::uint32_t> head_;
  std::vector<bool> held_up_;
  std::vector<std::int32_t> arrived_;
  std::vector<Sleepers> sleepers_;
  std::vector<std::uint32_t> ready_;
  std::vector<Duration> gaps_of_op_;
  std::vector<Duration> values_;
};

}  // namespace

std::size_t RankPoints::point_at(Duration at) const {
  const auto after = std::upper_bound(entry.begin(), entry.end(), at);
  return after == entry.begin() ? 0 : static_cast<std::size_t>(after - entry.begin()) - 1;
}

Duration RankPoints::work_until(Duration at) const {
  if (entry.empty() || at < entry.front()) return Duration::zero();
  const std::size_t i = point_at(at);
  return plus_clamped(work[i], positive_part(minus_clamped(at, exit(i))));
}

Duration RankPoints::waited_until(Duration at, std::size_t end) const {
  if (entry.empty() || at < entry.front()) return Duration::zero();
  const std::size_t i = point_at(at);
  if (i >= end) return waited[end];
  return plus_clamped(waited[i], std::min(wait(i), minus_clamped(at, entry[i])));
}

std::int32_t WaitTimeline::place(std::int32_t cls, std::int32_t rank) const {
  const MemberClass& c = classes[static_cast<std::size_t>(cls)];
  if (c.everybody) return rank;
  const auto at = std::lower_bound(c.members.begin(), c.members.end(), rank);
  return at != c.members.end() && *at == rank ? static_cast<std::int32_t>(at - c.members.begin()) : -1;
}

void measure_gaps(const Matched& matched, const Group& group, std::int64_t op, std::vector<Duration>& gaps) {
  const Matching& m = matched.operations();
  const std::size_t n = group.members.size();
  const std::size_t first = group.cell(op, 0);
  gaps.resize(n);
  const Duration bar = matched.skew().facts[group.first_op + static_cast<std::size_t>(op)].bar;
  for (std::size_t k = 0; k < n; ++k)
    gaps[k] = matched.clocks_comparable()
                  ? minus_clamped(bar, m.entry[first + k])
                  : minus_clamped(minus_clamped(m.exit[first + k], m.entry[first + k]), bar);
}

WaitTimeline lay_out_waits(const TimelineInput& in) {
  if (in.matched.operations().ops.size() >= kPeerBit) return {};
  return Layout(in).run();
}

}  // namespace cox::diagnose
