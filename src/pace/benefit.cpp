// SPDX-License-Identifier: Apache-2.0
// Guest code: libc only.
#include "cox/pace/controller.hpp"

#include "pace/arithmetic.hpp"

namespace cox::pace {

void BenefitTest::add(double gain, double known_variance) noexcept {
  ++count_;
  const double step = gain - mean_;
  mean_ += step / count_;
  squares_ += step * (gain - mean_);
  known_ += (known_variance - known_) / count_;
}

double BenefitTest::variance() const noexcept {
  const double sampled = count_ < 2 ? 0 : squares_ / (count_ - 1);
  return sampled > known_ ? sampled : known_;
}

double BenefitTest::half_width(double alpha) const noexcept {
  constexpr double kMixture = 4;
  if (count_ == 0) return 1;
  const double n = count_;
  return square_root(variance() * (n + kMixture) / (n * n) *
                     natural_log((n + kMixture) / (kMixture * alpha * alpha)));
}

}  // namespace cox::pace
