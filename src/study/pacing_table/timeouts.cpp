// SPDX-License-Identifier: Apache-2.0
#include "study/pacing_table/timeouts.hpp"

#include <algorithm>
#include <cstddef>

#include "cox/base/assert.hpp"
#include "cox/base/elementary.hpp"
#include "cox/simulate/timeouts.hpp"

namespace cox::study {

TimeoutDraws::TimeoutDraws(std::uint64_t seed, int steps) : seed_(seed) {
  kept_.reserve(static_cast<std::size_t>(steps) * kKept);
  for (std::int64_t step = 0; step < steps; ++step)
    for (std::uint64_t i = 0; i < kKept; ++i) kept_.push_back(simulate::loss_gap(seed_, step, i));
}

double TimeoutDraws::gap(std::int64_t step, std::uint64_t index) const {
  const std::uint64_t at = static_cast<std::uint64_t>(step) * kKept + index;
  if (index < kKept && at < kept_.size()) return kept_[at];
  return simulate::loss_gap(seed_, step, index);
}

RingTimeouts::RingTimeouts(int nodes, double chance, const TimeoutDraws& draws)
    : nodes_(nodes), log_spared_(logarithm(1 - chance)), draws_(draws) {
  COX_ASSERT(nodes >= 1 && chance > 0 && chance < 1, "messages are hit with a probability");
}

RingTimeouts::Hits RingTimeouts::hits(std::int64_t step) const {
  const double messages = 2.0 * nodes_ * (nodes_ - 1);
  Hits out;
  double at = -1;
  for (std::uint64_t i = 0; out.count < kMost; ++i) {
    at = simulate::next_lost(at, log_spared_, draws_.gap(step, i));
    if (at >= messages) break;
    out.at[out.count++] = static_cast<std::int64_t>(at);
  }
  return out;
}

int RingTimeouts::longest_chain(std::int64_t step) const {
  const Hits hit = hits(step);
  int chain[kMost] = {};
  int longest = 0;
  for (int i = 0; i < hit.count; ++i) {
    const std::int64_t round = hit.at[i] / nodes_;
    const std::int64_t rank = hit.at[i] % nodes_;
    for (int k = 0; k < i; ++k) {
      const std::int64_t rounds = round - hit.at[k] / nodes_;
      const std::int64_t hops = (rank - hit.at[k] % nodes_ + nodes_) % nodes_;
      if (rounds > 0 && hops <= rounds) chain[i] = std::max(chain[i], chain[k]);
    }
    longest = std::max(longest, ++chain[i]);
  }
  return longest;
}

}  // namespace cox::study
