// SPDX-License-Identifier: Apache-2.0
/// \file
/// A small reader of Parquet files with flat columns. What it does not know it refuses by name.
///
/// Read: BOOLEAN, INT32, INT64, FLOAT, DOUBLE, BYTE_ARRAY; required and optional columns; data pages v1 and
/// v2; PLAIN, PLAIN_DICTIONARY, RLE_DICTIONARY, RLE (booleans, levels); uncompressed, Snappy, gzip, zstd. Not
/// read: nested and repeated columns, INT96, FIXED_LEN_BYTE_ARRAY, DECIMAL, delta and byte-stream-split
/// encodings, LZO, Brotli, LZ4, encrypted files, columns in other files.
/// Source: parquet.thrift, Encodings.md and Compression.md of the Apache Parquet format, 2.10.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"

namespace cox::trace::parquet {

/// As numbered in parquet.thrift.
enum class PhysicalType : std::uint8_t {
  Boolean = 0,
  Int32 = 1,
  Int64 = 2,
  Int96 = 3,
  Float = 4,
  Double = 5,
  ByteArray = 6,
  FixedLenByteArray = 7,
};

struct Column {
  std::string_view name;
  PhysicalType type = PhysicalType::Int32;
  bool is_optional = false;
  std::string_view refused{};  ///< kind of column that is not read: `nested`, `INT96`, ...; empty where it is
};

/// Values of one column, one per row; where `present` is 0 the value is zero (text: index 0).
struct Integers {
  std::vector<std::int64_t> values;
  std::vector<std::uint8_t> present;
};
struct Reals {
  std::vector<double> values;
  std::vector<std::uint8_t> present;
};
struct Texts {
  std::vector<std::uint32_t> values;  ///< index into `distinct`
  std::vector<std::uint8_t> present;
  std::vector<std::string> distinct;  ///< in the order in which they are written; some may be in no row
};

/// A file in memory. Keeps views into the bytes, which must outlive it.
///
/// Hostile input: more rows than 16 per byte of the file, or more unpacked bytes than `limit_bytes`, are
///          refused (import-004) before they are made room for.
/// Errors:  import-005 with what was found ("codec BROTLI of column x"); import-004.
/// Threads: `read_*` may be called by many at once.
/// Cost:    a column is unpacked page by page: one page and the values are in memory.
/// Held by: src/trace/import/tables/parquet_test.cpp, fuzz/corpus/operation_parquet
class File {
 public:
  [[nodiscard]] static Result<File> open(std::string_view bytes, std::uint64_t limit_bytes);

  [[nodiscard]] std::span<const Column> columns() const { return columns_; }
  [[nodiscard]] std::size_t rows() const { return rows_; }
  /// Index of the column with this name; -1 = none.
  [[nodiscard]] int find(std::string_view name) const;

  /// BOOLEAN, INT32, INT64; and FLOAT, DOUBLE whose values are whole (pandas turns
  /// integers with gaps into them).
  [[nodiscard]] Result<Integers> read_integers(int column) const;
  /// All but BYTE_ARRAY.
  [[nodiscard]] Result<Reals> read_reals(int column) const;
  /// BYTE_ARRAY only.
  [[nodiscard]] Result<Texts> read_texts(int column) const;

  /// One column of one row group, as the metadata says.
  struct Chunk {
    std::int64_t begin = 0;   ///< first byte of its first page
    std::int64_t size = 0;    ///< bytes of all its pages
    std::int64_t values = 0;  ///< nulls included
    std::int64_t codec = 0;
    std::int64_t type = -1;
    bool is_elsewhere = false;  ///< in another file
    bool is_encrypted = false;
  };

 private:
  template <class Sink>
  Result<void> read(int column, Sink& sink) const;

  std::string_view bytes_;
  std::uint64_t limit_bytes_ = 0;
  std::size_t rows_ = 0;
  std::vector<Column> columns_;
  std::vector<std::vector<Chunk>> chunks_;  ///< [column][row group]
};

/// `SNAPPY`, `BROTLI`, ...: as in parquet.thrift; unknown numbers as they are.
[[nodiscard]] std::string name_of_codec(std::int64_t codec);
/// `PLAIN`, `DELTA_BINARY_PACKED`, ...
[[nodiscard]] std::string name_of_encoding(std::int64_t encoding);

}  // namespace cox::trace::parquet
