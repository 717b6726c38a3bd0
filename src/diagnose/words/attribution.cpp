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

std::string clause_of(const ChargeNote& note) {
  const char* s = note.operations == 1 ? "" : "s";
  switch (note.kind) {
    case ChargeNote::Kind::UnnamedPeers:
      return "waits for a peer that the input does not name are charged to nobody";
    case ChargeNote::Kind::PeersUnclocked:
      return "waits for single peers need a common clock to be charged; here they are to nobody";
    case ChargeNote::Kind::Incomplete:
      return fmt::format(
          "{} operation{} of which it is not known who came last: a member's call, or when it came, "
          "is not in the record",
          note.operations, s);
    case ChargeNote::Kind::Contradictory:
      return fmt::format("{} operation{} in another order on some of the members", note.operations, s);
    case ChargeNote::Kind::Tangled:
      return "groups overlap so much that some waits were not followed to their cause";
    case ChargeNote::Kind::TooMany:
      return "too many operations to be numbered";
  }
  return {};
}

std::optional<std::string> refusal_of(const Attribution& a) {
  if (!a.refused) return std::nullopt;
  switch (*a.refused) {
    case ChargeRefusal::EndsApart:
      return fmt::format(
          "clocks differ and members do not leave together: the spread of ends is {:.2f} of the spread of "
          "begins, above {:.1f} durations do not say who was late",
          a.validity_ratio, kWorstValidity);
    case ChargeRefusal::TooMany:
      return "the Run holds more operations than can be numbered (2^31)";
  }
  return std::nullopt;
}

std::vector<std::string> describe(const Attribution& a, Whom whom) {
  std::vector<std::string> lines;
  if (const auto refusal = refusal_of(a)) return {"Who made whom wait: not told. " + *refusal + "."};
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
  for (const ChargeNote& note : a.notes) lines.push_back("Not used: " + clause_of(note) + ".");
  return lines;
}

}  // namespace cox::diagnose
