// SPDX-License-Identifier: Apache-2.0
#include "cox/base/json.hpp"

#include "cox/diagnose/pacing.hpp"

#include "diagnose/match/warnings.hpp"

namespace cox::diagnose {
namespace {

Json json_of(const Bounded<double>& b, bool has_interval) {
  return Json{{"value", b.value},
              {"interval_95", has_interval ? Json::array({b.low, b.high}) : Json(nullptr)}};
}

Json json_of(const Bounded<Seconds>& b, bool has_interval) {
  return json_of(Bounded<double>{b.value.count(), b.low.count(), b.high.count()}, has_interval);
}

Json json_of(const PaceArm& a, bool has_interval) {
  Json j;
  j["iterations"] = a.iterations;
  j["blocks"] = a.blocks;
  j["throughput_per_s"] = json_of(a.throughput(), has_interval);
  j["period_s"] = json_of(a.period, has_interval);
  j["period_median_s"] = json_of(a.median, has_interval);
  j["period_p99_s"] = json_of(a.p99, has_interval);
  j["cv_ratio"] = json_of(a.cv_ratio, has_interval);
  j["wait_s"] = json_of(a.wait, has_interval);
  j["energy_full_power_s"] = json_of(a.energy, has_interval);
  return j;
}

Json json_of(const PacingComparison& c) {
  Json j;
  j["from"] = c.within_run ? "blocks" : "runs";
  j["pairs"] = c.pairs;
  j["baseline"] = json_of(c.baseline, c.has_interval);
  j["control"] = json_of(c.control, c.has_interval);
  j["faster_ratio"] = json_of(c.faster_ratio, c.has_interval);
  j["cv_over_baseline_ratio"] = json_of(c.cv_ratio, c.has_interval);
  j["p99_over_baseline_ratio"] = json_of(c.p99_ratio, c.has_interval);
  j["wait_over_baseline_ratio"] = json_of(c.wait_ratio, c.has_interval);
  j["energy_over_baseline_ratio"] = json_of(c.energy_ratio, c.has_interval);
  j["energy_kind"] = "estimated";
  j["ranks"] = Json::array();
  for (const RankArms& r : c.ranks)
    j["ranks"].push_back(Json{{"rank", r.rank.value()},
                              {"baseline_wait_s", r.baseline_wait.count()},
                              {"control_wait_s", r.control_wait.count()},
                              {"control_delay_s", r.control_delay.count()}});
  return j;
}

Json json_of(const pace::Decision& d) {
  return Json{{"state", pace::name_of(d.state)},
              {"reason", pace::name_of(d.reason)},
              {"delay_s", in_seconds(d.delay)}};
}

Json json_of(const RankPacing& r) {
  Json j;
  j["rank"] = r.rank.value();
  j["delays"] = r.delays;
  j["delayed_s"] = in_seconds(r.delayed);
  j["decided_s"] = in_seconds(r.decided);
  j["longest_s"] = in_seconds(r.longest);
  j["changes"] = Json::array();
  for (const PaceChange& c : r.changes) {
    Json change{{"iteration", c.step}, {"at_s", in_seconds(c.at)}};
    change.update(json_of(c.decision));
    change["gain_ratio"] = c.gain_ratio;
    j["changes"].push_back(std::move(change));
  }
  return j;
}

Json json_of(const PacingRecord& r) {
  Json j;
  j["mode"] = pace::name_of(r.mode);
  j["settings"] = r.settings_text.empty() ? Json(nullptr) : Json(r.settings_text);
  j["group"] = r.group_name;
  j["iterations"] = r.iterations;
  j["delays"] = r.delays;
  j["delayed_s"] = in_seconds(r.delayed);
  j["ranks"] = Json::array();
  for (const RankPacing& p : r.ranks) j["ranks"].push_back(json_of(p));
  return j;
}

Json json_of(const pace::DecisionBasis& e) {
  return Json{{"period_s", in_seconds(e.period)},
              {"slack_s", in_seconds(e.slack)},
              {"deviation_s", in_seconds(e.deviation)},
              {"predictable_s", in_seconds(e.predictable)},
              {"gain_ratio", e.gain},
              {"half_width_ratio", e.half_width},
              {"pairs", e.pairs},
              {"spent_s", in_seconds(e.spent)},
              {"allowance_s", in_seconds(e.allowance)}};
}

Json json_of(const PaceReplay& r, bool decisions) {
  Json j;
  j["rank"] = r.rank.value();
  j["mode"] = pace::name_of(r.mode);
  j["open_loop"] = r.open_loop;
  j["iterations"] = r.observations;
  j["in_state"] = Json::object();
  for (std::size_t s = 0; s < std::size(r.in_state); ++s)
    j["in_state"][pace::name_of(static_cast<pace::State>(s))] = r.in_state[s];
  j["last"] = json_of(r.last);
  j["evidence"] = json_of(r.evidence);
  j["compared"] = r.compared;
  j["difference"] = nullptr;
  if (r.difference)
    j["difference"] = Json{{"iteration", r.difference->step},
                           {"at_s", in_seconds(r.difference->at)},
                           {"recorded", json_of(r.difference->recorded)},
                           {"replayed", json_of(r.difference->replayed)}};
  if (!decisions) return j;
  j["decisions"] = Json::array();
  for (const ReplayedDecision& d : r.decisions) {
    Json one{{"iteration", d.step}, {"at_s", in_seconds(d.at)}};
    one.update(json_of(d.decision));
    one["evidence"] = json_of(d.evidence);
    j["decisions"].push_back(std::move(one));
  }
  return j;
}

}  // namespace

std::string to_json(const Pacing& p, const trace::Run& run, const std::vector<std::string>& inputs,
                    bool decisions) {
  Json result;
  result["run"] = run.info.name;
  result["provenance"] = trace::name_of(run.info.provenance);
  result["group"] = p.group_name;
  result["transfer_s"] = p.transfer ? Json(in_seconds(*p.transfer)) : Json(nullptr);
  result["verdict"] = describe(p);
  result["advice"] = Json::array();
  for (const pace::Advice& a : p.advice)
    result["advice"].push_back(Json{{"remedy", pace::name_of(a.remedy)},
                                    {"action", a.action},
                                    {"why", a.why},
                                    {"seen_elsewhere", a.evidence}});
  result["record"] = p.record ? json_of(*p.record) : Json(nullptr);
  result["comparison"] = p.comparison ? json_of(*p.comparison) : Json(nullptr);
  result["replays"] = Json::array();
  for (const PaceReplay& r : p.replays) result["replays"].push_back(json_of(r, decisions));
  return framed({"cox.pace/1", inputs, warnings_of(run)}, std::move(result));
}

}  // namespace cox::diagnose
