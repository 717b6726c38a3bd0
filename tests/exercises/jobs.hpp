// SPDX-License-Identifier: Apache-2.0
/// \file
/// For the exercises: learners under a policy, problems, steps and collectives, each in one call.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cox/learn/drawn.hpp"
#include "cox/learn/learner.hpp"
#include "cox/learn/way.hpp"
#include "cox/model/schedule.hpp"
#include "cox/simulate/outcome.hpp"

#include "simulate/training/scenarios.hpp"

namespace cox::exercises {

inline learn::Way way_of(std::string_view text) {
  auto way = learn::read_way(text);
  EXPECT_TRUE(way) << text;
  return way ? *way : learn::Way{};
}

inline std::unique_ptr<learn::Problem> problem_of(const learn::ProblemSpec& spec) {
  auto problem = learn::make_problem(spec);
  EXPECT_TRUE(problem);
  return std::move(*problem);
}

inline learn::OptimizerSpec sgd(double rate) {
  return {.kind = learn::OptimizerKind::Sgd, .rate = rate};
}

/// What is learned in `versions` versions, or until it diverges.
struct Learned {
  std::vector<float> parameters;
  double loss = 0;  ///< infinite where it diverged
  Seconds time{};
};
inline Learned learn_for(learn::Problem& problem, const learn::OptimizerSpec& optimizer,
                         const learn::Way& way, const learn::DrawnSteps& steps, std::int64_t versions,
                         const learn::StepShare& share = {}) {
  learn::Learner learner(problem, optimizer, way, share, steps.workers, steps.seed);
  Learned learned;
  learn::stream_drawn(way.policy, steps, [&](const sync::StreamEvent& e, Seconds at) {
    learned.time = at;
    return learner.take(e) && learner.version() < versions;
  });
  learned.parameters.assign(learner.parameters().begin(), learner.parameters().end());
  learned.loss =
      learner.diverged() ? std::numeric_limits<double>::infinity() : problem.score(learned.parameters).loss;
  return learned;
}

/// Versions until the loss is at most `target`; `most` where it is never.
inline std::int64_t versions_to(learn::Problem& problem, double target, const learn::OptimizerSpec& optimizer,
                                const learn::Way& way, const learn::DrawnSteps& steps, std::int64_t most,
                                Seconds* time = nullptr) {
  learn::Learner learner(problem, optimizer, way, {}, steps.workers, steps.seed);
  bool there = false;
  std::int64_t scored = 0;
  learn::stream_drawn(way.policy, steps, [&](const sync::StreamEvent& e, Seconds at) {
    if (!learner.take(e)) return false;
    if (learner.version() == scored) return true;
    scored = learner.version();
    there = problem.score(learner.parameters()).loss <= target;
    if (time != nullptr) *time = at;
    return !there && scored < most;
  });
  return there ? scored : most;
}

/// Mean over coordinates of the square of the mean gradient of `shards` at the optimum of a quadratic, where all of it is
/// noise: the variance of that mean.
inline double noise_of_mean(learn::Problem& problem, int draws, int workers, std::int64_t samples) {
  const auto n = static_cast<std::size_t>(problem.parameters());
  const std::vector<float> optimum(n);
  std::vector<float> g(n);
  double squares = 0;
  std::int64_t first = 0;
  for (int draw = 0; draw < draws; ++draw) {
    std::vector<double> mean(n);
    for (int w = 0; w < workers; ++w, first += samples) {
      problem.gradient(optimum, {.first = first, .count = samples}, g);
      for (std::size_t i = 0; i < n; ++i) mean[i] += static_cast<double>(g[i]) / workers;
    }
    for (const double m : mean) squares += m * m;
  }
  return squares / (static_cast<double>(n) * draws);
}

/// Of one step, or of the mean of `scenario.job.steps`.
inline Seconds step_of(const model::Scenario& scenario) {
  const auto outcome = simulate::simulate(scenario, {.threads = 1});
  EXPECT_TRUE(outcome) << (outcome ? "" : outcome.error().to_string());
  return outcome ? outcome->total / scenario.job.steps : Seconds{};
}

inline model::Schedule schedule_of(const model::CollectiveSpec& spec) {
  auto schedule = model::Schedule::make(spec);
  EXPECT_TRUE(schedule);
  return *schedule;
}

inline Bytes all_bytes(const model::Schedule& schedule) {
  Bytes all{};
  for (const Bytes b : model::bytes_sent(schedule)) all += b;
  return all;
}

}  // namespace cox::exercises
