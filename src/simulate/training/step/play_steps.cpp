// SPDX-License-Identifier: Apache-2.0
#include "simulate/training/step/play_steps.hpp"

#include <algorithm>
#include <vector>

#include "cox/simulate/noise.hpp"
#include "cox/sync/policy.hpp"

#include "simulate/record/pace_tally.hpp"
#include "simulate/training/plan/rank_groups.hpp"
#include "simulate/training/step/step_pacing.hpp"
#include "simulate/training/step/work_done.hpp"

namespace cox::simulate::training {

Status check_synchronous(const model::Scenario& scenario) {
  if (scenario.policy.in_step()) return {};
  return fail({.code = Errc::Unsupported,
               .id = "simulate-003",
               .message = "a step has no common begin and end under a policy with servers or backups",
               .hint = "ask for the synchronous or the local-SGD policy",
               .where = std::nullopt});
}

Meeting meeting_of(const model::Scenario& scenario, std::int64_t step) {
  if (scenario.policy.kind != model::PolicyKind::LocalSgd || scenario.policy.local_steps <= 1)
    return Meeting::Gradients;
  return sync::Policy(scenario.policy, 1).communicates(step) ? Meeting::Parameters : Meeting::None;
}

Result<Played> play_steps(const Plan& plan, std::uint64_t seed, StepShortcuts shortcuts, Recorder* recorder,
                          const StepsDone& progress, const std::optional<pace::Settings>& pace) {
  const model::Scenario& s = plan.scenario();
  COX_TRY(const Noise noise, Noise::make(s.noise, plan.placement(), seed));
  COX_TRY(const pace::Settings own, pace_settings(plan.job().pace));
  std::optional<StepPacing> pacing;
  if (pace || own.mode != pace::Mode::Off) pacing.emplace(plan, pace.value_or(own));
  StepEngine engine(plan, &noise, seed, 0, plan.layout().data, shortcuts);
  const RankGroups groups(plan);
  engine.keep_accounts(groups);
  std::vector<Seconds> now(static_cast<std::size_t>(plan.units()));
  const WorkDone done(s.job.steps, recorder != nullptr || pacing ? 0 : steps_to_compute(plan, shortcuts));
  // More steps may differ than were expected: what has been told stands until they are played.
  double told = 0;
  const auto tell = [&](double steps) {
    told = std::max(told, steps);
    progress(told);
  };
  Played out;
  for (std::int64_t k = 0; k < s.job.steps; ++k) {
    if (progress) engine.tell_progress([&, k](double part) { tell(done.at(k, engine.played() - 1, part)); });
    if (recorder != nullptr) recorder->open_step(k, 0, engine.factors());
    COX_CHECK(play_paced(engine, k, meeting_of(s, k), now, recorder, recorder, pacing ? &*pacing : nullptr));
    if (recorder != nullptr) recorder->close_step();
    out.step_ends.push_back(*std::max_element(now.begin(), now.end()));
    if (progress) tell(done.at(k + 1, engine.played(), 0));
  }
  out.unit_ends = now;
  out.messages = engine.messages();
  out.evaluated = engine.evaluated();
  out.closure = engine.closure();
  out.memo = engine.memo();
  out.link_bytes = engine.link_bytes();
  out.repeats = noise.repeats(s.job.steps, out.step_ends.back());
  for (std::size_t g = 0; g < groups.keys.size(); ++g)
    out.accounts.push_back({groups.keys[g], groups.names[g], groups.ranks[g], engine.accounts()[g]});
  for (std::size_t u = 0; u < now.size(); ++u) {
    StepParts& parts = out.accounts[static_cast<std::size_t>(groups.of_unit[u])].parts;
    parts[static_cast<std::size_t>(StepPart::Wait)] +=
        (out.step_ends.back() - now[u] + (pacing ? pacing->held()[u] : Seconds{})) * plan.ranks_per_unit();
  }
  if (pacing) {
    out.paced = pacing->summary();
    out.changes = pacing->changes();
    out.changes_left_out = pacing->changes_left_out();
  }
  out.neighbours = engine.neighbours();
  out.late = engine.late();
  return out;
}

}  // namespace cox::simulate::training
