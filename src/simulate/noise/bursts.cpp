// SPDX-License-Identifier: Apache-2.0
#include "simulate/noise/bursts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cox/base/assert.hpp"
#include "cox/base/elementary.hpp"
#include "cox/base/random.hpp"

namespace cox::simulate {
namespace {

constexpr std::uint64_t kMostBlock = 1U << 20U;
constexpr int kBlockShift = 20;
constexpr std::uint64_t kBeforeAll = std::uint64_t{1} << 63;  // counter of the state that the job begins in

}  // namespace

Bursts::Bursts(double burst, double calm) {
  COX_ASSERT(burst >= 1 && calm >= 1 && 1 / burst + 1 / calm <= 1, "a chain that tends to stay");
  const double anew = 1 / burst + 1 / calm;
  share_ = burst / (burst + calm);
  log_stay_ = anew < 1 ? logarithm(1 - anew) : -std::numeric_limits<double>::infinity();
  block_ = std::min(kMostBlock, static_cast<std::uint64_t>(std::ceil(1 / anew)));
}

bool Bursts::on(std::uint64_t seed, std::uint32_t stream, std::uint64_t step, std::uint64_t unit) const {
  const RandomStream states(seed, stream);
  const RandomStream gaps(seed, stream + 1);
  std::uint64_t end = step;  // the last step that is looked at
  for (std::uint64_t block = step / block_;; --block) {
    std::uint64_t last = kBeforeAll;
    std::uint64_t next = block * block_;
    for (std::uint64_t draw = 0; next <= end; ++draw) {
      const double u = gaps.uniform((block << kBlockShift) + draw, unit);
      const double gap = std::floor(logarithm(u) / log_stay_);  // steps in which nothing is drawn anew
      if (gap > static_cast<double>(end - next)) break;
      last = next + static_cast<std::uint64_t>(gap);
      next = last + 1;
    }
    if (last != kBeforeAll || block == 0) return states.uniform(last, unit) < share_;
    end = block * block_ - 1;
  }
}

}  // namespace cox::simulate
