// SPDX-License-Identifier: Apache-2.0
/// \file
/// A forecast with everything that it rests on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/forecast/forecast.hpp"
#include "cox/model/scenario.hpp"

#include "forecast/answer/detail.hpp"
#include "forecast/answer/goodness.hpp"
#include "forecast/calibrate/parts.hpp"
#include "forecast/calibrate/run_parameters.hpp"
#include "forecast/control/carried.hpp"
#include "forecast/control/control.hpp"
#include "forecast/learned/learned.hpp"
#include "forecast/project/project.hpp"
#include "forecast/sample/sample.hpp"
#include "forecast/simulated/simulated_sizes.hpp"

namespace cox::forecast {

/// What a forecast is made from: samples of one job, or sizes and values of it, or a Scenario.
struct Evidence {
  std::vector<Input> inputs{};
  std::vector<Sample> samples{};
  std::vector<Curve> curves{};
  std::optional<model::Scenario> scenario{};
  std::optional<StatedJob> stated{};
};

/// What was asked, with what tests and benchmarks set beside.
struct Asked : Question {
  ProjectOptions project{};
  GoodnessOptions goodness{};
};

/// The answer, whole.
struct FullForecast : Forecast {
  std::optional<Parts> parts{};  ///< none where only sizes and values are known
  WorkSources sources{};         ///< of a Scenario that was given: mechanisms under its own names
  RestAt rest{};  ///< communication at other sizes, as the projection takes it; empty = as its parts say
  RestWithLinks links{};  ///< of a Scenario that was given: the same with other links; empty = not known
  RestWithLinks exact_links{};  ///< each of them simulated
  KnownUpTo known{};            ///< of a Scenario that was given; empty = all is known
  std::int64_t simulated_to =
      0;               ///< the largest size up to which bends are looked for that is; 0 = all are known
  ScalingJob named{};  ///< of a stated job: its terms, by ranks; no function = none
  std::optional<model::Scenario>
      failing{};                       ///< the same: what fails, checkpoints as often as is best at each size
  Prior prior{};                       ///< as it was asked
  GrowthPrior growth{};                ///< of a Run of one size
  OverPartsAt over_parts{};            ///< of a Scenario that was given, as the projection takes it
  std::optional<Goodness> goodness{};  ///< none where there is nothing recorded to compare with
  std::string no_goodness{};           ///< why there is none; empty = there is
  bool calibrated = false;             ///< `scenario` is made of samples
  ToldSteps told{};                    ///< of them, beside it
  CheckedSizes simulated{};            ///< of a Scenario that was given
  RunParameters run{};                 ///< what Runs tell beside own work; empty for other inputs
  std::optional<StructureDetail> detail{};    ///< where it was asked for
  std::optional<FullControl> full_control{};  ///< `control` is what a page shows of it
};

/// Reads nothing, prints nothing.
///
/// Errors:  forecast-006 (inputs that do not go together), those of `calibrate` and `parts_of`. A Scenario that cannot be
///          made, and what cannot be compared, is said in the answer.
/// Cost:    calibration, 0.2 ms x (sizes x replicates + 1,000), goodness. Threads: same result for any number.
/// Held by: src/forecast/answer/forecast_test.cpp, tests/golden/forecast.golden
[[nodiscard]] Result<FullForecast> make_forecast(const Evidence& evidence, const Asked& question);

/// Levers and a target by the job's parts, into `control`, at the largest size asked that has a number (`margins_at`), else at
/// the measured one: for Runs, and for Scenarios whose steps are no training.
/// Pre: forecast.parts (asserted). Cost: that of `compare_part_levers`. Held by: src/forecast/answer/part_control_test.cpp
void add_part_levers(FullForecast& forecast, const Evidence& evidence, const Asked& asked,
                     const ControlQuestion& question);

/// Levers of who waits for whom, of a Run: its calibrated Scenario is simulated with each, as training steps on common draws, at the size
/// that was recorded. Where that Scenario does not reproduce the recorded steps there are none; `control` says which, and why.
/// Cost: that of `compare_levers`, of 500 recorded steps at most. Held by: src/forecast/answer/part_control_test.cpp
void add_played_levers(FullForecast& forecast, const ControlQuestion& question);

/// The first screen, a line each.
[[nodiscard]] std::vector<TextLine> text_lines(const FullForecast& forecast, bool all = false);
/// Schema cox.forecast/1: docs/reference/forecast-json.md.
[[nodiscard]] std::string to_json(const FullForecast& forecast, const std::vector<std::string>& inputs);

}  // namespace cox::forecast
