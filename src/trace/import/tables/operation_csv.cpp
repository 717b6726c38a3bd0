// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <forward_list>
#include <limits>
#include <map>

#include "trace/import/part/reader.hpp"
#include "trace/import/tables/operation_table.hpp"

namespace cox::trace {
namespace {

constexpr std::size_t kMostColumns = 4096;

/// Cells of comma-separated lines (RFC 4180): quotes, doubled quotes inside, any end of line.
class CsvCursor {
 public:
  explicit CsvCursor(std::string_view text) : text_(text) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
  }

  /// Next line as cells, which are valid until the next call; false at the end. A quote that is never closed
  /// ends with the text.
  bool next(std::vector<std::string_view>& cells) {
    cells.clear();
    unquoted_.clear();
    if (at_ >= text_.size()) return false;
    ++line_;
    for (;;) {
      cells.push_back(cell());
      if (at_ >= text_.size()) return true;
      const char c = text_[at_++];
      if (c == ',') {
        if (at_ < text_.size()) continue;
        cells.emplace_back();
        return true;
      }
      if (c == '\r' && at_ < text_.size() && text_[at_] == '\n') ++at_;
      return true;
    }
  }
  [[nodiscard]] std::int64_t line() const { return line_; }

 private:
  std::string_view cell() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (at_ < text_.size() && text_[at_] == '"') return quoted();
    const std::size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
    std::string_view out = text_.substr(at_, end - at_);
    at_ = end;
    while (!out.empty() && out.back() == ' ') out.remove_suffix(1);
    return out;
  }

  std::string_view quoted() {
    const std::size_t begin = ++at_;
    bool has_doubled = false;
    std::size_t end = begin;
    for (;; end += 2, has_doubled = true) {
      end = std::min(text_.find('"', end), text_.size());
      if (end + 1 >= text_.size() || text_[end + 1] != '"') break;
    }
    std::string_view out = text_.substr(begin, end - begin);
    // What stands between the closing quote and the comma is dropped.
    at_ = std::min(text_.find_first_of(",\r\n", std::min(end + 1, text_.size())), text_.size());
    if (!has_doubled) return out;
    std::string& copy = unquoted_.emplace_front();
    for (std::size_t i = 0; i < out.size(); ++i) {
      copy += out[i];
      if (out[i] == '"') ++i;
    }
    return copy;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::int64_t line_ = 0;
  std::forward_list<std::string> unquoted_;
};

bool parse_real(std::string_view cell, double& value) {
  if (!cell.empty() && cell.front() == '+') cell.remove_prefix(1);
  const auto [end, status] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return status == std::errc() && end == cell.data() + cell.size();
}

/// Whole numbers, also where a tool wrote them as `3.0`; missing or unusable ones are -1.
std::int64_t parse_integer(std::string_view cell) {
  std::int64_t value = -1;
  const auto [end, status] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (status == std::errc() && end == cell.data() + cell.size()) return value;
  double real = 0;
  if (!parse_real(cell, real) || !(std::abs(real) < 9e15) || std::trunc(real) != real) return -1;
  return static_cast<std::int64_t>(real);
}

double parse_seconds(std::string_view cell) {
  double value = 0;
  return parse_real(cell, value) ? value : std::numeric_limits<double>::quiet_NaN();
}

/// Column of ours for each column of the file; the first of equal names counts.
std::vector<int> read_header(const std::vector<std::string_view>& cells) {
  std::vector<int> found;
  for (std::size_t i = 0; i < cells.size() && i < kMostColumns; ++i) {
    const int ours = find_operation_column(cells[i]);
    const bool is_again = ours >= 0 && std::find(found.begin(), found.end(), ours) != found.end();
    found.push_back(is_again ? -1 : ours);
  }
  return found;
}

bool recognise(const Head& head) {
  std::vector<std::string_view> cells;
  CsvCursor in(head.bytes);
  return in.next(cells) && cells.size() >= 4 && check_operation_columns(read_header(cells)).has_value();
}

class RowReader {
 public:
  RowReader(std::vector<int> columns, OperationRows& table) : columns_(std::move(columns)), table_(table) {}

  void add(const std::vector<std::string_view>& cells) {
    constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
    OperationRow row{.start_s = kMissing, .duration_s = kMissing};
    std::string_view type;
    for (std::size_t i = 0; i < columns_.size() && i < cells.size(); ++i) {
      if (columns_[i] < 0) continue;
      set(row, static_cast<OperationColumn>(columns_[i]), cells[i], type);
    }
    row.type = intern(type);
    table_.rows.push_back(row);
  }

 private:
  static void set(OperationRow& row, OperationColumn column, std::string_view cell, std::string_view& type) {
    switch (column) {
      case OperationColumn::DataRank:
        row.data = parse_integer(cell);
        break;
      case OperationColumn::Stage:
        row.stage = parse_integer(cell);
        break;
      case OperationColumn::TensorRank:
        row.tensor = parse_integer(cell);
        break;
      case OperationColumn::Rank:
        row.rank = parse_integer(cell);
        break;
      case OperationColumn::Step:
        row.step = parse_integer(cell);
        break;
      case OperationColumn::Type:
        type = cell;
        break;
      case OperationColumn::Start:
        row.start_s = parse_seconds(cell);
        break;
      case OperationColumn::Duration:
        row.duration_s = parse_seconds(cell);
        break;
      case OperationColumn::Sequence:
        row.sequence = parse_integer(cell);
        break;
      case OperationColumn::Chunk:
        row.chunk = parse_integer(cell);
        break;
      case OperationColumn::MicroBatch:
        row.micro_batch = parse_integer(cell);
        break;
    }
  }

  std::uint32_t intern(std::string_view type) {
    // Rows of one type follow each other in the tables that we know.
    if (last_ < table_.types.size() && table_.types[last_] == type) return last_;
    const auto at = known_.find(type);
    if (at != known_.end()) return last_ = at->second;
    last_ = static_cast<std::uint32_t>(table_.types.size());
    known_.emplace(std::string(type), last_);
    table_.types.emplace_back(type);
    return last_;
  }

  std::vector<int> columns_;
  OperationRows& table_;
  std::map<std::string, std::uint32_t, std::less<>> known_;
  std::uint32_t last_ = 0;
};

Result<ImportedJob> read_table(const std::filesystem::path& path, const ImportOptions& options) {
  COX_TRY(ByteSource source, ByteSource::open(path, options.limit_bytes));
  COX_TRY(const std::string text, source.read_all());
  CsvCursor in(text);
  std::vector<std::string_view> cells;
  if (!in.next(cells)) cells.clear();
  std::vector<int> columns = read_header(cells);
  if (auto status = check_operation_columns(columns); !status) {
    status.error().where = Where{.file = path.string(), .line = 1};
    return fail(std::move(status).error());
  }
  OperationRows table;
  RowReader reader(std::move(columns), table);
  while (in.next(cells)) {
    if (cells.size() == 1 && cells[0].empty()) continue;  // a blank line is no row
    reader.add(cells);
  }
  auto job = make_operation_part(path.string(), kOperationCsvReader.format, std::move(table));
  if (!job) job.error().where = Where{.file = path.string()};
  if (job && source.cut())
    job->run.notes.push_back(
        {.file = path.string(), .text = "the compressed file is cut; rows after the cut are missing"});
  return job;
}

}  // namespace

const Reader kOperationCsvReader{.format = "op-table-csv",
                                 .title = "table of operations (CSV)",
                                 .recognises = recognise,
                                 .read = read_table};

}  // namespace cox::trace
