// SPDX-License-Identifier: Apache-2.0
/// \file
/// Pages of a Parquet column: headers, decompression, levels and dictionary indices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"

namespace cox::trace::parquet {

inline constexpr std::int64_t kPlain = 0;
inline constexpr std::int64_t kPlainDictionary = 2;
inline constexpr std::int64_t kRle = 3;
inline constexpr std::int64_t kRleDictionary = 8;

enum class PageKind : std::uint8_t { Data = 0, Index = 1, Dictionary = 2, DataV2 = 3 };

struct PageHeader {
  std::int64_t kind = -1;
  std::int64_t unpacked_bytes = -1;
  std::int64_t packed_bytes = -1;
  std::int64_t values = -1;  ///< nulls included
  std::int64_t encoding = -1;
  std::int64_t level_encoding = kRle;  ///< of definition levels
  std::int64_t definition_bytes = 0;   ///< DataV2
  std::int64_t repetition_bytes = 0;   ///< DataV2
  bool is_compressed = true;           ///< DataV2: may say no
  std::size_t header_bytes = 0;        ///< of the header itself
};

/// Reads the header at the front of `bytes`; nothing where it is damaged.
[[nodiscard]] bool read_page_header(std::string_view bytes, PageHeader& header);

/// Unpacks a page. Nothing is allocated that the packed bytes do not give: zstd and gzip are unpacked piece
/// by piece, and Snappy cannot expand more than 64 times. Errors: import-005 (damaged, unknown codec), with
/// `column` in the message.
[[nodiscard]] Result<std::string> unpack(std::int64_t codec, std::string_view packed, std::size_t unpacked,
                                         std::string_view column);

/// Decodes the RLE / bit-packed hybrid into exactly `count` values; false where the bytes end early.
/// `count` must be justified by the caller. Source: Encodings.md, "Run Length Encoding / Bit-Packing Hybrid".
[[nodiscard]] bool decode_hybrid(std::string_view bytes, unsigned bit_width, std::size_t count,
                                 std::vector<std::uint32_t>& out);

}  // namespace cox::trace::parquet
