// SPDX-License-Identifier: Apache-2.0
#include "learn/stability/measured.hpp"

#include <algorithm>
#include <cmath>

#include "cox/base/assert.hpp"
#include "cox/base/random.hpp"
#include "cox/base/stats.hpp"

namespace cox::learn {
namespace {

double norm(std::span<const double> v) {
  double sum = 0;
  for (const double x : v) sum += x * x;
  return std::sqrt(sum);
}

/// H v by the difference of two gradients.
class HessianProduct {
 public:
  HessianProduct(Problem& problem, std::span<const float> x, const Shard& batch)
      : problem_(problem), x_(x), batch_(batch), at_(x.size()), above_(x.size()), below_(x.size()) {
    std::vector<double> values(x.begin(), x.end());
    step_ = (norm(values) + 1) / 256;
  }
  void operator()(std::span<const double> v, std::span<double> out) {
    gradient(v, step_, above_);
    gradient(v, -step_, below_);
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = (static_cast<double>(above_[i]) - static_cast<double>(below_[i])) / (2 * step_);
  }

 private:
  void gradient(std::span<const double> v, double h, std::span<float> g) {
    for (std::size_t i = 0; i < at_.size(); ++i)
      at_[i] = static_cast<float>(static_cast<double>(x_[i]) + h * v[i]);
    problem_.gradient(at_, batch_, g);
  }

  Problem& problem_;
  std::span<const float> x_;
  Shard batch_;
  double step_ = 0;
  std::vector<float> at_;
  std::vector<float> above_;
  std::vector<float> below_;
};

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

}  // namespace

Curvature measured_curvature(Problem& problem, std::span<const float> x, const Shard& batch, int most) {
  constexpr std::uint32_t kStart = 0x6c0101;
  std::vector<double> v(x.size());
  RandomStream(1, kStart).normals(0, 0, v);
  const double length = norm(v);
  for (double& e : v) e /= length;
  HessianProduct hessian(problem, x, batch);
  std::vector<double> image(x.size());
  Curvature out;
  for (out.iterations = 1; out.iterations <= most; ++out.iterations) {
    hessian(v, image);
    out.value = 0;
    for (std::size_t i = 0; i < v.size(); ++i) out.value += v[i] * image[i];
    std::vector<double> rest(v.size());
    for (std::size_t i = 0; i < v.size(); ++i) rest[i] = image[i] - out.value * v[i];
    out.residual = norm(rest);
    const double size = norm(image);
    if (out.residual <= 1e-3 * std::abs(out.value) || size == 0 || out.iterations == most) break;
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = image[i] / size;
  }
  return out;
}

NoiseScale::NoiseScale(std::int64_t workers, std::int64_t samples)
    : workers_(static_cast<double>(workers)), samples_(static_cast<double>(samples)) {
  COX_ASSERT(workers >= 2 && samples >= 1, "two gradients to compare");
}

void NoiseScale::add(std::span<const double> squares, double square_of_mean) {
  COX_ASSERT(static_cast<double>(squares.size()) == workers_, "one of each worker");
  const double mean = mean_of(squares);
  noise_.push_back(samples_ * workers_ / (workers_ - 1) * (mean - square_of_mean));
  gradient_.push_back((workers_ * square_of_mean - mean) / (workers_ - 1));
}

NoiseScale::Estimate NoiseScale::estimate() const {
  constexpr std::size_t kStretches = 20;
  if (noise_.empty()) return {};
  Estimate out{.noise = mean_of(noise_), .gradient = mean_of(gradient_), .critical_batch = {}};
  const std::size_t length = noise_.size() / kStretches;
  if (length == 0 || out.gradient <= 0) return out;
  const double ratio = out.noise / out.gradient;
  double squares = 0;
  for (std::size_t s = 0; s < kStretches; ++s) {  // without this stretch
    const auto n = static_cast<double>(noise_.size());
    const auto without = [&](std::span<const double> all, double mean) {
      const std::span<const double> stretch = all.subspan(s * length, length);
      return mean * n - mean_of(stretch) * static_cast<double>(length);
    };
    const double left = without(noise_, out.noise) / without(gradient_, out.gradient);
    squares += (left - ratio) * (left - ratio);
  }
  const double error = std::sqrt(squares * (kStretches - 1) / kStretches);
  const double half = student_quantile(0.025, kStretches - 1) * error;
  out.critical_batch = Estimate::Batch{.value = ratio, .low = ratio - half, .high = ratio + half};
  return out;
}

}  // namespace cox::learn
