// SPDX-License-Identifier: Apache-2.0
#include "learn/problem/convolution.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "cox/learn/drawn.hpp"
#include "cox/learn/learner.hpp"
#include "cox/learn/optimize.hpp"

#include "learn/kernels/sample_normals.hpp"
#include "learn/problem/dual_test.hpp"

namespace cox::learn {
namespace {

std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

constexpr std::int64_t kNone = 0;
constexpr std::int64_t kBatch = 1;

ProblemSpec small(std::int64_t norm, std::int64_t group) {
  return {.kind = ProblemKind::Convolution,
          .noise = 0.5,
          .classes = 3,
          .side = 5,
          .filters = 4,
          .norm = norm,
          .group = group};
}

std::vector<float> somewhere(const Problem& p) {
  std::vector<float> x(index(p.parameters()));
  SampleNormals(3, 4).draw(0, x);
  return x;
}

/// z of all windows of a sample, then of the next, by any kind of number.
template <class T>
std::vector<T> filtered(const ProblemSpec& s, const Convolution& p, const std::vector<T>& x,
                        const Shard& samples, std::vector<std::size_t>& labels) {
  const auto side = index(s.side);
  const auto filters = index(s.filters);
  std::vector<float> pixels(side * side);
  std::vector<T> z;
  for (std::int64_t i = 0; i < samples.count; ++i) {
    labels.push_back(p.draw(samples.first + i, false, pixels));
    for (std::size_t row = 0; row + 2 < side; ++row)
      for (std::size_t column = 0; column + 2 < side; ++column)
        for (std::size_t f = 0; f < filters; ++f) {
          T sum = 0;
          for (std::size_t k = 0; k < 9; ++k)
            sum += T(static_cast<double>(pixels[(row + k / 3) * side + column + k % 3])) * x[k * filters + f];
          z.push_back(sum);
        }
  }
  return z;
}

/// The mean loss of samples that share their statistics, again.
template <class T>
T mean_loss(const ProblemSpec& s, const Convolution& p, const std::vector<T>& x, const Shard& samples) {
  using std::sqrt;
  const auto filters = index(s.filters), classes = index(s.classes);
  std::vector<std::size_t> labels;
  std::vector<T> z = filtered(s, p, x, samples, labels);
  const std::size_t places = z.size() / filters / labels.size();
  const T n = static_cast<double>(places * labels.size());
  const std::size_t after = 9 * filters;
  const std::size_t shift = s.norm == kBatch ? after + filters : after;
  const std::size_t weights = shift + filters, bias = weights + filters * classes;
  if (s.norm == kBatch)
    for (std::size_t f = 0; f < filters; ++f) {
      T mean = 0, variance = 0;
      for (std::size_t i = f; i < z.size(); i += filters) mean += z[i] / n;
      for (std::size_t i = f; i < z.size(); i += filters) variance += (z[i] - mean) * (z[i] - mean) / n;
      for (std::size_t i = f; i < z.size(); i += filters)
        z[i] = (z[i] - mean) / sqrt(variance + T(1e-5)) * x[after + f];
    }
  T sum = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    std::vector<T> logits(classes);
    for (std::size_t c = 0; c < classes; ++c) logits[c] = x[bias + c];
    for (std::size_t f = 0; f < filters; ++f) {
      T pooled = 0;
      for (std::size_t place = 0; place < places; ++place) {
        const T y = z[(i * places + place) * filters + f] + x[shift + f];
        if (T(0) < y) pooled += y / T(static_cast<double>(places));
      }
      for (std::size_t c = 0; c < classes; ++c) logits[c] += pooled * x[weights + f * classes + c];
    }
    sum += cross_entropy_of(logits.data(), classes, labels[i]);
  }
  return sum / T(static_cast<double>(labels.size()));
}

void expect_gradient(const ProblemSpec& s, const std::vector<float>& g, const std::vector<float>& x,
                     const Shard& samples) {
  const Convolution p(s);
  std::vector<Dual> dual(x.begin(), x.end());
  for (std::size_t k = 0; k < x.size(); ++k) {
    dual[k].slope = 1;
    EXPECT_NEAR(g[k], mean_loss(s, p, dual, samples).slope, 1e-5) << s.norm << ' ' << s.group << ' ' << k;
    dual[k].slope = 0;
  }
}

TEST(Convolution, GradientIsThatOfDualNumbers) {
  for (const std::int64_t norm : {kNone, kBatch}) {
    Convolution p(small(norm, 0));
    const auto x = somewhere(p);
    std::vector<float> g(x.size());
    const Shard shard{.first = 11, .count = 7};
    EXPECT_NEAR(p.gradient(x, shard, g),
                mean_loss(small(norm, 0), p, std::vector<Dual>(x.begin(), x.end()), shard).value, 1e-5);
    expect_gradient(small(norm, 0), g, x, shard);
  }
}

/// The way of a sample's loss through everybody else's statistics is in its shard's gradient.
TEST(Convolution, ShardsOfAGroupTogetherAreTheGradientOfItsMeanLoss) {
  const ProblemSpec s = small(kBatch, 8);
  Convolution p(s);
  const auto x = somewhere(p);
  std::vector<float> mean(x.size()), g(x.size());
  for (std::int64_t part = 0; part < 4; ++part) {
    p.gradient(x, {.first = 16 + 2 * part, .count = 2}, g);
    for (std::size_t k = 0; k < g.size(); ++k) mean[k] += g[k] / 4;
  }
  expect_gradient(s, mean, x, {.first = 16, .count = 8});
  p.gradient(x, {.first = 16, .count = 8}, g);
  expect_gradient(s, g, x, {.first = 16, .count = 8});
}

TEST(Convolution, ManySamplesAreAsFewOfThem) {
  for (const std::int64_t norm : {kNone, kBatch}) {
    Convolution p(small(norm, norm == kBatch ? 10 : 0));
    const auto x = somewhere(p);
    std::vector<float> g(x.size());
    constexpr std::int64_t kCount = 150;  // several parts
    double sum = 0;
    for (std::int64_t i = 0; i < kCount; i += 10) sum += 10 * p.gradient(x, {.first = i, .count = 10}, g);
    EXPECT_NEAR(p.gradient(x, {.first = 0, .count = kCount}, g), sum / kCount, 1e-12);
  }
}

/// How far the mean over micro-batches is from the gradient of all of them, over its length.
double apart(const ProblemSpec& s, std::int64_t micro) {
  constexpr std::int64_t kAll = 32;
  Convolution p(s);
  const auto x = somewhere(p);
  std::vector<float> whole(x.size()), g(x.size());
  std::vector<double> mean(x.size());
  p.gradient(x, {.first = 0, .count = kAll}, whole);
  for (std::int64_t first = 0; first < kAll; first += micro) {
    p.gradient(x, {.first = first, .count = micro}, g);
    for (std::size_t k = 0; k < g.size(); ++k)
      mean[k] += static_cast<double>(g[k] * static_cast<float>(micro)) / kAll;
  }
  double difference = 0, length = 0;
  for (std::size_t k = 0; k < g.size(); ++k) {
    difference += std::pow(mean[k] - static_cast<double>(whole[k]), 2);
    length += std::pow(static_cast<double>(whole[k]), 2);
  }
  return std::sqrt(difference / length);
}

TEST(Convolution, AccumulationIsNoLargerBatchWhereMicroBatchesHaveTheirOwnStatistics) {
  EXPECT_LT(apart(small(kNone, 0), 2), 1e-6);
  EXPECT_LT(apart(small(kBatch, 32), 2), 1e-6);
  EXPECT_GT(apart(small(kBatch, 0), 2), 0.1);
  EXPECT_LT(apart(small(kBatch, 0), 16), apart(small(kBatch, 0), 2));  // the more samples, the nearer
}

/// A synchronous job of 32 samples a step, after `versions` of them.
std::vector<float> learned(Problem& p, int workers, std::int64_t leaves, std::int64_t samples,
                           std::int64_t versions) {
  const Way way = *read_way("synchronous");
  Learner learner(p, {.kind = OptimizerKind::Momentum, .rate = 0.1, .momentum = 0.9}, way,
                  {.leaves = leaves, .samples = samples}, workers);
  stream_drawn(way.policy, {.workers = workers}, [&](const sync::StreamEvent& e, Seconds) {
    return learner.take(e) && learner.version() < versions;
  });
  return {learner.parameters().begin(), learner.parameters().end()};
}

TEST(Convolution, SharedStatisticsHaveTheSameBitsOnAnyNumberOfWorkers) {
  Convolution alone(small(kBatch, 32));
  const std::vector<float> expected = learned(alone, 1, 16, 2, 20);
  for (const int workers : {2, 4, 16}) {
    Convolution p(small(kBatch, 32));
    EXPECT_EQ(learned(p, workers, 16 / workers, 2, 20), expected) << workers;
  }
  Convolution own(small(kBatch, 0));
  EXPECT_NE(learned(own, 4, 4, 2, 20), expected);
}

double loss_after(const ProblemSpec& s, std::int64_t versions) {
  Convolution p(s);
  return p.score(learned(p, 16, 1, 2, versions)).loss;
}

TEST(Convolution, StatisticsOfTwoSamplesLearnWorseThanSharedOnes) {
  double own = 0, shared = 0;
  for (std::int64_t seed = 1; seed <= 4; ++seed) {
    ProblemSpec s{.kind = ProblemKind::Convolution, .noise = 0.5, .seed = seed};
    own += loss_after(s, 150);
    s.group = 32;
    shared += loss_after(s, 150);
  }
  EXPECT_GT(own, 1.1 * shared);
}

TEST(Convolution, ItIsLearnt) {
  for (const std::int64_t norm : {kNone, kBatch}) {
    Convolution p({.kind = ProblemKind::Convolution, .noise = 0.3, .norm = norm});
    std::vector<float> x(index(p.parameters())), g(x.size());
    p.initial(x);
    const double before = p.score(x).accuracy;
    Optimizer adam({.kind = OptimizerKind::Adam, .rate = 0.02}, p.tensors());
    for (int t = 0; t < 300; ++t) {
      p.gradient(x, {.first = std::int64_t{t} * 32, .count = 32}, g);
      adam.step(x, g);
    }
    EXPECT_LT(before, 0.6);
    EXPECT_GT(p.score(x).accuracy, 0.9);
  }
}

}  // namespace
}  // namespace cox::learn
