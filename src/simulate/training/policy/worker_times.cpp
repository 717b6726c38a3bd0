// SPDX-License-Identifier: Apache-2.0
#include "simulate/training/policy/worker_times.hpp"

#include <algorithm>
#include <utility>

namespace cox::simulate::training {

WorkerTimes::WorkerTimes(const Plan& plan, std::vector<StepEngine*> engines, int workers, int replicas)
    : plan_(plan),
      engines_(std::move(engines)),
      groups_(plan),
      units_(static_cast<std::size_t>(replicas) * static_cast<std::size_t>(plan.stages())),
      may_cut_(plan.scenario().policy.kind == model::PolicyKind::Backup),
      workers_(static_cast<std::size_t>(workers)),
      more_(groups_.names.size()) {
  for (StepEngine* one : engines_) one->keep_accounts(groups_);
}

void WorkerTimes::begin(int w) {
  engine(w).account_to(units_of(w));
  if (may_cut_) before_ = engine(w).accounts();
}

void WorkerTimes::computed(int w, Seconds begin, std::span<const Seconds> ends, Seconds end) {
  Worker& worker = workers_[static_cast<std::size_t>(w)];
  worker.begin = begin;
  worker.end = end;
  worker.waited = {};
  worker.in_step = true;
  if (may_cut_) {
    worker.parts = engine(w).accounts();
    for (std::size_t g = 0; g < before_.size(); ++g)
      for (std::size_t p = 0; p < kStepParts; ++p) worker.parts[g][p] -= before_[g][p];
  }
  for (std::size_t u = 0; u < units_; ++u) {
    const Seconds early = (end - ends[u]) * plan_.ranks_per_unit();
    const auto g = static_cast<std::size_t>(units_of(w)[u]);
    constexpr auto kWait = static_cast<std::size_t>(StepPart::Wait);
    more_[g][kWait] += early;
    if (may_cut_) worker.parts[g][kWait] += early;
  }
}

void WorkerTimes::waited(int w, Seconds time) {
  workers_[static_cast<std::size_t>(w)].waited += std::max(time, Seconds{});
}

void WorkerTimes::add(int w, StepPart part, Seconds time) {
  for (const int g : units_of(w))
    more_[static_cast<std::size_t>(g)][static_cast<std::size_t>(part)] += time * plan_.ranks_per_unit();
}

void WorkerTimes::stopped(int w, Seconds at) {
  Worker& worker = workers_[static_cast<std::size_t>(w)];
  const Seconds all = std::max(at - worker.end, Seconds{});
  const Seconds waited = std::min(worker.waited, all);
  add(w, StepPart::Wait, waited);
  add(w, StepPart::Data, all - waited);
  worker.end = std::max(at, worker.end);
  worker.in_step = false;
}

std::vector<GroupAccount> WorkerTimes::close(Seconds total) {
  for (int w = 0; w < static_cast<int>(workers_.size()); ++w) {
    Worker& worker = workers_[static_cast<std::size_t>(w)];
    if (worker.end <= total) {
      add(w, StepPart::Wait, total - worker.end);
      continue;
    }
    const bool cut = worker.in_step && may_cut_;
    if (!cut) {
      add(w, StepPart::Data, total - worker.end);
      continue;
    }
    const double left_out = std::min((worker.end - total) / (worker.end - worker.begin), 1.0);
    for (std::size_t g = 0; g < more_.size(); ++g)
      for (std::size_t p = 0; p < kStepParts; ++p) more_[g][p] -= worker.parts[g][p] * left_out;
    add(w, StepPart::Data, std::min(total - worker.begin, Seconds{}));  // that it began after
  }
  std::vector<GroupAccount> out;
  for (std::size_t g = 0; g < more_.size(); ++g) {
    StepParts parts{};
    for (const StepEngine* one : engines_)
      for (std::size_t p = 0; p < kStepParts; ++p) parts[p] += one->accounts()[g][p];
    for (std::size_t p = 0; p < kStepParts; ++p) parts[p] += more_[g][p];
    out.push_back({groups_.keys[g], groups_.names[g], groups_.ranks[g], parts});
  }
  return out;
}

}  // namespace cox::simulate::training
