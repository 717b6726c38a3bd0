// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "trace/import/tables/step_table.hpp"
#include "trace/raw/meta_entries.hpp"

namespace cox::trace {
namespace {

constexpr std::size_t kLongestName = 128;
constexpr std::size_t kMostColumns = 65536;
constexpr std::int32_t kHighestRank = 1 << 24;

std::string lower(std::string_view name) {
  std::string out;
  for (const char c : name.substr(0, kLongestName))
    out += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c == ' ' || c == '-' ? '_' : c);
  return out;
}

template <std::size_t N>
bool is_one_of(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::array<std::string_view, 8> kRankNames{"rank",      "global_rank", "rank_id", "worker",
                                                     "worker_id", "worker_rank", "process", "process_id"};
constexpr std::array<std::string_view, 14> kStepNames{
    "step",     "global_step", "step_id",    "iteration", "iter",         "batch",       "batch_idx",
    "batch_id", "minibatch",   "mini_batch", "block_idx", "iteration_id", "step_number", "sample"};
constexpr std::array<std::string_view, 9> kRunNames{"run",    "run_id",    "job",   "job_id", "experiment",
                                                    "config", "benchmark", "round", "seed"};
constexpr std::array<std::string_view, 3> kRepeatNames{"run", "run_id", "seed"};
/// A table with one of these is a table of operations.
constexpr std::array<std::string_view, 6> kOperationNames{"dp_rank", "stage",   "optype",
                                                          "op_type", "pp_rank", "mb_id"};

/// Takes a unit off the end of a name: `step_time_ms`, `time (us)`, `duration[s]`. A name that is one, but for the letter
/// of seconds, is a `time` in it.
StepUnit take_unit(std::string& name) {
  static constexpr std::array<std::pair<std::string_view, StepUnit>, 12> kUnits{{
      {"ms", StepUnit::Milliseconds},
      {"msec", StepUnit::Milliseconds},
      {"milliseconds", StepUnit::Milliseconds},
      {"us", StepUnit::Microseconds},
      {"usec", StepUnit::Microseconds},
      {"microseconds", StepUnit::Microseconds},
      {"ns", StepUnit::Nanoseconds},
      {"nsec", StepUnit::Nanoseconds},
      {"nanoseconds", StepUnit::Nanoseconds},
      {"s", StepUnit::Seconds},
      {"sec", StepUnit::Seconds},
      {"seconds", StepUnit::Seconds},
  }};
  std::string_view rest = name;
  if (rest.ends_with(')') || rest.ends_with(']')) rest.remove_suffix(1);
  const std::size_t before = rest.find_last_of("_([");
  const bool is_whole = before == std::string_view::npos;
  for (const auto& [text, unit] : kUnits) {
    if (rest.substr(is_whole ? 0 : before + 1) != text || (is_whole && text.size() == 1)) continue;
    if (is_whole) {
      name = "time";
      return unit;
    }
    name.resize(before);
    while (name.ends_with('_')) name.pop_back();
    return unit;
  }
  return StepUnit::None;
}

constexpr int kNamesStep = 3;
/// How well a name without its unit fits a step's time: 0 = not at all.
int fit_of(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  // Points in time, and times of something else than a step.
  for (const std::string_view other :
       {"since", "start", "stamp", "begin", "end_time", "init", "total", "load"})
    if (has(other)) return 0;
  const bool named = name.ends_with("time") || name.ends_with("duration") || name.ends_with("elapsed") ||
                     name.ends_with("time_norm");
  if (!named) return 0;
  if (has("step") || has("iter") || has("batch")) return kNamesStep;
  return name == "time" ? 1 : 2;
}

/// `timestamp`, `time_since_start`, `ts`: points in time, by which a step is told where nothing else is.
bool is_point(std::string_view name) {
  return name == "ts" || name.find("stamp") != std::string_view::npos ||
         name.find("since") != std::string_view::npos;
}

/// Times of a step as well as of a clock.
bool may_be_clock(std::string_view name) {
  return name == "time" || name.starts_with("wall") || name.find("elapsed") != std::string_view::npos;
}

/// Summaries of a step over its ranks, where no column is the time of a step: the slowest rank's says most.
int fit_of_summary(std::string_view name) {
  static constexpr std::array<std::string_view, 10> kBestFirst{
      "max", "slowest", "p99", "p95", "mean", "median", "spread", "imbalance", "slowdown", "cv"};
  for (const std::string_view end : {"_time", "_duration"})
    if (name.ends_with(end)) name.remove_suffix(end.size());
  const auto at = std::find(kBestFirst.begin(), kBestFirst.end(), name);
  return at == kBestFirst.end() ? 0 : static_cast<int>(kBestFirst.end() - at);
}

/// `rank0`, `worker_3`, `gpu-7`, `12`: the number.
std::optional<std::int32_t> wide_rank(std::string_view name) {
  for (const std::string_view prefix : {"rank", "worker", "gpu", "process", "r", "w"})
    if (name.starts_with(prefix)) {
      name.remove_prefix(prefix.size());
      if (name.starts_with('_')) name.remove_prefix(1);
      break;
    }
  std::int32_t n = -1;
  const auto [end, ec] = std::from_chars(name.data(), name.data() + name.size(), n);
  if (ec != std::errc() || end != name.data() + name.size() || n < 0 || n > kHighestRank) return std::nullopt;
  return n;
}

char separator_of(std::string_view header) {
  char best = ',';
  for (const char c : {';', '\t'})
    if (std::count(header.begin(), header.end(), c) > std::count(header.begin(), header.end(), best))
      best = c;
  return best;
}

}  // namespace

void split_fields(std::string_view line, char separator, std::vector<std::string_view>& out) {
  out.clear();
  const auto trim = [](std::string_view field) {
    const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '"'; };
    while (!field.empty() && blank(field.front())) field.remove_prefix(1);
    while (!field.empty() && blank(field.back())) field.remove_suffix(1);
    return field;
  };
  std::size_t begin = 0;
  bool quoted = false;
  for (std::size_t i = 0; i <= line.size() && out.size() < kMostColumns; ++i) {
    if (i < line.size() && line[i] == '"') quoted = !quoted;
    if (i < line.size() && (line[i] != separator || quoted)) continue;
    out.push_back(trim(line.substr(begin, i - begin)));
    begin = i + 1;
  }
}

std::optional<StepColumns> find_step_columns(std::string_view header) {
  StepColumns found;
  found.separator = separator_of(header);
  std::vector<std::string_view> fields;
  split_fields(header, found.separator, fields);
  int best = 0;
  StepColumns summary;  // should no column be the time of a step
  int best_summary = 0;
  StepColumns point;  // should there be no summary either
  StepUnit wide_unit = StepUnit::None;
  bool all_named = true;
  std::size_t time_index = kNoColumn;  // a `time` that may turn out to number the steps
  for (std::size_t i = 0; i < fields.size(); ++i) {
    std::string name = lower(fields[i]);
    if (is_one_of(name, kOperationNames)) return std::nullopt;
    if (found.rank == kNoColumn && is_one_of(name, kRankNames)) {
      found.rank = i;
    } else if (found.step == kNoColumn && is_one_of(name, kStepNames)) {
      found.step = i;
    } else if (is_one_of(name, kRunNames)) {
      found.run.push_back(i);
    } else {
      if (name == "time") time_index = i;
      const StepUnit unit = take_unit(name);
      if (const auto rank = wide_rank(name)) {
        found.wide.push_back({.column = i, .rank = *rank});
        wide_unit = unit;
        all_named = all_named && (name.front() < '0' || name.front() > '9');
      } else if (const int fit = fit_of(name); fit > best) {
        best = fit;
        found.value = i;
        found.value_name = clean_text(fields[i].substr(0, kLongestName));
        found.unit = unit;
        found.is_clock = fit < kNamesStep && may_be_clock(name) ? IsClock::IfItGrows : IsClock::No;
      } else if (const int part = fit_of_summary(name); part > best_summary) {
        best_summary = part;
        summary.value = i;
        summary.value_name = clean_text(fields[i].substr(0, kLongestName));
        summary.unit = unit;
      } else if (point.value == kNoColumn && is_point(name)) {
        point.value = i;
        point.value_name = clean_text(fields[i].substr(0, kLongestName));
        point.unit = unit;
      }
    }
  }
  // The column that counts repetitions of one configuration names a run last.
  std::stable_partition(found.run.begin(), found.run.end(),
                        [&](std::size_t c) { return !is_one_of(lower(fields[c]), kRepeatNames); });
  // Names that are numbers only say little: the table of anything has such columns.
  if (found.rank == kNoColumn && found.wide.size() >= 2 && (all_named || found.step != kNoColumn)) {
    found.value = kNoColumn;
    found.value_name.clear();
    found.is_clock = IsClock::No;
    found.unit = wide_unit;
    return found;
  }
  found.wide.clear();
  if (found.step == kNoColumn && time_index != found.value) found.step = time_index;
  if (found.value == kNoColumn && found.rank == kNoColumn && found.step != kNoColumn && best_summary > 0) {
    found.value = summary.value;
    found.value_name = std::move(summary.value_name);
    found.unit = summary.unit;
    found.is_summary = true;
  }
  if (found.value == kNoColumn && found.step != kNoColumn && point.value != kNoColumn) {
    found.value = point.value;
    found.value_name = std::move(point.value_name);
    found.unit = point.unit;
    found.is_clock = IsClock::Yes;
  }
  // Rows of a job count as its steps where the column says that it is the time of a step.
  const bool counted = !found.run.empty() && best == kNamesStep;
  if (found.value == kNoColumn || (found.rank == kNoColumn && found.step == kNoColumn && !counted))
    return std::nullopt;
  return found;
}

}  // namespace cox::trace
