// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <utility>

#include "diagnose/match/span_math.hpp"
#include "diagnose/pacing/iterations.hpp"
#include "diagnose/pacing/record.hpp"

namespace cox::diagnose {
namespace {

RankPacing pacing_of(const trace::RankTrack& track, const GroupMember& m) {
  RankPacing p;
  p.rank = track.rank;
  for (const PaceEntry& e : m.entries) {
    p.mode = static_cast<pace::Mode>(e.mode);
    const Duration served = e.end - e.begin;
    if (served > Duration::zero()) {
      ++p.delays;
      add_to(p.delayed, served);
      add_to(p.decided, e.decision.delay);
      p.longest = std::max(p.longest, served);
    }
    if (!p.changes.empty() && p.changes.back().decision.reason == e.decision.reason &&
        p.changes.back().decision.state == e.decision.state)
      continue;
    p.changes.push_back({e.step, e.begin, e.decision, e.gain_ratio});
  }
  return p;
}

/// The settings that the first rank recorded which did; they are alike on all of a job.
void read_settings(const Matched& matched, PacingRecord& record) {
  for (const trace::RankTrack& track : matched.tracks()) {
    for (const trace::LocalityFact& fact : track.locality) {
      if (fact.path != kPaceSettingsFact) continue;
      pace::Settings settings;
      if (fact.value.empty() || pace::set_all(settings, fact.value.c_str()) >= 0) continue;
      record.settings = settings;
      record.settings_text = fact.value;
      return;
    }
  }
}

}  // namespace

std::optional<PacingRecord> read_pacing(const Matched& matched) {
  if (!has_pace_records(matched)) return std::nullopt;
  PacingRecord record;
  read_settings(matched, record);
  const std::optional<GroupIterations> g = find_group_iterations(matched, record.settings);
  if (!g || !g->paced) return std::nullopt;
  record.group = g->comm;
  record.group_name = g->name;
  record.iterations = static_cast<std::int64_t>(g->count);
  for (const GroupMember& m : g->members) {
    if (m.entries.empty()) continue;
    record.ranks.push_back(pacing_of(matched.track(m.track), m));
    record.mode = record.ranks.back().mode;
    record.delays += record.ranks.back().delays;
    add_to(record.delayed, record.ranks.back().delayed);
  }
  if (record.settings_text.empty()) record.settings.mode = record.mode;
  return record;
}

}  // namespace cox::diagnose
