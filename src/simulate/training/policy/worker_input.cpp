// SPDX-License-Identifier: Apache-2.0
#include "simulate/training/policy/worker_input.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cox::simulate::training {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

}  // namespace

Result<WorkerInput> WorkerInput::make(const Plan& plan) {
  const model::StepInput& in = plan.job().input;
  const auto bytes = static_cast<double>(in.fetch.count());
  double most = in.prepare.count() * plan.ranks();
  for (const Bandwidth rate : {in.storage, in.link})
    if (bytes > 0 && rate > Bandwidth{}) most += bytes * plan.ranks() / rate.in_bytes_per_s();
  if (!(most * static_cast<double>(plan.scenario().job.steps) < 1e12))
    return fail({.code = Errc::Unsupported,
                 .id = "simulate-003",
                 .message = "input of steps takes beyond all bounds",
                 .hint = "say less job.input.fetch or prepare, or a faster link or storage",
                 .where = std::nullopt});
  return WorkerInput(plan);
}

WorkerInput::WorkerInput(const Plan& plan)
    : plan_(&plan),
      at_(static_cast<std::size_t>(plan.ranks())),
      missing_(static_cast<std::size_t>(plan.units())) {
  const model::StepInput& in = plan.job().input;
  const auto bytes = static_cast<double>(in.fetch.count());
  const auto stage = [&](double capacity, double work, double limit, bool of_node) {
    std::map<int, int> nodes;
    std::vector<int>& of = stages_.emplace_back();
    for (int r = 0; r < plan.ranks(); ++r) {
      const int node = of_node ? plan.device_of(r) / plan.scenario().cluster.devices_per_node : 0;
      const auto [at, is_new] = nodes.try_emplace(node, static_cast<int>(resources_.size()));
      if (is_new) resources_.push_back({.shares = SharedResource(capacity), .work = work, .limit = limit});
      of.push_back(at->second);
    }
  };
  if (bytes > 0 && in.storage > Bandwidth{}) stage(in.storage.in_bytes_per_s(), bytes, kNoLimit, false);
  if (bytes > 0 && in.link > Bandwidth{}) stage(in.link.in_bytes_per_s(), bytes, kNoLimit, true);
  if (in.prepare > Seconds{}) stage(in.cores, in.prepare.count(), 1, true);
}

void WorkerInput::ask(int unit, Seconds at) {
  const int ranks = plan_->ranks_per_unit();
  missing_[static_cast<std::size_t>(unit)] = ranks;
  for (int rank = unit * ranks; rank < (unit + 1) * ranks; ++rank) {
    at_[static_cast<std::size_t>(rank)] = 0;
    coming_.emplace(at, rank);
  }
}

Seconds WorkerInput::soonest() const {
  const Seconds comes = coming_.empty() ? Seconds{kNoLimit} : coming_.top().first;
  return due_.empty() ? comes : std::min(comes, due_.begin()->first);
}

/// Its next end has changed.
void WorkerInput::schedule(int resource, bool was_there) {
  Resource& r = resources_[static_cast<std::size_t>(resource)];
  if (was_there) due_.erase({r.next, resource});
  if (r.shares.jobs() == 0) return;
  r.next = r.shares.next().at;
  due_.emplace(r.next, resource);
}

void WorkerInput::enter(int rank, std::size_t stage, Seconds at) {
  const int resource = stages_[stage][static_cast<std::size_t>(rank)];
  Resource& r = resources_[static_cast<std::size_t>(resource)];
  const bool was_there = r.shares.jobs() > 0;
  r.ranks.emplace(r.shares.add(at, r.work, 1, r.limit), rank);
  schedule(resource, was_there);
}

std::optional<WorkerInput::Got> WorkerInput::got(int rank, Seconds at) {
  const int unit = rank / plan_->ranks_per_unit();
  if (--missing_[static_cast<std::size_t>(unit)] > 0) return std::nullopt;
  return Got{.unit = unit, .at = at};
}

std::optional<WorkerInput::Got> WorkerInput::advance() {
  if (!coming_.empty() && (due_.empty() || coming_.top().first < due_.begin()->first)) {
    const auto [at, rank] = coming_.top();
    coming_.pop();
    enter(rank, 0, at);
    return std::nullopt;
  }
  const auto [at, resource] = *due_.begin();
  Resource& r = resources_[static_cast<std::size_t>(resource)];
  const SharedResource::Job job = r.shares.next().job;
  const auto who = r.ranks.find(job);
  const int rank = who->second;
  r.ranks.erase(who);
  r.shares.remove(at, job);
  schedule(resource, true);
  std::size_t& stage = at_[static_cast<std::size_t>(rank)];
  if (++stage == stages_.size()) return got(rank, at);
  enter(rank, stage, at);
  return std::nullopt;
}

}  // namespace cox::simulate::training
