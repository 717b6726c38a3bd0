// SPDX-License-Identifier: Apache-2.0
#include "evaluate/pacing/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "evaluate/pacing/page.hpp"

namespace cox::evaluate {
namespace {

/// What the program of the processes needs to know, from what the protocol says.
bench::PacePlan worker_plan(const PacingStudy& study, const PacingCondition& condition,
                            const PacingPlan& plan) {
  bench::PacePlan out{.job = condition.job,
                      .seed = study.protocol.seed,
                      .background = {.share = condition.background, .episode = condition.background_episode}};
  for (const PacingArm& a : study.arms)
    out.arms.push_back({.name = a.name, .settings = a.settings, .wait = a.wait, .nice = a.nice});
  for (const PacingBlock& b : plan.blocks)
    out.blocks.push_back({.arm = static_cast<std::uint32_t>(b.arm),
                          .steps = b.steps,
                          .first_draw = b.first_draw,
                          .cold = b.cold});
  return out;
}

MeasuredStart measured(PacingPlan plan, const bench::PaceRows& rows, int ranks) {
  MeasuredStart start{.plan = std::move(plan)};
  for (const bench::PaceBlockRows& b : rows.blocks) {
    MeasuredBlock& block = start.blocks.emplace_back(MeasuredBlock{.steal_ratio = b.steal_ratio});
    for (const bench::PaceStep& s : b.steps)
      block.steps.push_back({.period = s.period,
                             .mean_wait = s.mean_wait,
                             .mean_delay = s.mean_delay,
                             .holding = static_cast<double>(s.holding) / ranks});
  }
  return start;
}

/// Where the results of a condition are, empty ones for it from now on.
std::size_t place_of(std::vector<PacingConditionResult>& results, const std::string& name) {
  auto at = std::find_if(results.begin(), results.end(),
                         [&](const PacingConditionResult& r) { return r.name == name; });
  if (at == results.end()) at = results.insert(results.end(), PacingConditionResult{});
  *at = {.name = name};
  return static_cast<std::size_t>(at - results.begin());
}

/// The evaluation while it runs: starts of every condition, and what they say so far.
class Evaluation {
 public:
  Evaluation(const PacingStudy& study, const PacingChoice& choice, PacingDepth depth, PacingResults before,
             const PacingWorld& world)
      : study_(study), depth_(depth), world_(world), begin_(world.now()), results_(std::move(before)) {
    results_.full = depth == PacingDepth::Full;
    results_.plan = study_.digest;
    for (const PacingCondition& c : study_.conditions)
      if (choice.conditions.contains(c.name) && (depth == PacingDepth::Full || c.quick))
        conditions_.push_back({.condition = &c, .result = place_of(results_.conditions, c.name)});
    if (depth == PacingDepth::Full && choice.sizes)
      for (const PacingCondition& c : study_.sizes)
        sizes_.push_back({.condition = &c, .result = place_of(results_.sizes, c.name)});
  }

  /// In turns, so that the starts of one condition lie apart, and a run that is ended has as many of each.
  Result<PacingResults> run() && {
    for (int start = 0; start < study_.protocol.starts; ++start)
      for (State& state : conditions_) COX_CHECK(measure(state, results_.conditions[state.result], start));
    for (int start = 0; start < study_.protocol.starts; ++start)
      for (State& state : sizes_) COX_CHECK(measure(state, results_.sizes[state.result], start));
    return std::move(results_);
  }

 private:
  struct State {
    const PacingCondition* condition = nullptr;
    std::size_t result = 0;  // its place among the results
    std::vector<MeasuredStart> starts{};
    int failed = 0;
    std::string failure{};
  };

  /// Arms that this machine can run.
  [[nodiscard]] std::vector<std::size_t> arms_of(const PacingCondition& c) const {
    std::vector<std::size_t> arms;
    for (const std::size_t a : c.arms)
      if (study_.arms[a].nice == 0 || !world_.no_priority) arms.push_back(a);
    return arms;
  }

  Status keep() {
    correct_tests(study_, results_.conditions);
    return world_.keep(results_);
  }

  /// One start of a condition, where there is time for it.
  Status measure(State& state, PacingConditionResult& result, int start) {
    const PacingCondition& c = *state.condition;
    if (!result.skipped.empty()) return {};
    PacingPlan plan = plan_pacing(study_, c, arms_of(c), depth_, start);
    const Seconds lasts = plan.lasts(c);
    if (world_.now() - begin_ + lasts > study_.protocol.limit) return {};
    world_.tell(fmt::format("cox: {}: start {} of {}, about {:.0f} s\n", c.name, start + 1,
                            study_.protocol.starts, lasts.count()));
    const auto rows = world_.run(c, worker_plan(study_, c, plan), 10 * lasts + Seconds{60});
    if (rows) {
      state.starts.push_back(measured(std::move(plan), *rows, c.job.ranks));
      result = judge_condition(study_, c, state.starts);
    } else if (start == 0) {
      if (!world_.has_program) return fail(rows.error());
      result.skipped = rows.error().message;
    } else {
      world_.tell(fmt::format("cox: warning: {}: start {} left out: {}\n", c.name, start + 1,
                              rows.error().to_string()));
      state.failure = rows.error().message;
      ++state.failed;
    }
    result.failed_starts = state.failed;
    result.failure = state.failure;
    world_.tell(condition_text(study_, result));
    return keep();
  }

  const PacingStudy& study_;
  PacingDepth depth_;
  const PacingWorld& world_;
  Seconds begin_;
  PacingResults results_;
  std::vector<State> conditions_;
  std::vector<State> sizes_;
};

}  // namespace

Result<PacingResults> measure_pacing(const PacingStudy& study, const PacingChoice& choice, PacingDepth depth,
                                     PacingResults before, const PacingWorld& world) {
  return Evaluation(study, choice, depth, std::move(before), world).run();
}

}  // namespace cox::evaluate
