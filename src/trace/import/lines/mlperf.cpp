// SPDX-License-Identifier: Apache-2.0
// MLPerf training logs: lines `:::MLLOG {...}` among whatever else the job printed.
#include <fmt/format.h>
#include <simdjson.h>
#include <strings.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cox/base/number_text.hpp"
#include "cox/base/stats.hpp"
#include "cox/base/units_text.hpp"

#include "trace/import/bytes/byte_order_mark.hpp"
#include "trace/import/figures/lines.hpp"
#include "trace/import/nccl/nccl_lines.hpp"
#include "trace/import/part/part_builder.hpp"
#include "trace/import/part/reader.hpp"
#include "trace/import/tables/step_times.hpp"
#include "trace/raw/meta_entries.hpp"

namespace cox::trace {
namespace {

namespace dom = simdjson::dom;

constexpr std::string_view kMark = ":::MLLOG";
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
constexpr std::size_t kMostRuns = 256;
constexpr std::int64_t kLatestMs = 253'402'300'800'000;  // the year 10000
/// A step that takes longer than this part of the time between two records is not in the unit that was taken.
constexpr double kMostOfPeriod = 1.5;
constexpr double kLeastOfStretch = 0.5;

/// A stretch of the log's clock.
struct Stretch {
  std::int64_t begin_ms = 0;
  std::int64_t end_ms = 0;
};

/// Stretches of one kind, from their `_start` and `_stop`; what repeats (several ranks log alike) counts once.
class Stretches {
 public:
  void start(std::int64_t at) {
    if (!open_) open_ = at;
  }
  void stop(std::int64_t at) {
    if (!open_) return stray_.push_back(at);
    if (at >= *open_) all_.push_back({*open_, at});
    open_.reset();
  }
  [[nodiscard]] const std::vector<Stretch>& all() const { return all_; }

  /// Stops whose starts are missing: how many in front of each stretch, and behind the last. One that follows another
  /// by less than half of a usual stretch is that of another rank.
  [[nodiscard]] std::vector<std::int64_t> lost() const {
    std::vector<std::int64_t> counts(all_.size() + 1, 0);
    if (all_.empty()) return counts;
    std::vector<double> lengths;
    for (const Stretch& s : all_) lengths.push_back(static_cast<double>(s.end_ms - s.begin_ms));
    const double least = kLeastOfStretch * median_in_place(lengths);
    std::int64_t last = std::numeric_limits<std::int64_t>::min() / 2;
    std::size_t next = 0;
    for (const std::int64_t at : stray_) {
      for (; next < all_.size() && all_[next].begin_ms < at; ++next) last = std::max(last, all_[next].end_ms);
      if (static_cast<double>(at - last) <= least) continue;
      ++counts[next];
      last = at;
    }
    return counts;
  }

 private:
  std::optional<std::int64_t> open_;
  std::vector<Stretch> all_;
  std::vector<std::int64_t> stray_;  // stops without a start
};

struct LoggedStep {
  std::int64_t at_ms = 0;
  double value = 0;
};

/// From one `run_start` to the next.
struct LoggedRun {
  bool started = false;
  bool stopped = false;
  std::string status;
  std::map<std::string, Stretches, std::less<>> stretches;  ///< `block`, `epoch`, `eval`
  std::vector<LoggedStep> steps;
  std::string step_key;
};

/// Milliseconds of `from` to `to` that lie in one of the stretches, which ascend.
std::int64_t covered(const std::vector<Stretch>& stretches, std::int64_t from, std::int64_t to) {
  std::int64_t sum = 0;
  for (const Stretch& s : stretches)
    sum += std::max<std::int64_t>(0, std::min(s.end_ms, to) - std::max(s.begin_ms, from));
  return std::min(sum, to - from);
}

/// The time of a step that a `tracked_stats` holds, by its key.
std::optional<std::pair<std::string_view, double>> step_time_in(dom::element value) {
  for (const std::string_view key :
       {"train_step_time", "train_step_timing", "step_time", "iteration_time", "train_step_time_s",
        "step_time_s", "train_step_time_ms", "step_time_ms"})
    if (const auto time = number_at(value, key); time && std::isfinite(*time) && *time >= 0)
      return std::pair(key, *time);
  return std::nullopt;
}

bool tells_of_run(std::string_view key) {
  return key == "run_start" || key == "tracked_stats" || key.starts_with("block_") ||
         key.starts_with("epoch_");
}

class Log {
 public:
  void take(std::string_view line) {
    const std::size_t mark = line.find(kMark);
    if (mark == std::string_view::npos) return;
    const std::size_t brace = line.find('{', mark);
    dom::element entry;
    if (brace == std::string_view::npos ||
        parser_.parse(line.data() + brace, line.size() - brace).get(entry) != simdjson::SUCCESS ||
        !entry.is_object()) {
      ++unreadable_;
      return;
    }
    // Where a launcher labels the lines of ranks, those of the first label that tells of a run are read.
    const std::string label(line.substr(0, std::min<std::size_t>(mark, 64)));
    if (!label_ && tells_of_run(text_at(entry, "key").value_or(""))) label_ = label;
    if (label_ && *label_ != label) {
      ++others_;
      return;
    }
    take(entry);
  }

  [[nodiscard]] std::vector<LoggedRun>& runs() { return runs_; }
  [[nodiscard]] std::int64_t unreadable() const { return unreadable_; }
  [[nodiscard]] std::int64_t others() const { return others_; }
  [[nodiscard]] std::int64_t left_out() const { return left_out_; }

 private:
  void take(dom::element entry) {
    const std::int64_t at = integer_at(entry, "time_ms").value_or(-1);
    const std::string_view key = text_at(entry, "key").value_or("");
    if (at < 0 || at > kLatestMs || key.empty()) {
      ++unreadable_;
      return;
    }
    const bool another =
        key == "run_start" && !runs_.empty() && runs_.back().started && has_content(runs_.back());
    if (runs_.empty() || another) begin_run();
    if (skipping_) {
      ++left_out_;
      return;
    }
    LoggedRun& run = runs_.back();
    if (key == "run_start") run.started = true;
    if (key == "run_stop") {
      run.stopped = true;
      if (const auto metadata = object_at(entry, "metadata"))
        run.status = clean_text(text_at(*metadata, "status").value_or("").substr(0, 64));
    }
    for (const std::string_view kind : {"block", "epoch", "eval"}) {
      if (!key.starts_with(kind)) continue;
      const std::string_view rest = key.substr(kind.size());
      if (rest == "_start") run.stretches[std::string(kind)].start(at);
      if (rest == "_stop") run.stretches[std::string(kind)].stop(at);
    }
    if (const auto value = object_at(entry, "value"); key == "tracked_stats" && value)
      take_step(run, at, *value);
  }

  static void take_step(LoggedRun& run, std::int64_t at, dom::element value) {
    const auto step = step_time_in(value);
    if (!step || (!run.step_key.empty() && run.step_key != step->first)) return;
    run.step_key = std::string(step->first);
    // Ranks that log the same without a label.
    if (!run.steps.empty() && run.steps.back().value == step->second && at - run.steps.back().at_ms < 2)
      return;
    run.steps.push_back({at, step->second});
  }

  static bool has_content(const LoggedRun& run) { return !run.stretches.empty() || !run.steps.empty(); }

  void begin_run() {
    skipping_ = runs_.size() >= kMostRuns;
    if (!skipping_) runs_.emplace_back();
  }

  dom::parser parser_;
  std::vector<LoggedRun> runs_;
  std::optional<std::string> label_;
  bool skipping_ = false;
  std::int64_t unreadable_ = 0, others_ = 0, left_out_ = 0;
};

/// Times of a run, one after the other, and what they are.
struct Series {
  std::vector<Seconds> values;
  std::string what;
  std::string kind{};     ///< of stretches
  std::int64_t lost = 0;  ///< stretches without a start
};

/// The unit is the key's ending; without one the log's own clock decides between seconds and milliseconds.
std::optional<Series> logged_steps(const LoggedRun& run) {
  if (run.steps.size() < 2) return std::nullopt;
  std::vector<double> values, periods;
  for (const LoggedStep& s : run.steps) values.push_back(s.value);
  for (std::size_t i = 1; i < run.steps.size(); ++i)
    periods.push_back(static_cast<double>(run.steps[i].at_ms - run.steps[i - 1].at_ms) / 1e3);
  const double value = median(values);
  const double period = median_in_place(periods);
  double unit = run.step_key.ends_with("_ms") ? 1e-3 : 1;
  std::string why = "by its name";
  if (!run.step_key.ends_with("_ms") && !run.step_key.ends_with("_s")) {
    if (value > kMostOfPeriod * period) unit = 1e-3;
    if (value * unit > kMostOfPeriod * period) return std::nullopt;  // of no unit that fits the clock
    why = "as the log's clock says";
  }
  Series s;
  for (const double v : values) s.values.emplace_back(v * unit);
  s.what = fmt::format("steps are the {} values of {} in the log, in {} {}", values.size(), run.step_key,
                       unit == 1 ? "seconds" : "milliseconds", why);
  return s;
}

/// From the start of one to the start of the next, without evaluation.
std::optional<Series> logged_stretches(const LoggedRun& run, const char* kind) {
  const auto at = run.stretches.find(kind);
  if (at == run.stretches.end() || at->second.all().size() < 2) return std::nullopt;
  const auto eval = run.stretches.find("eval");
  const std::vector<Stretch> none;
  const std::vector<Stretch>& evals = eval == run.stretches.end() ? none : eval->second.all();
  const std::vector<Stretch>& all = at->second.all();
  const std::vector<std::int64_t> lost = at->second.lost();
  Series s;
  for (std::size_t i = 0; i < all.size(); ++i) {
    // What lies before the next start may be another step, whose own start is missing.
    const std::int64_t end = i + 1 < all.size() && lost[i + 1] == 0 ? all[i + 1].begin_ms : all[i].end_ms;
    const std::int64_t long_ms = end - all[i].begin_ms;
    if (long_ms < 0) continue;
    s.values.emplace_back(static_cast<double>(long_ms - covered(evals, all[i].begin_ms, end)) / 1e3);
  }
  s.what = fmt::format("steps are {} {}s, each from its start to that of the next, without evaluation",
                       all.size(), kind);
  for (const std::int64_t n : lost) s.lost += n;
  s.kind = kind;
  return s;
}

/// What lies between blocks, beside evaluation.
void note_gaps(const LoggedRun& run, PartBuilder& part) {
  const auto at = run.stretches.find("block");
  if (at == run.stretches.end() || at->second.all().size() < 3) return;
  const auto eval = run.stretches.find("eval");
  const std::vector<Stretch> none;
  const std::vector<Stretch>& evals = eval == run.stretches.end() ? none : eval->second.all();
  const std::vector<Stretch>& all = at->second.all();
  const std::vector<std::int64_t> lost = at->second.lost();
  std::vector<double> gaps;
  double most = 0;
  std::size_t after = 0;
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    if (lost[i + 1] > 0) continue;
    const std::int64_t from = all[i].end_ms;
    const std::int64_t to = std::max(from, all[i + 1].begin_ms);
    const auto gap = static_cast<double>(to - from - covered(evals, from, to));
    if (gaps.empty() || gap > most) {
      most = gap;
      after = i;
    }
    gaps.push_back(gap);
  }
  if (gaps.empty()) return;
  part.note(fmt::format("between {} blocks, without evaluation: median {}, longest {}, after block {}",
                        all.size(), to_string(duration_from_seconds(median(gaps) / 1e3)),
                        to_string(duration_from_seconds(most / 1e3)), after));
}

Result<Run> run_of(const LoggedRun& logged, const std::string& file) {
  std::optional<Series> series = logged_steps(logged);
  for (const char* kind : {"block", "epoch"})
    if (!series) series = logged_stretches(logged, kind);
  if (!series)
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "import-005",
                      .message = "an MLPerf log without two blocks, epochs or step times",
                      .hint = "it needs block_start and block_stop, or tracked_stats with train_step_time",
                      .where = {}});
  PartBuilder part(file, kMlperfReader.format);
  StepTimes times(StepTimes::Unit::Seconds);
  const auto only = times.series_of(0);
  std::int64_t bad = 0;
  for (std::size_t i = 0; i < series->values.size(); ++i)
    if (!times.add(*only, static_cast<std::int64_t>(i), series->values[i])) ++bad;
  if (times.is_empty())
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "import-005",
                      .message = "an MLPerf log whose step times cannot be times",
                      .hint = {},
                      .where = {}});
  std::move(times).finish(part, static_cast<std::int64_t>(series->values.size()), Seconds(1));
  part.note(series->what);
  part.note("one series for the whole job: no rank can be named");
  note_gaps(logged, part);
  part.note_count(bad, "value is no time of a step and is left out",
                  "values are no times of a step and are left out");
  if (series->lost > 0)
    part.note(counted(
        series->lost,
        fmt::format("{}_stop has no {}_start: that step is missing", series->kind, series->kind),
        fmt::format("{}_stops have no {}_start: those steps are missing", series->kind, series->kind)));
  if (!logged.stopped) part.note("the log holds no run_stop: it is cut, or the run did not end");
  const bool is_well = logged.status.empty() || strcasecmp(logged.status.c_str(), "success") == 0;
  if (!is_well) part.note(fmt::format("the run ended with status \"{}\"", logged.status));
  Run run = std::move(part).finish();
  if (!is_well) run.info.logged_end = logged.status;
  return run;
}

Result<ImportedJob> read(const std::filesystem::path& path, const ImportOptions& options) {
  COX_TRY(ByteSource source, ByteSource::open(path, std::min(options.limit_bytes, kMostBytes)));
  COX_TRY(const std::string bytes, source.read_all());
  Log log;
  for (std::string_view text = without_mark(bytes); !text.empty();) log.take(next_line(text));
  std::vector<Run> runs;
  std::optional<Error> error;
  for (std::size_t i = 0; i < log.runs().size(); ++i) {
    Result<Run> run = run_of(log.runs()[i], path.string());
    if (!run) {
      if (!error) error = std::move(run).error();
      continue;
    }
    if (log.runs().size() > 1) run->info.name = fmt::format("{}", i);
    runs.push_back(*std::move(run));
  }
  if (runs.empty()) {
    Error e = error ? *error : no_figures("no line of an MLPerf log that can be read");
    if (!error) e.hint.clear();
    e.where = Where{.file = path.string()};
    return fail(std::move(e));
  }
  const auto note = [&](std::string text) {
    runs.front().notes.push_back({.file = path.string(), .text = std::move(text)});
  };
  const auto note_count = [&](std::int64_t n, std::string_view one, std::string_view many) {
    if (n > 0) note(counted(n, one, many));
  };
  note_count(log.unreadable(), "line of the log cannot be read and is left out",
             "lines of the log cannot be read and are left out");
  note_count(log.others(), "line has another label than the first one and is left out",
             "lines have another label than the first one and are left out");
  note_count(log.left_out(), "line of a further run is left out", "lines of further runs are left out");
  if (source.cut()) note("the compressed file stops early; what could be unpacked is used");
  ImportedJob job{.run = std::move(runs.front()), .program = {}, .further_runs = {}};
  job.further_runs.assign(std::make_move_iterator(runs.begin() + 1), std::make_move_iterator(runs.end()));
  return job;
}

bool recognise(const Head& head) {
  const std::size_t mark = head.bytes.find(kMark);
  if (mark == std::string_view::npos || head.bytes.find('\0') < mark) return false;
  const std::string_view rest = head.bytes.substr(mark + kMark.size(), 4);
  return rest.find('{') != std::string_view::npos;
}

}  // namespace

const Reader kMlperfReader{
    .format = "mlperf", .title = "MLPerf training log", .recognises = recognise, .read = read};

}  // namespace cox::trace
