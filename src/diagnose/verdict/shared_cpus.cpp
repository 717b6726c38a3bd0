// SPDX-License-Identifier: Apache-2.0
#include "diagnose/verdict/shared_cpus.hpp"

#include <algorithm>
#include <chrono>

#include "diagnose/pacing/pace_facts.hpp"

namespace cox::diagnose {

Duration least_beside_pollers(const Matched& matched, std::span<const NodeLocality> places,
                              std::span<const RankAccount> ranks, Duration step) {
  using pace::WaitMode;
  constexpr Duration kSlice = std::chrono::milliseconds{3};
  const pace::Facts host = facts_of(matched, places, ranks, {});
  if (host.cores == 0 || host.ranks_on_host <= host.cores) return {};
  const bool mpi = std::any_of(matched.tracks().begin(), matched.tracks().end(), [](const auto& track) {
    return track.library.find("MPI") != std::string::npos;
  });
  const bool polls =
      host.wait == WaitMode::Spin || host.wait == WaitMode::Yield || (host.wait == WaitMode::Unknown && mpi);
  return polls ? std::min(kSlice, step / 4) : Duration{};
}

}  // namespace cox::diagnose
