// SPDX-License-Identifier: Apache-2.0
#include "learn/stability/elastic.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "cox/learn/drawn.hpp"
#include "cox/learn/learner.hpp"

#include "learn/stability/mixing.hpp"

namespace cox::learn {
namespace {

TEST(Elastic, RootsAreTheEigenvaluesOfTheWholeSystem) {
  for (const std::int64_t n : {1, 2, 8, 30})
    for (const double a : {0.05, 0.6, 1.3, 1.9})
      for (const double p : {0.1, 0.9, 1.5})
        EXPECT_NEAR(elastic_factor({n, p, 0}, a), elastic_averaging_factor(n, a, p / static_cast<double>(n)),
                    1e-7)
            << n << ' ' << a << ' ' << p;
}

// Check 41 of the reference: a = 1, r = 0.2, eight workers stand on the edge.
TEST(Elastic, TheEdgeIsTheClosedFormWithAndWithoutMomentum) {
  EXPECT_NEAR(elastic_edge({8, 1.6, 0}), 1, 1e-12);
  for (const double b : {0.0, 0.5, 0.9, 0.99})
    for (const std::int64_t n : {1, 2, 4, 8, 64})
      for (const double p : {0.1, 0.5, 0.9, 1.2, 1.6}) {
        const double edge = elastic_edge({n, p, b});
        if (edge <= 0) continue;
        // Steps of a are small where the edge is near 0: below it all are stable, above none.
        for (int k = 1; k <= 40; ++k)
          EXPECT_LT(elastic_factor({n, p, b}, edge * k / 40.05), 1 + 1e-9)
              << n << ' ' << p << ' ' << b << ' ' << k;
        EXPECT_GT(elastic_factor({n, p, b}, edge * 1.001), 1) << n << ' ' << p << ' ' << b;
        if (b == 0) {
          const double r = p / static_cast<double>(n);
          EXPECT_NEAR(p, (4 - 2 * edge - 2 * r) / (2 - edge), 1e-9) << "the reference's condition";
        }
      }
  EXPECT_LE(elastic_edge({8, 16.0 / 9, 0}), 1e-12) << "no rate is stable";
}

/// f_w(x) = l_w (x - b_w)^2 / 2 on each worker.
class Parabolas final : public Problem {
 public:
  explicit Parabolas(std::vector<LocalQuadratic> workers) : workers_(std::move(workers)) {}
  std::span<const Tensor> tensors() const override { return {&tensor_, 1}; }
  void initial(std::span<float> x) const override { x[0] = 5; }
  double gradient(std::span<const float> x, const Shard& shard, std::span<float> g) override {
    const LocalQuadratic& w = workers_[static_cast<std::size_t>(shard.worker) % workers_.size()];
    g[0] = static_cast<float>(w.curvature * (static_cast<double>(x[0]) - w.optimum));
    return 0;
  }
  Score score(std::span<const float> x) override { return {.loss = static_cast<double>(x[0])}; }
  Flops flops() const override { return Flops{2}; }

 private:
  std::vector<LocalQuadratic> workers_;
  Tensor tensor_{.name = "x"};
};

/// Distance of the centre from 0 in the last versions, at most; how far it has gone, if it is no number any more.
double widest(Problem& problem, const OptimizerSpec& optimizer, const char* word, int workers,
              std::int64_t versions) {
  const auto way = read_way(word);
  EXPECT_TRUE(way) << word;
  Learner learner(problem, optimizer, *way, {}, workers);
  double most = 0;
  stream_drawn(way->policy, {.workers = workers}, [&](const sync::StreamEvent& e, Seconds) {
    if (!learner.take(e)) return false;
    if (learner.version() > versions - 20)
      most = std::max(most, std::abs(static_cast<double>(learner.parameters()[0])));
    return learner.version() < versions;
  });
  return learner.diverged() ? 1e30 : most;
}

// The rule that learns has the edge: 1 % below it runs die out, 1 % above they explode. Workers begin alike, so it is their mean with the centre.
TEST(Elastic, RunsDieOutBelowTheEdgeAndExplodeAbove) {
  for (const auto& [kind, b] :
       {std::pair{OptimizerKind::Sgd, 0.0}, {OptimizerKind::Momentum, 0.5}, {OptimizerKind::Momentum, 0.9}})
    for (const auto& [n, p] : {std::pair{8, 0.9}, {8, 1.6}, {2, 0.5}}) {
      const double edge = elastic_edge({n, p, b});
      const std::string word = "easgd,centre=" + std::to_string(p);
      for (const double off : {0.99, 1.01}) {
        Parabolas problem({{1, 0}});
        const OptimizerSpec spec{.kind = kind, .rate = off * edge, .momentum = b};
        const double at = widest(problem, spec, word.c_str(), n, 6000);
        if (off < 1)
          EXPECT_LT(at, 0.01) << n << ' ' << p << ' ' << b;
        else
          EXPECT_GT(at, 1000) << n << ' ' << p << ' ' << b;
      }
    }
}

// The centre's fixed point, with and without local steps and momentum; with equal curvatures it is the optimum of the mean.
TEST(Elastic, TheCentreEndsWhereTheClosedFormSays) {
  const std::array<LocalQuadratic, 2> two = {{{1, 0}, {3, 1}}};
  for (const int k : {1, 4, 8})
    for (const double p : {0.2, 0.9}) {
      const double fixed = elastic_fixed_point(two, 0.1, k, p);
      Parabolas problem({two[0], two[1]});
      const std::string word = "easgd,centre=" + std::to_string(p) + ",local-steps=" + std::to_string(k);
      EXPECT_NEAR(widest(problem, {.kind = OptimizerKind::Sgd, .rate = 0.1}, word.c_str(), 2, 2000), fixed,
                  2e-6);
      EXPECT_NE(fixed, 0.75);
    }
  EXPECT_NEAR(elastic_fixed_point(two, 0.1, 1, 0.2), fedprox_fixed_point(two, 1), 1e-12)
      << "that of FedProx with a pull of r over the rate";
  Parabolas heavy({two[0], two[1]});
  EXPECT_NEAR(widest(heavy, {.kind = OptimizerKind::Momentum, .rate = 0.01, .momentum = 0.9},
                     "easgd,centre=0.2", 2, 4000),
              elastic_fixed_point(two, 0.1, 1, 0.2), 2e-6)
      << "a heavy ball's steps come to rate / (1 - b)";
  const std::array<LocalQuadratic, 2> alike = {{{2, 0}, {2, 1}}};
  EXPECT_NEAR(elastic_fixed_point(alike, 0.1, 8, 0.9), 0.5, 1e-12);
  // Without meetings two even workers come in turn, and the centre goes to and fro between them: w_1 (b_1 - c_2) + w_2 (b_2 - c_1) = 0,
  // c_1 = c_2 + r w_1 (b_1 - c_2).
  const double w1 = 0.1 / 0.2;
  const double w2 = 0.3 / 0.4;
  Parabolas apart({two[0], two[1]});
  EXPECT_NEAR(
      widest(apart, {.kind = OptimizerKind::Sgd, .rate = 0.1}, "easgd-asynchronous,centre=0.2", 2, 4000),
      w2 / (w1 + w2 - 0.1 * w1 * w2), 2e-6);
}

}  // namespace
}  // namespace cox::learn
