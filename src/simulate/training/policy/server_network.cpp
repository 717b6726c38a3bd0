// SPDX-License-Identifier: Apache-2.0
#include "simulate/training/policy/server_network.hpp"

#include <algorithm>
#include <utility>

#include "cox/base/assert.hpp"

namespace cox::simulate::training {

ServerNetwork::ServerNetwork(const Plan& plan, const MessageTrouble& trouble, std::uint64_t seed)
    : plan_(plan),
      what_(plan),
      engine_(*plan.server_network(), plan.scenario().fabric,
              FlowOptions{.memo = false,
                          .noise = trouble.noise,
                          .timeouts = trouble.timeouts,
                          .seed = seed,
                          .protocol = plan.scenario().protocol,
                          .limits = NeighbourJobs::limits(plan.scenario())},
              Seconds{}),
      servers_(plan.server_devices()) {
  if (!plan.scenario().neighbours.empty()) neighbours_.emplace(plan.scenario(), engine_);
  for (int s = 0; s < plan.stages(); ++s) {
    for (const bool push : {true, false}) {
      const Bytes part = what_.part(s, push);
      auto made = model::Schedule::make({.kind = model::Collective::SendRecv,
                                         .algorithm = model::Algorithm::Chain,
                                         .ranks = 2,
                                         .bytes = part});
      COX_ASSERT(made.has_value(), "a chain of two exists for any size");
      messages_.try_emplace(part.count(), *std::move(made));
    }
  }
}

/// A course per stage: its messages are equal.
void ServerNetwork::send(int worker, bool push, Seconds at, std::int64_t step) {
  const std::size_t transfer = transfers_.size();
  transfers_.push_back({.worker = worker, .push = push, .left = plan_.stages()});
  for (int s = 0; s < plan_.stages(); ++s) {
    std::vector<int> devices;
    for (int r = 0; r < what_.ranks(); ++r)
      for (const int server : servers_) {
        const int device = plan_.device_of(what_.rank(worker, s, r));
        devices.push_back(push ? device : server);
        devices.push_back(push ? server : device);
      }
    const FlowCourseId course = engine_.begin({.schedule = &messages_.at(what_.part(s, push).count()),
                                               .rank_of = std::move(devices),
                                               .groups = what_.ranks() * what_.servers(),
                                               .number = what_.number(worker, s, push),
                                               .draws_by_device = true,
                                               .lone_messages = true,
                                               .step = step});
    own(course, {.worker = Owner::kServers, .transfer = static_cast<std::int32_t>(transfer)});
    for (const int place : {0, 1}) engine_.arrive(course, place, at);
  }
}

std::vector<NeighbourOutcome> ServerNetwork::neighbours() const {
  return neighbours_ ? outcome_of(*neighbours_, plan_.scenario(), *plan_.server_network())
                     : std::vector<NeighbourOutcome>{};
}

void ServerNetwork::own(FlowCourseId course, Owner owner) {
  owner_of_.resize(course);
  owner_of_.push_back(owner);
}

std::unique_ptr<SharedNetwork> ServerNetwork::of_worker(int worker, int first) {
  const auto w = static_cast<std::size_t>(worker);
  of_workers_.resize(std::max(of_workers_.size(), w + 1));
  auto part = std::make_unique<SharedNetwork>(plan_, first, engine_,
                                              [this, worker](FlowCourseId course, std::int32_t transfer) {
                                                own(course, {.worker = worker, .transfer = transfer});
                                              });
  of_workers_[w] = part.get();
  return part;
}

std::optional<ServerNetwork::End> ServerNetwork::next(Seconds until) {
  while (const std::optional<FlowDeparture> one = engine_.next(until)) {
    if (neighbours_ && neighbours_->take(*one)) continue;
    const Owner owner = owner_of_[one->course];  // what takes it may begin others
    if (owner.worker >= 0) {
      const auto left = of_workers_[static_cast<std::size_t>(owner.worker)]->take(owner.transfer, *one);
      if (left) return WorkerLeft{.worker = owner.worker, .left = *left};
      continue;
    }
    if (one->place == 0) continue;  // the sender is done
    Transfer& t = transfers_[static_cast<std::size_t>(owner.transfer)];
    if (--t.left == 0) return ServerTransfer{.worker = t.worker, .pushed = t.push, .at = one->at};
  }
  return std::nullopt;
}

}  // namespace cox::simulate::training
