// SPDX-License-Identifier: Apache-2.0
/// \file
/// Mean, quantiles and interval of a result over seeds.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "cox/base/units.hpp"

namespace cox::simulate {

/// A result over replicas (seeds).
struct ReplicaSpread {
  Seconds mean{};
  Seconds half_width_95{};  ///< of the mean, Student's t with n - 1 degrees; zero for one replica
  Seconds p50{};
  Seconds p99{};
  int replicas = 1;

  /// Of what is a time: not below zero.
  [[nodiscard]] Seconds low_95() const {
    return mean < Seconds{} ? mean - half_width_95 : std::max(Seconds{}, mean - half_width_95);
  }
  [[nodiscard]] Seconds high_95() const { return mean + half_width_95; }
};

/// Quantiles by `cox::quantile`. An empty span gives zeros with `replicas` 0.
/// Held by: src/simulate/record/spread_test.cpp
[[nodiscard]] ReplicaSpread spread_of(std::span<const Seconds> values);

}  // namespace cox::simulate
