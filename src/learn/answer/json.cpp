// SPDX-License-Identifier: Apache-2.0
#include "cox/base/json.hpp"

#include <utility>

#include "learn/answer/ages.hpp"
#include "learn/answer/comparison.hpp"
#include "learn/answer/json_parts.hpp"
#include "learn/answer/scaled.hpp"
#include "learn/answer/servers.hpp"

namespace cox::learn {
namespace {

Json json_of(const ExpertLoads& e) {
  return {{"busiest_ratio", e.busiest}, {"dropped_ratio", e.dropped}, {"idle", e.idle}};
}

Json json_of(const Attempt& a) {
  const sync::AgeCounts ages = a.all_ages();
  return {{"seed", a.seed},
          {"workers", a.workers},
          {"reached", a.reached},
          {"lost", a.lost},
          {"time_s", a.time.count()},
          {"versions", a.versions},
          {"samples", a.samples},
          {"wasted_samples", a.wasted},
          {"sent_bytes", a.sent ? Json(a.sent->count()) : Json(nullptr)},
          {"mean_age", ages.mean()},
          {"p50_age", ages.quantile(0.5)},
          {"p99_age", ages.quantile(0.99)},
          {"largest_age", ages.largest()},
          {"worker_ages", worker_ages(a.ages)},
          {"busiest_worker", a.busiest},
          {"busiest_share", a.busiest_share},
          {"first_loss", a.first_loss},
          {"loss", a.loss},
          {"accuracy", a.accuracy},
          {"experts", or_null(a.experts, [](const ExpertLoads& e) { return json_of(e); })},
          {"diverged", a.diverged ? Json(a.diverged->text()) : Json(nullptr)},
          {"bound", or_null(a.bound,
                            [](const BoundFollower& b) {
                              return Json{{"last", b.bound()},
                                          {"least", b.least()},
                                          {"probes", b.probes()},
                                          {"alarms", b.raised()},
                                          {"first_curvature", b.first_curvature()},
                                          {"last_curvature", b.last_curvature()}};
                            })},
          {"servers", a.servers.empty() ? Json(nullptr) : json_of(a.servers)},
          {"copies", a.copies},
          {"exchanges", a.exchanges},
          {"workers_left", a.left},
          {"workers_joined", a.joined},
          {"server_death", or_null(a.death, [](const ServerDeath& death) { return json_of(death); })},
          {"loss_scale", or_null(a.scaled, [](const ScaledSteps& scaled) { return json_of(scaled); })}};
}

}  // namespace

Json json_of(const Interval& i) {
  return {{"low", i.low}, {"high", i.high}};
}

Json summary_json(const WayResult& w, bool baseline) {
  Json j{{"policy", w.way.name},
         {"baseline", baseline},
         {"refused", w.refused.empty() ? Json(nullptr) : Json(w.refused)},
         {"rate_factor", w.rate_factor},
         {"rate_at_edge", w.at_edge},
         {"reached", w.reached()},
         {"time_s", nullptr},
         {"time_95_s", nullptr},
         {"samples", nullptr},
         {"sent_bytes", nullptr},
         {"mean_age", nullptr},
         {"p50_age", nullptr},
         {"p99_age", nullptr},
         {"largest_age", nullptr},
         {"ages", nullptr},
         {"elastic_edge", w.elastic_edge ? Json(*w.elastic_edge) : Json(nullptr)},
         {"mixing", or_null(w.mixing,
                            [](const GraphMixing& m) {
                              return Json{{"factor", m.factor},
                                          {"gap", m.gap()},
                                          {"period", m.period},
                                          {"row_error", m.sums.rows},
                                          {"column_error", m.sums.columns}};
                            })},
         {"node_hours", nullptr},
         {"energy_j", nullptr},
         {"cost", nullptr},
         {"flops", nullptr},
         {"time_ratio", nullptr},
         {"time_ratio_95", nullptr},
         {"samples_ratio", nullptr},
         {"sample_time_ratio", nullptr}};
  if (w.all_reached()) {
    j["time_s"] = w.time.count();
    j["time_95_s"] = json_of(w.time_s);
    j["samples"] = w.samples;
    if (w.sent_bytes > 0) j["sent_bytes"] = w.sent_bytes;
    j["mean_age"] = w.mean_age;
    j["p50_age"] = w.ages.quantile(0.5);
    j["p99_age"] = w.ages.quantile(0.99);
    j["largest_age"] = w.ages.largest();
    j["ages"] = age_ranges(w.ages);
  }
  if (const auto& e = w.expense) {
    if (e->node_hours) j["node_hours"] = *e->node_hours;
    if (e->energy) j["energy_j"] = e->energy->in_joules();
    if (e->cost) j["cost"] = *e->cost;
    if (e->flops) j["flops"] = e->flops->count();
  }
  if (w.time_ratio > 0) {
    j["time_ratio"] = w.time_ratio;
    j["time_ratio_95"] = json_of(w.time_ratio_95);
    j["samples_ratio"] = w.samples_ratio;
    j["sample_time_ratio"] = w.sample_time_ratio;
  }
  return j;
}

Json asked_json(const Comparison& c, const model::Scenario& scenario, const WaysQuestion& q) {
  return {{"scenario", scenario.name},
          {"workers", c.workers},
          {"gradients_bytes", c.gradients.count()},
          {"currency", scenario.node_price.currency},
          {"problem", name_of(q.problem.kind)},
          {"parameters", c.parameters},
          {"optimizer", name_of(q.optimizer.kind)},
          {"rate", q.optimizer.rate},
          {"warm_up_steps", q.optimizer.warm_up},
          {"rate_scaling", name_of(q.optimizer.scaling)},
          {"base_batch", q.optimizer.base_batch},
          {"batch_per_worker", q.share.batch()},
          {"steps", q.steps},
          {"seeds", q.seeds},
          {"tuning_seeds", q.tuning_seeds},
          {"rate_factors", q.rate_factors},
          {"first_loss", c.first_loss},
          {"target_loss", c.target},
          {"score_every_ratio", c.score_every}};
}

std::string to_json(const Comparison& c, const model::Scenario& scenario, const WaysQuestion& q,
                    const std::vector<std::string>& inputs) {
  Json result = asked_json(c, scenario, q);
  result["second_over_first_95"] =
      c.second_over_first.high > 0 ? json_of(c.second_over_first) : Json(nullptr);
  result["policies"] = Json::array();
  for (std::size_t i = 0; i < c.ways.size(); ++i) {
    Json one = summary_json(c.ways[i], i == c.baseline);
    one["attempts"] = Json::array();
    for (const Attempt& a : c.ways[i].attempts) one["attempts"].push_back(json_of(a));
    result["policies"].push_back(std::move(one));
  }
  return framed({.schema = "cox.learn/1", .inputs = inputs, .warnings = {}}, std::move(result));
}

}  // namespace cox::learn
