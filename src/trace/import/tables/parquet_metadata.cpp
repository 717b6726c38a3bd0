// SPDX-License-Identifier: Apache-2.0
#include "trace/import/tables/parquet_metadata.hpp"

#include <algorithm>
#include <span>

#include "trace/import/tables/parquet_thrift.hpp"

namespace cox::trace::parquet {
namespace {

struct SchemaElement {
  std::string_view name;
  std::int64_t type = -1;
  std::int64_t repetition = 0;
  std::int64_t children = 0;
  std::int64_t converted = -1;
};

struct Footer {
  std::vector<SchemaElement> schema;
  std::vector<std::vector<File::Chunk>> groups;
  std::int64_t rows = -1;
  bool is_encrypted = false;
};

SchemaElement read_schema_element(ThriftReader& in) {
  SchemaElement e;
  for_each_field(in, [&](ThriftReader::Field f) {
    switch (f.id) {
      case 1:
        e.type = in.integer(f.type);
        break;
      case 3:
        e.repetition = in.integer(f.type);
        break;
      case 4:
        f.type == ThriftType::Binary ? void(e.name = in.binary()) : in.skip(f.type);
        break;
      case 5:
        e.children = in.integer(f.type);
        break;
      case 6:
        e.converted = in.integer(f.type);
        break;
      default:
        in.skip(f.type);
    }
  });
  return e;
}

void read_column_metadata(ThriftReader& in, File::Chunk& chunk) {
  std::int64_t data = -1;
  std::int64_t dictionary = -1;
  for_each_field(in, [&](ThriftReader::Field f) {
    switch (f.id) {
      case 1:
        chunk.type = in.integer(f.type);
        break;
      case 4:
        chunk.codec = in.integer(f.type);
        break;
      case 5:
        chunk.values = in.integer(f.type);
        break;
      case 7:
        chunk.size = in.integer(f.type);
        break;
      case 9:
        data = in.integer(f.type);
        break;
      case 11:
        dictionary = in.integer(f.type);
        break;
      default:
        in.skip(f.type);
    }
  });
  // Some writers leave 0 for "no dictionary"; offset 0 holds the magic number.
  chunk.begin = dictionary > 0 ? std::min(dictionary, data) : data;
}

File::Chunk read_chunk(ThriftReader& in) {
  File::Chunk chunk;
  for_each_field(in, [&](ThriftReader::Field f) {
    if (f.id == 3 && f.type == ThriftType::Struct) {
      read_column_metadata(in, chunk);
      return;
    }
    chunk.is_elsewhere |= f.id == 1;
    chunk.is_encrypted |= f.id == 8 || f.id == 9;
    in.skip(f.type);
  });
  return chunk;
}

/// Calls `use` for each structure of a list; other lists are passed over.
template <class Use>
void for_each_struct(ThriftReader& in, ThriftReader::Field field, Use&& use) {
  if (field.type != ThriftType::List) return in.skip(field.type);
  const ThriftReader::List list = in.list();
  for (std::uint32_t i = 0; i < list.size && in.ok(); ++i)
    list.type == ThriftType::Struct ? use() : in.skip(list.type);
}

Result<Footer> read_footer(std::string_view bytes) {
  ThriftReader in(bytes);
  Footer m;
  for_each_field(in, [&](ThriftReader::Field f) {
    switch (f.id) {
      case 2:
        for_each_struct(in, f, [&] { m.schema.push_back(read_schema_element(in)); });
        break;
      case 3:
        m.rows = in.integer(f.type);
        break;
      case 4:
        for_each_struct(in, f, [&] {
          std::vector<File::Chunk>& group = m.groups.emplace_back();
          for_each_field(in, [&](ThriftReader::Field g) {
            if (g.id == 1)
              for_each_struct(in, g, [&] { group.push_back(read_chunk(in)); });
            else
              in.skip(g.type);
          });
        });
        break;
      case 8:
        m.is_encrypted = true;
        in.skip(f.type);
        break;
      default:
        in.skip(f.type);
    }
  });
  if (!in.ok() || m.rows < 0 || m.schema.empty())
    return refuse("the footer of the Parquet file is damaged", "copy the file again");
  return m;
}

std::string_view why_refused(const SchemaElement& e) {
  constexpr std::int64_t kRepeated = 2;
  constexpr std::int64_t kDecimal = 5;
  if (e.repetition == kRepeated) return "repeated";
  if (e.type < 0 || e.type > 7) return "untyped";
  if (e.type == static_cast<std::int64_t>(PhysicalType::Int96)) return "INT96";
  if (e.type == static_cast<std::int64_t>(PhysicalType::FixedLenByteArray)) return "FIXED_LEN_BYTE_ARRAY";
  return e.converted == kDecimal ? "DECIMAL" : "";
}

/// The leaves in file order: a nested column is one entry per leaf, under the name of its top.
Result<std::vector<Column>> read_columns(std::span<const SchemaElement> schema) {
  std::vector<Column> columns;
  std::size_t at = 1;  // the first element is the root
  while (at < schema.size()) {
    const SchemaElement& top = schema[at++];
    if (top.children <= 0) {
      columns.push_back({.name = top.name,
                         .type = static_cast<PhysicalType>(std::clamp<std::int64_t>(top.type, 0, 7)),
                         .is_optional = top.repetition == 1,
                         .refused = why_refused(top)});
      continue;
    }
    // Elements are in depth-first order: count those still to come.
    for (std::uint64_t pending = static_cast<std::uint64_t>(top.children); pending > 0; --pending) {
      if (pending > schema.size() || at >= schema.size())
        return refuse("the schema of the Parquet file is damaged");
      const SchemaElement& e = schema[at++];
      if (e.children > 0) {
        pending += static_cast<std::uint64_t>(e.children);
        continue;
      }
      columns.push_back({.name = top.name, .refused = "nested"});
    }
  }
  return columns;
}

}  // namespace

tl::unexpected<Error> refuse(std::string message, std::string hint) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "import-005",
                    .message = std::move(message),
                    .hint = std::move(hint),
                    .where = {}});
}

Result<Metadata> read_metadata(std::string_view footer) {
  COX_TRY(Footer read, read_footer(footer));
  COX_TRY(std::vector<Column> columns, read_columns(read.schema));
  return Metadata{.columns = std::move(columns),
                  .groups = std::move(read.groups),
                  .rows = read.rows,
                  .is_encrypted = read.is_encrypted};
}

}  // namespace cox::trace::parquet
