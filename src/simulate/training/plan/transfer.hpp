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
  int stage = 0;  ///< Message: the unit that receives; Inner: the unit
  int group = 0;  ///< of experts
  int slot = 0;
  auto operator<=>(const TransferKey&) const = default;
};

/// Where the ranks of a collective sit, [group][place]: `groups` beside each other, each with `ranks_per_member`
/// ranks of every member, and behind them servers and switches up to `participants`.
[[nodiscard]] std::vector<int> devices_of(const Plan& plan, const TransferKey& key, int participants,
                                          int groups, int ranks_per_member);

}  // namespace cox::simulate::training
