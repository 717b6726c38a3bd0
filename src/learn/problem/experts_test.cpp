// SPDX-License-Identifier: Apache-2.0
#include "learn/problem/experts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cox/learn/optimize.hpp"

#include "learn/kernels/sample_normals.hpp"
#include "learn/problem/dual_test.hpp"

namespace cox::learn {
namespace {

std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

ProblemSpec small(std::int64_t top, double capacity, double balance) {
  return {.kind = ProblemKind::Experts,
          .noise = 0.3,
          .classes = 3,
          .width = 4,
          .experts = 5,
          .top = top,
          .capacity = capacity,
          .balance = balance,
          .kinds = 3};
}

std::vector<float> somewhere(const Problem& p) {
  std::vector<float> x(index(p.parameters()));
  SampleNormals(3, 4).draw(0, x);
  for (float& v : x) v *= 0.5F;
  return x;
}

/// A shard again, token by token, for any kind of number.
template <class T>
struct Again {
  T loss = 0;  ///< mean, with the balance
  std::vector<std::int64_t> taken;
  std::int64_t dropped = 0;
};
template <class T>
Again<T> again(const ProblemSpec& s, const std::vector<T>& x, const Shard& shard) {
  using std::exp;
  Experts problem(s);
  const auto width = index(s.width), experts = index(s.experts), classes = index(s.classes),
             top = index(s.top);
  const auto count = index(shard.count);
  const std::size_t bias = width * experts, first_expert = bias + classes,
                    expert_size = (width + 1) * classes;
  std::vector<std::vector<float>> tokens(count, std::vector<float>(width));
  std::vector<std::size_t> labels(count);
  std::vector<std::vector<T>> p(count, std::vector<T>(experts));
  std::vector<std::vector<std::size_t>> order(count, std::vector<std::size_t>(experts));
  std::vector<T> share(experts), mean(experts);
  for (std::size_t i = 0; i < count; ++i) {
    labels[i] = problem.draw(shard.first + static_cast<std::int64_t>(i), false, tokens[i]);
    T sum = 0;
    for (std::size_t e = 0; e < experts; ++e) {
      T z = 0;
      for (std::size_t k = 0; k < width; ++k) z += T(static_cast<double>(tokens[i][k])) * x[k * experts + e];
      p[i][e] = exp(z);
      sum += p[i][e];
    }
    for (std::size_t e = 0; e < experts; ++e) {
      p[i][e] = p[i][e] / sum;
      mean[e] += p[i][e] / T(static_cast<double>(count));
    }
    std::iota(order[i].begin(), order[i].end(), 0);
    std::ranges::stable_sort(order[i], [&](auto a, auto b) { return p[i][b] < p[i][a]; });
    share[order[i][0]] += T(1 / static_cast<double>(count));
  }
  Again<T> out;
  out.taken.resize(experts);
  std::vector<std::vector<bool>> kept(count, std::vector<bool>(top));
  for (std::size_t j = 0; j < top; ++j)
    for (std::size_t i = 0; i < count; ++i) {
      const bool fits = out.taken[order[i][j]] < problem.room(shard.count);
      kept[i][j] = fits;
      out.taken[order[i][j]] += fits ? 1 : 0;
      out.dropped += fits ? 0 : 1;
    }
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<T> z(classes);
    for (std::size_t c = 0; c < classes; ++c) z[c] = x[bias + c];
    for (std::size_t j = 0; j < top; ++j) {
      if (!kept[i][j]) continue;
      const std::size_t e = order[i][j];
      const T gate = top == 1 ? p[i][e] : p[i][e] / (p[i][order[i][0]] + p[i][order[i][1]]);
      const std::size_t weights = first_expert + e * expert_size;
      for (std::size_t c = 0; c < classes; ++c) {
        T output = x[weights + width * classes + c];
        for (std::size_t k = 0; k < width; ++k)
          output += T(static_cast<double>(tokens[i][k])) * x[weights + k * classes + c];
        z[c] += gate * output;
      }
    }
    out.loss += cross_entropy_of(z.data(), classes, labels[i]) / T(static_cast<double>(count));
  }
  for (std::size_t e = 0; e < experts; ++e)
    out.loss += T(s.balance * static_cast<double>(experts)) * share[e] * mean[e];
  return out;
}

TEST(Experts, GradientIsThatOfDualNumbers) {
  const Shard shard{.first = 11, .count = 13};
  for (const std::int64_t top : {1, 2})
    for (const double capacity : {0.0, 0.8})
      for (const double balance : {0.0, 0.5}) {
        const ProblemSpec s = small(top, capacity, balance);
        Experts p(s);
        const auto x = somewhere(p);
        std::vector<float> g(x.size());
        const double loss = p.gradient(x, shard, g);
        std::vector<Dual> dual(x.begin(), x.end());
        for (std::size_t k = 0; k < x.size(); ++k) {
          dual[k].slope = 1;
          const Again<Dual> expected = again(s, dual, shard);
          dual[k].slope = 0;
          EXPECT_EQ(expected.dropped > 0, capacity > 0);
          EXPECT_NEAR(loss, expected.loss.value, 2e-6);
          EXPECT_NEAR(g[k], expected.loss.slope, 2e-6)
              << top << ' ' << capacity << ' ' << balance << ' ' << k;
        }
      }
}

TEST(Experts, WithoutRoomAndBalanceSamplesAloneAreThoseOfABatch) {
  Experts p(small(2, 0, 0));
  const auto x = somewhere(p);
  std::vector<float> g(x.size());
  constexpr std::int64_t kCount = 300;  // more than one part
  double sum = 0;
  for (std::int64_t i = 0; i < kCount; ++i) sum += p.gradient(x, {.first = i, .count = 1}, g);
  EXPECT_EQ(p.gradient(x, {.first = 0, .count = kCount}, g), sum / kCount);
}

TEST(Experts, RoomIsForSoManyChoices) {
  EXPECT_EQ(Experts(small(1, 1.25, 0)).room(100), 25);
  EXPECT_EQ(Experts(small(2, 1.25, 0)).room(100), 50);
  EXPECT_EQ(Experts(small(1, 1.25, 0)).room(1), 1);
  EXPECT_EQ(Experts(small(2, 0, 0)).room(100), 100);
  EXPECT_EQ(Experts(small(1, 100, 0)).room(100), 100);
  // Held-out tokens: what is dropped is what the busiest have no room for.
  ProblemSpec s = small(1, 1, 0);
  s.held_out = Experts::kBlock;
  Experts p(s);
  std::vector<float> x(index(p.parameters()));  // a router of zeros sends all to the first
  const Score score = p.score(x);
  ASSERT_TRUE(score.experts);
  EXPECT_EQ(score.experts->busiest, 5);
  EXPECT_EQ(score.experts->idle, 4);
  EXPECT_DOUBLE_EQ(score.experts->dropped, 1 - 52.0 / 256);  // ceil(256 / 5)
}

/// Adam, 256 tokens a step.
Score learned(const ProblemSpec& s, int steps) {
  Experts p(s);
  std::vector<float> x(index(p.parameters())), g(x.size());
  p.initial(x);
  Optimizer adam({.kind = OptimizerKind::Adam, .rate = 0.02}, p.tensors());
  for (int t = 0; t < steps; ++t) {
    p.gradient(x, {.first = std::int64_t{t} * 256, .count = 256}, g);
    adam.step(x, g);
  }
  return p.score(x);
}

TEST(Experts, OneForEachKindIsBetterThanOneForAll) {
  ProblemSpec s{.kind = ProblemKind::Experts, .zipf = 0, .capacity = 0, .balance = 0.1};
  const double several = learned(s, 400).accuracy;
  s.experts = 1;
  EXPECT_GT(several, learned(s, 400).accuracy + 0.2);
}

/// More experts than there is use for: those that nobody chooses are never trained, and so never chosen.
TEST(Experts, WithoutItsAuxiliaryLossRoutingCollapses) {
  double idle = 0, balanced_idle = 0, dropped = 0, balanced_dropped = 0, loss = 0, balanced_loss = 0;
  for (const std::int64_t seed : {1, 2}) {
    ProblemSpec s{.kind = ProblemKind::Experts, .experts = 32, .balance = 0, .seed = seed};
    const Score alone = learned(s, 300);
    s.balance = 0.1;
    const Score balanced = learned(s, 300);
    idle += static_cast<double>(alone.experts->idle) / 2;
    balanced_idle += static_cast<double>(balanced.experts->idle) / 2;
    dropped += alone.experts->dropped / 2;
    balanced_dropped += balanced.experts->dropped / 2;
    loss += alone.loss / 2;
    balanced_loss += balanced.loss / 2;
  }
  EXPECT_GT(idle, 16);
  EXPECT_LT(balanced_idle, 8);
  EXPECT_GT(dropped, 2 * balanced_dropped);
  EXPECT_GT(loss, 1.2 * balanced_loss);
}

}  // namespace
}  // namespace cox::learn
