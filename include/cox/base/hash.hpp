// SPDX-License-Identifier: Apache-2.0
/// \file
/// Hashes that are the same on every machine: they tell things apart, and guard against nobody. libc only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cox {

/// FNV-1a, 64 bits, over what is added in this order.
/// Source: Fowler, Noll, Vo. Held by: src/base/hash_test.cpp (values that its authors publish)
class Fnv1a {
 public:
  constexpr Fnv1a() noexcept = default;
  /// Goes on from a `value` of earlier.
  explicit constexpr Fnv1a(std::uint64_t value) noexcept : value_(value) {}

  constexpr void add(std::string_view bytes) noexcept {
    for (const char c : bytes) add_byte(static_cast<unsigned char>(c));
  }
  /// The lowest `bytes` bytes of a number, the lowest first.
  constexpr void add_number(std::uint64_t number, int bytes = 8) noexcept {
    for (int i = 0; i < bytes; ++i) add_byte(static_cast<unsigned char>(number >> (8 * i)));
  }
  [[nodiscard]] constexpr std::uint64_t value() const noexcept { return value_; }
  /// The value as a name: never 0, which stands for none.
  [[nodiscard]] constexpr std::uint64_t identity() const noexcept { return value_ == 0 ? 1 : value_; }

 private:
  constexpr void add_byte(unsigned char byte) noexcept { value_ = (value_ ^ byte) * 0x100000001b3; }
  std::uint64_t value_ = 0xcbf29ce484222325;
};

[[nodiscard]] constexpr std::uint64_t fnv1a(std::string_view bytes) noexcept {
  Fnv1a hash;
  hash.add(bytes);
  return hash.value();
}

/// The same with 32 bits.
[[nodiscard]] constexpr std::uint32_t fnv1a_32(std::string_view bytes) noexcept {
  std::uint32_t hash = 0x811c9dc5;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193;
  return hash;
}

/// What SplitMix64's state grows by from number to number: 2^64 over the golden ratio, odd.
inline constexpr std::uint64_t kGoldenStep = 0x9e3779b97f4a7c15;

/// Spreads every bit over all of them; a bijection. Source: Steele, Lea, Flood 2014 (the finaliser of
/// SplitMix64).
[[nodiscard]] constexpr std::uint64_t mix_bits(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// SplitMix64: numbers in a row from one seed, where a draw need not be found again by its place (that is
/// `RandomStream`). Held by: src/base/hash_test.cpp (values of the published program)
class SplitMix {
 public:
  explicit constexpr SplitMix(std::uint64_t seed) noexcept : state_(seed) {}
  constexpr std::uint64_t next() noexcept { return mix_bits(state_ += kGoldenStep); }
  /// In [0, n), n > 0; lower ones are likelier by n / 2^64.
  constexpr std::size_t below(std::size_t n) noexcept { return static_cast<std::size_t>(next() % n); }

 private:
  std::uint64_t state_;
};

}  // namespace cox
