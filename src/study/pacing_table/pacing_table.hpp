// SPDX-License-Identifier: Apache-2.0
/// \file
/// Table 1 of "When Scaling Fails" redone: physical mechanisms fitted to its Baseline column, its
/// Coordination column predicted with the controller of `pace`, and what no fit can tell.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/pace/settings.hpp"
#include "cox/study/answer.hpp"

namespace cox::study {

/// One size of the table, as printed there.
struct TableRow {
  int nodes = 0;
  double baseline_rate = 0;  ///< samples per second, all nodes
  double baseline_cv = 0;    ///< of the iteration time
  double coordination_rate = 0;
  double coordination_cv = 0;
};

/// Table 1 of the paper, section 6.4. It prints neither the samples per iteration nor what is slow: those
/// stand in `TableAssumptions`.
inline constexpr std::array<TableRow, 5> kPaperTable = {{{4, 1024, 0.02, 1018, 0.02},
                                                         {8, 1980, 0.04, 1995, 0.03},
                                                         {16, 3600, 0.09, 3720, 0.05},
                                                         {32, 5800, 0.15, 6250, 0.07},
                                                         {64, 8200, 0.22, 9100, 0.09}}};

/// What the paper does not say and the Baseline column cannot tell; chosen before any prediction was made.
/// Samples per iteration set the scale of time. A quarter of the nodes slow by half is the one condition with
/// a shared link and a lasting imbalance that was measured on real processes before this study.
struct TableAssumptions {
  int samples_per_node = 32;
  double slow_share = 0.25;
  double slow_factor = 1.5;
  int steps = 2048;  ///< of one simulated run
  int seeds = 8;     ///< 1, 2, ...
};

/// What makes an iteration longer and less regular on more nodes. Every one: four parameters.
enum class Mechanism : std::uint8_t {
  Input,     ///< a link that all nodes share at the start of the iteration (input, storage), load by others
  Uplink,    ///< the same link at its end, under the all-reduce
  Timeouts,  ///< rare timeouts of single messages of a ring all-reduce; each holds up everybody
};
inline constexpr std::array kMechanisms = {Mechanism::Input, Mechanism::Uplink, Mechanism::Timeouts};
[[nodiscard]] std::string_view name_of(Mechanism m);  ///< `input`, `uplink`, `timeouts`

/// Parameters of a mechanism. Two are of all, two more of each kind.
///
/// Formula: Input, Uplink: iteration = compute + per_node x max(n x load, alone), load lognormal with mean 1
/// and coefficient of variation `spread`, drawn anew per iteration and alike for all nodes.
/// Timeouts: iteration = compute + per_node x (n - 1) + timeout x longest chain of timeouts, each of the
/// 2 n (n - 1) messages of the ring being hit with probability `chance`.
struct TableParameters {
  Seconds compute{};   ///< of the slowest nodes
  Seconds per_node{};  ///< Input, Uplink: the link's mean time for one node's bytes; Timeouts: two latencies
  double alone = 0;    ///< Input, Uplink: as many nodes fit on the link at their own line rate
  double spread = 0;   ///< Input, Uplink: of the link's time per byte, from iteration to iteration
  double chance = 0;   ///< Timeouts: per message
  Seconds timeout{};   ///< Timeouts
};

/// Mean and standard deviation of the iteration time.
struct IterationLaw {
  Seconds mean{};
  Seconds deviation{};
  [[nodiscard]] double cv() const { return deviation / mean; }
};

/// Without pacing. Input, Uplink: closed form (moments of a lognormal cut off below). Timeouts: draws, the
/// same ones for any parameters. Held by: src/study/pacing_table/pacing_table_test.cpp
[[nodiscard]] IterationLaw baseline_law(Mechanism m, const TableParameters& p, int nodes);

struct FittedRow {
  int nodes = 0;
  double rate = 0;  ///< samples per second
  double cv = 0;
};

struct TableFit {
  Mechanism mechanism = Mechanism::Input;
  TableParameters parameters;
  std::array<double, 4> relative_error{};  ///< of each parameter: see `fit_table`
  double misfit = 0;                       ///< sum of squares; 10 numbers less 4 parameters
  std::vector<FittedRow> rows;             ///< of the table's sizes
};

/// Name, unit and meaning of the four fitted parameters of a mechanism, in the order of `relative_error`.
struct TableParameter {
  std::string_view name;
  std::string_view meaning;
};
[[nodiscard]] std::span<const TableParameter> parameters_of(Mechanism m);
/// As text with its unit: `118.3 ms`.
[[nodiscard]] std::string text_of_parameter(Mechanism m, const TableParameters& p, std::size_t index);

/// Fits a mechanism to the Baseline columns.
///
/// Formula: least sum of ((rate / printed - 1) / 1 %)^2 + ((cv - printed) / 0.01)^2, by the simplex method
/// (Nelder, Mead 1965) on the logarithms of the parameters, from fixed starts, a fixed number of evaluations.
/// Errors of the parameters: square roots of the diagonal of (J'J)^-1 at that scale of the residuals;
/// infinite where J'J is singular. Errors: study-003 (fewer than three rows, a number that is not positive,
/// CV not below 1, more than 4096 nodes). Deterministic. Held by:
/// src/study/pacing_table/pacing_table_test.cpp
[[nodiscard]] Result<TableFit> fit_table(Mechanism m, std::span<const TableRow> rows,
                                         const TableAssumptions& assumed);

/// One simulated size under one mode.
struct PredictedRow {
  int nodes = 0;
  double rate = 0;
  double rate_half_width_95 = 0;
  double gain = 0;  ///< of the rate, against the same draws with mode off
  double gain_half_width_95 = 0;
  double cv = 0;
  double cv_half_width_95 = 0;
  double delay_ratio = 0;  ///< mean delay of a fast node over the mean iteration
};

/// Runs the mechanism with one `pace::Controller` per node, each told what its node sees: the engine of the
/// shared link is `simulate::SharedResource`, processor sharing, with what the Baseline columns ask for and
/// `model::Iteration` has not: a line rate per node, a load that varies, timeouts. Whole runs are counted,
/// from the first step. `settings` as it stands but for seed. Mode off gives gain 0.
/// Errors: study-003 (as `fit_table`; also slow share outside [0, 1], factor below 1, fewer than 2 seeds,
/// more than 10^9 node steps). The same bytes for any number of threads.
/// Cost: some 10 ns per node and step.
/// Held by: src/study/pacing_table/pacing_table_test.cpp
[[nodiscard]] Result<std::vector<PredictedRow>> predict_table(Mechanism m, const TableParameters& p,
                                                              std::span<const int> sizes,
                                                              const pace::Settings& settings,
                                                              const TableAssumptions& assumed,
                                                              const ComputeOptions& options = {});

/// Prediction of one mechanism: published rule and `auto`.
struct TablePrediction {
  TableFit fit;
  std::vector<PredictedRow> off;  ///< no pacing: the simulation of what was fitted
  std::vector<PredictedRow> paper;
  std::vector<PredictedRow> automatic;
};
/// The published rule under Input with another slow share and factor, the baseline staying as it is.
struct SlackVariant {
  double slow_share = 0;
  double slow_factor = 1;
  std::vector<PredictedRow> paper;
};

/// The least CV that pacing of any kind can reach on the shared link of Input at a mean iteration `mean`.
///
/// Formula: the link has n nodes' bytes to move and the fastest node computes after its own, so iteration >=
/// compute / slow_factor + per_node x n x load in every step; of all variables above that bound with a given
/// mean, the one with the least variance is the bound cut off below at a constant, which a bisection finds.
/// NaN where the mean lies below that of the bound: such a mean cannot be reached at all.
/// Held by: src/study/pacing_table/pacing_table_test.cpp
[[nodiscard]] double least_paced_cv(const TableParameters& p, int nodes, double slow_factor, Seconds mean);

/// Table 1 redone: all that the section prints.
struct TableStudy {
  std::vector<TableRow> rows;
  TableAssumptions assumed;
  std::vector<TablePrediction> predictions;  ///< in the order of `kMechanisms`
  std::vector<SlackVariant> variants;
};
/// Errors: those of the above. Cost: a few seconds of CPU.
[[nodiscard]] Result<TableStudy> study_table(std::span<const TableRow> rows, const TableAssumptions& assumed,
                                             const ComputeOptions& options = {});

/// The section as Markdown: headings of level two and below, no title. Held by: golden/studies.
[[nodiscard]] std::string table_section(const TableStudy& study);
/// Throughput against size, CV below it: Figure 5 of the paper with our predictions.
[[nodiscard]] Picture table_picture(const TableStudy& study);

}  // namespace cox::study
