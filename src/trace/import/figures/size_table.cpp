// SPDX-License-Identifier: Apache-2.0
// Tables over message sizes: one row per measurement, with whatever tells configurations apart beside it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cox/base/number_text.hpp"

#include "trace/import/bytes/one_of.hpp"
#include "trace/import/figures/lines.hpp"
#include "trace/raw/meta_entries.hpp"

namespace cox::trace {
namespace {

constexpr std::array<std::string_view, 9> kSizes{"size",          "bytes",    "message_size",
                                                 "msg_size",      "nbytes",   "size_bytes",
                                                 "message_bytes", "size_(b)", "size(b)"};
constexpr std::array<std::string_view, 9> kTimes{"time",        "latency",   "value",
                                                 "duration",    "elapsed",   "avg_time",
                                                 "avg_latency", "mean_time", "mean_latency"};
constexpr std::array<std::string_view, 4> kNodes{"nodes", "n_nodes", "num_nodes", "nnodes"};
constexpr std::array<std::string_view, 24> kConfigurations{
    "config", "configuration", "library",    "lib",       "algo", "algorithm", "protocol", "proto",
    "op",     "operation",     "collective", "benchmark", "test", "placement", "tier",     "scope",
    "label",  "setting",       "gpus",       "ranks",     "np",   "host",      "system",   "cluster"};

struct Columns {
  char separator = ',';
  std::size_t size = 0;
  std::optional<std::size_t> nodes;
  std::vector<std::size_t> configuration;
  std::vector<std::string> configuration_names;
  struct Time {
    std::size_t column = 0;
    double seconds = 1;
    std::string name;
    std::string whole_name{};                     ///< with its unit
    std::optional<std::size_t> algorithm_rate{};  ///< columns
    std::optional<std::size_t> bus_rate{};
    bool in_place = false;
  };
  std::vector<Time> times;
  bool has_unit = true;
};

/// Columns of rates, in the order of the file.
struct Rates {
  std::vector<std::size_t> algorithm, bus;
  bool any = false;
};

/// The k-th rate belongs to the k-th time, wherever it stands.
void join_rates(Columns& c, const Rates& rates) {
  for (std::size_t k = 0; k < c.times.size(); ++k) {
    if (k < rates.algorithm.size()) c.times[k].algorithm_rate = rates.algorithm[k];
    if (k < rates.bus.size()) c.times[k].bus_rate = rates.bus[k];
  }
}

void name_times(Columns& c, const Rates& rates, bool has_units) {
  // nccl-tests: microseconds, out of place and then in place.
  if (rates.any && !has_units)
    for (Columns::Time& t : c.times) t.seconds = 1e-6;
  c.has_unit = has_units || rates.any;
  const bool has_rates = std::max(rates.algorithm.size(), rates.bus.size()) == 2;
  if (c.times.size() == 2 && c.times[0].name == c.times[1].name && has_rates) {
    c.times[0].name = "out of place";
    c.times[1].name = "in place";
    c.times[1].in_place = true;
  } else if (c.times.size() == 1) {
    c.times[0].name.clear();
  } else {
    // Of one name without its unit: by the whole of it, and else by where they stand.
    const auto is_double = [&](const Columns::Time& t, std::string Columns::Time::*name) {
      return std::count_if(c.times.begin(), c.times.end(),
                           [&](const Columns::Time& o) { return o.*name == t.*name; }) > 1;
    };
    std::vector<std::string> names;
    for (const Columns::Time& t : c.times)
      names.push_back(!is_double(t, &Columns::Time::name) ? t.name
                      : !is_double(t, &Columns::Time::whole_name)
                          ? t.whole_name
                          : fmt::format("{} (column {})", t.whole_name, t.column + 1));
    for (std::size_t k = 0; k < names.size(); ++k) c.times[k].name = std::move(names[k]);
  }
}

std::optional<Columns> find_columns(std::string_view header) {
  Columns c;
  c.separator = separator_in(header);
  std::vector<std::string_view> cells;
  split_cells(header, c.separator, cells);
  bool has_size = false;
  Rates rates;
  bool has_units = false;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    std::string name = plain_name(cells[i]);
    if (names_ranks(name) || names_steps(name)) return std::nullopt;
    if (!has_size && is_one_of(name, kSizes)) {
      c.size = i;
      has_size = true;
    } else if (is_one_of(name, kNodes)) {
      c.nodes = i;
    } else if (is_one_of(name, kConfigurations)) {
      c.configuration.push_back(i);
      c.configuration_names.push_back(name);
    } else if (name.find("bw") != std::string::npos || name.find("bandwidth") != std::string::npos) {
      rates.any = true;
      if (name == "algbw") rates.algorithm.push_back(i);
      if (name == "busbw") rates.bus.push_back(i);
    } else {
      const std::string whole_name = name;
      const auto unit = take_time_unit(name);
      if (!is_one_of(name, kTimes)) continue;
      has_units = has_units || unit.has_value();
      c.times.push_back({.column = i, .seconds = unit.value_or(1), .name = name, .whole_name = whole_name});
    }
  }
  if (!has_size || c.times.empty()) return std::nullopt;
  join_rates(c, rates);
  name_times(c, rates, has_units);
  return c;
}

std::string_view cell_at(const std::vector<std::string_view>& cells, std::size_t i) {
  return i < cells.size() ? cells[i] : std::string_view();
}

/// What a column is to a time.
SizeCell cell_of(const Columns& c, const Columns::Time& t, std::size_t column) {
  if (column == c.size) return SizeCell::Size;
  if (column == t.column) return SizeCell::Time;
  if (column == t.algorithm_rate) return SizeCell::AlgorithmRate;
  return column == t.bus_rate ? SizeCell::BusRate : SizeCell::Other;
}

std::string configuration_of(const Columns& c, const std::vector<std::string_view>& cells) {
  std::string name;
  for (std::size_t k = 0; k < c.configuration.size(); ++k) {
    const std::string text = clean_text(cell_at(cells, c.configuration[k]).substr(0, 128));
    const bool number = number_of(text).has_value();
    name += (name.empty() ? "" : ", ") + (number ? c.configuration_names[k] + " " + text : text);
  }
  return name;
}

}  // namespace

bool is_size_table(std::string_view head) {
  const auto columns = find_columns(next_row(head));
  if (!columns) return false;
  std::vector<std::string_view> cells;
  split_cells(next_row(head), columns->separator, cells);
  return size_of(cell_at(cells, columns->size)).has_value();
}

Result<Figures> read_size_table(std::string_view text) {
  const auto columns = find_columns(next_row(text));
  if (!columns) return fail(no_figures("no columns of a size and a time, expected e.g. size,time_us"));
  SizeCollector sizes;
  std::int64_t bad = 0;
  std::int64_t cut = 0;
  const bool open_end = has_open_end(text);
  std::vector<std::string_view> cells;
  for (std::string_view row = next_row(text); !row.empty(); row = next_row(text)) {
    split_cells(row, columns->separator, cells);
    const auto size = size_of(cell_at(cells, columns->size));
    const double nodes = columns->nodes ? number_of(cell_at(cells, *columns->nodes)).value_or(0) : 0;
    const std::string configuration = configuration_of(*columns, cells);
    for (const Columns::Time& t : columns->times) {
      const auto value = number_of(cell_at(cells, t.column));
      if (!size || !value || *value < 0 || nodes < 0 || nodes > 1e9) {
        ++bad;
        continue;
      }
      std::string name = configuration;
      if (!t.name.empty()) name += (name.empty() ? "" : ", ") + t.name;
      const auto rate = [&](std::optional<std::size_t> column) {
        return column ? number_of(cell_at(cells, *column)).value_or(0) : 0;
      };
      SizeRow of_time{.name = name,
                      .nodes = static_cast<std::int64_t>(nodes),
                      .size = *size,
                      .time = Seconds(*value * t.seconds),
                      .in_place = t.in_place,
                      .algorithm_rate = rate(t.algorithm_rate),
                      .bus_rate = rate(t.bus_rate)};
      if (open_end && text.empty()) {
        const SizeCell last = cell_of(*columns, t, cells.size() - 1);
        const bool is_cut = sizes.is_cut(of_time, last);
        cut += is_cut;
        if (is_cut && (last == SizeCell::Time || last == SizeCell::Size)) continue;
      }
      sizes.add(of_time);
    }
  }
  if (sizes.is_empty()) return fail(no_figures("no row of a size and a time in the table"));
  const std::int64_t left_out = sizes.left_out();
  Figures f{.format = "size-table", .table = std::move(sizes).finish(columns->has_unit), .notes = {}};
  if (bad > 0)
    f.notes.push_back(
        counted(bad, "value cannot be read and is left out", "values cannot be read and are left out"));
  if (cut > 0) f.notes.emplace_back(kCutNote);
  if (left_out > 0)
    f.notes.push_back(counted(left_out, "value of a further configuration is left out",
                              "values of further configurations are left out"));
  if (!columns->has_unit) f.notes.emplace_back("no unit in the columns' names: only ratios mean anything");
  return f;
}

}  // namespace cox::trace
