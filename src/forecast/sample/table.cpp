// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cox/base/file.hpp"

#include "forecast/sample/read.hpp"

namespace cox::forecast {
namespace {

constexpr std::size_t kMostBytes = std::size_t{256} << 20;
constexpr std::size_t kMostValues = 20'000'000;
constexpr std::int64_t kMostRanks = 1'048'576;
constexpr std::int64_t kMostSteps = std::int64_t{1} << 40;
constexpr std::size_t kMostPositions = 64;
constexpr std::size_t kHead = 4096;     ///< bytes that the first line is looked for in
constexpr std::size_t kMostShown = 40;  ///< characters of a bad line

using Cells = std::vector<std::string_view>;

/// Lines that hold something, with their numbers.
class Lines {
 public:
  Lines(std::string_view text, const std::string& name) : rest_(text), name_(name) {
    if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);
  }
  /// The cells of the next line; empty at the end.
  const Cells& next() {
    cells_.clear();
    while (!rest_.empty()) {
      line_ = rest_.substr(0, rest_.find('\n'));
      rest_.remove_prefix(std::min(rest_.size(), line_.size() + 1));
      ++number_;
      line_ = trimmed(line_);
      if (line_.empty() || line_.front() == '#') continue;
      split();
      break;
    }
    return cells_;
  }
  [[nodiscard]] Error error(std::string message, std::string hint) const {
    return Error{.code = Errc::InvalidInput,
                 .id = "forecast-003",
                 .message = std::move(message),
                 .hint = std::move(hint),
                 .where = Where{.file = name_, .line = number_}};
  }
  [[nodiscard]] std::string shown() const { return Lines::shown(line_); }
  /// The beginning of a text, without what a terminal would act on.
  [[nodiscard]] static std::string shown(std::string_view text) {
    std::string out(text.substr(0, kMostShown));
    std::replace_if(
        out.begin(), out.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
    return out + (text.size() > kMostShown ? "..." : "");
  }

 private:
  static std::string_view trimmed(std::string_view text) {
    const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '"'; };
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    return text;
  }
  void split() {
    if (between_ == '\0') {  // the first line of names tells
      const auto has = [this](char c) { return line_.find(c) != std::string_view::npos; };
      between_ = has(',') ? ',' : has(';') ? ';' : has('\t') ? '\t' : ',';
    }
    for (std::size_t begin = 0; begin <= line_.size();) {
      const std::size_t end = std::min(line_.find(between_, begin), line_.size());
      cells_.push_back(trimmed(line_.substr(begin, end - begin)));
      begin = end + 1;
    }
  }

  std::string_view rest_;
  std::string_view line_;
  const std::string& name_;
  std::int64_t number_ = 0;
  char between_ = '\0';  ///< cells: a comma, a semicolon or a tab
  Cells cells_;
};

template <class T>
std::optional<T> number(std::string_view cell) {
  T value{};
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc{} || end != cell.data() + cell.size()) return std::nullopt;
  return value;
}

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// What a column holds, by its name.
struct Columns {
  std::size_t step = kNone, rank = kNone, node = kNone, position = kNone, compute = kNone;
  std::size_t size = kNone, value = kNone;
  std::size_t unitless = kNone;  ///< named like a value, without a unit we know
  std::vector<std::size_t> others;
  double seconds = 1;  ///< of one unit
  CurveValue kind = CurveValue::StepTime;
  std::string value_name;
  std::size_t count = 0;
};

/// `step_ms`: the unit behind `stem` and an underscore, in seconds; zero = it is not such a name.
double unit_behind(std::string_view name, std::string_view stem) {
  if (!name.starts_with(stem) || name.size() < stem.size() + 2 || name[stem.size()] != '_') return 0;
  const std::string_view unit = name.substr(stem.size() + 1);
  for (const auto& [text, seconds] :
       {std::pair{std::string_view("s"), 1.0}, std::pair{std::string_view("ms"), 1e-3},
        std::pair{std::string_view("us"), 1e-6}})
    if (unit == text) return seconds;
  return 0;
}

bool is_any(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

constexpr std::array<std::string_view, 15> kSizeNames = {
    "size",      "ranks", "gpus", "devices", "nodes",        "world_size", "workers", "processes",
    "num_procs", "procs", "np",   "chips",   "accelerators", "num_gpus",   "n_gpus"};
/// What is done in a second, of the whole job; of one device it is another thing.
constexpr std::array<std::string_view, 7> kRateNames = {"throughput", "samples", "tokens",    "images",
                                                        "sequences",  "steps",   "iterations"};
constexpr std::array<std::string_view, 3> kPerSecond = {"_per_s", "_per_sec", "_per_second"};
bool is_rate(std::string_view name) {
  return std::ranges::any_of(kRateNames, [&](std::string_view what) {
    return name.starts_with(what) && is_any(name.substr(what.size()), kPerSecond);
  });
}
constexpr std::array<std::string_view, 2> kBareNames = {"value", "time"};
/// Before a unit; longer ones before those that they begin with.
constexpr std::array<std::string_view, 5> kTimeNames = {"step_time", "step", "iteration_time", "iteration",
                                                        "time"};

/// Takes a name for a value: `stem` with a unit, or without one that is known.
bool take_value(Columns& c, std::size_t at, std::string_view name, std::string_view stem, std::size_t& slot) {
  if (name != stem && !(name.starts_with(stem) && name.size() > stem.size() && name[stem.size()] == '_'))
    return false;
  const double seconds = unit_behind(name, stem);
  if (seconds == 0 || slot != kNone) {
    c.unitless = at;
    c.value_name = name;
  } else {
    slot = at;
    c.seconds = seconds;
    c.value_name = name;
  }
  return true;
}

void take_name(Columns& c, std::size_t at, std::string_view name) {
  if (name == "step" && c.step == kNone)
    c.step = at;
  else if (name == "rank" && c.rank == kNone)
    c.rank = at;
  else if (name == "position" && c.position == kNone)
    c.position = at;
  else if (name == "node" && c.node == kNone)
    c.node = at;
  else if (is_any(name, kSizeNames) && c.size == kNone)
    c.size = at;
  else if (name == "seconds" && c.value == kNone) {
    c.value = at;
    c.value_name = name;
  } else if (is_rate(name) && c.value == kNone) {
    c.value = at;
    c.kind = CurveValue::Throughput;
    c.value_name = name;
  } else if (is_any(name, kBareNames) || name.starts_with("throughput")) {
    c.unitless = at;
    c.value_name = name;
  } else if (!take_value(c, at, name, "compute", c.compute) &&
             std::ranges::none_of(
                 kTimeNames, [&](std::string_view stem) { return take_value(c, at, name, stem, c.value); })) {
    c.others.push_back(at);
  }
}

Columns columns_of(const Cells& header) {
  Columns c;
  c.count = header.size();
  for (std::size_t i = 0; i < header.size(); ++i) {
    std::string name(header[i]);
    std::ranges::transform(name, name.begin(), [](char x) {
      return x >= 'A' && x <= 'Z' ? static_cast<char>(x - 'A' + 'a') : x;
    });
    take_name(c, i, name);
  }
  if (c.size != kNone && c.step != kNone && c.rank == kNone && c.value == kNone) {
    c.unitless = std::exchange(c.step, kNone);  // a step's time, not its number
    c.value_name = "step";
  }
  return c;
}

/// One line of a table of own work.
struct WorkRow {
  std::int64_t step = 0;
  std::int64_t rank = 0;
  std::int64_t node = -1;
  std::size_t position = 0;
  Seconds own{};
};

class WorkTable {
 public:
  WorkTable(const Columns& columns, const std::string& name) : c_(columns), name_(name) {}

  Status take(const Cells& cells, const Lines& lines) {
    COX_TRY(const WorkRow row, read(cells, lines));
    if (rows_.size() >= kMostValues)
      return fail(lines.error(fmt::format("more than {} values", kMostValues), "give fewer steps"));
    const auto [at, fresh] = node_of_.emplace(row.rank, row.node);
    if (!fresh && at->second != row.node)
      return fail(
          lines.error(fmt::format("rank {} is on node {}, before on node {}", row.rank, row.node, at->second),
                      "one node for each rank"));
    rows_.push_back(row);
    return {};
  }

  Result<Sample> finish() && {
    std::map<std::int64_t, std::size_t> steps;
    std::map<std::int64_t, std::size_t> ranks;
    std::size_t positions = 0;
    for (const WorkRow& r : rows_) {
      steps.emplace(r.step, 0);
      positions = std::max(positions, r.position + 1);
    }
    Sample out;
    out.name = name_;
    for (const auto& [rank, node] : node_of_) {
      ranks.emplace(rank, out.ranks.size());
      out.ranks.push_back({.rank = static_cast<std::int32_t>(rank), .node = static_cast<std::int32_t>(node)});
    }
    for (auto& [step, index] : steps) {
      index = out.steps.size();
      out.steps.push_back({.number = step});
    }
    const std::size_t cells = steps.size() * ranks.size();
    if (cells * positions != rows_.size()) return fail(hole(steps.size(), ranks.size(), positions));
    out.positions.resize(positions);
    for (std::size_t p = 0; p < positions; ++p) {
      out.positions[p].name = positions > 1 ? fmt::format("position {} of {}", p + 1, positions) : "";
      out.positions[p].own.assign(cells, Seconds{-1});
    }
    for (const WorkRow& r : rows_) {
      Seconds& own = out.positions[r.position].own[steps.at(r.step) * ranks.size() + ranks.at(r.rank)];
      if (own >= Seconds{}) return fail(twice(r));
      own = r.own;
    }
    place_steps(out);
    return out;
  }

 private:
  Result<WorkRow> read(const Cells& cells, const Lines& lines) const {
    const auto wrong = [&] {
      return fail(
          lines.error(fmt::format("got '{}', expected a step, a rank and a time of 0 or more", lines.shown()),
                      "rows such as 0,3,0.0125; every rank in every step"));
    };
    if (cells.size() != c_.count) return wrong();
    WorkRow row;
    const auto step = number<std::int64_t>(cells[c_.step]);
    const auto rank = number<std::int64_t>(cells[c_.rank]);
    const auto own = number<double>(cells[c_.compute]);
    if (!step || !rank || !own || *step < 0 || *step > kMostSteps || *rank < 0 || *rank >= kMostRanks ||
        !std::isfinite(*own) || *own < 0)
      return wrong();
    row.step = *step;
    row.rank = *rank;
    row.own = Seconds{*own * c_.seconds};
    if (c_.node != kNone) {
      const auto node = number<std::int64_t>(cells[c_.node]);
      if (!node || *node < 0 || *node >= kMostRanks) return wrong();
      row.node = *node;
    }
    if (c_.position != kNone) {
      const auto position = number<std::size_t>(cells[c_.position]);
      if (!position || *position >= kMostPositions) return wrong();
      row.position = *position;
    }
    return row;
  }

  Error hole(std::size_t steps, std::size_t ranks, std::size_t positions) const {
    return Error{.code = Errc::InvalidInput,
                 .id = "forecast-003",
                 .message = fmt::format("{} values, expected {}: {} steps, {} ranks{}", rows_.size(),
                                        steps * ranks * positions, steps, ranks,
                                        positions > 1 ? fmt::format(", {} positions", positions) : ""),
                 .hint = "every rank in every step, once; leave incomplete steps out",
                 .where = Where{.file = name_}};
  }
  Error twice(const WorkRow& r) const {
    return Error{.code = Errc::InvalidInput,
                 .id = "forecast-003",
                 .message = fmt::format("step {} of rank {} is there twice", r.step, r.rank),
                 .hint = "every rank in every step, once",
                 .where = Where{.file = name_}};
  }

  /// A step is as long as its slowest ranks: the table says no more.
  static void place_steps(Sample& out) {
    const std::size_t ranks = out.ranks.size();
    Seconds at{};
    for (std::size_t k = 0; k < out.steps.size(); ++k) {
      out.steps[k].begin = at;
      for (const Position& p : out.positions)
        out.steps[k].length +=
            *std::max_element(p.own.begin() + static_cast<std::ptrdiff_t>(k * ranks),
                              p.own.begin() + static_cast<std::ptrdiff_t>((k + 1) * ranks));
      at += out.steps[k].length;
    }
    out.left_out.emplace_back("the table has own work only: communication is not in the forecast");
  }

  const Columns& c_;
  const std::string& name_;
  std::vector<WorkRow> rows_;
  std::map<std::int64_t, std::int64_t> node_of_;
};

Result<Curve> read_curve(const Columns& c, Lines& lines, const std::string& name) {
  Curve curve{.name = name, .value = c.kind, .points = {}};
  for (const Cells* cells = &lines.next(); !cells->empty(); cells = &lines.next()) {
    const auto size = cells->size() == c.count ? number<std::int64_t>((*cells)[c.size]) : std::nullopt;
    const auto value = cells->size() == c.count ? number<double>((*cells)[c.value]) : std::nullopt;
    if (!size || !value || *size < 1 || *size > kMostRanks || !std::isfinite(*value) || *value <= 0)
      return fail(lines.error(fmt::format("got '{}', expected a size from 1 to {} and a value above 0",
                                          lines.shown(), kMostRanks),
                              "rows such as 64,0.125"));
    if (curve.points.size() >= kMostValues)
      return fail(lines.error(fmt::format("more than {} values", kMostValues), "give fewer repetitions"));
    curve.points.push_back({*size, c.kind == CurveValue::StepTime ? *value * c.seconds : *value});
  }
  if (curve.points.empty())
    return fail(lines.error("no size in the table, expected at least one line", "rows such as 64,0.125"));
  std::stable_sort(curve.points.begin(), curve.points.end(),
                   [](const CurvePoint& a, const CurvePoint& b) { return a.size < b.size; });
  return curve;
}

/// Whether the names are those of a table of ours, with or without the unit that it needs.
bool is_work(const Columns& c) {
  return c.step != kNone && c.rank != kNone && c.others.empty() && c.size == kNone && c.value == kNone &&
         (c.compute != kNone || (c.unitless != kNone && c.value_name.starts_with("compute")));
}
bool is_curve(const Columns& c) {
  return c.size != kNone && c.rank == kNone && c.step == kNone && (c.value != kNone || c.unitless != kNone);
}

}  // namespace

Result<std::optional<Table>> parse_table(std::string_view text, const std::string& name) {
  Lines lines(text, name);
  const Columns c = columns_of(lines.next());
  if (!is_work(c) && !is_curve(c)) return std::nullopt;
  if (c.unitless != kNone)
    return fail(lines.error(
        fmt::format("column {} has no unit that is known, or is one too many", Lines::shown(c.value_name)),
        "one value column: step_s, step_ms, step_us, throughput_per_s, or compute_s"));
  if (!c.others.empty())
    return fail(lines.error(
        fmt::format("column {} is not known, expected a size and one value", c.others.front() + 1),
        "leave other columns out: rows of different jobs are not one curve"));
  if (is_curve(c)) {
    COX_TRY(Curve curve, read_curve(c, lines, name));
    return Table{.sample = {}, .curve = std::move(curve)};
  }
  WorkTable work(c, name);
  for (const Cells* cells = &lines.next(); !cells->empty(); cells = &lines.next())
    COX_CHECK(work.take(*cells, lines));
  COX_TRY(Sample sample, std::move(work).finish());
  COX_CHECK(check(sample));
  return Table{.sample = std::move(sample), .curve = {}};
}

Result<std::optional<Table>> read_table(const std::filesystem::path& path) {
  // A trace may be larger than memory: its first line says that it is none of ours.
  char head[kHead];
  std::ifstream in(path, std::ios::binary);
  in.read(head, sizeof head);
  const std::string name;
  Lines first(std::string_view(head, static_cast<std::size_t>(in.gcount())), name);
  const Columns c = columns_of(first.next());
  if (in.gcount() > 0 && !is_work(c) && !is_curve(c)) return std::nullopt;
  COX_TRY(const std::string text, read_file(path, kMostBytes));
  return parse_table(text, path.string());
}

}  // namespace cox::forecast
