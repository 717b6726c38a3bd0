// SPDX-License-Identifier: Apache-2.0
// Guest code: libc only.
#include "cox/pace/crossover.hpp"

#include "cox/base/hash.hpp"

#include "pace/arithmetic.hpp"

namespace cox::pace {
namespace {

struct Level {
  std::uint32_t frame, off, wash;  // in units
};
constexpr Level kLevels[] = {{8, 2, 1}, {32, 6, 4}, {128, 6, 4}};
constexpr std::uint32_t kLast = 2;
constexpr std::uint32_t kFull = 1;    // from which level on `carry` is washed out in full
constexpr std::uint32_t kFewest = 2;  // batches that make a mean

}  // namespace

Crossover::Crossover(std::uint64_t seed, std::uint32_t pair, std::uint32_t carry) noexcept
    : seed_(seed), pair_(pair), unit_((std::uint64_t{carry} + 4ULL * pair - 1) / (4ULL * pair) * pair) {}

void Crossover::begin(std::uint64_t step) noexcept {
  level_ = 0;
  unproven_ = unproven_time_ = 0;
  age_ = 0;
  was_off_ = false;
  last_ = step;
  begin_frame(step);
}

void Crossover::begin_frame(std::uint64_t from) noexcept {
  arms_[0] = arms_[1] = Arm{};
  batch_ = 0;
  batched_ = 0;
  if (unit_ == 0) return;
  const Level& level = kLevels[level_];
  const std::uint64_t off = level.off * unit_;
  begin_ = (from + off - 1) / off * off;
  end_ = begin_ + level.frame * unit_;
  const std::uint64_t places = (end_ - begin_ - off) / pair_ + 1;
  const std::uint64_t bits = mix_bits(seed_ + (begin_ + 1) * kGoldenStep + (std::uint64_t{level_ + 1} << 56));
  off_begin_ = begin_ + (bits >> 20) % places * pair_;
  off_end_ = off_begin_ + off;
}

bool Crossover::is_off(std::uint64_t step) const noexcept {
  return unit_ != 0 && step >= off_begin_ && step < off_end_;
}

double Crossover::longest() const noexcept {
  std::uint64_t units = 0;
  for (std::uint32_t i = 0; i <= kFull; ++i) units += kLevels[i].frame - kLevels[i].off;
  return static_cast<double>(units * unit_);
}

void Crossover::add(std::uint64_t step, Seconds time) noexcept {
  if (unit_ == 0) return;
  const bool off = is_off(step);
  if (off != was_off_ || step != last_ + 1) {
    age_ = 0;
    batch_ = 0;
    batched_ = 0;
  }
  was_off_ = off;
  last_ = step;
  if (!off) {
    unproven_ += 1;
    unproven_time_ += time.count();
  }
  const bool washed = age_++ >= kLevels[level_].wash * unit_;
  if (!washed || step < begin_) return;
  batch_ += time.count();
  if (++batched_ < 2 * pair_) return;
  Arm& arm = arms_[off ? 0 : 1];
  ++arm.batches;
  const double mean = batch_ / batched_;
  const double change = mean - arm.mean;
  arm.mean += change / arm.batches;
  arm.squares += change * (mean - arm.mean);
  batch_ = 0;
  batched_ = 0;
}

Crossover::Verdict Crossover::verdict(std::uint64_t step, double least) noexcept {
  if (unit_ == 0 || step + 1 < end_) return Verdict::None;
  const Arm& off = arms_[0];
  const Arm& on = arms_[1];
  if (off.batches < kFewest || on.batches < kFewest || off.mean <= 0) return Verdict::Unmeasured;
  const double variance = (off.squares + on.squares) / (off.batches + on.batches - 2);
  const double error = square_root(variance * (1.0 / off.batches + 1.0 / on.batches)) / off.mean;
  gain_ = (off.mean - on.mean) / off.mean;
  if (gain_ + error < least) return Verdict::Harm;
  const bool gains = gain_ - error > least;
  if (gains) {
    if (level_ >= kFull) unproven_ = unproven_time_ = 0;
    if (level_ < kLast) ++level_;
  }
  begin_frame(step + 1);
  return gains ? Verdict::Gain : Verdict::Unclear;
}

}  // namespace cox::pace
