// SPDX-License-Identifier: Apache-2.0
#include "simulate/training/policy/server_network.hpp"

#include <utility>

#include "cox/base/assert.hpp"

namespace cox::simulate::training {

ServerNetwork::ServerNetwork(const Plan& plan, std::uint64_t seed)
    : plan_(plan),
      engine_(*plan.server_network(), plan.scenario().fabric,
              FlowOptions{.memo = false, .seed = seed, .protocol = plan.scenario().protocol}, Seconds{}),
      servers_(plan.server_devices()) {
  for (int s = 0; s < plan.stages(); ++s) {
    for (const bool push : {true, false}) {
      const Bytes part = part_of(s, push);
      auto made = model::Schedule::make({.kind = model::Collective::SendRecv,
                                         .algorithm = model::Algorithm::Chain,
                                         .ranks = 2,
                                         .bytes = part});
      COX_ASSERT(made.has_value(), "a chain of two exists for any size");
      messages_.try_emplace(part.count(), *std::move(made));
    }
  }
}

/// Of a stage's gradients (packed, where they are pushed) or parameters, what a rank has for each server.
Bytes ServerNetwork::part_of(int stage, bool push) const {
  const Bytes all = plan_.stage_bytes(stage);
  const Bytes own = plan_.job().is_hybrid() ? plan_.shard_of(all) : all;
  return model::chunk_bytes(push ? model::packed_message(own, plan_.job().compression).bytes : own,
                            static_cast<int>(servers_.size()), 0);
}

/// A course per stage: its messages are equal.
void ServerNetwork::send(int worker, bool push, Seconds at) {
  const std::size_t transfer = transfers_.size();
  transfers_.push_back({.worker = worker, .push = push, .left = plan_.stages()});
  const int shards = static_cast<int>(servers_.size());
  const int replicas = plan_.job().replicas_per_worker();
  // Ranks of a context group have the same gradients, unless each has a shard.
  const int senders = plan_.job().is_hybrid() ? plan_.ranks_per_unit() : plan_.layout().tensor;
  for (int s = 0; s < plan_.stages(); ++s) {
    std::vector<int> devices;
    for (int r = 0; r < replicas * senders; ++r)
      for (const int server : servers_) {
        const int device = plan_.device_of(plan_.rank_of(worker * replicas + r / senders, s, r % senders));
        devices.push_back(push ? device : server);
        devices.push_back(push ? server : device);
      }
    const Bytes part = part_of(s, push);
    const int groups = replicas * senders * shards;
    const FlowCourseId course = engine_.begin({.schedule = &messages_.at(part.count()),
                                               .rank_of = std::move(devices),
                                               .groups = groups,
                                               .number = 0,
                                               .draws_by_device = false});
    COX_ASSERT(course == transfer_of_.size(), "courses are numbered as they begin");
    transfer_of_.push_back(transfer);
    for (const int place : {0, 1}) engine_.arrive(course, place, at);
  }
}

std::optional<ServerNetwork::Done> ServerNetwork::next(Seconds until) {
  while (const std::optional<FlowDeparture> one = engine_.next(until)) {
    if (one->place == 0) continue;  // the sender is done
    Transfer& t = transfers_[transfer_of_[one->course]];
    if (--t.left == 0) return Done{.worker = t.worker, .pushed = t.push, .at = one->at};
  }
  return std::nullopt;
}

}  // namespace cox::simulate::training
