// SPDX-License-Identifier: Apache-2.0
#include "simulate/max_plus/folded_doubling.hpp"

#include <algorithm>
#include <bit>

namespace cox::simulate {

using model::Algorithm;
using model::Collective;
using model::Protocol;

bool FoldedDoubling::fits(const model::Schedule& schedule, const LinkCosts& costs) {
  const model::CollectiveSpec& s = schedule.spec();
  const bool whole_buffer = s.kind == Collective::AllReduce || s.kind == Collective::Barrier;
  return s.algorithm == Algorithm::RecursiveDoubling && whole_buffer && costs.only(s.ranks) != nullptr &&
         !std::has_single_bit(static_cast<unsigned>(s.ranks));
}

FoldedDoubling::FoldedDoubling(const model::Schedule& schedule, const LinkCosts& costs, Protocol protocol)
    : protocol_(protocol),
      whole_((*costs.only(schedule.ranks()))(schedule.spec().bytes).count()),
      latency_(costs.only(schedule.ranks())->latency.count()),
      occupied_(whole_ - latency_) {
  const auto ranks = static_cast<std::size_t>(schedule.ranks());
  places_.resize(std::bit_floor(ranks));
  fold_ = ranks - places_.size();
}

// One message between two that exchange no other in its round.
// The order of the additions is that of the lists.
void FoldedDoubling::pass(double& from, double& to) const {
  const double start = protocol_ == Protocol::Rendezvous ? std::max(from, to) : from;
  double arrives = start + latency_;
  if (protocol_ == Protocol::EagerGap) arrives = std::max(arrives, to);
  const double complete = arrives + occupied_;
  from = std::max(from, protocol_ == Protocol::Rendezvous ? complete : start + occupied_);
  to = std::max(to, complete);
}

std::int64_t FoldedDoubling::run(std::span<double> times) {
  for (std::size_t j = 0; j < fold_; ++j) pass(times[2 * j], times[2 * j + 1]);
  for (std::size_t j = 0; j < fold_; ++j) places_[j] = times[2 * j + 1];
  std::copy(times.begin() + static_cast<std::ptrdiff_t>(2 * fold_), times.end(),
            places_.begin() + static_cast<std::ptrdiff_t>(fold_));
  const SweepKernels& kernels = sweep_kernels();
  const std::size_t n = places_.size();
  std::int64_t messages = 2 * static_cast<std::int64_t>(fold_);
  for (std::size_t distance = 1; distance < n; distance *= 2) {
    if (protocol_ == Protocol::Rendezvous) kernels.meet_pairs(places_.data(), n, distance, {nullptr, whole_});
    if (protocol_ == Protocol::Eager) kernels.leave_pairs(places_.data(), n, distance, {nullptr, whole_});
    if (protocol_ == Protocol::EagerGap)
      kernels.port_pairs(places_.data(), n, distance, {nullptr, latency_}, {nullptr, occupied_});
    messages += static_cast<std::int64_t>(n);
  }
  for (std::size_t j = 0; j < fold_; ++j) times[2 * j + 1] = places_[j];
  std::copy(places_.begin() + static_cast<std::ptrdiff_t>(fold_), places_.end(),
            times.begin() + static_cast<std::ptrdiff_t>(2 * fold_));
  for (std::size_t j = 0; j < fold_; ++j) pass(times[2 * j + 1], times[2 * j]);
  return messages;
}

}  // namespace cox::simulate
