// SPDX-License-Identifier: Apache-2.0
#include "trace/import/figures/lines.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace cox::trace {
namespace {

constexpr std::size_t kMostCells = 4096;
constexpr std::size_t kLongestName = 128;
constexpr double kLargestSize = 9e15;
/// GB/s. Rates are printed with two digits behind the point: a smaller one tells no ratio.
constexpr double kLeastRate = 0.5;
/// Of an all-reduce of very many ranks it is two.
constexpr double kMostBusRatio = 2.05;
/// A number that lost a digit has at most a tenth of what it had.
constexpr double kCut = 0.5;

}  // namespace

std::string_view next_line(std::string_view& text) {
  std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

void split_words(std::string_view line, std::vector<std::string_view>& out) {
  out.clear();
  while (out.size() < kMostCells) {
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos) return;
    line.remove_prefix(first);
    const std::size_t length = std::min(line.find_first_of(" \t"), line.size());
    out.push_back(line.substr(0, length));
    line.remove_prefix(length);
  }
}

void split_cells(std::string_view line, char separator, std::vector<std::string_view>& out) {
  out.clear();
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '"'; };
  for (std::size_t begin = 0; begin <= line.size() && out.size() < kMostCells;) {
    const std::size_t end = std::min(line.find(separator, begin), line.size());
    std::string_view cell = line.substr(begin, end - begin);
    while (!cell.empty() && blank(cell.front())) cell.remove_prefix(1);
    while (!cell.empty() && blank(cell.back())) cell.remove_suffix(1);
    out.push_back(cell);
    begin = end + 1;
  }
}

std::optional<double> number_of(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<Bytes> size_of(std::string_view text) {
  double factor = 1;
  if (text.ends_with('B')) text.remove_suffix(1);
  if (text.ends_with('i')) text.remove_suffix(1);
  if (!text.empty()) {
    const std::size_t place = std::string_view("KMG").find(text.back());
    if (place != std::string_view::npos) {
      factor = std::exp2(10.0 * static_cast<double>(place + 1));
      text.remove_suffix(1);
    }
  }
  const auto value = number_of(text);
  if (!value || *value < 0 || *value * factor > kLargestSize) return std::nullopt;
  return Bytes(std::llround(*value * factor));
}

std::optional<double> take_time_unit(std::string& name) {
  static constexpr std::array<std::pair<std::string_view, double>, 11> kUnits{{{"s", 1},
                                                                               {"sec", 1},
                                                                               {"seconds", 1},
                                                                               {"ms", 1e-3},
                                                                               {"msec", 1e-3},
                                                                               {"milliseconds", 1e-3},
                                                                               {"us", 1e-6},
                                                                               {"usec", 1e-6},
                                                                               {"microseconds", 1e-6},
                                                                               {"ns", 1e-9},
                                                                               {"nanoseconds", 1e-9}}};
  std::string_view rest = name;
  if (rest.ends_with(')') || rest.ends_with(']')) rest.remove_suffix(1);
  const std::size_t before = rest.find_last_of("_([");
  if (before == std::string_view::npos) return std::nullopt;
  for (const auto& [text, seconds] : kUnits) {
    if (rest.substr(before + 1) != text) continue;
    name.resize(before);
    while (name.ends_with('_')) name.pop_back();
    return seconds;
  }
  return std::nullopt;
}

bool names_ranks(std::string_view name) {
  for (const std::string_view known :
       {"rank", "global_rank", "rank_id", "worker", "worker_id", "worker_rank", "process", "process_id"})
    if (name == known) return true;
  return false;
}

bool names_steps(std::string_view name) {
  for (const std::string_view known :
       {"step", "global_step", "step_id", "iteration", "iter", "batch", "batch_idx", "batch_id", "minibatch",
        "mini_batch", "block_idx", "iteration_id", "step_number", "sample"})
    if (name == known) return true;
  return false;
}

std::optional<Rank> rank_of(std::string_view text) {
  constexpr std::int32_t kHighest = 1 << 24;
  const std::size_t before = text.find_last_not_of("0123456789");
  const std::string_view digits = text.substr(before == std::string_view::npos ? 0 : before + 1);
  std::int32_t rank = -1;
  const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  if (ec != std::errc() || rank > kHighest || text.starts_with('-')) return std::nullopt;
  return Rank(rank);
}

char separator_in(std::string_view line) {
  char best = ',';
  for (const char c : {';', '\t'})
    if (std::count(line.begin(), line.end(), c) > std::count(line.begin(), line.end(), best)) best = c;
  return best;
}

bool has_open_end(std::string_view text) {
  return !text.empty() && text.back() != '\n';
}

std::string_view next_row(std::string_view& text) {
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    const std::size_t first = line.find_first_not_of(" \t");
    if (first != std::string_view::npos && line[first] != '#') return line;
  }
  return {};
}

std::string plain_name(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kLongestName))
    out += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c == ' ' || c == '-' ? '_' : c);
  return out;
}

Error no_figures(std::string message) {
  return Error{.code = Errc::InvalidInput,
               .id = "import-005",
               .message = std::move(message),
               .hint = "docs/reference/inputs/figures.md says what is read",
               .where = {}};
}

void SizeCollector::add(const SizeRow& row) {
  auto at = number_of_.find({row.name, row.nodes});
  if (at == number_of_.end()) {
    if (table_.series.size() >= kMostSeries) {
      ++left_out_;
      return;
    }
    at = number_of_.emplace(std::pair(row.name, row.nodes), table_.series.size()).first;
    table_.series.push_back({.name = row.name,
                             .nodes = row.nodes,
                             .values = {},
                             .measures = row.measures,
                             .in_place = row.in_place});
    highest_rate_.push_back(kLeastRate);
    last_.emplace_back();
    direction_.push_back(0);
  } else if (row.size != last_[at->second].size && direction_[at->second] >= 0) {
    direction_[at->second] = row.size > last_[at->second].size ? 1 : -1;
  }
  SizeRow& last = last_[at->second];
  last.size = row.size;
  last.time = row.time;
  last.algorithm_rate = row.algorithm_rate;
  last.bus_rate = row.bus_rate;
  SizeSeries& series = table_.series[at->second];
  series.values.push_back({row.size, row.time});
  double& highest = highest_rate_[at->second];
  const double ratio = row.algorithm_rate > highest ? row.bus_rate / row.algorithm_rate : 0;
  if (ratio <= 0 || ratio > kMostBusRatio) return;
  highest = row.algorithm_rate;
  series.bus_ratio = ratio;
}

bool SizeCollector::is_cut(SizeRow& row, SizeCell last) const {
  const auto at = number_of_.find({row.name, row.nodes});
  if (at == number_of_.end() || last == SizeCell::Other) return false;
  const SizeRow& before = last_[at->second];
  // A smaller message may take as much less.
  const double smaller = row.size < before.size ? static_cast<double>(row.size.count()) /
                                                      static_cast<double>(before.size.count())
                                                : 1;
  const auto lacks = [&](double value, double of_before) { return value < kCut * smaller * of_before; };
  const auto rate = [](const SizeRow& r) {
    return r.time.count() > 0 ? static_cast<double>(r.size.count()) / r.time.count() : 0;
  };
  bool cut = false;
  switch (last) {
    case SizeCell::Other:
      break;
    case SizeCell::Size:
      cut = direction_[at->second] > 0 && row.size < before.size;
      break;
    case SizeCell::Time:
      cut = lacks(row.time.count(), before.time.count());
      break;
    case SizeCell::Bandwidth:
      cut = lacks(rate(row), rate(before));
      break;
    case SizeCell::AlgorithmRate:
      cut = lacks(row.algorithm_rate, before.algorithm_rate);
      break;
    case SizeCell::BusRate:
      cut = lacks(row.bus_rate, before.bus_rate);
      break;
  }
  if (cut) row.algorithm_rate = row.bus_rate = 0;
  return cut;
}

SizeTable SizeCollector::finish(bool has_unit) && {
  table_.has_unit = has_unit;
  for (SizeSeries& s : table_.series)
    std::stable_sort(s.values.begin(), s.values.end(),
                     [](const SizeTime& a, const SizeTime& b) { return a.size < b.size; });
  return std::move(table_);
}

}  // namespace cox::trace
