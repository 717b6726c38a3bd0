// SPDX-License-Identifier: Apache-2.0
/// \file
/// A bound on staleness that follows what is measured while a run goes on.
#pragma once

#include <cstdint>

#include "cox/sync/ages.hpp"

namespace cox::learn {

/// Acts on `staleness_alarm`. At each probe: where the alarm is raised the bound is halved; where rate times curvature is below
/// a quarter of the limit of the ages since the last probe, it grows by one, up to where it began; else it stays.
/// Ages from 255 on count as 255. Cost: that of the alarm. Pure. Threads: one owner.
/// Held by: src/learn/stability/bound_follower_test.cpp
class BoundFollower {
 public:
  explicit BoundFollower(int most) : most_(most), bound_(most), least_(most) {}
  /// Of one update that was applied.
  void add(std::int64_t age) { ages_.add(age); }
  /// A probe: rate, measured curvature, momentum of a heavy ball.
  void probe(double rate, double curvature, double momentum);
  [[nodiscard]] int bound() const { return bound_; }
  [[nodiscard]] int least() const { return least_; }
  [[nodiscard]] std::int64_t probes() const { return probes_; }
  /// Of these, with the alarm.
  [[nodiscard]] std::int64_t raised() const { return raised_; }
  /// At the first probe and at the last one.
  [[nodiscard]] double first_curvature() const { return first_; }
  [[nodiscard]] double last_curvature() const { return last_; }

 private:
  int most_;
  int bound_;
  int least_;
  std::int64_t probes_ = 0;
  std::int64_t raised_ = 0;
  double first_ = 0;
  double last_ = 0;
  sync::AgeCounts ages_;  ///< since the last probe
};

}  // namespace cox::learn
