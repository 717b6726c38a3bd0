// SPDX-License-Identifier: Apache-2.0
// Formats: OSU micro-benchmarks 5 to 7 (osu_util.c prints them), nccl-tests 2
// (src/common.cu), and our probe's.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "bench/net_tables.hpp"

namespace cox::bench {
namespace {

constexpr std::size_t kMostWords = 32;
constexpr std::size_t kMostRows = 256;
constexpr std::size_t kMostShown = 40;  ///< characters of a line in an error

struct Line {
  std::string_view text;
  std::int64_t number = 0;
};

/// Lines one after the other, without copying.
class Lines {
 public:
  explicit Lines(std::string_view text) : left_(text) {}
  bool next(Line& line) {
    if (left_.empty()) return false;
    const std::size_t end = std::min(left_.find('\n'), left_.size());
    line.text = left_.substr(0, end);
    if (line.text.ends_with('\r')) line.text.remove_suffix(1);
    left_.remove_prefix(std::min(end + 1, left_.size()));
    line.number = ++number_;
    return true;
  }

 private:
  std::string_view left_;
  std::int64_t number_ = 0;
};

/// The first `kMostWords` words of a line; none has more in any of the formats.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (words.size() < kMostWords) {
    const std::size_t begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return words;
}

template <class T>
std::optional<T> number_of(std::string_view word) {
  T value{};
  const auto [at, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (problem != std::errc{} || at != word.data() + word.size()) return std::nullopt;
  return value;
}

Error bad_line(const std::string& name, const Line& line, std::string_view wanted) {
  std::string shown(line.text.substr(0, kMostShown));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, '?');
  return {.code = Errc::InvalidInput,
          .id = "bench-002",
          .message = fmt::format("got '{}', expected {}", shown, wanted),
          .hint = "give the file as the tool printed it",
          .where = Where{.file = name, .line = line.number}};
}

std::optional<Bytes> size_of(std::string_view word) {
  const auto n = number_of<std::int64_t>(word);
  if (!n || *n < 0 || *n > std::int64_t{1} << 50) return std::nullopt;
  return Bytes{*n};
}

/// A positive time or rate below 10^12 of whatever the table's unit is.
std::optional<double> figure_of(std::string_view word) {
  const auto value = number_of<double>(word);
  if (!value || !(*value > 0) || !(*value < 1e12)) return std::nullopt;
  return value;
}

// --- OSU
// ----------------------------------------------------------------------------------------------------------

struct OsuColumns {
  std::optional<std::size_t> average, least, most;
};

/// `# Size  Avg Latency(us)  Min Latency(us)  Max Latency(us)  Iterations`: the column of each; names hold
/// spaces, so the numbers of a row are counted by the names before.
OsuColumns osu_columns(std::string_view header) {
  OsuColumns columns;
  std::size_t column = 0;
  std::string_view mark;  // Avg, Min, Max before the quantity
  for (const std::string_view word : words_of(header)) {
    if (word == "Avg" || word == "Min" || word == "Max") {
      mark = word;
    } else if (word.starts_with("Latency") || word.starts_with("Bandwidth") || word.starts_with("MB/s")) {
      ++column;
      (mark == "Min" ? columns.least : mark == "Max" ? columns.most : columns.average) = column;
      mark = {};
    }
  }
  return columns;
}

Status read_osu(std::string_view text, const std::string& name, ImportedTable& table) {
  table.format = "OSU";
  std::optional<OsuColumns> columns;
  Lines lines(text);
  for (Line line; lines.next(line);) {
    if (line.text.starts_with("# OSU")) {
      table.test = std::string(line.text.substr(2, 80));
      const bool collective = table.test.find("Allreduce") != std::string::npos;
      const bool bandwidth = table.test.find("Bandwidth") != std::string::npos;
      const bool latency = table.test.find("Latency") != std::string::npos;
      if (table.test.find("Bi-Directional") != std::string::npos || !(collective || bandwidth || latency) ||
          (!collective && table.test.find("All") != std::string::npos))
        return fail(bad_line(name, line, "osu_latency, osu_bw or osu_allreduce"));
      table.kind = collective ? TableKind::Collective : bandwidth ? TableKind::Bandwidth : TableKind::Latency;
      continue;
    }
    if (line.text.starts_with("# Size")) columns = osu_columns(line.text);
    const auto words = words_of(line.text);
    if (words.empty() || words.front().starts_with('#')) continue;
    if (!columns || !columns->average)
      return fail(bad_line(name, line, "a line '# Size ...' before the rows"));
    const auto at = [&](std::optional<std::size_t> column) {
      return column && *column < words.size() ? figure_of(words[*column]) : std::nullopt;
    };
    const auto size = size_of(words.front());
    const auto figure = at(columns->average);
    if (!size || !figure) return fail(bad_line(name, line, "a size in bytes and a positive number"));
    if (table.rows.size() == kMostRows) return fail(bad_line(name, line, "at most 256 sizes"));
    if (size->count() == 0 && table.kind != TableKind::Latency) continue;
    const double unit = table.kind == TableKind::Bandwidth
                            ? static_cast<double>(size->count()) * 1e-6 / *figure
                            : *figure * 1e-6;
    table.rows.push_back({.size = *size, .low = Seconds{unit}, .time = Seconds{unit}, .high = Seconds{unit}});
    if (table.kind == TableKind::Collective) {
      if (const auto least = at(columns->least)) table.rows.back().low = Seconds{*least * 1e-6};
      if (const auto most = at(columns->most)) table.rows.back().high = Seconds{*most * 1e-6};
    }
  }
  return {};
}

// --- nccl-tests
// ---------------------------------------------------------------------------------------------------

struct NcclColumns {
  std::size_t time = 0;
  std::size_t algbw = 0;
  std::size_t busbw = 0;
};

std::optional<NcclColumns> nccl_columns(const std::vector<std::string_view>& words) {
  // words[0] is `#`, so a row's first column has index 1 here.
  if (words.size() < 6 || words[0] != "#" || words[1] != "size") return std::nullopt;
  const auto place = [&](std::string_view word) {
    return static_cast<std::size_t>(std::find(words.begin(), words.end(), word) - words.begin()) - 1;
  };
  const NcclColumns columns{.time = place("time"), .algbw = place("algbw"), .busbw = place("busbw")};
  if (columns.busbw >= words.size() - 1 || columns.time >= columns.algbw) return std::nullopt;
  return columns;
}

Status read_nccl(std::string_view text, const std::string& name, ImportedTable& table) {
  table.format = "nccl-tests";
  table.kind = TableKind::Collective;
  std::optional<NcclColumns> columns;
  Lines lines(text);
  for (Line line; lines.next(line);) {
    const auto words = words_of(line.text);
    if (words.empty()) continue;
    if (words.front().starts_with('#')) {
      if (words.size() > 2 && words[1] == "Rank") ++table.ranks;
      if (line.text.starts_with("# Collective test starting: "))
        table.test = std::string(words.back().substr(0, 40));
      if (!columns) columns = nccl_columns(words);
      continue;
    }
    if (!columns) continue;  // what the launcher or the library says before the table
    const auto size = size_of(words.front());
    if (!size || words.size() <= columns->busbw)
      return fail(bad_line(name, line, "a row with a size, time, algbw and busbw"));
    const auto time = figure_of(words[columns->time]);
    if (!time) return fail(bad_line(name, line, "a positive time in microseconds"));
    if (table.rows.size() == kMostRows) return fail(bad_line(name, line, "at most 256 sizes"));
    // The table gives two decimals, so the largest algbw gives the best ratio.
    const auto algbw = number_of<double>(words[columns->algbw]);
    const auto busbw = number_of<double>(words[columns->busbw]);
    if (algbw && busbw && *algbw >= 1) table.busbw_ratio = *busbw / *algbw;
    if (size->count() == 0) continue;
    const Seconds t{*time * 1e-6};
    table.rows.push_back({.size = *size, .low = t, .time = t, .high = t});
  }
  return {};
}

Error bad_ranks(std::string message, std::string hint) {
  return {.code = Errc::InvalidInput,
          .id = "bench-004",
          .message = std::move(message),
          .hint = std::move(hint),
          .where = {}};
}

int ceil_log2(int n) {
  int rounds = 0;
  while ((std::int64_t{1} << rounds) < n) ++rounds;
  return rounds;
}

}  // namespace

Result<ImportedTable> parse_net_table(std::string_view text, const std::string& name) {
  ImportedTable table;
  // Either format says so in a comment; which comes first decides.
  const std::size_t osu = text.find("# OSU ");
  const std::size_t nccl = std::min(text.find("busbw"), text.find("# nThread"));
  if (osu == std::string_view::npos && nccl == std::string_view::npos)
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "bench-003",
                      .message = "neither an OSU table ('# OSU ...') nor one of nccl-tests ('busbw')",
                      .hint = "give the output of osu_latency, osu_bw, osu_allreduce or all_reduce_perf",
                      .where = Where{.file = name}});
  COX_CHECK(osu < nccl ? read_osu(text, name, table) : read_nccl(text, name, table));
  if (table.rows.empty())
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "bench-003",
                      .message = fmt::format("a table of {} without a row", table.format),
                      .hint = "was the test cut short?",
                      .where = Where{.file = name}});
  return table;
}

Result<std::vector<CostPoint>> cost_points(const ImportedTable& table, CollectiveForm form, int ranks) {
  if (ranks != 0 && table.ranks != 0 && ranks != table.ranks)
    return fail(bad_ranks(fmt::format("--as says {} ranks, and the table lists {}", ranks, table.ranks),
                          "leave the number out"));
  const int members = ranks != 0 ? ranks : table.ranks;
  const bool collective = table.kind == TableKind::Collective && form != CollectiveForm::Pair;
  if (collective && members < 2)
    return fail(bad_ranks("the table does not say how many ranks took part", "add them: --as ring:RANKS"));
  const double p = members;
  const double expected = 2 * (p - 1) / p;  // nccl-tests doc/PERFORMANCE.md
  if (collective && table.busbw_ratio > 0 && std::abs(table.busbw_ratio - expected) > 0.05 * expected)
    return fail(bad_ranks(fmt::format("busbw is {:.2f} of algbw; an all-reduce of {} ranks has {:.2f}",
                                      table.busbw_ratio, members, expected),
                          "only all_reduce_perf is read as a collective; others with --as pair"));
  std::vector<CostPoint> points;
  for (const ImportedTable::Row& row : table.rows) {
    CostPoint point{.latencies = table.kind == TableKind::Bandwidth ? 0.0 : 1.0,
                    .bytes = row.size,
                    .low = row.low,
                    .middle = row.time,
                    .high = row.high};
    if (collective && form == CollectiveForm::Ring) {
      point.latencies = 2 * (p - 1);
      point.bytes = Bytes{std::llround(static_cast<double>(row.size.count()) * expected)};
    } else if (collective) {
      point.latencies = 2.0 * ceil_log2(members);
      point.bytes = row.size * (std::int64_t{2} * ceil_log2(members));
    }
    points.push_back(point);
  }
  return points;
}

Result<ProbeTable> parse_probe(std::string_view text, const std::string& name) {
  ProbeTable table;
  bool begun = false;
  Lines lines(text);
  for (Line line; lines.next(line);) {
    const auto words = words_of(line.text);
    if (line.text == "# cox-bench-net 1") begun = true;
    if (words.empty() || !begun) continue;  // a launcher may talk before
    if (words.size() > 2 && words[0] == "#" && words[1] == "library")
      table.library = std::string(line.text.substr(line.text.find("library") + 8, 80));
    if (words.size() == 3 && words[1] == "ranks") table.ranks = number_of<int>(words[2]).value_or(0);
    if (words.front() != "message" && words.front() != "stream" && words.front() != "start") continue;
    const auto size = words.size() == 4 ? size_of(words[2]) : std::nullopt;
    const auto seconds = words.size() == 4 ? figure_of(words[3]) : std::nullopt;
    if (!size || !seconds || (words[1] != "inside" && words[1] != "across"))
      return fail(bad_line(name, line, "inside or across, a size in bytes and a time in seconds"));
    std::vector<ProbeSeries>& place = words[1] == "inside" ? table.inside : table.across;
    if (place.empty() || place.back().size != *size) {
      if (place.size() == kMostRows) return fail(bad_line(name, line, "at most 256 sizes"));
      place.push_back({.size = *size});
    }
    ProbeSeries& series = place.back();
    (words.front() == "message"  ? series.message_s
     : words.front() == "stream" ? series.stream_s
                                 : series.start_s)
        .push_back(*seconds);
  }
  if (table.inside.empty() && table.across.empty())
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "bench-003",
                      .message = "the probe printed no measurement",
                      .hint = "start at least two ranks",
                      .where = Where{.file = name}});
  return table;
}

}  // namespace cox::bench
