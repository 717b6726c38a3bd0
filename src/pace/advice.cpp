// SPDX-License-Identifier: Apache-2.0
#include "cox/pace/advice.hpp"

namespace cox::pace {
namespace {

constexpr Advice kWaitMode{
    .remedy = AdviceKind::ChangeWaitMode,
    .why = "waiting ranks spin on cores that working ranks need",
    .action = "cox observe --wait-mode yield",
    .evidence =
        "+67 to +83 % throughput where ranks on two cores yielded or blocked instead of spinning; a delay gained "
        "+5 to +14 % there where the same ranks are late, and by rule lost 14 to 16 % where they are not"};
constexpr Advice kPriority{
    .remedy = AdviceKind::RaisePriority,
    .why = "the same ranks are late, and early ones take the shared cores from them",
    .action = "cox observe --pace observe --pace-priority",
    .evidence =
        "+25 % throughput with a shared host processor and no delay; -55 % where waiters spin, so not there"};
constexpr Advice kStagger{
    .remedy = AdviceKind::StaggerGroups,
    .why = "groups share a link and start together",
    .action = "stagger their starts within the bounds of a delay",
    .evidence =
        "calculated: the mean completion falls by half the offset, the last one stays; shifting two "
        "whole jobs against each other was measured at -9 to +1 %, so let the test of benefit decide"};
constexpr Advice kDelayHost{
    .remedy = AdviceKind::Delay,
    .why = "the same ranks are late, and iterations begin on something that early ranks take from them",
    .action = "cox observe --pace auto",
    .evidence = "+11 % throughput with a shared host processor and 32 ranks, 0 to +7 % with 4 to 16"};
constexpr Advice kDelayLink{
    .remedy = AdviceKind::Delay,
    .why = "the same ranks are late, and iterations begin on something that early ranks take from them",
    .action = "cox observe --pace auto",
    .evidence = "+10 % throughput with a shared link; the CV of the steps rose from 0.018 to 0.096"};
constexpr Advice kDelaySpin{.remedy = AdviceKind::Delay,
                            .why = "the same ranks are late, and early ones spin on shared cores",
                            .action = "cox observe --pace auto",
                            .evidence = "+5 to +14 % throughput; yielding or blocking +67 to +83 %"};

}  // namespace

const char* name_of(WaitMode mode) noexcept {
  switch (mode) {
    case WaitMode::Spin:
      return "spin";
    case WaitMode::Yield:
      return "yield";
    case WaitMode::Block:
      return "block";
    case WaitMode::Unknown:
      break;
  }
  return "unknown";
}

const char* name_of(AdviceKind remedy) noexcept {
  switch (remedy) {
    case AdviceKind::ChangeWaitMode:
      return "wait-mode";
    case AdviceKind::RaisePriority:
      return "priority";
    case AdviceKind::StaggerGroups:
      return "stagger";
    case AdviceKind::Delay:
      return "delay";
    case AdviceKind::Nothing:
      break;
  }
  return "nothing";
}

AdviceList advise(const Facts& facts) noexcept {
  AdviceList list;
  const bool crowded = facts.cores > 0 && facts.ranks_on_host > facts.cores;
  const bool spins_on_others = crowded && facts.wait == WaitMode::Spin;
  const bool steady = facts.persistent && !facts.rotating;
  if (spins_on_others) list.add(kWaitMode);
  if (steady && facts.priority_undoable && facts.host_busy_at_start && !spins_on_others) list.add(kPriority);
  if (facts.groups_share_link) list.add(kStagger);
  if (steady && !facts.launch_ahead) {
    if (facts.host_busy_at_start)
      list.add(kDelayHost);
    else if (facts.link_busy_at_start)
      list.add(kDelayLink);
    else if (spins_on_others)
      list.add(kDelaySpin);
  }
  if (!list.items().empty()) return list;
  Advice none{.action = "leave it as it is"};
  if (facts.rotating) {
    none.why = "slack that moves from rank to rank cannot be spent";
    none.evidence = "a delay by rule lost 10 to 13 % with a rotating straggler, mode auto 1 %";
  } else if (facts.persistent && facts.launch_ahead) {
    none.why = "the accelerator's queue would absorb a delay of the host";
    none.evidence = "not measured";
  } else if (facts.persistent) {
    none.why = "nothing is known to be shared, so early ranks cost the late ones nothing";
    none.evidence =
        "a delay changed -0.1 to +0.2 % with one persistent straggler, little jitter and nothing shared; with "
        "much jitter it lost 7 % by rule";
  } else {
    none.why = "no rank is late persistently";
    none.evidence =
        "a delay by rule lost 3 to 10 % with independent jitter and nothing shared, mode auto 0.0 to 0.3 %";
  }
  list.add(none);
  return list;
}

}  // namespace cox::pace
