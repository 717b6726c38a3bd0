// SPDX-License-Identifier: Apache-2.0
#include "cox/evaluate/pacing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cox/study/pacing_page.hpp"

namespace cox::evaluate {
namespace {

using study::PacingCondition;
using study::PacingConditionResult;
using study::PacingDepth;
using study::PacingPlan;
using study::PacingResults;
using study::PacingStudy;

/// What the program of the processes needs to know, from what the protocol says.
bench::PacePlan worker_plan(const PacingStudy& study, const PacingCondition& condition,
                            const PacingPlan& plan) {
  bench::PacePlan out{.job = condition.job,
                      .seed = study.protocol.seed,
                      .background = {.share = condition.background, .episode = condition.background_episode}};
  for (const study::PacingArm& a : study.arms)
    out.arms.push_back({.name = a.name, .settings = a.settings, .wait = a.wait, .nice = a.nice});
  for (const study::PacingBlock& b : plan.blocks)
    out.blocks.push_back({.arm = static_cast<std::uint32_t>(b.arm),
                          .steps = b.steps,
                          .first_draw = b.first_draw,
                          .cold = b.cold});
  return out;
}

study::MeasuredGroup measured(PacingPlan plan, const bench::PaceRows& rows) {
  study::MeasuredGroup group{.plan = std::move(plan)};
  for (const bench::PaceBlockRows& b : rows.blocks) {
    study::MeasuredBlock& block =
        group.blocks.emplace_back(study::MeasuredBlock{.steal_ratio = b.steal_ratio});
    for (const bench::PaceStep& s : b.steps)
      block.steps.push_back({.period = s.period,
                             .mean_wait = s.mean_wait,
                             .mean_delay = s.mean_delay,
                             .is_held = s.reason == pace::Reason::Holding});
  }
  return group;
}

/// Where the results of a condition are, empty ones for it from now on.
std::size_t place_of(std::vector<PacingConditionResult>& results, const std::string& name) {
  auto at = std::find_if(results.begin(), results.end(),
                         [&](const PacingConditionResult& r) { return r.name == name; });
  if (at == results.end()) at = results.insert(results.end(), PacingConditionResult{});
  *at = {.name = name};
  return static_cast<std::size_t>(at - results.begin());
}

/// The evaluation while it runs: groups of every condition, and what they say so far.
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

  Result<PacingResults> run() && {
    const int cap = depth_ == PacingDepth::Full ? study_.protocol.groups : 1;
    COX_CHECK(measure_groups(0, 1, [](const PacingCondition&) { return true; }));
    for (State& size : sizes_) {
      COX_CHECK(measure(size, results_.sizes[size.result], size.condition->arms));
      COX_CHECK(keep());
    }
    // Those that have a bar come first: they must not stay unresolved.
    COX_CHECK(measure_groups(1, cap, [](const PacingCondition& c) { return c.bar > 0; }));
    COX_CHECK(measure_groups(1, cap, [](const PacingCondition& c) { return c.bar <= 0; }));
    study::correct_tests(study_, results_.conditions);
    return std::move(results_);
  }

 private:
  struct State {
    const PacingCondition* condition = nullptr;
    std::size_t result = 0;  // its place among the results
    std::vector<study::MeasuredGroup> groups{};
    int measured = 0;  // groups, those that failed included
    int failed = 0;
    std::string failure{};
  };

  /// Those that this machine can run; in further groups only what is undecided: off against off, and auto
  /// with what it is compared with.
  [[nodiscard]] std::vector<std::size_t> arms_of(std::size_t i, int group) const {
    const PacingCondition& c = *conditions_[i].condition;
    const bool is_open =
        group == 0 || study::is_auto_open(study_, c, results_.conditions[conditions_[i].result]);
    std::vector<std::size_t> arms;
    for (const std::size_t a : c.arms) {
      const std::string& name = study_.arms[a].name;
      if (study_.arms[a].nice != 0 && world_.no_priority) continue;
      const bool is_undecided = name == study::kArmAgain || (is_open && name == study::kArmAuto) ||
                                (is_open && c.bar > 0 && name == study::kArmRandom);
      if (group == 0 || is_undecided) arms.push_back(a);
    }
    return arms;
  }

  /// Groups of those conditions that are chosen and want them, in turns.
  Status measure_groups(int from, int to, bool (*is_chosen)(const PacingCondition&)) {
    for (int group = from; group < to; ++group)
      for (std::size_t i = 0; i < conditions_.size(); ++i) {
        if (!is_chosen(*conditions_[i].condition) || !wants(i, group)) continue;
        COX_CHECK(measure(conditions_[i], results_.conditions[conditions_[i].result], arms_of(i, group)));
        COX_CHECK(keep());
      }
    return {};
  }

  Status keep() {
    study::correct_tests(study_, results_.conditions);
    return world_.keep(results_);
  }

  [[nodiscard]] bool wants(std::size_t i, int group) const {
    const PacingConditionResult& so_far = results_.conditions[conditions_[i].result];
    if (!so_far.skipped.empty()) return false;
    if (group == 0) return true;
    const PacingCondition& c = *conditions_[i].condition;
    const Seconds lasts = study::plan_pacing(study_, c, arms_of(i, group), depth_, group).lasts(c);
    const Seconds passed = world_.now() - begin_;
    return passed + lasts <= study_.protocol.limit && study::wants_more(study_, c, so_far);
  }

  /// The next group of one condition.
  Status measure(State& state, PacingConditionResult& result, const std::vector<std::size_t>& arms) {
    const PacingCondition& c = *state.condition;
    const int group = state.measured++;
    PacingPlan plan = study::plan_pacing(study_, c, arms, depth_, group);
    world_.tell(fmt::format("cox: {}: group {}, about {:.0f} s\n", c.name, group + 1, plan.lasts(c).count()));
    const auto rows = world_.run(worker_plan(study_, c, plan), 10 * plan.lasts(c) + Seconds{60});
    if (!rows) {
      if (group > 0) {
        world_.tell(fmt::format("cox: warning: {}: group {} left out: {}\n", c.name, group + 1,
                                rows.error().to_string()));
        result.failure = state.failure = rows.error().message;
        result.failed_groups = ++state.failed;
        return {};
      }
      if (!world_.has_program) return fail(rows.error());
      result.skipped = rows.error().message;
    } else {
      state.groups.push_back(measured(std::move(plan), *rows));
      result = study::judge_condition(study_, c, state.groups);
      result.failed_groups = state.failed;
      result.failure = state.failure;
    }
    world_.tell(study::condition_text(study_, result));
    return {};
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
