// SPDX-License-Identifier: Apache-2.0
#include "cox/base/json.hpp"

#include "forecast/answer/forecast.hpp"
#include "forecast/answer/run_parameters_text.hpp"
#include "forecast/answer/structure_detail.hpp"
#include "forecast/control/control_json.hpp"
#include "forecast/project/estimate_json.hpp"

namespace cox::forecast {
namespace {

Json json_of(const Input& i) {
  return {{"path", i.path},           {"name", i.name},
          {"kind", name_of(i.kind)},  {"ranks", i.ranks},
          {"nodes", i.nodes},         {"steps", i.steps},
          {"positions", i.positions}, {"mean_step_s", i.step.count()},
          {"left_out", i.left_out}};
}

Json json_of(const PositionParts& p) {
  return {{"name", p.name},
          {"role", p.role},
          {"level", json_of(p.level)},
          {"rank", json_of(p.rank)},
          {"node", json_of(p.node)},
          {"step", json_of(p.step)},
          {"node_step", json_of(p.node_step)},
          {"node_step_skewness", p.node_step_skewness},
          {"slow_nodes", p.slow.seen > 0 ? Json{{"seen", p.slow.seen},
                                                {"of", p.slow.of},
                                                {"extra_s", p.slow.extra.count()},
                                                {"nodes", p.slow.nodes}}
                                         : Json(nullptr)},
          {"detours", p.detours ? Json{{"share", p.tail_probability},
                                       {"longer_s",
                                        (p.detours->longer.law.mean() - p.detours->usual.law.mean()).count()}}
                                : Json(nullptr)},
          {"residual", json_of(p.residual_sd)},
          {"tail_shape", json_of(p.tail_shape)},
          {"tail_probability", p.tail_probability},
          {"correlation", json_of(p.correlation)},
          {"drift", json_of(p.drift)}};
}

Json json_of(const Parts& parts) {
  Json j{{"ranks", parts.ranks},       {"ranks_per_node", parts.ranks_per_node},
         {"nodes", parts.nodes},       {"steps", parts.steps},
         {"positions", Json::array()}, {"communication", json_of(parts.rest)},
         {"not_told", parts.untold}};
  for (const PositionParts& p : parts.positions) j["positions"].push_back(json_of(p));
  return j;
}

Json json_of(const SizeGoodput& g, double net_speed_up) {
  const auto time = [](Seconds s) { return s > Seconds{} ? Json(s.count()) : Json(nullptr); };
  return {{"between_failures_s", g.between.count()},
          {"interval_s", time(g.intervals.far)},
          {"goodput", g.shares.work},
          {"goodput_low", g.goodput.low},
          {"goodput_high", g.goodput.high},
          {"best_interval_s", time(g.best_interval)},
          {"best_goodput", g.best_goodput},
          {"net_throughput_ratio", net_speed_up},
          {"net_throughput_ratio_low", g.net.low},
          {"net_throughput_ratio_high", g.net.high}};
}

Json json_of(const NodeHours& h) {
  return {
      {"own", h.own},       {"communication", h.communication}, {"waiting", h.waiting}, {"writes", h.writes},
      {"rework", h.rework}, {"restarts", h.restarts},           {"repair", h.repair}};
}

Json size_json(const FullForecast& f, std::size_t i) {
  const SizePoint& p = f.projection.points[i];
  Json j{{"ranks", p.ranks}, {"refused", p.refused.empty() ? Json(nullptr) : Json(p.refused)}};
  if (!p.refused.empty()) return j;
  j["simulated"] = f.simulated.sizes.empty() && !p.simulated && p.not_simulated.empty() ? Json(nullptr)
                                                                                        : Json(p.simulated);
  j["not_simulated"] = p.not_simulated.empty() ? Json(nullptr) : Json(p.not_simulated);
  j["step"] = json_of(p.mean);
  j["median"] = json_of(p.median);
  const bool spread_told = p.p99.value > Seconds{};
  j["p95"] = spread_told ? json_of(p.p95) : Json(nullptr);
  j["p99"] = spread_told ? json_of(p.p99) : Json(nullptr);
  j["p999"] = spread_told ? json_of(p.p999) : Json(nullptr);
  j["cv"] = spread_told && p.cv > 0 ? Json(p.cv) : Json(nullptr);
  j["communication_s"] = p.rest.count();
  j["throughput_ratio"] = f.speed_up(p);
  j["efficiency"] = p.efficiency;
  j["elasticity"] = f.elasticity(i);
  j["regime"] = name_of(f.regime(i));
  j["node_hours"] = json_of(f.node_hours(i));
  const std::optional<Energy> energy = f.energy_of_step(i);
  j["energy_per_step_j"] = energy ? Json(energy->in_joules()) : Json(nullptr);
  const std::optional<double> sample = f.energy_of_sample(i);
  j["energy_per_sample_ratio"] = sample ? Json(*sample) : Json(nullptr);
  j["failures"] = f.goodput.empty() ? Json(nullptr) : json_of(f.goodput[i], f.net_speed_up(i));
  j["with_unseen"] = json_of(p.with_unseen);
  j["unseen_chance"] = p.unseen_chance;
  j["with_shared"] = p.with_shared.high > Seconds{} ? json_of(p.with_shared) : Json(nullptr);
  j["without_growth"] = p.without_growth.high > Seconds{} ? json_of(p.without_growth) : Json(nullptr);
  j["rests_on"] = p.rests_on;
  return j;
}

Json json_of(const MeasuredSize& m) {
  return {{"ranks", m.ranks},
          {"from", m.from},
          {"step_s", m.step.count()},
          {"forecast", m.forecast.value > Seconds{} ? json_of(m.forecast) : Json(nullptr)},
          {"inside", m.inside}};
}

Json json_of(const Goodness& g) {
  Json j{{"reproduces", g.reproduces},
         {"because", g.because},
         {"distance", g.distance},
         {"limit", g.limit},
         {"has_power", g.has_power()},
         {"simulations", g.simulations},
         {"means",
          {{"recorded_s", g.means.recorded.count()},
           {"low_s", g.means.low.count()},
           {"high_s", g.means.high.count()},
           {"nearest_s", g.means.nearest.count()},
           {"seed", g.means.seed}}},
         {"figures", Json::array()},
         {"quantiles", Json::array()}};
  for (const GoodnessFigure& f : g.figures)
    j["figures"].push_back({{"name", f.name},
                            {"unit", f.unit},
                            {"recorded", f.recorded},
                            {"simulated", f.simulated},
                            {"low", f.low},
                            {"high", f.high},
                            {"inside", f.inside}});
  for (const Goodness::Pair& q : g.quantiles)
    j["quantiles"].push_back({{"recorded_s", q.recorded.count()}, {"simulated_s", q.simulated.count()}});
  return j;
}

Json json_of(const RegimeBoundary& b) {
  constexpr const char* kPlaces[] = {"below", "inside", "above"};
  return {{"place", kPlaces[static_cast<std::size_t>(b.place)]}, {"ranks", b.ranks}};
}

Json json_of(const TransitionBand& t, bool banded) {
  const auto end = [banded](const RegimeBoundary& b) { return banded ? json_of(b) : Json(nullptr); };
  Json j{{"at", json_of(t.value)},
         {"low", end(t.low)},
         {"high", end(t.high)},
         {"with_shared", {{"low", end(t.shared_low)}, {"high", end(t.shared_high)}}},
         {"because", t.because.empty() ? Json(nullptr) : Json(t.because)},
         {"cost_ratio", t.cost},
         {"without", Json::array()}};
  for (const MovedBoundary& m : t.without)
    j["without"].push_back({{"mechanism", m.mechanism}, {"at", json_of(m.at)}});
  return j;
}

Json json_of(const Regimes& r) {
  Json j{{"from_ranks", r.range.from},
         {"to_ranks", r.range.to},
         {"n1", json_of(r.n1, r.replicates > 0)},
         {"n2", json_of(r.n2, r.replicates > 0)},
         {"n_star", json_of(r.n_star, r.replicates > 0)},
         {"crossings", Json::array()},
         {"notes", r.notes}};
  for (const Crossing& c : r.map.crossings)
    j["crossings"].push_back({{"elasticity", c.level}, {"ranks", c.ranks}, {"falling", c.falling}});
  return j;
}

Json json_of(const Margins& m, std::int64_t ranks) {
  Json j{{"ranks", ranks}, {"elasticity", m.elasticity}, {"boundary", m.level}, {"alone", Json::array()}};
  for (const Margin& one : m.alone)
    j["alone"].push_back({{"name", one.name},
                          {"factor", or_null(one.factor, [](double f) { return f; })},
                          {"low", or_null(one.low, [](double f) { return f; })},
                          {"high", or_null(one.high, [](double f) { return f; })},
                          {"beyond", one.banded ? Json(one.beyond) : Json(nullptr)},
                          {"within_error", one.within_error}});
  j["other_side"] = m.other_side ? Json(*m.other_side) : Json(nullptr);
  j["worst"] = nullptr;
  if (m.worst) j["worst"] = {{"factors", m.worst->factors}, {"distance", m.worst->distance}};
  return j;
}

Json json_of(const CurveForecast& c) {
  Json j{{"value", c.value == CurveValue::StepTime ? "step_s" : "throughput_per_s"},
         {"largest", c.largest},
         {"sizes_given", c.sizes},
         {"models", Json::array()},
         {"sizes", Json::array()}};
  for (const CurveModel& m : c.models)
    j["models"].push_back({{"name", m.name},
                           {"formula", m.formula},
                           {"misfit_ratio", m.misfit},
                           {"held_out_ratio", m.has_held_out ? Json(m.held_out) : Json(nullptr)},
                           {"counts", m.counts}});
  for (const CurvePrediction& p : c.points) {
    Json one{{"size", p.size},
             {"refused", p.refused.empty() ? Json(nullptr) : Json(p.refused)},
             {"by_model", p.by_model}};
    if (p.refused.empty()) {
      one["value"] = p.value;
      one["low"] = p.low;
      one["high"] = p.high;
      one["measured"] = p.measured;
      one["throughput_ratio"] = p.throughput_ratio;
      one["elasticity"] = p.elasticity;
      one["regime"] = name_of(regime_of(p.elasticity));
      one["regime_best"] = name_of(regime_of(p.elasticity_high));
      one["regime_worst"] = name_of(regime_of(p.elasticity_low));
    }
    j["sizes"].push_back(std::move(one));
  }
  return j;
}

Json json_of(const Prior& p) {
  return {{"slow_nodes", p.slow_nodes},   {"slow_down", p.slow_down}, {"growth", p.growth},
          {"shared", p.shared},           {"failures", p.failures},   {"restarts", p.restarts},
          {"checkpoints", p.checkpoints}, {"start", p.start}};
}

Json json_of(const ControlledJob& c) {
  Json j{{"what", c.what}, {"regimes", json_of(c.regimes)}, {"most_ratio", c.most}, {"sizes", Json::array()}};
  for (const ControlledSize& s : c.sizes)
    j["sizes"].push_back({{"ranks", s.ranks}, {"throughput_ratio", s.throughput_ratio}});
  return j;
}

Json json_of(const LeverRatio& r) {
  return {{"value", r.value}, {"low", r.low}, {"high", r.high}};
}

Json json_of(const LearnedControl& c) {
  Json j{{"what", c.what}, {"levers", Json::array()}, {"sizes", Json::array()}};
  for (const LearnedLever& l : c.levers) {
    Json one{{"lever", l.name},
             {"ranks", l.ranks},
             {"not_computed", l.why_not.empty() ? Json(nullptr) : Json(l.why_not)}};
    if (l.why_not.empty()) {
      one["throughput_ratio"] = json_of(l.throughput);
      one["samples_ratio"] = json_of(l.samples);
      one["time_to_target_ratio"] = json_of(l.time);
    }
    j["levers"].push_back(std::move(one));
  }
  for (const LearnedSize& s : c.sizes) {
    Json one{{"ranks", s.ranks}, {"not_computed", s.why_not.empty() ? Json(nullptr) : Json(s.why_not)}};
    if (s.why_not.empty()) {
      one["throughput_ratio"] = s.throughput;
      one["samples_ratio"] = json_of(s.samples);
      one["time_to_target_ratio"] = s.time_ratio;
    }
    j["sizes"].push_back(std::move(one));
  }
  j["regimes"] = c.no_regimes.empty() ? json_of(c.regimes) : Json(nullptr);
  j["no_regimes"] = c.no_regimes.empty() ? Json(nullptr) : Json(c.no_regimes);
  j["notes"] = c.notes;
  return j;
}

template <class T>
Json or_null_json(const std::optional<T>& value) {
  return value ? json_of(*value) : Json(nullptr);
}

}  // namespace

std::string to_json(const FullForecast& f, const std::vector<std::string>& inputs) {
  Json j{{"name", f.name}, {"inputs", Json::array()}};
  for (const Input& i : f.inputs) j["inputs"].push_back(json_of(i));
  j["contradictions"] = f.contradictions;
  j["left_out"] = f.left_out;
  j["scaling"] = f.projection.scaling == Scaling::Weak ? "weak" : "strong";
  j["seen_ranks"] = f.seen_ranks;
  j["prior"] = json_of(f.prior);
  j["sizes"] = Json::array();
  for (std::size_t i = 0; i < f.projection.points.size(); ++i) j["sizes"].push_back(size_json(f, i));
  j["notes"] = f.projection.notes;
  j["not_seen"] = f.not_seen;
  j["measured"] = Json::array();
  for (const MeasuredSize& m : f.measured) j["measured"].push_back(json_of(m));
  j["curve"] = or_null_json(f.curve);
  j["parts"] = or_null_json(f.parts);
  j["goodness"] = or_null_json(f.goodness);
  j["no_goodness"] = f.no_goodness.empty() ? Json(nullptr) : Json(f.no_goodness);
  j["simulated"] = simulated_json(f.simulated);
  j["no_scenario"] = f.no_scenario.empty() ? Json(nullptr) : Json(f.no_scenario);
  j["scenario_notes"] = f.scenario_notes;
  j["regimes"] = or_null_json(f.regimes);
  j["margins"] = f.margins ? json_of(*f.margins, f.margins_at) : Json(nullptr);
  j["run"] = run_json(f.run);
  j["structure"] = f.structure ? structure_json(*f.structure) : Json(nullptr);
  j["over_time"] = f.over_time ? over_time_json(*f.over_time) : Json(nullptr);
  j["structure_detail"] = f.detail ? structure_detail_json(*f.detail) : Json(nullptr);
  j["stated_control"] = or_null_json(f.controlled_job);
  j["control"] = f.full_control ? control_json(*f.full_control) : Json(nullptr);
  j["learning"] = or_null_json(f.learned);
  return framed({.schema = "cox.forecast/1", .inputs = inputs}, std::move(j));
}

}  // namespace cox::forecast
