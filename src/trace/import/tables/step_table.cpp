// SPDX-License-Identifier: Apache-2.0
#include "trace/import/tables/step_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <deque>
#include <iterator>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "cox/base/number_text.hpp"
#include "cox/trace/figures.hpp"

#include "trace/import/bytes/byte_order_mark.hpp"
#include "trace/import/part/part_builder.hpp"
#include "trace/import/part/reader.hpp"
#include "trace/import/part/time_of_day.hpp"
#include "trace/import/tables/step_clock.hpp"
#include "trace/import/tables/step_times.hpp"
#include "trace/raw/meta_entries.hpp"

namespace cox::trace {
namespace {

/// Tables of step times are small; one beyond this is something else.
constexpr std::uint64_t kTableBytes = std::uint64_t{256} << 20;

/// Takes the next line off the front; comments and empty lines are passed over.
std::string_view take_line(std::string_view& text, std::int64_t& number) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (const std::size_t first = line.find_first_not_of(" \t");
        first != std::string_view::npos && line[first] != '#')
      return line;
  }
  return {};
}

enum class Cell { Number, Missing, Bad };

Cell read_number(std::string_view text, char separator, double& out) {
  for (const std::string_view none : {"", "nan", "NaN", "NAN", "na", "NA", "n/a", "N/A", "null", "None", "-"})
    if (text == none) return Cell::Missing;
  char copy[64];
  if (text.size() > sizeof copy) return Cell::Bad;
  std::copy(text.begin(), text.end(), copy);
  // Where the comma does not separate fields it is a decimal point.
  if (separator != ',') std::replace(copy, copy + text.size(), ',', '.');
  const char* begin = copy + (text.front() == '+' ? 1 : 0);
  const auto [end, ec] = std::from_chars(begin, copy + text.size(), out);
  if (ec != std::errc() || end != copy + text.size()) return Cell::Bad;
  return std::isfinite(out) ? Cell::Number : Cell::Missing;
}

/// `2026-01-31 12:00:00.5`, of a zone or not: only what lies between two of them counts.
std::optional<WidePs> date_of(std::string_view text) {
  const auto day = time_of_day(text);
  return day ? day : time_of_day(std::string(text.substr(0, 64)) + "Z");
}

/// Below so many of the last digit, numbers are taken as exact: who writes 1 and 2 seldom means 1.4 and 1.6.
constexpr double kRoundedFrom = 3;
/// So many of the numbers have no more digits: one that was written by another program says nothing of the rest.
constexpr double kOfNumbers = 0.98;
constexpr std::size_t kMostDecimals = 18;

/// How many digits stand behind the point, but for zeros at the end; the most where there is an exponent.
std::size_t decimals_of(std::string_view text, char separator) {
  if (text.find_first_of("eE") != std::string_view::npos) return kMostDecimals;
  const std::size_t point = text.find_last_of(separator == ',' ? "." : ".,");
  if (point == std::string_view::npos) return 0;
  return std::min(kMostDecimals, text.find_last_not_of('0') - point);
}

/// How many numbers have so many digits behind the point.
using Decimals = std::array<std::int64_t, kMostDecimals + 1>;

/// One of the last place that all but a few have.
double last_digit(const Decimals& numbers) {
  const auto all = static_cast<double>(std::accumulate(numbers.begin(), numbers.end(), std::int64_t{0}));
  std::size_t decimals = 0;
  for (std::int64_t n = numbers[0]; static_cast<double>(n) < kOfNumbers * all;) n += numbers[++decimals];
  return std::pow(10.0, -static_cast<double>(decimals));
}

double seconds_per(StepUnit unit) {
  switch (unit) {
    case StepUnit::Milliseconds:
      return 1e-3;
    case StepUnit::Microseconds:
      return 1e-6;
    case StepUnit::Nanoseconds:
      return 1e-9;
    case StepUnit::None:
    case StepUnit::Seconds:
      break;
  }
  return 1;
}

Error nothing_in_it() {
  return Error{.code = Errc::InvalidInput,
               .id = "import-005",
               .message = "no step time in the table, expected a number per rank and step",
               .hint = {},
               .where = {}};
}

/// A column of which no length of a step follows, and why.
Error no_lengths(const std::string& column, std::string_view why) {
  return Error{
      .code = Errc::InvalidInput,
      .id = "import-005",
      .message = fmt::format("{} {}", column.empty() ? "a rank's column" : column, why),
      .hint = "call a column of lengths step_time, and one of points in time timestamp, each with its unit",
      .where = {}};
}

constexpr std::string_view kOnlyPoints =
    "holds points in time of ranks, expected how long each rank worked in each step: what lies between two "
    "points is their waiting, too";
constexpr std::string_view kNotInOrder =
    "holds points in time that do not go on from row to row and step to step, in ten rows or more";
constexpr std::string_view kTooCoarse = "shows too few digits for the steps that it holds";
constexpr std::string_view kStandsStill =
    "stands still in many rows: they were written down together, not when a step ended";
constexpr std::string_view kEither =
    "only grows: the length of each step, or points in time that do not begin at zero?";
constexpr std::string_view kLooksLikePoints =
    "only grows, from about zero on: points in time, expected lengths of steps";
constexpr std::string_view kRepeats =
    "repeats the step of a rank in more than a third of its rows: a column called rank or run has to "
    "tell them apart, or the steps be numbered through";

class StepTableReader {
 public:
  StepTableReader(const std::filesystem::path& path, StepColumns columns)
      : columns_(std::move(columns)),
        part_(path.string(), kStepTableReader.format),
        times_(columns_.unit == StepUnit::None ? StepTimes::Unit::Unknown : StepTimes::Unit::Seconds) {
    for (const WideColumn& c : columns_.wide) wide_series_.push_back(times_.series_of(c.rank));
  }

  void take(const std::vector<std::string_view>& fields) {
    fields_ = &fields;
    if (!columns_.wide.empty()) {
      const std::int64_t step = step_of(rows_++);
      for (std::size_t i = 0; i < columns_.wide.size(); ++i)
        add(wide_series_[i], step, field(columns_.wide[i].column));
      return;
    }
    const auto series = find_series();
    if (!series) {
      ++bad_;
      return;
    }
    add(series, step_of(rows_of_[*series]++), field(columns_.value));
  }

  /// All rows are there: what of them are points in time becomes lengths. Errors: import-005.
  Status settle() {
    if (is_series()) put_in_order();
    const bool is_clock =
        columns_.is_clock == IsClock::Yes || first_day_ || is_day() || growth_.from_nothing();
    if (columns_.is_clock == IsClock::No || !is_series()) {
      if (is_clock || (columns_.names_clock && growth_.goes_up()))
        return fail(no_lengths(columns_.value_name, is_series() ? kLooksLikePoints : kOnlyPoints));
    } else if (is_clock || (columns_.names_clock && growth_.tenfold())) {
      return take_clock();
    } else if (columns_.names_clock && growth_.goes_up()) {
      return fail(no_lengths(columns_.value_name, kEither));
    }
    for (const StepValue& v : waiting_) add(v);
    waiting_.clear();
    if (times_.repeats_most()) return fail(no_lengths(columns_.value_name, kRepeats));
    return {};
  }

  [[nodiscard]] Seconds largest_unit() { return times_.largest_unit(); }

  /// Pre: settled.
  Result<Run> finish(Seconds unit) && {
    if (times_.is_empty()) return fail(nothing_in_it());
    part_.run().resolution = resolution(unit);
    std::move(times_).finish(part_, cells_, unit);
    write_notes();
    return std::move(part_).finish();
  }

 private:
  [[nodiscard]] bool is_series() const { return columns_.rank == kNoColumn && columns_.wide.empty(); }

  [[nodiscard]] std::string_view field(std::size_t column) const {
    return column < fields_->size() ? (*fields_)[column] : std::string_view();
  }

  /// The number in the step's column, or the count of rows where there is none.
  std::int64_t step_of(std::int64_t row) {
    double n = 0;
    if (columns_.step == kNoColumn) return row;
    if (read_number(field(columns_.step), columns_.separator, n) == Cell::Number && std::abs(n) < 9e15)
      return static_cast<std::int64_t>(std::floor(n));
    ++unnumbered_;
    return row;
  }

  /// By the number in the rank's column, which may end a name: `3`, `worker-3`.
  std::optional<std::uint32_t> find_series() {
    if (columns_.rank == kNoColumn) return times_.series_of(0);
    std::string_view text = field(columns_.rank);
    text = text.substr(0, text.find_first_of("/:"));  // `2/8`, `node-3:29500`
    if (const std::size_t point = text.find('.');
        text.find_first_not_of('0', point + 1) == std::string_view::npos)
      text = text.substr(0, point);  // `2.0`
    const std::size_t digits = text.find_last_not_of("0123456789");
    const std::string_view number = text.substr(digits == std::string_view::npos ? 0 : digits + 1);
    std::int32_t rank = -1;
    const auto [end, ec] = std::from_chars(number.data(), number.data() + number.size(), rank);
    if (ec != std::errc() || text.starts_with('-')) return std::nullopt;
    return times_.series_of(rank);
  }

  void add(std::optional<std::uint32_t> series, std::int64_t step, std::string_view text) {
    ++cells_;
    StepValue v{.step = step, .decimals = decimals_of(text, columns_.separator)};
    Cell cell = read_number(text, columns_.separator, v.value);
    for (const std::size_t column : columns_.more) {
      double part = 0;
      v.decimals = std::max(v.decimals, decimals_of(field(column), columns_.separator));
      cell = std::max(cell, read_number(field(column), columns_.separator, part));
      v.value += part;
    }
    if (cell == Cell::Bad && columns_.is_clock != IsClock::No) cell = read_date(text, v);
    if (cell == Cell::Missing) {
      ++missing_;
    } else if (cell == Cell::Bad || !series) {
      ++bad_;
    } else {
      v.series = *series;
      growth_.add(*series, v.value);
      if (columns_.is_clock == IsClock::No || !is_series())
        add(v);
      else
        waiting_.push_back(v);
    }
  }

  void add(const StepValue& v) {
    if (times_.add(v.series, v.step, Seconds(v.value * seconds_per(columns_.unit))))
      ++with_decimals_[v.decimals];
    else
      ++bad_;
  }

  /// Seconds since the table's first.
  Cell read_date(std::string_view text, StepValue& v) {
    const auto day = date_of(text);
    if (!day) return Cell::Bad;
    if (!first_day_) first_day_ = day;
    constexpr double kPsPerS = 1e12;
    v.value = static_cast<double>(*day - *first_day_) / kPsPerS;
    return Cell::Number;
  }

  /// Dates are in seconds; a number that is a time of day tells its unit.
  void find_unit() {
    const auto unit = first_day_ ? std::optional(Seconds(1)) : unit_since_1970(waiting_.back().value);
    for (const StepUnit u :
         {StepUnit::Seconds, StepUnit::Milliseconds, StepUnit::Microseconds, StepUnit::Nanoseconds})
      if (unit && seconds_per(u) == unit->count()) columns_.unit = u;
    if (columns_.unit == StepUnit::None) return;
    times_ = StepTimes(StepTimes::Unit::Seconds);
    static_cast<void>(times_.series_of(0));
  }

  /// Times of day: so many seconds after 1970, near each other and not all the same.
  [[nodiscard]] bool is_day() const {
    constexpr double kSpread = 2e-3;
    const double high = growth_.highest();
    if (growth_.lowest() == high || growth_.lowest() < (1 - kSpread) * high) return false;
    const auto unit = unit_since_1970(high);
    return unit && (columns_.unit == StepUnit::None || seconds_per(columns_.unit) == unit->count());
  }

  /// Rows of a clock that are out of order: by their steps.
  void put_in_order() {
    if (waiting_.empty() || growth_.goes_up()) return;
    std::stable_sort(waiting_.begin(), waiting_.end(),
                     [](const StepValue& a, const StepValue& b) { return a.step < b.step; });
    growth_ = {};
    for (const StepValue& v : waiting_) growth_.add(0, v.value);
  }

  Status take_clock() {
    if (!growth_.goes_up()) return fail(no_lengths(columns_.value_name, kNotInOrder));
    if (first_day_ || columns_.unit == StepUnit::None) find_unit();
    Decimals digits{};
    for (const StepValue& v : waiting_) ++digits[v.decimals];
    const ClockedSteps clocked = steps_between(waiting_, last_digit(digits));
    steps_per_length_ = clocked.together * clocked.steps_per_row;
    if (clocked.lengths.empty())
      return fail(no_lengths(columns_.value_name, clocked.together > 1 ? kTooCoarse : kNotInOrder));
    if (clocked.stands_still) return fail(no_lengths(columns_.value_name, kStandsStill));
    note_clock(clocked);
    for (const StepValue& v : clocked.lengths) add(v);
    waiting_.clear();
    return {};
  }

  void note_clock(const ClockedSteps& clocked) {
    part_.note(
        fmt::format("{} holds points in time: a step is the time since the row before", columns_.value_name));
    if (clocked.steps_per_row > 1)
      part_.note(
          fmt::format("a row stands for {} steps: their mean is taken for one", clocked.steps_per_row));
    if (clocked.steps_per_row == 0)
      part_.note("rows stand for different numbers of steps: a mean is taken for each row's");
    if (clocked.together > 1)
      part_.note(fmt::format("the clock's last digit is much of a step: {} rows are taken together",
                             clocked.together));
    part_.note_count(clocked.not_forward, "row goes", "rows go",
                     " back to an earlier step or time, as after a restart: the time before it is left out");
  }

  /// What the table's times are multiples of by their digits: one of the last place that all but a few of them have.
  [[nodiscard]] Duration resolution(Seconds unit) const {
    if (steps_per_length_ == 0) return {};
    const Seconds one{seconds_per(columns_.unit) * last_digit(with_decimals_) /
                      static_cast<double>(steps_per_length_)};
    if (times_.usual() < kRoundedFrom * one) return {};
    return duration_from_seconds(columns_.unit == StepUnit::None ? one.count() * unit.count() : one.count());
  }

  void write_notes() {
    if (columns_.unit == StepUnit::None)
      part_.note(fmt::format("no unit in {}: only ratios mean anything",
                             columns_.value_name.empty() ? "the columns' names" : columns_.value_name));
    if (columns_.other_times > 0)
      part_.note(fmt::format("steps are told by {}; {} of other times beside it {} not used",
                             columns_.value_name, counted(columns_.other_times, "column", "columns"),
                             columns_.other_times == 1 ? "is" : "are"));
    if (!columns_.more.empty()) part_.note(fmt::format("a step is {}", columns_.value_name));
    if (!columns_.left_out.empty())
      part_.note(fmt::format(
          "{} {} not used: nothing says whether that is a part of a step",
          fmt::join(std::span(columns_.left_out).first(std::min<std::size_t>(columns_.left_out.size(), 4)),
                    ", "),
          columns_.left_out.size() == 1 ? "is" : "are"));
    if (columns_.is_part)
      part_.note(fmt::format("{} is a part of a step: what is said of steps is said of that part",
                             columns_.value_name));
    if (!columns_.waiting_name.empty())
      part_.note(fmt::format("{} is not used: it holds waiting for other ranks", columns_.waiting_name));
    if (columns_.is_summary)
      part_.note(fmt::format("steps are told by {}, which sums up their ranks", columns_.value_name));
    if (is_series()) part_.note("one series for the whole job: no rank can be named");
    part_.note_count(missing_, "value is", "values are", " missing (empty or nan)");
    part_.note_count(unnumbered_, "row without a step number is numbered by its place",
                     "rows without a step number are numbered by their order");
    part_.note_count(bad_, "value or rank cannot be read and is left out",
                     "values or ranks cannot be read and are left out");
  }

  StepColumns columns_;
  PartBuilder part_;
  StepTimes times_;
  std::vector<StepValue> waiting_;  // until it is known whether they are points in time
  std::optional<WidePs> first_day_;
  Growth growth_;
  std::int64_t steps_per_length_ = 1;                      // 0: different numbers
  const std::vector<std::string_view>* fields_ = nullptr;  // of the line that is being taken
  std::vector<std::optional<std::uint32_t>> wide_series_;  // by wide column
  std::map<std::uint32_t, std::int64_t> rows_of_;          // by series
  std::int64_t rows_ = 0, cells_ = 0, missing_ = 0, bad_ = 0, unnumbered_ = 0;
  Decimals with_decimals_{};  // numbers that are used
};

/// The runs of one table, told apart by the columns that name them.
class RunsOfTable {
 public:
  RunsOfTable(const std::filesystem::path& path, const StepColumns& columns)
      : path_(path), columns_(columns) {}

  void take(std::string_view line) {
    split_fields(line, columns_.separator, fields_);
    std::string key;
    for (const std::size_t c : columns_.run) {
      const std::string_view field = c < fields_.size() ? fields_[c] : std::string_view();
      key += (key.empty() ? "" : "/") + clean_text(field.substr(0, kLongestKey));
    }
    const auto at = number_of_.find(key);
    if (at != number_of_.end()) return readers_[at->second].take(fields_);
    if (readers_.size() >= kMostRuns) {
      ++left_out_;
      return;
    }
    number_of_.emplace(key, readers_.size());
    names_.push_back(key);
    readers_.emplace_back(path_, columns_).take(fields_);
  }

  /// All runs that hold a step time, in the order of the table.
  Result<ImportedJob> finish() && {
    std::vector<Run> runs;
    std::optional<Error> error;
    Seconds unit(1);
    std::vector<Status> settled;
    settled.reserve(readers_.size());
    for (StepTableReader& reader : readers_) {
      settled.push_back(reader.settle());
      unit = std::min(unit, reader.largest_unit());
    }
    for (std::size_t i = 0; i < readers_.size(); ++i) {
      Result<Run> run =
          settled[i] ? std::move(readers_[i]).finish(unit) : fail(std::move(settled[i]).error());
      if (!run) {
        error = error ? std::move(error) : std::move(run).error();
        continue;
      }
      run->info.name = names_[i];
      runs.push_back(*std::move(run));
    }
    if (runs.empty()) return fail(error ? *std::move(error) : nothing_in_it());
    if (left_out_ > 0)
      runs.front().notes.push_back(
          {.file = {},
           .text = fmt::format("{} of more than {} runs {} left out", counted(left_out_, "row", "rows"),
                               kMostRuns, left_out_ == 1 ? "is" : "are")});
    ImportedJob job{.run = std::move(runs.front()), .program = {}, .further_runs = {}};
    job.further_runs.assign(std::make_move_iterator(runs.begin() + 1), std::make_move_iterator(runs.end()));
    return job;
  }

 private:
  static constexpr std::size_t kMostRuns = 256;
  static constexpr std::size_t kLongestKey = 128;

  std::filesystem::path path_;
  const StepColumns& columns_;
  std::vector<std::string_view> fields_;
  std::map<std::string, std::size_t> number_of_;
  std::vector<std::string> names_;
  std::deque<StepTableReader> readers_;
  std::int64_t left_out_ = 0;
};

/// The names must be plausible, and the first row must hold a number or a missing value under them.
bool recognise(const Head& head) {
  std::string_view text = without_mark(head.bytes);
  std::int64_t number = 0;
  const std::string_view header = take_line(text, number);
  if (header.size() == head.bytes.size() || header.find('\0') != std::string_view::npos) return false;
  const auto columns = find_step_columns(header);
  // One value per rank is a summary, not one step.
  if (!columns || is_figures(head.bytes)) return false;
  std::vector<std::string_view> fields;
  split_fields(take_line(text, number), columns->separator, fields);
  const std::size_t column = columns->wide.empty() ? columns->value : columns->wide.front().column;
  double value = 0;
  if (column >= fields.size()) return false;
  return read_number(fields[column], columns->separator, value) != Cell::Bad ||
         (columns->is_clock != IsClock::No && date_of(fields[column]));
}

Result<ImportedJob> read(const std::filesystem::path& path, const ImportOptions& options) {
  COX_TRY(ByteSource source,
          ByteSource::open(path, std::min<std::uint64_t>(options.limit_bytes, kTableBytes)));
  COX_TRY(const std::string bytes, source.read_all());
  std::string_view text = without_mark(bytes);
  std::int64_t number = 0;
  const auto columns = find_step_columns(take_line(text, number));
  if (!columns)
    return fail(
        Error{.code = Errc::InvalidInput,
              .id = "import-005",
              .message = "no column of step times, expected e.g. rank,step,time_s or step,rank0,rank1",
              .hint = "name the columns in the first line; docs/reference/inputs/rings.md has the names",
              .where = Where{.file = path.string(), .line = number}});
  RunsOfTable runs(path, *columns);
  for (;;) {
    const std::string_view line = take_line(text, number);
    if (line.empty()) break;
    runs.take(line);
  }
  auto job = std::move(runs).finish();
  if (job || job.error().where) return job;
  Error error = std::move(job).error();
  error.where = Where{.file = path.string()};
  return fail(std::move(error));
}

}  // namespace

const Reader kStepTableReader{.format = "step-times",
                              .title = "table of step times per rank (CSV)",
                              .recognises = recognise,
                              .read = read};

}  // namespace cox::trace
