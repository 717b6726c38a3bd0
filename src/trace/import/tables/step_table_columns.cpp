// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <utility>

#include "cox/trace/communication_names.hpp"

#include "trace/import/bytes/one_of.hpp"
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

constexpr std::array<std::string_view, 8> kRankNames{"rank",      "global_rank", "rank_id", "worker",
                                                     "worker_id", "worker_rank", "process", "process_id"};
constexpr std::array<std::string_view, 16> kStepNames{"_step",       "trainer/global_step",
                                                      "step",        "global_step",
                                                      "step_id",     "iteration",
                                                      "iter",        "batch",
                                                      "batch_idx",   "batch_id",
                                                      "minibatch",   "mini_batch",
                                                      "block_idx",   "iteration_id",
                                                      "step_number", "sample"};
constexpr std::array<std::string_view, 9> kRunNames{"run",    "run_id",    "job",   "job_id", "experiment",
                                                    "config", "benchmark", "round", "seed"};
constexpr std::array<std::string_view, 3> kRepeatNames{"run", "run_id", "seed"};
/// A table with one of these is a table of operations.
constexpr std::array<std::string_view, 6> kOperationNames{"dp_rank", "stage",   "optype",
                                                          "op_type", "pp_rank", "mb_id"};

/// What `step_ms` and `ms_per_step` are the time of.
constexpr std::array<std::string_view, 6> kStepWords{"step", "iter", "it", "iteration", "batch", "minibatch"};

/// Takes a unit off a name: `step_time_ms`, `time (us)`, `duration[s]`, `ms_per_step`. A name that is one, but for the letter
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
  for (const auto& [text, unit] : kUnits)  // `ms_per_step`, `s/it`
    for (const std::string_view per : {"_per_", "/"})
      if (rest.starts_with(text) && rest.substr(text.size()).starts_with(per) &&
          is_one_of(rest.substr(text.size() + per.size()), kStepWords)) {
        name = "step_time";
        return unit;
      }
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

bool has_any(std::string_view name, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

constexpr int kNamesStep = 3;
/// How well a name without its unit fits a step's time: 0 = not at all.
int fit_of(std::string_view name, StepUnit unit = StepUnit::None) {
  if (unit != StepUnit::None && is_one_of(name, kStepWords)) return kNamesStep;
  // Points in time, what is still to come, and times of something else than a step.
  if (has_any(name,
              {"since", "start", "stamp", "begin", "end_time", "init", "total", "load", "remain", "unix"}) ||
      name.starts_with("eta"))
    return 0;
  const bool named = name.ends_with("time") || name.ends_with("duration") || name.ends_with("elapsed") ||
                     name.ends_with("time_norm");
  if (!named) return 0;
  if (has_any(name, {"step", "iter", "batch"})) return kNamesStep;
  return name == "time" ? 1 : 2;
}

/// `timestamp`, `time_since_start`, `ts`: points in time, by which a step is told where nothing else is.
bool is_point(std::string_view name) {
  return name == "ts" || has_any(name, {"stamp", "since", "unix_time"});
}

/// Times of a step as well as of a clock.
bool may_be_clock(std::string_view name) {
  return name == "time" || name.starts_with("wall") || name == "train_time" || name == "training_time" ||
         has_any(name, {"elapsed", "runtime", "cumul"});
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

/// What a step is made of.
enum class Part : std::uint8_t { None, Input, Compute, Forward, Backward, Update, Communication };

/// By a name without its unit. A bare word is one only where it has a unit or ends in `time`: the table of anything has
/// a column `data`.
Part part_of(std::string_view name, StepUnit unit) {
  static constexpr std::array<std::pair<std::string_view, Part>, 27> kParts{{
      {"data", Part::Input},
      {"data_load", Part::Input},
      {"data_loading", Part::Input},
      {"dataloader", Part::Input},
      {"data_loader", Part::Input},
      {"input", Part::Input},
      {"load", Part::Input},
      {"compute", Part::Compute},
      {"computation", Part::Compute},
      {"comp", Part::Compute},
      {"forward", Part::Forward},
      {"fwd", Part::Forward},
      {"backward", Part::Backward},
      {"bwd", Part::Backward},
      {"optimizer", Part::Update},
      {"optim", Part::Update},
      {"opt", Part::Update},
      {"opt_step", Part::Update},
      {"optim_step", Part::Update},
      {"update", Part::Update},
      {"optimizer_step", Part::Update},
      {"comm", Part::Communication},
      {"communication", Part::Communication},
      {"allreduce", Part::Communication},
      {"all_reduce", Part::Communication},
      {"sync", Part::Communication},
      {"wait", Part::Communication},
  }};
  bool is_time = unit != StepUnit::None;
  for (const std::string_view end : {"_time", "_duration"})
    if (name.ends_with(end)) {
      name.remove_suffix(end.size());
      is_time = true;
    }
  if (!is_time) return Part::None;
  const auto at = std::find_if(kParts.begin(), kParts.end(), [&](const auto& p) { return p.first == name; });
  return at == kParts.end() ? Part::None : at->second;
}

/// `rank0`, `worker_3`, `gpu-7`, `rank[5]`, `12`, `rank0_step_time`, `step_time_rank0`: the number.
std::optional<std::int32_t> wide_rank(std::string_view name) {
  bool is_named = false;
  if (const std::size_t at = name.rfind("_rank"); at != std::string_view::npos) {
    const std::string_view time = name.substr(0, at);
    if (fit_of(time) > 0 && !is_communication(time)) name.remove_prefix(at + 1);
  }
  if (const std::size_t open = name.find_first_of("[("); open != std::string_view::npos && open > 1) {
    if (!name.ends_with(name[open] == '[' ? ']' : ')')) return std::nullopt;
    const std::string bare = std::string(name.substr(0, open)) + std::string(name.substr(open + 1));
    return wide_rank(std::string_view(bare).substr(0, bare.size() - 1));
  }
  for (const std::string_view prefix : {"rank", "worker", "gpu", "process", "r", "w"})
    if (name.starts_with(prefix)) {
      is_named = prefix.size() > 1;
      name.remove_prefix(prefix.size());
      if (name.starts_with('_')) name.remove_prefix(1);
      break;
    }
  std::int32_t n = -1;
  const auto [end, ec] = std::from_chars(name.data(), name.data() + name.size(), n);
  if (ec != std::errc() || n < 0 || n > kHighestRank) return std::nullopt;
  name.remove_prefix(static_cast<std::size_t>(end - name.data()));
  const bool is_time = is_named && (name.starts_with('_') || name.starts_with('.')) &&
                       fit_of(name.substr(1)) > 0 && !is_communication(name);
  return name.empty() || is_time ? std::optional(n) : std::nullopt;
}

/// A column that may hold what a step took.
struct Candidate {
  std::size_t column = 0;
  std::string name;  ///< small, without its unit
  StepUnit unit = StepUnit::None;
  int fit = 0;         ///< as the time of a step
  int as_summary = 0;  ///< of its ranks' times
  Part part = Part::None;
};

/// The best by `fit`, the first of these; null where none has any.
const Candidate* best_of(const std::vector<Candidate>& all, int Candidate::*fit, bool of_ranks) {
  const Candidate* best = nullptr;
  for (const Candidate& c : all)
    if (c.*fit > (best ? best->*fit : 0) && !(of_ranks && is_communication(c.name))) best = &c;
  return best;
}

/// Parts of a step that add up: the first of each kind, all in one unit. What ranks wait for each other is none of their
/// own work.
std::vector<const Candidate*> parts_of(const std::vector<Candidate>& all, bool of_ranks) {
  std::vector<const Candidate*> parts;
  const auto has = [&](Part part) {
    return std::any_of(parts.begin(), parts.end(), [&](const Candidate* c) { return c->part == part; });
  };
  for (const Candidate& c : all)
    if (c.part != Part::None && !(of_ranks && c.part == Part::Communication) && !has(c.part))
      parts.push_back(&c);
  if (has(Part::Compute))  // it holds these
    std::erase_if(parts, [](const Candidate* c) {
      return c->part == Part::Forward || c->part == Part::Backward || c->part == Part::Update;
    });
  const bool one_unit = std::all_of(parts.begin(), parts.end(),
                                    [&](const Candidate* c) { return c->unit == parts.front()->unit; });
  if (!one_unit) parts.clear();
  return parts;
}

/// A step as the sum of its parts, where the table has them and no column for the whole; false where not.
bool choose_parts(const std::vector<Candidate>& all, const std::vector<std::string_view>& fields,
                  StepColumns& found) {
  const bool of_ranks = found.rank != kNoColumn;
  const std::vector<const Candidate*> parts = parts_of(all, of_ranks);
  if (found.step == kNoColumn || parts.empty() || (parts.size() == 1 && !of_ranks)) return false;
  for (const Candidate* c : parts) {
    if (c != parts.front()) found.more.push_back(c->column);
    found.value_name += (c == parts.front() ? "" : " + ") +
                        clean_text(fields[c->column].substr(0, kLongestName / parts.size()));
  }
  for (const Candidate& c : all)
    if (of_ranks && c.part == Part::Communication && found.waiting_name.empty())
      found.waiting_name = clean_text(fields[c.column].substr(0, kLongestName));
  // What else has a unit of time may be a part, too.
  for (const Candidate& c : all)
    if (c.part == Part::None && c.unit != StepUnit::None)
      found.left_out.push_back(clean_text(fields[c.column].substr(0, kLongestName)));
  found.value = parts.front()->column;
  found.unit = parts.front()->unit;
  found.is_part = parts.size() == 1;
  found.names_step = true;
  return true;
}

/// Which of the candidates tells a step; false where none does.
bool choose(const std::vector<Candidate>& all, const std::vector<std::string_view>& fields,
            StepColumns& found) {
  const bool of_ranks = found.rank != kNoColumn;
  const Candidate* best = best_of(all, &Candidate::fit, of_ranks);
  if ((best == nullptr || best->part != Part::None) && choose_parts(all, fields, found)) return true;
  if (best != nullptr) {
    found.is_part = best->part != Part::None;
    if (best->fit < kNamesStep) {
      found.is_clock = IsClock::IfItGrows;
      found.names_clock = may_be_clock(best->name);
    }
    found.other_times = std::count_if(all.begin(), all.end(), [&](const Candidate& c) {
      return c.fit == best->fit && &c != best && !(of_ranks && is_communication(c.name));
    });
  } else if (found.step != kNoColumn && !of_ranks) {
    best = best_of(all, &Candidate::as_summary, false);
    found.is_summary = best != nullptr;
  }
  if (best == nullptr && found.step != kNoColumn) {
    const auto point =
        std::find_if(all.begin(), all.end(), [](const Candidate& c) { return is_point(c.name); });
    if (point != all.end()) best = &*point;
    found.is_clock = IsClock::Yes;
  }
  if (best == nullptr) return false;
  found.value = best->column;
  found.value_name = clean_text(fields[best->column].substr(0, kLongestName));
  found.unit = best->unit;
  found.names_step = best->fit == kNamesStep;
  return true;
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
  std::vector<Candidate> candidates;
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
      } else {
        candidates.push_back({.column = i,
                              .name = name,
                              .unit = unit,
                              .fit = fit_of(name, unit),
                              .as_summary = fit_of_summary(name),
                              .part = part_of(name, unit)});
      }
    }
  }
  // The column that counts repetitions of one configuration names a run last.
  std::stable_partition(found.run.begin(), found.run.end(),
                        [&](std::size_t c) { return !is_one_of(lower(fields[c]), kRepeatNames); });
  // Names that are numbers only say little: the table of anything has such columns.
  if (found.rank == kNoColumn && found.wide.size() >= 2 && (all_named || found.step != kNoColumn)) {
    found.unit = wide_unit;
    return found;
  }
  found.wide.clear();
  const Candidate* named = best_of(candidates, &Candidate::fit, found.rank != kNoColumn);
  if (found.step == kNoColumn && (named == nullptr || time_index != named->column)) found.step = time_index;
  if (!choose(candidates, fields, found)) return std::nullopt;
  // Rows of a job count as its steps where the column says that it is the time of a step.
  const bool counted = !found.run.empty() && found.names_step;
  if (found.rank == kNoColumn && found.step == kNoColumn && !counted) return std::nullopt;
  return found;
}

}  // namespace cox::trace
