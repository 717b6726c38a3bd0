// SPDX-License-Identifier: Apache-2.0
/// \file
/// How the structure of a long run changes: windows, change points, what restarts bring, and an early warning.
/// Definitions and limits: docs/concepts/structure.md.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/diagnose/time_structure.hpp"
#include "cox/forecast/sample.hpp"
#include "cox/forecast/structure.hpp"

namespace cox::forecast {

/// Whether a few figures in a row rise.
struct Trend {
  double tau = 0;     ///< Kendall's: 1 = each is above all before it
  double chance = 1;  ///< of as high a tau where the order says nothing; exact
};
/// Source: Kendall 1938; the law of the number of inversions by its recursion. Ties count as half each way, which makes
/// `chance` too large. Pre: at most 100 values (asserted). Held by: src/forecast/structure/early_warning_test.cpp
[[nodiscard]] Trend rising(std::span<const double> values);

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
/// Alarms in at most 5 % of stationary runs, whatever the law of their times: windows that can be exchanged have an exact
/// test. Windows are at least 20 correlation times, (1 + phi) / (1 - phi) steps, and 50 steps long; there are 5 to
/// `most_windows` of them, else no verdict. `margins`: one per window of `windows_of(sample)`, or empty.
/// Held by: src/forecast/structure/early_warning_test.cpp (false alarms and power, counted)
[[nodiscard]] EarlyWarning early_warning(const Sample& sample, std::span<const double> margins = {},
                                         int most_windows = 10);

/// Steps of a window: [first, first + count).
struct StepRange {
  std::size_t first = 0;
  std::size_t count = 0;
};
/// Windows of equal length, as `early_warning` takes them; what is left over stands before the first. Empty = too short.
[[nodiscard]] std::vector<StepRange> windows_of(const Sample& sample, int most_windows = 10);
/// These steps alone.
[[nodiscard]] Sample cut(const Sample& sample, StepRange steps);

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
/// Per restart ln MAD of the step times in `around` steps after it less that before it; Student's t over restarts.
/// `restarts`: index of the first step after each, ascending. Between two restarts steps count once: half for each.
/// Restarts with fewer than 20 steps on a side are left out. Held by: src/forecast/structure/over_time_test.cpp
[[nodiscard]] RestartTest after_restarts(std::span<const SampleStep> steps,
                                         std::span<const std::size_t> restarts, std::size_t around = 200);
/// Where a sample's steps tell of one: a number that was there before, or steps that follow each other with a gap of more
/// than ten usual steps between them.
[[nodiscard]] std::vector<std::size_t> restarts_of(const Sample& sample);

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

/// How far a window is from the boundary, ln of the factor; nothing = it cannot be told.
using MarginOf = std::function<std::optional<double>(const Sample& window)>;

/// Errors: those of `structure_of`. Cost: that of `structure_of`, and one call of `margin` per window.
/// Held by: src/forecast/structure/over_time_test.cpp
[[nodiscard]] Result<OverTime> over_time_of(const Sample& sample, const MarginOf& margin = {});

}  // namespace cox::forecast
