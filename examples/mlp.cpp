// SPDX-License-Identifier: Apache-2.0
#include "mlp.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace example {
namespace {

constexpr float kClusterSpread = 0.45F;  // against unit noise per feature: learnable, not trivial

using Weights = Eigen::Map<const Eigen::MatrixXf>;
using Bias = Eigen::Map<const Eigen::VectorXf>;

/// The four parameter blocks inside one flat vector.
template <class Matrix, class Vector, class T>
struct Layout {
  explicit Layout(T* p)
      : w1(p, kHidden, kFeatures),
        b1(p + kHidden * kFeatures, kHidden),
        w2(p + kHidden * kFeatures + kHidden, kClasses, kHidden),
        b2(p + kHidden * kFeatures + kHidden + kClasses * kHidden, kClasses) {}
  Matrix w1;
  Vector b1;
  Matrix w2;
  Vector b2;
};
using ConstLayout = Layout<Weights, Bias, const float>;
using MutableLayout = Layout<Eigen::Map<Eigen::MatrixXf>, Eigen::Map<Eigen::VectorXf>, float>;

}  // namespace

Shard::Shard(std::uint64_t seed, int rank, int samples)
    : inputs_(kFeatures, samples), labels_(static_cast<std::size_t>(samples)) {
  std::mt19937_64 shared(seed);
  std::normal_distribution<float> normal;
  Eigen::MatrixXf centres(kFeatures, 2 * kClasses);
  for (float& v : centres.reshaped()) v = kClusterSpread * normal(shared);

  std::mt19937_64 own(seed * 1'000'003 + static_cast<std::uint64_t>(rank) + 1);
  std::uniform_int_distribution<int> cluster(0, 2 * kClasses - 1);
  for (int i = 0; i < samples; ++i) {
    const int c = cluster(own);
    labels_[static_cast<std::size_t>(i)] = c % kClasses;
    for (int f = 0; f < kFeatures; ++f) inputs_(f, i) = centres(f, c) + normal(own);
  }
}

Batch Shard::next(int samples) {
  Batch batch{Eigen::MatrixXf(kFeatures, samples), std::vector<int>(static_cast<std::size_t>(samples))};
  for (int i = 0; i < samples; ++i) {
    batch.inputs.col(i) = inputs_.col(position_);
    batch.labels[static_cast<std::size_t>(i)] = labels_[static_cast<std::size_t>(position_)];
    position_ = (position_ + 1) % static_cast<int>(inputs_.cols());
  }
  return batch;
}

Mlp::Mlp(std::uint64_t seed) : weights_(parameters()) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  MutableLayout w(weights_.data());
  for (float& v : w.w1.reshaped()) v = normal(random) * std::sqrt(2.0F / kFeatures);
  for (float& v : w.w2.reshaped()) v = normal(random) * std::sqrt(1.0F / kHidden);
  w.b1.setZero();
  w.b2.setZero();
}

float Mlp::gradient_of(const Batch& batch, std::span<float> gradient) const {
  const ConstLayout w(weights_.data());
  MutableLayout g(gradient.data());
  const Eigen::Index n = batch.inputs.cols();

  Eigen::MatrixXf hidden = w.w1 * batch.inputs;
  hidden.colwise() += w.b1;
  hidden = hidden.cwiseMax(0.0F);
  Eigen::MatrixXf out = w.w2 * hidden;
  out.colwise() += w.b2;

  // softmax and its cross-entropy; afterwards `out` holds d loss / d out
  float loss = 0;
  for (Eigen::Index i = 0; i < n; ++i) {
    auto column = out.col(i);
    column.array() -= column.maxCoeff();
    column = column.array().exp();
    column /= column.sum();
    const int label = batch.labels[static_cast<std::size_t>(i)];
    loss -= std::log(std::max(column(label), 1e-12F));
    column(label) -= 1.0F;
  }
  const float scale = 1.0F / static_cast<float>(n);
  out *= scale;

  g.w2.noalias() = out * hidden.transpose();
  g.b2 = out.rowwise().sum();
  Eigen::MatrixXf back = w.w2.transpose() * out;
  back = (hidden.array() > 0.0F).select(back, 0.0F);
  g.w1.noalias() = back * batch.inputs.transpose();
  g.b1 = back.rowwise().sum();
  return loss * scale;
}

void Mlp::descend(std::span<const float> gradient, float learning_rate) {
  weights_ -= learning_rate * Bias(gradient.data(), parameters());
}

}  // namespace example
