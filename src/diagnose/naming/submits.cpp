// SPDX-License-Identifier: Apache-2.0
#include "diagnose/naming/submits.hpp"

#include <algorithm>
#include <map>
#include <span>

#include "diagnose/match/span_math.hpp"

namespace cox::diagnose {
namespace {

constexpr std::size_t kMostKept = std::size_t{1} << 24;

struct Submit {
  std::int64_t step = -1;
  model::Collective kind = model::Collective::Other;
  Duration work = kUnknown;
};

/// Those of one rank on one communicator, in order.
std::vector<Submit> submits_of(const Matched& matched, std::size_t rank, std::int32_t comm) {
  const trace::EventColumns& e = matched.track(rank).events;
  const RankScan& scan = matched.scan(rank);
  std::vector<Submit> all;
  Duration since = kUnknown;  // end of what the program last waited for or handed over
  std::int64_t hint = -1;
  for (std::size_t i = 0; i < e.size(); ++i) {
    const bool blocks =
        is_program_wait(e, i) || (e.kind[i] == trace::EventKind::Collective && !scan.in_background(e, i));
    if (blocks) since = std::max(since, e.end[i]);
    if (e.kind[i] != trace::EventKind::Submit) continue;
    const std::int64_t step = matched.steps().step_of(rank, e.begin[i], hint);
    if (step >= 0) hint = step;
    const auto kind = static_cast<model::Collective>(e.op[i]);
    if (step >= 0 && model::synchronizes_all(kind) && matched.comms().find(e.comm[i]) == comm)
      all.push_back({step, kind, since == kUnknown ? kUnknown : minus_clamped(e.begin[i], since)});
    since = std::max(since, e.begin[i]);
  }
  return all;
}

/// Calls `tell(step, its submits)` for each step that has some.
template <class Tell>
void by_step(std::span<const Submit> all, const Tell& tell) {
  for (std::size_t from = 0; from < all.size();) {
    std::size_t to = from;
    while (to < all.size() && all[to].step == all[from].step) ++to;
    tell(all[from].step, all.subspan(from, to - from));
    from = to;
  }
}

std::vector<model::Collective> kinds_of(std::span<const Submit> step) {
  std::vector<model::Collective> kinds;
  for (const Submit& s : step) kinds.push_back(s.kind);
  return kinds;
}

/// What most steps are like.
std::vector<model::Collective> usual_kinds(std::span<const Submit> all) {
  std::map<std::vector<model::Collective>, std::int64_t> shapes;
  by_step(all, [&](std::int64_t, std::span<const Submit> step) { ++shapes[kinds_of(step)]; });
  const auto most = std::max_element(shapes.begin(), shapes.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == shapes.end() ? std::vector<model::Collective>{} : most->first;
}

}  // namespace

Submits submits_before(const Matched& matched, std::int32_t waits) {
  const std::vector<Group>& groups = matched.operations().groups;
  const Group& of_waits = groups[static_cast<std::size_t>(waits)];
  const std::int32_t group = of_waits.comm < 0 ? -1 : find_group(groups, false, of_waits.comm, 0);
  if (group < 0 || groups[static_cast<std::size_t>(group)].members != of_waits.members ||
      of_waits.members.empty())
    return {};
  const auto steps = static_cast<std::size_t>(matched.steps().count);
  Submits out{.group = group, .kinds = {}, .work = {}};
  for (std::size_t k = 0; k < of_waits.members.size(); ++k) {
    const auto rank = static_cast<std::size_t>(of_waits.members[k]);
    const std::vector<Submit> all = submits_of(matched, rank, of_waits.comm);
    if (k == 0) {
      out.kinds = usual_kinds(all);
      if (out.kinds.size() < 2 ||
          out.kinds.size() * of_waits.members.size() > kMostKept / std::max<std::size_t>(steps, 1))
        return {};
      out.work.assign(out.kinds.size(), std::vector<Duration>(of_waits.members.size() * steps, kUnknown));
    }
    std::size_t alike = 0;
    by_step(all, [&](std::int64_t step, std::span<const Submit> of_step) {
      if (kinds_of(of_step) != out.kinds) return;
      ++alike;
      for (std::size_t n = 0; n < of_step.size(); ++n)
        out.work[n][k * steps + static_cast<std::size_t>(step)] = of_step[n].work;
    });
    if (static_cast<double>(alike) < kMostSteps * static_cast<double>(steps)) return {};
  }
  return out;
}

}  // namespace cox::diagnose
