// SPDX-License-Identifier: Apache-2.0
#include "simulate/noise/trace.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <optional>

#include "cox/base/units_text.hpp"

#include "simulate/noise/lines.hpp"

namespace cox::simulate {
namespace {

constexpr std::string_view kStepHeader = "step,rank,compute_s";

struct StepRow {
  std::uint64_t step;
  std::uint64_t rank;
  double seconds;
};

std::optional<StepRow> step_row(std::string_view line) {
  const std::size_t first = line.find(',');
  if (first == std::string_view::npos) return std::nullopt;
  const std::size_t second = line.find(',', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const auto step = number<std::uint64_t>(line.substr(0, first));
  const auto rank = number<std::uint64_t>(line.substr(first + 1, second - first - 1));
  const auto seconds = number<double>(line.substr(second + 1));
  if (!step || !rank || !seconds || !std::isfinite(*seconds) || *seconds < 0) return std::nullopt;
  return StepRow{*step, *rank, *seconds};
}

// Rows come step by step, ranks 0, 1, ... in each: then the table's size is what was read.
Result<NoiseTrace> parse_steps(Lines& lines) {
  StepTimes t;
  std::uint64_t step = 0;
  std::uint64_t rank = 0;
  double sum = 0;
  while (const auto line = lines.next()) {
    const auto row = step_row(*line);
    if (!row)
      return fail(
          lines.error(fmt::format("got '{}', expected a step, a rank and a time in seconds", shown(*line)),
                      "Write rows such as `0,3,0.0125`."));
    if (row->step == step + 1 && row->rank == 0 && rank > 0 && (t.ranks == 0 || rank == t.ranks)) {
      t.ranks = rank;
      ++step;
      rank = 0;
    }
    if (row->step != step || row->rank != rank || (t.ranks != 0 && rank >= t.ranks))
      return fail(lines.error(
          fmt::format("got step {} rank {}, expected step {} rank {}", row->step, row->rank, step, rank),
          "Order rows by step, then by rank, all ranks in each step."));
    t.seconds.push_back(row->seconds);
    sum += row->seconds;
    ++rank;
  }
  if (t.ranks == 0) t.ranks = rank;
  if (rank == 0 || rank != t.ranks)
    return fail(lines.error("the last step does not hold all ranks, or there is no step at all",
                            "Complete the table."));
  t.steps = step + 1;
  t.mean = sum / static_cast<double>(t.seconds.size());
  if (!(t.mean > 0)) return fail(lines.error("all times are 0", "Record a run that computes."));
  return t;
}

std::optional<double> seconds_in(std::string_view text) {
  const auto d = parse_duration(text);
  if (!d || *d < Duration::zero()) return std::nullopt;
  return in_seconds(*d);
}

Result<NoiseTrace> parse_detours(Lines& lines, std::string_view first) {
  Detours d;
  const auto window = first.starts_with("window ") ? seconds_in(first.substr(7)) : std::nullopt;
  if (!window || *window <= 0)
    return fail(lines.error(
        fmt::format("got '{}', expected `window` and a time, or the header {}", shown(first), kStepHeader),
        "Begin a file of detours with how long was recorded: `window 10s`."));
  d.window = *window;
  while (const auto line = lines.next()) {
    const std::size_t space = line->find(' ');
    const auto at = seconds_in(line->substr(0, space));
    const auto lasts = space == std::string_view::npos ? std::nullopt : seconds_in(line->substr(space + 1));
    if (!at || !lasts || *at >= d.window || (!d.at.empty() && *at < d.at.back()))
      return fail(lines.error(
          fmt::format("got '{}', expected when and how long, ascending, inside the window", shown(*line)),
          "Write lines such as `1.25ms 3.1us`."));
    d.at.push_back(*at);
    d.lasts.push_back(*lasts);
    d.total += *lasts;
  }
  if (d.total > 0.999 * d.window)
    return fail(
        lines.error("the detours take the whole window: no work would ever be done", "Check the units."));
  return d;
}

}  // namespace

Result<NoiseTrace> parse_noise_trace(std::string_view text, const std::string& name) {
  Lines lines(text, name);
  const auto first = lines.next();
  if (!first)
    return fail(
        lines.error("the file holds nothing", "docs/concepts/noise.md shows what a noise trace looks like."));
  if (*first == kStepHeader) return parse_steps(lines);
  return parse_detours(lines, *first);
}

}  // namespace cox::simulate
