// SPDX-License-Identifier: Apache-2.0
// Summaries per rank: `rank,mean_s,std_s,count`, `name,rank,count,mean,deviation`, `rank,forward_s,backward_s`.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "cox/base/number_text.hpp"

#include "trace/import/bytes/one_of.hpp"
#include "trace/import/figures/lines.hpp"
#include "trace/import/figures/rank_collector.hpp"
#include "trace/raw/meta_entries.hpp"

namespace cox::trace {
namespace {

constexpr std::size_t kMostQuantities = 1024;

constexpr std::array<std::string_view, 13> kKeys{"name",     "phase",   "op",     "operation", "collective",
                                                 "event",    "section", "kernel", "metric",    "quantity",
                                                 "function", "region",  "job"};
constexpr std::array<std::string_view, 3> kMeans{"mean", "avg", "average"};
constexpr std::array<std::string_view, 7> kSpreads{"std",       "stddev", "stdev", "sd",
                                                   "deviation", "sigma",  "spread"};
constexpr std::array<std::string_view, 4> kCounts{"count", "samples", "calls", "n"};
/// Not compared: they have no spread of their own.
constexpr std::array<std::string_view, 11> kOther{"min", "max", "sum",    "total", "p50",    "p90",
                                                  "p95", "p99", "median", "var",   "percent"};
/// Columns that say where a rank is, not what it took.
constexpr std::array<std::string_view, 12> kPlaces{"host",       "hostname", "node",   "node_id",
                                                   "gpu",        "gpu_id",   "device", "pid",
                                                   "local_rank", "size",     "bytes",  "world_size"};
/// A table with one of these is one of operations.
constexpr std::array<std::string_view, 5> kOperations{"dp_rank", "stage", "optype", "op_type", "pp_rank"};

enum class Part { Value, Spread, Count, None };

/// What a name says beside what the quantity is called: `forward_std` is the spread of `forward`.
Part take_part(std::string& name, bool& stated) {
  std::string base;
  Part part = Part::Value;
  std::string_view rest = name;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of("_. "), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const Part here = is_one_of(word, kSpreads)  ? Part::Spread
                      : is_one_of(word, kCounts) ? Part::Count
                      : is_one_of(word, kOther)  ? Part::None
                                                 : Part::Value;
    if (here != Part::Value) part = here;
    if (here != Part::Value || is_one_of(word, kMeans) || (word == "dev" && part == Part::Spread)) {
      stated = stated || here == Part::Spread || is_one_of(word, kMeans);
      continue;
    }
    base += (base.empty() ? "" : "_") + std::string(word);
  }
  name = base;
  return part;
}

struct Quantity {
  std::string name;
  std::optional<std::size_t> value, spread, count;
  double value_unit = 1;
  double spread_unit = 1;
  bool is_time = false;
};

struct Columns {
  char separator = ',';
  std::size_t rank = 0;
  std::vector<std::size_t> keys;
  std::vector<Quantity> quantities;
  bool stated = false;  ///< some column calls itself a mean or a spread
};

Quantity& quantity_of(Columns& c, const std::string& name) {
  const auto at = std::find_if(c.quantities.begin(), c.quantities.end(),
                               [&](const Quantity& q) { return q.name == name; });
  if (at != c.quantities.end()) return *at;
  c.quantities.emplace_back();
  c.quantities.back().name = name;
  return c.quantities.back();
}

void add_column(Columns& c, std::string name, std::size_t i) {
  const auto unit = take_time_unit(name);
  const Part part = take_part(name, c.stated);
  if (part == Part::None) return;
  if (name == "time" || name == "duration") name.clear();
  if (part == Part::Count) {
    quantity_of(c, name).count = i;
    return;
  }
  Quantity& q = quantity_of(c, name);
  (part == Part::Value ? q.value : q.spread) = i;
  (part == Part::Value ? q.value_unit : q.spread_unit) = unit.value_or(1);
  if (part == Part::Value) q.is_time = unit.has_value();
}

/// A spread or a count that names no quantity of its own belongs to all that have none.
void share_parts(Columns& c) {
  Quantity shared;
  for (const Quantity& q : c.quantities)
    if (!q.value && q.name.empty()) shared = q;
  std::erase_if(c.quantities, [](const Quantity& q) { return !q.value; });
  for (Quantity& q : c.quantities) {
    if (!q.count) q.count = shared.count;
    if (!q.spread && shared.spread && c.quantities.size() == 1) {
      q.spread = shared.spread;
      q.spread_unit = shared.spread_unit;
    }
  }
}

std::optional<Columns> find_columns(std::string_view header) {
  Columns c;
  c.separator = separator_in(header);
  std::vector<std::string_view> cells;
  split_cells(header, c.separator, cells);
  bool has_rank = false;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string name = plain_name(cells[i]);
    if (names_steps(name) || is_one_of(name, kOperations) || name.find("start") != std::string::npos ||
        name.find("stamp") != std::string::npos)
      return std::nullopt;
    if (!has_rank && names_ranks(name)) {
      c.rank = i;
      has_rank = true;
    } else if (is_one_of(name, kKeys)) {
      c.keys.push_back(i);
    } else if (!is_one_of(name, kPlaces) && !name.empty() && c.quantities.size() < kMostQuantities) {
      add_column(c, name, i);
    }
  }
  share_parts(c);
  if (!has_rank || c.quantities.empty()) return std::nullopt;
  return c;
}

std::string_view cell_at(const std::vector<std::string_view>& cells, std::size_t i) {
  return i < cells.size() ? cells[i] : std::string_view();
}

std::string key_of(const Columns& c, const std::vector<std::string_view>& cells) {
  std::string key;
  for (const std::size_t i : c.keys)
    key += (key.empty() ? "" : ", ") + clean_text(cell_at(cells, i).substr(0, 128));
  return key;
}

}  // namespace

bool is_rank_summary(std::string_view head) {
  // The last line may be cut.
  const bool whole = head.size() < (std::size_t{64} << 10);
  const auto columns = find_columns(next_row(head));
  if (!columns) return false;
  std::set<std::pair<std::string, std::int32_t>> seen;
  std::vector<std::string_view> cells;
  for (std::string_view row = next_row(head); !row.empty(); row = next_row(head)) {
    if (head.empty() && !whole) break;
    split_cells(row, columns->separator, cells);
    const auto rank = rank_of(cell_at(cells, columns->rank));
    if (!rank) return false;
    if (!seen.emplace(key_of(*columns, cells), rank->value()).second) return false;
  }
  return columns->stated ? !seen.empty() : seen.size() >= 2;
}

Result<Figures> read_rank_summary(std::string_view text) {
  const auto columns = find_columns(next_row(text));
  if (!columns)
    return fail(no_figures("no columns of a rank and a value, expected e.g. rank,mean_s,std_s,count"));
  RankCollector collector(kMostQuantities, RankCollector::Repeated::First);
  std::int64_t bad = 0;
  std::vector<std::string_view> cells;
  for (std::string_view row = next_row(text); !row.empty(); row = next_row(text)) {
    split_cells(row, columns->separator, cells);
    const auto rank = rank_of(cell_at(cells, columns->rank));
    if (!rank || !collector.takes(*rank)) {
      ++bad;
      continue;
    }
    collector.saw(*rank);
    const std::string key = key_of(*columns, cells);
    for (const Quantity& q : columns->quantities) {
      const std::string_view cell = cell_at(cells, *q.value);
      if (cell.empty() || cell == "nan" || cell == "NaN" || cell == "NA") continue;
      const auto value = number_of(cell);
      if (!value) {
        ++bad;
        continue;
      }
      RankFigure f{.rank = *rank, .value = *value * q.value_unit, .spread = {}, .count = 0};
      if (const auto spread = q.spread ? number_of(cell_at(cells, *q.spread)) : std::nullopt;
          spread && *spread >= 0)
        f.spread = *spread * q.spread_unit;
      if (const auto count = q.count ? number_of(cell_at(cells, *q.count)) : std::nullopt;
          count && *count >= 0 && *count < 9e15)
        f.count = static_cast<std::int64_t>(*count);
      const std::string joint = key.empty() || q.name.empty() ? key + q.name : key + ", " + q.name;
      collector.add(joint.empty() ? "time" : joint, q.is_time, f);
    }
  }
  if (collector.is_empty()) return fail(no_figures("no value of a rank in the table"));
  Figures f = std::move(collector).finish("rank-summary");
  if (bad > 0)
    f.notes.push_back(counted(bad, "rank or value cannot be read and is left out",
                              "ranks or values cannot be read and are left out"));
  return f;
}

}  // namespace cox::trace
