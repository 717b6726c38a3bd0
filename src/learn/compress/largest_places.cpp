// SPDX-License-Identifier: Apache-2.0
#include "learn/compress/largest_places.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>

#include "cox/base/assert.hpp"
#include "cox/base/hash.hpp"

#include "learn/compress/compress_kernels.hpp"

namespace cox::learn {
namespace {

constexpr std::size_t kSample = 8192;

/// A bound that about k elements reach, and more than k with all but certainty: four standard deviations of the sample's
/// count above what is wanted. 0 where that is everything.
std::uint32_t sampled_bound(std::span<const float> x, std::size_t k) {
  const double part = static_cast<double>(k) / static_cast<double>(x.size());
  const double wanted = part * kSample;
  const auto rank = static_cast<std::size_t>(wanted + 4 * std::sqrt(wanted) + 4);
  if (x.size() < 4 * kSample || rank >= kSample) return 0;
  std::vector<std::uint32_t> sample(kSample);
  for (std::size_t i = 0; i < kSample; ++i) sample[i] = size_bits(x[mix_bits(i + kGoldenStep) % x.size()]);
  const auto at = sample.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(sample.begin(), at, sample.end(), std::greater<>{});
  return *at;
}

}  // namespace

std::uint32_t size_bits(float x) {
  return std::bit_cast<std::uint32_t>(x) & 0x7fffffffU;
}

std::vector<std::uint32_t> places_at_least(std::span<const float> x, std::uint32_t bound) {
  constexpr std::size_t kChunk = 16384;
  std::array<std::uint32_t, kChunk + 16> found{};
  std::vector<std::uint32_t> places;
  for (std::size_t first = 0; first < x.size(); first += kChunk) {
    const std::size_t n = std::min(kChunk, x.size() - first);
    const std::size_t count = compress_kernels().at_least(n, x.data() + first, bound, found.data());
    for (std::size_t i = 0; i < count; ++i) places.push_back(static_cast<std::uint32_t>(first) + found[i]);
  }
  return places;
}

std::vector<std::uint32_t> largest_places(std::span<const float> x, std::size_t k) {
  COX_ASSERT(k > 0 && k <= x.size() && x.size() < (std::uint64_t{1} << 32),
             "k of them, with places of 32 bits");
  std::vector<std::uint32_t> places = places_at_least(x, sampled_bound(x, k));
  if (places.size() < k) places = places_at_least(x, 0);
  std::vector<std::uint32_t> sizes(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) sizes[i] = size_bits(x[places[i]]);
  const auto last = sizes.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(sizes.begin(), last, sizes.end(), std::greater<>{});
  const std::uint32_t least = *last;
  std::size_t equals = k - static_cast<std::size_t>(std::count_if(
                               sizes.begin(), last, [&](std::uint32_t s) { return s > least; }));
  std::erase_if(places, [&](std::uint32_t place) {
    const std::uint32_t size = size_bits(x[place]);
    if (size > least) return false;
    if (size < least || equals == 0) return true;
    --equals;
    return false;
  });
  return places;
}

}  // namespace cox::learn
