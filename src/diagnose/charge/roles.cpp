// SPDX-License-Identifier: Apache-2.0
#include "diagnose/charge/roles.hpp"

#include <algorithm>

#include "diagnose/match/span_math.hpp"

namespace cox::diagnose {

RoleClasses group_by_role(const Matched& matched) {
  RoleClasses roles;
  roles.of.assign(matched.ranks(), 0);
  std::vector<int> stages;
  for (const trace::RankTrack& track : matched.tracks()) {
    if (track.role.pipeline < 0) return roles;
    stages.push_back(track.role.pipeline);
  }
  std::vector<int> distinct = stages;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  if (distinct.size() < 2) return roles;
  for (std::size_t r = 0; r < stages.size(); ++r)
    roles.of[r] = static_cast<std::int32_t>(std::lower_bound(distinct.begin(), distinct.end(), stages[r]) -
                                            distinct.begin());
  roles.count = static_cast<std::int32_t>(distinct.size());
  roles.known = true;
  return roles;
}

void RoleReference::take(std::span<const std::int32_t> members, std::span<const Duration> values) {
  all_.assign(values.begin(), values.end());
  if (roles_.count == 1) {
    median_[0] = lower_median_in_place(all_);
    return;
  }
  for (const auto role : present_) sample_of_[static_cast<std::size_t>(role)].clear();
  present_.clear();
  for (std::size_t k = 0; k < members.size(); ++k) {
    const auto role = roles_.of[static_cast<std::size_t>(members[k])];
    auto& sample = sample_of_[static_cast<std::size_t>(role)];
    if (sample.empty()) present_.push_back(role);
    sample.push_back(values[k]);
  }
  const Duration of_all = lower_median_in_place(all_);
  for (const auto role : present_) {
    auto& sample = sample_of_[static_cast<std::size_t>(role)];
    median_[static_cast<std::size_t>(role)] = sample.size() > 1 ? lower_median_in_place(sample) : of_all;
  }
}

}  // namespace cox::diagnose
