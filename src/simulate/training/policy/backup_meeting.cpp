// SPDX-License-Identifier: Apache-2.0
#include "simulate/training/policy/backup_meeting.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "simulate/flow/engine.hpp"
#include "simulate/flow/places.hpp"

namespace cox::simulate::training {

BackupMeeting::BackupMeeting(const Plan& plan, std::span<const int> workers)
    : plan_(plan), workers_(workers), hybrid_(plan.job().is_hybrid()) {
  const int replicas = plan.job().replicas_per_worker();
  each_ = hybrid_ ? replicas / plan.layout().shard : plan.layout().context * replicas;
  beside_ = hybrid_ ? plan.ranks_per_unit() * plan.layout().shard : plan.layout().tensor;
}

model::Compressed BackupMeeting::sum(int stage) const {
  const Bytes all = plan_.stage_bytes(stage);
  return plan_.gradients(hybrid_ ? plan_.shard_of(all) : all, of(), members());
}

std::vector<int> BackupMeeting::ranks(int stage, int beside) const {
  const int replicas = plan_.job().replicas_per_worker();
  std::vector<int> ranks;
  ranks.reserve(static_cast<std::size_t>(members()));
  for (const int w : workers_)
    for (int i = 0; i < each_; ++i) {
      const int first = w * replicas;
      if (hybrid_)
        ranks.push_back(plan_.rank_of(first + i * plan_.layout().shard + beside / plan_.ranks_per_unit(),
                                      stage, beside % plan_.ranks_per_unit()));
      else
        ranks.push_back(plan_.rank_of(first + i / plan_.layout().context, stage,
                                      i % plan_.layout().context * plan_.layout().tensor + beside));
    }
  return ranks;
}

/// For the draws: beyond those of all other messages.
std::int64_t BackupMeeting::number(int stage) const {
  constexpr std::int64_t kOfMeetings = std::int64_t{1} << 50;
  return kOfMeetings + std::int64_t{2} * stage * beside_;
}

Result<BackupMeeting::Left> BackupMeeting::play(int stage, std::span<const Seconds> arrivals,
                                                const MessageTrouble& trouble, std::int64_t version) const {
  const model::Compressed sum = this->sum(stage);
  COX_TRY(const model::Schedule schedule, plan_.schedule(sum.kind, sum.bytes, of(), members()));
  LinkCosts links = plan_.costs(of()).links;
  // Without some of the members it is not known who is next to whom.
  if (members() < plan_.costs(of()).members)
    links = {
        .inside = plan_.scenario().inside, .across = plan_.among_workers(), .ranks_per_node = 1, .into = {}};
  const auto each = static_cast<std::size_t>(each_);
  Left left{.at = {arrivals.begin(), arrivals.end()}};
  // Undisturbed, all of them are as the first.
  const int played = trouble.any() ? beside_ : 1;
  for (int copy = 0; copy < played; ++copy) {
    std::vector<Seconds> all(static_cast<std::size_t>(schedule.ranks()), arrivals.front());
    for (std::size_t r = 0; r < arrivals.size() * each; ++r) all[r] = arrivals[r / each] + sum.encode;
    CollectiveOptions options;
    options.protocol = plan_.scenario().protocol;
    std::vector<int> nodes;
    if (trouble.any()) {
      options.step = version;
      options.number = number(stage) + std::int64_t{2} * copy;
      options.ranks = ranks(stage, copy);
      for (const int rank : options.ranks)
        nodes.push_back(plan_.device_of(rank) / std::max(1, plan_.scenario().cluster.devices_per_node));
      options.nodes = nodes;
      if (trouble.noise->disturbs_messages() || trouble.noise->disturbs_bandwidth())
        options.noise = trouble.noise;
      if (trouble.timeouts->happen()) options.timeouts = trouble.timeouts;
    }
    const CollectiveOutcome ran = run_collective(schedule, links, options, all);
    left.messages += ran.messages * (beside_ / played);
    left.evaluated += ran.evaluated;
    for (std::size_t r = 0; r < arrivals.size() * each; ++r)
      left.at[r / each] = std::max(left.at[r / each], all[r] + sum.decode);
  }
  return left;
}

Status BackupMeeting::add_loads(PortLoads& loads) const {
  for (int stage = 0; stage < plan_.stages(); ++stage) {
    const model::Compressed sum = this->sum(stage);
    COX_TRY(const model::Schedule schedule, plan_.schedule(sum.kind, sum.bytes, of(), members()));
    std::vector<int> sets;
    for (int copy = 0; copy < beside_; ++copy)
      for (const int rank : ranks(stage, copy)) sets.push_back(plan_.device_of(rank));
    loads.add_sets(schedule, sets, 1);
  }
  return {};
}

Result<BackupMeeting::Left> BackupMeeting::play_on_links(std::span<const Seconds> arrivals,
                                                         const MessageTrouble& trouble, std::int64_t version,
                                                         std::uint64_t seed) const {
  const bool draws = trouble.noise->disturbs_messages() || trouble.noise->disturbs_bandwidth();
  std::deque<model::Schedule> schedules;  // which outlive the engine
  FlowEngine engine(*plan_.server_network(), plan_.scenario().fabric,
                    FlowOptions{.noise = trouble.noise,
                                .timeouts = trouble.timeouts,
                                .step = version,
                                .seed = seed,
                                .protocol = plan_.scenario().protocol},
                    *std::ranges::min_element(arrivals));
  for (int s = 0; s < plan_.stages(); ++s) {
    const model::Compressed sum = this->sum(s);
    const Bytes bytes = draws ? sum.bytes : plan_.equal_chunks(sum.bytes, members());
    COX_TRY(model::Schedule made, plan_.schedule(sum.kind, bytes, of(), members()));
    schedules.push_back(std::move(made));
    std::vector<int> devices;
    for (int copy = 0; copy < beside_; ++copy) {
      std::vector<int> group = ranks(s, copy);
      for (int& rank : group) rank = plan_.device_of(rank);
      add_servers(group, schedules.back().participants());
      devices.insert(devices.end(), group.begin(), group.end());
    }
    const FlowCourseId course = engine.begin({.schedule = &schedules.back(),
                                              .rank_of = std::move(devices),
                                              .groups = beside_,
                                              .number = number(s)});
    for (int place = 0; place < members(); ++place)
      engine.arrive(course, place, arrivals[static_cast<std::size_t>(place / each_)] + sum.encode);
  }
  Left left{.at = {arrivals.begin(), arrivals.end()}};
  while (const std::optional<FlowDeparture> one = engine.next()) {
    if (one->place >= members()) continue;  // a server or switch
    Seconds& at = left.at[static_cast<std::size_t>(one->place / each_)];
    at = std::max(at, one->at + sum(static_cast<int>(one->course)).decode);
  }
  FlowOutcome flow = engine.take_outcome();
  left.messages = flow.messages;
  left.evaluated = flow.played + flow.evaluated;
  left.memo = flow.memo;
  left.link_bytes = std::move(flow.link_bytes);
  return left;
}

}  // namespace cox::simulate::training
