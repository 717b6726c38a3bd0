// SPDX-License-Identifier: Apache-2.0
#include "simulate/training/tally.hpp"

#include <algorithm>
#include <cmath>

#include "simulate/training/rank_groups.hpp"

namespace cox::simulate::training {
namespace {

/// A step's account in three words.
struct Sums {
  Seconds busy{};
  Seconds exposed{};
  Seconds waiting{};
};

Sums sums_of(const StepParts& parts) {
  Sums out;
  for (std::size_t p = 0; p < kStepParts; ++p) switch (static_cast<StepPart>(p)) {
      case StepPart::Forward:
      case StepPart::Backward:
      case StepPart::Optimizer:
        out.busy += parts[p];
        break;
      case StepPart::Data:
      case StepPart::Tensor:
      case StepPart::Pipeline:
      case StepPart::Expert:
      case StepPart::Context:
        out.exposed += parts[p];
        break;
      case StepPart::Bubble:
      case StepPart::Wait:
      case StepPart::Input:
        out.waiting += parts[p];
        break;
    }
  return out;
}

}  // namespace

Tally::Tally(const Plan& plan, std::span<const Seconds> step_ends, Seconds total,
             const FailureOutcome* failures, const std::vector<GroupAccount>& accounts)
    : plan_(&plan), total_(total) {
  for (const GroupAccount& a : accounts) accounts_[a.key] = a;
  Seconds before = failures != nullptr ? failures->start : Seconds{};
  for (const Seconds end : step_ends) {
    const Seconds step = std::max(end - before, Seconds{});
    if (std::isfinite(step.count())) steps_.add(step.count());  // absurd inputs have infinite ends
    before = std::max(before, end);
  }
  if (failures == nullptr)
    time_.work = total;
  else
    time_ = {.start = failures->start,
             .work = failures->work,
             .checkpoints = failures->write,
             .rework = failures->rework,
             .restarts = failures->restart,
             .repair = failures->repair,
             .cold = failures->cold};
}

void Tally::merge(const Tally& other) {
  replicas_ += other.replicas_;
  steps_.merge(other.steps_);
  total_ += other.total_;
  time_.start += other.time_.start;
  time_.work += other.time_.work;
  time_.checkpoints += other.time_.checkpoints;
  time_.rework += other.time_.rework;
  time_.restarts += other.time_.restarts;
  time_.repair += other.time_.repair;
  time_.cold += other.time_.cold;
  for (const auto& [key, more] : other.accounts_) {
    GroupAccount& account = accounts_[key];
    if (account.name.empty()) account.name = more.name;
    account.ranks += more.ranks;
    for (std::size_t p = 0; p < kStepParts; ++p) account.parts[p] += more.parts[p];
  }
}

std::vector<GroupTime> Tally::groups() const {
  std::vector<GroupTime> out;
  const double steps = plan_->scenario().job.steps;
  for (const auto& [key, account] : accounts_) {
    const Sums sums = sums_of(account.parts);
    const double each = steps * static_cast<double>(account.ranks);
    out.push_back({.name = account.name,
                   .ranks = (account.ranks + replicas_ / 2) / replicas_,
                   .busy = sums.busy / each,
                   .exposed = sums.exposed / each,
                   .waiting = sums.waiting / each});
  }
  return out;
}

JobTime Tally::mean_time() const {
  const double n = replicas_;
  return {.start = time_.start / n,
          .work = time_.work / n,
          .checkpoints = time_.checkpoints / n,
          .rework = time_.rework / n,
          .restarts = time_.restarts / n,
          .repair = time_.repair / n,
          .cold = time_.cold / n};
}

Seconds Tally::busy_of_nodes() const {
  Seconds sum{};
  for (const auto& [key, account] : accounts_) sum += sums_of(account.parts).busy;
  return sum / (plan_->scenario().cluster.devices_per_node * static_cast<double>(replicas_));
}

/// A device has an equal part of what its node draws. Steps that are undone and cold ones draw as the others do.
EnergyUse Tally::energy() const {
  const model::Scenario& s = plan_->scenario();
  const model::PowerDraw& draw = s.power;
  const JobTime time = mean_time();
  Sums sums;
  for (const auto& [key, account] : accounts_) {
    const Sums more = sums_of(account.parts);
    sums.busy += more.busy;
    sums.exposed += more.exposed;
    sums.waiting += more.waiting;
  }
  const double nodes = nodes_of(s);
  const double per_node = 1.0 / (s.cluster.devices_per_node * static_cast<double>(replicas_));
  const double again = time.work > Seconds{} ? (time.work + time.rework + time.cold) / time.work : 1;
  const Seconds busy = busy_of_nodes();
  EnergyUse out;
  out.busy = draw.busy * (busy * again);
  out.transfer = draw.transfer * (sums.exposed * per_node * again);
  out.wait = draw.wait * (sums.waiting * per_node * again + time.checkpoints * nodes);
  out.idle = draw.idle * ((time.start + time.restarts + time.repair) * nodes +
                          total_ / static_cast<double>(replicas_) * s.failures.spares);
  out.building = (out.busy + out.transfer + out.wait + out.idle) * (draw.pue - 1);
  out.ideal = draw.busy * busy * draw.pue;
  return out;
}

void Tally::put_into(Outcome& out) const {
  const model::Scenario& s = plan_->scenario();
  out.steps = steps_;
  out.steps_replicas = replicas_;
  out.groups = groups();
  out.time = mean_time();
  if (s.power.known() && !accounts_.empty()) out.energy = energy();
  out.node_hours =
      (total_ / static_cast<double>(replicas_)).count() / 3600 * (nodes_of(s) + s.failures.spares);
  if (!accounts_.empty()) out.ideal_node_hours = busy_of_nodes().count() / 3600;
}

}  // namespace cox::simulate::training
