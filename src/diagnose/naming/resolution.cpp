// SPDX-License-Identifier: Apache-2.0
#include "diagnose/naming/resolution.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace cox::diagnose {
namespace {

constexpr std::size_t kMostRanks = 32;
constexpr std::size_t kMostValues = 100'000;
constexpr std::size_t kLeastChanges = 20;
constexpr double kNoChange = 0.05;   // of the pairs of steps, at least
constexpr double kByOne = 0.2;       // of the changes, at least
constexpr double kBySeveral = 0.05;  // the same
constexpr double kMultiples = 0.98;  // of the changes, and of the values
constexpr std::int64_t kOff = 50;    // part of one that a multiple is off by at most: 2 %

struct Values {
  std::vector<std::int64_t> works;
  std::vector<std::int64_t> changes;  // sizes of those that are not zero
  std::size_t pairs = 0;
};

Values values_of(const StepTable& work) {
  std::size_t all = 0;
  for (const auto& row : work) all += row.size();
  const std::size_t stride = all / kMostValues + 1;
  Values out;
  std::size_t at = 0;
  for (const auto& row : work)
    for (std::size_t s = 1; s < row.size(); ++s) {
      if (at++ % stride != 0) continue;
      const std::int64_t now = std::max<std::int64_t>(0, row[s].count());
      const std::int64_t before = std::max<std::int64_t>(0, row[s - 1].count());
      out.works.push_back(now);
      ++out.pairs;
      if (now != before) out.changes.push_back(std::abs(now - before));
    }
  return out;
}

bool is_multiple(std::int64_t value, std::int64_t one) {
  const std::int64_t off = value % one;
  return std::min(off, one - off) <= one / kOff;
}

bool are_multiples(const std::vector<std::int64_t>& values, std::int64_t one) {
  const auto count = std::ranges::count_if(values, [one](std::int64_t v) { return is_multiple(v, one); });
  return static_cast<double>(count) >= kMultiples * static_cast<double>(values.size());
}

/// Whether most steps take a rank as long as the one before, to the last digit.
bool hardly_changes(const StepTable& work) {
  const Values values = values_of(work);
  return 2 * values.changes.size() <= values.pairs;
}

}  // namespace

Duration resolution_of(const StepTable& work) {
  Values values = values_of(work);
  std::vector<std::int64_t>& changes = values.changes;
  const auto count = static_cast<double>(changes.size());
  if (changes.size() < kLeastChanges || count > (1 - kNoChange) * static_cast<double>(values.pairs))
    return {};
  // Few changes may be less than one: a step that was not measured, a rank whose times have no such grid.
  const auto one_at = changes.begin() + static_cast<std::ptrdiff_t>(count * (1 - kMultiples));
  std::nth_element(changes.begin(), one_at, changes.end());
  const std::int64_t one = *one_at;
  if (!are_multiples(changes, one) || !are_multiples(values.works, one)) return {};
  const auto by_one = static_cast<double>(
      std::ranges::count_if(changes, [one](std::int64_t c) { return c <= one + one / kOff; }));
  const bool is_seen = by_one >= kByOne * count && count - by_one >= kBySeveral * count;
  return is_seen ? Duration{one} : Duration{};
}

Duration resolution_of(const Matched& matched) {
  std::vector<std::int32_t> some;
  const std::size_t stride = matched.ranks() / kMostRanks + 1;
  for (std::size_t r = 0; r < matched.ranks(); r += stride) some.push_back(static_cast<std::int32_t>(r));
  const StepTable work = matched.by_step(InStep::Work, some);
  const Duration seen = resolution_of(work);
  return seen > Duration::zero() || !hardly_changes(work) ? seen : matched.resolution();
}

}  // namespace cox::diagnose
