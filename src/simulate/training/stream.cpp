// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "cox/simulate/training.hpp"

#include "simulate/training/policy/policy.hpp"
#include "simulate/training/step/play_steps.hpp"
#include "simulate/training/step/step_pacing.hpp"

namespace cox::simulate {
namespace {

using training::Plan;

/// All workers end each step together; what they do then is the policy's. `first`: the plan of the synchronous steps before.
Status stream_steps(const Plan& plan, const Plan& first, std::uint64_t seed, int workers,
                    const UpdateSink& sink, std::int64_t synchronous_steps) {
  const model::Scenario& s = plan.scenario();
  COX_TRY(const Noise noise, Noise::make(s.noise, plan.placement(), seed));
  training::StepEngine before(first, &noise, seed, 0, plan.layout().data, {});
  training::StepEngine engine(plan, &noise, seed, 0, plan.layout().data, {});
  sync::Policy policy(s.policy, workers);
  if (synchronous_steps > 0) policy.set_local_steps(1);
  std::vector<Seconds> now(static_cast<std::size_t>(plan.units()));
  std::vector<int> released;
  for (std::int64_t k = 0; k < s.job.steps; ++k) {
    if (k == synchronous_steps) policy.set_local_steps(s.policy.local_steps);
    const bool in_step = k < synchronous_steps;
    const auto meeting =
        in_step ? training::Meeting::Gradients : training::meeting_of(s, k - synchronous_steps);
    COX_CHECK(training::play_paced(in_step ? before : engine, k, meeting, now, nullptr, nullptr, nullptr));
    const Seconds end = *std::max_element(now.begin(), now.end());
    for (int w = 0; w < workers; ++w) {
      policy.delivered(w, released);
      for (const sync::StreamEvent& e : policy.events())
        if (!sink(e, end)) return {};
    }
  }
  return {};
}

int workers_of(const Plan& plan) {
  const model::PolicySpec& policy = plan.scenario().policy;
  const int data = plan.layout().data;
  if (!policy.in_step()) return data / plan.job().replicas_per_worker();
  // Between averages a set of shards is one model.
  const bool alone = policy.kind == model::PolicyKind::LocalSgd && plan.job().is_hybrid();
  return alone ? data / plan.layout().shard : data;
}

}  // namespace

Result<int> update_workers(const model::Scenario& scenario) {
  COX_TRY(const Plan plan, Plan::make(scenario));
  return workers_of(plan);
}

Status stream_updates(const model::Scenario& scenario, std::uint64_t seed, const UpdateSink& sink,
                      std::int64_t synchronous_steps) {
  COX_TRY(const Plan plan, Plan::make(scenario));
  if (scenario.policy.in_step()) {
    model::Scenario synchronous = scenario;
    synchronous.policy = {};
    COX_TRY(const Plan first, Plan::make(synchronous));
    return stream_steps(plan, first, seed, workers_of(plan), sink, synchronous_steps);
  }
  COX_TRY(const training::Played played, training::play_policy(plan, seed, nullptr, nullptr, &sink));
  static_cast<void>(played);
  return {};
}

}  // namespace cox::simulate
