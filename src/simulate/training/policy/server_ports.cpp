// SPDX-License-Identifier: Apache-2.0
#include "simulate/training/policy/server_ports.hpp"

#include <algorithm>

namespace cox::simulate::training {

ServerPorts::ServerPorts(const Plan& plan, const MessageTrouble& trouble)
    : plan_(plan), messages_(plan), trouble_(trouble), disturbed_(trouble.any()) {
  Bytes all{}, widest{};
  for (int s = 0; s < plan.stages(); ++s) {
    all += plan.stage_bytes(s) * plan.layout().tensor;
    widest = std::max(widest, plan.stage_bytes(s));
  }
  const model::MessageCost& cost = plan.among_workers();
  const bool hybrid = plan.job().is_hybrid();
  copies_ = plan.job().replicas_per_worker() / (hybrid ? plan.layout().shard : 1);
  const model::Compression& how = plan.job().compression;
  const Bytes own = hybrid ? plan.shard_of(widest) : widest;
  const auto port = [&](Bytes of_all, Bytes of_rank) {
    return Port{.service = cost.per_byte.over(of_all) * copies_ / messages_.servers(),
                .own = cost.per_byte.over(of_rank)};
  };
  in_ = port(model::packed_message(all, how).bytes, model::packed_message(own, how).bytes);
  out_ = port(all, own);
  latency_ = cost.latency;
  if (!disturbed_) return;
  devices_ = plan.server_devices();
  in_.free_of.resize(devices_.size());
  out_.free_of.resize(devices_.size());
  open_.resize(static_cast<std::size_t>(plan.layout().data / plan.job().replicas_per_worker()));
}

/// How much later the worker's message to a server (from it) is than undisturbed: as the last of its ranks'.
Seconds ServerPorts::latest(int worker, bool push, int server, std::int64_t step) const {
  Seconds latest = -latency_;
  const int place = devices_[static_cast<std::size_t>(server)];
  for (int s = 0; s < plan_.stages(); ++s) {
    const Bytes part = messages_.part(s, push);
    const std::int64_t first = messages_.number(worker, s, push);
    for (int r = 0; r < messages_.ranks(); ++r) {
      const int device = plan_.device_of(messages_.rank(worker, s, r));
      const std::int64_t number = first + std::int64_t{2} * (std::int64_t{r} * messages_.servers() + server);
      latest = std::max(
          latest, trouble_.delay(plan_, step, number, push ? device : place, push ? place : device, part));
    }
  }
  return latest;
}

void ServerPorts::send(int worker, bool push, Seconds at, std::int64_t step) {
  ++(push ? in_ : out_).passed;
  open_[static_cast<std::size_t>(worker)] = {.left = static_cast<int>(devices_.size()), .end = {}};
  for (int s = 0; s < static_cast<int>(devices_.size()); ++s) {
    const Seconds later = latest(worker, push, s, step);
    events_.emplace(at + std::max(later, Seconds{}), What::Comes, worker, push, s,
                    std::min(later, Seconds{}));
  }
}

std::optional<ServerTransfer> ServerPorts::next(Seconds until) {
  while (!events_.empty() && std::get<0>(events_.top()) <= until) {
    const auto [at, what, worker, push, server, sooner] = events_.top();
    events_.pop();
    if (what == What::Ends) return ServerTransfer{.worker = worker, .pushed = push, .at = at};
    Port& port = push ? in_ : out_;
    Seconds& free = port.free_of[static_cast<std::size_t>(server)];
    free = std::max(at, free) + port.service;
    Open& open = open_[static_cast<std::size_t>(worker)];
    open.end = std::max(open.end, std::max(free, at + port.own) + latency_ + sooner);
    if (--open.left == 0) events_.emplace(open.end, What::Ends, worker, push, 0, Seconds{});
  }
  return std::nullopt;
}

Seconds ServerPorts::alone(int w, std::int64_t step) const {
  const Seconds undisturbed = std::max(out_.service / copies_, out_.own) + latency_;
  if (!disturbed_) return undisturbed;
  Seconds later = -latency_;
  for (int s = 0; s < static_cast<int>(devices_.size()); ++s)
    later = std::max(later, latest(w, false, s, step));
  return undisturbed + later;
}

}  // namespace cox::simulate::training
