// SPDX-License-Identifier: Apache-2.0
/// \file
/// Max-min fair rates, kept while flows come and go: only what a change reaches is computed again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "cox/base/prefetch.hpp"
#include "cox/simulate/network.hpp"

#include "simulate/flow/link_members.hpp"

namespace cox::simulate {

using FlowSlot = std::uint32_t;

/// A link of a flow's way. `part` of the flow's rate crosses it (less than 1 where it is sprayed over several
/// paths); `stage` orders links along the way.
struct Hop {
  LinkIndex link = 0;
  std::uint32_t stage = 0;
  double part = 1;
};

/// Lost goodput of a link on which many flows meet: with n > `fan_in` flows its capacity is multiplied by
/// max(`floor_ratio`, fan_in / n).
struct IncastLoss {
  int fan_in = 0;  ///< 0 = no loss
  double floor_ratio = 1;
};

/// What every link offers each of its flows (its level), and every flow's rate: the lowest level on its way.
///
/// A link's level s solves sum_f part_f min(u_f, s) = capacity, u_f the lowest level on the rest of f's way;
/// infinite where the link is not full. The levels that satisfy this for all links at once are those of the
/// max-min fair rates; they are found by evaluating links whose inputs changed until none is left. The lowest
/// level is right once its link has been evaluated after the change, then the next, so it ends.
/// A link with one flow is no matter of sharing: it is kept as a bound of that flow (`own`), so what is left
/// to iterate over are the links that two or more flows cross.
/// Each of these keeps its flows' u_f (`LinkMember::limit`), which are told when a level changes: a link is evaluated from
/// what lies beside it.
/// A link that is not full knows how much it has left (`slack_`), less what its flows may have got since then: it is
/// evaluated again when that is used up, not whenever one of them may be faster.
/// Cost of `settle`: links reached x flows on them; of a crowd, the logarithm of its flows.
///
/// Crowds (`Options::crowd`): where many flows meet at one link, most of them are held by no other. These are
/// *followed*: they have the link's level for a rate, and whoever works with them keeps one clock per link
/// (`moved`) instead of a rate per flow. Links on their way that are not full are put to *sleep*: all their flows
/// are held by crowds, and sum_f part_f x level(crowd of f) <= capacity. The level up to which a crowd keeps that
/// promise is watched; above it the link wakes and is one of those that are iterated over.
/// Source of the definition: Bertsekas, Gallager 1992, section 6.5.2; of clocks in served bytes: Parekh, Gallager
/// 1993 (virtual time). Held by: src/simulate/flow/fair_shares_test.cpp (against `max_min_rates`)
class FairShares {
 public:
  struct Options {
    IncastLoss incast{};
    /// Links to which `incast` applies; empty = none.
    std::vector<bool> receiving{};
    /// Pause frames: a flow that is held up behind a link holds up all that shares the link with it.
    bool pause = false;
    /// From so many flows on a link on they are followed together; 0 = never. Not with `pause`.
    std::size_t crowd = 0;
  };
  static constexpr LinkIndex kNoLink = std::numeric_limits<LinkIndex>::max();
  FairShares(const std::vector<double>& capacity, Options options);

  /// Flow `slot` begins; it must not be under way. Hops with infinite capacity need not be named.
  void start(FlowSlot slot, std::span<const Hop> hops);
  void stop(FlowSlot slot);
  /// Brings the rates up to date; the slots whose rate changed or that started since the last call. Of those that
  /// are followed: the slots that now are, or no longer are, by that link.
  std::span<const FlowSlot> settle();
  /// Bytes per second, as of the last `settle`; infinite where nothing limits it.
  [[nodiscard]] double rate(FlowSlot slot) const {
    const Flow& flow = flows_[slot];
    return flow.followed ? links_[hops_[flow.first].link].level : flow.rate;
  }
  /// The link whose level is the flow's rate for as long as `settle` does not name the flow; or kNoLink.
  [[nodiscard]] LinkIndex followed_at(FlowSlot slot) const {
    const Flow& flow = flows_[slot];
    return flow.followed ? hops_[flow.first].link : kNoLink;
  }
  /// Links with flows that are followed, whose level the last `settle` changed.
  [[nodiscard]] std::span<const LinkIndex> moved() const { return moved_; }
  [[nodiscard]] double level(LinkIndex link) const { return links_[link].level; }
  /// The flow will stop soon, or start over the links that it had before.
  void expect(FlowSlot slot) const {
    if (slot >= flows_.size()) return;
    const Flow& flow = flows_[slot];
    for (std::uint32_t i = 0; i < std::min(flow.count, 4U); ++i)
      prefetch(&links_[hops_[flow.first + i].link]);
  }
  /// Changes what a link carries (other jobs); takes effect with `settle`.
  void set_capacity(LinkIndex link, double bytes_per_s);
  [[nodiscard]] std::int64_t evaluated() const { return evaluated_; }
  /// How many flows cross a link now; of those that are spread over several links, the parts.
  [[nodiscard]] double flows_on(LinkIndex link) const;

 private:
  static constexpr double kInfinite = std::numeric_limits<double>::infinity();
  struct FlowHop {
    LinkIndex link;
    std::uint32_t place;  ///< among the link's members
    std::uint32_t stage;
    LinkIndex guard;  ///< while the link sleeps: the crowd that holds this flow
    double part;
  };
  /// In one line of the cache.
  struct alignas(64) Flow {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint32_t shared = 0;  ///< of the hops, how many (the first ones) have other flows too, and are awake
    std::uint32_t room = 0;
    bool touched = false;
    bool on = false;
    bool followed = false;     ///< at its only shared hop
    LinkIndex told = kNoLink;  ///< `followed_at`, as the last `settle` said
    double rate = 0;
    double own = 0;                          ///< what the links that it has for itself allow
    LinkMember* at[2] = {nullptr, nullptr};  ///< it, at its first two hops
  };
  /// Two lines of the cache; where it has one flow, the first of them.
  struct alignas(64) LinkState {
    double capacity = 0;
    double level = kInfinite;  ///< as long as there are no two
    LinkMembers members;
  };
  struct LinkFlags {
    bool dirty = false;
    bool asleep = false;
  };
  /// What a link keeps on whose flows are many.
  struct Crowd {
    double floor = kInfinite;                        ///< no `own` of a flow that is followed is below
    std::set<std::pair<double, LinkIndex>> watched;  ///< sleeping links, by the level that wakes them
    bool moved = false;
  };
  /// Of a sleeping link: what one crowd holds of its flows.
  struct Guard {
    LinkIndex crowd = 0;
    std::uint32_t flows = 0;
    double parts = 0;
    double level = 0;  ///< above it the link wakes
  };

  /// Without a branch: whether the link is dirty already is as good as random.
  void mark(LinkIndex link, bool really = true) {
    bool& dirty = flags_[link].dirty;
    queue_[tail_ & queue_mask_] = link;
    tail_ += static_cast<std::size_t>(really & !dirty);
    dirty |= really;
  }
  /// Whether a link with this level may be full when it carries so much more.
  [[nodiscard]] bool fills(LinkIndex link, double level, double more) const {
    return !knows_slack_ || level < kInfinite || !(more < slack_[link]);
  }
  void take_slack(const Flow& flow);
  void share_hop(FlowSlot slot, std::uint32_t hop);
  void own_hop(FlowSlot slot, std::uint32_t hop);
  void swap_hops(Flow& flow, std::uint32_t a, std::uint32_t b);
  [[nodiscard]] double capacity_for(LinkIndex link) const;
  void touch(FlowSlot slot, Flow& flow) {
    touched_[touches_] = slot;
    touches_ += static_cast<std::size_t>(!flow.touched);
    flow.touched = true;
  }
  void touch(FlowSlot slot) { touch(slot, flows_[slot]); }
  void cross(FlowSlot slot, std::span<const Hop> hops);
  void cross_beside_crowds(FlowSlot slot, std::span<const Hop> hops);
  /// After a change of its hops or of what its own links allow: each of the flow's shared links is told what the rest of
  /// its way allows.
  void tell_limits(Flow& flow) {
    LinkMember& one = *(flow.at[0] = &member_at(hops_[flow.first]));
    LinkMember& other = *(flow.at[1] = &member_at(hops_[flow.first + 1]));
    if (flow.shared > 2) return tell_many_limits(flow);
    // What a link that is not shared is told nobody reads.
    one.limit = std::min(flow.own, links_[other.link].level);
    other.limit = std::min(flow.own, links_[one.link].level);
  }
  void tell_many_limits(const Flow& flow);
  void spread_further(const Flow& flow, const LinkMember& from, double before, double after);
  void find_again(LinkState& link);
  template <bool Slack>
  void evaluate(LinkIndex link);
  [[nodiscard]] double evaluate_with_crowds(LinkIndex link, bool& falls_asleep);
  template <bool Slack>
  void spread(LinkIndex link, double before, double after);
  template <bool Slack>
  void evaluate_dirty(std::size_t& patience);
  /// Whether a link with this level sees that another one's goes from `before` to `after`. One that is not full stays so
  /// when what comes in becomes less.
  [[nodiscard]] bool sees(double level, double before, double after) const {
    const double lower = std::min(before, after);
    return options_.pause ? lower <= level : (lower < level) & ((after > before) | (level < kInfinite));
  }
  /// `left`: of the capacity, where the link is not full.
  [[nodiscard]] static double fill_two(const LinkMembers& members, double capacity, double& left);
  [[nodiscard]] double fill(const LinkMembers& members, double capacity, double& left);
  [[nodiscard]] double fill_upwards(const LinkMembers& members, double capacity, double level, double& left);
  [[nodiscard]] double held_up(const LinkState& link) const;
  void restart_levels();
  [[nodiscard]] std::span<const FlowSlot> take_changed();

  // Crowds: fair_shares_crowds.cpp.
  void swap_members(LinkState& link, std::size_t a, std::size_t b);
  void gather(LinkIndex link);
  void disband(LinkIndex link);
  void follow(FlowSlot slot);
  void let_go(FlowSlot slot) {
    if (flows_[slot].followed) let_followed_go(slot);
  }
  void let_followed_go(FlowSlot slot);
  [[nodiscard]] bool let_slow_ones_go(LinkIndex link, double level);
  [[nodiscard]] LinkIndex crowd_of(const Flow& flow, LinkIndex but) const;
  [[nodiscard]] bool can_sleep(LinkIndex link) const;
  void sleep(LinkIndex link);
  void wake(LinkIndex link);
  void wake_above(LinkIndex crowd, double level);
  void take_in_fresh();
  [[nodiscard]] bool watch(LinkIndex link);
  void stop_watching(LinkIndex link);
  void guard(LinkIndex link, FlowHop& hop, LinkIndex crowd);
  void unguard(LinkIndex link, FlowHop& hop);
  /// Nothing is followed, and nothing sleeps.
  [[nodiscard]] bool is_plain() const { return crowds_alive_ == 0 && fresh_.empty(); }
  [[nodiscard]] bool is_crowd(LinkIndex link) const { return crowds_alive_ > 0 && crowds_[link] != nullptr; }

  [[nodiscard]] LinkMember& member_at(const FlowHop& hop) { return links_[hop.link].members[hop.place]; }

  Options options_;
  /// Links with fewer flows are evaluated by what is on them alone; 0 where incast or pause is modelled.
  std::size_t plain_below_ = std::numeric_limits<std::size_t>::max();
  /// Links know their slack. Not with crowds and pause frames, which want to see every change, and not with incast, where a
  /// link carries less when more cross it.
  bool knows_slack_ = true;
  std::vector<LinkState> links_;  ///< and one behind them, for the hops of flows that have no two
  std::vector<LinkFlags> flags_;
  std::vector<double>
      slack_;  ///< per link that is not full: at least what it has left, bytes per second; if `knows_slack_`
  std::vector<Flow> flows_;
  std::vector<FlowHop> hops_;     ///< two or more of each flow
  std::vector<LinkIndex> queue_;  ///< of dirty links, first in first out: a ring, longer than they are many
  std::size_t queue_mask_ = 0;    ///< its length, a power of two, less one
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
  std::vector<FlowSlot> touched_;  ///< `touches_` of them, with room for every flow and one more
  std::size_t touches_ = 0;
  std::vector<FlowSlot> changed_;               ///< the same
  std::vector<std::unique_ptr<Crowd>> crowds_;  ///< per link, null = none; empty without crowds
  std::size_t crowds_alive_ = 0;
  std::vector<std::vector<Guard>> guards_;  ///< per link, while it sleeps; empty without crowds
  std::vector<std::pair<LinkIndex, FlowSlot>>
      fresh_;  ///< who has come to a sleeping link and is held by nobody yet
  std::vector<LinkIndex> moved_;
  std::vector<double> limits_;  ///< scratch of `fill`
  std::vector<double> parts_;
  double tolerance_ = 0;
  bool restless_ = false;  ///< `settle` takes long: nothing goes to sleep
  std::int64_t evaluated_ = 0;
};

}  // namespace cox::simulate
