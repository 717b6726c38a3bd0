// SPDX-License-Identifier: Apache-2.0
#include "simulate/collective/setup.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "cox/base/random.hpp"

#include "simulate/collective/meetings.hpp"
#include "simulate/collective/refusal.hpp"
#include "simulate/collective/shared_cards.hpp"
#include "simulate/flow/own_links.hpp"
#include "simulate/flow/places.hpp"
#include "simulate/flow/striped_ring.hpp"
#include "simulate/max_plus/shared_ports.hpp"

namespace cox::simulate {
namespace {

constexpr std::uint32_t kOrderStream = 0x6f726465;  ///< of the draws that shuffle ranks

std::vector<int> in_order(int ranks) {
  std::vector<int> order(static_cast<std::size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// Leaves the channels of a ring to max-plus where that is what the flow engine would say.
bool stripes(CollectiveSetup& job) {
  const model::Scenario& s = job.scenario;
  if (job.engine != model::EngineKind::Flow || !max_plus_may_stand_in(s) ||
      collective_of(s).order != model::RankOrder::Linear || s.job.places.rule == model::PlaceRule::Random)
    return false;
  const std::vector<int> ranks = devices_by_place(s, s.seed, job.devices, job.schedule.ranks());
  auto costs = striped_costs(*job.network, s.fabric, job.schedule, ranks, 1);
  if (!costs) return false;
  job.costs = *std::move(costs);
  job.engine = model::EngineKind::MaxPlus;
  job.network.reset();
  return true;
}

/// Whether two messages may be in one port or card at once. Eager: what a rank sends may wait behind what it sent, and nothing waits
/// for who gets it, so nobody meets only where all are in step.
bool meets(const model::Scenario& s, const model::Schedule& schedule, const std::vector<int>& places) {
  if (s.protocol == model::Protocol::Rendezvous) return may_meet(s, schedule, places);
  return schedule.spec().bytes > Bytes{} && schedule.ranks() > 1 && !stay_in_step(s, schedule, places);
}

}  // namespace

Result<Noise> collective_noise(const model::Scenario& s, const std::vector<int>& devices,
                               std::uint64_t seed) {
  return Noise::make(s.noise,
                     {.ranks = static_cast<int>(devices.size()),
                      .ranks_per_node = s.cluster.devices_per_node,
                      .nodes_per_switch = std::max(1, s.fabric.hosts_per_leaf),
                      .rails = std::max(1, s.cluster.nics_per_node),
                      .devices = s.job.places.packed() ? std::vector<int>{} : devices,
                      .card_of_device = cards_of_devices(s.cluster)},
                     seed);
}

std::vector<int> devices_by_place(const model::Scenario& s, std::uint64_t seed, std::vector<int> order,
                                  int participants) {
  if (collective_of(s).order == model::RankOrder::Random) {
    const RandomStream draws(seed, kOrderStream);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[draws.bits(0, i - 1) % i]);
  }
  add_servers(order, participants);
  return order;
}

LinkCosts link_costs(const model::Scenario& s, const model::Schedule& schedule) {
  const bool one_node = s.cluster.nodes == 1;
  LinkCosts costs{.inside = s.inside,
                  .across = one_node ? s.inside : s.across,
                  .ranks_per_node = s.cluster.devices_per_node,
                  .into = {}};
  // Around a ring one message enters and leaves a node; of two directions it is told what is left out.
  using enum model::Algorithm;
  const model::Algorithm a = schedule.spec().algorithm;
  const bool meets = schedule.spec().channels > 1 || (a != Ring && a != BidirectionalRing);
  if (!meets) return costs;
  return with_shared_ports(std::move(costs), schedule, s.cluster,
                           devices_by_place(s, s.seed, in_order(schedule.ranks()), schedule.participants()));
}

Result<CollectiveSetup> set_up(const model::Scenario& s, const model::CollectiveSpec& spec,
                               model::EngineKind engine, const SimulateOptions& options) {
  COX_CHECK(check_places(s, engine == model::EngineKind::Flow, true));
  COX_TRY(std::vector<int> devices, devices_of_job(s, s.seed, spec.ranks));
  // Where all messages cost the same, the order changes nothing; else this engine would be silently wrong.
  if (engine == model::EngineKind::MaxPlus && collective_of(s).order == model::RankOrder::Random &&
      s.cluster.nodes > 1 && s.cluster.devices_per_node > 1)
    return not_possible(
        "the max-plus engine places ranks on nodes in their order, and job.order is \"random\"",
        "say --engine flow, or leave job.order out");
  COX_TRY(model::Schedule schedule, model::Schedule::make(spec));
  LinkCosts costs = link_costs(s, schedule);
  CollectiveSetup job{.scenario = s,
                      .options = options,
                      .engine = engine,
                      .schedule = std::move(schedule),
                      .costs = std::move(costs),
                      .noise = {},
                      .network = nullptr,
                      .devices = std::move(devices)};
  COX_TRY(job.noise, collective_noise(s, job.devices, s.seed));
  const bool by_rounds = engine == model::EngineKind::MaxPlus && s.protocol != model::Protocol::LogGops &&
                         s.price == model::CollectivePrice::Rounds;
  job.meets = by_rounds &&
              meets(s, job.schedule, devices_by_place(s, s.seed, job.devices, job.schedule.participants()));
  job.costs.own_ways = by_rounds && s.protocol == model::Protocol::Rendezvous && !job.meets &&
                       spec.bytes > Bytes{} && job.schedule.participants() == job.schedule.ranks();
  if (job.meets && s.engine == model::EngineKind::Auto) {
    auto network = Network::make(s.cluster, s.fabric);
    if (network && flow_may_stand_in(s, job.schedule, *network)) {
      job.meets = false;
      job.engine = model::EngineKind::Flow;
      job.network = std::make_unique<Network>(*std::move(network));
    }
  }
  if (engine == model::EngineKind::Flow) {
    COX_TRY(Network network, Network::make(s.cluster, s.fabric));
    job.network = std::make_unique<Network>(std::move(network));
  }
  job.striped = stripes(job);
  return job;
}

}  // namespace cox::simulate
