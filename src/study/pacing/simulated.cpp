// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "cox/base/parallel.hpp"
#include "cox/pace/settings.hpp"
#include "cox/simulate/paced.hpp"
#include "cox/study/pacing_page.hpp"

namespace cox::study {
namespace {

simulate::PacedArm paced_arm(const PacingArm& arm) {
  simulate::PacedArm paced{.name = arm.name, .wait = arm.wait};
  [[maybe_unused]] const auto read = pace::set_all(paced.settings, arm.settings.c_str());
  paced.early_nice = -arm.nice;  // precedence of the late is the same as patience of the early
  return paced;
}

Result<simulate::PacedSummary> run_arm(const PacingStudy& study, const PacingCondition& c, std::size_t arm) {
  simulate::PacedOptions options{.seed = study.protocol.seed};
  options.steps = static_cast<std::int64_t>(std::ceil(study.protocol.segment / c.best));
  options.arms = {paced_arm(study.arms[arm])};
  options.tell_transfer =
      c.job.reduce.count() == 0;  // as live: a barrier has none, an all-reduce's is not known
  COX_TRY(const simulate::PacedOutcome outcome, simulate::simulate_paced(c.job, options));
  return outcome.summary.front();
}

}  // namespace

Result<std::vector<SimulatedCondition>> simulate_pacing(const PacingStudy& study, int threads) {
  struct Run {
    std::size_t condition;
    std::size_t arm;
  };
  std::vector<Run> runs;
  for (std::size_t c = 0; c < study.conditions.size(); ++c) {
    runs.push_back({c, 0});
    for (const std::size_t arm : study.conditions[c].arms) runs.push_back({c, arm});
  }
  std::vector<Result<simulate::PacedSummary>> done(runs.size(), simulate::PacedSummary{});
  parallel_for(runs.size(), threads, [&](std::size_t i) {
    done[i] = run_arm(study, study.conditions[runs[i].condition], runs[i].arm);
  });
  std::vector<SimulatedCondition> all;
  simulate::PacedSummary off;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    COX_TRY(simulate::PacedSummary on, std::move(done[i]));
    if (runs[i].arm == 0) {
      off = on;
      all.push_back({.name = study.conditions[runs[i].condition].name});
      continue;
    }
    all.back().effects.push_back({.arm = study.arms[runs[i].arm].name,
                                  .gain = off.mean / on.mean - 1,
                                  .cv_off = off.cv,
                                  .cv_on = on.cv,
                                  .mean_off = off.mean,
                                  .delay = on.delay});
  }
  return all;
}

ShownGain shown_gain(const PacingEffect& e) {
  if (e.arm == kArmAuto) return {e.total_gain, e.total_low, e.total_high};
  return {e.gain, e.low, e.high};
}

bool agrees(const PacingEffect& measured, const SimulatedEffect& simulated) {
  constexpr double kNear = 0.02;
  constexpr double kPoints = 0.05;
  constexpr double kShare = 0.4;
  const ShownGain live = shown_gain(measured);
  if (live.low <= 0 && live.high >= 0)
    return std::abs(live.gain) <= kNear && std::abs(simulated.gain) <= kNear;
  return (live.gain > 0) == (simulated.gain > 0) &&
         std::abs(live.gain - simulated.gain) <= std::max(kPoints, kShare * std::abs(live.gain));
}

}  // namespace cox::study
