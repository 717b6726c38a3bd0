// SPDX-License-Identifier: Apache-2.0
/// \file
/// The part of Thrift's compact protocol that Parquet's metadata is written in; reading only.
///
/// Source: thrift/doc/specs/thrift-compact-protocol.md (Apache Thrift); parquet.thrift (Apache Parquet
/// format). Hostile input: each length is checked against the bytes that are there; a structure that is
/// skipped costs a bounded stack of its own, no recursion. After an error everything reads as zero; see `ok`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cox::trace::parquet {

enum class ThriftType : std::uint8_t {
  Stop = 0,
  True = 1,
  False = 2,
  Byte = 3,
  I16 = 4,
  I32 = 5,
  I64 = 6,
  Double = 7,
  Binary = 8,
  List = 9,
  Set = 10,
  Map = 11,
  Struct = 12,
};

class ThriftReader {
 public:
  explicit ThriftReader(std::string_view bytes) : bytes_(bytes) {}

  struct Field {
    ThriftType type = ThriftType::Stop;
    std::int16_t id = 0;
  };
  struct List {
    ThriftType type = ThriftType::Stop;
    std::uint32_t size = 0;
  };

  /// Next field of a structure; `last` is the id before it, 0 at the start.
  /// Stop ends the structure, and so does damage.
  Field field(std::int16_t last);
  /// Any of I16, I32, I64 or a byte, by the type that its field or list says.
  std::int64_t integer(ThriftType type);
  std::string_view binary();
  List list();
  /// Passes over one value of the type; False and True of a field have no bytes.
  void skip(ThriftType type);

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::size_t position() const { return at_; }

 private:
  enum class Inside : bool { Field, Collection };
  std::uint64_t varint();
  std::uint8_t byte();
  void pass(std::size_t count);
  void skip_scalar(ThriftType type, Inside inside);
  void stop() {
    ok_ = false;
    at_ = bytes_.size();
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

/// Calls `use(field)` for every field of a structure; `use` must read or skip its value.
template <class Use>
void for_each_field(ThriftReader& in, Use&& use) {
  ThriftReader::Field f{};
  while ((f = in.field(f.id)).type != ThriftType::Stop) use(f);
}

}  // namespace cox::trace::parquet
