// SPDX-License-Identifier: Apache-2.0
/// \file
/// Lines, fields and numbers of texts that hold figures.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cox/trace/figures.hpp"

namespace cox::trace {

/// The next line off the front, without its end.
[[nodiscard]] std::string_view next_line(std::string_view& text);
/// Words between blanks.
void split_words(std::string_view line, std::vector<std::string_view>& out);
/// Fields between separators, without blanks and quotes around them.
void split_cells(std::string_view line, char separator, std::vector<std::string_view>& out);
/// A finite number that is all of the text.
[[nodiscard]] std::optional<double> number_of(std::string_view text);
/// A message size: a number of bytes, also with K, M, G (binary) at its end.
[[nodiscard]] std::optional<Bytes> size_of(std::string_view text);
/// Takes a unit of time off the end of a name (`mean_us`, `time (ms)`): seconds in one of it, nothing without one.
[[nodiscard]] std::optional<double> take_time_unit(std::string& name);
/// Whether a name is that of a column of ranks, or of steps.
[[nodiscard]] bool names_ranks(std::string_view name);
[[nodiscard]] bool names_steps(std::string_view name);
/// The number at the end of a name: `3`, `worker-3`.
[[nodiscard]] std::optional<Rank> rank_of(std::string_view text);
/// The character that most often separates the fields of a line: comma, semicolon or tab.
[[nodiscard]] char separator_in(std::string_view line);
/// Whether the last line of a text may have been cut.
[[nodiscard]] bool has_open_end(std::string_view text);
/// Past comments and empty lines.
[[nodiscard]] std::string_view next_row(std::string_view& text);
/// Small letters, blanks and dashes as `_`; of at most 128.
[[nodiscard]] std::string plain_name(std::string_view text);
[[nodiscard]] Error no_figures(std::string message);

/// One measurement as a row tells it.
struct SizeRow {
  std::string name;
  std::int64_t nodes = 0;
  Bytes size{};
  Seconds time{};
  std::string measures{};  ///< as in SizeSeries, like `in_place`
  bool in_place = false;
  double algorithm_rate = 0;  ///< GB/s, as printed; 0 = not told
  double bus_rate = 0;
};

inline constexpr const char* kCutNote =
    "the last row ends without a line break in a number that may be cut: that number is left out";

/// What a cell of a row holds. A bandwidth alone is turned into the time, and grows as that falls.
enum class SizeCell { Other, Size, Time, Bandwidth, AlgorithmRate, BusRate };

/// Collects measurements into series by name.
class SizeCollector {
 public:
  static constexpr std::size_t kMostSeries = 4096;

  /// Of a configuration that is new beyond the limit: counted, not kept.
  void add(const SizeRow& row);
  [[nodiscard]] bool is_empty() const { return table_.series.empty(); }
  [[nodiscard]] std::int64_t left_out() const { return left_out_; }
  /// Whether the cell at the end of a text without a line break is a number that may be cut: it has less than half of
  /// the row before, or is a size below that while sizes rise. Rates that belong to it are cleared; with a size, time or
  /// bandwidth the row is not to be added.
  [[nodiscard]] bool is_cut(SizeRow& row, SizeCell last) const;
  /// Sorted by size. `has_unit` as in the table.
  [[nodiscard]] SizeTable finish(bool has_unit) &&;

 private:
  SizeTable table_;
  std::map<std::pair<std::string, std::int64_t>, std::size_t> number_of_;
  std::vector<double> highest_rate_;  // of each series: the one of its ratio of rates
  std::vector<SizeRow> last_;         // of each series, without its names
  std::vector<int> direction_;        // of its sizes: 1 rising, 0 one alone, -1 neither
  std::int64_t left_out_ = 0;
};

// One function per format: whether the head is of it, and what it holds.
[[nodiscard]] bool is_nccl_tests(std::string_view head);
[[nodiscard]] Result<Figures> read_nccl_tests(std::string_view text);
[[nodiscard]] bool is_osu(std::string_view head);
[[nodiscard]] Result<Figures> read_osu(std::string_view text);
[[nodiscard]] bool is_size_table(std::string_view head);
[[nodiscard]] Result<Figures> read_size_table(std::string_view text);
[[nodiscard]] bool is_rank_summary(std::string_view head);
[[nodiscard]] Result<Figures> read_rank_summary(std::string_view text);
[[nodiscard]] bool is_prometheus(std::string_view head);
[[nodiscard]] Result<Figures> read_prometheus(std::string_view text);

}  // namespace cox::trace
