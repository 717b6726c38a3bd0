// SPDX-License-Identifier: Apache-2.0
#include "diagnose/over_time/json.hpp"

#include <utility>

#include "diagnose/over_time/runs.hpp"

namespace cox::diagnose {
namespace {

Json json_of(const ChangePoint& c) {
  Json j;
  j["first_step"] = c.first_step.value();
  j["earliest_step"] = c.earliest_step.value();
  j["latest_step"] = c.latest_step.value();
  j["before_s"] = in_seconds(c.before);
  j["after_s"] = in_seconds(c.after);
  j["shift_ratio"] = c.shift_ratio;
  j["posterior"] = c.posterior;
  return j;
}

Json json_of(const LongStep& l) {
  Json j;
  j["step"] = l.step.value();
  j["time_s"] = in_seconds(l.time);
  j["over_ratio"] = l.over_ratio;
  j["kind"] = name_of(l.kind);
  return j;
}

Json json_of(const Recurrence& r) {
  Json j;
  j["period_steps"] = r.period_steps;
  j["shortest_steps"] = r.shortest_steps;
  j["longest_steps"] = r.longest_steps;
  j["episodes"] = r.episodes;
  j["fits_ratio"] = r.fits_ratio;
  j["chance"] = r.chance;
  return j;
}

Json json_of(const RecurrenceTier& t) {
  Json j;
  j["least_over_ratio"] = t.least_over_ratio;
  j["most_over_ratio"] = t.most_over_ratio;
  j["cost_ratio"] = t.cost_ratio;
  j["recurrence"] = json_of(t.recurrence);
  return j;
}

Json json_of(const LongBurst& b) {
  Json j;
  j["first_step"] = b.first_step.value();
  j["last_step"] = b.last_step.value();
  j["long_steps"] = b.long_steps;
  j["chance"] = b.chance;
  return j;
}

Json json_of(const PhaseShift& p) {
  Json j;
  j["period_steps"] = p.period_steps;
  j["first_step"] = p.first_step.value();
  j["over_ratio"] = p.over_ratio;
  j["repeats"] = p.repeats;
  j["chance"] = p.chance;
  return j;
}

Json json_of(const TwoTimes& t) {
  Json j;
  j["low_s"] = in_seconds(t.low);
  j["high_s"] = in_seconds(t.high);
  j["high_share_ratio"] = t.high_share_ratio;
  j["first_high_step"] = t.first_high.value();
  j["last_high_step"] = t.last_high.value();
  j["stretches"] = t.stretches;
  j["stretch_steps"] = t.stretch_steps;
  j["chance"] = t.chance;
  j["places"] = Json::array();
  for (const UsualTime& p : t.places)
    j["places"].push_back(Json{{"time_s", in_seconds(p.time)}, {"share_ratio", p.share_ratio}});
  return j;
}

Json json_of(const Tail& t) {
  Json j;
  j["above_median_ratio"] = t.above_median_ratio;
  j["below_median_ratio"] = t.below_median_ratio;
  j["p95_ratio"] = t.p95_ratio;
  j["p99_ratio"] = t.p99_ratio;
  j["longest_ratio"] = t.longest_ratio;
  return j;
}

}  // namespace

void write_json(const TimeStructure& t, Json& j) {
  j["steps"] = t.count;
  j["median_s"] = in_seconds(t.median);
  j["cv"] = t.cv;
  j["first_is_long"] = t.first_is_long;
  j["changes"] = Json::array();
  for (const ChangePoint& c : t.changes) j["changes"].push_back(json_of(c));
  for (const Rank r : t.change_ranks) j["change_ranks"].push_back(r.value());
  j["change_kind"] = t.change_kind ? Json(name_of(*t.change_kind)) : Json(nullptr);
  j["drift"] = nullptr;
  if (t.drift) j["drift"] = Json{{"total_ratio", t.drift->total_ratio}, {"chance", t.drift->chance}};
  j["recurrence"] = t.recurrence ? json_of(*t.recurrence) : Json(nullptr);
  j["long_steps"] = Json::array();
  for (const LongStep& l : t.long_steps) j["long_steps"].push_back(json_of(l));
  j["long_count"] = t.long_count;
  j["long_share_ratio"] = t.long_share_ratio;
  j["tiers"] = Json::array();
  for (const RecurrenceTier& tier : t.tiers) j["tiers"].push_back(json_of(tier));
  j["bursts"] = Json::array();
  for (const LongBurst& burst : t.bursts) j["bursts"].push_back(json_of(burst));
  j["phase"] = t.phase ? json_of(*t.phase) : Json(nullptr);
  j["two_times"] = t.two_times ? json_of(*t.two_times) : Json(nullptr);
  j["tail"] = json_of(t.tail);
  j["long_kind"] = t.long_kind ? Json(name_of(*t.long_kind)) : Json(nullptr);
  j["quiet"] = t.is_quiet();
  j["least_shift_ratio"] = t.least_shift_ratio > 0 ? Json(t.least_shift_ratio) : Json(nullptr);
}

std::string to_json(const std::vector<RunGroup>& groups, const std::string& input,
                    const std::vector<std::string>& warnings) {
  Json list = Json::array();
  for (const RunGroup& g : groups) {
    Json of_group;
    of_group["name"] = g.name;
    of_group["levels"] = g.levels;
    of_group["least_seen_ratio"] = g.least_seen_ratio;
    of_group["runs"] = Json::array();
    for (const RunFigures& r : g.runs)
      of_group["runs"].push_back({{"name", r.name},
                                  {"steps", r.steps},
                                  {"median_s", in_seconds(r.median)},
                                  {"error_ratio", r.error_ratio},
                                  {"stalls", r.stalls},
                                  {"stall_cost_ratio", r.stall_cost_ratio},
                                  {"level", r.level},
                                  {"stalls_stand_out", r.stalls_stand_out}});
    list.push_back(std::move(of_group));
  }
  return framed({"cox.runs/1", {input}, warnings}, Json{{"groups", std::move(list)}});
}

}  // namespace cox::diagnose
