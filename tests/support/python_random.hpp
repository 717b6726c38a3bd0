// SPDX-License-Identifier: Apache-2.0
/// \file
/// For tests: the draws of CPython's `random.Random(seed).gauss`, so that a case that was written in Python
/// can be repeated number by number. Generator: Matsumoto, Nishimura 1998, MT19937, seeded by an array of one
/// or two words; gauss: Box and Muller, the sine kept for the next call.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>

namespace cox::test {

class PythonRandom {
 public:
  explicit PythonRandom(std::uint64_t seed) {
    const std::array<std::uint32_t, 2> key = {static_cast<std::uint32_t>(seed),
                                              static_cast<std::uint32_t>(seed >> 32)};
    start(19650218U);
    const std::uint32_t words = key[1] != 0 ? 2 : 1;
    std::uint32_t i = 1;
    std::uint32_t j = 0;
    for (int k = 0; k < kWords; ++k) {
      state_.at(i) = (state_.at(i) ^ (mixed(i) * 1664525U)) + key.at(j) + j;
      step(i);
      j = (j + 1) % words;
    }
    for (int k = 1; k < kWords; ++k) {
      state_.at(i) = (state_.at(i) ^ (mixed(i) * 1566083941U)) - i;
      step(i);
    }
    state_[0] = 0x80000000U;
  }

  double random() {
    const std::uint32_t a = word() >> 5;
    const std::uint32_t b = word() >> 6;
    return (a * 67108864.0 + b) / 9007199254740992.0;
  }

  double gauss(double mean, double sigma) {
    if (kept_) {
      const double z = *kept_;
      kept_.reset();
      return mean + z * sigma;
    }
    const double angle = random() * 2 * 3.14159265358979323846;
    const double radius = std::sqrt(-2.0 * std::log(1.0 - random()));
    kept_ = std::sin(angle) * radius;
    return mean + std::cos(angle) * radius * sigma;
  }

 private:
  static constexpr int kWords = 624;

  void start(std::uint32_t seed) {
    state_[0] = seed;
    for (std::uint32_t i = 1; i < kWords; ++i)
      state_.at(i) = 1812433253U * (state_.at(i - 1) ^ (state_.at(i - 1) >> 30)) + i;
  }
  [[nodiscard]] std::uint32_t mixed(std::uint32_t i) const {
    return state_.at(i - 1) ^ (state_.at(i - 1) >> 30);
  }
  void step(std::uint32_t& i) {
    if (++i < kWords) return;
    state_[0] = state_[kWords - 1];
    i = 1;
  }
  std::uint32_t word() {
    if (next_ == kWords) {
      for (std::size_t i = 0; i < kWords; ++i) {
        const std::uint32_t y = (state_.at(i) & 0x80000000U) | (state_.at((i + 1) % kWords) & 0x7fffffffU);
        state_.at(i) = state_.at((i + 397) % kWords) ^ (y >> 1) ^ ((y & 1U) != 0 ? 0x9908b0dfU : 0U);
      }
      next_ = 0;
    }
    std::uint32_t y = state_.at(next_++);
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680U;
    y ^= (y << 15) & 0xefc60000U;
    return y ^ (y >> 18);
  }

  std::array<std::uint32_t, kWords> state_{};
  std::size_t next_ = kWords;
  std::optional<double> kept_;
};

}  // namespace cox::test
