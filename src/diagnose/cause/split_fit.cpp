// SPDX-License-Identifier: Apache-2.0
#include "diagnose/cause/split_fit.hpp"

#include <algorithm>
#include <cmath>

namespace cox::diagnose {
namespace {

/// Fewer intervals, or mixes of x and z more alike than this, cannot be told apart.
constexpr std::size_t kLeastIntervals = 8;
constexpr std::size_t kLeastGiven = 4;  // where b is given
constexpr double kLeastDistinct = 1e-3;

double unit(double v) {
  return std::clamp(v, 0.0, 1.0);
}

}  // namespace

void SplitFit::add(double x, double z, double y) {
  xx_ += x * x;
  xz_ += x * z;
  zz_ += z * z;
  xy_ += x * y;
  zy_ += z * y;
  yy_ += y * y;
  ++count_;
}

SplitFit::Result SplitFit::solve() const {
  if (count_ < kLeastIntervals || xx_ <= 0) return {};
  const double determinant = xx_ * zz_ - xz_ * xz_;
  const bool only_x = zz_ <= 1e-6 * xx_;
  if (!only_x && determinant <= kLeastDistinct * xx_ * zz_) {
    // Always the same mix: b may be anything, and moves a by no more than the little that z is of x.
    return {unit((xy_ - 0.5 * xz_) / xx_), std::min(1.0, 0.5 * xz_ / xx_), 0, 1};
  }
  double a = only_x ? xy_ / xx_ : (xy_ * zz_ - zy_ * xz_) / determinant;
  double b = only_x ? 0 : (zy_ * xx_ - xy_ * xz_) / determinant;
  // Outside of its range one is held at the edge and the other follows.
  if (b != unit(b)) {
    b = unit(b);
    a = (xy_ - b * xz_) / xx_;
  }
  if (a != unit(a)) {
    a = unit(a);
    b = zz_ > 0 ? unit((zy_ - a * xz_) / zz_) : 0;
  }
  const double left = yy_ - 2 * (a * xy_ + b * zy_) + a * a * xx_ + 2 * a * b * xz_ + b * b * zz_;
  const double variance = std::max(0.0, left) / static_cast<double>(count_ - 2);
  const double error = std::sqrt(variance * (only_x ? 1 / xx_ : zz_ / determinant));
  const double b_error = only_x ? 1 : std::sqrt(variance * xx_ / determinant);
  return {a, std::min(1.0, error), b, std::min(1.0, b_error)};
}

SplitFit::Result SplitFit::solve(double b, double b_error) const {
  if (count_ < kLeastGiven || xx_ <= 0) return {};
  const double a = unit((xy_ - b * xz_) / xx_);
  const double left = yy_ - 2 * (a * xy_ + b * zy_) + a * a * xx_ + 2 * a * b * xz_ + b * b * zz_;
  const double variance = std::max(0.0, left) / static_cast<double>(count_ - 1);
  return {a, std::min(1.0, std::sqrt(variance / xx_) + b_error * xz_ / xx_), b, b_error};
}

}  // namespace cox::diagnose
