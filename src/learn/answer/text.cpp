// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"
#include "cox/learn/compare.hpp"

namespace cox::learn {
namespace {

std::string factor_text(double x) {
  return fmt::format("x {:.3g}", x);
}

/// Columns to the left are texts, the others figures.
std::vector<std::string> table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  std::vector<std::string> lines;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c)
      line += c == 0 ? fmt::format("{:<{}}", row[c], widths[c]) : fmt::format("  {:>{}}", row[c], widths[c]);
    lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> row_of(const WayResult& w, bool baseline) {
  const std::string& name = w.way.name;
  if (!w.refused.empty()) return {name, "not possible", "", "", "", "", "", ""};
  if (!w.all_reached()) {
    const auto lost = std::ranges::count_if(
        w.attempts, [](const Attempt& a) { return a.diverged.has_value() || !(a.loss <= a.first_loss); });
    return {name,
            fmt::format("{} of {}", w.reached(), w.attempts.size()),
            lost > 0 ? fmt::format("{} diverged", lost) : "too slow",
            "",
            "",
            "",
            "",
            factor_text(w.rate_factor)};
  }
  return {name,
          to_string(w.time),
          fmt::format("{} .. {}", to_string(Seconds{w.time_s.low}), to_string(Seconds{w.time_s.high})),
          baseline ? "1" : fmt::format("{:.3g}", w.time_ratio),
          baseline ? "1" : fmt::format("{:.3g}", w.samples_ratio),
          baseline ? "1" : fmt::format("{:.3g}", w.sample_time_ratio),
          fmt::format("{:.1f}", w.mean_age),
          factor_text(w.rate_factor)};
}

/// What a row says that is not in its figures.
void add_notes(const Comparison& c, std::vector<std::string>& lines) {
  for (const WayResult& w : c.ways) {
    if (!w.refused.empty()) {
      lines.push_back(fmt::format("{}: {}", w.way.name, w.refused));
      continue;
    }
    for (const Attempt& a : w.attempts)
      if (a.diverged) {
        lines.push_back(fmt::format("{}, seed {}: {}", w.way.name, a.seed, a.diverged->text()));
        break;
      }
    if (w.at_edge && w.all_reached())
      lines.push_back(fmt::format("{}: its best rate is at the end of those that were tried", w.way.name));
  }
}

}  // namespace

std::vector<std::string> text_lines(const Comparison& c, const model::Scenario& scenario, const Question& q) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{}: {} workers; a job of {} of gradients gives the times", scenario.name,
                              grouped(c.workers), to_string(c.gradients)));
  lines.push_back(fmt::format("learned: {} of {} parameters, {}, {} samples a worker and step",
                              name_of(q.problem.kind), grouped(q.problem.dimension),
                              name_of(q.optimizer.kind), grouped(q.share.batch())));
  lines.push_back(fmt::format("target: loss {:.3g}, from {:.3g}; {} seeds, {} more for the rates", c.target,
                              c.first_loss, q.seeds, q.tuning_seeds));
  lines.emplace_back();
  std::vector<std::vector<std::string>> rows{
      {"policy", "to target", "95 %", "ratio", "samples", "time each", "age", "rate"}};
  for (std::size_t i = 0; i < c.ways.size(); ++i) rows.push_back(row_of(c.ways[i], i == c.baseline));
  for (std::string& line : table(rows)) lines.push_back(std::move(line));
  const std::string& first = c.ways[c.baseline].way.name;
  lines.push_back(fmt::format(
      "ratio: time over that of {}, = samples it has to compute over those x time of each", first));
  lines.push_back(
      "age: versions that others made between reading and delivering, mean; rate: times the one asked for");
  lines.emplace_back();
  add_notes(c, lines);
  lines.push_back(
      "note: times are simulated, what is learned is computed; a problem of this size says nothing of "
      "how well a large model generalises");
  return lines;
}

}  // namespace cox::learn
