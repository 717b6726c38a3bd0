// SPDX-License-Identifier: Apache-2.0
#include "diagnose/verdict/operation_what_if_json.hpp"

#include "diagnose/words/sentences.hpp"

namespace cox::diagnose {
namespace {

Json set_json(const CulpritSet& s) {
  return {{"ranks", numbers_of(s.ranks)}, {"step_s", in_seconds(s.step_time)}, {"removed_ratio", s.removed}};
}

Json sets_json(const std::vector<CulpritSet>& sets) {
  Json out = Json::array();
  for (const CulpritSet& s : sets) out.push_back(set_json(s));
  return out;
}

Json parts_json(const std::vector<PartEffect>& parts) {
  Json out = Json::array();
  for (const PartEffect& p : parts) {
    Json part{{"name", p.name}};
    if (p.index >= 0)
      part["index"] = p.index;
    else
      part["is_communication"] = p.is_communication;
    part["slowdown_ratio"] = p.slowdown;
    part["removed_ratio"] = p.removed;
    part["added_ratio"] = p.added;
    part["critical_path_ratio"] = p.on_path;
    out.push_back(std::move(part));
  }
  return out;
}

Json workers_json(const std::vector<WorkerEffect>& workers) {
  Json out = Json::array();
  for (const WorkerEffect& e : workers)
    out.push_back({{"rank", e.rank.value()},
                   {"data", e.role.data},
                   {"tensor", e.role.tensor},
                   {"stage", e.role.pipeline},
                   {"slowdown_ratio", e.slowdown},
                   {"removed_ratio", e.removed},
                   {"added_ratio", e.added},
                   {"critical_path_ratio", e.on_path}});
  return out;
}

Json finding_json(const OperationFinding& f) {
  return {{"cause", name_of(f.cause)},
          {"text", sentence_of(f)},
          {"stage", f.stage >= 0 ? Json(f.stage) : Json(nullptr)},
          {"ranks", numbers_of(f.ranks)},
          {"stage_removed_ratio", f.stage_share},
          {"worker_removed_ratio", f.worker_share},
          {"communication_removed_ratio", f.communication_share}};
}

Json patterns_json(const ComputePatterns& p) {
  Json out{{"micro_batches", nullptr}, {"slow_workers", Json::array()}, {"replicas", nullptr}};
  if (p.micro_batches)
    out["micro_batches"] = Json{{"correlation", p.micro_batches->correlation},
                                {"spread_ratio", p.micro_batches->spread},
                                {"pairs", p.micro_batches->pairs}};
  for (const SlowerThanPeers& w : p.workers)
    out["slow_workers"].push_back(Json{{"rank", w.rank.value()},
                                       {"stage", w.stage},
                                       {"excess_ratio", w.excess},
                                       {"late_steps", w.late_steps},
                                       {"steps", w.steps},
                                       {"chance_ratio", w.chance}});
  if (p.replicas)
    out["replicas"] = Json{{"changes", p.replicas->changes},
                           {"most_often", p.replicas->most_often},
                           {"share_ratio", p.replicas->share},
                           {"excess_ratio", p.replicas->excess},
                           {"steps_standing_out", p.replicas->standing_out},
                           {"steps", p.replicas->steps}};
  return out;
}

}  // namespace

void write_json(const OperationWhatIf& w, Json& out) {
  out = Json::object();
  out["operations"] = w.operations;
  out["measured_step_s"] = in_seconds(w.measured);
  out["original_step_s"] = in_seconds(w.original);
  out["ideal_step_s"] = in_seconds(w.ideal);
  out["slowdown_ratio"] = w.slowdown;
  out["slowdown_error_ratio"] = w.slowdown_error;
  out["launch_ratio"] = w.launch;
  out["fidelity_ratio"] = w.fidelity;
  out["is_faithful"] = w.is_faithful;
  out["finding"] = finding_json(w.finding);
  out["also"] = Json::array();
  for (const OperationFinding& f : w.more) out["also"].push_back(finding_json(f));
  out["patterns"] = patterns_json(w.patterns);
  out["culprits"] = set_json(w.culprits);
  out["types"] = parts_json(w.types);
  out["stages"] = parts_json(w.stages);
  out["data_ranks"] = parts_json(w.data_ranks);
  out["workers"] = workers_json(w.workers);
  out["slowest_workers"] = set_json(w.slowest_workers);
  out["slowest_workers"]["added_ratio"] = w.slowest_workers_added;
  out["greedy_sets"] = sets_json(w.greedy);
  out["exhaustive_sets"] = sets_json(w.exhaustive);
  out["references"] = Json::array();
  for (const ReferenceEffect& r : w.references)
    out["references"].push_back(
        {{"name", r.name}, {"ideal_step_s", in_seconds(r.ideal)}, {"slowdown_ratio", r.slowdown}});
  out["fabric"] = {{"pipeline_free_ratio", w.fabric.pipeline_free},
                   {"data_free_ratio", w.fabric.data_free},
                   {"communication_free_ratio", w.fabric.communication_free}};
  out["sensitivities"] = Json::array();
  for (const auto& [name, operations] : w.sensitivities)
    out["sensitivities"].push_back({{"name", name}, {"operations_on_path_per_step", operations}});
  out["steps"] = Json::array();
  for (const StepWhatIf& s : w.steps)
    out["steps"].push_back({{"step", s.step},
                            {"measured_s", in_seconds(s.measured)},
                            {"original_s", in_seconds(s.original)},
                            {"ideal_s", in_seconds(s.ideal)}});
  out["notes"] = w.notes;
}

}  // namespace cox::diagnose
