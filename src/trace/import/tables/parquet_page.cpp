// SPDX-License-Identifier: Apache-2.0
#include "trace/import/tables/parquet_page.hpp"

#include <fmt/format.h>
#include <snappy.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <memory>

#include "trace/import/tables/parquet.hpp"
#include "trace/import/tables/parquet_thrift.hpp"

namespace cox::trace::parquet {
namespace {

constexpr std::size_t kPiece = std::size_t{256} << 10;

void read_data_header(ThriftReader& in, PageHeader& header) {
  for_each_field(in, [&](ThriftReader::Field f) {
    switch (f.id) {
      case 1:
        header.values = in.integer(f.type);
        break;
      case 2:
        header.encoding = in.integer(f.type);
        break;
      case 3:
        header.level_encoding = in.integer(f.type);
        break;
      default:
        in.skip(f.type);
    }
  });
}

void read_dictionary_header(ThriftReader& in, PageHeader& header) {
  for_each_field(in, [&](ThriftReader::Field f) {
    switch (f.id) {
      case 1:
        header.values = in.integer(f.type);
        break;
      case 2:
        header.encoding = in.integer(f.type);
        break;
      default:
        in.skip(f.type);
    }
  });
}

void read_data_header_v2(ThriftReader& in, PageHeader& header) {
  for_each_field(in, [&](ThriftReader::Field f) {
    switch (f.id) {
      case 1:
        header.values = in.integer(f.type);
        break;
      case 4:
        header.encoding = in.integer(f.type);
        break;
      case 5:
        header.definition_bytes = in.integer(f.type);
        break;
      case 6:
        header.repetition_bytes = in.integer(f.type);
        break;
      case 7:
        header.is_compressed = f.type == ThriftType::True;
        break;
      default:
        in.skip(f.type);
    }
  });
}

tl::unexpected<Error> damaged(std::string_view column, std::string_view codec) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "import-005",
                    .message = fmt::format("a {} page of column {} cannot be unpacked", codec, column),
                    .hint = "copy the file again",
                    .where = {}});
}

bool unpack_snappy(std::string_view packed, std::size_t unpacked, std::string& out) {
  std::size_t claimed = 0;
  // Three bytes of Snappy copy at most 64 bytes, so more than 64 per byte is a lie.
  if (!snappy::GetUncompressedLength(packed.data(), packed.size(), &claimed) || claimed != unpacked ||
      claimed / 64 > packed.size())
    return false;
  out.resize(claimed);
  return snappy::RawUncompress(packed.data(), packed.size(), out.data());
}

bool unpack_zstd(std::string_view packed, std::size_t unpacked, std::string& out) {
  const std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(),
                                                                             ZSTD_freeDStream);
  if (!stream) return false;
  ZSTD_DCtx_setParameter(stream.get(), ZSTD_d_windowLogMax, 24);
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  while (out.size() < unpacked) {
    const std::size_t had = out.size();
    out.resize(had + std::min(kPiece, unpacked - had));
    ZSTD_outBuffer piece{out.data() + had, out.size() - had, 0};
    const std::size_t status = ZSTD_decompressStream(stream.get(), &piece, &in);
    out.resize(had + piece.pos);
    if (ZSTD_isError(status) != 0U || (piece.pos == 0 && in.pos == in.size)) return false;
  }
  return true;
}

bool unpack_gzip(std::string_view packed, std::size_t unpacked, std::string& out) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 32) != Z_OK) return false;
  const std::unique_ptr<z_stream, int (*)(z_stream*)> guard(&stream, inflateEnd);
  // zlib does not write to its input; its interface is older than const.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));  // NOLINT
  stream.avail_in = static_cast<uInt>(packed.size());
  while (out.size() < unpacked) {
    const std::size_t had = out.size();
    out.resize(had + std::min(kPiece, unpacked - had));
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + had);  // NOLINT
    stream.avail_out = static_cast<uInt>(out.size() - had);
    const int status = inflate(&stream, Z_NO_FLUSH);
    const std::size_t made = out.size() - had - stream.avail_out;
    out.resize(had + made);
    if (status == Z_STREAM_END) break;
    if (status != Z_OK || made == 0) return false;
  }
  return out.size() == unpacked;
}

}  // namespace

bool read_page_header(std::string_view bytes, PageHeader& header) {
  ThriftReader in(bytes);
  header = {};
  for_each_field(in, [&](ThriftReader::Field f) {
    const bool is_struct = f.type == ThriftType::Struct;
    switch (f.id) {
      case 1:
        header.kind = in.integer(f.type);
        break;
      case 2:
        header.unpacked_bytes = in.integer(f.type);
        break;
      case 3:
        header.packed_bytes = in.integer(f.type);
        break;
      case 5:
        is_struct ? read_data_header(in, header) : in.skip(f.type);
        break;
      case 7:
        is_struct ? read_dictionary_header(in, header) : in.skip(f.type);
        break;
      case 8:
        is_struct ? read_data_header_v2(in, header) : in.skip(f.type);
        break;
      default:
        in.skip(f.type);
    }
  });
  header.header_bytes = in.position();
  return in.ok() && header.kind >= 0 && header.unpacked_bytes >= 0 && header.packed_bytes >= 0;
}

Result<std::string> unpack(std::int64_t codec, std::string_view packed, std::size_t unpacked,
                           std::string_view column) {
  std::string out;
  bool is_fine = false;
  switch (codec) {
    case 0:
      is_fine = packed.size() == unpacked;
      out = packed;
      break;
    case 1:
      is_fine = unpack_snappy(packed, unpacked, out);
      break;
    case 2:
      is_fine = unpack_gzip(packed, unpacked, out);
      break;
    case 6:
      is_fine = unpack_zstd(packed, unpacked, out);
      break;
    default:
      break;
  }
  if (!is_fine) return damaged(column, name_of_codec(codec));
  return out;
}

bool decode_hybrid(std::string_view bytes, unsigned bit_width, std::size_t count,
                   std::vector<std::uint32_t>& out) {
  out.clear();
  out.reserve(count);
  if (bit_width == 0) {
    out.resize(count, 0);
    return true;
  }
  if (bit_width > 32) return false;
  const std::uint64_t mask = (std::uint64_t{1} << bit_width) - 1;
  std::size_t at = 0;
  while (out.size() < count) {
    std::uint64_t head = 0;
    for (unsigned shift = 0;; shift += 7) {
      if (at >= bytes.size() || shift > 56) return false;
      const auto b = static_cast<std::uint8_t>(bytes[at++]);
      head |= static_cast<std::uint64_t>(b & 0x7f) << shift;
      if ((b & 0x80) == 0) break;
    }
    const std::size_t wanted = count - out.size();
    if ((head & 1) == 0) {
      const std::size_t width = (bit_width + 7) / 8;
      if (bytes.size() - at < width) return false;
      std::uint64_t value = 0;
      for (std::size_t i = 0; i < width; ++i)
        value |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(bytes[at + i])) << (8 * i);
      at += width;
      if (head >> 1 == 0) return false;  // an empty run says nothing, and a row of them would never end
      out.resize(out.size() + std::min<std::size_t>(wanted, head >> 1),
                 static_cast<std::uint32_t>(value & mask));
      continue;
    }
    // Groups of eight values, `bit_width` bytes each; the last group may be cut
    // by writers that know the count.
    const std::size_t take = std::min<std::uint64_t>(wanted, std::min<std::uint64_t>(head >> 1, count) * 8);
    if (take == 0 || ((bytes.size() - at) * 8) / bit_width < take) return false;
    std::uint64_t bits = 0;
    unsigned have = 0;
    std::size_t from = at;
    for (std::size_t i = 0; i < take; ++i) {
      while (have < bit_width) {
        bits |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(bytes[from++])) << have;
        have += 8;
      }
      out.push_back(static_cast<std::uint32_t>(bits & mask));
      bits >>= bit_width;
      have -= bit_width;
    }
    at += std::min<std::uint64_t>(bytes.size() - at, (head >> 1) * bit_width);
  }
  return true;
}

}  // namespace cox::trace::parquet
