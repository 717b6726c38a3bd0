// SPDX-License-Identifier: Apache-2.0
#include "diagnose/fabric/fabric.hpp"

#include <fmt/format.h>

#include "diagnose/fabric/pass.hpp"

namespace cox::diagnose {

const char* name_of(ComponentKind k) {
  switch (k) {
    case ComponentKind::Host:
      return "host";
    case ComponentKind::HostPair:
      return "host_pair";
    case ComponentKind::Link:
      return "link";
    case ComponentKind::Nic:
      return "nic";
    case ComponentKind::Rail:
      return "rail";
  }
  return "host";
}

std::string name_of(const Component& c) {
  const auto port = [&](std::size_t i) { return c.local[i].value(); };
  switch (c.kind) {
    case ComponentKind::Host:
      return "host " + c.host_names[0];
    case ComponentKind::HostPair:
      return fmt::format("between hosts {} and {}", c.host_names[0], c.host_names[1]);
    case ComponentKind::Link:
      return fmt::format("link between {} port {} and {} port {}", c.host_names[0], port(0), c.host_names[1],
                         port(1));
    case ComponentKind::Nic:
      return fmt::format("port {} of host {}", port(0), c.host_names[0]);
    case ComponentKind::Rail:
      return fmt::format("rail {} (port {} of all hosts)", port(0), port(0));
  }
  return "unknown";
}

const char* name_of(FabricVerdict v) {
  switch (v) {
    case FabricVerdict::NoData:
      return "no_data";
    case FabricVerdict::Alone:
      return "alone";
    case FabricVerdict::Healthy:
      return "healthy";
    case FabricVerdict::Located:
      return "located";
    case FabricVerdict::Ambiguous:
      return "ambiguous";
    case FabricVerdict::Unexplained:
      return "unexplained";
    case FabricVerdict::SlowMember:
      return "slow_member";
  }
  return "no_data";
}

const char* name_of(MemberTest t) {
  switch (t) {
    case MemberTest::NotDone:
      return "not_done";
    case MemberTest::NoData:
      return "no_data";
    case MemberTest::Refuted:
      return "refuted";
    case MemberTest::Supported:
      return "supported";
  }
  return "not_done";
}

Result<Fabric> understand_fabric(const Matched& matched) {
  if (matched.ranks() == 0)
    return fail({.code = Errc::InvalidInput,
                 .id = "diagnose-001",
                 .message = "the Run holds no rank, expected at least one",
                 .hint = "record one with: cox observe -o DIR -- COMMAND",
                 .where = {}});
  return locate_slow(matched, measure_transfers(matched));
}

}  // namespace cox::diagnose
