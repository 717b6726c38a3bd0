// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "cox/base/parallel.hpp"
#include "cox/base/stats.hpp"
#include "cox/pace/settings.hpp"
#include "cox/simulate/paced.hpp"

#include "evaluate/pacing/page.hpp"

namespace cox::evaluate {
namespace {

simulate::PacedArm paced_arm(const PacingArm& arm) {
  simulate::PacedArm paced{.name = arm.name, .wait = arm.wait};
  [[maybe_unused]] const auto read = pace::set_all(paced.settings, arm.settings.c_str());
  paced.early_nice = -arm.nice;  // precedence of the late is the same as patience of the early
  return paced;
}

/// One side of an effect.
struct Side {
  Welford periods;
  Seconds delay{};  ///< sum over steps of the mean over ranks
};

/// Steps of one arm from a cold start, the first `block.dropped` left out.
Status add_block(const PacingStudy& study, const PacingCondition& c, std::size_t arm,
                 const PacingBlock& block, Side& side) {
  simulate::PacedOptions options{.seed = study.protocol.seed};
  options.steps = block.steps;
  options.first_draw = block.first_draw;
  options.arms = {paced_arm(study.arms[arm])};
  // as live: a barrier has none, an all-reduce's is not known
  options.tell_transfer = c.job.reduce.count() == 0;
  options.each_step = [&](const simulate::PacedStep& step) {
    if (step.step < block.dropped) return;
    side.periods.add((step.end - step.begin).count());
    for (const Seconds delay : step.delayed) side.delay += delay / static_cast<double>(step.delayed.size());
  };
  COX_CHECK(simulate::simulate_paced(c.job, options));
  return {};
}

/// As it is measured: auto from one cold start over the whole segment, the others in the pairs of blocks of
/// all starts, with their draws.
Result<SimulatedEffect> effect_of(const PacingStudy& study, const PacingCondition& c, std::size_t arm) {
  Side off;
  Side on;
  if (study.arms[arm].name == kArmAuto) {
    const Seconds lasts = c.segment > Seconds{} ? c.segment : study.protocol.segment;
    const PacingBlock segment{.steps = static_cast<std::int64_t>(std::ceil(lasts / c.best))};
    COX_CHECK(add_block(study, c, 0, segment, off));
    COX_CHECK(add_block(study, c, arm, segment, on));
  } else {
    for (int start = 0; start < study.protocol.starts; ++start) {
      const PacingPlan plan = plan_pacing(study, c, c.arms, PacingDepth::Full, start);
      for (const PacingPair& pair : plan.pairs) {
        if (pair.arm != arm) continue;
        COX_CHECK(add_block(study, c, 0, plan.blocks[pair.on], off));
        COX_CHECK(add_block(study, c, arm, plan.blocks[pair.on], on));
      }
    }
  }
  return SimulatedEffect{.arm = study.arms[arm].name,
                         .gain = off.periods.mean() / on.periods.mean() - 1,
                         .cv_off = off.periods.cv(),
                         .cv_on = on.periods.cv(),
                         .mean_off = Seconds{off.periods.mean()},
                         .delay = on.delay / static_cast<double>(on.periods.count())};
}

}  // namespace

Result<std::vector<SimulatedCondition>> simulate_pacing(const PacingStudy& study, int threads) {
  struct Run {
    std::size_t condition;
    std::size_t arm;
  };
  std::vector<PacingCondition> conditions = study.conditions;
  conditions.insert(conditions.end(), study.sizes.begin(), study.sizes.end());
  std::vector<Run> runs;
  for (std::size_t c = 0; c < conditions.size(); ++c)
    for (const std::size_t arm : conditions[c].arms) runs.push_back({c, arm});
  std::vector<Result<SimulatedEffect>> done(runs.size(), SimulatedEffect{});
  parallel_for(runs.size(), threads, [&](std::size_t i) {
    done[i] = effect_of(study, conditions[runs[i].condition], runs[i].arm);
  });
  std::vector<SimulatedCondition> all;
  all.reserve(conditions.size());
  for (const PacingCondition& c : conditions) all.push_back({.name = c.name, .effects = {}});
  for (std::size_t i = 0; i < runs.size(); ++i) {
    COX_TRY(SimulatedEffect effect, std::move(done[i]));
    all[runs[i].condition].effects.push_back(std::move(effect));
  }
  return all;
}

ShownGain shown_gain(const PacingEffect& e) {
  ShownGain shown{e.gain, e.low, e.high};
  if (e.arm == kArmAuto) shown = {e.total_gain, e.total_low, e.total_high};
  shown.has_interval = e.starts.size() >= 2;
  return shown;
}

bool agrees(const PacingEffect& measured, const SimulatedEffect& simulated) {
  constexpr double kNear = 0.02;
  constexpr double kPoints = 0.05;
  constexpr double kShare = 0.4;
  const ShownGain live = shown_gain(measured);
  if (live.low <= 0 && live.high >= 0)
    return std::abs(live.gain) <= kNear && std::abs(simulated.gain) <= kNear;
  return live.gain * simulated.gain > 0 &&
         std::abs(live.gain - simulated.gain) <= std::max(kPoints, kShare * std::abs(live.gain));
}

}  // namespace cox::evaluate
