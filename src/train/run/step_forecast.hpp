// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the first steps say of the rest.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cox/base/units.hpp"

namespace cox::train {

/// The mean step of those behind the first, before they were taken and after.
struct StepForecast {
  std::int64_t from = 0;  ///< steps that were looked at: number `from` (from 1 on, of this run) to `to`
  std::int64_t to = 0;
  Seconds mean{}, low{}, high{};  ///< predicted, with 95 %
  Seconds measured{};             ///< mean of all steps behind `to`
  std::int64_t rest = 0;          ///< how many these are

  [[nodiscard]] bool held() const { return low <= measured && measured <= high; }
};

/// Fewest steps of which some predict the rest.
inline constexpr std::int64_t kLeastForecastSteps = 30;

/// Mean over `first`, and where the mean of `rest` steps like them falls with 95 %: the spread of means of blocks of neighbours
/// (length: the root of how many there are), widened by sqrt(1 + first / rest) for the rest being a sample, too. It says nothing of what comes later and was not
/// in the first ones. Pre: some steps. Source: Künsch 1989 for blocks.
/// Held by: src/train/run/step_forecast_test.cpp (how often it holds)
[[nodiscard]] StepForecast forecast_steps(std::span<const double> first, std::int64_t rest);

/// Told each step's time; predicts as soon as it has seen a fifth of them (10 to 200), without the first three.
class StepWatch {
 public:
  explicit StepWatch(std::int64_t steps);
  void took(Seconds step);
  /// Nothing where there were too few steps.
  [[nodiscard]] std::optional<StepForecast> forecast() const;

 private:
  std::int64_t steps_, seen_ = 0;
  std::size_t wanted_;
  std::vector<double> first_;
  Seconds behind_{};
  std::optional<StepForecast> made_;
};

}  // namespace cox::train
