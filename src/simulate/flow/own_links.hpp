// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whether every message has its way to itself. Then nothing is shared, and the max-plus engine, told what each
/// way costs, gives what the flow engine would.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cox/model/message_cost.hpp"
#include "cox/model/scenario.hpp"
#include "cox/model/schedule.hpp"
#include "cox/simulate/max_plus.hpp"
#include "cox/simulate/network.hpp"

namespace cox::simulate {

/// Whether each pair of devices has one way for good, and nobody else loads a link: static routing or ECMP,
/// cut-through, no background load. Incast loss and pause do nothing to a link that one message has to itself.
[[nodiscard]] bool has_fixed_routes(const model::Fabric& fabric);

/// Collectives of a step, rendezvous, and the links that their messages cross. No link ever has two messages at
/// once if for each link one of these holds:
///   all its messages go to one place, in one lane. The next one begins in a later round of that place, so the
///     last one has arrived; a place gets one message a round;
///   all its messages come from one place, in one lane, which never leaves a round before its own message has
///     arrived: pairs that exchange as much over ways that cost the same, and senders that wait.
/// Held by: src/simulate/flow/own_links_test.cpp (equal to the flow engine, or refused)
class OwnLinks {
 public:
  /// `network` and `fabric` outlive it; the latter has fixed routes. `seed` is of ECMP's hashes. `delays`: a message
  /// may come later than its way says, so that two ranks who exchange as much need not be done together.
  OwnLinks(const Network& network, const model::Fabric& fabric, std::uint64_t seed, bool delays = false);

  /// Groups of places that go through the same collectives beside each other, each group one collective after
  /// another. `devices` are of [group][place], as in FlowCollective. Returns the team's number.
  int add_team(std::vector<int> devices, int groups);
  /// False: a link is shared, or may be; nothing else is to be asked then.
  /// Cost: O(places x different patterns of rounds) for regular rounds, O(messages) for lists.
  [[nodiscard]] bool add(int team, const model::Schedule& schedule);
  /// What a team's messages cost, once all is added; nothing where a link is shared after all, or where
  /// `LinkCosts` cannot say it: groups that differ, several costs into one place.
  [[nodiscard]] std::optional<LinkCosts> costs(int team) const;
  /// Adds what `times` such collectives carry over each link. Cost: as `add`, or O(messages) where a place
  /// gets from several.
  void carry(int team, const model::Schedule& schedule, double times, std::span<double> link_bytes);

 private:
  static constexpr std::uint32_t kNobody = 0xffffffff;
  static constexpr std::uint32_t kSeveral = 0xfffffffe;
  struct Link {
    std::uint32_t sender = kNobody;
    std::uint32_t receiver = kNobody;
  };
  struct Team {
    std::vector<int> devices;
    int groups = 1;
    int places = 0;
    std::uint32_t first = 0;                                     ///< of its places, all groups
    std::vector<std::optional<model::MessageCost>> into;         ///< per place
    bool by_receiver = true;                                     ///< `into` says it all
    std::vector<std::optional<model::MessageCost>> across_into;  ///< per place
    std::optional<model::MessageCost> inside, across;
    bool by_node = true;         ///< these two say it all
    bool by_node_across = true;  ///< `inside` and `across_into` do
  };

  [[nodiscard]] std::uint32_t id(const Team& team, int group, int place, int lane) const;
  [[nodiscard]] bool add_regular(Team& team, const model::Schedule& schedule, int lane);
  [[nodiscard]] bool add_list(Team& team, const model::Schedule& schedule, int lane);
  void goes_on(const Team& team, int place, int lane);
  [[nodiscard]] bool both_ways_alike(const Team& team, const model::Transfer& m);
  [[nodiscard]] model::MessageCost cost(const Team& team, int group, int from, int to);
  [[nodiscard]] bool claim(Team& team, const model::Transfer& m, int lane);
  [[nodiscard]] bool holds(const Link& link) const;
  void note_cost(Team& team, const model::Transfer& m, const model::MessageCost& cost);
  void load(const Team& team, const model::Transfer& m, double bytes, std::span<double> link_bytes);

  const Network& network_;
  const model::Fabric& fabric_;
  std::uint64_t seed_;
  bool delays_;
  std::vector<Team> teams_;
  std::uint32_t places_ = 0;  ///< of all teams and groups
  std::vector<Link> links_;
  std::vector<bool> goes_on_;  ///< per sender and lane: may leave a round before its message has arrived
  std::vector<model::Transfer> messages_;
  std::vector<const model::Transfer*> to_;  ///< lists: what each place sends in this round
  std::vector<LinkIndex> way_;
};

}  // namespace cox::simulate
