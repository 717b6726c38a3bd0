// SPDX-License-Identifier: Apache-2.0
#include "cox/simulate/timeouts.hpp"

#include <algorithm>
#include <cmath>

#include "cox/base/assert.hpp"
#include "cox/base/elementary.hpp"
#include "cox/base/hash.hpp"
#include "cox/base/random.hpp"

#include "simulate/noise/lane_losses.hpp"

namespace cox::simulate {
namespace {

constexpr std::uint32_t kGaps = 0x71;
constexpr std::uint32_t kRepeats = 0x72;

/// Rows have seeds of their own; the first one's is that of all.
std::uint64_t seed_of(std::uint64_t seed, const TimeoutDraws::Row& row) {
  if (row.number == 0 && row.lane == 0 && row.ordinal == 0) return seed;
  for (const std::int64_t part : {row.number, std::int64_t{row.lane}, row.ordinal})
    seed = mix_bits(seed + kGoldenStep * (1 + static_cast<std::uint64_t>(part)));
  return seed;
}

}  // namespace

double next_lost(double at, double log_spared, double exponential) {
  return at + 1 + std::floor(-exponential / log_spared);
}

double loss_gap(std::uint64_t seed, std::int64_t step, std::uint64_t index) {
  return -logarithm(RandomStream(seed, kGaps).uniform(static_cast<std::uint64_t>(step), index));
}

TimeoutDraws::TimeoutDraws(const model::Timeouts& of, std::uint64_t seed)
    : wait_(of.wait), loss_(of.loss), seed_(seed) {
  COX_ASSERT(loss_ >= 0 && loss_ < 1, "messages are lost with a probability");
  if (1 - loss_ == 1) loss_ = 0;  // ln(1 - loss) would be 0, and gaps infinite
  if (!happen()) return;
  log_spared_ = logarithm(1 - loss_);
  log_loss_ = logarithm(loss_);
}

std::vector<TimeoutDraws::Lost> TimeoutDraws::lost(const Row& row, std::int64_t count) const {
  std::vector<Lost> all;
  if (!happen()) return all;
  const std::uint64_t seed = seed_of(seed_, row);
  const RandomStream repeats(seed, kRepeats);
  double at = -1;
  for (std::uint64_t i = 0;; ++i) {
    at = next_lost(at, log_spared_, loss_gap(seed, row.step, i));
    if (at >= static_cast<double>(count)) return all;
    // What is sent again is lost again with the same probability.
    const double more = logarithm(repeats.uniform(static_cast<std::uint64_t>(row.step), i)) / log_loss_;
    const int times = 1 + static_cast<int>(std::min(more, kMostLosses - 1.0));
    all.push_back({.message = static_cast<std::int64_t>(at), .late = late_after(wait_, times)});
  }
}

Seconds lone_late(const TimeoutDraws& law, TimeoutDraws::Row row, std::int64_t receiver) {
  row.ordinal = receiver;
  const std::vector<TimeoutDraws::Lost> lost = law.lost(row, 1);
  return lost.empty() ? Seconds{} : lost.front().late;
}

std::span<const TimeoutDraws::Lost> LaneLosses::all(std::int64_t ordinal) {
  const auto [at, is_new] = rows_.try_emplace(ordinal);
  if (is_new) {
    TimeoutDraws::Row row = row_;
    row.ordinal = ordinal;
    at->second = law_->lost(row, rounds_ * receivers_);
  }
  return at->second;
}

Seconds LaneLosses::late(std::int64_t round, std::int64_t receiver, std::int64_t ordinal) {
  const std::span<const TimeoutDraws::Lost> row = all(ordinal);
  const std::int64_t number = round * receivers_ + receiver;
  const auto at = std::ranges::lower_bound(row, number, {}, &TimeoutDraws::Lost::message);
  return at != row.end() && at->message == number ? at->late : Seconds{};
}

}  // namespace cox::simulate
