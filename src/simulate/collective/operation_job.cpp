// SPDX-License-Identifier: Apache-2.0
#include "simulate/collective/operation_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "cox/simulate/flow.hpp"
#include "cox/simulate/max_plus.hpp"
#include "cox/simulate/network.hpp"
#include "cox/simulate/operation_replay.hpp"
#include "cox/trace/import.hpp"

#include "simulate/collective/collective_job.hpp"

namespace cox::simulate {
namespace {

using model::Algorithm;
using model::Collective;

/// How collectives and messages of the graph are carried out, and what became of them.
class Carrier {
 public:
  Carrier(const model::Scenario& s, const SimulateOptions& options, std::unique_ptr<Network> network)
      : s_(s), options_(options), network_(std::move(network)) {
    if (network_) bytes_.assign(network_->links().size(), 0);
  }

  void collective(const CollectiveCall& call, std::span<Seconds> times) {
    const Seconds last = *std::max_element(times.begin(), times.end());
    const Result<model::Schedule> schedule = schedule_of(call);
    if (!schedule || call.ranks.size() < 2) {
      if (!schedule) ++unknown_;
      std::fill(times.begin(), times.end(), last);
      return;
    }
    std::vector<int> rank_of;
    for (const Rank r : call.ranks) rank_of.push_back(r.value());
    if (network_ && rank_of.back() < network_->ranks()) {
      add_servers(rank_of, schedule->participants());
      const FlowOutcome flow =
          run_flows(*schedule, *network_, s_.fabric, rank_of,
                    {.memo = options_.memo, .seed = s_.seed, .protocol = s_.protocol}, times);
      for (std::size_t l = 0; l < bytes_.size(); ++l) bytes_[l] += flow.link_bytes[l];
      messages_ += flow.messages;
      return;
    }
    // Places are not ranks here: what each receives over is said per place.
    LinkCosts costs{.inside = s_.inside, .across = s_.across, .ranks_per_node = 1, .into = {}};
    for (std::size_t i = 0; i < rank_of.size(); ++i)
      costs.into.push_back(cost(rank_of[(i + rank_of.size() - 1) % rank_of.size()], rank_of[i]));
    messages_ +=
        run_collective(*schedule, costs, {.protocol = s_.protocol, .closure = options_.closure}, times)
            .messages;
  }

  [[nodiscard]] const model::MessageCost& cost(int from, int to) const {
    const int per_node = std::max(1, s_.cluster.devices_per_node);
    return from / per_node == to / per_node ? s_.inside : s_.across;
  }

  void fill(Outcome& out) const {
    out.messages += messages_;
    if (network_) out.links = link_loads(*network_, bytes_, out.total);
    if (unknown_ > 0)
      out.notes.push_back(fmt::format(
          "{} collectives of kinds without a schedule: members leave when the last has come", unknown_));
    if (!network_)
      out.notes.emplace_back(
          "collectives: a message costs what the way between neighbours in rank order costs");
  }

 private:
  [[nodiscard]] Result<model::Schedule> schedule_of(const CollectiveCall& call) const {
    model::CollectiveSpec spec{.kind = call.kind,
                               .algorithm = s_.job.collective.algorithm,
                               .ranks = static_cast<int>(call.ranks.size()),
                               .bytes = call.bytes};
    spec.group = 1;
    if (Result<model::Schedule> asked = model::Schedule::make(spec)) return asked;
    for (const Algorithm other :
         {Algorithm::Ring, Algorithm::Direct, Algorithm::BinomialTree, Algorithm::Dissemination}) {
      spec.algorithm = other;
      if (Result<model::Schedule> made = model::Schedule::make(spec)) return made;
    }
    return model::Schedule::make(spec);
  }

  const model::Scenario& s_;
  const SimulateOptions& options_;
  std::unique_ptr<Network> network_;
  std::vector<double> bytes_;
  std::int64_t messages_ = 0;
  std::int64_t unknown_ = 0;
};

}  // namespace

Result<Outcome> simulate_operations(const model::Scenario& s, model::EngineKind engine,
                                    const SimulateOptions& options) {
  COX_TRY(const trace::Imported imported, trace::import_path(s.job.file, {.threads = options.threads}));
  std::unique_ptr<Network> network;
  if (engine == model::EngineKind::Flow) {
    COX_TRY(Network made, Network::make(s.cluster, s.fabric));
    network = std::make_unique<Network>(std::move(made));
  }
  Carrier carrier(s, options, std::move(network));
  const OperationCosts costs{
      .collective = [&](const CollectiveCall& call,
                        std::span<Seconds> times) { carrier.collective(call, times); },
      .message = [&](Rank from, Rank to,
                     Bytes bytes) { return carrier.cost(from.value(), to.value())(bytes); },
      .rendezvous = s.protocol == model::Protocol::Rendezvous,
      .one_at_a_time = true,
      .memory = {}};
  COX_TRY(const OperationOutcome replayed, replay_operations(imported.runs, costs));
  Outcome out;
  out.engine = engine == model::EngineKind::Flow ? engine : model::EngineKind::Event;
  out.protocol = s.protocol;
  out.ranks = static_cast<std::int64_t>(replayed.ranks.size());
  out.messages = replayed.messages;
  for (const Seconds finish : replayed.finish) out.total = std::max(out.total, finish);
  out.step_ends = {out.total};
  out.over_replicas = spread_of(out.step_ends);
  out.notes = replayed.notes;
  carrier.fill(out);
  return out;
}

}  // namespace cox::simulate
