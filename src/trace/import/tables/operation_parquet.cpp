// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "trace/import/part/reader.hpp"
#include "trace/import/tables/operation_table.hpp"
#include "trace/import/tables/parquet.hpp"

namespace cox::trace {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

bool recognise(const Head& head) {
  return head.bytes.starts_with("PAR1") || head.bytes.starts_with("PARE");
}

/// Puts one column of the file into the rows.
class ColumnFiller {
 public:
  ColumnFiller(const parquet::File& file, OperationRows& table) : file_(file), table_(table) {}

  Result<void> fill(int index, OperationColumn column) {
    switch (column) {
      case OperationColumn::DataRank:
        return integers(index, &OperationRow::data);
      case OperationColumn::Stage:
        return integers(index, &OperationRow::stage);
      case OperationColumn::TensorRank:
        return integers(index, &OperationRow::tensor);
      case OperationColumn::Rank:
        return integers(index, &OperationRow::rank);
      case OperationColumn::Step:
        return integers(index, &OperationRow::step);
      case OperationColumn::Type:
        return types(index);
      case OperationColumn::Start:
        return reals(index, &OperationRow::start_s);
      case OperationColumn::Duration:
        return reals(index, &OperationRow::duration_s);
      case OperationColumn::Sequence:
        return integers(index, &OperationRow::sequence);
      case OperationColumn::Chunk:
        return integers(index, &OperationRow::chunk);
      case OperationColumn::MicroBatch:
        return integers(index, &OperationRow::micro_batch);
    }
    return {};
  }

 private:
  Result<void> integers(int index, std::int64_t OperationRow::*field) {
    COX_TRY(const parquet::Integers column, file_.read_integers(index));
    for (std::size_t i = 0; i < table_.rows.size(); ++i)
      table_.rows[i].*field = column.present[i] != 0 ? column.values[i] : -1;
    return {};
  }
  Result<void> reals(int index, double OperationRow::*field) {
    COX_TRY(const parquet::Reals column, file_.read_reals(index));
    for (std::size_t i = 0; i < table_.rows.size(); ++i)
      table_.rows[i].*field = column.present[i] != 0 ? column.values[i] : kMissing;
    return {};
  }
  Result<void> types(int index) {
    COX_TRY(parquet::Texts column, file_.read_texts(index));
    table_.types = std::move(column.distinct);
    const auto nameless = static_cast<std::uint32_t>(table_.types.size());
    table_.types.emplace_back();
    for (std::size_t i = 0; i < table_.rows.size(); ++i)
      table_.rows[i].type = column.present[i] != 0 ? column.values[i] : nameless;
    return {};
  }

  const parquet::File& file_;
  OperationRows& table_;
};

Result<ImportedJob> read_bytes(const std::filesystem::path& path, std::string_view bytes,
                               std::uint64_t limit_bytes) {
  COX_TRY(const parquet::File file, parquet::File::open(bytes, limit_bytes));
  std::vector<int> found;
  for (const parquet::Column& c : file.columns()) {
    const int ours = find_operation_column(c.name);
    const bool is_again = std::find(found.begin(), found.end(), ours) != found.end();
    found.push_back(is_again ? -1 : ours);
  }
  COX_CHECK(check_operation_columns(found));
  OperationRows table;
  constexpr OperationRow kNothing{.start_s = kMissing, .duration_s = kMissing};
  table.rows.resize(file.rows(), kNothing);
  ColumnFiller filler(file, table);
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i] >= 0) COX_CHECK(filler.fill(static_cast<int>(i), static_cast<OperationColumn>(found[i])));
  return make_operation_part(path.string(), kOperationParquetReader.format, std::move(table));
}

Result<ImportedJob> read_table(const std::filesystem::path& path, const ImportOptions& options) {
  COX_TRY(ByteSource source, ByteSource::open(path, options.limit_bytes));
  COX_TRY(const std::string bytes, source.read_all());
  auto run = read_bytes(path, bytes, options.limit_bytes);
  if (!run) run.error().where = Where{.file = path.string()};
  return run;
}

}  // namespace

const Reader kOperationParquetReader{.format = "op-table-parquet",
                                     .title = "table of operations (Parquet)",
                                     .recognises = recognise,
                                     .read = read_table};

}  // namespace cox::trace
