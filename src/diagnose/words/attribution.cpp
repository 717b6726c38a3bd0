// SPDX-License-Identifier: Apache-2.0
#include "diagnose/charge/attribution.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"

#include "diagnose/words/sentences.hpp"

namespace cox::diagnose {
namespace {

/// Of all waiting, what an activity must have caused to be told.
constexpr double kToldPart = 0.05;
/// Of all waiting, what a kind of it or a rank must make up to be told.
constexpr double kWorthSaying = 0.01;

}  // namespace

std::vector<std::string> describe(const Attribution& a, Whom whom) {
  std::vector<std::string> lines;
  if (!a.refused.empty()) return {"Who made whom wait: not told. " + a.refused + "."};
  if (a.waited <= Duration::zero()) return {"Who made whom wait: nobody waited for anybody."};
  const auto part = [&](Duration d) { return ratio(d, a.waited); };
  std::string parts;
  const auto add = [&](Duration d, const char* what) {
    if (part(d) >= kWorthSaying)
      parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", percent(part(d)), what);
  };
  add(a.charged, "for the own work of others");
  add(a.communication, "for transfers");
  add(a.carried_in, "carried in");
  add(a.unknown, "unknown");
  lines.push_back(fmt::format("Ranks waited {} in all: {}{}.", to_string(a.waited), parts,
                              a.balanced ? "" : " (does NOT add up: a bug)"));
  // Nobody can make more wait than there are: beyond that the divisor is noise.
  if (a.amplification > 0 && a.amplification <= static_cast<double>(a.ranks.size()))
    lines.push_back(fmt::format("Own delay, {} in all, cost {:.2f} times as much waiting.",
                                to_string(a.self_delay), a.amplification));
  std::vector<const RankCharge*> order;
  for (const RankCharge& r : a.ranks)
    if (r.cost() > Duration::zero()) order.push_back(&r);
  std::stable_sort(order.begin(), order.end(),
                   [&](const RankCharge* x, const RankCharge* y) { return x->cost() > y->cost(); });
  constexpr std::size_t kToldRanks = 5;
  for (std::size_t i = 0; whom == Whom::Ranks && i < std::min(order.size(), kToldRanks); ++i) {
    const RankCharge& r = *order[i];
    if (part(r.cost()) < kWorthSaying) break;
    lines.push_back(fmt::format(
        "Rank {} cost the others {} ({}): {} directly, {} by way of ranks it held up.", r.rank.value(),
        to_string(r.cost()), percent(part(r.cost())), to_string(r.short_term), to_string(r.long_term)));
  }
  if (a.by_activity.size() > 1)
    for (const ActivityCost& x : a.by_activity)
      if (part(x.charged) >= kToldPart)
        lines.push_back(fmt::format("{} of the waiting was for {}.", percent(part(x.charged)), x.name));
  for (const std::string& note : a.notes) lines.push_back("Not used: " + note + ".");
  return lines;
}

}  // namespace cox::diagnose
