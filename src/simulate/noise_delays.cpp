// SPDX-License-Identifier: Apache-2.0
#include "simulate/noise_delays.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "cox/base/random.hpp"

namespace cox::simulate {
namespace {

constexpr std::uint32_t kPhase = 2;  // purpose of a stream
constexpr int kMostDraws = 1000;

}  // namespace

double Daemon::delay(std::uint64_t seed, std::uint64_t unit, double now, double work) const {
  const double phase = RandomStream(seed, draws.stream(kPhase)).uniform(0, unit) * period;
  const double turn = std::max(0.0, std::ceil((now - phase) / period));
  double left = work - (phase + turn * period - now);  // work after the first interruption
  if (left <= 0) return 0;
  // Between two beginnings the work advances by the period less what the daemon took.
  double added = 0;
  int drawn = 0;
  for (; !draws.constant() && left > 0 && drawn < kMostDraws; ++drawn) {
    double lasts = 0;
    draws.amounts(seed, static_cast<std::uint64_t>(turn) + static_cast<std::uint64_t>(drawn), unit,
                  {&lasts, 1});
    added += lasts;
    left -= period - lasts;
  }
  if (left > 0) added += std::ceil(left / (period - draws.mean())) * draws.mean();
  return added;
}

double DetourReplay::delay(std::uint64_t seed, std::uint64_t unit, double now, double work) const {
  if (detours.at.empty()) return 0;
  const double window = detours.window;
  const double phase = RandomStream(seed, draws.stream(kPhase)).uniform(0, unit) * window;
  // Any stretch as long as the window meets each detour once.
  const double laps = std::floor(work / (window - detours.total));
  double added = laps * detours.total;
  double left = work - laps * (window - detours.total);
  const double since = now + phase + laps * window;
  double at = since - std::floor(since / window) * window;  // place in the recording
  auto i = static_cast<std::size_t>(std::ranges::lower_bound(detours.at, at) - detours.at.begin());
  while (true) {
    if (i == detours.at.size()) {
      i = 0;
      at -= window;
    }
    const double until = std::max(0.0, detours.at[i] - at);
    if (until >= left) return added;
    left -= until;
    added += detours.lasts[i];
    at = std::max(at, detours.at[i]) + detours.lasts[i];
    ++i;
  }
}

}  // namespace cox::simulate
