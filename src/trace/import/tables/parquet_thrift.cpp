// SPDX-License-Identifier: Apache-2.0
#include "trace/import/tables/parquet_thrift.hpp"

#include <array>

namespace cox::trace::parquet {
namespace {

constexpr std::size_t kMostDepth = 24;

std::int64_t unzigzag(std::uint64_t v) {
  return static_cast<std::int64_t>(v >> 1) ^ -static_cast<std::int64_t>(v & 1);
}

ThriftType type_from(std::uint8_t low) {
  return low <= 12 ? static_cast<ThriftType>(low) : ThriftType::Stop;
}

bool is_container(ThriftType t) {
  return t == ThriftType::List || t == ThriftType::Set || t == ThriftType::Map || t == ThriftType::Struct;
}

}  // namespace

std::uint8_t ThriftReader::byte() {
  if (at_ >= bytes_.size()) {
    stop();
    return 0;
  }
  return static_cast<std::uint8_t>(bytes_[at_++]);
}

std::uint64_t ThriftReader::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const std::uint8_t b = byte();
    value |= static_cast<std::uint64_t>(b & 0x7f) << shift;
    if ((b & 0x80) == 0) return ok_ ? value : 0;
  }
  stop();
  return 0;
}

ThriftReader::Field ThriftReader::field(std::int16_t last) {
  const std::uint8_t head = byte();
  const ThriftType type = type_from(head & 0x0f);
  if (!ok_ || type == ThriftType::Stop) {
    if ((head & 0x0f) != 0) stop();
    return {};
  }
  const int delta = head >> 4;
  const std::int64_t id = delta != 0 ? last + delta : unzigzag(varint());
  if (!ok_ || id < 0 || id > INT16_MAX) {
    stop();
    return {};
  }
  return {.type = type, .id = static_cast<std::int16_t>(id)};
}

std::int64_t ThriftReader::integer(ThriftType type) {
  switch (type) {
    case ThriftType::Byte:
      return static_cast<std::int8_t>(byte());
    case ThriftType::I16:
    case ThriftType::I32:
    case ThriftType::I64:
      return unzigzag(varint());
    default:
      stop();
      return 0;
  }
}

std::string_view ThriftReader::binary() {
  const std::uint64_t size = varint();
  if (size > bytes_.size() - at_) {
    stop();
    return {};
  }
  const std::string_view out = bytes_.substr(at_, size);
  at_ += size;
  return out;
}

ThriftReader::List ThriftReader::list() {
  const std::uint8_t head = byte();
  const std::uint64_t size = (head >> 4) == 15 ? varint() : head >> 4;
  const ThriftType type = type_from(head & 0x0f);
  // Every element has at least one byte, so a longer list than what is left is a lie.
  if (!ok_ || size > bytes_.size() - at_ || (type == ThriftType::Stop && size != 0)) {
    stop();
    return {};
  }
  return {.type = type, .size = static_cast<std::uint32_t>(size)};
}

void ThriftReader::pass(std::size_t count) {
  if (count > bytes_.size() - at_) return stop();
  at_ += count;
}

void ThriftReader::skip_scalar(ThriftType type, Inside inside) {
  switch (type) {
    case ThriftType::True:
    case ThriftType::False:
      if (inside == Inside::Collection) pass(1);
      return;
    case ThriftType::Byte:
      return pass(1);
    case ThriftType::I16:
    case ThriftType::I32:
    case ThriftType::I64:
      varint();
      return;
    case ThriftType::Double:
      return pass(8);
    case ThriftType::Binary:
      binary();
      return;
    default:
      stop();
      return;
  }
}

void ThriftReader::skip(ThriftType type) {
  struct Level {
    ThriftType first = ThriftType::Stop;   // of a collection; Struct: Stop
    ThriftType second = ThriftType::Stop;  // of a map's values
    std::uint64_t left = 0;                // values still to pass; unused for a structure
    std::int16_t last = 0;
    bool is_struct = false;
  };
  std::array<Level, kMostDepth> stack{};
  std::size_t depth = 0;
  const auto enter = [&](ThriftType t, Inside inside) {
    if (!is_container(t)) return skip_scalar(t, inside);
    if (depth == kMostDepth) return stop();
    Level level;
    if (t == ThriftType::Struct) {
      level.is_struct = true;
    } else if (t == ThriftType::Map) {
      const std::uint64_t pairs = varint();
      if (pairs > (bytes_.size() - at_)) return stop();
      const std::uint8_t types = pairs == 0 ? 0 : byte();
      level.first = type_from(types >> 4);
      level.second = type_from(types & 0x0f);
      level.left = 2 * pairs;
    } else {
      const List l = list();
      level.first = level.second = l.type;
      level.left = l.size;
    }
    stack[depth++] = level;
  };
  enter(type, Inside::Field);
  while (depth > 0 && ok_) {
    Level& top = stack[depth - 1];
    if (top.is_struct) {
      const Field f = field(top.last);
      if (f.type == ThriftType::Stop) {
        --depth;
        continue;
      }
      top.last = f.id;
      enter(f.type, Inside::Field);
    } else if (top.left == 0) {
      --depth;
    } else {
      const ThriftType next = top.left % 2 == 0 ? top.first : top.second;
      --top.left;
      enter(next, Inside::Collection);
    }
  }
}

}  // namespace cox::trace::parquet
