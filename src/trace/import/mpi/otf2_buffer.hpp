// SPDX-License-Identifier: Apache-2.0
/// \file
/// The lowest layer of OTF2 files: integers, strings, chunks, time stamps and the bounds of records.
///
/// Source: the format has no specification but OTF2's sources (BSD-3-Clause, score-p.org): OTF2_Buffer.c and
/// the readers generated from templates. The library itself is not used: it trusts what it reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "trace/import/bytes/bounded_bytes.hpp"

namespace cox::trace::otf2 {

inline constexpr std::uint32_t kUndefined32 = 0xffffffff;
inline constexpr std::uint64_t kUndefined64 = ~std::uint64_t{0};

/// Byte order as the second byte of a file and of each chunk says it.
enum class ByteOrder : std::uint8_t { Big = 0x23, Little = 0x42 };

/// Reads values from a bounded piece of memory. What is not there reads as zero
/// and makes `ok` false for good.
class Cursor : public BoundedBytes {
 public:
  Cursor() = default;
  Cursor(std::string_view bytes, ByteOrder order) : BoundedBytes(bytes), order_(order) {}

  [[nodiscard]] std::uint8_t u8();
  [[nodiscard]] std::uint32_t u32();  ///< all of its bytes
  [[nodiscard]] std::uint64_t u64();  ///< all of its bytes
  [[nodiscard]] double real();        ///< all of its bytes
  /// A length byte, then that many of the low bytes; length 255 means all ones. The same code holds values of
  /// 32 and of 64 bits; `packed32` of all ones is `kUndefined32`.
  [[nodiscard]] std::uint64_t packed64();
  [[nodiscard]] std::uint32_t packed32();
  /// Up to and without the zero byte at its end.
  [[nodiscard]] std::string_view text();
  [[nodiscard]] Cursor part(std::uint64_t n);  ///< the next n bytes on their own

 private:
  [[nodiscard]] std::uint64_t number(std::size_t bytes);
  ByteOrder order_ = ByteOrder::Little;
};

/// What a buffer holds. They number their records apart.
enum class Content : std::uint8_t { Definitions, Events };

/// One record: what it is, when, and what is in it.
struct Record {
  std::uint8_t id = 0;
  std::uint64_t time = 0;  ///< in ticks; events only
  Cursor content;
};

/// How the walk over a buffer ended.
enum class Ending : std::uint8_t {
  Whole,    ///< at its end mark
  Cut,      ///< in the middle of a record or without the end mark
  Damaged,  ///< something stands where no record can
};

/// Walks over the records of a file of definitions or events, chunk by chunk. Attribute lists, time stamps
/// and chunk headers are dealt with here.
class RecordReader {
 public:
  /// `chunk_bytes`: as in the anchor file; 0 where the file is one chunk.
  RecordReader(std::string_view bytes, Content content, std::uint64_t chunk_bytes);

  /// The next record, or nothing at the end; then `ending` tells which.
  [[nodiscard]] bool next(Record& record);
  [[nodiscard]] Ending ending() const { return ending_; }
  /// First byte that was not understood or is not there.
  [[nodiscard]] std::size_t position() const { return at_; }

 private:
  [[nodiscard]] bool open_chunk();
  [[nodiscard]] bool next_chunk();
  [[nodiscard]] bool stop(Ending ending);
  [[nodiscard]] bool bounded(std::uint8_t id, Cursor& cursor, Record& record);
  [[nodiscard]] Cursor here() const { return {bytes_.substr(at_), order_}; }

  std::string_view bytes_;
  Content content_;
  std::uint64_t chunk_bytes_;
  std::size_t at_ = 0;
  std::uint64_t time_ = 0;
  ByteOrder order_ = ByteOrder::Little;
  Ending ending_ = Ending::Cut;
  bool done_ = false;
};

}  // namespace cox::trace::otf2
