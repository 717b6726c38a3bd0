// SPDX-License-Identifier: Apache-2.0
#include "simulate/training/step/work_done.hpp"

#include "simulate/collective/setup.hpp"

namespace cox::simulate::training {

std::int64_t steps_to_compute(const Plan& plan, StepShortcuts shortcuts) {
  const model::Scenario& s = plan.scenario();
  const model::TrainingJob& job = plan.job();
  const bool alike = shortcuts.memo && is_quiet(s) && !plan.dips() && !s.fabric.timeouts.happen() &&
                     s.neighbours.empty() && !job.input.takes_time() && job.overlap_feedback == 0 &&
                     job.pace.empty();
  const bool two_kinds = s.policy.kind == model::PolicyKind::LocalSgd && s.policy.local_steps > 1;
  return !alike ? 0 : two_kinds ? 4 : 2;
}

}  // namespace cox::simulate::training
