// SPDX-License-Identifier: Apache-2.0
/// \file
/// All of a forecast: what was seen, what it comes to at other sizes, and how far that can be believed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/forecast/checkpoints.hpp"
#include "cox/forecast/control.hpp"
#include "cox/forecast/curves.hpp"
#include "cox/forecast/goodness.hpp"
#include "cox/forecast/margin.hpp"
#include "cox/forecast/over_time.hpp"
#include "cox/forecast/parts.hpp"
#include "cox/forecast/project.hpp"
#include "cox/forecast/regimes.hpp"
#include "cox/forecast/run_parameters.hpp"
#include "cox/forecast/sample.hpp"
#include "cox/forecast/structure.hpp"
#include "cox/forecast/structure_detail.hpp"
#include "cox/model/scenario.hpp"

namespace cox::forecast {

/// What an input turned out to be.
enum class InputKind : std::uint8_t { Run, StepTable, SizeTable, Scenario };
[[nodiscard]] const char* name_of(InputKind kind);  ///< `run`, `step-table`, `size-table`, `scenario`

/// One input, as it was used.
struct Input {
  std::string path{};
  std::string name{};
  InputKind kind = InputKind::Run;
  std::int64_t ranks = 0;               ///< 0 = a table of several sizes
  std::int64_t nodes = 0;               ///< 0 = not known
  std::int64_t steps = 0;               ///< that carry the forecast
  std::int64_t positions = 0;           ///< synchronisations of a step
  Seconds step{};                       ///< mean length; zero = not measured
  std::vector<std::string> left_out{};  ///< of it, one sentence each
};

/// What a forecast is made from: samples of one job, or sizes and values of it, or a Scenario.
struct Evidence {
  std::vector<Input> inputs{};
  std::vector<Sample> samples{};
  std::vector<Curve> curves{};
  std::optional<model::Scenario> scenario{};
};

/// What was asked.
struct Question {
  std::vector<std::int64_t> sizes{};
  ProjectOptions project{};
  GoodnessOptions goodness{};
  /// Of a job whose input says none: what stops it, and what it writes against that. Empty = nothing fails.
  model::Failures failures{};
  std::function<void(std::int64_t done, std::int64_t total)>
      progress{};  ///< parts of the work; from one thread
  StructureQuestion structure{};
};

/// A size that was measured, beside what the forecast says of it.
struct MeasuredSize {
  std::int64_t ranks = 0;
  std::string from{};   ///< name of the input
  Seconds step{};       ///< mean
  TimeBand forecast{};  ///< of the mean, made from all inputs, this one too
  bool inside = false;  ///< of the band
};

/// What failures leave of a job at one size.
struct SizeGoodput {
  Seconds between{};        ///< failures, of all causes
  Intervals intervals{};    ///< between checkpoints, as the shares have them
  WallShares shares{};      ///< of the wall time; `work` is the goodput
  Seconds best_interval{};  ///< that of most goodput; zero = nothing is written
  double best_goodput = 0;  ///< there
  double elasticity = 0;    ///< d ln throughput / d ln ranks, with what failures take
};

/// Where a size's node hours go, as shares that add up to 1.
struct NodeHours {
  double own = 0;            ///< work of ranks
  double communication = 0;  ///< that nothing hides
  double waiting = 0;        ///< for the slowest
  double writes = 0;         ///< of checkpoints
  double rework = 0;
  double restarts = 0;
  double repair = 0;  ///< no spare node is left

  [[nodiscard]] double down() const { return restarts + repair; }
};

/// The answer.
struct Forecast {
  std::string name{};
  std::vector<Input> inputs{};
  std::int64_t seen_ranks = 0;           ///< the largest size that was measured or said
  std::optional<Parts> parts{};          ///< none where only sizes and values are known
  std::optional<CurveForecast> curve{};  ///< where only sizes and values are known
  RestAt rest{};  ///< communication at other sizes, as the projection takes it; empty = as its parts say
  Projection projection{};             ///< at the sizes asked
  SizePoint seen{};                    ///< at `seen_ranks`: what throughput is compared with
  std::vector<SizeGoodput> goodput{};  ///< in the order of the projection's points; empty = nothing fails
  double goodput_seen = 1;             ///< at `seen_ranks`
  std::vector<MeasuredSize> measured{};
  std::vector<std::string> contradictions{};  ///< between inputs, one sentence each
  std::optional<Goodness> goodness{};         ///< none where there is nothing recorded to compare with
  std::string no_goodness{};                  ///< why there is none; empty = there is
  std::optional<model::Scenario> scenario{};  ///< calibrated, or as it was given
  std::string no_scenario{};                  ///< why there is none; empty = there is
  std::vector<std::string> scenario_notes{};  ///< what was assumed in it, one sentence each
  std::optional<Structure> structure{};       ///< of the largest sample
  RunParameters run{};                        ///< what Runs tell beside own work; empty for other inputs
  std::optional<OverTime> over_time{};        ///< of the same
  std::optional<StructureDetail> detail{};    ///< where it was asked for
  std::optional<Regimes> regimes{};
  std::optional<Margins> margins{};  ///< at the largest size asked that is not refused
  std::int64_t margins_at = 0;       ///< that size
  std::vector<std::string>
      not_seen;  ///< what would change the answer and is not in the data, one sentence each
  std::vector<std::string> left_out{};  ///< of the inputs, one sentence each
  std::optional<Control> control{};     ///< of `scenario`, where it was asked for: `make_control`

  /// Throughput over that at `seen_ranks`. Weak scaling: ranks over step; strong: one over step.
  [[nodiscard]] double speed_up(const SizePoint& point) const;
  /// Of the i-th size asked, which is not refused. Without failures it is as if nothing were written or lost.
  [[nodiscard]] NodeHours node_hours(std::size_t i) const;
  /// Elasticity of throughput at the i-th size asked, with failures where there are some.
  [[nodiscard]] double elasticity(std::size_t i) const;
  /// Throughput over that at `seen_ranks`, at the i-th size asked, both with what failures take; 0 where
  /// either gets nowhere.
  [[nodiscard]] double net_speed_up(std::size_t i) const;
};

/// Reads nothing, prints nothing.
///
/// Errors:  forecast-006 (inputs that do not go together), those of `calibrate` and `parts_of`. A Scenario that cannot be
///          made, and what cannot be compared, is said in the answer.
/// Cost:    calibration, 0.2 ms x (sizes x replicates + 1,000), goodness. Threads: same result for any number.
/// Held by: src/forecast/answer/forecast_test.cpp, tests/golden/forecast.golden
[[nodiscard]] Result<Forecast> make_forecast(const Evidence& evidence, const Question& question);

/// Levers and a target by the job's parts, into `control`, at the largest size asked that has a number (`margins_at`), else at
/// the measured one: for Runs, and for Scenarios whose steps are no training.
/// Pre: forecast.parts (asserted). Cost: that of `compare_part_levers`. Held by: src/forecast/answer/part_control_test.cpp
void add_part_levers(Forecast& forecast, const Evidence& evidence, const Question& asked,
                     const ControlQuestion& question);

/// The first screen, a line each.
[[nodiscard]] std::vector<std::string> text_lines(const Forecast& forecast, bool all = false);
/// Schema cox.forecast/1: docs/reference/forecast-json.md.
[[nodiscard]] std::string to_json(const Forecast& forecast, const std::vector<std::string>& inputs);

}  // namespace cox::forecast
