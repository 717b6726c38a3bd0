// SPDX-License-Identifier: Apache-2.0
#include "learn/problem/classifier.hpp"

#include <gtest/gtest.h>

#include "cox/learn/optimize.hpp"

#include "learn/kernels/sample_normals.hpp"
#include "learn/problem/dual_test.hpp"

namespace cox::learn {
namespace {

std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

/// The mean loss again, one sample after the other, for any kind of number.
template <class T>
T mean_loss(const ProblemSpec& spec, const Problem& p, const std::vector<T>& x, const Shard& shard) {
  LabelledSamples samples(spec);
  std::vector<float> features(index(spec.dimension));
  T sum = 0;
  for (std::int64_t i = 0; i < shard.count; ++i) {
    const std::size_t label = samples.draw(shard.first + i, false, features);
    std::vector<T> h(features.begin(), features.end());
    for (std::size_t t = 0; t < p.tensors().size(); t += 2) {
      const Tensor& w = p.tensors()[t];
      const Tensor& b = p.tensors()[t + 1];
      std::vector<T> out(index(w.columns));
      for (std::size_t j = 0; j < out.size(); ++j) {
        out[j] = x[index(b.first) + j];
        for (std::size_t k = 0; k < h.size(); ++k) out[j] += h[k] * x[index(w.first) + k * out.size() + j];
        if (t + 2 < p.tensors().size() && out[j] < T(0)) out[j] = 0;
      }
      h = out;
    }
    sum += cross_entropy_of(h.data(), h.size(), label);
  }
  return sum / T(static_cast<double>(shard.count));
}

const ProblemSpec kLogistic{.kind = ProblemKind::Logistic, .dimension = 5, .noise = 0.5, .classes = 3};
const ProblemSpec kMlp{
    .kind = ProblemKind::Mlp, .dimension = 5, .noise = 0.1, .pairs = 2, .hidden = 7, .layers = 2};

std::vector<float> somewhere(const Problem& p) {
  std::vector<float> x(index(p.parameters()));
  SampleNormals(3, 4).draw(0, x);
  for (float& v : x) v *= 0.5F;
  return x;
}

TEST(Classifier, GradientIsThatOfDualNumbers) {
  for (const ProblemSpec& spec : {kLogistic, kMlp}) {
    Classifier p(spec);
    const Shard shard{.first = 11, .count = 9};
    const auto x = somewhere(p);
    std::vector<float> g(x.size());
    const double loss = p.gradient(x, shard, g);
    std::vector<Dual> dual(x.begin(), x.end());
    for (std::size_t k = 0; k < x.size(); ++k) {
      dual[k].slope = 1;
      const Dual expected = mean_loss(spec, p, dual, shard);
      dual[k].slope = 0;
      EXPECT_NEAR(loss, expected.value, 1e-6);
      EXPECT_NEAR(g[k], expected.slope, 1e-6) << name_of(spec.kind) << ' ' << k;
    }
  }
}

TEST(Classifier, SamplesAloneAreThoseOfABatch) {
  Classifier p(kMlp);
  const auto x = somewhere(p);
  std::vector<float> g(x.size());
  constexpr std::int64_t kCount = 300;  // more than one part
  double sum = 0;
  for (std::int64_t i = 0; i < kCount; ++i) sum += p.gradient(x, {.first = i, .count = 1}, g);
  EXPECT_EQ(p.gradient(x, {.first = 0, .count = kCount}, g), sum / kCount);
}

TEST(Classifier, LogisticRegressionLearnsWhatLabelsSee) {
  Classifier p({.kind = ProblemKind::Logistic, .dimension = 10, .noise = 0, .classes = 4});
  std::vector<float> x(index(p.parameters()));
  std::vector<float> g(x.size());
  p.initial(x);
  EXPECT_NEAR(p.score(x).loss, std::log(4), 1e-12);  // all classes alike
  Optimizer sgd({.rate = 1}, p.tensors());
  for (int t = 0; t < 200; ++t) {
    p.gradient(x, {.first = std::int64_t{t} * 32, .count = 32}, g);
    sgd.step(x, g);
  }
  EXPECT_GT(p.score(x).accuracy, 0.9);
}

/// Convex: between two points, the loss is not above its chord.
TEST(Classifier, LogisticRegressionIsConvex) {
  Classifier p(kLogistic);
  const auto a = somewhere(p);
  std::vector<float> b(a.size());
  std::vector<float> middle(a.size());
  std::vector<float> g(a.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    b[k] = -3 * a[a.size() - 1 - k];
    middle[k] = (a[k] + b[k]) / 2;
  }
  const Shard shard{.first = 0, .count = 50};
  EXPECT_LT(p.gradient(middle, shard, g), (p.gradient(a, shard, g) + p.gradient(b, shard, g)) / 2);
}

/// The same labels, with the layer and without.
TEST(Classifier, SignsNeedTheHiddenLayer) {
  const ProblemSpec spec{.kind = ProblemKind::Mlp, .dimension = 6, .hidden = 32};
  Classifier p(spec);
  std::vector<float> x(index(p.parameters()));
  std::vector<float> g(x.size());
  p.initial(x);
  Optimizer adam({.kind = OptimizerKind::Adam, .rate = 0.01}, p.tensors());
  for (int t = 0; t < 600; ++t) {
    p.gradient(x, {.first = std::int64_t{t} * 32, .count = 32}, g);
    adam.step(x, g);
  }
  EXPECT_GT(p.score(x).accuracy, 0.93);
  LabelledSamples samples(spec);
  std::vector<float> a(6);
  int right = 0;
  constexpr int kCount = 4000;
  for (int i = 0; i < kCount; ++i) {  // any direction
    const bool same = samples.draw(i, true, a) == 1;
    right += same == (0.3F * a[0] - 0.7F * a[1] + a[4] > 0) ? 1 : 0;
  }
  EXPECT_NEAR(right / static_cast<double>(kCount), 0.5, 4 * 0.5 / std::sqrt(kCount));
}

TEST(Classifier, HeldOutSamplesAreNotTrainedOn) {
  LabelledSamples samples(kMlp);
  std::vector<float> a(5);
  std::vector<float> b(5);
  samples.draw(0, false, a);
  samples.draw(0, true, b);
  EXPECT_NE(a, b);
  LabelledSamples again(kMlp);
  again.draw(0, true, a);
  EXPECT_EQ(a, b);
}

}  // namespace
}  // namespace cox::learn
