// SPDX-License-Identifier: Apache-2.0
// Overlap that depends on the last step's: docs/concepts/training-steps.md.
#include <algorithm>

#include "simulate/training/step/step.hpp"

namespace cox::simulate::training {

/// How much longer the unit waits now: in its last wait before the optimizer, for what the last step says.
Seconds StepEngine::longer_wait(int unit) const {
  const auto u = static_cast<std::size_t>(unit);
  if (longer_.empty() || longer_[u] == Seconds{}) return {};
  const auto& code = (*programs_)[static_cast<std::size_t>(stage_of(unit))].code;
  const std::size_t next = units_[u].at + 1;
  return next < code.size() && code[next].part == StepPart::Optimizer ? longer_[u] : Seconds{};
}

/// A step that hid its communication too well disturbs the next one.
/// Formula: exposed' = exposed alone + feedback x max(0, threshold - exposed).
void StepEngine::feed_back() {
  const model::TrainingJob& job = plan_.job();
  if (job.overlap_feedback <= 0) return;
  longer_.resize(units_.size());
  for (std::size_t u = 0; u < units_.size(); ++u)
    longer_[u] = job.overlap_feedback * std::max(job.overlap_threshold - units_[u].exposed, Seconds{});
}

}  // namespace cox::simulate::training
