// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sorting of many integers with what belongs to them, in linear time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cox::trace::kineto {

struct Keyed {
  std::uint64_t key;
  std::uint32_t value;
};

/// Sorts by key; equal keys keep their order. Radix sort of 11 bits a round; rounds in which all are equal
/// are left out. Cost: linear; a second array of the same size meanwhile.
inline void sort_by_key(std::vector<Keyed>& items) {
  constexpr int kBits = 11;
  constexpr std::size_t kBuckets = std::size_t{1} << kBits;
  bool sorted = true;
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    all |= items[i].key ^ items[0].key;
    sorted = sorted && (i == 0 || items[i - 1].key <= items[i].key);
  }
  if (sorted) return;
  std::vector<Keyed> other(items.size());
  for (int shift = 0; shift < 64; shift += kBits) {
    if (((all >> shift) & (kBuckets - 1)) == 0) continue;
    std::array<std::size_t, kBuckets> at{};
    for (const Keyed& k : items) ++at[(k.key >> shift) & (kBuckets - 1)];
    std::size_t sum = 0;
    for (std::size_t& n : at) {
      const std::size_t count = n;
      n = sum;
      sum += count;
    }
    for (const Keyed& k : items) other[at[(k.key >> shift) & (kBuckets - 1)]++] = k;
    items.swap(other);
  }
}

}  // namespace cox::trace::kineto
