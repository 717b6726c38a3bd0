// SPDX-License-Identifier: Apache-2.0
/// \file
/// The formulas that a claim may be about, a row each. Nothing else knows one.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cox/base/units.hpp"

#include "evaluate/claim/judged.hpp"

namespace cox::evaluate {

/// Which values make sense.
enum class Domain : std::uint8_t {
  Positive,
  Whole,  ///< 1 to a million
  Share,  ///< above 0, up to 1
  Any,    ///< 0 and more
};

/// One quantity that a formula needs. Empty name = none.
struct Needed {
  std::string_view name{};
  study::Dimension dimension = study::Dimension::Count;
  Domain domain = Domain::Positive;
  std::string_view words{};  ///< that name it beside its number, between blanks
  /// base unit, where the claim is silent; NaN: it must speak
  double otherwise = std::numeric_limits<double>::quiet_NaN();
  bool is_ours = false;  ///< `otherwise` is a choice that the result depends on

  [[nodiscard]] bool is_optional() const { return otherwise == otherwise; }
};
inline constexpr std::size_t kMostNeeded = 8;

class ClaimValues;

/// `compute` gives the readings, the usual one first; none where the values are outside what it covers.
struct Formula {
  std::string_view name;
  std::string_view equation;
  std::string_view source;
  std::array<std::string_view, 3>
      names{};               ///< a word of each group is in the claim; empty groups ask for none
  std::string_view never{};  ///< words that rule it out
  std::array<Needed, kMostNeeded> needs{};
  study::Dimension gives = study::Dimension::Time;
  std::string_view result{};  ///< words that name the result
  std::vector<ClaimReading> (*compute)(const ClaimValues&) = nullptr;
};

/// What a formula is computed with: its values by name. A name or a dimension that is not the formula's is a bug
/// (asserted).
class ClaimValues {
 public:
  ClaimValues(const Formula& formula, const std::array<study::Quantity, kMostNeeded>& values)
      : formula_(formula), values_(values) {}
  [[nodiscard]] Seconds time(std::string_view name) const;
  [[nodiscard]] Bytes size(std::string_view name) const;
  [[nodiscard]] Bandwidth rate(std::string_view name) const;
  [[nodiscard]] Flops work(std::string_view name) const;
  [[nodiscard]] FlopRate work_rate(std::string_view name) const;
  /// Counts and ratios.
  [[nodiscard]] double number(std::string_view name) const;
  /// A count of domain Whole.
  [[nodiscard]] int whole(std::string_view name) const;

 private:
  [[nodiscard]] const study::Quantity& at(std::string_view name) const;

  const Formula& formula_;
  const std::array<study::Quantity, kMostNeeded>& values_;
};

[[nodiscard]] ClaimReading reading(std::string_view says, study::Quantity value);

/// By subject; the tables of *_formulas.cpp.
[[nodiscard]] std::span<const Formula> collective_formulas();
[[nodiscard]] std::span<const Formula> parallel_formulas();
[[nodiscard]] std::span<const Formula> job_formulas();

}  // namespace cox::evaluate
