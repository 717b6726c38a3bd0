// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"
#include "cox/learn/price.hpp"

#include "learn/answer/json_parts.hpp"
#include "learn/answer/policy_map.hpp"
#include "learn/answer/text_table.hpp"

namespace cox::learn {
namespace {

/// How often a policy is the first.
struct Firsts {
  std::size_t place = 0;  ///< in the order that was asked for
  std::int64_t cells = 0;
  std::int64_t decided = 0;
};

/// Those that are first in some cell, by name.
std::map<std::string, Firsts> firsts_of(const PolicyMap& map, const WaysQuestion& q) {
  std::map<std::string, Firsts> out;
  for (const MapCell& c : map.cells) {
    if (c.best() == nullptr) continue;
    Firsts& f = out[c.best()->way.name];
    ++f.cells;
    f.decided += c.decided() ? 1 : 0;
    f.place = static_cast<std::size_t>(
        std::ranges::find_if(q.ways, [&](const Way& w) { return w.name == c.best()->way.name; }) -
        q.ways.begin());
  }
  return out;
}

/// `A` to `Z`, then `A1` and on.
std::string letter(std::size_t place) {
  constexpr std::size_t kLetters = 26;
  const std::string one(1, static_cast<char>('A' + place % kLetters));
  return place < kLetters ? one : fmt::format("{}{}", one, place / kLetters);
}

std::string ratio_text(double ratio) {
  return ratio > 0 ? fmt::format("{:.3g}", ratio) : std::string();
}

std::string interval_text(const Interval& i) {
  return i.high > 0 ? fmt::format("{:.3g} .. {:.3g}", i.low, i.high) : std::string();
}

/// The map itself: a row for each spread.
void add_grid(const PolicyMap& map, const std::map<std::string, Firsts>& firsts,
              std::vector<TextLine>& lines) {
  std::vector<std::vector<std::string>> rows{{"speeds \\ communication"}};
  for (const double c : map.axes.communication) rows.front().push_back(fmt::format("{:g}", c));
  for (std::size_t i = 0; i < map.cells.size(); ++i) {
    const MapCell& c = map.cells[i];
    if (i % map.axes.communication.size() == 0) rows.push_back({fmt::format("{:g}", c.speeds)});
    if (const WayResult* best = c.best()) {
      const std::string ratio = ratio_text(best->time_ratio);
      rows.back().push_back(fmt::format("{}{}{}{}", letter(firsts.at(best->way.name).place),
                                        ratio.empty() ? "" : " ", ratio, c.decided() ? " " : "?"));
    } else {
      rows.back().push_back("none");
    }
  }
  for (TextLine& line : text_table(rows)) {
    line.text.erase(line.text.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
}

/// Each cell with what its ratio is the product of, and the next one.
void add_cells(const PolicyMap& map, std::vector<TextLine>& lines) {
  std::vector<std::vector<std::string>> rows{{"communication, speeds", "first", "to target", "ratio", "95 %",
                                              "samples", "time each", "next", "next / first, 95 %",
                                              "not apart"}};
  for (const MapCell& c : map.cells) {
    std::vector<std::string> row{fmt::format("{:g}, {:g}", c.communication, c.speeds)};
    if (const WayResult* best = c.best()) {
      const bool baseline = best == &c.made.ways[c.made.baseline];
      row.insert(row.end(), {best->way.name, to_string(best->time), ratio_text(best->time_ratio),
                             baseline ? std::string() : interval_text(best->time_ratio_95),
                             ratio_text(best->samples_ratio), ratio_text(best->sample_time_ratio)});
      const bool more = c.made.ways.size() > 1 && c.made.ways[1].all_reached();
      row.push_back(more ? c.made.ways[1].way.name : "none");
      row.push_back(more ? interval_text(c.made.ways[1].over_first_95) : "");
      row.push_back(grouped(static_cast<std::int64_t>(c.not_told_apart().size())));
    } else {
      row.emplace_back("none");
    }
    rows.push_back(std::move(row));
  }
  for (TextLine& line : text_table(rows)) lines.push_back(std::move(line));
}

void add_notes(const PolicyMap& map, std::vector<TextLine>& lines) {
  std::map<std::string, std::string> refused;
  std::map<std::string, std::int64_t> missed, at_edge;
  for (const MapCell& c : map.cells)
    for (const WayResult& w : c.made.ways) {
      if (!w.refused.empty())
        refused.emplace(w.way.name, w.refused);
      else if (!w.all_reached())
        ++missed[w.way.name];
      if (&w == c.best() && w.at_edge) ++at_edge[w.way.name];
    }
  for (const auto& [name, why] : refused) lines.push_back(fmt::format("{}: {}", name, why));
  for (const auto& [name, cells] : missed)
    lines.push_back(fmt::format("{} did not reach the target on every seed in {}", name,
                                counted(cells, "cell", "cells")));
  for (const auto& [name, cells] : at_edge)
    lines.push_back(fmt::format("{} is first in {} at a rate that is the end of those that were tried", name,
                                counted(cells, "cell", "cells")));
}

}  // namespace

std::vector<TextLine> text_lines(const PolicyMap& map, const model::Scenario& scenario,
                                 const WaysQuestion& q) {
  const Comparison& c = map.cells.front().made;
  std::vector<TextLine> lines;
  lines.push_back(fmt::format("{}: {} workers; {} in {}", scenario.name, grouped(c.workers),
                              counted(static_cast<std::int64_t>(q.ways.size()), "policy", "policies"),
                              counted(static_cast<std::int64_t>(map.cells.size()), "cell", "cells")));
  lines.push_back(fmt::format(
      "communication: a sum of {} over all alone, {}, over computing in a step; as the scenario says {}, {:.3g}",
      to_string(c.gradients), to_string(map.own.communication), to_string(map.own.computation),
      map.own.ratio()));
  lines.emplace_back("speeds: coefficient of variation of the workers' times, lognormal, for good");
  lines.push_back(fmt::format("learned: {}", learned_text(q)));
  lines.push_back(fmt::format("target: loss {:.3g}, from {:.3g}; {} seeds, {} more for the rates", c.target,
                              c.first_loss, q.seeds, q.tuning_seeds));
  lines.emplace_back();
  const std::map<std::string, Firsts> firsts = firsts_of(map, q);
  add_grid(map, firsts, lines);
  std::vector<std::pair<std::string, Firsts>> named(firsts.begin(), firsts.end());
  std::ranges::sort(named, {}, [](const auto& f) { return f.second.place; });
  std::int64_t decided = 0;
  for (const auto& [name, f] : named) {
    lines.push_back(
        TextLine::row(fmt::format("{} {}: first in {}, told apart from all others in {}", letter(f.place),
                                  name, counted(f.cells, "cell", "cells"), grouped(f.decided))));
    decided += f.decided;
  }
  lines.push_back(
      fmt::format("the first to the target and its time over that of {}; ? = another is not told apart "
                  "from it (95 %, paired by seed)",
                  q.ways.front().name));
  lines.emplace_back();
  add_cells(map, lines);
  lines.push_back(
      fmt::format("ratio: over {}, = samples x time each; not apart: others whose interval holds 1",
                  q.ways.front().name));
  lines.emplace_back();
  lines.push_back(fmt::format(
      "{} of {} decided{}", grouped(decided),
      counted(static_cast<std::int64_t>(map.cells.size()), "cell is", "cells are"),
      decided < static_cast<std::int64_t>(map.cells.size()) ? "; more --seeds may decide others" : ""));
  add_notes(map, lines);
  lines.emplace_back(
      "note: times are simulated, what is learned is computed; a problem of this size says nothing of "
      "how well a large model generalises");
  return lines;
}

std::string to_json(const PolicyMap& map, const model::Scenario& scenario, const WaysQuestion& q,
                    const std::vector<std::string>& inputs) {
  Json result = asked_json(map.cells.front().made, scenario, q);
  result["communication_s"] = map.own.communication.count();
  result["computation_s"] = map.own.computation.count();
  result["communication_ratio"] = map.own.ratio();
  result["communication_ratios"] = map.axes.communication;
  result["speed_cvs"] = map.axes.speeds;
  result["cells"] = Json::array();
  for (const MapCell& c : map.cells) {
    const WayResult* best = c.best();
    Json cell{
        {"communication_ratio", c.communication},
        {"speed_cv", c.speeds},
        {"first", best != nullptr ? Json(best->way.name) : Json(nullptr)},
        {"time_ratio", best != nullptr && best->time_ratio > 0 ? Json(best->time_ratio) : Json(nullptr)},
        {"decided", c.decided()},
        {"not_told_apart", Json::array()},
        {"policies", Json::array()}};
    for (const WayResult* w : c.not_told_apart()) cell["not_told_apart"].push_back(w->way.name);
    for (std::size_t i = 0; i < c.made.ways.size(); ++i) {
      const WayResult& w = c.made.ways[i];
      Json one = summary_json(w, i == c.made.baseline);
      one["over_first_95"] = w.over_first_95.high > 0 ? json_of(w.over_first_95) : Json(nullptr);
      cell["policies"].push_back(std::move(one));
    }
    result["cells"].push_back(std::move(cell));
  }
  return framed({.schema = "cox.learn-map/1", .inputs = inputs, .warnings = {}}, std::move(result));
}

}  // namespace cox::learn
