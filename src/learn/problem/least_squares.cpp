// SPDX-License-Identifier: Apache-2.0
#include "learn/problem/least_squares.hpp"

#include <algorithm>
#include <array>

#include "cox/base/assert.hpp"

#include "learn/problem/streams.hpp"

namespace cox::learn {
namespace {

/// In lanes, in an order that depends on the length only.
double product(std::span<const float> a, std::span<const double> b) {
  constexpr std::size_t kLanes = 8;
  std::array<double, kLanes> lanes{};
  std::size_t k = 0;
  for (; k + kLanes <= a.size(); k += kLanes)
    for (std::size_t j = 0; j < kLanes; ++j) lanes[j] += static_cast<double>(a[k + j]) * b[k + j];
  for (; k < a.size(); ++k) lanes[0] += static_cast<double>(a[k]) * b[k];
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

}  // namespace

LeastSquares::LeastSquares(const ProblemSpec& spec)
    : noise_(spec.noise),
      tensor_{.name = "x", .first = 0, .rows = 1, .columns = spec.dimension},
      features_(spec.seed, kFeatures),
      errors_(static_cast<std::uint64_t>(spec.seed), kNoise),
      truth_(static_cast<std::size_t>(spec.dimension)),
      away_(truth_.size()),
      a_(truth_.size()),
      sum_(truth_.size()) {
  SampleNormals(spec.seed, kTruth).draw(0, truth_);
}

void LeastSquares::initial(std::span<float> x) const {
  std::ranges::fill(x, 0.0F);
}

double LeastSquares::gradient(std::span<const float> x, const Shard& shard, std::span<float> g) {
  const std::size_t size = truth_.size();
  COX_ASSERT(x.size() == size && g.size() == size && shard.count > 0, "sizes are the problem's");
  for (std::size_t k = 0; k < size; ++k)
    away_[k] = static_cast<double>(x[k]) - static_cast<double>(truth_[k]);
  std::ranges::fill(sum_, 0.0);
  double loss = 0;
  for (std::int64_t i = 0; i < shard.count; ++i) {
    features_.draw(shard.first + i, a_);
    double residual =
        noise_ > 0 ? -noise_ * errors_.normal(static_cast<std::uint64_t>(shard.first + i), 0) : 0;
    residual += product(a_, away_);
    for (std::size_t k = 0; k < size; ++k) sum_[k] += residual * static_cast<double>(a_[k]);
    loss += residual * residual;
  }
  const auto n = static_cast<double>(shard.count);
  for (std::size_t k = 0; k < size; ++k) g[k] = static_cast<float>(sum_[k] / n);
  return loss / (2 * n);
}

Score LeastSquares::score(std::span<const float> x) {
  double sum = 0;
  for (std::size_t k = 0; k < truth_.size(); ++k) {
    const double away = static_cast<double>(x[k]) - static_cast<double>(truth_[k]);
    sum += away * away;
  }
  return {.loss = sum / 2, .accuracy = 0};
}

Flops LeastSquares::flops() const {
  return Flops{4 * static_cast<double>(truth_.size())};
}

}  // namespace cox::learn
