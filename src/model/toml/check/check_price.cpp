// SPDX-License-Identifier: Apache-2.0
// What gives a collective its time, and what is sent with fewer bytes: combinations that have no meaning.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cox/base/units_text.hpp"

#include "model/toml/check/check.hpp"
#include "model/toml/keys/values.hpp"
#include "model/toml/keys/words.hpp"

namespace cox::model {
namespace {

/// Whether a job has a collective that its price knows as a whole: sums over replicas, groups within one, and exchanges of
/// experts, which NCCL's model has not.
bool has_whole(const Scenario& s, const JobKeys& job) {
  const TrainingJob& t = job.training;
  const Layout& l = t.layout;
  const bool sums = l.data > 1 && (!s.policy.has_servers() || t.is_hybrid());
  const bool exchanges = s.price == CollectivePrice::Table && l.expert > 1 && t.moe_layers > 0;
  return sums || l.tensor > 1 || l.context > 1 || exchanges;
}

/// Who knows collectives as a whole does not know their messages: what is about these has no meaning.
Status check_whole(const Scenario& s, const JobKeys& job, const Notes& notes) {
  if (s.price == CollectivePrice::Rounds) return {};
  const std::string_view form = price_words()[static_cast<std::size_t>(s.price)];
  const bool training = job.workload == Workload::Training;
  if (job.workload != Workload::Collective && !training)
    return notes.clash({"cost.form", "job.workload"},
                       fmt::format("cost.form = \"{}\" has no meaning for job.workload \"{}\"", form,
                                   workload_words()[static_cast<std::size_t>(job.workload)]),
                       "only collective and training have one");
  if (training && !has_whole(s, job))
    return notes.clash(
        {"cost.form", "policy.kind"},
        fmt::format("cost.form = \"{}\", and the job has no collective that it would price", form),
        s.policy.has_servers() ? "workers send messages to servers: say what these cost, or another policy"
                               : "leave cost.form out, or give the job several replicas or groups");
  if (s.engine != EngineKind::Auto && !(s.engine == EngineKind::ClosedForm && !training))
    return notes.clash(
        {"engine", "cost.form"},
        fmt::format("engine \"{}\" plays rounds, and cost.form = \"{}\" has none", name_of(s.engine), form),
        "leave engine out");
  for (const NoiseSource& noise : s.noise)
    if (noise.target != NoiseTarget::Compute)
      return notes.clash(
          {kNoiseArray, "cost.form"},
          fmt::format("noise on messages, and cost.form = \"{}\" knows collectives as a whole", form),
          "disturb the computation, or leave cost.form out");
  return {};
}

/// Who knows nothing of processors at both ends of a message.
Status check_processors(const Scenario& s, const JobKeys& job, const Notes& notes) {
  if (s.protocol != Protocol::LogGops) return {};
  if (s.engine == EngineKind::Flow)
    return notes.clash({"cost.protocol", "engine"},
                       "cost.protocol \"loggops\" has no meaning for engine \"flow\"",
                       "there is no processor at either end: leave `engine` out, or say max-plus");
  if (job.workload == Workload::Chakra)
    return notes.clash({"cost.protocol", "job.workload"},
                       "cost.protocol \"loggops\" has no meaning for job.workload \"chakra\"",
                       "only collective and training have it; a GOAL schedule has it always");
  if (job.collective.algorithm == Algorithm::InNetwork)
    return notes.clash({"cost.protocol", "job.collective.algorithm"},
                       "cost.protocol \"loggops\" beside job.collective.algorithm \"in-network\"",
                       "switches have no processor that a message would take time of: say another algorithm");
  return {};
}

/// The kinds of collectives that the job has, each as if of all ranks.
std::vector<CollectiveSpec> priced_of(const Scenario& s, const JobKeys& job) {
  using enum Collective;
  if (job.workload != Workload::Training) return {job.collective};
  const TrainingJob& t = job.training;
  const bool in_step = !s.policy.has_servers() || t.is_hybrid();
  std::vector<Collective> kinds;
  if (t.zero_stage > 0)
    kinds = {ReduceScatter, AllGather};
  else if (in_step)
    kinds = {job.compression.kind == Compressor::Sparse ? AllGather : AllReduce};
  if (t.is_hybrid() || t.layout.tensor > 1) kinds.push_back(AllReduce);
  if (t.layout.context > 1) kinds.push_back(AllGather);
  std::vector<CollectiveSpec> all;
  for (const Collective kind : kinds)
    all.push_back(
        {.kind = kind, .ranks = static_cast<int>(ranks_of(s.cluster, job.places)), .bytes = Bytes{1}});
  return all;
}

Status check_nccl(const Scenario& s, const JobKeys& job, const Notes& notes) {
  for (const auto& [key, form] :
       {std::pair{"cost.inside.form", s.inside.form}, {"cost.across.form", s.across.form}})
    if (form == CostForm::Nccl)
      return notes.clash(
          {key}, fmt::format("{} = \"nccl\": NCCL has no price of one message", key),
          "write cost.form = \"nccl\" to have whole collectives priced by NCCL's tuning model");
  if (s.price != CollectivePrice::Nccl) return {};
  for (CollectiveSpec spec : priced_of(s, job)) {
    spec.bytes = std::max(spec.bytes, Bytes{1});
    if (nccl_time(spec, s.nccl)) continue;
    return notes.clash(
        {"job.collective.kind", "cost.nccl.algorithm", "cost.nccl.protocol", "cost.form"},
        fmt::format("NCCL has no {} of {} ranks with what cost.nccl and the cluster say", name_of(spec.kind),
                    spec.ranks),
        "all-reduce, reduce-scatter, all-gather, broadcast and reduce have one; cost.nccl.inside and across are not "
        "zero");
  }
  return {};
}

Status check_table(const Scenario& s, const Notes& notes) {
  if (s.price != CollectivePrice::Table || !s.table_file.empty() || !s.table.curves.empty()) return {};
  return notes.clash({"cost.form"}, "cost.form = \"table\" and cost.table is missing",
                     "name the file of measured times: docs/concepts/message-cost.md");
}

/// The collective that compressed data need has to exist, and to be fewer bytes.
Status check_compression(const Scenario& s, const JobKeys& job, const Notes& notes) {
  const Compression& how = job.compression;
  if (how.kind == Compressor::None ||
      (job.workload != Workload::Collective && job.workload != Workload::Training))
    return {};
  if (s.engine == EngineKind::ClosedForm && s.price == CollectivePrice::Rounds)
    return notes.clash({"engine", "job.compression.kind"},
                       "engine \"closed-form\" knows no packing and unpacking", "leave engine out");
  if (how.kind == Compressor::Quantised && how.bits >= 8 * static_cast<double>(how.element.count()))
    return notes.clash({"job.compression.bits", "job.compression.element", "job.compression.kind"},
                       fmt::format("job.compression.bits = {} of elements of {}: nothing is saved", how.bits,
                                   spelled(how.element)),
                       "give fewer bits than an element has");
  if (job.workload == Workload::Training) {
    const Layout& l = job.training.layout;
    if (l.data * l.context == 1 && !s.policy.has_servers())
      return notes.clash({"job.compression.kind"}, "job.compression of a single replica: no gradient is sent",
                         "leave it out, or give more replicas");
    if (how.kind == Compressor::Sparse && job.training.zero_stage > 0)
      return notes.clash(
          {"job.compression.kind", "job.zero_stage"},
          "job.compression.kind \"sparse\" beside zero_stage: shards of sparse sums are no collective",
          "say quantised, or zero_stage = 0");
    return {};
  }
  CollectiveSpec spec = job.collective;
  const auto carried = compressed(spec.kind, spec.bytes, std::max(1, spec.ranks), how);
  if (!carried)
    return notes.clash({"job.compression.kind", "job.collective.kind"},
                       fmt::format("job.compression of {}: sums are compressed", name_of(spec.kind)),
                       "all-reduce may be sparse or quantised, reduce-scatter quantised");
  spec.kind = carried->kind;
  spec.bytes = carried->bytes;
  if (s.price != CollectivePrice::Rounds) return {};
  if (const auto made = Schedule::make(spec); !made)
    return notes.clash(
        {"job.collective.algorithm", "job.compression.kind"},
        fmt::format("what is compressed is carried as {}: {}", name_of(spec.kind), made.error().message),
        made.error().hint);
  return {};
}

}  // namespace

Status check_price(const Draft& draft, const Notes& notes) {
  const Scenario& s = draft.scenario;
  COX_CHECK(check_processors(s, draft.job, notes));
  COX_CHECK(check_table(s, notes));
  COX_CHECK(check_whole(s, draft.job, notes));
  COX_CHECK(check_nccl(s, draft.job, notes));
  return check_compression(s, draft.job, notes);
}

}  // namespace cox::model
