// SPDX-License-Identifier: Apache-2.0
#include "simulate/answer/outcome_json.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cox/base/json.hpp"
#include "cox/simulate/render.hpp"
#include "cox/simulate/switches.hpp"

namespace cox::simulate {

double printed(Seconds s) {
  return std::round(s.count() * 1e12) / 1e12;
}

Json json_of(const ReplicaSpread& s) {
  return Json{{"mean_s", printed(s.mean)},
              {"half_width_95_s", printed(s.half_width_95)},
              {"p50_s", printed(s.p50)},
              {"p99_s", printed(s.p99)},
              {"replicas", s.replicas}};
}

Json summary_of(const Outcome& o) {
  Json j;
  j["engine"] = model::name_of(o.engine);
  j["protocol"] = model::name_of(o.protocol);
  j["closure"] = o.closure;
  j["memo"] = o.memo;
  j["ranks"] = o.ranks;
  j["messages"] = o.messages;
  j["total_s"] = printed(o.total);
  j["over_replicas"] = json_of(o.over_replicas);
  return j;
}

namespace {

const char* kind_of(const NeighbourOutcome& n) {
  using enum model::NeighbourKind;
  return n.kind == Flows ? "flows" : n.kind == Collective ? "collective" : "training";
}

double rounded(double x) {
  return std::round(x * 1e9) / 1e9;
}

Json steps_of(const Outcome& o) {
  const auto at = [&](double q) { return printed(Seconds{o.steps.quantile(q)}); };
  return Json{{"count", o.steps.count()},
              {"replicas", o.steps_replicas},
              {"relative_error_ratio", o.steps.relative_error()},
              {"p50_s", at(0.5)},
              {"p95_s", at(0.95)},
              {"p99_s", at(0.99)},
              {"p999_s", at(0.999)},
              {"shortest_s", printed(Seconds{o.steps.smallest()})},
              {"longest_s", printed(Seconds{o.steps.largest()})}};
}

Json groups_of(const Outcome& o) {
  Json groups = Json::array();
  for (const GroupTime& g : o.groups)
    groups.push_back(Json{{"name", g.name},
                          {"ranks", g.ranks},
                          {"busy_s", printed(g.busy)},
                          {"exposed_s", printed(g.exposed)},
                          {"waiting_s", printed(g.waiting)}});
  return groups;
}

/// Of a training job: null where it is not known.
void add_job(const model::Scenario& s, const Outcome& o, Json& j) {
  const JobTime& t = *o.time;
  j["time"] = Json{{"total_s", printed(t.total())},
                   {"start_s", printed(t.start)},
                   {"work_s", printed(t.work)},
                   {"checkpoints_s", printed(t.checkpoints)},
                   {"rework_s", printed(t.rework)},
                   {"restarts_s", printed(t.restarts)},
                   {"repair_s", printed(t.repair)},
                   {"cold_s", printed(t.cold)},
                   {"goodput_ratio", t.total() > Seconds{} ? rounded(t.work / t.total()) : 1.0}};
  j["failures"] = Json::array();
  for (std::size_t c = 0; c < o.failures_of_class.size(); ++c)
    j["failures"].push_back(Json{{"class", s.failures.classes[c].name}, {"count", o.failures_of_class[c]}});
  j["energy"] = nullptr;
  if (o.energy) {
    const EnergyUse& e = *o.energy;
    j["energy"] =
        Json{{"total_j", rounded(e.total().in_joules())},     {"busy_j", rounded(e.busy.in_joules())},
             {"transfer_j", rounded(e.transfer.in_joules())}, {"wait_j", rounded(e.wait.in_joules())},
             {"idle_j", rounded(e.idle.in_joules())},         {"building_j", rounded(e.building.in_joules())},
             {"ideal_j", rounded(e.ideal.in_joules())}};
  }
  j["cost"] = Json{{"node_hours", *o.node_hours},
                   {"ideal_node_hours", o.ideal_node_hours ? Json(*o.ideal_node_hours) : Json(nullptr)},
                   {"cost", o.cost ? Json(*o.cost) : Json(nullptr)},
                   {"currency", s.node_price.currency}};
}

Json json_of(const PortLoad& p) {
  return Json{{"name", p.name},
              {"kind", p.is_card ? "card" : "device"},
              {"direction", p.goes_out ? "out" : "in"},
              {"bytes", p.bytes.count()},
              {"utilisation_ratio", rounded(p.utilisation_ratio)},
              {"alike", p.alike}};
}

}  // namespace

Json json_of(const model::Scenario& s, const Outcome& o) {
  Json j;
  j["name"] = s.name;
  j["provenance"] = "simulated";
  j.update(summary_of(o));
  j["step_end_s"] = Json::array();
  for (const Seconds end : o.step_ends) j["step_end_s"].push_back(printed(end));
  j["links"] = Json::array();
  for (const LinkLoad& link : o.links) {
    if (link.bytes.count() == 0) continue;
    j["links"].push_back(Json{{"name", link.name},
                              {"bytes", link.bytes.count()},
                              {"utilisation_ratio", std::round(link.utilisation_ratio * 1e9) / 1e9}});
  }
  j["busiest_port"] = o.busiest_port ? json_of(*o.busiest_port) : Json(nullptr);
  j["servers_busy_ratio"] = o.servers_busy_ratio ? Json(rounded(*o.servers_busy_ratio)) : Json(nullptr);
  j["notes"] = o.notes;
  j["mechanisms"] = mechanisms_within(s, o.last_end());
  j["not_modelled"] = o.not_modelled;
  j["mfu_ratio"] = o.mfu ? Json(std::round(*o.mfu * 1e9) / 1e9) : Json(nullptr);
  if (o.mfu && o.mfu_peak != s.cluster.device_peak) j["mfu_peak_flops_per_s"] = o.mfu_peak.in_flops_per_s();
  j["goodput_mfu_ratio"] = o.goodput_mfu ? Json(std::round(*o.goodput_mfu * 1e9) / 1e9) : Json(nullptr);
  j["steps"] = steps_of(o);
  if (o.time || !o.groups.empty()) j["groups"] = groups_of(o);
  if (o.time) add_job(s, o, j);
  if (o.paced) j["paced"] = json_of(*o.paced);
  if (!o.neighbours.empty()) j["neighbours"] = Json::array();
  for (const NeighbourOutcome& n : o.neighbours)
    j["neighbours"].push_back(Json{{"name", n.name},
                                   {"kind", kind_of(n)},
                                   {"done", n.done},
                                   {"mean_s", printed(n.mean)},
                                   {"alone_s", printed(n.alone)}});
  return j;
}

namespace {

Json json_of(const Attribution& a) {
  Json mechanisms = Json::array();
  for (const MechanismCost& m : a.mechanisms)
    mechanisms.push_back(Json{{"name", m.name},
                              {"share_s", printed(m.share)},
                              {"half_width_95_s", printed(m.half_width)},
                              {"seeds_half_width_95_s", printed(m.seeds_half_width)},
                              {"alone_s", printed(m.alone)},
                              {"last_s", printed(m.last)}});
  return Json{{"with_s", printed(a.with)}, {"without_s", printed(a.without)},
              {"exact", a.exact},          {"simulated", a.simulated},
              {"seeds", a.seeds},          {"mechanisms", std::move(mechanisms)}};
}

Json json_of(const KeptDelay& k) {
  Json steps = Json::array();
  for (const ReplicaSpread& d : k.by) steps.push_back(json_of(d));
  Json ranks = Json::array();
  for (const Seconds d : k.ranks) ranks.push_back(printed(d));
  return Json{{"delay_s", printed(k.delay)},
              {"step", k.step},
              {"kept", std::move(steps)},
              {"rank_s", std::move(ranks)}};
}

std::string document(const char* schema, const std::vector<std::string>& inputs, Json result) {
  return framed({schema, inputs}, std::move(result));
}

}  // namespace

std::string to_json(const std::string& input, const model::Scenario& scenario, const Outcome& outcome,
                    const std::vector<SizeOutcome>& sizes, const StepAnalysis* step,
                    const Attribution* attribution, const KeptDelay* delay) {
  Json result = json_of(scenario, outcome);
  result["sizes"] = Json::array();
  for (const SizeOutcome& p : sizes)
    result["sizes"].push_back(
        Json{{"nodes", p.nodes},
             {"ranks", p.ranks},
             {"batch", p.fixed_batch ? "fixed" : "per_rank"},
             {"step", json_of(p.step)},
             {"exposed_ratio", p.exposed_ratio ? Json(rounded(*p.exposed_ratio)) : Json(nullptr)},
             {"attribution", p.attribution ? json_of(*p.attribution) : Json(nullptr)}});
  result["attribution"] = attribution == nullptr ? Json(nullptr) : json_of(*attribution);
  if (delay != nullptr) result["delay"] = json_of(*delay);
  result["step_apart"] = step == nullptr ? Json(nullptr) : json_of(*step, middle_step(scenario));
  return document("cox.simulate/1", {input}, std::move(result));
}

std::string to_json(const std::vector<std::string>& inputs, const PairedTotals& c) {
  return document("cox.simulate-comparison/1", inputs,
                  Json{{"provenance", "simulated"},
                       {"a", json_of(c.a)},
                       {"b", json_of(c.b)},
                       {"difference", json_of(c.difference)}});
}

std::string to_json(const std::string& file, const EventOutcome& o) {
  Json finish = Json::array();
  Seconds last{};
  for (const Seconds s : o.finish) {
    finish.push_back(printed(s));
    last = std::max(last, s);
  }
  return document("cox.simulate-schedule/1", {file},
                  Json{{"provenance", "simulated"},
                       {"engine", "event"},
                       {"ranks", o.finish.size()},
                       {"messages", o.messages},
                       {"events", o.events},
                       {"total_s", printed(last)},
                       {"finish_s", std::move(finish)}});
}

}  // namespace cox::simulate
