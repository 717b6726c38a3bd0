// SPDX-License-Identifier: Apache-2.0
#include "diagnose/what_if/json.hpp"

#include <string>

namespace cox::diagnose {
namespace {

Json interval(bool known, double low, double high) {
  return known ? Json::array({low, high}) : Json(nullptr);
}

Json json_of(const Estimate& e) {
  Json j;
  j["time_s"] = in_seconds(e.time);
  j["speedup_ratio"] = e.speedup_ratio;
  j["speedup_95_ratio"] = interval(e.has_interval, e.speedup_low, e.speedup_high);
  return j;
}

Json json_of(const RankWhatIf& r) {
  Json j;
  j["rank"] = r.rank.value();
  j["self_delay_s"] = in_seconds(r.self_delay);
  j["charged_s"] = in_seconds(r.charged);
  j["fixed"] = r.evaluated ? json_of(r.fixed) : Json(nullptr);
  j["removal_share_ratio"] = r.evaluated ? Json(r.removal_share) : Json(nullptr);
  j["loss_ratio"] = r.evaluated ? Json(r.loss_ratio) : Json(nullptr);
  j["add_back_share_ratio"] = r.evaluated ? Json(r.add_back_share) : Json(nullptr);
  return j;
}

Json ranks_of(const SetWhatIf& s) {
  Json list = Json::array();
  for (const Rank r : s.ranks) list.push_back(r.value());
  return list;
}

Json greedy(const SetWhatIf& s) {
  Json j;
  j["ranks"] = ranks_of(s);
  j["fixed"] = json_of(s.fixed);
  j["removal_share_ratio"] = s.removal_share;
  j["added_ratio"] = s.added_ratio;
  j["beyond_noise"] = s.beyond_noise;
  return j;
}

Json best(const std::vector<SetWhatIf>& sets) {
  Json list = Json::array();
  for (const SetWhatIf& s : sets)
    list.push_back(
        Json{{"ranks", ranks_of(s)}, {"fixed", json_of(s.fixed)}, {"removal_share_ratio", s.removal_share}});
  return list;
}

/// Names come from files: what is not UTF-8 is replaced when the whole is printed.
Json json_of(const CommWhatIf& c) {
  Json j;
  j["comm"] = c.comm ? Json(c.comm->value()) : Json(nullptr);
  j["comm_name"] = c.name;
  j["operations"] = c.operations;
  j["transfer_s"] = in_seconds(c.transfer);
  j["path_share_ratio"] = c.path_share;
  j["lower_quartile"] = c.evaluated ? json_of(c.lower_quartile) : Json(nullptr);
  j["zero"] = c.evaluated ? json_of(c.zero) : Json(nullptr);
  return j;
}

Json path_json(const PathShares& path, const trace::Run& run) {
  Json j;
  j["ranks"] = Json::array();
  for (std::size_t r = 0; r < path.work.size() && r < run.ranks.size(); ++r) {
    if (path.work[r] == 0 && path.held[r] == 0) continue;
    j["ranks"].push_back(Json{
        {"rank", run.ranks[r].rank.value()}, {"work_ratio", path.work[r]}, {"held_ratio", path.held[r]}});
  }
  j["carried_in_ratio"] = path.carried_in;
  return j;
}

template <class T, class F>
Json list_of(const std::vector<T>& items, const F& show) {
  Json list = Json::array();
  for (const T& item : items) list.push_back(show(item));
  return list;
}

}  // namespace

void write_json(const WhatIf& w, const trace::Run& run, Json& j) {
  const bool refused = w.fidelity == Fidelity::Refused;
  j = Json::object();
  j["fidelity"] = name_of(w.fidelity);
  j["why"] = w.why.empty() ? Json(nullptr) : Json(w.why);
  j["measured_s"] = in_seconds(w.measured);
  j["simulated_s"] = in_seconds(w.simulated);
  j["fidelity_ratio"] = w.fidelity_ratio;
  j["operations"] = w.operations;
  j["stretches"] = w.cells;
  j["compared_stretches"] = w.compared;
  j["blocks"] = w.blocks;
  j["scenarios"] = w.scenarios;
  j["ideal_s"] = refused ? Json(nullptr) : Json(in_seconds(w.ideal));
  j["slowdown_ratio"] = refused ? Json(nullptr) : Json(w.slowdown_ratio);
  j["slowdown_95_ratio"] = interval(!refused && w.fabric_free.has_interval, w.slowdown_low, w.slowdown_high);
  j["ranks"] = list_of(w.ranks, [](const RankWhatIf& r) { return json_of(r); });
  j["sets"] = list_of(w.sets, greedy);
  j["best_pairs"] = best(w.best_pairs);
  j["best_triples"] = best(w.best_triples);
  j["communicators"] = list_of(w.communicators, [](const CommWhatIf& c) { return json_of(c); });
  j["fabric_free"] = refused ? Json(nullptr) : json_of(w.fabric_free);
  j["fabric_tenfold"] = refused ? Json(nullptr) : json_of(w.fabric_tenfold);
  j["critical_path"] = path_json(w.path, run);
  j["waited_s"] = in_seconds(w.waited);
  j["injected_s"] = in_seconds(w.injected);
  j["lost_s"] = in_seconds(w.lost);
  j["amplification_ratio"] = refused ? Json(nullptr) : Json(w.amplification_ratio);
  j["screened"] = w.screened;
}

}  // namespace cox::diagnose
