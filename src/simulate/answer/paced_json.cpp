// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "simulate/answer/outcome_json.hpp"

namespace cox::simulate {
namespace {

constexpr std::size_t kToldChanges = 50;  ///< the Run holds all

double ratio(double v) {
  return std::round(v * 1e9) / 1e9;
}

Json json_of(Duration d) {
  return printed(Seconds(d));
}

Json json_of(const PacedSummary& s) {
  return Json{{"total_s", printed(s.total)},    {"step_mean_s", printed(s.mean)},
              {"step_cv_ratio", ratio(s.cv)},   {"step_p50_s", printed(s.p50)},
              {"step_p99_s", printed(s.p99)},   {"delay_mean_s", printed(s.delay)},
              {"wait_mean_s", printed(s.wait)}, {"paced_steps", s.paced_steps}};
}

Json json_of(const PacedRank& with, const PacedRank& without, std::size_t rank) {
  const pace::DecisionBasis& e = with.evidence;
  return Json{{"rank", rank},
              {"delay_mean_s", printed(with.delay)},
              {"wait_mean_s", printed(with.wait)},
              {"wait_mean_without_s", printed(without.wait)},
              {"state", pace::name_of(with.last.state)},
              {"reason", pace::name_of(with.last.reason)},
              {"predictable_s", json_of(e.predictable)},
              {"gain_ratio", ratio(e.gain)},
              {"half_width_ratio", ratio(e.half_width)},
              {"pairs", e.pairs},
              {"spent_s", json_of(e.spent)},
              {"allowance_s", json_of(e.allowance)}};
}

}  // namespace

Json json_of(const PacedJobOutcome& p) {
  Json ranks = Json::array();
  for (std::size_t r = 0; r < p.with.ranks.size(); ++r)
    ranks.push_back(json_of(p.with.ranks[r], p.without.ranks[r], r));
  Json changes = Json::array();
  for (std::size_t i = 0; i < std::min(kToldChanges, p.changes.size()); ++i) {
    const PacedChange& c = p.changes[i];
    changes.push_back(Json{{"step", c.step},
                           {"rank", c.rank},
                           {"state", pace::name_of(c.decision.state)},
                           {"reason", pace::name_of(c.decision.reason)},
                           {"delay_s", json_of(c.decision.delay)}});
  }
  return Json{{"mode", pace::name_of(p.mode)},
              {"gain_ratio", ratio(p.gain())},
              {"with", json_of(p.with)},
              {"without", json_of(p.without)},
              {"ranks", std::move(ranks)},
              {"changes", std::move(changes)},
              {"changes_in_all", static_cast<std::int64_t>(p.changes.size()) + p.changes_left_out}};
}

}  // namespace cox::simulate
