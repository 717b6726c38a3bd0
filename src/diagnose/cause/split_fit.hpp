// SPDX-License-Identifier: Apache-2.0
/// \file
/// What part of two kinds of time something takes, where only its total per interval is known.
#pragma once

#include <cstddef>

namespace cox::diagnose {

/// Least squares of y = a x + b z over intervals, with a and b between 0 and 1: of the time x a process
/// spends the part a on a CPU, of the time z the part b, and y is its CPU time. Units cancel. Cost: O(1) per
/// interval. Held by: src/diagnose/cause/why_test.cpp
class SplitFit {
 public:
  void add(double x, double z, double y);

  struct Result {
    double a = 0;
    double error = 1;  ///< standard error of a; 1 where the intervals cannot tell a from b
    double b = 0;
    double b_error = 1;  ///< the same of b
  };
  [[nodiscard]] Result solve() const;
  /// Only a, where b is known from elsewhere: few intervals are enough.
  [[nodiscard]] Result solve(double b, double b_error) const;

 private:
  double xx_ = 0, xz_ = 0, zz_ = 0, xy_ = 0, zy_ = 0, yy_ = 0;
  std::size_t count_ = 0;
};

}  // namespace cox::diagnose
