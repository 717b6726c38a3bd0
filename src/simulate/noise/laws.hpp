// SPDX-License-Identifier: Apache-2.0
/// \file
/// One noise source, checked and with its constants worked out: draws of its law,
/// by unit (rank, node, switch).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/model/scenario.hpp"

#include "simulate/noise/quantile_law.hpp"

namespace cox::simulate {

/// Values of a correlated source at some steps, for units that are asked for again and again. What is kept is what would
/// be drawn: it saves time, and changes nothing.
struct CorrelatedMemory {
  std::uint64_t first = 0;  ///< of the units
  std::size_t count = 0;
  std::vector<std::uint64_t> at;  ///< per row: of which step
  std::vector<double> values;     ///< [row][unit]

  [[nodiscard]] std::span<double> row(std::size_t i) { return std::span(values).subspan(i * count, count); }
};

/// A law with its constants. Without unit: a ratio (relative sources), or seconds.
class NoiseDraws {
 public:
  /// `number`: of the source in its scenario; its streams are 16 number to 16 number + 15.
  /// Errors: simulate-001.
  [[nodiscard]] static Result<NoiseDraws> make(const model::NoiseSource& source, std::size_t number);

  /// What is added, for units [first, first + out.size()): the draw number `counter`. Relative sources
  /// without a mean draw a factor; what is added is then the factor less one.
  /// `memory`, of correlated sources: the same for each step of the same units, at most 512.
  void amounts(std::uint64_t seed, std::uint64_t counter, std::uint64_t first, std::span<double> out,
               CorrelatedMemory* memory = nullptr) const;
  /// Rows that a memory of this source has.
  [[nodiscard]] std::size_t memory_rows() const { return static_cast<std::size_t>(levels_) + 2; }
  /// The same for the messages of one round: uniform, gaussian and lognormal laws from 32 bits. Not correlated.
  void message_amounts(std::uint64_t seed, std::uint64_t counter, std::uint64_t first,
                       std::span<double> out) const;

  /// For a uniform law that always happens: what `message_amounts` makes
  /// of the 32-bit draw u is low + width u.
  struct Line {
    double low;
    double width;
  };
  [[nodiscard]] std::optional<Line> line() const {
    if (law_ != model::NoiseLaw::Uniform || probability_ != 1) return std::nullopt;
    return Line{low_ - (factor_ ? 1 : 0), high_ - low_};
  }

  /// For a gaussian law that always happens: what `message_amounts` makes of the 32-bit normal z is
  /// max(mean (1 + spread z), 0) - less.
  struct Bell {
    double mean;
    double spread;
    double less;
  };
  [[nodiscard]] std::optional<Bell> bell() const {
    if (law_ != model::NoiseLaw::Gaussian || probability_ != 1 || correlation_ > 0) return std::nullopt;
    return Bell{mean_, spread_, factor_ ? 1.0 : 0.0};
  }

  /// Stream `purpose` (2 to 15) of this source.
  [[nodiscard]] std::uint32_t stream(std::uint32_t purpose) const { return number_ * 16 + purpose; }
  [[nodiscard]] double mean() const { return mean_; }
  [[nodiscard]] bool constant() const { return law_ == model::NoiseLaw::Constant && probability_ == 1; }

 private:
  NoiseDraws() = default;
  [[nodiscard]] bool from_normals() const {
    return law_ == model::NoiseLaw::Gaussian || law_ == model::NoiseLaw::Lognormal;
  }
  struct Midpoint {
    double weight;
    double deviation;
  };
  [[nodiscard]] Midpoint midpoint(int level) const;
  void correlated_normals(std::uint64_t seed, std::uint64_t counter, std::uint64_t first,
                          std::span<double> out) const;
  void correlated_normals(std::uint64_t seed, std::uint64_t counter, std::uint64_t first,
                          std::span<double> out, CorrelatedMemory& memory) const;
  void shape(std::span<double> values) const;
  void thin(std::uint64_t seed, std::uint64_t counter, std::uint64_t first, std::span<double> values) const;

  model::NoiseLaw law_ = model::NoiseLaw::Constant;
  std::uint32_t number_ = 0;
  bool factor_ = false;  // the law is that of a factor with mean 1
  double mean_ = 0;
  double low_ = 0;  // uniform: between these
  double high_ = 0;
  double spread_ = 0;    // gaussian: cv; lognormal: sigma of the logarithm
  double scale_ = 0;     // pareto, weibull
  double exponent_ = 0;  // pareto: -1 / shape; weibull: 1 / shape
  double probability_ = 1;
  double correlation_ = 0;
  std::shared_ptr<const QuantileLaw> quantiles_;
  int levels_ = 0;  // correlation ^ (2 ^ levels) is nothing
};

}  // namespace cox::simulate
