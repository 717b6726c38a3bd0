// SPDX-License-Identifier: Apache-2.0
/// \file
/// What may be asked of a step before a run: edges of stability under delay, fixed points of local steps, mixing, floors.
/// Everything here is exact for a quadratic; `a` is rate times curvature, a pure number.
///
/// Use when: a run is to be held against what theory says, or a rate against its limit.
/// Not when: the problem itself is asked; run it (cox/learn/learner.hpp).
/// Threads: functions without state. No elementary function of libm but the square root: the same bits everywhere.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cox/learn/problem.hpp"

namespace cox::learn {

// ---- Delay ----

enum class MomentumKind : std::uint8_t { HeavyBall, Nesterov };

/// x+ = x + b (x - x-) - a g, where g was taken `tau` versions ago. Nesterov: in the form whose gradient is taken at x and
/// enters as (1 + b) g - b g-.
struct DelayedGradient {
  std::int64_t delay = 0;  ///< tau
  double momentum = 0;     ///< b, in [0, 1)
  MomentumKind kind = MomentumKind::HeavyBall;
};

/// Largest a for which this is stable. With z = e^(it): heavy ball a = 2 sin(t/2) |z - b|, t the first root of
/// cos((tau + 1/2) t) = b cos((tau - 1/2) t); b = 0 gives 2 sin(pi / (2 (2 tau + 1))). Nesterov: divided by
/// |(1 + b) z - b|, t from the same condition of phase.
/// Cost: O(tau). Held by: src/learn/stability/delay_test.cpp (table of the reference, roots of the polynomial)
[[nodiscard]] double stable_edge(const DelayedGradient& way);
/// Largest |root| of r^(tau+2) - (1+b) r^(tau+1) + b r^tau + a r (Nesterov: a ((1+b) r - b)) = 0: factor per version.
/// Held by: src/learn/stability/delay_test.cpp
[[nodiscard]] double growth(const DelayedGradient& way, double a);
/// Variance of x over (rate sigma)^2 when gradients carry independent noise sigma: the mean over the unit circle of
/// |z - (1+b) + b/z + a z^-tau|^-2, by 2^16 points; without momentum or with the heavy ball.
/// Pre: a below the edge (asserted). Held by: src/learn/stability/delay_test.cpp (closed forms at tau 0 and 1)
[[nodiscard]] double stationary_variance(const DelayedGradient& way, double a);

/// A law of delays that are drawn independently for each update: probability of 0, 1, 2, ...
using DelayLaw = std::vector<double>;

/// Largest a for which the *mean* of x stays: the first a at which z - 1 + a sum p_k z^-k has a root on the unit circle.
[[nodiscard]] double mean_edge(const DelayLaw& law);
/// Largest a for which the mean *square* of x stays, which is less: with P(z) = sum p_k z^-k, where the mean over the unit
/// circle of a^2 (1 - |P|^2) / |z - 1 + a P|^2 becomes 1 (the noise that the draws make must not reproduce itself).
/// Above it averages over seeds may still converge. Held by: src/learn/stability/random_delay_test.cpp (covariances stepped)
[[nodiscard]] double mean_square_edge(const DelayLaw& law);

/// N workers whose steps take exponential times and who reuse no read: edge of the mean square, from the four moments of
/// x and of what two workers hold. The mean alone lasts to 4 N - 2.
/// Held by: src/learn/stability/random_delay_test.cpp
[[nodiscard]] double exponential_workers_edge(std::int64_t workers);

/// A step against what its ages allow.
struct StalenessAlarm {
  double limit = 0;     ///< largest rate times curvature for these ages
  double ratio = 0;     ///< of rate times curvature to it
  bool raised = false;  ///< ratio above a half: there the noise floor is about twice that of a fresh gradient
};
/// `ages`: how many updates had age 0, 1, 2, ... Without momentum the limit is the mean-square edge of delays that are
/// drawn from them; with momentum the edge of a constant delay of their mean, rounded up. An empty count raises nothing.
/// Held by: src/learn/stability/random_delay_test.cpp
[[nodiscard]] StalenessAlarm staleness_alarm(std::span<const std::int64_t> ages, double rate,
                                             double curvature, double momentum = 0);

// ---- Local steps ----

/// f(x) = curvature (x - optimum)^2 / 2 of one worker.
struct LocalQuadratic {
  double curvature = 1;
  double optimum = 0;
};

/// Where the mean of all is least: sum l b / sum l. SCAFFOLD ends here.
[[nodiscard]] double mean_optimum(std::span<const LocalQuadratic> workers);
/// How far the mean of all is above its least value at x.
[[nodiscard]] double mean_gap(std::span<const LocalQuadratic> workers, double x);
/// Where K local steps and a mean come to rest, whatever the outer rate and momentum: local SGD, FedAvg, DiLoCo.
/// sum m b / sum m, m = 1 - (1 - rate l)^K. Held by: src/learn/stability/local_rounds_test.cpp
[[nodiscard]] double local_fixed_point(std::span<const LocalQuadratic> workers, double rate,
                                       std::int64_t local_steps);
/// What a round leaves of the distance: mean of (1 - rate l)^K.
[[nodiscard]] double local_round_factor(std::span<const LocalQuadratic> workers, double rate,
                                        std::int64_t local_steps);
/// Where FedProx with exact local solutions comes to rest: sum w b / sum w, w = l / (l + pull).
[[nodiscard]] double fedprox_fixed_point(std::span<const LocalQuadratic> workers, double pull);
/// Variance over workers before their mean, equal curvatures, noise 1 in each gradient:
/// (1 - 1/N) rate^2 (1 - (1-a)^(2K)) / (1 - (1-a)^2).
[[nodiscard]] double local_spread(std::int64_t workers, double rate, double curvature,
                                  std::int64_t local_steps);
/// Factor per round of DiLoCo on a curvature that local steps shrink by q: largest |root| of
/// r^2 - (1 + mu)(1 - a') r + mu (1 - a'), a' = outer rate (1 - q).
[[nodiscard]] double diloco_factor(double outer_rate, double outer_momentum, double q);

// ---- Mixing ----

/// Weights W of gossip, row by row: worker i takes sum_j W_ij x_j.
struct Mixing {
  std::int64_t workers = 1;
  std::vector<double> weights{1};
};
[[nodiscard]] Mixing ring_mixing(std::int64_t workers);               ///< 1/3 each; from 3 workers on
[[nodiscard]] Mixing hypercube_mixing(int dimensions);                ///< 1/(d+1) each
[[nodiscard]] Mixing torus_mixing(std::int64_t side);                 ///< 1/5 each; from 3 on
[[nodiscard]] Mixing one_peer_mixing(std::int64_t workers, int hop);  ///< half of the worker 2^hop before
[[nodiscard]] Mixing product(const Mixing& after, const Mixing& before);

/// Largest distance of a row's and of a column's sum from 1. Rows: agreement stays. Columns: the mean stays; without,
/// gossip moves it (a one-sided pull). Held by: src/learn/stability/mixing_test.cpp
struct SumErrors {
  double rows = 0;
  double columns = 0;
};
[[nodiscard]] SumErrors sum_errors(const Mixing& w);
/// Largest distance of a weight from 1/n: 0 where one round is the exact mean.
[[nodiscard]] double consensus_error(const Mixing& w);

/// Of symmetric weights with sums 1. Cost: O(n^3) per sweep of Jacobi's method, some ten of them.
struct MixingRates {
  double second = 0;  ///< second largest eigenvalue
  double least = 0;
  /// Distance from consensus per step: max(|second|, |least|).
  [[nodiscard]] double factor() const { return second > -least ? second : -least; }
  [[nodiscard]] double gap() const { return 1 - factor(); }
  /// Edge of x+ = W x - rate g: 1 + least. Of W (x - rate g): 2.
  [[nodiscard]] double edge() const { return 1 + least; }
};
[[nodiscard]] MixingRates mixing_rates(const Mixing& w);

/// Elastic averaging, x+ = x - a x - r (x - c), c+ = c + r sum (x - c): factor per step, the largest |eigenvalue|; below 1
/// where N r < (4 - 2a - 2r) / (2 - a). Held by: src/learn/stability/mixing_test.cpp
[[nodiscard]] double elastic_averaging_factor(std::int64_t workers, double a, double pull);

/// Mean time until N of N + b workers are there, of one's mean: exponential times, H(N + b) - H(b).
[[nodiscard]] double backup_wait(std::int64_t workers, std::int64_t backups);

// ---- Measured ----

/// Largest curvature in size, by power iteration on differences of gradients of one fixed batch.
struct Curvature {
  double value = 0;     ///< v' H v
  double residual = 0;  ///< |H v - value v|: how far v is from an eigenvector; some eigenvalue is that near
  int iterations = 0;
};
/// Ends when the residual is below 1e-3 of the value, or after `most` iterations. H v from x +- h v, h = |x| + 1 over 256.
/// Cost: two gradients per iteration. Held by: src/learn/stability/measured_test.cpp
[[nodiscard]] Curvature measured_curvature(Problem& problem, std::span<const float> x, const Shard& batch,
                                           int most = 100);

/// Gradient noise from steps with n workers of b samples each: S = b n/(n-1) (mean |g_i|^2 - |g|^2), the trace of one
/// sample's covariance, and G2 = (n |g|^2 - mean |g_i|^2) / (n-1), the true gradient's square. Both unbiased; their ratio
/// of one step is not, so they are averaged apart. Source: McCandlish et al. 2018, appendix A.
/// Held by: src/learn/stability/measured_test.cpp
class NoiseScale {
 public:
  /// `samples`: of each worker, b. Pre: workers >= 2 (asserted): one worker uses the halves of its batch.
  NoiseScale(std::int64_t workers, std::int64_t samples);
  /// One step: |g_i|^2 of each worker's mean gradient, and |g|^2 of their mean.
  void add(std::span<const double> squares, double square_of_mean);
  struct Estimate {
    double noise = 0;     ///< S
    double gradient = 0;  ///< G2
    /// S / G2, the critical batch, and its 95 % interval: jackknife over 20 stretches of steps, Student's t. Nothing where
    /// G2 is not above 0 or there are fewer than 20 steps.
    struct Batch {
      double value = 0;
      double low = 0;
      double high = 0;
    };
    std::optional<Batch> critical_batch;
  };
  [[nodiscard]] Estimate estimate() const;

 private:
  double workers_;
  double samples_;
  std::vector<double> noise_;
  std::vector<double> gradient_;
};

}  // namespace cox::learn
