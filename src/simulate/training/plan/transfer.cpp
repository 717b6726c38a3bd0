// SPDX-License-Identifier: Apache-2.0
#include "simulate/training/plan/transfer.hpp"

#include "simulate/flow/places.hpp"

namespace cox::simulate::training {

std::vector<int> devices_of(const Plan& plan, const TransferKey& key, int participants, int beside) {
  std::vector<int> all;
  for (int g = 0; g < beside; ++g) {
    std::vector<int> devices;
    for (int m = 0; m < plan.groups().size(key.of); ++m) {
      const int replica = plan.groups().replica_of(key.of, key.group, m);
      for (int c = 0; c < plan.groups().ranks_of_member(key.of); ++c)
        devices.push_back(plan.device_of(plan.rank_of(replica, key.stage, c * beside + g)));
    }
    add_servers(devices, participants);
    all.insert(all.end(), devices.begin(), devices.end());
  }
  return all;
}

std::int64_t draw_number(const Plan& plan, const TransferKey& key, int beside) {
  const std::int64_t place =
      (std::int64_t{key.slot} * plan.layout().data + key.group) * plan.stages() + key.stage;
  // Slots of copies are numbered among others that have fewer beside each other.
  constexpr std::int64_t kOfCopies = std::int64_t{1} << 47;
  return place * beside * 2 + (key.of == ReplicaGroup::Experts ? 1 : 0) +
         (key.of == ReplicaGroup::Copies ? kOfCopies : 0);
}

}  // namespace cox::simulate::training
