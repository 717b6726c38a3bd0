// SPDX-License-Identifier: Apache-2.0
/// \file
/// Drawn samples with classes: each number is one sample, and none comes twice.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cox/learn/problem.hpp"

namespace cox::learn {

/// Features a are standard normal; the label sees them as a + noise e, e standard normal.
///   logistic: the class whose row of a drawn matrix has the largest product with what the label sees.
///   mlp:      bit p of the class says whether features 2 p and 2 p + 1 have the same sign. a and -a have the same
///             class, so the sign of a'w tells nothing of it: without a hidden layer a classifier of two classes is
///             right half of the time, whatever its weights.
/// Threads: one owner. Held by: src/learn/problem/classifier_test.cpp
class LabelledSamples {
 public:
  explicit LabelledSamples(const ProblemSpec& spec);
  /// Sample `number` of those trained on, or of those held out. Returns its class.
  std::size_t draw(std::int64_t number, bool held_out, std::span<float> features);
  [[nodiscard]] std::size_t classes() const { return classes_; }

 private:
  std::size_t class_of_product() const;
  std::size_t class_of_signs() const;

  ProblemSpec spec_;
  std::size_t classes_;
  std::vector<double> rows_;  ///< logistic: classes x dimension
  std::vector<double> seen_;  ///< room for one call
  std::vector<float> noise_;
};

}  // namespace cox::learn
