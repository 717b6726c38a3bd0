// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a computation may ask a study for: values by name and kind, checked.
#pragma once

#include <string_view>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/study/study.hpp"

namespace cox::study {

/// Inclusive bounds of a count.
struct Between {
  std::int64_t least = 1;
  std::int64_t most = 1'000'000;
};

/// Bounds of a ratio: above `above` (1 = 100 %), at most `most`.
struct RatioBetween {
  double above = 0;
  double most = 1;
};

/// Every call: study-003 where there is no such input, it is a list (or is none), is of another dimension, or
/// is out of bounds.
class Inputs {
 public:
  explicit Inputs(const Study& study) : study_(study) {}
  [[nodiscard]] Result<Seconds> time(std::string_view name) const;
  [[nodiscard]] Result<Bytes> size(std::string_view name) const;
  [[nodiscard]] Result<Bandwidth> rate(std::string_view name) const;
  [[nodiscard]] Result<double> ratio(std::string_view name) const;
  [[nodiscard]] Result<double> ratio(std::string_view name, RatioBetween bounds) const;
  [[nodiscard]] Result<std::vector<double>> ratios(std::string_view name, RatioBetween bounds) const;
  [[nodiscard]] Result<int> count(std::string_view name, Between bounds = {}) const;
  /// Of any kind.
  [[nodiscard]] Result<Quantity> quantity(std::string_view name, Dimension d) const;
  [[nodiscard]] Result<std::vector<int>> counts(std::string_view name, Between bounds = {}) const;
  [[nodiscard]] Result<std::vector<Bandwidth>> rates(std::string_view name) const;
  [[nodiscard]] Result<std::vector<WrittenQuantity>> list(std::string_view name, Dimension d) const;
  /// Errors: study-003 where more than 10^9 draws are asked for; `of` names the inputs that multiply.
  [[nodiscard]] Status check_draws(double draws, std::string_view of) const;
  [[nodiscard]] const Study& study() const { return study_; }

 private:
  const Study& study_;
};

}  // namespace cox::study
