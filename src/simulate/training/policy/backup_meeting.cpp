// SPDX-License-Identifier: Apache-2.0
#include "simulate/training/policy/backup_meeting.hpp"

#include <algorithm>
#include <utility>

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

Result<BackupMeeting::Left> BackupMeeting::play(int stage, std::span<const Seconds> arrivals,
                                                const MessageTrouble& trouble, std::int64_t version) const {
  const model::Compressed sum = this->sum(stage);
  COX_TRY(const model::Schedule schedule, plan_.schedule(sum.kind, sum.bytes, of(), members()));
  LinkCosts links = plan_.costs(of()).links;
  // Without some of the members it is not known who is next to whom.
  if (members() < plan_.costs(of()).members)
    links = {.inside = plan_.scenario().inside,
             .across = plan_.scenario().across,
             .ranks_per_node = 1,
             .into = {}};
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
      constexpr std::int64_t kOfMeetings = std::int64_t{1} << 50;
      options.step = version;
      options.number = kOfMeetings + 2 * (std::int64_t{stage} * beside_ + copy);
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

}  // namespace cox::simulate::training
