// SPDX-License-Identifier: Apache-2.0
#include "diagnose/fabric/json.hpp"

#include <string>
#include <vector>

namespace cox::diagnose {
namespace {

Json json_of(const Component& c, const trace::Run& run) {
  Json j;
  j["kind"] = name_of(c.kind);
  j["hosts"] = Json::array();
  for (const NodeId id : c.hosts)
    for (const trace::Node& node : run.nodes)
      if (node.id == id) j["hosts"].push_back(node.host);
  j["nodes"] = numbers_of(c.hosts);
  j["local_ranks"] = numbers_of(c.local);
  j["text"] = name_of(c);
  return j;
}

Json json_of(const std::vector<Component>& components, const trace::Run& run) {
  Json list = Json::array();
  for (const Component& c : components) list.push_back(json_of(c, run));
  return list;
}

Json json_of(const SizeTransfer& s) {
  Json j;
  j["operation"] = model::name_of(s.kind);
  j["bytes"] = s.bytes.count();
  j["repetitions"] = s.repetitions;
  j["lower_quartile_s"] = in_seconds(s.lower_quartile);
  j["best_busbw_bytes_per_s"] = s.best_busbw.in_bytes_per_s();
  j["dip_ratio"] = s.dip_ratio;
  j["dip_depth_ratio"] = s.dip_depth;
  return j;
}

Json json_of(const GroupTransfer& g) {
  Json j;
  j["comm"] = g.comm.value();
  j["name"] = g.name;
  j["ranks"] = numbers_of(g.ranks);
  j["hosts"] = g.hosts;
  j["alike"] = g.alike;
  j["slow_ratio"] = g.slow_ratio > 0 ? Json(g.slow_ratio) : Json(nullptr);
  j["slow_always"] = g.slow_always;
  j["slow_sometimes"] = g.slow_sometimes;
  j["dip_ratio"] = g.dip_ratio;
  j["dip_depth_ratio"] = g.dip_depth;
  j["sizes"] = Json::array();
  for (const SizeTransfer& s : g.sizes) j["sizes"].push_back(json_of(s));
  return j;
}

}  // namespace

void write_json(const Fabric& f, const trace::Run& run, Json& j) {
  j["verdict"] = name_of(f.verdict);
  j["components"] = json_of(f.components, run);
  j["alternatives"] = Json::array();
  for (const auto& set : f.alternatives) j["alternatives"].push_back(json_of(set, run));
  j["slow_groups"] = numbers_of(f.slow_groups);
  j["slow_ratio"] = f.slow_groups.empty() ? Json(nullptr) : Json(f.slow_ratio);
  j["member_test"] = name_of(f.member_test);
  j["slow_members"] = numbers_of(f.slow_members);
  j["groups_across_hosts"] = f.crossing;
  j["groups"] = Json::array();
  for (const GroupTransfer& g : f.groups)
    if (g.hosts > 1 || g.slow()) j["groups"].push_back(json_of(g));
}

}  // namespace cox::diagnose
