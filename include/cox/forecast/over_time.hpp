// SPDX-License-Identifier: Apache-2.0
/// \file
/// How the structure of a long run changes: windows, change points, what restarts bring, and an early warning.
/// Definitions and limits: docs/concepts/structure.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/diagnose/change_points.hpp"
#include "cox/forecast/structure.hpp"

namespace cox::forecast {

/// Whether a few figures in a row rise.
struct Trend {
  double tau = 0;     ///< Kendall's: 1 = each is above all before it
  double chance = 1;  ///< of as high a tau where the order says nothing; exact
};
/// Variance and memory of a run in windows that do not overlap.
struct EarlyWarning {
  int windows = 0;               ///< 0 = the run is too short for its memory: no verdict
  std::int64_t steps = 0;        ///< of a window
  std::vector<double> spread{};  ///< of each window: scaled MAD of step times over their median
  std::vector<double>
      memory{};  ///< correlation of a rank's own work with the step before (of step times, one rank known)
  std::vector<double> margin{};  ///< ln of the factor to the boundary; empty = not asked for
  Trend spread_rises{};
  Trend memory_rises{};
  std::optional<Trend> margin_falls{};
  bool alarm = false;  ///< one of them, at 5 % divided by how many there are
};
/// Steps of a window: [first, first + count).
struct StepRange {
  std::size_t first = 0;
  std::size_t count = 0;
};
/// Whether steps after a restart are as steady as before it.
enum class AfterRestart : std::uint8_t {
  NoVerdict,  ///< fewer than 4 restarts
  Lower,
  Equal,  ///< the interval lies within a factor 1.25 of 1
  Higher,
  Undecided,  ///< the interval holds 1 and more than that
};
[[nodiscard]] std::string_view name_of(AfterRestart verdict);

struct RestartTest {
  AfterRestart verdict = AfterRestart::NoVerdict;
  int restarts = 0;  ///< with enough steps on both sides
  double ratio = 1;  ///< spread after over spread before
  double low = 0;    ///< of 95 %
  double high = 0;
};
/// A figure of the structure that goes up or down from window to window.
struct FigureTrend {
  std::string
      figure{};  ///< `amplification`, `effective ranks that set the pace`, `communication that nothing hides`
  double first = 0;
  double last = 0;
  double tau = 0;
  double chance = 1;  ///< two-sided, exact
};

struct WindowStructure {
  StepRange steps{};
  Structure structure{};
};

struct OverTime {
  std::vector<WindowStructure> windows{};  ///< empty = too short
  std::vector<FigureTrend> trends{};
  std::vector<diagnose::ChangePoint> changes{};  ///< of step times; numbers of steps are the run's
  EarlyWarning warning{};
  RestartTest restarts{};
};

}  // namespace cox::forecast
