// SPDX-License-Identifier: Apache-2.0
#include "learn/answer/expense.hpp"

#include <algorithm>

#include "cox/simulate/outcome.hpp"

#include "learn/answer/cluster.hpp"

namespace cox::learn {

std::optional<Expense> expense_of(const Terms& setting, const WayResult& w) {
  if (!w.all_reached() || w.way.synchronous_steps > 0 || w.way.rule != Rule::Policy) return std::nullopt;
  const auto problem = make_problem(setting.question.problem);
  if (!problem) return std::nullopt;
  constexpr int kFewest = 50;
  constexpr int kMost = 400;
  model::Scenario s = under(setting.scenario, w.way, wire_of(w.way, **problem),
                            std::clamp(setting.scenario.job.steps, kFewest, kMost));
  s.failures = {};
  s.start = {};
  const auto played = simulate::simulate(s, {.threads = 1});
  if (!played || !(played->over_replicas.mean > Seconds{})) return std::nullopt;
  const double times = w.time / played->over_replicas.mean;
  Expense out;
  if (played->node_hours) out.node_hours = *played->node_hours * times;
  if (played->energy) out.energy = played->energy->total() * times;
  if (played->cost && s.node_price.node_hour > 0) out.cost = *played->cost * times;
  const auto& job = s.job.as<model::TrainingJob>();
  if (job.flops.count() > 0)
    out.flops = Flops{job.flops.count() * job.micro_batches * w.samples /
                      static_cast<double>(setting.question.share.batch())};
  return out;
}

}  // namespace cox::learn
