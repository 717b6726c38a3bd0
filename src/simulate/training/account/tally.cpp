// SPDX-License-Identifier: Apache-2.0
#include "simulate/training/account/tally.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "simulate/training/plan/rank_groups.hpp"

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

/// Nodes that draw and cost alike.
struct Tally::Sort {
  model::PowerDraw draw;
  double node_hour = 0;
  double nodes = 0;
  Sums sums{};     ///< over ranks, steps and replicas
  Seconds busy{};  ///< of the nodes while their devices compute, mean over replicas
};

namespace {

bool has_own_draw(const model::NodeClass& c) {
  return c.busy > Power{} || c.transfer > Power{} || c.wait > Power{} || c.idle > Power{} || c.node_hour > 0;
}

/// Nodes of the job in each class, and in the last place those of none.
std::vector<double> nodes_by_class(const model::Scenario& s) {
  const std::vector<model::NodeClass>& classes = s.cluster.classes;
  std::vector<double> out(classes.size() + 1);
  for (const int node : s.job.places.nodes) {
    const model::NodeClass* of = class_of(s.cluster, node);
    ++out[of == nullptr ? classes.size() : static_cast<std::size_t>(of - classes.data())];
  }
  if (!s.job.places.nodes.empty()) return out;
  out.back() = s.cluster.nodes;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    out[c] = classes[c].count;
    out.back() -= classes[c].count;
  }
  return out;
}

model::PowerDraw draw_of(const model::Scenario& s, const model::NodeClass& c) {
  const auto either = [](Power own, Power otherwise) { return own > Power{} ? own : otherwise; };
  return {.busy = either(c.busy, s.power.busy),
          .transfer = either(c.transfer, s.power.transfer),
          .wait = either(c.wait, s.power.wait),
          .idle = either(c.idle, s.power.idle),
          .pue = s.power.pue};
}

}  // namespace

Status Tally::check(const Plan& plan) {
  const model::Cluster& cluster = plan.scenario().cluster;
  if (std::ranges::none_of(cluster.classes, has_own_draw)) return {};
  for (int rank = 0; rank < plan.ranks(); ++rank) {
    const int first = rank - rank % plan.ranks_per_unit();
    const auto node = [&](int r) { return plan.device_of(r) / cluster.devices_per_node; };
    if (class_of(cluster, node(rank)) == class_of(cluster, node(first))) continue;
    return fail(
        {.code = Errc::Unsupported,
         .id = "simulate-003",
         .message = fmt::format("power and price by class: ranks {} and {} share layers, and their nodes are "
                                "of different classes, whose accounts are kept together",
                                first, rank),
         .hint = "choose classes that hold whole groups of tensor x context ranks, or leave power and price "
                 "of classes out",
         .where = std::nullopt});
  }
  return {};
}

std::vector<Tally::Sort> Tally::sorts() const {
  const model::Scenario& s = plan_->scenario();
  const std::vector<model::NodeClass>& classes = s.cluster.classes;
  std::vector<Sort> out(1, {.draw = s.power, .node_hour = s.node_price.node_hour, .nodes = 0});
  std::map<int, std::size_t> sort_of;
  const std::vector<double> nodes = nodes_by_class(s);
  out[0].nodes = nodes.back();
  for (std::size_t c = 0; c < classes.size(); ++c) {
    if (!has_own_draw(classes[c])) {
      out[0].nodes += nodes[c];
      continue;
    }
    sort_of[static_cast<int>(c)] = out.size();
    out.push_back({.draw = draw_of(s, classes[c]),
                   .node_hour = classes[c].node_hour > 0 ? classes[c].node_hour : s.node_price.node_hour,
                   .nodes = nodes[c]});
  }
  for (const auto& [key, account] : accounts_) {
    const auto at = sort_of.find(key.second);
    Sums& sums = out[at == sort_of.end() ? 0 : at->second].sums;
    const Sums more = sums_of(account.parts);
    sums.busy += more.busy;
    sums.exposed += more.exposed;
    sums.waiting += more.waiting;
  }
  for (Sort& sort : out)
    sort.busy = sort.sums.busy / (s.cluster.devices_per_node * static_cast<double>(replicas_));
  return out;
}

/// A device has an equal part of what its node draws. Steps that are undone and cold ones draw as the others do.
EnergyUse Tally::energy(const std::vector<Sort>& sorts) const {
  const model::Scenario& s = plan_->scenario();
  const JobTime time = mean_time();
  const double per_node = 1.0 / (s.cluster.devices_per_node * static_cast<double>(replicas_));
  const double again = time.work > Seconds{} ? (time.work + time.rework + time.cold) / time.work : 1;
  EnergyUse out;
  for (const Sort& sort : sorts) {
    const model::PowerDraw& draw = sort.draw;
    const double spares = &sort == &sorts.front() ? s.failures.spares : 0;
    out.busy = out.busy + draw.busy * (sort.busy * again);
    out.transfer = out.transfer + draw.transfer * (sort.sums.exposed * per_node * again);
    out.wait = out.wait + draw.wait * (sort.sums.waiting * per_node * again + time.checkpoints * sort.nodes);
    out.idle = out.idle + draw.idle * ((time.start + time.restarts + time.repair) * sort.nodes +
                                       total_ / static_cast<double>(replicas_) * spares);
    out.ideal = out.ideal + draw.busy * sort.busy * draw.pue;
  }
  out.building = (out.busy + out.transfer + out.wait + out.idle) * (s.power.pue - 1);
  return out;
}

void Tally::put_cost(const std::vector<Sort>& sorts, Outcome& out) const {
  const model::Scenario& s = plan_->scenario();
  const double hours = (total_ / static_cast<double>(replicas_)).count() / 3600;
  Seconds busy{};
  for (const Sort& sort : sorts) busy += sort.busy;
  out.node_hours = hours * (nodes_of(s) + s.failures.spares);
  if (!accounts_.empty()) out.ideal_node_hours = busy.count() / 3600;
  if (!(s.node_price.node_hour > 0)) return;
  if (sorts.size() == 1) {
    out.cost = *out.node_hours * s.node_price.node_hour;
    if (out.ideal_node_hours) out.ideal_cost = *out.ideal_node_hours * s.node_price.node_hour;
    return;
  }
  out.cost = hours * s.failures.spares * s.node_price.node_hour;
  double ideal = 0;
  for (const Sort& sort : sorts) {
    *out.cost += hours * sort.nodes * sort.node_hour;
    ideal += sort.busy.count() / 3600 * sort.node_hour;
  }
  if (!accounts_.empty()) out.ideal_cost = ideal;
}

void Tally::put_into(Outcome& out) const {
  const model::Scenario& s = plan_->scenario();
  out.steps = steps_;
  out.steps_replicas = replicas_;
  out.groups = groups();
  out.time = mean_time();
  const std::vector<Sort> sorts = this->sorts();
  if (s.power.known() && !accounts_.empty()) out.energy = energy(sorts);
  put_cost(sorts, out);
}

}  // namespace cox::simulate::training
