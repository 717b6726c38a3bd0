// SPDX-License-Identifier: Apache-2.0
#include "forecast_jobs.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "cox/base/elementary.hpp"
#include "cox/base/random.hpp"

namespace cox::forecast_jobs {
namespace {

constexpr double kWork = 100;
constexpr int kNode = 8;
enum Stream : std::uint32_t {
  Mechanisms = 0x91,
  Residuals,
  Chi,
  OfRanks,
  OfNodes,
  OfSteps,
  OfNodeSteps,
  Slow
};

/// Student's t with 4 degrees of freedom from a uniform: its quantile is closed. Source: Shaw 2006.
double student4(double u) {
  const double a = 4 * u * (1 - u);
  const double q = std::cos(std::acos(std::sqrt(a)) / 3) / std::sqrt(a);
  return std::copysign(2 * std::sqrt(std::max(q - 1, 0.0)), u - 0.5);
}

/// A residual of mean 0 and deviation 1 from a standard normal score.
double shaped(const Job& job, double z) {
  if (job.family == Family::Normal) return z;
  if (job.family == Family::Lognormal) {
    constexpr double kSigma = 0.47238;  // cv 0.5
    const double mean = std::exp(kSigma * kSigma / 2);
    return (std::exp(kSigma * z) - mean) / (0.5 * mean);
  }
  std::array<double, 1> below = {std::clamp(-z, -8.2, 8.2)};
  normal_probabilities(below);
  const double above = below[0];  // P(Z > z)
  if (job.family == Family::Exponential) return -std::log(above) - 1;
  if (job.family == Family::Weibull) {
    constexpr double kMean = 1.2658235;  // Gamma(1 + 1 / 0.7)
    const double sd = std::sqrt(std::tgamma(1 + 2 / 0.7) - kMean * kMean);
    return (std::pow(-std::log(above), 1 / 0.7) - kMean) / sd;
  }
  if (job.family == Family::Student)
    return student4(std::clamp(1 - above, 1e-15, 1 - 1e-15)) / std::sqrt(2.0);
  const double a = job.pareto_shape;
  const double sd = std::sqrt(a / (a - 2)) / (a - 1);
  return (std::pow(above, -1 / a) - a / (a - 1)) / sd;
}

/// What the parts of one run are, drawn by rank, node and step.
struct Player {
  const Job& job;
  std::uint64_t run;
  int steps;
  std::vector<double> lasting;  // of each rank
  std::vector<double> state;    // of the residual's correlation
  bool slow = false;

  Player(const Job& j, int ranks, int count, std::uint64_t r) : job(j), run(r), steps(count) {
    lasting.resize(static_cast<std::size_t>(ranks));
    state.resize(lasting.size());
    std::vector<double> of_rank(lasting.size());
    RandomStream(seed(), OfRanks).normals(0, 0, of_rank);
    RandomStream(seed(), Residuals).normals(0, 0, state);
    for (std::size_t i = 0; i < lasting.size(); ++i) {
      const std::uint64_t node = i / kNode;
      const bool is_slow = RandomStream(seed(), Slow).uniform(0, node) < job.slow_share;
      slow = slow || is_slow;
      lasting[i] = job.rank * of_rank[i] + job.node * RandomStream(seed(), OfNodes).normal(0, node) +
                   (is_slow ? job.slow_extra : 0);
    }
  }
  [[nodiscard]] std::uint64_t seed() const { return job.number * 1000 + run; }

  void step(int k, std::vector<double>& out) {
    const std::size_t n = lasting.size();
    out.resize(n);
    const auto at = static_cast<std::uint64_t>(k);
    RandomStream(seed(), Residuals).normals(at + 1, 0, out);
    const double phi = job.correlation;
    const double fresh = std::sqrt(1 - phi * phi);
    const double common = kWork * (1 + job.fold * std::log2(static_cast<double>(n))) +
                          job.drift * (static_cast<double>(k) / std::max(steps - 1, 1)) +
                          job.step * RandomStream(seed(), OfSteps).normal(at, 0);
    std::vector<double> node((n + kNode - 1) / kNode);
    RandomStream(seed(), OfNodeSteps).uniforms(at, 0, node);
    for (double& u : node) u = job.node_step > 0 ? -job.node_step * std::log(u) : 0;
    for (std::size_t i = 0; i < n; ++i) {
      state[i] = phi > 0 ? phi * state[i] + fresh * out[i] : out[i];
      out[i] = std::max(common + lasting[i] + node[i / kNode] + job.residual * shaped(job, state[i]), 0.0);
    }
  }
};

}  // namespace

double Job::communication(double ranks) const {
  return comm + comm_fold * std::log2(ranks);
}

Job draw_job(std::uint64_t number) {
  const RandomStream random(number, Mechanisms);
  std::uint64_t next = 0;
  const auto u = [&] { return random.uniform(0, next++); };
  const auto between = [&](double a, double b) { return a * std::pow(b / a, u()); };
  Job job;
  job.number = number;
  job.family = static_cast<Family>(static_cast<int>(6 * u()));
  job.pareto_shape = between(2.2, 6);
  job.residual = between(0.5, 6);
  const auto half = [&](double& part) {
    const double size = between(0.3, 3);
    if (u() < 0.5) part = size;
  };
  half(job.rank);
  half(job.node);
  half(job.node_step);
  half(job.step);
  job.correlation = std::array<double, 3>{0, 0.5, 0.9}[static_cast<std::size_t>(3 * u())];
  job.drift = 2 * u();
  job.slow_share = std::array<double, 4>{0, 0, 0.02, 0.1}[static_cast<std::size_t>(4 * u())];
  job.slow_extra = between(3, 20);
  job.comm = between(3, 20);
  job.comm_fold = 2 * u();
  return job;
}

Job hiding_job(Hidden what, double fold, std::uint64_t number) {
  Job job{
      .number = number, .family = Family::Normal, .residual = 3, .fold = fold, .comm = 0, .comm_fold = 0.7};
  if (what == Hidden::Exponential) job.family = Family::Exponential;
  if (what == Hidden::Student) job.family = Family::Student;
  if (what == Hidden::Correlated) job.correlation = 0.9;
  if (what == Hidden::Lasting) job.rank = 4;
  return job;
}

RunOf play(const Job& job, int ranks, int steps, std::uint64_t run) {
  RunOf out;
  Player player(job, ranks, steps, run);
  out.slow_seen = player.slow;
  out.sample.name = "job " + std::to_string(job.number);
  for (int r = 0; r < ranks; ++r) out.sample.ranks.push_back({.rank = r, .node = r / kNode});
  out.sample.positions.resize(1);
  std::vector<double> own;
  for (int k = 0; k < steps; ++k) {
    player.step(k, own);
    double slowest = 0;
    for (const double x : own) {
      out.sample.positions[0].own.push_back(Seconds{x});
      slowest = std::max(slowest, x);
    }
    out.sample.steps.push_back(
        {.number = k, .begin = {}, .length = Seconds{slowest + job.communication(ranks)}});
  }
  return out;
}

Truth truth_of(const Job& job, int ranks, int steps, std::uint64_t run) {
  Player player(job, ranks, steps, run);
  std::vector<double> own;
  double sum = 0;
  for (int k = 0; k < steps; ++k) {
    player.step(k, own);
    sum += *std::max_element(own.begin(), own.end());
  }
  return {.mean = sum / steps + job.communication(ranks), .slow = player.slow};
}

}  // namespace cox::forecast_jobs
