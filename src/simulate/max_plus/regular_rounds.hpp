// SPDX-License-Identifier: Apache-2.0
/// \file
/// Regular rounds as sweeps over the ranks, in place.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "cox/model/schedule.hpp"
#include "cox/simulate/max_plus.hpp"

#include "simulate/max_plus/round_costs.hpp"
#include "simulate/noise/lane_losses.hpp"

namespace cox::simulate {

/// A message of a round that was lost and comes later, by who gets it.
struct LateMessage {
  std::int64_t round = 0;
  std::size_t receiver = 0;
  double seconds = 0;
};

/// Which draws the messages of a lane take.
struct MessageDraws {
  const Noise* noise = nullptr;  ///< null: none
  std::int64_t step = 0;
  std::int64_t number = 0;
  int lane = 0;
  std::span<const int> ranks{};  ///< on each place; empty: the places are the ranks
  /// Regular rounds: those of the round that is swept, ascending.
  std::span<const LateMessage> late{};
  /// Lists: asked for each message between two nodes; null: none.
  LaneLosses* losses = nullptr;
  std::span<const int> nodes{};

  [[nodiscard]] bool disturb() const { return noise != nullptr || !late.empty(); }
  /// Whether a message leaves its node: servers and switches stand behind the ranks, outside of all nodes.
  [[nodiscard]] static bool crosses(std::span<const int> nodes, int from, int to) {
    const auto ranks = static_cast<int>(nodes.size());
    return from >= ranks || to >= ranks ||
           nodes[static_cast<std::size_t>(from)] != nodes[static_cast<std::size_t>(to)];
  }

  /// Those on `count` places from `first` on.
  [[nodiscard]] std::span<const int> ranks_on(std::size_t first, std::size_t count) const {
    return ranks.empty() ? ranks : ranks.subspan(first, count);
  }
  /// Number of a round for the draws: lanes, and the messages that follow each other into one rank, differ.
  [[nodiscard]] std::int64_t round(std::int64_t k, std::int64_t ordinal = 0) const {
    return k + (ordinal << 32) + (std::int64_t{lane} << 56);
  }
};

/// Whether `b` can be swept in one go with `a`: the same peers, the same cut, another phase.
[[nodiscard]] bool same_sweep(const model::RegularRound& a, const model::RegularRound& b);

/// Sweeps rounds over times in seconds. Costs of ports (EagerGap) carry over from
/// round to round until `begin`.
class RegularRounds {
 public:
  RegularRounds(const LinkCosts& costs, model::Protocol protocol, int ranks);
  /// Ports are free.
  void begin() { free_.clear(); }
  [[nodiscard]] bool ports_are_free() const { return free_.empty(); }
  /// Rounds `first_round`, ... that are `same_sweep`. Cost: O(ranks) each; in tiles that stay in the L1 cache
  /// where there are many.
  void run(std::span<const model::RegularRound> rounds, std::int64_t first_round, const MessageDraws& draws,
           double* times);

 private:
  struct Stretch;  // a part of a block, and all that its messages need

  void run_one(const model::RegularRound& round, std::int64_t number, const MessageDraws& draws,
               double* times);
  void run_shift(const RoundView& view, const model::RegularRound& round, std::int64_t number,
                 const MessageDraws& draws, double* times);
  void run_pairs(const RoundView& view, const model::RegularRound& round, std::int64_t number,
                 const MessageDraws& draws, double* times);
  void run_gathered(const RoundView& view, const model::RegularRound& round, double* times);
  void run_tiled(std::span<const model::RegularRound> rounds, double* times);
  RoundView occupy_ports(const RoundView& view, const model::RegularRound& round, std::int64_t number,
                         const MessageDraws& draws, double* times);
  void sweep(const Stretch& s, std::size_t low, std::size_t high, const double* peers, Direction direction);
  void sweep_piece(const Stretch& s, std::size_t low, std::size_t high, const double* peers, CostSource cost,
                   Direction direction);
  void disturb(const Stretch& s, std::size_t first, std::size_t n, CostSource cost, double* out);

  RoundCosts costs_;
  model::Protocol protocol_;
  std::size_t ranks_;
  const SweepKernels& kernels_;
  std::vector<double> free_;   // EagerGap: when each rank's sending port is free; empty: all are
  std::vector<double> saved_;  // peers at the seam of a cyclic shift
  std::vector<double> old_;
  std::vector<double> drawn_;
  std::vector<double> latency_;
};

}  // namespace cox::simulate
