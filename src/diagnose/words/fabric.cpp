// SPDX-License-Identifier: Apache-2.0
#include "diagnose/fabric/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"

#include "diagnose/words/sentences.hpp"

namespace cox::diagnose {
namespace {

constexpr std::size_t kToldGroups = 5;

std::string join(const std::vector<Component>& components) {
  std::string text;
  for (const Component& c : components) text += (text.empty() ? "" : " and ") + name_of(c);
  return text;
}

std::string alternatives_of(const Fabric& f) {
  constexpr std::size_t kTold = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(kTold, f.alternatives.size()); ++i)
    text += (i == 0 ? "" : "; or ") + join(f.alternatives[i]);
  if (f.alternatives.size() > kTold) text += fmt::format("; or {} more", f.alternatives.size() - kTold);
  return text;
}

std::string first_line(const Fabric& f) {
  const auto share = [&] {
    return fmt::format("{} of {} across hosts", f.slow_groups.size(),
                       counted(static_cast<std::int64_t>(f.crossing), "group"));
  };
  switch (f.verdict) {
    case FabricVerdict::NoData:
      return "Fabric: no group that crosses hosts was timed often enough to say anything.";
    case FabricVerdict::Alone:
      return fmt::format(
          "Fabric: cannot be located: of the {} groups across hosts fewer than three are alike, so none "
          "can be held against others.",
          f.crossing);
    case FabricVerdict::Healthy:
      return fmt::format("Fabric: none of {} across hosts is slower than those alike.",
                         counted(static_cast<std::int64_t>(f.crossing), "group"));
    case FabricVerdict::Located:
      return fmt::format("Fabric: {} are slow ({:.2f} times the usual transfer); all of them use: {}.",
                         share(), f.slow_ratio, join(f.components));
    case FabricVerdict::Ambiguous:
      return fmt::format("Fabric: {} are slow ({:.2f} times the usual transfer); cannot tell apart: {}.",
                         share(), f.slow_ratio, alternatives_of(f));
    case FabricVerdict::Unexplained:
      return fmt::format(
          "Fabric: {} are slow ({:.2f} times the usual transfer), and no three parts of the fabric explain "
          "all of them.",
          share(), f.slow_ratio);
    case FabricVerdict::SlowMember:
      return fmt::format("Not the fabric: {} are slow and use {}, but groups within the host are as slow.",
                         share(), join(f.components));
  }
  return {};
}

}  // namespace

std::vector<std::string> describe(const Fabric& f) {
  std::vector<std::string> lines{first_line(f)};
  if (f.member_test == MemberTest::Refuted)
    lines.emplace_back("Held against a slow member: its groups within the host are as fast as others.");
  if (f.member_test == MemberTest::NoData)
    lines.emplace_back("Not held against a slow member: no groups within the host to compare.");
  std::size_t told = 0;
  for (const GroupTransfer& g : f.groups) {
    if (g.hosts < 2 || !g.slow() || told++ >= kToldGroups) continue;
    std::string line = fmt::format("Group {} ({} on {} hosts): {:.2f} times the transfer of {} alike", g.name,
                                   counted(static_cast<std::int64_t>(g.ranks.size()), "rank"), g.hosts,
                                   g.slow_ratio, g.alike);
    if (g.slow_sometimes)
      line += fmt::format("; in {} of its operations {:.1f} times its own usual", percent(g.dip_ratio),
                          g.dip_depth);
    if (!g.sizes.empty())
      line += fmt::format("; at best {} at {}", to_string(g.sizes.front().best_busbw),
                          to_string(g.sizes.front().bytes));
    lines.push_back(line + ".");
  }
  return lines;
}

}  // namespace cox::diagnose
