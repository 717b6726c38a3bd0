// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "forecast/answer/structure_detail.hpp"
#include "forecast/regimes/amplification.hpp"

namespace cox::forecast {
namespace {

Json json_of(const Proportion& p) {
  return {{"value", p.value}, {"low", p.low}, {"high", p.high}};
}

Json json_of(const KeptPart& k) {
  return {{"delay_s", k.delay.count()},
          {"kept", json_of(k.kept)},
          {"one_delay", {{"low", k.one_low}, {"high", k.one_high}}}};
}

Json units_json(const std::vector<UnitPace>& units, const char* name) {
  Json out = Json::array();
  for (const UnitPace& u : units)
    out.push_back({{name, u.unit},
                   {"critical", json_of(u.critical)},
                   {"elasticity", u.elasticity},
                   {"if_faster", u.if_faster},
                   {"if_slower", u.if_slower}});
  return out;
}

Json json_of(const Trend& t) {
  return {{"tau", t.tau}, {"chance", t.chance}};
}

Json json_of(const EarlyWarning& w) {
  return {{"alarm", w.alarm},
          {"windows", w.windows},
          {"steps", w.steps},
          {"spread", w.spread},
          {"memory", w.memory},
          {"margin", w.margin},
          {"spread_rises", json_of(w.spread_rises)},
          {"memory_rises", json_of(w.memory_rises)},
          {"margin_falls", w.margin_falls ? json_of(*w.margin_falls) : Json(nullptr)}};
}

Json json_of(const Amplification& a) {
  Json j{{"whole", a.whole}, {"by", Json::array()}};
  for (const Amplification::Share& s : a.by)
    j["by"].push_back({{"mechanism", s.mechanism}, {"added", s.added}});
  return j;
}

Json json_of(const StructureAtSize& s) {
  return {{"ranks", s.ranks},
          {"amplification", json_of(s.added)},
          {"kept", s.kept},
          {"longest_s", s.longest.count()},
          {"without_slowest_s", s.without_slowest.count()},
          {"not_waited_for", s.spare}};
}

Json json_of(const CoupledWave& w) {
  return {{"waits", name_of(w.waits)},
          {"passes", w.wave.kept.front()},
          {"half_life_steps", w.wave.half_life > 0 ? Json(w.wave.half_life) : Json(nullptr)},
          {"ranks_per_step", w.wave.speed},
          {"loss_s", w.wave.loss.count()},
          {"gone_after", w.wave.extinction > 0 ? Json(w.wave.extinction) : Json(nullptr)}};
}

Json json_of(const SimulatedDelay& s) {
  return {{"rank", s.rank},
          {"step", s.step},
          {"kept_by_step", s.decay.kept},
          {"half_life_steps", s.decay.half_life > 0 ? Json(s.decay.half_life) : Json(nullptr)},
          {"lasts", s.decay.lasts},
          {"shared", s.decay.shared}};
}

}  // namespace

Json structure_json(const Structure& s) {
  Json j{{"synchronisations", s.synchronisations},
         {"amplification", s.amplification},
         {"entropy", s.who.entropy},
         {"entropy_normalised", s.who.normalised},
         {"entropy_at_most", s.who.at_most},
         {"effective_ranks", s.who.effective},
         {"moves", json_of(s.who.moves)},
         {"moves_if_free", s.who.moves_if_free},
         {"ranks", units_json(s.ranks, "rank")},
         {"nodes", units_json(s.nodes, "node")},
         {"roles", units_json(s.roles, "role")},
         {"depends", Json::array()},
         {"parts", Json::array()},
         {"groups", s.groups},
         {"groups_are_roles", s.groups_are_roles},
         {"entered", s.entered},
         {"kept", Json::array()}};
  for (const Dependence& d : s.depends)
    j["depends"].push_back({{"on", d.on}, {"chance", d.chance}, {"excess", d.excess}});
  for (const PartElasticity& p : s.parts)
    j["parts"].push_back({{"to", p.to}, {"elasticity", json_of(p.value)}});
  for (const KeptPart& k : s.kept) j["kept"].push_back(json_of(k));
  return j;
}

Json over_time_json(const OverTime& o) {
  Json j{{"windows", Json::array()},
         {"trends", Json::array()},
         {"changes", Json::array()},
         {"warning", json_of(o.warning)},
         {"restarts",
          {{"verdict", name_of(o.restarts.verdict)},
           {"restarts", o.restarts.restarts},
           {"spread_ratio", o.restarts.ratio},
           {"low", o.restarts.low},
           {"high", o.restarts.high}}}};
  for (const WindowStructure& w : o.windows)
    j["windows"].push_back({{"first", w.steps.first},
                            {"steps", w.steps.count},
                            {"amplification", w.structure.amplification},
                            {"effective_ranks", w.structure.who.effective},
                            {"communication", w.structure.parts.back().value.value}});
  for (const FigureTrend& t : o.trends)
    j["trends"].push_back(
        {{"figure", t.figure}, {"first", t.first}, {"last", t.last}, {"tau", t.tau}, {"chance", t.chance}});
  for (const diagnose::ChangePoint& c : o.changes)
    j["changes"].push_back({{"step", c.first_step.value()},
                            {"earliest", c.earliest_step.value()},
                            {"latest", c.latest_step.value()},
                            {"before_s", in_seconds(c.before)},
                            {"after_s", in_seconds(c.after)},
                            {"posterior", c.posterior}});
  return j;
}

Json structure_detail_json(const StructureDetail& d) {
  Json j{{"delay_s", d.delay.count()},
         {"kept", d.kept ? json_of(*d.kept) : Json(nullptr)},
         {"critical", Json::array()},
         {"near_ties_per_s", d.near_ties},
         {"follows", Json::array()},
         {"sizes", Json::array()},
         {"waves", Json::array()},
         {"twins", Json::array()},
         {"simulated_delay", d.simulated ? json_of(*d.simulated) : Json(nullptr)},
         {"notes", d.notes}};
  for (const CriticalRank& c : d.critical)
    j["critical"].push_back({{"rank", c.rank}, {"counted", json_of(c.counted)}, {"by_law", c.by_law}});
  for (const TwoElasticities& t : d.follows)
    j["follows"].push_back({{"to", t.to},
                            {"counted", json_of(t.counted)},
                            {"by_twins", t.by_twins},
                            {"half_width", t.half_width},
                            {"difference", t.difference()}});
  for (const StructureAtSize& s : d.sizes) j["sizes"].push_back(json_of(s));
  for (const CoupledWave& w : d.waves) j["waves"].push_back(json_of(w));
  for (const TwinElasticity& t : d.twins)
    j["twins"].push_back({{"to", t.to},
                          {"elasticity", t.value},
                          {"half_width", t.half_width},
                          {"if_more", t.if_more},
                          {"if_less", t.if_less}});
  return j;
}

}  // namespace cox::forecast
