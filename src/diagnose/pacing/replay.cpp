// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <utility>
#include <vector>

#include "cox/base/number_text.hpp"
#include "cox/base/spelling.hpp"
#include "cox/pace/controller.hpp"

#include "diagnose/match/span_math.hpp"
#include "diagnose/pacing/iterations.hpp"
#include "diagnose/pacing/pace_facts.hpp"
#include "diagnose/pacing/record.hpp"

namespace cox::diagnose {
namespace {

/// Times in a Run are rounded to its clock, and those of a counter go through a line fitted to it.
constexpr Duration kRounding = std::chrono::microseconds{1};
constexpr std::int64_t kRoundingPart = 100;

bool same_delay(Duration a, Duration b) {
  const Duration apart = a > b ? a - b : b - a;
  return apart <= kRounding + std::max(a, b) / kRoundingPart;
}

bool same_kind(const pace::Decision& a, const pace::Decision& b) {
  return a.reason == b.reason && a.state == b.state;
}

/// A record says when the reason changes and when a delay is served; in between it stays, without a delay.
void compare(const SeenIteration& recorded, const pace::Decision& replayed, PaceReplay& out) {
  if (recorded.reason == kNoReason) return;
  ++out.compared;
  if (out.difference) return;
  pace::Decision expected = recorded.recorded;
  if (!recorded.told)
    expected = {Duration::zero(), static_cast<pace::Reason>(recorded.reason), replayed.state};
  if (!same_kind(expected, replayed) || !same_delay(expected.delay, replayed.delay))
    out.difference = PaceDifference{recorded.step, recorded.begin, expected, replayed};
}

void show(const SeenIteration& i, pace::Controller& controller) {
  for (std::uint32_t g = 0; g < pace::Controller::kOtherGroups; ++g)
    if ((i.other_groups >> g & 1U) != 0) controller.observe_other(g, i.others[g]);
  controller.observe({.step = i.step,
                      .work = minus_clamped(minus_clamped(minus_clamped(i.end, i.begin), i.delayed), i.sync),
                      .sync = i.sync,
                      .transfer = i.transfer,
                      .delayed = i.delayed});
}

PaceReplay replay_member(const Matched& matched, const GroupIterations& g, const GroupMember& m,
                         const pace::Settings& settings, const ReplayOptions& options, bool open_loop) {
  pace::Controller controller(settings, m.place, g.size);
  PaceReplay out;
  out.rank = matched.rank(m.track);
  out.mode = settings.mode;
  out.open_loop = open_loop;
  for (std::size_t i = 0; i < m.seen.size(); ++i) {
    show(m.seen[i], controller);
    ++out.observations;
    const pace::Decision& now = controller.decide();
    if (const auto state = static_cast<std::size_t>(now.state); state < std::size(out.in_state))
      ++out.in_state[state];
    // What was decided after the last whole iteration is not compared: it may have been cut off.
    if (!open_loop && i + 1 < m.seen.size()) compare(m.seen[i + 1], now, out);
    if (options.every_iteration || out.decisions.empty() || !same_kind(out.decisions.back().decision, now))
      out.decisions.push_back({m.seen[i].step + 1, m.seen[i].end, now, controller.evidence()});
  }
  out.last = controller.decide();
  out.evidence = controller.evidence();
  return out;
}

/// Whether the guest saw an accelerator: a fact of the process, and its decisions say so.
bool saw_launch_ahead(const trace::RankTrack& track, const GroupMember& m) {
  for (const trace::LocalityFact& fact : track.locality)
    if (fact.path == "cox/pace/launch_ahead") return true;
  return std::any_of(m.entries.begin(), m.entries.end(),
                     [](const PaceEntry& e) { return e.decision.reason == pace::Reason::LaunchAhead; });
}

/// Part of each rank's iterations that it was inside the group's synchronisations.
std::vector<double> time_inside(const Matched& matched, const GroupIterations& g) {
  std::vector<double> out(matched.ranks(), 0);
  for (const GroupMember& m : g.members) {
    double inside = 0;
    double all = 0;
    for (const SeenIteration& i : m.seen) {
      inside += in_seconds(i.sync);
      all += in_seconds(minus_clamped(i.end, i.begin));
    }
    if (all > 0) out[m.track] = inside / all;
  }
  return out;
}

/// What a Run has measured needs no advice from elsewhere. And what it cannot tell (which part of a wait is
/// transfer, whether ranks share a link) is no reason to leave everything as it is.
std::vector<pace::Advice> find_advice(const Matched& matched, const Pacing& p,
                                      std::span<const double> inside) {
  std::vector<pace::Advice> out;
  const pace::Facts facts = facts_of(matched, p, inside);
  const bool is_open = p.transfer || (facts.persistent && !facts.launch_ahead);
  const pace::AdviceList list = pace::advise(facts);
  for (const pace::Advice& a : list.items()) {
    const bool is_nothing = a.remedy == pace::AdviceKind::Nothing;
    if (p.comparison && (is_nothing || a.remedy == pace::AdviceKind::Delay)) continue;
    if (is_open && is_nothing) continue;
    out.push_back(a);
  }
  return out;
}

Error no_group(const Matched& matched) {
  return Error{.code = Errc::InvalidInput,
               .id = "pace-001",
               .message = fmt::format(
                   "no group to replay: there {} {} and {}, expected two ranks that synchronise with each "
                   "other at least five times",
                   matched.ranks() == 1 ? "is" : "are",
                   cox::counted(static_cast<std::int64_t>(matched.ranks()), "rank", "ranks"),
                   cox::counted(std::ssize(matched.communicators()), "communicator", "communicators")),
               .hint = "see what was recorded: cox diagnose PATH",
               .where = {}};
}

}  // namespace

Result<std::vector<PaceReplay>> replay_pacing(const Matched& matched, const ReplayOptions& options) {
  const std::optional<PacingRecord> record = read_pacing(matched);
  const bool as_recorded = record && !record->settings_text.empty() && !options.settings;
  pace::Settings settings;
  settings.mode = pace::Mode::Auto;
  if (as_recorded) settings = record->settings;
  if (options.settings) settings = *options.settings;
  const std::optional<GroupIterations> g = find_group_iterations(matched, settings);
  if (!g) return fail(no_group(matched));
  std::vector<PaceReplay> out;
  for (const GroupMember& m : g->members) {
    if (options.rank && matched.rank(m.track) != *options.rank) continue;
    pace::Settings own = settings;
    own.launch_ahead = own.launch_ahead || saw_launch_ahead(matched.track(m.track), m);
    const bool late = m.seen.front().step > 0;
    out.push_back(replay_member(matched, *g, m, own, options, !as_recorded || m.entries.empty() || late));
    out.back().begins_late = late;
  }
  if (out.empty())
    return fail(Error{
        .code = Errc::InvalidInput,
        .id = "pace-002",
        .message = fmt::format("rank {} is not in the group `{}`, expected one of its {} ranks",
                               options.rank ? options.rank->value() : -1, shown(g->name), g->members.size()),
        .hint = "leave --rank out to see all of them",
        .where = {}});
  return out;
}

Result<Pacing> understand_pacing(const Matched& matched, const ReplayOptions& options,
                                 const Matched* baseline) {
  Pacing p;
  p.provenance = matched.provenance();
  p.record = read_pacing(matched);
  COX_TRY(p.replays, replay_pacing(matched, options));
  std::vector<double> inside(matched.ranks(), 0);
  if (const auto g = find_group_iterations(matched, p.record ? p.record->settings : pace::Settings{})) {
    inside = time_inside(matched, *g);
    p.group_name = g->name;
    p.transfer = find_transfer(*g);
  }
  if (baseline != nullptr) {
    p.comparison = compare_runs(*baseline, matched);
    if (const auto before = read_pacing(*baseline); before && before->delays > 0)
      p.baseline_mode = before->mode;
  } else if (p.record) {
    p.comparison = compare_blocks(matched, *p.record);
  }
  if (!options.rank) p.advice = find_advice(matched, p, inside);  // of one rank nothing follows for the job
  return p;
}

}  // namespace cox::diagnose
