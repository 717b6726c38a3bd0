// SPDX-License-Identifier: Apache-2.0
#include "trace/import/tables/parquet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>

#include "trace/import/tables/parquet_metadata.hpp"
#include "trace/import/tables/parquet_page.hpp"
#include "trace/raw/meta_entries.hpp"

namespace cox::trace::parquet {
namespace {

constexpr std::size_t kTailBytes = 8;
/// A table whose rows say anything at all has fewer; a run-length bomb has more.
constexpr std::size_t kRowsPerByte = 16;

std::uint32_t little_u32(std::string_view bytes) {
  std::uint32_t v = 0;
  for (int i = 3; i >= 0; --i) v = (v << 8) | static_cast<std::uint8_t>(bytes[static_cast<std::size_t>(i)]);
  return v;
}

/// A column's name as messages show it: clean, and never long.
std::string shown(std::string_view name) {
  constexpr std::size_t kMost = 80;
  return clean_text(name.substr(0, kMost));
}

// --- values ----------------------------------------------------------------------------------------------

/// A dictionary page or the values of a data page, one after another.
class PlainValues {
 public:
  PlainValues(PhysicalType type, std::string_view bytes) : type_(type), bytes_(bytes) {}

  /// Appends `count` values; false where the bytes end early.
  bool integers(std::size_t count, std::vector<std::int64_t>& out) {
    if (type_ == PhysicalType::Boolean) {
      if (bytes_.size() < (count + 7) / 8) return false;
      for (std::size_t i = 0; i < count; ++i)
        out.push_back((static_cast<std::uint8_t>(bytes_[i / 8]) >> (i % 8)) & 1);
      return true;
    }
    return type_ == PhysicalType::Int32 ? fixed<std::int32_t>(count, out) : fixed<std::int64_t>(count, out);
  }
  bool reals(std::size_t count, std::vector<double>& out) {
    return type_ == PhysicalType::Float ? fixed<float>(count, out) : fixed<double>(count, out);
  }
  bool texts(std::size_t count, std::vector<std::string_view>& out) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (bytes_.size() - at < 4) return false;
      const std::uint32_t size = little_u32(bytes_.substr(at, 4));
      if (bytes_.size() - at - 4 < size) return false;
      out.push_back(bytes_.substr(at + 4, size));
      at += 4 + size;
    }
    return true;
  }

 private:
  template <class Stored, class Out>
  bool fixed(std::size_t count, std::vector<Out>& out) {
    static_assert(std::endian::native == std::endian::little, "stored little-endian");
    if (bytes_.size() / sizeof(Stored) < count) return false;
    for (std::size_t i = 0; i < count; ++i) {
      Stored v;
      std::memcpy(&v, bytes_.data() + i * sizeof(Stored), sizeof(Stored));
      out.push_back(static_cast<Out>(v));
    }
    return true;
  }

  PhysicalType type_;
  std::string_view bytes_;
};

bool is_real(PhysicalType t) {
  return t == PhysicalType::Float || t == PhysicalType::Double;
}

/// Takes decoded values in row order. One of these per kind of value: `Value` is what a dictionary holds.
template <class Value, class Out>
struct NumberSink {
  using value_type = Value;
  std::vector<Out>& out;

  bool plain(PhysicalType type, std::string_view bytes, std::size_t count, std::vector<Value>& values) {
    PlainValues in(type, bytes);
    if constexpr (std::is_same_v<Value, double>)
      return in.reals(count, values);
    else
      return in.integers(count, values);
  }
  void put(Value v) { out.push_back(static_cast<Out>(v)); }
  void put_nothing() { out.push_back(Out{}); }
};

/// Texts become numbers where they stand written out, so that a long one that many rows refer to costs once.
struct TextSink {
  using value_type = std::uint32_t;
  Texts& out;
  std::map<std::string, std::uint32_t, std::less<>> known{};

  bool plain(PhysicalType type, std::string_view bytes, std::size_t count,
             std::vector<std::uint32_t>& values) {
    std::vector<std::string_view> texts;
    if (!PlainValues(type, bytes).texts(count, texts)) return false;
    for (const std::string_view text : texts) values.push_back(intern(text));
    return true;
  }
  std::uint32_t intern(std::string_view text) {
    if (const auto at = known.find(text); at != known.end()) return at->second;
    const auto next = static_cast<std::uint32_t>(out.distinct.size());
    known.emplace(std::string(text), next);
    out.distinct.emplace_back(text);
    return next;
  }
  void put(std::uint32_t v) { out.values.push_back(v); }
  void put_nothing() { out.values.push_back(0); }
};

/// Reads the pages of one column, chunk by chunk.
template <class Sink>
class ColumnReader {
 public:
  ColumnReader(std::string_view file, const Column& column, std::uint64_t limit_bytes, Sink& sink,
               std::vector<std::uint8_t>& present)
      : file_(file),
        column_(column),
        name_(shown(column.name)),
        left_bytes_(limit_bytes),
        sink_(sink),
        present_(present) {}

  Result<void> read(const File::Chunk& chunk) {
    COX_CHECK(check(chunk));
    std::string_view pages =
        file_.substr(static_cast<std::size_t>(chunk.begin), static_cast<std::size_t>(chunk.size));
    dictionary_.clear();
    has_dictionary_ = false;
    std::uint64_t left = static_cast<std::uint64_t>(chunk.values);
    while (left > 0) {
      PageHeader header;
      if (!read_page_header(pages, header) ||
          static_cast<std::uint64_t>(header.packed_bytes) > pages.size() - header.header_bytes)
        return refuse(fmt::format("a page header of column {} is damaged, or the file is cut", name_));
      const std::string_view packed =
          pages.substr(header.header_bytes, static_cast<std::size_t>(header.packed_bytes));
      pages.remove_prefix(header.header_bytes + packed.size());
      if (static_cast<std::uint64_t>(header.unpacked_bytes) > left_bytes_ || is_bomb(header))
        return too_long();
      left_bytes_ -= static_cast<std::uint64_t>(header.unpacked_bytes);
      if (header.kind == static_cast<std::int64_t>(PageKind::Index)) continue;
      if (header.kind == static_cast<std::int64_t>(PageKind::Dictionary)) {
        COX_CHECK(read_dictionary(chunk, header, packed));
        continue;
      }
      if (header.kind > 3) return refuse(fmt::format("page of kind {} in column {}", header.kind, name_));
      if (header.values < 0 || static_cast<std::uint64_t>(header.values) > left)
        return refuse(fmt::format("a page of column {} has {} values, expected at most {}", name_,
                                  header.values, left));
      left -= static_cast<std::uint64_t>(header.values);
      COX_CHECK(header.kind == static_cast<std::int64_t>(PageKind::DataV2) ? read_v2(chunk, header, packed)
                                                                           : read_v1(chunk, header, packed));
    }
    return {};
  }

 private:
  Result<void> check(const File::Chunk& chunk) const {
    if (chunk.is_encrypted) return refuse(fmt::format("encrypted column {}", name_));
    if (chunk.is_elsewhere) return refuse(fmt::format("column {} is in another file", name_));
    if (chunk.type != static_cast<std::int64_t>(column_.type))
      return refuse(fmt::format("column {} has another type in a row group than in the schema", name_));
    constexpr std::array<std::int64_t, 4> kRead{0, 1, 2, 6};
    if (std::find(kRead.begin(), kRead.end(), chunk.codec) == kRead.end())
      return refuse(fmt::format("codec {} of column {}", name_of_codec(chunk.codec), name_),
                    "write the file again with Snappy, zstd, gzip or no compression");
    const auto size = static_cast<std::int64_t>(file_.size());
    if (chunk.begin < 0 || chunk.size < 0 || chunk.begin > size || chunk.size > size - chunk.begin)
      return refuse(fmt::format("column {} lies outside of the file", name_), "copy the file again");
    return {};
  }

  Result<void> read_dictionary(const File::Chunk& chunk, const PageHeader& header, std::string_view packed) {
    if (header.encoding != kPlain && header.encoding != kPlainDictionary)
      return unknown_encoding(header.encoding);
    COX_TRY(const std::string page,
            unpack(chunk.codec, packed, static_cast<std::size_t>(header.unpacked_bytes), name_));
    dictionary_.clear();
    has_dictionary_ = true;
    if (header.values < 0 ||
        !sink_.plain(column_.type, page, static_cast<std::size_t>(header.values), dictionary_))
      return cut();
    return {};
  }

  Result<void> read_v1(const File::Chunk& chunk, const PageHeader& header, std::string_view packed) {
    COX_TRY(const std::string page,
            unpack(chunk.codec, packed, static_cast<std::size_t>(header.unpacked_bytes), name_));
    std::string_view rest = page;
    std::string_view levels;
    if (column_.is_optional) {
      if (header.level_encoding != kRle) return unknown_encoding(header.level_encoding);
      if (rest.size() < 4) return cut();
      const std::uint32_t size = little_u32(rest);
      if (size > rest.size() - 4) return cut();
      levels = rest.substr(4, size);
      rest.remove_prefix(4 + std::size_t{size});
    }
    return read_values(header, levels, rest);
  }

  Result<void> read_v2(const File::Chunk& chunk, const PageHeader& header, std::string_view packed) {
    const auto size = static_cast<std::int64_t>(packed.size());
    if (header.repetition_bytes != 0) return refuse(fmt::format("repeated column {}", name_));
    if (header.definition_bytes < 0 || header.definition_bytes > size ||
        header.definition_bytes > header.unpacked_bytes)
      return cut();
    const auto level_bytes = static_cast<std::size_t>(header.definition_bytes);
    COX_TRY(const std::string page,
            unpack(header.is_compressed ? chunk.codec : 0, packed.substr(level_bytes),
                   static_cast<std::size_t>(header.unpacked_bytes) - level_bytes, name_));
    return read_values(header, packed.substr(0, level_bytes), page);
  }

  /// Levels, then values in the page's encoding.
  Result<void> read_values(const PageHeader& header, std::string_view levels, std::string_view bytes) {
    const auto rows = static_cast<std::size_t>(header.values);
    std::size_t filled = rows;
    if (column_.is_optional) {
      if (!decode_hybrid(levels, 1, rows, levels_)) return cut();
      filled = static_cast<std::size_t>(std::count(levels_.begin(), levels_.end(), 1U));
    }
    plain_.clear();
    const bool by_index = header.encoding == kPlainDictionary || header.encoding == kRleDictionary;
    if (by_index) {
      COX_CHECK(read_indices(bytes, filled));
    } else if (header.encoding == kPlain) {
      if (!sink_.plain(column_.type, bytes, filled, plain_)) return cut();
    } else if (header.encoding == kRle && column_.type == PhysicalType::Boolean) {
      if (bytes.size() < 4 || !decode_hybrid(bytes.substr(4), 1, filled, indices_)) return cut();
      if constexpr (std::is_same_v<typename Sink::value_type, std::int64_t>)
        plain_.assign(indices_.begin(), indices_.end());
    } else {
      return unknown_encoding(header.encoding);
    }
    std::size_t next = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      const bool has = !column_.is_optional || levels_[i] != 0;
      present_.push_back(has ? 1 : 0);
      if (has) {
        sink_.put(by_index ? dictionary_[indices_[next]] : plain_[next]);
        ++next;
      } else {
        sink_.put_nothing();
      }
    }
    return {};
  }

  Result<void> read_indices(std::string_view bytes, std::size_t count) {
    indices_.clear();
    if (count == 0) return {};
    if (!has_dictionary_)
      return refuse(fmt::format("column {} refers to a dictionary that is not there", name_));
    if (bytes.empty() ||
        !decode_hybrid(bytes.substr(1), static_cast<std::uint8_t>(bytes[0]), count, indices_))
      return cut();
    if (std::any_of(indices_.begin(), indices_.end(),
                    [&](std::uint32_t i) { return i >= dictionary_.size(); }))
      return refuse(fmt::format("column {} refers to an entry that its dictionary of {} does not have", name_,
                                dictionary_.size()));
    return {};
  }

  /// Writers make pages of about 1 MiB; one that is huge and almost nothing packed is made to fill memory.
  static bool is_bomb(const PageHeader& header) {
    constexpr std::int64_t kAlwaysFine = std::int64_t{16} << 20;
    return header.unpacked_bytes > kAlwaysFine && header.unpacked_bytes / 1024 > header.packed_bytes;
  }
  [[nodiscard]] tl::unexpected<Error> cut() const {
    return refuse(fmt::format("a page of column {} ends before its values", name_), "copy the file again");
  }
  [[nodiscard]] tl::unexpected<Error> unknown_encoding(std::int64_t encoding) const {
    return refuse(fmt::format("encoding {} of column {}", name_of_encoding(encoding), name_),
                  "write the file again with dictionary or plain encoding");
  }
  [[nodiscard]] tl::unexpected<Error> too_long() const {
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "import-004",
                      .message = fmt::format("column {} unpacks to more bytes than allowed", name_),
                      .hint = "split the file by rank or by time",
                      .where = {}});
  }

  std::string_view file_;
  const Column& column_;
  std::string name_;
  std::uint64_t left_bytes_;
  Sink& sink_;
  std::vector<std::uint8_t>& present_;
  std::vector<typename Sink::value_type> dictionary_;
  bool has_dictionary_ = false;
  std::vector<typename Sink::value_type> plain_;
  std::vector<std::uint32_t> levels_;
  std::vector<std::uint32_t> indices_;
};

}  // namespace

std::string name_of_codec(std::int64_t codec) {
  constexpr std::array<std::string_view, 8> kNames{"UNCOMPRESSED", "SNAPPY", "GZIP", "LZO",
                                                   "BROTLI",       "LZ4",    "ZSTD", "LZ4_RAW"};
  if (codec >= 0 && codec < static_cast<std::int64_t>(kNames.size()))
    return std::string(kNames[static_cast<std::size_t>(codec)]);
  return fmt::format("{}", codec);
}

std::string name_of_encoding(std::int64_t encoding) {
  constexpr std::array<std::string_view, 10> kNames{"PLAIN",
                                                    "1",
                                                    "PLAIN_DICTIONARY",
                                                    "RLE",
                                                    "BIT_PACKED",
                                                    "DELTA_BINARY_PACKED",
                                                    "DELTA_LENGTH_BYTE_ARRAY",
                                                    "DELTA_BYTE_ARRAY",
                                                    "RLE_DICTIONARY",
                                                    "BYTE_STREAM_SPLIT"};
  if (encoding >= 0 && encoding < static_cast<std::int64_t>(kNames.size()))
    return std::string(kNames[static_cast<std::size_t>(encoding)]);
  return fmt::format("{}", encoding);
}

Result<File> File::open(std::string_view bytes, std::uint64_t limit_bytes) {
  if (bytes.size() < 4 + kTailBytes || !bytes.starts_with("PAR"))
    return refuse("not a Parquet file, or cut to almost nothing");
  const std::string_view tail = bytes.substr(bytes.size() - kTailBytes);
  if (bytes.starts_with("PARE") || tail.ends_with("PARE")) return refuse("encrypted Parquet file");
  if (!bytes.starts_with("PAR1") || !tail.ends_with("PAR1"))
    return refuse("the Parquet file has no footer: it is cut", "copy the file again");
  const std::size_t size = little_u32(tail);
  if (size > bytes.size() - 4 - kTailBytes) return refuse("the footer of the Parquet file is damaged");
  COX_TRY(Metadata m, read_metadata(bytes.substr(bytes.size() - kTailBytes - size, size)));
  if (m.is_encrypted) return refuse("encrypted Parquet file");

  File file;
  file.bytes_ = bytes;
  constexpr std::uint64_t kMostUnpacked = std::uint64_t{1} << 30;  // columns are held whole
  file.limit_bytes_ = std::min(limit_bytes, kMostUnpacked);
  if (static_cast<std::uint64_t>(m.rows) > kRowsPerByte * bytes.size())
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "import-004",
                      .message = fmt::format("{} rows in {} bytes, expected at most {} per byte", m.rows,
                                             bytes.size(), kRowsPerByte),
                      .hint = "write the file again with the rows that it really has",
                      .where = {}});
  file.rows_ = static_cast<std::size_t>(m.rows);
  file.columns_ = std::move(m.columns);
  file.chunks_.resize(file.columns_.size());
  for (const std::vector<Chunk>& group : m.groups) {
    if (group.size() != file.columns_.size())
      return refuse(fmt::format("a row group of the Parquet file has {} columns, expected {}", group.size(),
                                file.columns_.size()));
    for (std::size_t c = 0; c < group.size(); ++c) file.chunks_[c].push_back(group[c]);
  }
  return file;
}

int File::find(std::string_view name) const {
  for (std::size_t c = 0; c < columns_.size(); ++c)
    if (columns_[c].name == name) return static_cast<int>(c);
  return -1;
}

template <class Sink>
Result<void> File::read(int column, Sink& sink) const {
  const Column& c = columns_[static_cast<std::size_t>(column)];
  if (!c.refused.empty()) return refuse(fmt::format("{} column {}", c.refused, shown(c.name)));
  std::int64_t values = 0;
  for (const Chunk& chunk : chunks_[static_cast<std::size_t>(column)]) {
    if (chunk.values < 0 ||
        static_cast<std::uint64_t>(chunk.values) > rows_ - static_cast<std::size_t>(values))
      return refuse(
          fmt::format("column {} has more values than the {} rows of the file", shown(c.name), rows_));
    values += chunk.values;
  }
  if (static_cast<std::size_t>(values) != rows_)
    return refuse(fmt::format("column {} has {} values, expected {}", shown(c.name), values, rows_));
  return sink(bytes_, c, limit_bytes_, chunks_[static_cast<std::size_t>(column)]);
}

namespace {

template <class Sink>
Result<void> read_chunks(std::string_view bytes, const Column& column, std::uint64_t limit_bytes,
                         std::span<const File::Chunk> chunks, Sink& sink,
                         std::vector<std::uint8_t>& present) {
  ColumnReader<Sink> reader(bytes, column, limit_bytes, sink, present);
  for (const File::Chunk& chunk : chunks) COX_CHECK(reader.read(chunk));
  return {};
}

tl::unexpected<Error> wrong_kind(const Column& column, std::string_view found, std::string_view wanted) {
  return refuse(fmt::format("column {} holds {}, expected {}", shown(column.name), found, wanted));
}

}  // namespace

Result<Integers> File::read_integers(int column) const {
  Integers out;
  const auto decode = [&](std::string_view bytes, const Column& c, std::uint64_t limit,
                          std::span<const Chunk> chunks) -> Result<void> {
    if (c.type == PhysicalType::ByteArray) return wrong_kind(c, "text", "whole numbers");
    if (!is_real(c.type)) {
      NumberSink<std::int64_t, std::int64_t> sink{out.values};
      return read_chunks(bytes, c, limit, chunks, sink, out.present);
    }
    std::vector<double> reals;
    NumberSink<double, double> sink{reals};
    COX_CHECK(read_chunks(bytes, c, limit, chunks, sink, out.present));
    constexpr double kMost = 9007199254740992.0;  // 2^53: beyond, doubles are not all the integers
    out.values.reserve(reals.size());
    for (std::size_t i = 0; i < reals.size(); ++i) {
      const bool is_whole = std::abs(reals[i]) <= kMost && std::trunc(reals[i]) == reals[i];
      if (!is_whole && std::isnan(reals[i])) out.present[i] = 0;
      if (!is_whole && !std::isnan(reals[i]))
        return wrong_kind(c, fmt::format("{}", reals[i]), "whole numbers");
      out.values.push_back(is_whole ? static_cast<std::int64_t>(reals[i]) : 0);
    }
    return {};
  };
  COX_CHECK(read(column, decode));
  return out;
}

Result<Reals> File::read_reals(int column) const {
  Reals out;
  const auto decode = [&](std::string_view bytes, const Column& c, std::uint64_t limit,
                          std::span<const Chunk> chunks) -> Result<void> {
    if (c.type == PhysicalType::ByteArray) return wrong_kind(c, "text", "numbers");
    if (is_real(c.type)) {
      NumberSink<double, double> sink{out.values};
      return read_chunks(bytes, c, limit, chunks, sink, out.present);
    }
    NumberSink<std::int64_t, double> sink{out.values};
    return read_chunks(bytes, c, limit, chunks, sink, out.present);
  };
  COX_CHECK(read(column, decode));
  return out;
}

Result<Texts> File::read_texts(int column) const {
  Texts out;
  const auto decode = [&](std::string_view bytes, const Column& c, std::uint64_t limit,
                          std::span<const Chunk> chunks) -> Result<void> {
    if (c.type != PhysicalType::ByteArray) return wrong_kind(c, "numbers", "text");
    TextSink sink{out};
    return read_chunks(bytes, c, limit, chunks, sink, out.present);
  };
  COX_CHECK(read(column, decode));
  if (out.distinct.empty()) out.distinct.emplace_back();
  return out;
}

}  // namespace cox::trace::parquet
