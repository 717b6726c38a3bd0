// SPDX-License-Identifier: Apache-2.0
/// \file
/// A cluster's fabric as directed links with routes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"

namespace cox::simulate {

using LinkIndex = std::uint32_t;

struct NetworkLink {
  std::string name;  ///< `n3->leaf0`
  Seconds latency{};
  Bandwidth bandwidth{};
};

/// Links, and the way from any rank to any other. Immutable after `make`; const calls from any thread.
class Network {
 public:
  /// Errors: simulate-005 (fabric and cluster do not fit; graph file).
  [[nodiscard]] static Result<Network> make(const model::Cluster& cluster, const model::Fabric& fabric);

  [[nodiscard]] const std::vector<NetworkLink>& links() const { return links_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  /// Number of equal-cost paths between two ranks.
  [[nodiscard]] int paths(int from, int to) const;
  /// Links of path `choice` (taken modulo `paths`); clears `out`.
  void route(int from, int to, int choice, std::vector<LinkIndex>& out) const;

 private:
  model::Cluster cluster_{};
  model::Fabric fabric_{};
  std::vector<NetworkLink> links_;
  int ranks_ = 0;
};

}  // namespace cox::simulate
