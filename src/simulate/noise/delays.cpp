// SPDX-License-Identifier: Apache-2.0
#include "simulate/noise/delays.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "cox/base/random.hpp"

namespace cox::simulate {
namespace {

constexpr std::uint32_t kPhase = 2;  // purpose of a stream
constexpr int kMostDraws = 1000;

}  // namespace

double Daemon::lasts(std::uint64_t seed, std::uint64_t unit, double turn) const {
  if (draws.constant()) return draws.mean();
  double value = 0;
  draws.amounts(seed, static_cast<std::uint64_t>(turn), unit, {&value, 1});
  return value;
}

double Daemon::delay(std::uint64_t seed, std::uint64_t unit, double now, double work) const {
  if (work <= 0) return 0;
  const double phase = RandomStream(seed, draws.stream(kPhase)).uniform(0, unit) * period;
  // of the first that begins from now on
  const double turn = std::max(0.0, std::ceil((now - phase) / period));
  const double begins = phase + turn * period;
  const double running = turn > 0 ? std::max(0.0, begins - period + lasts(seed, unit, turn - 1) - now) : 0;
  double left = work - std::max(0.0, begins - (now + running));  // when that first one begins
  if (left <= 0) return running;
  // Between two beginnings the work advances by the period less what the daemon took.
  double added = running;
  int drawn = 0;
  for (; !draws.constant() && left > 0 && drawn < kMostDraws; ++drawn) {
    const double taken = lasts(seed, unit, turn + drawn);
    added += taken;
    left -= period - taken;
  }
  if (left > 0) added += std::ceil(left / (period - draws.mean())) * draws.mean();
  return added;
}

double DetourReplay::delay(std::uint64_t seed, std::uint64_t unit, double now, double work) const {
  if (detours.at.empty() || work <= 0) return 0;
  const double window = detours.window;
  const double phase = RandomStream(seed, draws.stream(kPhase)).uniform(0, unit) * window;
  // Any stretch as long as the window meets each detour once.
  const double laps = std::floor(work / (window - detours.total));
  double added = laps * detours.total;
  double left = work - laps * (window - detours.total);
  const double since = now + phase + laps * window;
  double at = since - std::floor(since / window) * window;  // place in the recording
  auto i = static_cast<std::size_t>(std::ranges::lower_bound(detours.at, at) - detours.at.begin());
  // one that is running when the work begins
  const std::size_t before = i == 0 ? detours.at.size() - 1 : i - 1;
  const double began = detours.at[before] - (i == 0 ? window : 0);
  const double running = std::max(0.0, began + detours.lasts[before] - at);
  added += running;
  at += running;
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
