// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "diagnose/match/steps.hpp"

namespace cox::diagnose {
namespace {

constexpr double kCovered = 0.8;
constexpr std::size_t kRepeats = 3;
/// Comparisons allowed per element of the sequence, over all candidates.
constexpr std::size_t kBudgetPerToken = 64;
/// Beyond it a period is not searched for one inside: comparisons grow with the square.
constexpr std::size_t kLongestRing = 4096;

class PeriodSearch {
 public:
  explicit PeriodSearch(std::span<const std::uint64_t> tokens)
      : t_(tokens), budget_(kBudgetPerToken * tokens.size() + 4096) {}

  Period find() {
    const std::size_t n = t_.size();
    const std::size_t middle = n / 2;
    // A stretch that covers the middle and is three periods long holds a match at the middle or one period
    // before it, so only the distances at which the middle's token recurs are candidates.
    for (std::size_t p = 1; p <= n / kRepeats && budget_ > 0; ++p) {
      for (const std::size_t start : {middle, middle - std::min(middle, p)}) {
        if (start + p >= n || t_[start] != t_[start + p]) continue;
        const Period found = stretch(p, start);
        const std::size_t length = found.end - found.first;
        if (length >= kRepeats * p && static_cast<double>(length) >= kCovered * static_cast<double>(n))
          return found;
      }
    }
    return {};
  }

 private:
  /// The longest stretch around `start` in which every token equals the one `p` later.
  Period stretch(std::size_t p, std::size_t start) {
    const auto same = [&](std::size_t i) {
      if (budget_ > 0) --budget_;
      return budget_ > 0 && t_[i] == t_[i + p];
    };
    std::size_t first = start;
    std::size_t end = start + 1;
    while (end + p < t_.size() && same(end)) ++end;
    while (first > 0 && same(first - 1)) --first;
    return {p, first, end + p};
  }

  std::span<const std::uint64_t> t_;
  std::size_t budget_;
};

/// The longest stretch of a ring of tokens in which each equals the one `p` later; where none differs, none.
Period longest_on_ring(std::span<const std::uint64_t> ring, std::size_t p) {
  const std::size_t n = ring.size();
  const auto same = [&](std::size_t i) { return ring[i % n] == ring[(i + p) % n]; };
  std::size_t break_at = 0;
  while (break_at < n && same(break_at)) ++break_at;
  Period best{.length = p};
  std::size_t first = break_at + 1;
  for (std::size_t i = first; i <= break_at + n; ++i) {
    if (same(i)) continue;
    if (i - first > best.end - best.first) best = {p, first, i};
    first = i + 1;
  }
  if (break_at == n) return {};                          // all of it
  const std::size_t length = best.end - best.first + p;  // the last tokens are equal to some of the stretch
  best.first %= n;
  best.end = best.first + length;
  return best;
}

}  // namespace

Period find_inner_period(std::span<const std::uint64_t> ring) {
  const std::size_t n = ring.size();
  if (n > kLongestRing) return {};
  for (std::size_t p = 1; p <= n / kRepeats; ++p) {
    const Period found = longest_on_ring(ring, p);
    const std::size_t length = found.end - found.first;
    if (length < n && length >= kRepeats * p &&
        static_cast<double>(length) >= kCovered * static_cast<double>(n))
      return found;
  }
  return {};
}

Period find_period(std::span<const std::uint64_t> tokens) {
  if (tokens.size() < kRepeats) return {};
  return PeriodSearch(tokens).find();
}

}  // namespace cox::diagnose
