// SPDX-License-Identifier: Apache-2.0
/// \file
/// What each lever would change in a job, as ratios to the job as it is, and the cheapest set of levers that reaches a target.
/// What each lever is, and what it does not say: docs/concepts/levers.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/forecast/prior.hpp"

namespace cox::forecast {

/// What levers cost to have, on a scale without unit: stated, never measured. What is not stated is that of the scale: 1 a
/// setting or fewer of what is there, 3 code or what the model learns from, 5 a rank replaced, 30 cards, switches, all nodes.
struct LeverPrices {
  std::map<std::string, double, std::less<>> stated{};  ///< by name of the lever
  [[nodiscard]] double of(std::string_view lever) const;
};
/// `faster-links=100,overlap=2`. Errors: forecast-037 (what was read, what can be said).
/// Held by: src/forecast/levers/prices_test.cpp
[[nodiscard]] Result<LeverPrices> parse_prices(std::string_view text);

/// A job over the job as it is: 1 = the same. The interval is of 90 %, on common draws.
struct LeverRatio {
  double value = 1;
  double low = 1;
  double high = 1;
  bool operator==(const LeverRatio&) const = default;
};

/// Between which nine in ten draws of the job's parameters lie, one draw with a lever and without. Infinite: beyond what is looked at.
struct DrawnEnds {
  double low = 0;
  double high = 0;
  bool operator==(const DrawnEnds&) const = default;
};
/// What `LeverEffect::one_sum` is of.
inline constexpr std::string_view kOneSum = "gradients as one sum behind the work";

/// What a target asks for, in one draw of a job.
struct LeverFigures {
  Seconds mean{};  ///< of the step, as the next three
  Seconds median{};
  Seconds p95{};
  Seconds p99{};
  double cv = 0;
  double throughput = 1;  ///< over the job as it is in the same draw, as the next two
  double cost = 1;
  double energy = 0;  ///< 0 = not known
};

/// A job, normalised: without units. The job as it is has all ratios 1.
struct LeverEffect {
  std::vector<std::string> names;  ///< the levers that are applied; empty = the job as it is
  std::string does;
  std::string learning;
  std::string why_not;  ///< it could not be computed, and why; empty = it could
  /// Only between which ends its ratios lie is known, the job as it is being one of them: no `value` is told, nor a margin or N* but their ends.
  bool range = false;
  LeverRatio throughput;  ///< samples per time, failures included
  /// The lever is simulated without buckets and overlap, and so is the job that it is compared with: throughput of that job over the job
  /// as it is. Empty = it is simulated with all that the job has.
  std::optional<LeverRatio> one_sum;
  LeverRatio step;                   ///< mean
  std::optional<LeverRatio> cv;      ///< of the step; empty where the job as it is has none
  std::optional<LeverRatio> p99;     ///< of the step; empty where it is not known
  std::optional<LeverRatio> rework;  ///< per sample; empty where nothing fails
  std::optional<LeverRatio>
      energy;       ///< per sample; empty where power is not known or the policy tells no states
  LeverRatio cost;  ///< node hours per sample, spares included
  std::optional<double> most_nodes;  ///< N*, steps as they are at this size; empty where nothing fails
  /// Smallest change of one parameter that crosses the boundary that is next for the job as it is, as a factor of at least 1;
  /// infinite = none that is looked at does; empty = not known.
  std::optional<double> margin;
  std::optional<DrawnEnds> margin_ends;           ///< of `margin`; empty = nothing is drawn
  std::optional<DrawnEnds> most_nodes_ends;       ///< of `most_nodes`; likewise
  std::optional<DrawnEnds> most_nodes_over_ends;  ///< of `most_nodes_over`, draw by draw; likewise
  double price = 0;                               ///< of the levers, as `LeverPrices` says
  LeverFigures now{};                             ///< what a target compares with
  std::vector<LeverFigures> seeds{};              ///< simulated: of each seed
  std::vector<std::vector<LeverFigures>>
      draws{};  ///< by parts: of their parameters, and with what was not seen
  /// The figure of a target over what it allows (what it wants over the figure, where that is the least): at most 1 where it is met. Its
  /// interval is of 90 %; empty = no target is asked, or the figure is not known.
  std::optional<LeverRatio> of_target{};

  /// `most_nodes` over that of the job as it is; nothing where either is not known.
  [[nodiscard]] std::optional<double> most_nodes_over(const LeverEffect& as_it_is) const {
    return most_nodes && as_it_is.most_nodes ? std::optional(*most_nodes / *as_it_is.most_nodes)
                                             : std::nullopt;
  }
};

struct LeverOptions {
  int replicas = 8;  ///< seeds, each with and without the lever on the same draws
  std::uint64_t seed = 1;
  int threads = 1;
  std::function<void(std::int64_t done, std::int64_t total)>
      progress{};  ///< simulated jobs; from one thread; may be empty
  LeverPrices prices{};
  Prior prior{};  ///< how well stated times of failures are known: draws of N* of a scenario, and of days
};

struct LeverTable {
  LeverEffect baseline;
  std::vector<LeverEffect> levers;  ///< one each, in one order
  std::int64_t nodes = 0;
  std::int64_t ranks = 0;
  bool by_parts = false;   ///< by quadrature from the job's parts; else a scenario is simulated
  std::int64_t steps = 0;  ///< of each replica; by parts: none is played
  int replicas = 0;        ///< by parts: draws of the parameters
};

/// `p99 <= 1.2 * median`, `cv <= 0.05`, `throughput >= 1.1 * baseline`.
struct Target {
  enum class Figure : std::uint8_t { Mean, Median, P95, P99, Cv, Throughput, Cost, Energy };
  Figure figure = Figure::P99;
  bool at_most = true;
  double factor = 1;
  std::optional<Figure> of{};  ///< of the same job; empty with `of_baseline` false: `factor` is the bound
  bool of_baseline = false;
  std::string text;
};
/// Errors: forecast-033 (what was read, what can be said).
[[nodiscard]] Result<Target> parse_target(std::string_view text);
struct LeverSet {
  bool reached = false;  ///< all of the interval is within the target
  bool already = false;  ///< by the job as it is
  LeverEffect best;      ///< reached: of least price; else `perhaps`, or the nearest
  /// Of least price among those whose value is within the target and whose interval is not; empty where none is cheaper than what reaches it.
  /// Without names: the job as it is.
  std::optional<LeverEffect> perhaps{};
  std::int64_t tried = 0;             ///< sets
  std::vector<std::string> left_out;  ///< levers that were not tried, and why
};

}  // namespace cox::forecast
