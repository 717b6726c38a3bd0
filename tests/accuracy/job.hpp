// SPDX-License-Identifier: Apache-2.0
/// \file
/// Jobs of several synchronisations per step with noise of several kinds, and ranks that are late in them.
#pragma once

#include <cstdint>
#include <vector>

#include "cox/trace/run.hpp"

namespace cox::accuracy {

enum class Noise : std::uint8_t {
  Normal,
  Skewed,     ///< exponential: many short, few long
  HeavyTail,  ///< Pareto, shape 1.7
  Wandering,  ///< autoregressive from step to step
  Crowded,    ///< neighbours share a core: one of them is held up now and then
};
inline constexpr int kNoises = 5;

struct JobShape {
  int ranks = 8;
  int steps = 100;
  int positions = 1;  ///< synchronisations per step
  Noise noise = Noise::Normal;
  double unit = 0.05;        ///< what noise alone costs per step and position, as part of a step
  double correlation = 0.7;  ///< of wandering noise, from step to step
  double uneven = 0;         ///< sigma of the lognormal law of how much noise each rank has
  double unlike = 0;         ///< ranks differ for good by up to this part of a step, each by its own
  /// own work is a multiple of this part of a step, as a coarse clock tells it; 0: any
  double resolution = 0;
  /// several hosts whose clocks differ, and members that leave as far apart as they enter
  bool apart = false;
  std::uint64_t seed = 1;
};

/// A job before anybody is late on purpose: own work in seconds.
class NoisyJob {
 public:
  explicit NoisyJob(const JobShape& shape);
  [[nodiscard]] const JobShape& shape() const { return shape_; }
  /// Mean over steps of latest minus median own work before a synchronisation: the noise, in seconds.
  [[nodiscard]] double unit(int position) const { return units_[static_cast<std::size_t>(position)]; }
  /// More own work, told as all is.
  void add(int rank, int step, int position, double seconds) {
    double& work = work_[at(rank, step, position)];
    work = told(work + seconds);
  }
  /// Of its times, in seconds; 0: any.
  [[nodiscard]] double resolution() const;
  /// The Run that this leaves.
  [[nodiscard]] trace::Run run() const;

 private:
  [[nodiscard]] double told(double seconds) const;
  [[nodiscard]] std::size_t at(int rank, int step, int position) const {
    return (static_cast<std::size_t>(step) * static_cast<std::size_t>(shape_.positions) +
            static_cast<std::size_t>(position)) *
               static_cast<std::size_t>(shape_.ranks) +
           static_cast<std::size_t>(rank);
  }

  JobShape shape_;
  std::vector<double> work_;
  std::vector<double> units_;
};

}  // namespace cox::accuracy
