// SPDX-License-Identifier: Apache-2.0
#include "simulate/training/step/step_loads.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "simulate/collective/port_loads.hpp"
#include "simulate/training/plan/transfer.hpp"
#include "simulate/training/step/play_steps.hpp"

namespace cox::simulate::training {
namespace {

using model::Collective;

/// Bytes of a stage's program, by who has them together.
struct StageBytes {
  std::map<std::pair<ReplicaGroup, Collective>, Bytes> groups;
  std::map<int, Bytes> sent;  ///< by the stage they go to, of a rank
  Bytes tensor{};
  Bytes context{};
};

StageBytes bytes_of(const Plan& plan, const StageCode& stage) {
  StageBytes all;
  for (const DataCollective& c : stage.data)
    all.groups[{c.of, c.kind}] += plan.in_equal_chunks(c.bytes, c.of);
  for (const Bytes exchange : stage.exchanges)
    all.groups[{ReplicaGroup::Experts, Collective::AllToAll}] += exchange;
  for (const Instruction& i : stage.code) {
    if (i.code == Instruction::Code::Send) all.sent[i.stage] += i.bytes;
    if (i.code != Instruction::Code::Compute) continue;
    all.tensor += i.bytes;
    all.context += i.context_bytes;
  }
  return all;
}

/// What some replicas, who share no group with others, put on cards.
class StepLoads {
 public:
  StepLoads(const Plan& plan, PortLoads& loads, int first, int count)
      : plan_(plan), loads_(loads), first_(first), behind_(first + count) {}

  void add(int stage, const StageBytes& all, double times) {
    for (const auto& [what, bytes] : all.groups) add_group(what.first, what.second, stage, bytes, times);
    for (const auto& [to, bytes] : all.sent)
      add_messages(stage, to, static_cast<double>(bytes.count()) * times);
    const model::Layout& l = plan_.layout();
    add_inner(stage, {Collective::AllReduce, all.tensor}, {l.tensor, 1}, {l.context, l.tensor}, times);
    add_inner(stage, {Collective::AllGather, all.context}, {l.context, l.tensor}, {l.tensor, 1}, times);
  }

 private:
  struct Places {
    int count = 1;
    int stride = 1;
  };

  void add_group(ReplicaGroup of, Collective kind, int stage, Bytes bytes, double times) {
    const auto schedule = plan_.schedule(kind, bytes, of);
    if (!schedule || bytes == Bytes{}) return;
    const int beside = plan_.ranks_per_unit() / plan_.groups().ranks_of_member(of);
    std::vector<int> sets;
    for (int g = 0; g < plan_.groups().count(of); ++g) {
      const int replica = plan_.groups().replica_of(of, g, 0);
      if (replica < first_ || replica >= behind_) continue;
      const std::vector<int> some =
          devices_of(plan_, {.of = of, .stage = stage, .group = g}, schedule->ranks(), beside);
      sets.insert(sets.end(), some.begin(), some.end());
    }
    loads_.add_sets(*schedule, sets, times);
  }

  void add_messages(int from, int to, double bytes) {
    for (int d = first_; d < behind_; ++d)
      for (int r = 0; r < plan_.ranks_per_unit(); ++r)
        loads_.send(plan_.device_of(plan_.rank_of(d, from, r)), plan_.device_of(plan_.rank_of(d, to, r)),
                    bytes);
  }

  void add_inner(int stage, const InnerCollective& what, Places members, Places beside, double times) {
    if (what.bytes == Bytes{} || members.count == 1) return;
    const auto schedule = plan_.inner_schedule(what);
    if (!schedule) return;
    std::vector<int> sets;
    for (int d = first_; d < behind_; ++d)
      for (int g = 0; g < beside.count; ++g)
        for (int m = 0; m < members.count; ++m)
          sets.push_back(plan_.device_of(plan_.rank_of(d, stage, g * beside.stride + m * members.stride)));
    loads_.add_sets(*schedule, sets, times);
  }

  const Plan& plan_;
  PortLoads& loads_;
  int first_;   ///< replica
  int behind_;  ///< the last one
};

}  // namespace

std::optional<PortLoad> busiest_port(const Plan& plan, Seconds steps) {
  const model::Scenario& s = plan.scenario();
  if (plan.network() != nullptr || plan.own_network() != nullptr || !s.policy.in_step() ||
      s.price != model::CollectivePrice::Rounds)
    return std::nullopt;
  std::map<Meeting, double> meetings;
  for (std::int64_t k = 0; k < s.job.steps; ++k) ++meetings[meeting_of(s, k)];
  PortLoads loads(s);
  StepLoads all(plan, loads, 0, plan.layout().data);
  for (const auto& [meeting, times] : meetings)
    for (int stage = 0; stage < plan.stages(); ++stage)
      all.add(stage, bytes_of(plan, plan.code(meeting)[static_cast<std::size_t>(stage)]), times);
  return loads.busiest(steps);
}

void add_own_messages(const Plan& plan, std::span<const std::int64_t> steps, PortLoads& loads) {
  const int replicas = plan.job().replicas_per_worker();
  for (int stage = 0; stage < plan.stages(); ++stage) {
    const StageBytes bytes = bytes_of(plan, plan.code(Meeting::None)[static_cast<std::size_t>(stage)]);
    for (std::size_t w = 0; w < steps.size(); ++w)
      StepLoads(plan, loads, static_cast<int>(w) * replicas, replicas)
          .add(stage, bytes, static_cast<double>(steps[w]));
  }
}

}  // namespace cox::simulate::training
