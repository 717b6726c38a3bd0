// SPDX-License-Identifier: Apache-2.0
// What trainers print as they go: lines of text that name a step and say how long it took (Megatron-LM, GPT-NeoX, DeepSpeed,
// NeMo, MaxText, nanoGPT, llm.c and whoever prints alike).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cox/base/number_text.hpp"
#include "cox/base/stats.hpp"

#include "trace/import/figures/lines.hpp"
#include "trace/import/lines/span_keys.hpp"
#include "trace/import/part/part_builder.hpp"
#include "trace/import/part/reader.hpp"
#include "trace/import/tables/step_times.hpp"
#include "trace/raw/meta_entries.hpp"

namespace cox::trace {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
constexpr std::size_t kMostOfLine = 4096;
constexpr std::size_t kLongestLabel = 32;
/// How far a long log is looked into: its start may be thousands of lines about the job.
constexpr std::size_t kMostLookedInto = std::size_t{8} << 20;
/// Lines of steps that make a text a log of them.
constexpr int kFewestLines = 3;

constexpr std::array<std::string_view, 6> kStepNames{"iteration",   "iter",  "global_step",
                                                     "global step", "steps", "step"};

/// A text that stands in front of a step's time, small; a longer one before what it contains.
struct TimeName {
  std::string_view text;
  Seconds unit{};             ///< one of it; 0 = the text says it behind the name or behind the number
  bool needs_suffix = false;  ///< the name alone says little: only with a unit right behind the number
};
constexpr std::array<TimeName, 12> kTimeNames{{
    {.text = "elapsed time per iteration"},
    {.text = "time per iteration"},
    {.text = "iteration time"},
    {.text = "iteration_time"},
    {.text = "iter time"},
    {.text = "iter_time"},
    {.text = "train_step_timing"},
    {.text = "step time"},
    {.text = "step_time"},
    {.text = "time per step"},
    {.text = "seconds", .unit = Seconds(1)},
    {.text = "time", .needs_suffix = true},
}};
/// llm.c prints a field that is nothing but a number and `ms`.
constexpr std::size_t kBareField = kTimeNames.size();

struct LoggedTime {
  std::size_t name = 0;  ///< in kTimeNames, or kBareField
  Seconds length{};
};

bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

void skip(std::string_view& rest, std::string_view any_of) {
  const std::size_t first = rest.find_first_not_of(any_of);
  rest.remove_prefix(std::min(first, rest.size()));
}

/// Takes a number without a sign off the front.
std::optional<double> take_number(std::string_view& rest) {
  double value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc() || !is_digit(rest.front()) || !std::isfinite(value)) return std::nullopt;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return value;
}

/// Takes a unit off the front: one of it; nothing where there is none.
std::optional<Seconds> take_unit(std::string_view& rest) {
  const auto* const end = std::find_if_not(rest.begin(), rest.end(), is_letter);
  const std::string_view behind = rest.substr(static_cast<std::size_t>(end - rest.begin()));
  if (!behind.empty() && (is_digit(behind.front()) || behind.front() == '/')) return std::nullopt;
  const auto unit = unit_named(rest.substr(0, rest.size() - behind.size()));
  if (unit) rest = behind;
  return unit;
}

/// The unit that stands behind a name: ` (ms)`, `[s]`, ` in s`, `_ms`.
std::optional<Seconds> take_unit_of_name(std::string_view& rest) {
  for (const std::string_view before : {" (", "(", " [", "[", " in ", "_in_", "_"}) {
    if (!rest.starts_with(before)) continue;
    std::string_view behind = rest.substr(before.size());
    const auto unit = take_unit(behind);
    if (!unit) continue;
    if (behind.starts_with(')') || behind.starts_with(']')) behind.remove_prefix(1);
    rest = behind;
    return unit;
  }
  return std::nullopt;
}

/// The time that stands behind a name at `at`, where that is the name's own place.
std::optional<Seconds> time_behind(std::string_view line, std::size_t at, const TimeName& name) {
  const std::size_t before = line.find_last_not_of(' ', at == 0 ? 0 : at - 1);
  if (at > 0 && before != std::string_view::npos && is_letter(line[before])) return std::nullopt;
  std::string_view rest = line.substr(at + name.text.size());
  std::optional<Seconds> unit = name.unit > Seconds(0) ? std::optional(name.unit) : take_unit_of_name(rest);
  if (rest.empty() || (rest.front() != ':' && rest.front() != '=' && rest.front() != ' '))
    return std::nullopt;
  skip(rest, " :=");
  const auto value = rest.empty() ? std::nullopt : take_number(rest);
  if (!value) return std::nullopt;
  if (!unit || name.needs_suffix) {
    if (rest.starts_with(' ')) rest.remove_prefix(1);
    const auto suffix = take_unit(rest);
    unit = suffix ? suffix : name.needs_suffix ? std::nullopt : unit;
  }
  return unit ? std::optional(*value * *unit) : std::nullopt;
}

/// A field between bars that is a number and a unit.
std::optional<Seconds> bare_time(std::string_view line) {
  for (std::size_t bar = line.find('|'); bar != std::string_view::npos; bar = line.find('|', bar + 1)) {
    std::string_view rest = line.substr(bar + 1);
    skip(rest, " ");
    const auto value = rest.empty() ? std::nullopt : take_number(rest);
    if (!value || !rest.starts_with(' ')) continue;
    rest.remove_prefix(1);
    const auto unit = take_unit(rest);
    skip(rest, " ");
    if (unit && rest.starts_with('|')) return *value * *unit;
  }
  return std::nullopt;
}

/// `only`: the name that the lines before had.
std::optional<LoggedTime> time_in(std::string_view line, std::optional<std::size_t> only) {
  for (std::size_t k = 0; k < kTimeNames.size(); ++k) {
    if (only && *only != k) continue;
    const std::string_view name = kTimeNames[k].text;
    for (std::size_t at = line.find(name); at != std::string_view::npos; at = line.find(name, at + 1))
      if (const auto length = time_behind(line, at, kTimeNames[k]))
        return LoggedTime{.name = k, .length = *length};
  }
  if (only.value_or(kBareField) != kBareField) return std::nullopt;
  const auto length = bare_time(line);
  return length ? std::optional(LoggedTime{.name = kBareField, .length = *length}) : std::nullopt;
}

/// The number of the step that a line, in small letters, is about.
std::optional<std::int64_t> step_in(std::string_view line) {
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (at > 0 && is_letter(line[at - 1])) continue;
    for (const std::string_view name : kStepNames) {
      if (!line.substr(at).starts_with(name)) continue;
      std::string_view rest = line.substr(at + name.size());
      if (rest.empty() || (is_letter(rest.front()) || is_digit(rest.front()))) continue;
      skip(rest, " :=#[");
      std::int64_t step = 0;
      const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), step);
      if (error != std::errc() || step < 0) continue;
      std::string_view behind(end, static_cast<std::size_t>(rest.data() + rest.size() - end));
      if (behind.starts_with(".0")) behind.remove_prefix(2);
      if (!behind.empty() && (is_letter(behind.front()) || is_digit(behind.front()) || behind.front() == '.'))
        continue;
      return step;
    }
  }
  return std::nullopt;
}

/// What a launcher puts in front of a rank's lines: `0: `, `[default3]: `, `[1,0]<stdout>: `.
std::string_view label_of(std::string_view line) {
  const std::size_t colon = line.substr(0, kLongestLabel).find(": ");
  if (colon == std::string_view::npos) return {};
  const std::string_view label = line.substr(0, colon);
  const bool has_digit = std::any_of(label.begin(), label.end(), is_digit);
  const bool names_step =
      label.find("step") != std::string_view::npos || label.find("iter") != std::string_view::npos;
  return has_digit && !names_step ? label : std::string_view();
}

struct LoggedStep {
  std::int64_t step = 0;
  Seconds length{};
};

class Log {
 public:
  void take(std::string_view line) {
    small_.assign(line.substr(0, kMostOfLine));
    for (char& c : small_) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const auto time = time_in(small_, name_);
    const auto step = time ? step_in(small_) : std::nullopt;
    if (!step) return;
    const std::string_view label = label_of(small_);
    if (steps_.empty()) {
      name_ = time->name;
      label_ = std::string(label);
    }
    const bool is_again =
        !steps_.empty() && steps_.back().step == *step && steps_.back().length == time->length;
    if (label != label_ || is_again) {
      ++others_;
      return;
    }
    steps_.push_back({*step, time->length});
  }
  [[nodiscard]] const std::vector<LoggedStep>& steps() const { return steps_; }
  [[nodiscard]] std::int64_t others() const { return others_; }
  [[nodiscard]] std::string_view name() const {
    return !name_ || *name_ == kBareField ? "a field with a time" : kTimeNames[*name_].text;
  }

 private:
  std::string small_;
  std::optional<std::size_t> name_;
  std::string label_;
  std::vector<LoggedStep> steps_;
  std::int64_t others_ = 0;
};

/// Whether the numbers of steps only grow: else lines are counted.
bool are_numbers_used(const std::vector<LoggedStep>& steps) {
  return std::adjacent_find(steps.begin(), steps.end(), [](const LoggedStep& a, const LoggedStep& b) {
           return b.step <= a.step;
         }) == steps.end();
}

void note_numbers(const std::vector<LoggedStep>& steps, PartBuilder& part) {
  std::vector<double> apart;
  std::int64_t back = 0;
  for (std::size_t i = 1; i < steps.size(); ++i) {
    if (steps[i].step > steps[i - 1].step)
      apart.push_back(static_cast<double>(steps[i].step - steps[i - 1].step));
    else
      ++back;
  }
  const double usual = apart.empty() ? 1 : median_in_place(apart);
  if (usual > 1)
    part.note(fmt::format(
        "a line every {:.0f} steps: where its time is their mean, what lasts shorter is seen in part",
        usual));
  part.note_count(back, "time the numbers of steps go back, as after a restart: steps are counted by line",
                  "times the numbers of steps go back, as after a restart: steps are counted by line");
}

Result<Run> read(const std::filesystem::path& path, const ImportOptions& options) {
  COX_TRY(ByteSource source, ByteSource::open(path, std::min(options.limit_bytes, kMostBytes)));
  COX_TRY(const std::string bytes, source.read_all());
  Log log;
  for (std::string_view text = bytes; !text.empty();) log.take(next_line(text));
  PartBuilder part(path.string(), kStepLogReader.format);
  StepTimes times(StepTimes::Unit::Seconds);
  const auto only = times.series_of(0);
  std::int64_t bad = 0;
  const bool by_number = are_numbers_used(log.steps());
  for (std::size_t i = 0; i < log.steps().size(); ++i) {
    const LoggedStep& s = log.steps()[i];
    if (!times.add(*only, by_number ? s.step : static_cast<std::int64_t>(i), s.length)) ++bad;
  }
  if (times.is_empty())
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "import-005",
                      .message = "a log whose step times cannot be times",
                      .hint = {},
                      .where = Where{.file = path.string()}});
  std::move(times).finish(part, static_cast<std::int64_t>(log.steps().size()), Seconds(1));
  part.note(fmt::format("steps are the {} lines of the log with {}", log.steps().size(), log.name()));
  part.note("one series for the whole job: no rank can be named");
  note_numbers(log.steps(), part);
  part.note_count(log.others(),
                  "line repeats the one before or has another label than the first and is left out",
                  "lines repeat the one before or have another label than the first and are left out");
  part.note_count(bad, "value is no time of a step and is left out",
                  "values are no times of a step and are left out");
  if (source.cut()) part.note("the compressed file stops early; what could be unpacked is used");
  return std::move(part).finish();
}

bool has_steps(std::string_view text) {
  Log log;
  while (!text.empty() && log.steps().size() < kFewestLines) log.take(next_line(text));
  return log.steps().size() >= kFewestLines;
}

bool recognise(const Head& head) {
  if (head.bytes.find('\0') != std::string_view::npos) return false;
  if (has_steps(head.bytes)) return true;
  if (head.bytes.size() < kHeadBytes) return false;
  // The last reader that is asked: a text that is long may say more further on.
  Result<ByteSource> source = ByteSource::open(head.path, kMostBytes);
  if (!source) return false;
  std::string more(kMostLookedInto, '\0');
  const Result<std::size_t> got = source->read(more);
  return got && has_steps(std::string_view(more).substr(0, *got));
}

}  // namespace

const Reader kStepLogReader{.format = "step-log",
                            .title = "log of a trainer",
                            .recognises = recognise,
                            .read = read_without_program<read>};

}  // namespace cox::trace
