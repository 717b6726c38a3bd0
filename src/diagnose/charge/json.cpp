// SPDX-License-Identifier: Apache-2.0
#include "diagnose/charge/json.hpp"

#include <string>

namespace cox::diagnose {
namespace {

Json json_of(const RankCharge& r, const std::vector<std::string>& activities) {
  Json j;
  j["rank"] = r.rank.value();
  j["waited_s"] = in_seconds(r.waited);
  j["short_term_s"] = in_seconds(r.short_term);
  j["long_term_s"] = in_seconds(r.long_term);
  j["communication_s"] = in_seconds(r.communication);
  j["self_delay_s"] = in_seconds(r.self_delay);
  Json by = Json::object();
  for (std::size_t x = 0; x < r.by_activity.size() && activities.size() > 1; ++x)
    if (r.by_activity[x] > Duration::zero()) by[activities[x]] = in_seconds(r.by_activity[x]);
  j["charged_by_activity_s"] = std::move(by);
  return j;
}

Json json_of(const PairCharge& p) {
  Json j;
  j["culprit"] = p.culprit.value();
  j["waiting"] = p.waiting.value();
  j["direct_s"] = in_seconds(p.direct);
  j["passed_s"] = in_seconds(p.passed);
  return j;
}

Json json_of(const ActivityCost& x) {
  Json j;
  j["activity"] = x.name;
  j["self_delay_s"] = in_seconds(x.self_delay);
  j["charged_s"] = in_seconds(x.charged);
  j["amplification_ratio"] = x.amplification;
  return j;
}

}  // namespace

void write_json(const Attribution& a, const ChargeTexts& texts, Json& j) {
  j["refused"] = or_null(texts.refusal, [](const std::string& t) { return t; });
  j["method"] = name_of(a.method);
  j["validity_ratio"] = a.validity_ratio;
  j["synchronisations"] = a.synchronisations;
  j["waited_s"] = in_seconds(a.waited);
  j["charged_s"] = in_seconds(a.charged);
  j["communication_s"] = in_seconds(a.communication);
  j["carried_in_s"] = in_seconds(a.carried_in);
  j["unknown_s"] = in_seconds(a.unknown);
  j["balanced"] = a.balanced;
  j["self_delay_s"] = in_seconds(a.self_delay);
  j["amplification_ratio"] = a.amplification;
  j["ranks"] = Json::array();
  for (const RankCharge& r : a.ranks) j["ranks"].push_back(json_of(r, a.activities));
  j["pairs"] = Json::array();
  for (const PairCharge& p : a.pairs) j["pairs"].push_back(json_of(p));
  j["pairs_complete"] = a.pairs_complete;
  j["activities"] = Json::array();
  for (const ActivityCost& x : a.by_activity) j["activities"].push_back(json_of(x));
  j["notes"] = texts.notes;
}

}  // namespace cox::diagnose
