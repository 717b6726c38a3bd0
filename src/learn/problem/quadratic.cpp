// SPDX-License-Identifier: Apache-2.0
#include "learn/problem/quadratic.hpp"

#include <algorithm>
#include <cmath>

#include "cox/base/assert.hpp"
#include "cox/base/elementary.hpp"
#include "cox/base/random.hpp"

#include "learn/problem/streams.hpp"

namespace cox::learn {
namespace {

std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// Normals are drawn in blocks: room for the last one saves a copy of a part of it.
std::size_t whole_blocks(std::size_t size) {
  constexpr std::size_t kBlock = 32;
  return (size + kBlock - 1) / kBlock * kBlock;
}

}  // namespace

Quadratic::Quadratic(const ProblemSpec& spec)
    : spec_(spec),
      size_(index(spec.dimension)),
      tensor_{.name = "x", .first = 0, .rows = 1, .columns = spec.dimension},
      draws_(spec.seed, kNoise),
      curvatures_(size_),
      none_(size_),
      mean_optimum_(size_),
      noise_(whole_blocks(size_)),
      turned_(size_),
      inside_(size_) {
  const double last = std::max(1.0, static_cast<double>(size_) - 1);
  for (std::size_t k = 0; k < size_; ++k)
    curvatures_[k] =
        static_cast<float>(spec.curvature * power(spec.condition, -static_cast<double>(k) / last));
  if (spec.hessian_spread > 0) {
    const auto n = static_cast<double>(spec.workers);
    for (std::int64_t w = 0; w < spec.workers; ++w)
      scales_.push_back(
          static_cast<float>(1 + spec.hessian_spread * (2 * static_cast<double>(w) - (n - 1)) / (n - 1)));
  }
  if (spec.spread > 0) draw_offsets();
  draw_reflections();
}

void Quadratic::draw_offsets() {
  const std::size_t workers = index(spec_.workers);
  const auto n = static_cast<double>(workers);
  offsets_.resize(workers * size_);
  const RandomStream stream(static_cast<std::uint64_t>(spec_.seed), kOffsets);
  std::vector<double> z(workers);
  for (std::size_t k = 0; k < size_; ++k) {
    stream.normals(k, 0, z);
    double mean = 0;
    for (const double v : z) mean += v / n;
    for (double& v : z) v -= mean;
    const double root_mean_square = std::sqrt(dot(z, z) / n);
    double weights = 0;
    for (std::size_t w = 0; w < workers; ++w) {
      const auto offset = static_cast<float>(z[w] * (spec_.spread / root_mean_square));
      const double weight = scale(static_cast<int>(w));
      offsets_[w * size_ + k] = offset;
      mean_optimum_[k] += weight * static_cast<double>(offset);
      weights += weight;
    }
    mean_optimum_[k] /= weights;
  }
}

void Quadratic::draw_reflections() {
  const RandomStream stream(static_cast<std::uint64_t>(spec_.seed), kBasis);
  reflections_.resize(index(spec_.reflections) * size_);
  for (std::size_t r = 0; r < index(spec_.reflections); ++r) {
    const std::span<double> v = std::span(reflections_).subspan(r * size_, size_);
    stream.normals(r, 0, v);
    const double norm = std::sqrt(dot(v, v));
    for (double& value : v) value /= norm;
  }
}

void Quadratic::turn(std::span<double> v, bool transposed) const {
  const std::size_t count = index(spec_.reflections);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t r = transposed ? i : count - 1 - i;
    const std::span<const double> u = std::span(reflections_).subspan(r * size_, size_);
    const double twice = 2 * dot(u, v);
    for (std::size_t k = 0; k < size_; ++k) v[k] -= twice * u[k];
  }
}

std::span<const float> Quadratic::offset(int worker) const {
  if (offsets_.empty()) return {};
  return std::span(offsets_).subspan(static_cast<std::size_t>(worker) * size_, size_);
}

void Quadratic::initial(std::span<float> x) const {
  std::vector<double> y(size_, 1.0);
  turn(y, false);
  std::ranges::transform(y, x.begin(), [](double v) { return static_cast<float>(v); });
}

void Quadratic::add_noise(const Shard& shard, std::span<float> g) {
  std::ranges::fill(noise_, 0.0F);
  for (std::int64_t i = 0; i < shard.count; ++i) draws_.add(shard.first + i, noise_);
  const auto factor = static_cast<float>(spec_.noise / static_cast<double>(shard.count));
  kernels_.add_scaled(size_, factor, noise_.data(), g.data());
}

/// g = s c (y - b), without noise. The loss is summed in lanes, in an order that depends on the dimension only.
double Quadratic::gradient_by_eigenvalues(const float* y, const Shard& shard, float* g) {
  const float* b = offsets_.empty() ? none_.data() : offset(shard.worker).data();
  return kernels_.slopes(size_, y, b, curvatures_.data(), scale(shard.worker), g);
}

double Quadratic::gradient(std::span<const float> x, const Shard& shard, std::span<float> g) {
  COX_ASSERT(x.size() == size_ && g.size() == size_ && shard.count > 0, "sizes are the problem's");
  COX_ASSERT((scales_.empty() && offsets_.empty()) || (shard.worker >= 0 && shard.worker < spec_.workers),
             "the problem was made for fewer workers");
  double loss = 0;
  if (spec_.reflections == 0) {
    loss = gradient_by_eigenvalues(x.data(), shard, g.data());
  } else {
    std::ranges::copy(x, turned_.begin());
    turn(turned_, true);
    std::ranges::transform(turned_, inside_.begin(), [](double v) { return static_cast<float>(v); });
    loss = gradient_by_eigenvalues(inside_.data(), shard, g.data());
    std::ranges::copy(g, turned_.begin());
    turn(turned_, false);
    std::ranges::transform(turned_, g.begin(), [](double v) { return static_cast<float>(v); });
  }
  if (spec_.noise > 0) add_noise(shard, g);
  return loss;
}

Score Quadratic::score(std::span<const float> x) {
  COX_ASSERT(x.size() == size_, "sizes are the problem's");
  std::ranges::copy(x, turned_.begin());
  turn(turned_, true);
  double sum = 0;
  for (std::size_t k = 0; k < size_; ++k) {
    const double away = turned_[k] - mean_optimum_[k];
    sum += static_cast<double>(curvatures_[k]) * away * away;
  }
  return {.loss = sum / 2, .accuracy = 0};
}

std::vector<double> Quadratic::optimum() const {
  std::vector<double> x = mean_optimum_;
  turn(x, false);
  return x;
}

Flops Quadratic::flops() const {
  constexpr double kDiagonal = 4;    // y - b, two products, and the loss; noise is drawn, not computed
  constexpr double kReflection = 8;  // a dot product and a subtraction, there and back
  return Flops{static_cast<double>(size_) *
               (kDiagonal + kReflection * static_cast<double>(spec_.reflections))};
}

}  // namespace cox::learn
