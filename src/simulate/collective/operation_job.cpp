// SPDX-License-Identifier: Apache-2.0
#include "simulate/collective/operation_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "cox/base/assert.hpp"
#include "cox/model/program.hpp"
#include "cox/simulate/flow.hpp"
#include "cox/simulate/max_plus.hpp"
#include "cox/simulate/network.hpp"
#include "cox/trace/import.hpp"

#include "simulate/collective/shared_cards.hpp"
#include "simulate/event/operation_replay.hpp"
#include "simulate/flow/link_loads.hpp"
#include "simulate/flow/places.hpp"
#include "simulate/max_plus/shared_ports.hpp"

namespace cox::simulate {
namespace {

using model::Algorithm;
using model::Collective;

/// How collectives and messages of the graph are carried out, and what became of them.
class Carrier {
 public:
  Carrier(const model::Scenario& s, const SimulateOptions& options, std::unique_ptr<Network> network,
          std::vector<int> devices)
      : s_(s), options_(options), network_(std::move(network)), devices_(std::move(devices)) {
    if (network_) bytes_.assign(network_->links().size(), 0);
  }

  /// Under the flow engine everybody must have a place on the network: what does not cannot be timed by it.
  [[nodiscard]] Status check(std::span<const model::Program> programs) const {
    if (!network_) return {};
    for (const model::Program& program : programs)
      for (const model::ProgramRank& each : program.ranks)
        if (each.rank.value() < 0 || static_cast<std::size_t>(each.rank.value()) >= devices_.size())
          return fail(
              Error{.code = Errc::InvalidInput,
                    .id = "simulate-006",
                    .message = fmt::format("rank {} of the trace has no place on the cluster, which has "
                                           "{} devices: the flow engine has no way to it",
                                           each.rank.value(), devices_.size()),
                    .hint = "give the cluster as many devices as the trace has ranks (cluster.nodes x "
                            "cluster.devices_per_node), or say --engine event",
                    .where = Where{.file = s_.job.as<model::TraceJob>().file}});
    return {};
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
    for (const Rank r : call.ranks) rank_of.push_back(network_ ? device_of(r) : r.value());
    if (network_) {
      add_servers(rank_of, schedule->participants());
      const FlowOutcome flow =
          run_flows(*schedule, *network_, s_.fabric, rank_of,
                    {.memo = options_.memo, .seed = s_.seed, .protocol = s_.protocol}, times);
      for (std::size_t l = 0; l < bytes_.size(); ++l) bytes_[l] += flow.link_bytes[l];
      messages_ += flow.messages;
      return;
    }
    const LinkCosts costs = costs_of(*schedule, rank_of);
    messages_ +=
        run_collective(*schedule, costs, {.protocol = s_.protocol, .closure = options_.closure}, times)
            .messages;
  }

  /// From the start of a message that nobody else disturbs to its complete arrival.
  Seconds message(Rank from, Rank to, Bytes bytes) {
    if (!network_ || from == to) return cost(from.value(), to.value())(bytes);
    const auto [at, is_new] = ways_.try_emplace({from, to, bytes});
    if (is_new) at->second = send(from, to, bytes);
    for (const auto& [link, sent] : at->second.links) bytes_[link] += sent;
    return at->second.time;
  }

  void fill(Outcome& out) const {
    out.messages += messages_;
    if (network_) out.links = link_loads(*network_, bytes_, out.total);
    if (unknown_ > 0)
      out.notes.push_back(fmt::format(
          "{} collectives of kinds without a schedule: members leave when the last has come", unknown_));
    if (!network_ && (by_neighbours_ || !by_nodes_))
      out.notes.emplace_back(
          "collectives: a message costs what the way between neighbours in rank order costs");
    for (const auto& [kind, why] : replaced_)
      out.notes.push_back(
          fmt::format("{}: {}; carried out by {}", model::name_of(kind), why.first, why.second));
    if (!own_ways_.empty())
      out.not_modelled.push_back(fmt::format(
          "{} devices of a node share {} network interface{}: {} gives each a way of its own (--engine flow shares it)",
          s_.cluster.devices_per_node, s_.cluster.nics_per_node, s_.cluster.nics_per_node == 1 ? "" : "s",
          own_ways_));
  }

 private:
  /// On the network, where every rank has a place.
  [[nodiscard]] int device_of(Rank rank) const { return devices_[static_cast<std::size_t>(rank.value())]; }

  /// A message over the network, all alone.
  struct Way {
    Seconds time{};
    std::vector<std::pair<std::size_t, double>> links;  ///< that it crosses, and its bytes on each
  };

  [[nodiscard]] Way send(Rank from, Rank to, Bytes bytes) const {
    // A broadcast of two is one message. A trace may say any size; a schedule has at most an exbibyte.
    const auto schedule =
        model::Schedule::make({.kind = Collective::Broadcast,
                               .algorithm = Algorithm::BinomialTree,
                               .ranks = 2,
                               .bytes = std::clamp(bytes, Bytes{}, Bytes{std::int64_t{1} << 60}),
                               .group = 1});
    COX_ASSERT(schedule.has_value(), "a tree of two exists for any size");
    const std::array rank_of{device_of(from), device_of(to)};
    std::array<Seconds, 2> times{};
    const FlowOutcome flow =
        run_flows(*schedule, *network_, s_.fabric, rank_of,
                  {.memo = options_.memo, .seed = s_.seed, .protocol = s_.protocol}, times);
    Way way{.time = times[1], .links = {}};
    for (std::size_t l = 0; l < flow.link_bytes.size(); ++l)
      if (flow.link_bytes[l] > 0) way.links.emplace_back(l, flow.link_bytes[l]);
    return way;
  }

  /// Whether the members are all devices of neighbouring nodes, in order.
  [[nodiscard]] bool fill_nodes(std::span<const int> rank_of) const {
    const int devices = std::max(1, s_.cluster.devices_per_node);
    if (rank_of.front() % devices != 0 || rank_of.size() % static_cast<std::size_t>(devices) != 0)
      return false;
    for (std::size_t i = 1; i < rank_of.size(); ++i)
      if (rank_of[i] != rank_of[i - 1] + 1) return false;
    return rank_of.back() < s_.cluster.ranks();
  }

  /// What members receive over. Those who fill nodes are priced as ranks of a single collective; of others each place has the
  /// way from its neighbour before it, as a ring has.
  [[nodiscard]] LinkCosts costs_of(const model::Schedule& schedule, std::span<const int> rank_of) {
    const bool ring = schedule.spec().algorithm == Algorithm::Ring && schedule.lanes() == 1;
    const bool crosses =
        std::ranges::any_of(rank_of, [&](int rank) { return &cost(rank, rank_of.front()) == &s_.across; });
    const bool placed = !ring && s_.cluster.devices_per_node > 1 && fill_nodes(rank_of);
    const bool shares = s_.cluster.nodes > 1 && s_.cluster.nics_per_node < s_.cluster.devices_per_node;
    if (crosses && shares && !ring && (!placed || shares_cards_in_lists(s_, schedule)))
      own_ways_ = model::name_of(schedule.spec().algorithm);
    if (placed) {
      by_nodes_ = true;
      return with_shared_ports({.inside = s_.inside,
                                .across = s_.across,
                                .ranks_per_node = s_.cluster.devices_per_node,
                                .into = {}},
                               schedule, s_.cluster, rank_of);
    }
    by_neighbours_ = true;
    LinkCosts costs{.inside = s_.inside, .across = s_.across, .ranks_per_node = 1, .into = {}};
    for (std::size_t i = 0; i < rank_of.size(); ++i)
      costs.into.push_back(cost(rank_of[(i + rank_of.size() - 1) % rank_of.size()], rank_of[i]));
    return costs;
  }

  [[nodiscard]] const model::MessageCost& cost(int from, int to) const {
    const int per_node = std::max(1, s_.cluster.devices_per_node);
    return from / per_node == to / per_node ? s_.inside : s_.across;
  }

  [[nodiscard]] Result<model::Schedule> schedule_of(const CollectiveCall& call) {
    model::CollectiveSpec spec{.kind = call.kind,
                               .algorithm = s_.job.as<model::TraceJob>().algorithm,
                               .ranks = static_cast<int>(call.ranks.size()),
                               .bytes = call.bytes};
    spec.group = 1;
    const Result<model::Schedule> asked = model::Schedule::make(spec);
    if (asked) return asked;
    for (const Algorithm other :
         {Algorithm::Ring, Algorithm::Direct, Algorithm::BinomialTree, Algorithm::Dissemination}) {
      const bool said = spec.algorithm != Algorithm::Ring;
      spec.algorithm = other;
      Result<model::Schedule> made = model::Schedule::make(spec);
      if (!made) continue;
      if (said) replaced_.try_emplace(call.kind, asked.error().message, name_of(other));
      return made;
    }
    return model::Schedule::make(spec);
  }

  const model::Scenario& s_;
  const SimulateOptions& options_;
  std::unique_ptr<Network> network_;
  std::vector<int> devices_;  ///< of the ranks
  std::vector<double> bytes_;
  std::int64_t messages_ = 0;
  std::int64_t unknown_ = 0;
  bool by_neighbours_ = false;  ///< members that lie anyhow, or a ring
  bool by_nodes_ = false;       ///< members that fill nodes
  std::string_view own_ways_;   ///< algorithm whose messages meet at cards, which is not priced
  std::map<Collective, std::pair<std::string, std::string_view>>
      replaced_;  ///< why the job's algorithm was not taken
  std::map<std::tuple<Rank, Rank, Bytes>, Way> ways_;
};

}  // namespace

Result<Outcome> simulate_operations(const model::Scenario& s, model::EngineKind engine,
                                    const SimulateOptions& options) {
  COX_TRY(trace::Imported imported,
          trace::import_path(s.job.as<model::TraceJob>().file, {.threads = options.threads}));
  std::vector<model::Program> programs;
  programs.reserve(imported.jobs.size());
  for (trace::ImportedJob& job : imported.jobs) programs.push_back(std::move(job.program));
  std::unique_ptr<Network> network;
  if (engine == model::EngineKind::Flow) {
    COX_TRY(Network made, Network::make(s.cluster, s.fabric));
    network = std::make_unique<Network>(std::move(made));
  }
  COX_CHECK(check_places(s, engine == model::EngineKind::Flow, false));
  COX_TRY(std::vector<int> devices,
          devices_of_job(s, s.seed, static_cast<int>(ranks_of(s.cluster, s.job.places))));
  Carrier carrier(s, options, std::move(network), std::move(devices));
  COX_CHECK(carrier.check(programs));
  const OperationCosts costs{
      .collective = [&](const CollectiveCall& call,
                        std::span<Seconds> times) { carrier.collective(call, times); },
      .message = [&](Rank from, Rank to, Bytes bytes) { return carrier.message(from, to, bytes); },
      .rendezvous = s.protocol == model::Protocol::Rendezvous,
      .one_at_a_time = true,
      .memory = {}};
  COX_TRY(const OperationOutcome replayed, replay_operations(programs, costs));
  Outcome out;
  out.engine = engine == model::EngineKind::Flow ? engine : model::EngineKind::Event;
  out.protocol = s.protocol;
  out.ranks = static_cast<std::int64_t>(replayed.ranks.size());
  out.messages = replayed.messages;
  for (const Seconds finish : replayed.finish) out.total = std::max(out.total, finish);
  out.step_ends = {out.total};
  out.totals = {out.total};
  out.over_replicas = spread_of(out.totals);
  out.notes = replayed.notes;
  carrier.fill(out);
  return out;
}

}  // namespace cox::simulate
