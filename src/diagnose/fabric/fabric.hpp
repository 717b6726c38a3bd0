// SPDX-License-Identifier: Apache-2.0
/// \file
/// Slow transfers between hosts, and the smallest part of the fabric that explains them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/ids.hpp"
#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/diagnose/finding_kind.hpp"
#include "cox/model/collective.hpp"

#include "diagnose/match/matched.hpp"

namespace cox::diagnose {

/// Transfers of one kind and size in one group. The transfer of an operation is the shortest time that any
/// member spent in it: the last one to come waited for nobody.
struct SizeTransfer {
  model::Collective kind = model::Collective::Other;
  Bytes bytes{};
  std::int64_t repetitions = 0;  ///< without the first, which sets up connections
  Duration lower_quartile{};     ///< the reference: what it takes when nothing disturbs
  Bandwidth best_busbw{};        ///< ceiling (nccl-tests convention)
  double dip_ratio = 0;          ///< part of the repetitions that took more than 1.5 times the reference
  double dip_depth = 0;          ///< median of those over the reference; 0 where there are none
};

/// Transfers of one communicator.
struct GroupTransfer {
  CommId comm;
  std::string name;
  std::vector<Rank> ranks;
  std::int64_t hosts = 0;
  /// Groups to compare with: same operations, sizes, members and hosts; itself included.
  std::int64_t alike = 0;
  /// Its references over the median of those alike; 0 where there are fewer than three.
  double slow_ratio = 0;
  double dip_ratio = 0;  ///< over all sizes
  double dip_depth = 0;
  bool slow_always = false;         ///< its ceiling is lower
  bool slow_sometimes = false;      ///< it dips more often than those alike
  std::vector<SizeTransfer> sizes;  ///< most time first, at most 16

  [[nodiscard]] bool slow() const { return slow_always || slow_sometimes; }
};

enum class ComponentKind : std::uint8_t {
  Host = 0,      ///< everything that enters or leaves a host
  HostPair = 1,  ///< everything between two hosts
  Link = 2,      ///< between two network ports: ranks at local positions of two hosts
  Nic = 3,       ///< network port of a local rank on one host
  Rail = 4,      ///< ports of the same local rank on all hosts, and their switches
};
[[nodiscard]] const char* name_of(ComponentKind k);  ///< `host`, `host_pair`, `link`, `nic`, `rail`

/// A part of the fabric that transfers may share.
struct Component {
  ComponentKind kind = ComponentKind::Host;
  std::vector<NodeId> hosts;            ///< one, two, or none (Rail)
  std::vector<std::string> host_names;  ///< as many
  std::vector<LocalRank> local;         ///< one per host (Nic, Link), one (Rail), none else

  bool operator==(const Component&) const = default;
};

/// As printed: `host node3`, `rail 2 (port 2 of all hosts)`.
[[nodiscard]] std::string name_of(const Component& c);

enum class FabricVerdict : std::uint8_t {
  NoData = 0,       ///< no group crosses hosts, or none was timed often enough
  Alone = 1,        ///< fewer than three groups are alike: nothing can be located
  Healthy = 2,      ///< no group is slower than those alike
  Located = 3,      ///< `components` explain the slow groups, nothing else as small does
  Ambiguous = 4,    ///< several explanations are as small: `alternatives`
  Unexplained = 5,  ///< no three components explain the slow groups
  SlowMember = 6,   ///< ranks or hosts that are as slow among themselves: not the fabric
};
[[nodiscard]] const char* name_of(FabricVerdict v);  ///< `no_data`, `alone`, `healthy`, `located`, ...

struct Fabric {
  FabricVerdict verdict = FabricVerdict::NoData;
  std::vector<Component> components;  ///< Located, SlowMember
  /// Ambiguous: each of them explains everything; at most 16.
  std::vector<std::vector<Component>> alternatives;
  std::vector<CommId> slow_groups;
  MemberTest member_test = MemberTest::NotDone;
  std::vector<Rank> slow_members;     ///< SlowMember
  double slow_ratio = 0;              ///< median over the slow groups of what their transfers take more
  std::int64_t crossing = 0;          ///< groups that cross hosts and were timed
  std::vector<GroupTransfer> groups;  ///< timed often enough; those within a host too
};

/// Compares groups that should be equally fast, and looks for what the slow ones have in common.
///
/// Always slow: at least 1.25 times the median of those alike, and 5 robust spreads of the logarithms.
/// Sometimes: in at least 5 % of the operations, three times as often as those alike. A component explains a
/// slow group that uses it; one that more than a tenth of fast groups use too explains none. Smallest set by
/// greedy cover, all sets of that size or less checked up to three. Lateness of a rank's own work is not in a
/// transfer and names nothing here. Source: transfer as the shortest duration, see
/// docs/concepts/wait-and-transfer.md; busbw: nccl-tests. Errors: diagnose-001 (no rank). Cost: linear in
/// calls, O(n log n) in operations. Held by: src/diagnose/fabric/fabric_test.cpp
[[nodiscard]] Result<Fabric> understand_fabric(const Matched& matched);

/// A few plain lines; never empty.
[[nodiscard]] std::vector<std::string> describe(const Fabric& f);

}  // namespace cox::diagnose
