// SPDX-License-Identifier: Apache-2.0
#include "diagnose/fabric/fabric.hpp"

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
