// SPDX-License-Identifier: Apache-2.0
#include "forecast/levers/stated_levers.hpp"

#include <algorithm>
#include <utility>

namespace cox::forecast {
namespace {

/// Communication without one of its terms.
void take_away(PartsCase& c, const StatedTerm& term, int ranks_per_node) {
  change_rest(c, [term, each = static_cast<double>(ranks_per_node)](TimeEstimate out, std::int64_t ranks) {
    const Seconds less = term.at_nodes(std::max(static_cast<double>(ranks) / each, 1.0));
    for (Seconds* one : {&out.value, &out.low, &out.high}) *one = std::max(*one - less, Seconds{});
    return out;
  });
}

void steady(PartsCase& c) {
  for (PositionParts& p : c.parts.positions) p.residual = Law();
}

}  // namespace

std::vector<PartLever> stated_levers(const StatedJob& stated) {
  std::vector<PartLever> out;
  for (const StatedTerm& t : stated.terms) {
    if (t.lever.name.empty()) continue;
    PartLever lever{
        .name = t.lever.name, .does = t.lever.does, .part = t.lever.name, .why_not = {}, .apply = {}};
    if (t.of == TermOf::Waiting)
      lever.apply = steady;
    else
      lever.apply = [term = t, each = stated.ranks_per_node](PartsCase& c) { take_away(c, term, each); };
    out.push_back(std::move(lever));
  }
  if (stated.control && !stated.control->lever.empty())
    out.push_back({.name = stated.control->lever,
                   .does = stated.control->what,
                   .part = stated.control->lever,
                   .why_not = {},
                   .apply = [with = stated.control->failures](PartsCase& c) {
                     if (!c.failing) return;
                     c.failing->failures.node_mtbf = with.node_mean_time;
                     c.failing->failures.restart = with.restart;
                     c.failing->failures.restart_per_node = with.restart_per_node;
                     c.failing->failures.checkpoint = with.checkpoint;
                   }});
  return out;
}

}  // namespace cox::forecast
