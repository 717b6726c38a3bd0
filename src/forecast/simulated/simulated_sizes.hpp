// SPDX-License-Identifier: Apache-2.0
/// \file
/// The second way to sizes of a Scenario: its steps simulated with their noise, beside the forecast by quadrature.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/json.hpp"
#include "cox/base/quantile_sketch.hpp"
#include "cox/base/units.hpp"
#include "cox/forecast/project.hpp"
#include "cox/model/scenario.hpp"

#include "forecast/project/project.hpp"
#include "forecast/simulated/spread.hpp"

namespace cox::forecast {

/// Whether its messages share links or are disturbed, so that each is simulated by itself.
[[nodiscard]] bool is_played(const model::Scenario& scenario);

struct CheckedSize {
  std::int64_t ranks = 0;
  Seconds step{};        ///< mean, without failures and start
  Seconds half_width{};  ///< of 95 % over replicas; zero = nothing is drawn
  TimeBand by_parts{};   ///< of the mean, by quadrature
  TimeBand forecast{};   ///< that, as it follows what was simulated
  Seconds
      as_others{};  ///< of a size asked: its parts with the price of communication that sizes beside it have; zero = `by_parts`
  QuantileSketch lengths{};  ///< of the steps that were simulated, in seconds
  bool whole = false;        ///< on links that are shared, and each replica was of as many steps as the job
  std::optional<StepParts>
      goes_into{};  ///< a step, mean over ranks and replicas; empty where the engine does not tell
  std::optional<SpreadRatios>
      spread{};  ///< where steps vary otherwise than forecast; filled by `find_spread`

  /// Whether interval and parts meet, or are less than half a per cent apart.
  [[nodiscard]] bool agrees() const;
  /// The same of interval and forecast.
  [[nodiscard]] bool follows() const;
  /// What parts say, as of sizes that are not simulated.
  [[nodiscard]] Seconds beside_others() const;
};

/// A size that was asked for and that has no steps of its own.
struct NotSimulated {
  std::int64_t ranks = 0;
  std::string why{};
};

struct CheckedSizes {
  std::vector<CheckedSize> sizes{};  ///< ascending
  std::vector<CheckedSize> far{};    ///< beyond them, ascending: those of simulate_far_sizes
  std::vector<CheckedSize>
      asked{};  ///< between and beyond these, ascending: asked_sizes.hpp. Sizes that are not simulated, and bends, follow them
  std::vector<NotSimulated> not_simulated{};  ///< of those asked, ascending
  std::string left_out{};                     ///< why there is none; empty = there is one

  [[nodiscard]] std::vector<CheckedSize> all() const;   ///< without those asked
  [[nodiscard]] std::vector<CheckedSize> told() const;  ///< with those asked
};

/// Whether a size is simulated beside others: up to 4,096 ranks, 256 where messages share links or are disturbed.
[[nodiscard]] bool is_small_enough(const model::Scenario& scenario);
/// What is said where it is not.
[[nodiscard]] std::string too_large_text();

/// Which sizes are simulated.
enum class SimulatedRange : std::uint8_t {
  Own,     ///< the scenario's own
  Larger,  ///< those beyond it, too
};

/// The scenario's own size (`seen`) and, of `Larger`, three times more as powers of two up to 4,096 ranks, or its double where
/// messages share links or are disturbed: a function of the scenario, so an answer at one size is the same whatever else is asked.
/// What happens once, failures and starts are left out, as they are of the forecast. In strong scaling ranks have the work that it leaves
/// them there. Pre: `check_resizable` holds.
/// Errors:  none; what `simulate` refuses is in `left_out`.
/// Cost:    4 sizes x 16 replicas x 65,536 ranks and steps; where messages share links or are disturbed 2 x 4 x 1,024. Threads:
///          same result for any number.
/// Held by: src/forecast/simulated/simulated_sizes_test.cpp
[[nodiscard]] CheckedSizes simulate_sizes(const model::Scenario& scenario, std::int64_t seen,
                                          SimulatedRange range, Scaling scaling,
                                          const std::function<TimeBand(std::int64_t ranks)>& forecast,
                                          int threads);

/// What steps are simulated to take over what the parts say: the weighted mean of the sizes (of logarithms) where each is within its
/// interval and half a per cent of it, else a monotone cubic of the logarithm of ranks through them, level beyond them. Empty where all
/// agree. Held by: src/forecast/simulated/simulated_sizes_test.cpp
[[nodiscard]] OverPartsAt over_parts(const CheckedSizes& simulated);

/// Bands hold the interval of what was simulated at that size; at one that was not simulated, as much as at the nearest
/// that was, as a ratio, and what is not known between sizes (`between_sizes`), beyond all of them also to where the last stretch goes on. Quantiles and CV of a size that was simulated are as `spread` says; between two of them by ln ranks, in a band that
/// holds what both say; beyond all of them as the nearest.
void widen(SizePoint& point, const CheckedSizes& simulated, const OverPartsAt& over);

/// Bands hold the interval of a size that was simulated itself; quantiles and CV become those of its steps where `spread` says so.
void hold(SizePoint& point, const CheckedSize& size);

/// One size where messages neither share links nor are disturbed, mean over replicas: up to 4,096 ranks, and beyond as a far one. Nothing where
/// that is not how it is simulated, or where it is refused. Threads: same result for any number.
/// Held by: src/forecast/simulated/asked_sizes_test.cpp
[[nodiscard]] std::optional<CheckedSize> simulate_size(const model::Scenario& scenario, Scaling scaling,
                                                       std::int64_t ranks, int threads);

/// Fills `spread` of `sizes` where the 95th or 99th percentile, or the median, that is forecast lies outside of the interval that so many steps have for
/// theirs (99.5 %) by more than half a per cent: a tail that messages draw is in no part, and what a ring absorbs of lateness neither. At least
/// 100 steps. Not where noise lasts from step to step: then a replica's steps are few draws.
/// Held by: src/forecast/simulated/simulated_sizes_test.cpp
void find_spread(CheckedSizes& simulated, const model::Scenario& scenario,
                 const std::function<SizePoint(std::int64_t ranks)>& forecast);

/// What of it is said on the first screen.
[[nodiscard]] std::vector<std::string> simulated_lines(const CheckedSizes& simulated);
/// Key `simulated`: docs/reference/forecast-json.md.
[[nodiscard]] Json simulated_json(const CheckedSizes& simulated);

/// Whether it has noise that recurs, and its links are neither shared nor disturbed.
[[nodiscard]] bool varies(const model::Scenario& scenario);

/// Four, sixteen, ... times as many ranks as `from` (the largest of `simulate_sizes`), up to the first that is not below `asked`, each eight
/// times up to thirteen steps, as many as take little, or three times three; only those of which a step evaluates little, by how that grows up to `from`. What is simulated at a size is the same
/// whatever is asked. Where messages share links or are disturbed, and without noise, there is none: then the price of communication is
/// simulated as it is. Errors: none; what `simulate` refuses ends the list.
/// Cost: a second or two a size. Threads: same result for any number. Held by: src/forecast/simulated/simulated_sizes_test.cpp
[[nodiscard]] std::vector<CheckedSize> simulate_far_sizes(
    const model::Scenario& scenario, Scaling scaling, std::int64_t from, std::int64_t asked,
    const std::function<TimeBand(std::int64_t ranks)>& forecast, int threads);

/// `near`, and beyond its sizes what steps of `far` take over that: ln of it goes smoothly from 0 at `from` to each size, and is level beyond
/// them. Empty where all agree. Held by: src/forecast/simulated/simulated_sizes_test.cpp
[[nodiscard]] OverPartsAt over_parts_far(OverPartsAt near, std::int64_t from,
                                         const std::vector<CheckedSize>& far);

/// Beyond the largest of `simulated`, work that varies may hide more of what communication grows by: up to all that ranks wait for each other.
/// `rest`: the price of communication. Held by: src/forecast/simulated/simulated_sizes_test.cpp
void widen_by_hidden(SizePoint& point, const CheckedSizes& simulated, const RestAt& rest);

}  // namespace cox::forecast
