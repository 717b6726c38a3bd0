// SPDX-License-Identifier: Apache-2.0
/// \file
/// One law of a time: body by a family or by quantiles, above a threshold a generalised Pareto tail.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cox/base/units.hpp"

namespace cox::forecast {

/// Above `threshold`, with `probability`: threshold + scale/shape ((1 - u)^-shape - 1); shape 0 is exponential.
struct Tail {
  Seconds threshold{};
  Seconds scale{};
  double shape = 0;
  double probability = 0;  ///< 0 = no tail
};

/// What a law is inside, a standard variable Z: the law is shift + scale Z.
class LawShape;

/// A law of a time. Immutable; copies share. Times may be negative (residuals).
///
/// Cost: 10 to 100 ns a call, `student` up to 1 us. Threads: safe. Held by: src/forecast/law/law_test.cpp
class Law {
 public:
  /// Zero, always.
  Law();
  [[nodiscard]] static Law constant(Seconds value);
  [[nodiscard]] static Law normal(Seconds mean, Seconds deviation);
  [[nodiscard]] static Law lognormal(Seconds mean, double cv);
  [[nodiscard]] static Law exponential(Seconds mean);
  [[nodiscard]] static Law pareto(Seconds least, double shape);
  [[nodiscard]] static Law weibull(Seconds mean, double shape);
  [[nodiscard]] static Law student(Seconds mean, Seconds scale, double freedom);
  [[nodiscard]] static Law logistic(Seconds mean, Seconds scale);
  /// Gamma with these three moments, shifted; skewness 0 is the normal law. Pre: 0 <= skewness <= 4 (asserted).
  /// Below skewness 0.1 by the cube-root transform: quantiles within 0.001 deviations. Source: Wilson, Hilferty 1931.
  [[nodiscard]] static Law shifted_gamma(Seconds mean, Seconds deviation, double skewness);
  /// A rare detour: `length` with `probability`, else zero.
  [[nodiscard]] static Law detour(Seconds length, double probability);
  /// Values at even steps of probability from 0 to 1 - tail.probability, ascending (asserted); straight lines between.
  [[nodiscard]] static Law quantiles(std::span<const Seconds> values, const Tail& tail = {});
  /// `share` of the times are of `longer`, all of which lies above the others, of `usual` (what of it would lie above is at the
  /// least of `longer`). Between the two there is nothing. Pre: 0 < share < 1 (asserted).
  /// Held by: Law.TwoModesKeepTheGapBetweenThem
  [[nodiscard]] static Law modes(const Law& usual, const Law& longer, double share);
  /// Of a shape in seconds: what the room's own computations end in.
  [[nodiscard]] static Law of(std::shared_ptr<const LawShape> shape);
  [[nodiscard]] Law plus(Seconds shift) const;
  /// Pre: factor > 0 (asserted).
  [[nodiscard]] Law times(double factor) const;

  [[nodiscard]] double below(Seconds x) const;           ///< P(X <= x)
  [[nodiscard]] double above(Seconds x) const;           ///< P(X > x), to full relative precision in the tail
  [[nodiscard]] Seconds quantile(double p) const;        ///< P(X <= quantile) = p
  [[nodiscard]] Seconds upper_quantile(double p) const;  ///< P(X > upper_quantile) = p
  [[nodiscard]] Seconds mean() const;                    ///< infinite where the tail has none
  [[nodiscard]] Seconds deviation() const;               ///< infinite likewise
  [[nodiscard]] bool is_constant() const;
  [[nodiscard]] bool is_discrete() const;  ///< a constant or a detour
  /// Where a stretch without times begins and ends, ascending: a table of the law has points there. Mostly none.
  [[nodiscard]] std::vector<Seconds> breaks() const;

  /// Points that stand for the law in an integral: values at even steps of the normal score, or a discrete law's own.
  struct Point {
    Seconds value{};
    double weight = 0;
  };
  /// Ascending; weights sum to 1. Pre: points >= 2 (asserted).
  [[nodiscard]] std::vector<Point> rule(int points) const;

 private:
  Law(std::shared_ptr<const LawShape> shape, double shift, double scale);
  std::shared_ptr<const LawShape> shape_;
  double shift_ = 0;
  double scale_ = 1;
};

}  // namespace cox::forecast
