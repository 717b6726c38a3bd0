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

}  // namespace

std::vector<std::string> describe(const Attribution& a, Whom whom) {
  std::vector<std::string> lines;
  if (!a.refused.empty()) return {"Who made whom wait: not told. " + a.refused + "."};
  if (a.waited <= Duration::zero()) return {"Who made whom wait: nobody waited for anybody."};
  const auto part = [&](Duration d) { return ratio(d, a.waited); };
  lines.push_back(fmt::format(
      "Ranks waited {} in all: {} for the own work of others, {} for transfers, {} carried in, {} unknown{}.",
      to_string(a.waited), percent(part(a.charged)), percent(part(a.communication)),
      percent(part(a.carried_in)), percent(part(a.unknown)),
      a.balanced ? " (adds up exactly)" : " (does NOT add up: a bug)"));
  if (a.amplification > 0)
    lines.push_back(fmt::format("A second of own delay cost {:.2f} s of waiting (self-delay {} in all).",
                                a.amplification, to_string(a.self_delay)));
  std::vector<const RankCharge*> order;
  for (const RankCharge& r : a.ranks)
    if (r.cost() > Duration::zero()) order.push_back(&r);
  std::stable_sort(order.begin(), order.end(),
                   [&](const RankCharge* x, const RankCharge* y) { return x->cost() > y->cost(); });
  constexpr std::size_t kToldRanks = 5;
  for (std::size_t i = 0; whom == Whom::Ranks && i < std::min(order.size(), kToldRanks); ++i) {
    const RankCharge& r = *order[i];
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
