// SPDX-License-Identifier: Apache-2.0
#include "forecast/control/drawn_days.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <utility>

namespace cox::forecast {
namespace {

constexpr int kDraws = 20;
constexpr double kApart = 1.2;

StepBudget on_a_line(const std::pair<const std::int64_t, StepBudget>& a,
                     const std::pair<const std::int64_t, StepBudget>& b, std::int64_t nodes) {
  const auto at = [](std::int64_t n) { return std::log(static_cast<double>(n)); };
  const double part = (at(nodes) - at(a.first)) / (at(b.first) - at(a.first));
  const auto time = [&](Seconds StepBudget::*of) {
    return a.second.*of + (b.second.*of - a.second.*of) * part;
  };
  return {.compute = time(&StepBudget::compute),
          .communication = time(&StepBudget::communication),
          .waiting = time(&StepBudget::waiting),
          .tokens = a.second.tokens / static_cast<double>(a.first) * static_cast<double>(nodes)};
}

/// Nine in ten of them, of either kind of number, and the value.
template <typename T>
std::pair<T, T> ends_with(std::vector<T> drawn, T value) {
  std::ranges::sort(drawn);
  const auto last = static_cast<double>(drawn.size() - 1);
  return {std::min(drawn[static_cast<std::size_t>(std::floor(0.05 * last))], value),
          std::max(drawn[static_cast<std::size_t>(std::ceil(0.95 * last))], value)};
}

}  // namespace

struct RememberedSteps::State {
  BudgetAt steps;
  bool between = false;
  std::map<std::int64_t, StepBudget> seen;
};

RememberedSteps::RememberedSteps(BudgetAt steps, bool between)
    : state_(std::make_shared<State>(State{.steps = std::move(steps), .between = between, .seen = {}})) {}

BudgetAt RememberedSteps::exact() const {
  return [state = state_](std::int64_t nodes) -> Result<StepBudget> {
    if (const auto at = state->seen.find(nodes); at != state->seen.end()) return at->second;
    COX_TRY(const StepBudget step, state->steps(nodes));
    state->seen.emplace(nodes, step);
    return step;
  };
}

BudgetAt RememberedSteps::near() const {
  return [state = state_, exact = exact()](std::int64_t nodes) -> Result<StepBudget> {
    const auto above = state->seen.lower_bound(nodes);
    if (state->between && above != state->seen.end() && above != state->seen.begin() &&
        above->first != nodes) {
      const auto below = std::prev(above);
      if (static_cast<double>(above->first) <= kApart * static_cast<double>(below->first))
        return on_a_line(*below, *above, nodes);
    }
    return exact(nodes);
  };
}

DrawnDays::DrawnDays(model::Scenario scenario, BudgetAt steps, const Training& training,
                     const DrawnStep& drawn_steps, const Prior& prior)
    : scenario_(std::move(scenario)),
      steps_(std::move(steps)),
      tokens_(training.tokens),
      drawn_steps_(drawn_steps),
      ranges_(stated_ranges(prior)),
      failures_(failure_draws(kDraws)) {}

DrawnDays::Draw DrawnDays::draw(int replicate) const {
  Draw out{.scenario = scenario_, .steps = steps_};
  const FailureDraw& failures = failures_[static_cast<std::size_t>(replicate)];
  failures.apply(ranges_, out.scenario.failures);
  change_start(out.scenario.start, ranges_.start.at(failures.start));
  if (!drawn_steps_) return out;
  out.steps =
      [steps = steps_, longer = drawn_steps_, replicate,
       each = std::max(scenario_.cluster.devices_per_node, 1)](std::int64_t nodes) -> Result<StepBudget> {
    COX_TRY(StepBudget step, steps(nodes));
    const double by = longer(nodes * each, replicate);
    for (Seconds* part : {&step.compute, &step.communication, &step.waiting}) *part *= by;
    return step;
  };
  return out;
}

void DrawnDays::add_to(Days& value) const {
  std::vector<Seconds> totals;
  for (int r = 0; r < kDraws; ++r) {
    Draw one = draw(r);
    model::Failures& f = one.scenario.failures;
    const bool writes = value.intervals.far > Seconds{};
    if (writes) {
      f.checkpoint_interval = value.intervals.far;
      f.near_interval = value.intervals.near;
    }
    const auto here = days(one.scenario, one.steps, tokens_, value.nodes, writes);
    totals.push_back(here ? here->total : Seconds{std::numeric_limits<double>::infinity()});
  }
  const auto [low, high] = ends_with(std::move(totals), value.total);
  if (low < high) value.band = DaysBand{.low = low, .high = high};
}

void DrawnDays::add_to(NodesFor& value, Seconds within, std::int64_t multiple) const {
  add_to(value.at);
  if (!value.reached) return;
  constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> nodes;
  for (int r = 0; r < kDraws; ++r) {
    const Draw one = draw(r);
    const auto here = nodes_for(one.scenario, one.steps, tokens_, within, multiple, value.most);
    nodes.push_back(here && here->reached ? here->at.nodes : kNever);
  }
  const auto [low, high] = ends_with(std::move(nodes), value.at.nodes);
  if (low == high) return;
  value.nodes_low = low;
  if (high != kNever) value.nodes_high = high;
}

}  // namespace cox::forecast
