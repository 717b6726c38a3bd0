// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"
#include "cox/forecast/ratios.hpp"

#include "forecast/answer/structure_detail.hpp"
#include "forecast/regimes/amplification.hpp"

namespace cox::forecast {
namespace {

using Lines = std::vector<std::string>;

constexpr double kStandsOut = 2;       ///< as often last as the others are on average
constexpr double kTold = 0.005;        ///< a part of less is not worth a line
constexpr std::size_t kMostNodes = 3;  ///< told, of those that most follows
constexpr double kTrend = 0.05;        ///< by chance: less is told as a trend

std::string range(const Proportion& p) {
  return fmt::format("{} ({} .. {})", percent(p.value), percent(p.low), percent(p.high));
}

bool stands_out(const UnitPace& unit, std::size_t of) {
  if (of < 2 || unit.critical.low >= 1) return of >= 2;
  return unit.critical.low / (1 - unit.critical.low) > kStandsOut / static_cast<double>(of - 1);
}

std::string change(const diagnose::ChangePoint& c) {
  return fmt::format("steps take {} instead of {} from step {} on ({} .. {})", to_string(c.after),
                     to_string(c.before), grouped(c.first_step.value()), grouped(c.earliest_step.value()),
                     grouped(c.latest_step.value()));
}

std::string restarts(const RestartTest& r) {
  return fmt::format("after {} restarts steps are {:.2f} times as unsteady as before ({:.2f} .. {:.2f}): {}",
                     r.restarts, r.ratio, r.low, r.high, name_of(r.verdict));
}

std::string warning(const EarlyWarning& w) {
  std::string what;
  const auto add = [&](const char* figure, const Trend& trend) {
    if (trend.chance <= kTrend / 2)
      what += fmt::format("{}{} (by chance {})", what.empty() ? "" : ", ", figure, percent(trend.chance));
  };
  add("the spread of steps grows", w.spread_rises);
  add("own work remembers more", w.memory_rises);
  if (w.margin_falls) add("the margin shrinks", *w.margin_falls);
  return fmt::format("{} over {} windows of {} steps; 1 steady run in 20 warns", what, w.windows,
                     grouped(w.steps));
}

void add_pace(Lines& out, const Structure& s) {
  out.push_back(fmt::format(
      "structure: {} synchronisations; a step is {:.3g} times one rank's own work and communication",
      grouped(s.synchronisations), s.amplification));
  out.push_back(fmt::format(
      "pace: set as if by {:.3g} of {} ranks; the last rank changes in {} of the steps, {} if steps were independent",
      s.who.effective, s.ranks.size(), percent(s.who.moves.value), percent(s.who.moves_if_free)));
  const auto tell = [&](const char* what, const std::vector<UnitPace>& units) {
    const UnitPace* u = units.size() > 1 ? last_most_often(units) : nullptr;
    if (u == nullptr) return;
    out.push_back(fmt::format("pace: {} {} is last most often, {}; elasticity {:.3f}", what, u->unit,
                              range(u->critical), u->elasticity));
  };
  tell("rank", s.ranks);
  tell("node", s.nodes);
  tell("role", s.roles);
  for (const Dependence& d : s.depends)
    if (d.beyond_chance())
      out.push_back(fmt::format("pace: who is last depends on {} (by chance {})", d.on, percent(d.chance)));
}

void add_laws(Lines& out, const StructureDetail& d) {
  for (const CriticalRank& c : d.critical)
    out.push_back(fmt::format("by law: rank {} is last with {}; counted {}", c.rank, percent(c.by_law),
                              range(c.counted)));
  if (d.near_ties > 0 && d.critical.size() > 1)
    out.push_back(fmt::format("by law: ranks {} and {} are coupled by {:.3g} /s", d.critical[0].rank,
                              d.critical[1].rank, d.near_ties));
}

void add_follows(Lines& out, const Structure* s, const StructureDetail& d) {
  if (s != nullptr && s->parts.size() > 2)
    for (const PartElasticity& p : s->parts)
      out.push_back(fmt::format("follows {}: {}, counted", p.to, range(p.value)));
  for (const TwoElasticities& t : d.follows)
    out.push_back(fmt::format("follows {}: counted {}, by twins {}: {} apart", t.to, range(t.counted),
                              percent(t.by_twins), percent(std::abs(t.difference()))));
  std::vector<TwinElasticity> twins = d.twins;
  const auto is_node = [](const TwinElasticity& t) { return t.part == TwinPart::NodeWork; };
  const auto nodes = std::ranges::stable_partition(twins, std::not_fn(is_node));
  std::ranges::stable_sort(nodes, std::greater<>{}, &TwinElasticity::value);
  if (nodes.size() > kMostNodes) twins.resize(twins.size() - nodes.size() + kMostNodes);
  for (const TwinElasticity& t : twins)
    if (std::abs(t.value) >= kTold)
      out.push_back(fmt::format("follows {}: {:.3f}{} by twins", t.to, t.value,
                                t.half_width > 0 ? fmt::format(" ± {:.3f}", t.half_width) : ""));
}

void add_delay(Lines& out, const StructureDetail& d) {
  if (!(d.delay > Seconds{})) return;
  const std::string what = to_string(d.delay);
  if (d.kept)
    out.push_back(fmt::format(
        "delay: of {} that one rank loses once, {} stays for good; of a single one {} .. {}, nine times of ten",
        what, range(d.kept->kept), percent(d.kept->one_low), percent(d.kept->one_high)));
  if (d.simulated) {
    const Decay& k = d.simulated->decay;
    std::string later = k.lasts ? "it lasts"
                        : k.half_life > 0
                            ? fmt::format("half of that is left after {:.0f} steps", k.half_life)
                            : fmt::format("{} is left at the end", percent(k.last));
    if (k.shared) later += "; more comes out than was put in: something is shared";
    out.push_back(fmt::format("delay: of {} that rank {} loses once, {} passes the step beside its twin; {}",
                              what, d.simulated->rank, percent(k.first), later));
  }
  std::string by_size;
  for (const StructureAtSize& s : d.sizes)
    if (s.spare > 0)
      by_size += fmt::format("{}{} of {}", by_size.empty() ? "" : ", ", percent(s.kept), grouped(s.ranks));
  if (!by_size.empty())
    out.push_back("delay: what stays of it by law, where one rank is delayed: " + by_size);
}

std::string coupling(Waits waits) {
  switch (waits) {
    case Waits::OneSide:
      return "neighbours of one side";
    case Waits::TwoSides:
      return "neighbours";
    case Waits::Groups:
      return "groups beside each other";
    case Waits::Stages:
      return "stages of a pipeline";
    case Waits::Bounded:
      return "workers, some steps ahead";
    case Waits::All:
      break;
  }
  return "all";
}

void add_waves(Lines& out, const StructureDetail& d) {
  for (const CoupledWave& w : d.waves) {
    if (w.wave.kept.front() < kTold) continue;
    std::string line =
        fmt::format("were they {}: {} of the delay passes", coupling(w.waits), percent(w.wave.kept.front()));
    if (w.wave.half_life > 0)
      line += fmt::format(", half of that is left after {:.0f} steps", w.wave.half_life);
    if (w.wave.speed > 0) line += fmt::format(", {:.2g} a step", w.wave.speed);
    if (w.wave.extinction > 0) line += fmt::format(", gone {:.0f} on", std::ceil(w.wave.extinction));
    out.push_back(line);
  }
}

void add_sizes(Lines& out, const StructureDetail& d) {
  if (d.sizes.empty()) return;
  const StructureAtSize& s = d.sizes.back();
  if (!std::isfinite(s.added.whole)) {
    out.push_back(fmt::format("longer: at {} ranks: times are too short to be told", grouped(s.ranks)));
    return;
  }
  std::string line =
      fmt::format("longer: at {} ranks a sample takes {:.3g} times as long", grouped(s.ranks), s.added.whole);
  for (const Amplification::Share& share : s.added.by)
    if (std::abs(share.added) >= kTold) line += fmt::format("; {:+.2f} {}", share.added, share.mechanism);
  out.push_back(line);
  if (s.spare > 0)
    out.push_back(fmt::format("longer: the slowest of {} ranks works {}, without the slowest {} {}",
                              grouped(s.ranks), to_string(s.longest), grouped(s.spare),
                              to_string(s.without_slowest)));
}

void add_over_time(Lines& out, const OverTime& o) {
  if (o.windows.empty()) {
    out.emplace_back("over time: the run is too short for its memory: no windows, no warning");
  } else {
    for (const FigureTrend& t : o.trends)
      if (t.first > 0 || t.last > 0)
        out.push_back(fmt::format("over time: {} from {:.4g} to {:.4g} in {} windows (trend by chance {})",
                                  t.figure, t.first, t.last, o.windows.size(), percent(t.chance)));
    if (!o.warning.margin.empty())
      out.push_back(
          fmt::format("over time: {:.3g} times the jitter would bend it at first, {:.3g} times at last",
                      std::exp(o.warning.margin.front()), std::exp(o.warning.margin.back())));
  }
  for (const diagnose::ChangePoint& c : o.changes) out.push_back("over time: " + change(c));
  if (o.restarts.restarts > 0) out.push_back("over time: " + restarts(o.restarts));
  if (o.warning.windows > 0)
    out.push_back("warning: " + (o.warning.alarm ? warning(o.warning)
                                                 : std::string("none; 1 steady run in 20 would have one")));
}

void add_margins(Lines& out, const Margins& m, std::int64_t at) {
  for (const Margin& one : m.alone) {
    if (!one.factor) continue;
    const auto end = [](const std::optional<double>& x) {
      return x ? fmt::format("{:.2g}", *x) : std::string("none");
    };
    const bool less = one.low && one.high ? *one.high < *one.low : *one.factor < 1;
    const std::string band = one.banded ? fmt::format(" ({} .. {})", end(less ? one.high : one.low),
                                                      end(less ? one.low : one.high))
                                        : std::string();
    out.push_back(
        fmt::format("margin of {} ranks{}: {} x {:.2g}{}{}{}", grouped(at), m.crossed ? ", the way back" : "",
                    one.name, *one.factor, band,
                    one.beyond > 0 ? fmt::format(", {} of the draws have none", percent(one.beyond)) : "",
                    one.within_error ? ", less than its own error" : ""));
  }
}

}  // namespace

std::vector<std::string> structure_lines(const FullForecast& f) {
  Lines out;
  if (f.structure) {
    const UnitPace* rank = last_most_often(f.structure->ranks);
    if (rank != nullptr && stands_out(*rank, f.structure->ranks.size()))
      out.push_back(fmt::format("pace: rank {} is last at {} of the synchronisations", rank->unit,
                                range(rank->critical)));
  }
  if (!f.over_time) return out;
  const OverTime& o = *f.over_time;
  if (!o.changes.empty()) {
    const auto most = std::ranges::max_element(
        o.changes, {}, [](const diagnose::ChangePoint& c) { return std::abs(c.shift_ratio); });
    out.push_back("change: " + change(*most) +
                  (o.changes.size() > 1 ? fmt::format(", the largest of {}", o.changes.size()) : ""));
  }
  if (o.restarts.verdict == AfterRestart::Higher || o.restarts.verdict == AfterRestart::Lower)
    out.push_back("change: " + restarts(o.restarts));
  if (o.warning.alarm) out.push_back("warning: " + warning(o.warning));
  return out;
}

std::vector<std::string> structure_detail_lines(const FullForecast& f) {
  Lines out;
  if (!f.detail) return out;
  if (f.structure) add_pace(out, *f.structure);
  add_laws(out, *f.detail);
  add_follows(out, f.structure ? &*f.structure : nullptr, *f.detail);
  add_delay(out, *f.detail);
  add_waves(out, *f.detail);
  add_sizes(out, *f.detail);
  if (f.margins) add_margins(out, *f.margins, f.margins_at);
  if (f.over_time) add_over_time(out, *f.over_time);
  for (const std::string& note : f.detail->notes) out.push_back("note: " + note);
  return out;
}

}  // namespace cox::forecast
