// SPDX-License-Identifier: Apache-2.0
#include "diagnose/operations/graph_path_json.hpp"

#include <algorithm>

namespace cox::diagnose {
namespace {

const char* name_of(model::OperationKind kind) {
  using model::OperationKind;
  switch (kind) {
    case OperationKind::Compute:
      return "compute";
    case OperationKind::Collective:
      return "collective";
    case OperationKind::Send:
      return "send";
    case OperationKind::Receive:
      return "receive";
    case OperationKind::Memory:
      return "memory";
    default:
      return "other";
  }
}

Json json_of(const GraphKind& kind, bool timed) {
  Json j;
  j["kind"] = name_of(kind.kind);
  j["operations"] = kind.operations;
  j["timed"] = kind.timed;
  j["work_s"] = kind.timed > 0 ? Json(in_seconds(kind.work)) : Json(nullptr);
  j["on_path_s"] = timed ? Json(in_seconds(kind.on_path)) : Json(nullptr);
  return j;
}

Json json_of(const GraphTimes& times) {
  Json j;
  j["makespan_s"] = in_seconds(times.makespan);
  j["recorded_s"] = times.recorded ? Json(in_seconds(*times.recorded)) : Json(nullptr);
  j["work_s"] = in_seconds(times.work);
  j["parallelism_ratio"] = times.parallelism_ratio;
  j["path_operations"] = times.path_operations;
  j["names"] = Json::array();
  for (const GraphName& name : times.names) {
    Json n;
    n["name"] = name.name;
    n["operations"] = name.operations;
    n["on_path_s"] = in_seconds(name.on_path);
    j["names"].push_back(std::move(n));
  }
  return j;
}

}  // namespace

void write_json(const GraphPath& path, Json& out) {
  out = Json::object();
  out["operations"] = path.operations;
  out["edges"] = path.edges;
  out["messages"] = path.messages;
  out["unmatched"] = path.unmatched;
  out["joined_collectives"] = path.joined_collectives;
  out["kinds"] = Json::array();
  for (const GraphKind& kind : path.kinds) out["kinds"].push_back(json_of(kind, path.times.has_value()));
  out["times"] = path.times ? json_of(*path.times) : Json(nullptr);
  out["ranks"] = path.ranks.size();
  std::vector<GraphRank> on_path;
  std::copy_if(path.ranks.begin(), path.ranks.end(), std::back_inserter(on_path),
               [](const GraphRank& r) { return r.on_path > Duration::zero(); });
  std::stable_sort(on_path.begin(), on_path.end(),
                   [](const GraphRank& a, const GraphRank& b) { return a.on_path > b.on_path; });
  out["ranks_on_path"] = Json::array();
  for (const GraphRank& r : on_path) {
    Json j;
    j["rank"] = r.rank.value();
    j["operations"] = r.operations;
    j["work_s"] = in_seconds(r.work);
    j["on_path_s"] = in_seconds(r.on_path);
    out["ranks_on_path"].push_back(std::move(j));
  }
  out["limits"] = path.limits;
}

}  // namespace cox::diagnose
