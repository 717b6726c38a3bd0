// SPDX-License-Identifier: Apache-2.0
/// \file
/// Small Parquet files for tests, made byte by byte: every part can be chosen, also wrongly.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cox::trace::parquet {

/// Thrift's compact protocol, writing.
class ThriftWriter {
 public:
  ThriftWriter& i32(int id, std::int64_t v) {
    field(id, 5);
    varint(zigzag(v));
    return *this;
  }
  ThriftWriter& i64(int id, std::int64_t v) {
    field(id, 6);
    varint(zigzag(v));
    return *this;
  }
  ThriftWriter& flag(int id, bool v) {
    field(id, v ? 1 : 2);
    return *this;
  }
  ThriftWriter& text(int id, std::string_view v) {
    field(id, 8);
    varint(v.size());
    raw(v);
    return *this;
  }
  ThriftWriter& structure(int id, const ThriftWriter& v) {
    field(id, 12);
    raw(v.done());
    return *this;
  }
  ThriftWriter& list(int id, const std::vector<ThriftWriter>& v) {
    field(id, 9);
    out_ += static_cast<char>(v.size() < 15 ? (v.size() << 4 | 12) : 0xfc);
    if (v.size() >= 15) varint(v.size());
    for (const ThriftWriter& e : v) raw(e.done());
    return *this;
  }
  [[nodiscard]] std::string done() const { return out_ + '\0'; }

 private:
  static std::uint64_t zigzag(std::int64_t v) {
    return (static_cast<std::uint64_t>(v) << 1) ^ static_cast<std::uint64_t>(v >> 63);
  }
  void field(int id, int type) {
    const int delta = id - last_;
    last_ = id;
    if (delta >= 1 && delta <= 15) {
      out_ += static_cast<char>(delta << 4 | type);
    } else {
      out_ += static_cast<char>(type);
      varint(zigzag(id));
    }
  }
  void varint(std::uint64_t v) {
    for (; v >= 0x80; v >>= 7) out_ += static_cast<char>(v | 0x80);
    out_ += static_cast<char>(v);
  }
  void raw(std::string_view v) { out_ += v; }
  std::string out_;
  int last_ = 0;
};

/// `count` values of `v` as one run of the hybrid encoding.
inline std::string hybrid_run(std::uint64_t count, std::uint32_t v, int width_bytes) {
  std::string out;
  for (std::uint64_t head = count << 1;; head >>= 7) {
    out += static_cast<char>(head < 0x80 ? head : (head & 0x7f) | 0x80);
    if (head < 0x80) break;
  }
  for (int i = 0; i < width_bytes; ++i) out += static_cast<char>(v >> (8 * i));
  return out;
}

template <class T>
std::string plain_values(const std::vector<T>& values) {
  std::string out(values.size() * sizeof(T), '\0');
  std::memcpy(out.data(), values.data(), out.size());
  return out;
}
inline std::string plain_values(const std::vector<std::string>& values) {
  std::string out;
  for (const std::string& v : values) {
    const auto size = static_cast<std::uint32_t>(v.size());
    out += plain_values(std::vector<std::uint32_t>{size}) + v;
  }
  return out;
}

/// One page, already packed.
struct SamplePage {
  int kind = 0;
  std::int64_t values = 0;
  std::int64_t encoding = 0;
  std::string packed{};
  std::optional<std::int64_t> unpacked_bytes{};  ///< as the header says; nothing = as long as packed
  std::int64_t definition_bytes = 0;             ///< v2
  bool is_compressed = false;                    ///< v2
};

struct SampleColumn {
  std::string name;
  int type = 1;
  int repetition = 0;
  int codec = 0;
  std::vector<SamplePage> pages;
  int nested_children = 0;  ///< then the column is a group of so many leaves, all with these pages
  bool is_encrypted = false;
};

inline std::string page_bytes(const SamplePage& p) {
  ThriftWriter data;
  ThriftWriter head;
  head.i32(1, p.kind).i32(2, p.unpacked_bytes.value_or(static_cast<std::int64_t>(p.packed.size())));
  head.i32(3, static_cast<std::int64_t>(p.packed.size()));
  if (p.kind == 2) {
    head.structure(7, data.i32(1, p.values).i32(2, p.encoding));
  } else if (p.kind == 3) {
    data.i32(1, p.values).i32(2, 0).i32(3, p.values).i32(4, p.encoding);
    data.i32(5, p.definition_bytes).i32(6, 0).flag(7, p.is_compressed);
    head.structure(8, data);
  } else {
    head.structure(5, data.i32(1, p.values).i32(2, p.encoding).i32(3, 3).i32(4, 3));
  }
  return head.done() + p.packed;
}

/// A file of one row group.
inline std::string make_parquet(const std::vector<SampleColumn>& columns, std::int64_t rows) {
  std::string file = "PAR1";
  std::vector<ThriftWriter> schema{ThriftWriter().text(4, "schema").i32(5, static_cast<int>(columns.size()))};
  std::vector<ThriftWriter> chunks;
  for (const SampleColumn& c : columns) {
    const int leaves = c.nested_children > 0 ? c.nested_children : 1;
    if (c.nested_children > 0)
      schema.push_back(ThriftWriter().i32(3, 0).text(4, c.name).i32(5, c.nested_children));
    for (int leaf = 0; leaf < leaves; ++leaf) {
      schema.push_back(ThriftWriter().i32(1, c.type).i32(3, c.repetition).text(4, c.name));
      const auto begin = static_cast<std::int64_t>(file.size());
      std::int64_t values = 0;
      std::int64_t dictionary = -1;
      for (const SamplePage& p : c.pages) {
        if (p.kind == 2) dictionary = static_cast<std::int64_t>(file.size());
        if (p.kind == 0 || p.kind == 3) values += p.values;
        file += page_bytes(p);
      }
      ThriftWriter meta;
      meta.i32(1, c.type).i32(4, c.codec).i64(5, values);
      meta.i64(7, static_cast<std::int64_t>(file.size()) - begin).i64(9, begin);
      if (dictionary >= 0) meta.i64(11, dictionary);
      ThriftWriter chunk;
      chunk.i64(2, begin).structure(3, meta);
      if (c.is_encrypted) chunk.structure(8, ThriftWriter());
      chunks.push_back(chunk);
    }
  }
  const std::vector<ThriftWriter> groups{ThriftWriter().list(1, chunks).i64(2, 0).i64(3, rows)};
  const std::string footer = ThriftWriter().i32(1, 1).list(2, schema).i64(3, rows).list(4, groups).done();
  return file + footer + plain_values(std::vector<std::uint32_t>{static_cast<std::uint32_t>(footer.size())}) +
         "PAR1";
}

}  // namespace cox::trace::parquet
