// SPDX-License-Identifier: Apache-2.0
#include "diagnose/over_time/json.hpp"

namespace cox::diagnose {
namespace {

using Json = nlohmann::ordered_json;

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

}  // namespace

void write_json(const TimeStructure& t, Json& j) {
  j["steps"] = t.count;
  j["median_s"] = in_seconds(t.median);
  j["cv"] = t.cv;
  j["first_is_long"] = t.first_is_long;
  j["changes"] = Json::array();
  for (const ChangePoint& c : t.changes) j["changes"].push_back(json_of(c));
  j["drift"] = nullptr;
  if (t.drift) j["drift"] = Json{{"total_ratio", t.drift->total_ratio}, {"chance", t.drift->chance}};
  j["recurrence"] = t.recurrence ? json_of(*t.recurrence) : Json(nullptr);
  j["long_steps"] = Json::array();
  for (const LongStep& l : t.long_steps) j["long_steps"].push_back(json_of(l));
  j["long_count"] = t.long_count;
  j["long_share_ratio"] = t.long_share_ratio;
  j["long_kind"] = t.long_kind ? Json(name_of(*t.long_kind)) : Json(nullptr);
}

}  // namespace cox::diagnose
