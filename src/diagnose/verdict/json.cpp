// SPDX-License-Identifier: Apache-2.0
#include "diagnose/charge/json.hpp"

#include <algorithm>

#include "cox/base/json.hpp"
#include "cox/base/unknown_unit.hpp"
#include "cox/base/version.hpp"
#include "cox/diagnose/comparison.hpp"
#include "cox/diagnose/diagnosis.hpp"
#include "cox/trace/time_unit.hpp"

#include "diagnose/efficiency/efficiency.hpp"
#include "diagnose/efficiency/json.hpp"
#include "diagnose/fabric/json.hpp"
#include "diagnose/match/warnings.hpp"
#include "diagnose/operations/graph_path_json.hpp"
#include "diagnose/over_time/json.hpp"
#include "diagnose/stall/json.hpp"
#include "diagnose/verdict/analyses.hpp"
#include "diagnose/verdict/operation_what_if_json.hpp"
#include "diagnose/what_if/json.hpp"
#include "diagnose/words/sentences.hpp"

namespace cox::diagnose {
namespace {

double seconds(Duration d) {
  return in_seconds(d);
}

Json json_of(const Finding& f) {
  Json j;
  j["kind"] = name_of(f.kind);
  j["ranks"] = numbers_of(f.ranks);
  j["rank"] = or_null(f.rank, [](Rank r) { return r.value(); });
  j["group"] = or_null(f.group, [](CommId c) { return c.value(); });
  j["link"] = f.components.empty() ? Json(nullptr) : Json(component_words(f));
  j["cause"] = name_of(f.cause);
  j["share_ratio"] = is_gain_told(f) ? Json(f.share_ratio) : Json(nullptr);
  j["gain_ratio"] = is_gain_told(f) ? Json(f.gain_ratio) : Json(nullptr);
  j["gain_doubt"] = or_null(f.gain_doubt, doubt_words);
  j["first_step"] = or_null(f.first_step, [](StepId s) { return s.value(); });
  j["last_step"] = or_null(f.last_step, [](StepId s) { return s.value(); });
  j["evidence"] = Json::array();
  for (const Evidence& e : evidence_of(f))
    j["evidence"].push_back(Json{{"key", e.key}, {"value", e.value}, {"text", e.text}});
  j["cause_class"] = name_of(f.cause_class);
  j["failure_mode"] = failure_mode_of(f.cause_class);
  j["cause_tests"] = Json::array();
  const auto* late = std::get_if<LateEvidence>(&f.evidence);
  const Reasons reasons = late != nullptr ? late->reasons : Reasons{};
  for (const CauseTest& t : f.tests)
    j["cause_tests"].push_back(Json{{"rule", rule_name(t)},
                                    {"state", name_of(t.state)},
                                    {"share_ratio", t.share},
                                    {"text", sentence_of(t, reasons)}});
  j["positions"] = Json::array();
  for (const StepPosition& p : f.positions)
    j["positions"].push_back(Json{{"comm", or_null(p.comm, [](CommId c) { return c.value(); })},
                                  {"comm_name", p.comm_name},
                                  {"operation", p.operation},
                                  {"number", p.number},
                                  {"of", p.of}});
  j["gain_at_most_ratio"] = or_null(f.gain_at_most, [](double most) { return most; });
  j["pauses"] = late != nullptr && late->pauses
                    ? Json{{"count", late->pauses->count},
                           {"period_steps", late->pauses->period_steps},
                           {"phase", or_null(late->pauses->phase, [](std::int64_t p) { return p; })}}
                    : Json(nullptr);
  return j;
}

Json json_of(const Coverage& c) {
  Json j;
  j["ranks_seen"] = c.ranks_seen;
  j["ranks_expected"] = c.ranks_expected;
  j["missing_ranks"] = numbers_of(c.missing_ranks);
  j["short_ranks"] = numbers_of(c.short_ranks);
  j["calls_seen"] = c.calls_seen;
  j["calls_expected"] = c.calls_expected;
  j["collectives_seen"] = c.collectives_seen;
  j["collectives_matched"] = c.collectives_matched;
  j["collectives_mismatched"] = c.mismatched;
  j["dropped_records"] = c.dropped_records;
  j["recycled_records"] = c.recycled_records;
  j["stopped_ranks"] = c.stopped_ranks;
  j["unobserved_calls"] = Json::object();
  for (std::size_t kind = 0; kind < trace::kUnobservedKinds; ++kind)
    j["unobserved_calls"][name_of(static_cast<trace::Unobserved>(kind)).key] = c.unobserved_calls[kind];
  j["unfinished_calls"] = c.unfinished_calls;
  j["overhead_per_event_s"] = seconds(c.overhead_per_event);
  return j;
}

Json json_of(const Answer& a) {
  Json j;
  j["reasons"] = Json::array();
  for (const ReasonClause& r : a.reasons)
    j["reasons"].push_back(Json{{"key", name_of(r.reason)}, {"text", r.text}});
  j["least_effect_ratio"] = or_null(a.least_effect_ratio, [](double x) { return x; });
  return j;
}

Json json_of(const RankAccount& a) {
  Json j;
  j["rank"] = a.rank.value();
  j["work_s"] = seconds(a.work);
  j["wait_s"] = seconds(a.wait);
  j["message_wait_s"] = seconds(a.message_wait);
  j["transfer_s"] = seconds(a.transfer);
  j["self_delay_s"] = seconds(a.self_delay);
  j["self_delay_median_s"] = seconds(a.self_delay_median);
  j["charged_s"] = seconds(a.charged);
  j["last_ratio"] = a.last_share;
  j["collectives"] = a.collectives;
  j["steps"] = a.steps;
  return j;
}

Json json_of(const CommAccount& c) {
  Json j;
  j["comm"] = c.comm.value();
  j["name"] = c.name;
  j["size"] = c.size;
  j["collectives"] = c.collectives;
  j["bytes"] = c.bytes.count();
  return j;
}

Json json_of(const trace::Node& node) {
  const trace::NodeClock& c = node.clock;
  Json j;
  j["host"] = node.host;
  j["source"] = trace::name_of(c.source);
  j["against_node"] = c.against.value();
  j["offset_s"] = static_cast<double>(c.offset.count()) * 1e-9;
  j["drift_ppm"] = c.drift_ppm;
  j["drift_error_ppm"] = c.drift_error_ppm > 0 ? Json(c.drift_error_ppm) : Json(nullptr);
  j["residual_s"] = seconds(c.residual);
  j["half_width_s"] = seconds(c.half_width);
  j["operations"] = c.operations;
  return j;
}

Json json_of(const NodeLocality& n) {
  Json j;
  j["host"] = n.host;
  j["source"] = n.source;
  j["packages"] = n.packages;
  j["numa_nodes"] = n.numa_nodes;
  j["cores"] = n.cores;
  j["cpus"] = n.cpus;
  j["ranks"] = n.ranks;
  j["bound"] = n.bound;
  j["sharing_cores"] = n.sharing_cores;
  j["across_numa_nodes"] = n.across_numa_nodes;
  j["gpu_numa_nodes"] = n.gpus.nodes;
  j["away_from_gpus"] = numbers_of(n.gpus.away);
  j["port_numa_nodes"] = n.ports.nodes;
  j["away_from_ports"] = numbers_of(n.ports.away);
  return j;
}

Json json_of(const Remedy& r) {
  Json j;
  j["lever"] = r.lever;
  j["text"] = r.text;
  j["ranks"] = numbers_of(r.ranks);
  j["gain_ratio"] = r.gain_ratio ? Json(*r.gain_ratio) : Json(nullptr);
  j["basis"] = r.basis;
  j["verify"] = r.verify;
  return j;
}

Json json_of(const trace::SourceFile& s) {
  Json j;
  j["file"] = s.file;
  j["format"] = s.format;
  j["records"] = s.records;
  j["used_records"] = s.used_records;
  return j;
}

Json json_of(const Comparison& c) {
  const auto whom = [](const std::vector<Finding>& findings) {
    Json list = Json::array();
    for (const Finding& f : findings)
      list.push_back(Json{{"kind", name_of(f.kind)}, {"ranks", numbers_of(f.ranks)}});
    return list;
  };
  Json j;
  j["change"] = name_of(c.change);
  j["before_median_s"] = seconds(c.before);
  j["after_median_s"] = seconds(c.after);
  j["step_ratio"] = c.step_ratio.value;
  j["step_ratio_low"] = c.step_ratio.low;
  j["step_ratio_high"] = c.step_ratio.high;
  j["mean_step_ratio"] = c.mean_ratio.value;
  j["mean_step_ratio_low"] = c.mean_ratio.low;
  j["mean_step_ratio_high"] = c.mean_ratio.high;
  j["lost_before_ratio"] = c.lost_before;
  j["lost_after_ratio"] = c.lost_after;
  j["gone"] = whom(c.gone);
  j["remaining"] = whom(c.remaining);
  j["new"] = whom(c.fresh);
  j["differs"] = Json::array();
  for (const JobDifference d : c.differs) j["differs"].push_back(name_of(d));
  return j;
}

template <class T>
Json list_of(const std::vector<T>& items) {
  Json list = Json::array();
  for (const T& item : items) list.push_back(json_of(item));
  return list;
}

ChargeTexts texts_of(const Attribution& a) {
  ChargeTexts texts{.refusal = refusal_of(a), .notes = {}};
  for (const ChargeNote& note : a.notes) texts.notes.push_back(clause_of(note));
  return texts;
}

/// Null where the input does not tell what an analysis needs.
void add_analyses_json(const Diagnosis& d, const trace::Run& run, Json& j) {
  const auto with_run = [&](const char* key, const auto& analysis) {
    j[key] = nullptr;
    if (analysis) write_json(*analysis, run, j[key]);
  };
  const auto plain = [&](const char* key, const auto& analysis) {
    j[key] = nullptr;
    if (analysis) write_json(*analysis, j[key]);
  };
  const Analyses& analyses = analyses_of(d);
  with_run("what_if", analyses.what_if);
  plain("what_if_operations", analyses.what_if_operations);
  plain("graph_path", analyses.graph_path);
  j["attribution"] = nullptr;
  if (const auto& a = analyses.attribution) write_json(*a, texts_of(*a), j["attribution"]);
  with_run("fabric", analyses.fabric);
  plain("time_structure", analyses.time_structure);
  plain("efficiencies", d.efficiencies);
}

Json result_of(const Diagnosis& d, const trace::Run& run) {
  const UnknownUnit unit(trace::unknown_unit(run.ranks));
  Json j;
  j["provenance"] = trace::name_of(run.info.provenance);
  j["coverage"] = d.coverage.ratio;
  j["coverage_detail"] = json_of(d.coverage);
  j["clock"] = Json{{"domains", d.coverage.clock_domains},
                    {"residual_s", seconds(d.coverage.clock_residual)},
                    {"comparable", d.coverage.clocks_comparable},
                    {"wait_method", name_of(d.wait_method)},
                    {"wait_validity_ratio", d.coverage.wait_validity_ratio},
                    {"origin_realtime_ns", run.origin_realtime_ns},
                    {"hosts", list_of(run.nodes)}};
  j["steps"] = Json{{"source", name_of(d.step_source)},
                    {"count", d.steps},
                    {"synchronisations_per_step", d.calls_per_step},
                    {"collectives_per_step", d.collectives_per_step}};
  j["run_time_s"] = seconds(d.run_time);
  j["step_time"] = Json{{"median_s", seconds(d.step_time.median)},
                        {"p05_s", seconds(d.step_time.p05)},
                        {"p95_s", seconds(d.step_time.p95)},
                        {"cv_ratio", d.step_time.cv},
                        {"count", d.step_time.count}};
  j["lost_s"] = seconds(d.lost);
  j["findings"] = list_of(d.findings);
  j["single_stall"] = d.single_stall ? Json{{"rank", d.single_stall->rank.value()},
                                            {"step", d.single_stall->step.value()},
                                            {"delay_s", seconds(d.single_stall->delay)},
                                            {"gain_ratio", d.single_stall->gain_ratio}}
                                     : Json(nullptr);
  j["ending"] = ending_json(d.trouble);
  j["hang"] = hang_json(d.trouble);
  j["mismatches"] = mismatches_json(d.trouble);
  j["ranks"] = list_of(d.ranks);
  const std::vector<Duration>& outside = analyses_of(d).outside;
  for (std::size_t r = 0; r < std::min(outside.size(), d.ranks.size()); ++r)
    j["ranks"][r]["outside_s"] = seconds(outside[r]);
  j["communicators"] = list_of(d.communicators);
  j["locality"] = list_of(d.locality);
  j["cannot_tell"] = d.cannot_tell;
  j["verdict"] = d.verdict;
  j["outcome"] = name_of(d.answer.kind);
  j["outcome_detail"] = json_of(d.answer);
  j["times"] = trace::name_of(d.times);
  const auto unknown = trace::unknown_unit(run.ranks);
  j["time_unit"] = unknown ? Json(nullptr) : Json("s");
  j["unknown_unit_s"] = unknown ? Json(unknown->count()) : Json(nullptr);
  j["run"] = run.info.name;
  j["sources"] = list_of(run.sources);
  j["remedies"] = list_of(d.remedies);
  add_analyses_json(d, run, j);
  return j;
}

}  // namespace

std::string to_json(const Diagnosis& d, const trace::Run& run, const std::string& input,
                    const Comparison* against) {
  Json result = result_of(d, run);
  if (against != nullptr) result["against"] = json_of(*against);
  return framed({"cox.diagnose/1", {input}, warnings_of(run)}, std::move(result));
}

std::string to_summary(const Diagnosis& d, const trace::Run& run, const std::string& input) {
  constexpr std::size_t kMost = 4;
  constexpr std::size_t kRanks = 8;
  Json j;
  j["schema"] = "cox.summary/1";
  j["tool"] = "cox " COX_VERSION;
  j["input"] = input;
  j["run"] = run.info.name;
  j["provenance"] = trace::name_of(run.info.provenance);
  j["verdict"] = d.verdict;
  j["outcome"] = name_of(d.answer.kind);
  j["coverage"] = d.coverage.ratio;
  j["ranks_seen"] = d.coverage.ranks_seen;
  j["ranks_expected"] = d.coverage.ranks_expected;
  j["steps"] = d.steps;
  j["time_unit"] = trace::unknown_unit(run.ranks) ? Json(nullptr) : Json("s");
  j["step_median_s"] = seconds(d.step_time.median);
  j["step_p95_s"] = seconds(d.step_time.p95);
  j["step_cv_ratio"] = d.step_time.cv;
  j["lost_ratio"] =
      d.run_time > Duration::zero() ? Json(std::min(1.0, ratio(d.lost, d.run_time))) : Json(0.0);
  j["findings"] = Json::array();
  for (std::size_t i = 0; i < std::min(d.findings.size(), kMost); ++i) {
    const Finding& f = d.findings[i];
    std::vector<Rank> ranks(f.ranks.begin(),
                            f.ranks.begin() + static_cast<std::ptrdiff_t>(std::min(f.ranks.size(), kRanks)));
    j["findings"].push_back(Json{{"kind", name_of(f.kind)},
                                 {"ranks", numbers_of(ranks)},
                                 {"rank_count", f.ranks.size()},
                                 {"cause", name_of(f.cause)},
                                 {"cause_class", name_of(f.cause_class)},
                                 {"gain_ratio", is_gain_told(f) ? Json(f.gain_ratio) : Json(nullptr)}});
  }
  j["findings_count"] = d.findings.size();
  j["remedy"] = d.remedies.empty() ? Json(nullptr) : Json(d.remedies.front().text);
  return json_line(j);
}

}  // namespace cox::diagnose
