// SPDX-License-Identifier: Apache-2.0
/// \file
/// All of a forecast: what was seen, what it comes to at other sizes, and how far that can be believed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/power.hpp"
#include "cox/base/result.hpp"
#include "cox/base/text_line.hpp"
#include "cox/base/units.hpp"
#include "cox/forecast/checkpoints.hpp"
#include "cox/forecast/control.hpp"
#include "cox/forecast/curves.hpp"
#include "cox/forecast/learning.hpp"
#include "cox/forecast/margin.hpp"
#include "cox/forecast/over_time.hpp"
#include "cox/forecast/prior.hpp"
#include "cox/forecast/project.hpp"
#include "cox/forecast/regimes.hpp"
#include "cox/forecast/scaling_job.hpp"
#include "cox/forecast/stated_job.hpp"
#include "cox/forecast/structure.hpp"
#include "cox/model/scenario.hpp"
#include "cox/trace/run.hpp"

namespace cox::forecast {

/// What an input turned out to be.
enum class InputKind : std::uint8_t { Run, StepTable, SizeTable, Scenario, Study };
[[nodiscard]] const char* name_of(
    InputKind kind);  ///< `run`, `step-table`, `size-table`, `scenario`, `study`

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

/// Who sets the pace, and where a delay goes.
struct StructureQuestion {
  bool asked = false;              ///< the long form; else only what the sample itself tells
  std::optional<Seconds> delay{};  ///< that hits one rank once; empty = three deviations of a rank's work
  bool drawn = false;              ///< for a page: what of it has to be simulated
};

/// What was asked.
struct Question {
  std::vector<std::int64_t> sizes{};
  bool sizes_are_said = true;  ///< false: nobody asked for these, so of a scenario little time goes into them
  Scaling scaling = Scaling::Weak;
  int threads = 1;
  /// Of a job whose input says none: what stops it, and what it writes against that. Empty = nothing fails.
  model::Failures failures{};
  std::function<void(std::int64_t done, std::int64_t total)>
      progress{};  ///< parts of the work; from one thread
  StructureQuestion structure{};
  Prior prior{};  ///< where no input says it
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
  ShareBand goodput{};      ///< of `shares.work`: docs/concepts/goodput.md says of what
  ShareBand throughput{};   ///< of what counts per wall time, over its value: the same, and the step's band
  ShareBand net{};  ///< of the net speed-up: throughput over that of the same draw at the size that was seen
};

/// What is left of a delay that hits one rank once.
struct DelayOverSteps {
  Seconds delay{};
  std::int32_t rank = 0;
  std::vector<Proportion> kept{};  ///< by step, from the one that it hits on; interval of 95 % over replicas
};

/// What a page draws beside what was recorded: `drawn_structure.hpp` of src/forecast/answer.
struct DrawnStructure {
  std::optional<Structure> structure{};  ///< of a Scenario, simulated
  std::optional<OverTime> over_time{};   ///< the same
  std::optional<DelayOverSteps> delay{};
  std::optional<KeptPart> kept{};  ///< of as long a delay, mean over ranks and steps
  std::string why_not{};           ///< what of it is not there, and why
};

/// What a stated job says of itself, for a page.
struct JobWords {
  std::string system{};
  std::string mode{};
  std::string runtime{};
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

/// What control makes of a stated job, in ranks.
struct ControlledJob {
  std::string what{};
  Regimes regimes{};
  std::vector<ControlledSize> sizes{};  ///< those asked that have a number
  double most = 1;                  ///< throughput where it is highest, over that of the job as it is, there
  std::optional<ScalingJob> job{};  ///< with control, at any number of ranks
};

/// The answer, as far as a page of it needs. What it rests on lies beside its source: src/forecast/answer.
struct Forecast {
  std::string name{};
  std::vector<Input> inputs{};
  std::int64_t seen_ranks = 0;           ///< the largest size that was measured or said
  std::optional<CurveForecast> curve{};  ///< where only sizes and values are known
  Projection projection{};               ///< at the sizes asked
  SizePoint seen{};                      ///< at `seen_ranks`: what throughput is compared with
  std::vector<SizeGoodput> goodput{};    ///< in the order of the projection's points; empty = nothing fails
  SizeGoodput at_seen{};                 ///< at `seen_ranks`, where something fails
  std::vector<MeasuredSize> measured{};
  std::vector<std::string> contradictions{};  ///< between inputs, one sentence each
  std::string
      misfit{};  ///< why the calibrated Scenario does not reproduce the recorded steps; empty = it does, or there is none
  std::optional<model::Scenario> scenario{};  ///< calibrated, or as it was given
  std::string no_scenario{};                  ///< why there is none; empty = there is
  std::vector<std::string> scenario_notes{};  ///< what was assumed in it, one sentence each
  std::optional<Structure> structure{};       ///< of the largest sample
  std::optional<OverTime> over_time{};        ///< of the same
  std::optional<ScalingJob>
      job{};  ///< at any number of ranks: of it regimes are read; empty = no size has a number
  std::optional<Regimes> regimes{};
  std::optional<Margins> margins{};  ///< at the largest size asked that is not refused
  std::int64_t margins_at = 0;       ///< that size
  std::vector<std::string>
      not_seen;  ///< what would change the answer and is not in the data, one sentence each
  std::vector<std::string> left_out{};      ///< of the inputs, one sentence each
  std::optional<Control> control{};         ///< where it was asked for
  std::optional<LearnedControl> learned{};  ///< where it was asked for
  std::optional<DrawnStructure> drawn{};    ///< where it was asked for
  std::optional<JobWords> job_words{};      ///< of a stated job, as the next one
  std::optional<ControlledJob> controlled_job{};

  /// At `seen_ranks`; 1 where nothing fails.
  [[nodiscard]] double goodput_seen() const { return goodput.empty() ? 1 : at_seen.shares.work; }
  /// Throughput over that at `seen_ranks`. Weak scaling: ranks over step; strong: one over step.
  [[nodiscard]] double speed_up(const SizePoint& point) const;
  /// Of the i-th size asked, which is not refused. Without failures it is as if nothing were written or lost.
  [[nodiscard]] NodeHours node_hours(std::size_t i) const;
  /// What all nodes, and spares, draw for a step that counts, at the i-th size asked, which is not refused: with what failures take.
  /// Work that is done again draws as it did. Empty = the scenario tells no power, or no work counts.
  /// Held by: NodeHours.EnergyOfAStepIsThatOfTheSimulation
  [[nodiscard]] std::optional<Energy> energy_of_step(std::size_t i) const;
  /// The same of a sample, over that at `seen_ranks`: as many samples a rank at any size, or (strong scaling) a step.
  /// Held by: NodeHours.EnergyOfASampleIsThatOfAStepOverItsRanks
  [[nodiscard]] std::optional<double> energy_of_sample(std::size_t i) const;
  /// Elasticity of throughput at the i-th size asked, with failures where there are some.
  [[nodiscard]] double elasticity(std::size_t i) const;
  /// Of it; the size of most throughput is the last that is not in collapse, though more ranks do less.
  /// Held by: Ratios.TheSizeOfMostThroughputIsNotInCollapse
  [[nodiscard]] Regime regime(std::size_t i) const;
  /// Throughput over that at `seen_ranks`, at the i-th size asked, both with what failures take; 0 where
  /// either gets nowhere.
  [[nodiscard]] double net_speed_up(std::size_t i) const;
};

struct Evidence;
struct FullForecast;

/// What a forecast is made from: samples of one job, or sizes and values of it, or a Scenario.
class ReadEvidence {
 public:
  ReadEvidence();
  /// A table of ours; false where the file is something else.
  /// Errors: forecast-003 (a line that cannot be read), base-002, base-003, base-004.
  [[nodiscard]] Result<bool> add_table(const std::string& path);
  /// A Run, recorded, imported or simulated; `path` is where it is from.
  /// Errors: forecast-002 (no steps, or fewer than two of one kind); nothing is added then.
  [[nodiscard]] Status add_run(const std::string& path, const trace::Run& run, int threads);
  /// Errors: forecast-006 (there is one already).
  [[nodiscard]] Status add_scenario(const std::string& path, model::Scenario scenario);
  /// A study that states a job. Errors: forecast-006 (there is one already).
  [[nodiscard]] Status add_stated(const std::string& path, StatedJob job);
  [[nodiscard]] const std::vector<Input>& inputs() const;
  /// The largest size that was measured or said; 0 = none.
  [[nodiscard]] std::int64_t largest() const;
  /// Whether a scenario's batch is the same at any size (`job.global_batch`): then it scales strongly.
  [[nodiscard]] bool fixes_batch() const;
  [[nodiscard]] const Evidence& all() const { return *evidence_; }

 private:
  std::shared_ptr<Evidence> evidence_;
};

/// A forecast with everything that it rests on.
class MadeForecast {
 public:
  explicit MadeForecast(FullForecast whole);
  [[nodiscard]] const Forecast& shown() const;
  /// What would help, what failures leave, how long a training takes. Levers of training steps change the Scenario, those
  /// of all other jobs its parts. `asked`: what this forecast was made of.
  /// Errors: forecast-035 (there is no scenario to change), those of the parts.
  [[nodiscard]] Status add_control(const ControlQuestion& question, const ReadEvidence& evidence,
                                   const Question& asked);
  /// What levers and sizes do to learning, beside what they do to throughput: of a Scenario, or of Runs, whose calibrated Scenario is
  /// learned, each rank as a worker. Behind `add_control`, whose levers it takes.
  /// Errors: forecast-038 (no Scenario of training steps, a calibrated one that does not reproduce the Run, ranks that are not
  /// replicas); those of the question's `learn`.
  [[nodiscard]] Status add_learning(const LearningQuestion& question, const ReadEvidence& evidence,
                                    const Question& asked);
  /// The first screen, a line each.
  [[nodiscard]] std::vector<TextLine> text_lines(bool all = false) const;
  /// Schema cox.forecast/1: docs/reference/forecast-json.md.
  [[nodiscard]] std::string to_json(const std::vector<std::string>& inputs) const;

 private:
  std::shared_ptr<FullForecast> whole_;
};

/// Reads nothing, prints nothing.
///
/// Errors:  forecast-006 (inputs that do not go together), those of calibration. A Scenario that cannot be
///          made, and what cannot be compared, is said in the answer.
/// Cost:    calibration, 0.2 ms x (sizes x replicates + 1,000), goodness. Threads: same result for any number.
/// Held by: src/forecast/answer/forecast_test.cpp, tests/golden/forecast.golden
[[nodiscard]] Result<MadeForecast> make_forecast(const ReadEvidence& evidence, const Question& question);

}  // namespace cox::forecast
