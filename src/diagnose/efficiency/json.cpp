// SPDX-License-Identifier: Apache-2.0
#include "diagnose/efficiency/json.hpp"

namespace cox::diagnose {
namespace {

Json json_of(const std::optional<double>& ratio) {
  return ratio ? Json(*ratio) : Json(nullptr);
}

Json json_of(const std::optional<Duration>& time) {
  return time ? Json(in_seconds(*time)) : Json(nullptr);
}

Json json_of(const std::optional<UsefulCounters>& c) {
  if (!c) return nullptr;
  Json j;
  j["instructions"] = c->instructions;
  j["cycles"] = c->cycles;
  j["ipc_ratio"] = c->ipc;
  j["frequency_hz"] = c->frequency_hz;
  return j;
}

}  // namespace

void write_json(const Efficiencies& e, Json& j) {
  j["ranks"] = e.ranks;
  j["useful_source"] = name_of(e.source);
  j["parallel_ratio"] = e.parallel;
  j["load_balance_ratio"] = e.load_balance;
  j["communication_ratio"] = e.communication;
  j["serialisation_ratio"] = json_of(e.serialisation);
  j["transfer_ratio"] = json_of(e.transfer);
  j["no_ideal"] = e.no_ideal.empty() ? Json(nullptr) : Json(e.no_ideal);
  j["runtime_s"] = in_seconds(e.runtime);
  j["useful_average_s"] = in_seconds(e.useful_average);
  j["useful_maximum_s"] = in_seconds(e.useful_maximum);
  j["ideal_runtime_s"] = json_of(e.ideal_runtime);
  j["ideal_useful_maximum_s"] = json_of(e.ideal_useful_maximum);
  j["counters"] = json_of(e.counters);
}

void write_json(const ScalingEfficiencies& s, Json& j) {
  j["problem"] = s.problem == ProblemSize::Fixed ? "fixed" : "grows";
  j["sizes"] = Json::array();
  for (const SizeEfficiencies& size : s.sizes) {
    Json one;
    write_json(size.at, one);
    one["computation_scaling_ratio"] = size.computation_scaling;
    one["instruction_scaling_ratio"] = json_of(size.instruction_scaling);
    one["ipc_scaling_ratio"] = json_of(size.ipc_scaling);
    one["frequency_scaling_ratio"] = json_of(size.frequency_scaling);
    one["global_ratio"] = size.global;
    one["speed_up_ratio"] = size.speed_up;
    j["sizes"].push_back(std::move(one));
  }
}

}  // namespace cox::diagnose
