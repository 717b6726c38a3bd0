// SPDX-License-Identifier: Apache-2.0
#include "learn/answer/servers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "cox/base/number_text.hpp"
#include "cox/base/stats.hpp"
#include "cox/base/units_text.hpp"

#include "learn/answer/text_table.hpp"

namespace cox::learn {
namespace {

constexpr std::size_t kMostRows = 8;

/// Of one server, over all seeds.
struct ServerSum {
  std::size_t server = 0;
  double part = 0, busy = 0, queue = 0;  ///< means
  std::int64_t deepest = 0;
  sync::AgeCounts ages{};
};

std::vector<ServerSum> summed(const WayResult& w) {
  std::vector<ServerSum> all;
  for (const Attempt& a : w.attempts) {
    all.resize(std::max(all.size(), a.servers.size()));
    for (std::size_t s = 0; s < a.servers.size(); ++s) {
      const ServerLoad& load = a.servers[s].load;
      const auto over = static_cast<double>(w.attempts.size());
      all[s].server = s;
      all[s].part += load.part / over;
      all[s].busy += load.busy() / over;
      all[s].queue += load.queue() / over;
      all[s].deepest = std::max(all[s].deepest, load.deepest);
      all[s].ages.merge(a.servers[s].ages);
    }
  }
  return all;
}

}  // namespace

void add_servers(const Comparison& c, std::vector<TextLine>& lines) {
  bool any = false;
  for (const WayResult& w : c.ways) {
    std::vector<ServerSum> all = summed(w);
    if (all.empty()) continue;
    const std::size_t left_out = all.size() - std::min(all.size(), kMostRows);
    if (left_out > 0) {
      std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.busy > b.busy; });
      all.resize(kMostRows);
    }
    lines.push_back(fmt::format("servers of {}{}:", w.way.name,
                                left_out > 0
                                    ? fmt::format(", the {} busiest of {}", kMostRows,
                                                  grouped(static_cast<std::int64_t>(kMostRows + left_out)))
                                    : ""));
    std::vector<std::vector<std::string>> rows{
        {"server", "load", "busy", "queue", "deepest", "age p50", "p99", "largest"}};
    for (const ServerSum& s : all)
      rows.push_back({std::to_string(s.server), percent(s.part), percent(s.busy),
                      fmt::format("{:.2f}", s.queue), grouped(s.deepest), grouped(s.ages.quantile(0.5)),
                      grouped(s.ages.quantile(0.99)), grouped(s.ages.largest())});
    for (TextLine& line : text_table(rows)) lines.push_back(std::move(line));
    any = true;
  }
  if (!any) return;
  lines.emplace_back(
      "load: of the bytes of all updates; busy: its port, or applying; queue: updates that wait");
  lines.emplace_back();
}

void add_pace_of_servers(const WayResult& w, std::vector<TextLine>& lines) {
  const std::vector<ServerSum> all = summed(w);
  if (all.size() < 2) return;
  const auto hot = std::ranges::max_element(all, {}, &ServerSum::busy);
  double others = 0;
  for (const ServerSum& s : all) others += &s == &*hot ? 0 : s.busy / static_cast<double>(all.size() - 1);
  constexpr double kSetsThePace = 0.9;
  if (hot->busy < kSetsThePace || others > hot->busy / 2) return;
  lines.push_back(fmt::format("{}: server {} sets the pace: busy {} of the time, the others {} in the mean",
                              w.way.name, hot->server, percent(hot->busy), percent(others)));
}

bool unserved(const WayResult& w) {
  return w.way.server.standby == Standby::None &&
         std::ranges::any_of(w.attempts, [](const Attempt& a) { return a.death.has_value(); });
}

void add_death(const WayResult& w, std::vector<TextLine>& lines) {
  if (!(w.way.server.dies > Seconds{}) || !w.refused.empty()) return;
  const ServerDeath* served = nullptr;
  const Attempt* without = nullptr;  // where nobody took over
  std::int64_t least = 0, most = 0, died = 0, served_again = 0;
  for (const Attempt& a : w.attempts) {
    if (!a.death) continue;
    ++died;
    if (!a.death->served_again) {
      without = without == nullptr ? &a : without;
      continue;
    }
    ++served_again;
    least = served == nullptr ? a.death->lost : std::min(least, a.death->lost);
    most = std::max(most, a.death->lost);
    served = &*a.death;
  }
  const auto seeds = static_cast<std::int64_t>(w.attempts.size());
  const auto on = [&](std::int64_t some) {
    return some < seeds ? fmt::format(" on {} of {} seeds", grouped(some), grouped(seeds)) : std::string();
  };
  if (died == 0)
    lines.push_back(fmt::format("{}: server {} did not die: every run was over before {}", w.way.name,
                                w.way.server.dead, to_string(w.way.server.dies)));
  if (served != nullptr)
    lines.push_back(fmt::format(
        "{}: server {} died at {}{}, its standby served from {} on; updates lost: {}{}", w.way.name,
        served->server, to_string(served->at), on(served_again), to_string(*served->served_again),
        grouped(least), least < most ? " to " + grouped(most) : ""));
  if (without == nullptr) return;
  const ServerDeath& death = *without->death;
  if (w.way.server.standby == Standby::None)
    lines.push_back(fmt::format("{}, seed {}: server {} died at {}, version {}, and has no standby",
                                w.way.name, without->seed, death.server, to_string(death.at),
                                grouped(death.version)));
  else
    lines.push_back(fmt::format("{}: server {} died at {}{}, and the run was over before its standby served",
                                w.way.name, death.server, to_string(death.at), on(died - served_again)));
}

Json json_of(const ServerDeath& death) {
  return {{"server", death.server},
          {"time_s", death.at.count()},
          {"version", death.version},
          {"served_again_s", death.served_again ? Json(death.served_again->count()) : Json(nullptr)},
          {"lost_updates", death.lost}};
}

Json json_of(const std::vector<ServerResult>& servers) {
  Json all = Json::array();
  for (const ServerResult& s : servers)
    all.push_back({{"updates", s.load.pieces},
                   {"load_share", s.load.part},
                   {"busy_share", s.load.busy()},
                   {"mean_queue", s.load.queue()},
                   {"deepest_queue", s.load.deepest},
                   {"mean_age", s.ages.mean()},
                   {"p50_age", s.ages.quantile(0.5)},
                   {"p99_age", s.ages.quantile(0.99)},
                   {"largest_age", s.ages.largest()}});
  return all;
}

}  // namespace cox::learn
