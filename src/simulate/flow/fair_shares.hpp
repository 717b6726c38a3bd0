// SPDX-License-Identifier: Apache-2.0
/// \file
/// Max-min fair rates, kept while flows come and go: only what a change reaches is computed again.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "cox/simulate/network.hpp"

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
/// Cost of `settle`: links reached x flows on them. Source of the definition: Bertsekas, Gallager 1992,
/// section 6.5.2. Held by: src/simulate/flow/fair_shares_test.cpp (against `max_min_rates`)
class FairShares {
 public:
  struct Options {
    IncastLoss incast{};
    /// Links to which `incast` applies; empty = none.
    std::vector<bool> receiving{};
    /// Pause frames: a flow that is held up behind a link holds up all that shares the link with it.
    bool pause = false;
  };
  FairShares(std::vector<double> capacity, Options options);

  /// Flow `slot` begins; it must not be under way. Hops with infinite capacity need not be named.
  void start(FlowSlot slot, std::span<const Hop> hops);
  void stop(FlowSlot slot);
  /// Brings the rates up to date; the slots whose rate changed or that started since the last call.
  std::span<const FlowSlot> settle();
  /// Bytes per second, as of the last `settle`; infinite where nothing limits it.
  [[nodiscard]] double rate(FlowSlot slot) const { return flows_[slot].rate; }
  /// Changes what a link carries (other jobs); takes effect with `settle`.
  void set_capacity(LinkIndex link, double bytes_per_s);
  [[nodiscard]] std::int64_t evaluated() const { return evaluated_; }
  /// How many flows cross a link now; of those that are spread over several links, the parts.
  [[nodiscard]] double flows_on(LinkIndex link) const;

 private:
  struct Member {
    FlowSlot slot;
    std::uint32_t hop;  ///< of the flow's hops, this link
    double part;
  };
  struct FlowHop {
    LinkIndex link;
    std::uint32_t place;  ///< among the link's members
    std::uint32_t stage;
    double part;
  };
  struct Flow {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint32_t shared = 0;  ///< of the hops, how many (the first ones) have other flows too
    std::uint32_t room = 0;
    bool touched = false;
    bool on = false;
    double rate = 0;
    double own = 0;  ///< what the links that it has for itself allow
  };
  struct LinkState {
    std::vector<Member> members;
    bool dirty = false;
  };

  void mark(LinkIndex link);
  void share_hop(FlowSlot slot, std::uint32_t hop);
  void own_hop(FlowSlot slot, std::uint32_t hop);
  void swap_hops(Flow& flow, std::uint32_t a, std::uint32_t b);
  [[nodiscard]] double capacity_for(LinkIndex link) const;
  void touch(FlowSlot slot);
  void evaluate(LinkIndex link);
  void spread(LinkIndex link, double before, double after);
  [[nodiscard]] double fill(const LinkState& link, double capacity);
  [[nodiscard]] double held_up(const LinkState& link) const;
  void restart_levels();

  Options options_;
  std::vector<double> capacity_;
  std::vector<double> level_;
  std::vector<LinkState> links_;
  std::vector<Flow> flows_;
  std::vector<FlowHop> hops_;
  std::vector<LinkIndex> queue_;  ///< of dirty links, first in first out
  std::vector<FlowSlot> touched_;
  std::vector<FlowSlot> changed_;
  std::vector<double> limits_;  ///< scratch of `fill`
  std::vector<double> parts_;
  double tolerance_ = 0;
  std::int64_t evaluated_ = 0;
};

}  // namespace cox::simulate
