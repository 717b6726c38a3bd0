// SPDX-License-Identifier: Apache-2.0
/// \file
/// A transfer of a step between units, by name, and the devices whose links it goes over.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "simulate/training/plan/plan.hpp"

namespace cox::simulate::training {

enum class TransferKind : std::uint8_t { Data, Exchange, Message, Inner };
/// Names a transfer of the step.
struct TransferKey {
  TransferKind kind = TransferKind::Data;
  ReplicaGroup of = ReplicaGroup::All;  ///< Data; Exchange: experts
  int stage = 0;                        ///< Message: the unit that receives; Inner: the unit
  int group = 0;                        ///< of its kind
  int slot = 0;
  auto operator<=>(const TransferKey&) const = default;
};

/// Where the ranks of a collective sit, [beside][place]: so many of it `beside` each other, each with its ranks of every
/// member, and behind them servers and switches up to `participants`.
[[nodiscard]] std::vector<int> devices_of(const Plan& plan, const TransferKey& key, int participants,
                                          int beside);

/// Of a collective among units, for the draws of noise and losses; of what is `beside` it two more each. The same for the
/// max-plus engine and on a network.
[[nodiscard]] std::int64_t draw_number(const Plan& plan, const TransferKey& key, int beside);

}  // namespace cox::simulate::training
