// SPDX-License-Identifier: Apache-2.0
/// \file
/// Random numbers by counter: the draw for (seed, stream, step, index) is a pure function, so it is the same
/// in whatever order, by however many threads and by whichever engine it is made.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace cox {

/// The block function Philox4x32-10. Source: Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as
/// easy as 1, 2, 3". Held by: src/base/random_test.cpp (known answers that its authors publish with it)
[[nodiscard]] std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter,
                                                         std::array<std::uint32_t, 2> key);

/// Philox4x32-10. Key: the seed. Counter: index / 2, step (64 bits), stream; a block's words 0, 1 (2, 3) are
/// the 64 bits of an even (odd) index, low word first. Domain: index < 2^33 (asserted). Threads: const, no
/// state. Held by: src/base/random_test.cpp
class RandomStream {
 public:
  constexpr RandomStream(std::uint64_t seed, std::uint32_t stream) : seed_(seed), stream_(stream) {}
  [[nodiscard]] std::uint64_t bits(std::uint64_t step, std::uint64_t index) const;
  /// In (0, 1): (bits / 2^12 + 1/2) 2^-52.
  [[nodiscard]] double uniform(std::uint64_t step, std::uint64_t index) const;
  /// out[i] = uniform(step, first + i), the same bits for every instruction set.
  void uniforms(std::uint64_t step, std::uint64_t first, std::span<double> out) const;
  /// Draws of 32 bits, (word + 1/2) 2^-32, at half the cost; another sequence than `uniform`. Index i: word
  /// i / 8 mod 4 of the block with counter 8 (i / 32) + i mod 8. A stream is used for one kind of draw only.
  void uniforms32(std::uint64_t step, std::uint64_t first, std::span<double> out) const;
  /// Standard normal by inversion of `uniform`. Error of the inverse:
  /// below 1e-14 relative (Wichura 1988, AS 241).
  [[nodiscard]] double normal(std::uint64_t step, std::uint64_t index) const;
  void normals(std::uint64_t step, std::uint64_t first, std::span<double> out) const;
  /// Standard normal from the words of `uniforms32`, at a quarter of the cost, by inversion in single precision
  /// (Wichura 1988, AS 241, PPND7). Error of the inverse: below 1e-6 of z + 2e-7. None is beyond 6.34.
  /// Held by: src/base/random_test.cpp
  void normals32(std::uint64_t step, std::uint64_t first, std::span<double> out) const;

 private:
  std::uint64_t seed_;
  std::uint32_t stream_;
};

}  // namespace cox
