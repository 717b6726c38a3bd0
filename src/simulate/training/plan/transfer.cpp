// SPDX-License-Identifier: Apache-2.0
#include "simulate/training/plan/transfer.hpp"

#include "simulate/flow/places.hpp"

namespace cox::simulate::training {

std::vector<int> devices_of(const Plan& plan, const TransferKey& key, int participants, int groups,
                            int ranks_per_member) {
  const bool data = key.kind == TransferKind::Data;
  const int members = data ? plan.layout().data : plan.layout().expert;
  std::vector<int> all;
  for (int g = 0; g < groups; ++g) {
    std::vector<int> devices;
    for (int m = 0; m < members; ++m) {
      const int replica = data ? m : key.group * members + m;
      for (int c = 0; c < ranks_per_member; ++c)
        devices.push_back(plan.device_of(plan.rank_of(replica, key.stage, c * groups + g)));
    }
    add_servers(devices, participants);
    all.insert(all.end(), devices.begin(), devices.end());
  }
  return all;
}

}  // namespace cox::simulate::training
