// SPDX-License-Identifier: Apache-2.0
#include "forecast/control/control_json.hpp"

#include <cmath>
#include <string>

namespace cox::forecast {
namespace {

/// `range`: no place between the ends is likelier.
Json ratio_json(const std::optional<LeverRatio>& r, bool range = false) {
  if (!r) return nullptr;
  return {{"value", range ? Json(nullptr) : Json(r->value)}, {"low", r->low}, {"high", r->high}};
}

Json ends_json(const std::optional<DrawnEnds>& ends) {
  if (!ends) return nullptr;
  const auto end = [](double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); };
  return {{"low", end(ends->low)}, {"high", end(ends->high)}};
}

/// `as_it_is`: what N* is compared with.
Json effect_json(const LeverEffect& e, const LeverEffect& as_it_is) {
  Json j{{"levers", e.names}, {"does", e.does}, {"learning_not_included", e.learning}};
  j["not_computed"] = e.why_not.empty() ? Json(nullptr) : Json(e.why_not);
  if (!e.why_not.empty()) return j;
  j["range"] = e.range;
  j["throughput_ratio"] = ratio_json(e.throughput, e.range);
  j["one_sum_throughput_ratio"] = ratio_json(e.one_sum);
  j["step_ratio"] = ratio_json(e.step, e.range);
  j["p99_ratio"] = ratio_json(e.p99, e.range);
  j["cv_ratio"] = ratio_json(e.cv, e.range);
  j["rework_per_sample_ratio"] = ratio_json(e.rework, e.range);
  j["energy_per_sample_ratio"] = ratio_json(e.energy, e.range);
  j["node_hours_per_sample_ratio"] = ratio_json(e.cost, e.range);
  j["most_nodes"] = e.most_nodes ? Json(*e.most_nodes) : Json(nullptr);
  j["most_nodes_interval"] = ends_json(e.most_nodes_ends);
  const std::optional<double> over = e.most_nodes_over(as_it_is);
  j["most_nodes_ratio"] = over ? Json(*over) : Json(nullptr);
  j["most_nodes_ratio_interval"] = ends_json(e.most_nodes_over_ends);
  j["margin"] = e.margin && std::isfinite(*e.margin) ? Json(*e.margin) : Json(nullptr);
  j["margin_interval"] = ends_json(e.margin_ends);
  j["price"] = e.price;
  j["of_target"] = ratio_json(e.of_target);
  return j;
}

void add_levers(Json& j, const std::string& key, const LeverTable& t) {
  j[key] = Json::array();
  for (const LeverEffect& e : t.levers) j[key].push_back(effect_json(e, t.baseline));
  j[key + "_at"] = {
      {"ranks", t.ranks}, {"by_parts", t.by_parts}, {"as_it_is", effect_json(t.baseline, t.baseline)}};
}

Json shares_json(const WallShares& w) {
  return {{"work", w.work},
          {"writes", w.write},
          {"rework", w.rework},
          {"restarts", w.restart},
          {"repair", w.waiting}};
}

Json parts_json(const DaysAt& d) {
  Json parts = Json::object();
  for (std::size_t i = 0; i < kDaysParts; ++i)
    parts[std::string(name_of(static_cast<DaysPart>(i))) + "_s"] = d.parts[i].count();
  return parts;
}

Json days_json(const Days& d) {
  const bool ends = d.at_stated && std::isfinite(d.at_stated->total.count());
  return {
      {"nodes", d.nodes},
      {"tokens", d.tokens},
      {"steps", d.steps},
      {"total_s", d.total.count()},
      {"total_low_s", d.band ? Json(d.band->low.count()) : Json(nullptr)},
      {"total_high_s",
       d.band && std::isfinite(d.band->high.count()) ? Json(d.band->high.count()) : Json(nullptr)},
      {"parts", parts_json(d)},
      {"goodput", d.goodput},
      {"failures", d.failures},
      {"checkpoint_interval_s", d.intervals.far > Seconds{} ? Json(d.intervals.far.count()) : Json(nullptr)},
      {"total_at_given_interval_s", ends ? Json(d.at_stated->total.count()) : Json(nullptr)},
      {"parts_at_given_interval", ends ? parts_json(*d.at_stated) : Json(nullptr)},
      {"node_hours", d.node_hours},
      {"energy_j", d.energy ? Json(d.energy->in_joules()) : Json(nullptr)},
      {"cost", d.cost ? Json(*d.cost) : Json(nullptr)},
      {"currency", d.currency.empty() ? Json(nullptr) : Json(d.currency)}};
}

}  // namespace

Json control_json(const FullControl& c) {
  Json j = Json::object();
  if (c.levers) add_levers(j, "levers", *c.levers);
  if (c.played) add_levers(j, "played_levers", *c.played);
  if (c.set)
    j["target"] = {{"text", c.target},
                   {"reached", c.set->reached},
                   {"already", c.set->already},
                   {"tried", c.set->tried},
                   {"set", effect_json(c.set->best, LeverEffect{})},
                   {"perhaps", c.set->perhaps ? effect_json(*c.set->perhaps, LeverEffect{}) : Json(nullptr)},
                   {"left_out", c.set->left_out}};
  if (!c.controlled.empty()) {
    j["controlled"] = Json::array();
    for (const ControlledSize& at : c.controlled)
      j["controlled"].push_back(
          {{"ranks", at.ranks},
           {"throughput_ratio", at.throughput_ratio},
           {"low", at.simulated ? Json(at.simulated->low) : Json(nullptr)},
           {"high", at.simulated ? Json(at.simulated->high) : Json(nullptr)},
           {"simulated_steps", at.simulated ? Json(at.simulated->steps) : Json(nullptr)},
           {"from_own_size", at.from_own}});
  }
  if (!c.goodput.empty()) {
    j["goodput"] = Json::array();
    for (const GoodputPoint& p : c.goodput)
      j["goodput"].push_back(
          {{"nodes", p.nodes},
           {"between_failures_s", p.costs.between.count()},
           {"best_interval_s", p.best.far.count()},
           {"young_interval_s", young_interval(p.costs.blocks, p.costs.between).count()},
           {"daly_interval_s", daly_interval(p.costs.blocks, p.costs.between).count()},
           {"shares", shares_json(p.at_best)},
           {"given_interval_s", p.given.far > Seconds{} ? Json(p.given.far.count()) : Json(nullptr)},
           {"shares_at_given", p.given.far > Seconds{} ? shares_json(p.at_given) : Json(nullptr)}});
  }
  if (c.most)
    j["most_work"] = {{"nodes", c.most->nodes},
                      {"beyond", c.most->censored},
                      {"goodput", c.most->goodput},
                      {"nodes_with_steps", c.most_with_steps ? Json(*c.most_with_steps) : Json(nullptr)}};
  if (!c.days.empty()) {
    j["days"] = Json::array();
    for (const Days& d : c.days) j["days"].push_back(days_json(d));
  }
  if (c.nodes_for && c.within)
    j["within"] = {{"target_s", c.within->count()},
                   {"reached", c.nodes_for->reached},
                   {"why", c.nodes_for->why.empty() ? Json(nullptr) : Json(c.nodes_for->why)},
                   {"most_nodes_looked_at", c.nodes_for->most},
                   {"nodes_low", c.nodes_for->nodes_low ? Json(*c.nodes_for->nodes_low) : Json(nullptr)},
                   {"nodes_high", c.nodes_for->nodes_high ? Json(*c.nodes_for->nodes_high) : Json(nullptr)},
                   {"at", days_json(c.nodes_for->at)}};
  if (!c.sensitivities.empty()) {
    j["sensitivities"] = Json::array();
    for (const Sensitivity& s : c.sensitivities)
      j["sensitivities"].push_back({{"of", s.name}, {"at_0_8", s.at_less}, {"at_1_2", s.at_more}});
  }
  j["notes"] = c.notes;
  return j;
}

}  // namespace cox::forecast
