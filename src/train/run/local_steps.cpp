// SPDX-License-Identifier: Apache-2.0
#include "train/run/local_steps.hpp"

#include <algorithm>
#include <limits>

#include "cox/learn/learner.hpp"
#include "cox/learn/schedule.hpp"

namespace cox::train {

LocalSteps::LocalSteps(const TrainJob& job, const learn::OptimizerSpec& inner, learn::Problem& problem,
                       const Stretch& workers, MemoryCount& memory)
    : job_(job),
      rounds_(*job.local),
      inner_(inner),
      problem_(problem),
      first_(workers.first),
      y_(memory, Use::Parameters, static_cast<std::size_t>(problem.parameters())) {
  for (std::int64_t w = 0; w < workers.count; ++w) optimizers_.emplace_back(inner, problem.tensors());
  memory.take(Use::Optimizer, Bytes{workers.count * floats(inner, problem)} * sizeof(float));
}

std::int64_t LocalSteps::kept_floats(const LocalRounds& local, const learn::OptimizerSpec& inner,
                                     std::int64_t parameters) {
  if (local.state == learn::LocalState::Reset) return 0;
  return static_cast<std::int64_t>(learn::moments_of(inner.kind)) * parameters;
}

std::int64_t LocalSteps::floats(const learn::OptimizerSpec& inner, const learn::Problem& problem) {
  std::int64_t largest = 0;
  for (const learn::Tensor& t : problem.tensors()) largest = std::max(largest, t.size());
  return static_cast<std::int64_t>(learn::moments_of(inner.kind)) * problem.parameters() +
         static_cast<std::int64_t>(learn::direction_floats(inner.kind, static_cast<std::size_t>(largest)));
}

LocalSteps::Round LocalSteps::take(std::int64_t worker, std::int64_t round, std::span<const float> x,
                                   std::span<float> brought, std::int64_t nan) {
  const learn::StepShare share{.leaves = 1, .samples = job_.samples};
  learn::Optimizer& optimizer = optimizers_[static_cast<std::size_t>(worker - first_)];
  if (rounds_.state == learn::LocalState::Reset) optimizer.reset();
  const std::span<float> y = y_.all();
  std::ranges::copy(x, y.begin());
  Round made;
  for (int k = 0; k < rounds_.steps; ++k) {
    const std::int64_t step = round * rounds_.steps + k;
    made.loss += problem_.gradient(y, share.shard(job_.workers, static_cast<int>(worker), step, 0), brought) /
                 rounds_.steps;
    if (rounds_.proximal > 0) {
      const auto pull = static_cast<float>(rounds_.proximal);
      for (std::size_t i = 0; i < y.size(); ++i) brought[i] += pull * (y[i] - x[i]);
    }
    if (step == nan) brought.front() = std::numeric_limits<float>::quiet_NaN();
    const std::size_t at = learn::first_not_finite(brought);
    if (at < brought.size()) {
      made.bad = BadGradient{.step = step, .at = static_cast<std::int64_t>(at)};
      return made;
    }
    optimizer.step(y, brought, learn::rate_factor(inner_, optimizer.steps() + 1, job_.samples));
  }
  for (std::size_t i = 0; i < y.size(); ++i) brought[i] = x[i] - y[i];
  return made;
}

Bytes LocalSteps::state_bytes() const {
  return Bytes{static_cast<std::int64_t>(optimizers_.size()) * problem_.parameters() *
               static_cast<std::int64_t>(learn::moments_of(inner_.kind))} *
         sizeof(float);
}

void LocalSteps::go_on(std::int64_t rounds, std::span<const float> all_workers) {
  const bool resets = rounds_.state == learn::LocalState::Reset;
  const auto floats = static_cast<std::size_t>(kept_floats(rounds_, inner_, problem_.parameters()));
  const std::vector<float> none(resets && !optimizers_.empty() ? optimizers_.front().state().size() : 0);
  for (std::size_t w = 0; w < optimizers_.size(); ++w)
    optimizers_[w].go_on(
        resets ? 0 : rounds * rounds_.steps,
        resets ? none : all_workers.subspan((static_cast<std::size_t>(first_) + w) * floats, floats));
}

std::vector<std::span<const float>> LocalSteps::kept() {
  std::vector<std::span<const float>> all;
  if (rounds_.state == learn::LocalState::Reset) return all;
  for (learn::Optimizer& o : optimizers_) all.emplace_back(o.state());
  return all;
}

}  // namespace cox::train
