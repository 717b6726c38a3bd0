// SPDX-License-Identifier: Apache-2.0
#include "simulate/training/policy/server_messages.hpp"

#include <algorithm>

#include "simulate/noise/lane_losses.hpp"

namespace cox::simulate::training {

ServerMessages::ServerMessages(const Plan& plan)
    : plan_(plan),
      senders_(plan.job().is_hybrid() ? plan.ranks_per_unit() : plan.layout().tensor),
      servers_(std::max(1, plan.scenario().policy.servers)) {}

Bytes ServerMessages::part(int stage, bool push) const {
  const Bytes all = plan_.stage_bytes(stage);
  const Bytes own = plan_.job().is_hybrid() ? plan_.shard_of(all) : all;
  return model::chunk_bytes(push ? model::packed_message(own, plan_.job().compression).bytes : own, servers_,
                            0);
}

std::int64_t ServerMessages::number(int worker, int stage, bool push) const {
  constexpr std::int64_t kOfServers = std::int64_t{1} << 49;
  const std::int64_t place = (std::int64_t{worker} * plan_.stages() + stage) * 2 + static_cast<int>(!push);
  return kOfServers + 2 * place * ranks() * servers_;
}

Seconds MessageTrouble::delay(const Plan& plan, std::int64_t step, std::int64_t number, int from, int to,
                              Bytes bytes) const {
  const model::MessageCost& cost = plan.among_workers();
  const model::Cluster& cluster = plan.scenario().cluster;
  Seconds later{};
  if (noise != nullptr && (noise->disturbs_messages() || noise->disturbs_bandwidth())) {
    const Seconds idle = cost(bytes);
    Seconds took = idle;
    const int rank = noise->rank_on(to);
    noise->messages(step, number, 0, to, {&took, 1}, {&cost.latency, 1}, {&rank, 1});
    later = std::max(took - idle, -cost.latency);
  }
  const int devices = std::max(1, cluster.devices_per_node);
  if (timeouts == nullptr || !timeouts->happen() || from / devices == to / devices) return later;
  return later + lone_late(*timeouts, {.step = step, .number = number}, to);
}

}  // namespace cox::simulate::training
