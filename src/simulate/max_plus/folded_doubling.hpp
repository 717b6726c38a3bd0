// SPDX-License-Identifier: Apache-2.0
/// \file
/// Recursive doubling over a number of ranks that is no power of two, without lists.
#pragma once

#include <span>
#include <vector>

#include "cox/model/schedule.hpp"
#include "cox/simulate/max_plus.hpp"

#include "simulate/kernels/sweep_kernels.hpp"

namespace cox::simulate {

/// The first 2 f ranks fold, the even ones into the odd ones, so that 2^k places are left: f odd ranks, then
/// the ranks from 2 f on. These exchange at distances 1, 2, 4, ...; then the odd ranks give the result back.
/// What the lists of the schedule say, one message a rank and round, for equal costs. Memory: 8 bytes per
/// place. Held by: tests/property/simulate_laws.cpp (equal to the lists to rounding)
class FoldedDoubling {
 public:
  /// Whether a schedule is of this kind; costs must be uniform, messages undisturbed and no round left out.
  [[nodiscard]] static bool fits(const model::Schedule& schedule, const LinkCosts& costs);
  FoldedDoubling(const model::Schedule& schedule, const LinkCosts& costs, model::Protocol protocol);
  /// Returns the number of messages.
  std::int64_t run(std::span<double> times);

 private:
  void pass(double& from, double& to) const;

  model::Protocol protocol_;
  double whole_;
  double latency_;
  double occupied_;
  std::size_t fold_;
  std::vector<double> places_;
};

}  // namespace cox::simulate
