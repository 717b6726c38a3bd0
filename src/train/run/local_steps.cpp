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
  if (rounds_.variates) variates_.resize(static_cast<std::size_t>(workers.count * problem.parameters()));
  memory.take(Use::Optimizer, Bytes{workers.count * floats(rounds_, inner, problem)} * sizeof(float));
}

std::int64_t LocalSteps::kept_floats(const LocalRounds& local, const learn::OptimizerSpec& inner,
                                     std::int64_t parameters) {
  const auto moments =
      static_cast<std::int64_t>(local.state == learn::LocalState::Reset ? 0 : learn::moments_of(inner.kind));
  return (moments + (local.variates ? 1 : 0)) * parameters;
}

std::span<float> LocalSteps::variate(std::size_t worker) {
  return std::span(variates_).subspan(worker * y_.all().size(), y_.all().size());
}

std::int64_t LocalSteps::floats(const LocalRounds& local, const learn::OptimizerSpec& inner,
                                const learn::Problem& problem) {
  std::int64_t largest = 0;
  for (const learn::Tensor& t : problem.tensors()) largest = std::max(largest, t.size());
  return (static_cast<std::int64_t>(learn::moments_of(inner.kind)) + (local.variates ? 1 : 0)) *
             problem.parameters() +
         static_cast<std::int64_t>(learn::direction_floats(inner.kind, static_cast<std::size_t>(largest)));
}

LocalSteps::Round LocalSteps::take(std::int64_t worker, std::int64_t version, std::span<const float> x,
                                   std::span<float> brought, const Variates& variates, std::int64_t nan) {
  const learn::StepShare share{.leaves = 1, .samples = job_.samples};
  const auto at_worker = static_cast<std::size_t>(worker - first_);
  learn::Optimizer& optimizer = optimizers_[at_worker];
  const std::span<float> own = rounds_.variates ? variate(at_worker) : std::span<float>{};
  const std::span<const float> mean = variates.mean;
  double factors = 0;  // stand for K: those on the rate
  if (rounds_.state == learn::LocalState::Reset) optimizer.reset();
  const std::span<float> y = y_.all();
  std::ranges::copy(x, y.begin());
  Round made;
  for (int k = 0; k < rounds_.steps; ++k) {
    const std::int64_t step = rounds_.after + (version - rounds_.after) * rounds_.steps + k;
    made.loss += problem_.gradient(y, share.shard(job_.workers, static_cast<int>(worker), step, 0), brought) /
                 rounds_.steps;
    if (rounds_.proximal > 0) {
      const auto pull = static_cast<float>(rounds_.proximal);
      for (std::size_t i = 0; i < y.size(); ++i) brought[i] += pull * (y[i] - x[i]);
    }
    for (std::size_t i = 0; i < own.size(); ++i) brought[i] += mean[i] - own[i];
    if (step == nan) brought.front() = std::numeric_limits<float>::quiet_NaN();
    const std::size_t at = learn::first_not_finite(brought);
    if (at < brought.size()) {
      made.bad = BadGradient{.step = step, .at = static_cast<std::int64_t>(at)};
      std::ranges::fill(variates.change, 0.0F);
      return made;
    }
    const double factor = learn::rate_factor(inner_, optimizer.steps() + 1, job_.samples);
    optimizer.step(y, brought, factor);
    factors += factor;
  }
  for (std::size_t i = 0; i < y.size(); ++i) brought[i] = x[i] - y[i];
  const auto over = static_cast<float>(1 / (factors * inner_.rate));
  for (std::size_t i = 0; i < own.size(); ++i) {
    const float change = brought[i] * over - mean[i];
    own[i] += change;
    variates.change[i] = change;
  }
  return made;
}

Bytes LocalSteps::state_bytes() const {
  return Bytes{static_cast<std::int64_t>(optimizers_.size()) * problem_.parameters() *
                   static_cast<std::int64_t>(learn::moments_of(inner_.kind)) +
               static_cast<std::int64_t>(variates_.size())} *
         sizeof(float);
}

void LocalSteps::go_on(std::int64_t rounds, std::span<const float> all_workers) {
  const bool resets = rounds_.state == learn::LocalState::Reset;
  const auto floats = static_cast<std::size_t>(kept_floats(rounds_, inner_, problem_.parameters()));
  for (std::size_t w = 0; w < optimizers_.size(); ++w) {
    const std::span<const float> all =
        all_workers.subspan((static_cast<std::size_t>(first_) + w) * floats, floats);
    const std::size_t moments = optimizers_[w].state().size();
    const std::vector<float> none(resets ? moments : 0);
    optimizers_[w].go_on(resets ? 0 : rounds * rounds_.steps, resets ? none : all.first(moments));
    if (rounds_.variates) std::ranges::copy(all.last(y_.all().size()), variate(w).begin());
  }
}

std::vector<std::span<const float>> LocalSteps::kept() {
  std::vector<std::span<const float>> all;
  for (std::size_t w = 0; w < optimizers_.size(); ++w) {
    if (rounds_.state == learn::LocalState::Keep) all.emplace_back(optimizers_[w].state());
    if (rounds_.variates) all.emplace_back(variate(w));
  }
  return all;
}

}  // namespace cox::train
