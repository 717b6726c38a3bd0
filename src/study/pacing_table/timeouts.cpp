// SPDX-License-Identifier: Apache-2.0
#include "study/pacing_table/timeouts.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "cox/base/assert.hpp"
#include "cox/base/elementary.hpp"

namespace cox::study {
namespace {
constexpr std::uint32_t kStream = 0x71;
}  // namespace

RingTimeouts::RingTimeouts(int nodes, double chance, std::uint64_t seed)
    : nodes_(nodes), log_spared_(logarithm(1 - chance)), stream_(seed, kStream) {
  COX_ASSERT(nodes >= 1 && chance > 0 && chance < 1, "messages are hit with a probability");
}

RingTimeouts::Hits RingTimeouts::hits(std::int64_t step) const {
  const double messages = 2.0 * nodes_ * (nodes_ - 1);
  Hits out;
  double at = -1;
  for (std::uint64_t i = 0; out.count < kMost; ++i) {
    // The gap to the next hit is geometric: floor(ln u / ln(1 - chance)).
    at += 1 + std::floor(logarithm(stream_.uniform(static_cast<std::uint64_t>(step), i)) / log_spared_);
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
