// SPDX-License-Identifier: Apache-2.0
#include "diagnose/match/span_math.hpp"

#include <array>
#include <utility>

namespace cox::diagnose {
namespace {

/// Fewer values are left to the library.
constexpr std::size_t kFew = 48;
/// Values that a pivot is the middle of, spread evenly.
constexpr std::size_t kLooked = 9;
/// Pivots after which values are taken to be laid out to make this slow.
constexpr int kMostPivots = 40;

Duration pivot_of(std::span<const Duration> sample, std::size_t k) {
  std::array<Duration, kLooked> some;
  for (std::size_t i = 0; i < kLooked; ++i) some[i] = sample[(2 * i + 1) * sample.size() / (2 * kLooked)];
  const std::size_t wanted = k * kLooked / sample.size();
  std::nth_element(some.begin(), some.begin() + wanted, some.end());
  return some[wanted];
}

/// Puts what `goes_first` says to the front; returns how many these are. Every value is swapped, whether it goes or
/// not: a store costs less than a branch that nobody can foretell.
/// Source: branchless Lomuto partition, Alexandrescu 2020.
template <class GoesFirst>
std::size_t part(std::span<Duration> sample, GoesFirst goes_first) {
  std::size_t front = 0;
  for (Duration& at : sample) {
    const Duration value = at;
    at = sample[front];
    sample[front] = value;
    front += goes_first(value) ? 1 : 0;
  }
  return front;
}

}  // namespace

Duration select_in_place(std::span<Duration> sample, std::size_t k) {
  for (int turn = 0; sample.size() > kFew && turn < kMostPivots; ++turn) {
    const Duration pivot = pivot_of(sample, k);
    std::size_t front = part(sample, [pivot](Duration d) { return d < pivot; });
    if (front == 0) {  // the pivot is the smallest: all that are equal to it
      front = part(sample, [pivot](Duration d) { return d <= pivot; });
      if (k < front) return pivot;
    }
    if (k < front) {
      sample = sample.first(front);
    } else {
      sample = sample.subspan(front);
      k -= front;
    }
  }
  const auto nth = sample.begin() + static_cast<std::ptrdiff_t>(k);
  std::nth_element(sample.begin(), nth, sample.end());
  return *nth;
}

}  // namespace cox::diagnose
