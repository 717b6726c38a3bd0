// SPDX-License-Identifier: Apache-2.0
#include "trace/import/mpi/otf2_buffer.hpp"

#include <algorithm>
#include <bit>

namespace cox::trace::otf2 {
namespace {

// Marks between records (otf2_internal.h).
constexpr std::uint8_t kEndOfChunk = 0;
constexpr std::uint8_t kEndOfBuffer = 1;
constexpr std::uint8_t kEndOfFile = 2;
constexpr std::uint8_t kChunkHeader = 3;
constexpr std::uint8_t kTimeStamp = 5;
constexpr std::uint8_t kAttributeList = 6;
constexpr std::uint8_t kFirstEvent = 10;
constexpr std::uint8_t kFirstDefinition = 5;

/// Events of the first version with a single compressed value carry no length (OTF2_EvtReader_inc.c): enter,
/// leave, requests (16, 17, 20, 21), OpenMP fork and tasks.
bool has_no_length(std::uint8_t event) {
  switch (event) {
    case 12:
    case 13:
    case 16:
    case 17:
    case 20:
    case 21:
    case 24:
    case 28:
    case 29:
    case 30:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::uint64_t Cursor::number(std::size_t bytes) {
  const std::string_view found = take(bytes);
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto byte = static_cast<unsigned char>(found[i]);
    const std::size_t shift = order_ == ByteOrder::Little ? i : bytes - 1 - i;
    value |= std::uint64_t{byte} << (8 * shift);
  }
  return value;
}

std::uint8_t Cursor::u8() {
  return static_cast<std::uint8_t>(number(1));
}
std::uint32_t Cursor::u32() {
  return static_cast<std::uint32_t>(number(4));
}
std::uint64_t Cursor::u64() {
  return number(8);
}
double Cursor::real() {
  return std::bit_cast<double>(number(8));
}

std::uint64_t Cursor::packed64() {
  const std::uint8_t size = u8();
  if (size == 0xff) return kUndefined64;
  if (size > 8) {
    doubt();
    return 0;
  }
  return number(size);
}

std::uint32_t Cursor::packed32() {
  const std::uint64_t value = packed64();
  if (value == kUndefined64) return kUndefined32;
  if (value > kUndefined32) doubt();
  return static_cast<std::uint32_t>(value);
}

std::string_view Cursor::text() {
  const std::size_t end = rest().find('\0');
  if (end == std::string_view::npos) {
    spoil();
    return {};
  }
  const std::string_view found = take(end);
  skip(1);
  return found;
}

Cursor Cursor::part(std::uint64_t n) {
  const std::string_view found = take(n);
  return {ok() ? found : std::string_view(), order_};
}

RecordReader::RecordReader(std::string_view bytes, Content content, std::uint64_t chunk_bytes)
    : bytes_(bytes), content_(content), chunk_bytes_(chunk_bytes) {
  done_ = !open_chunk();
}

bool RecordReader::stop(Ending ending) {
  ending_ = ending;
  done_ = true;
  return false;
}

bool RecordReader::open_chunk() {
  Cursor c = here();
  const std::uint8_t mark = c.u8();
  const std::uint8_t order = c.u8();
  c.skip(16);  // numbers of the first and the last event in it
  if (!c.ok()) return stop(Ending::Cut);
  if (mark != kChunkHeader || (order != static_cast<std::uint8_t>(ByteOrder::Big) &&
                               order != static_cast<std::uint8_t>(ByteOrder::Little)))
    return stop(Ending::Damaged);
  order_ = static_cast<ByteOrder>(order);
  at_ += c.position();
  return true;
}

bool RecordReader::next_chunk() {
  if (chunk_bytes_ == 0) return stop(Ending::Cut);
  const std::uint64_t next = (at_ / chunk_bytes_ + 1) * chunk_bytes_;
  if (next >= bytes_.size()) return stop(Ending::Cut);
  at_ = static_cast<std::size_t>(next);
  return open_chunk();
}

/// The record's own bytes: as long as it says, or one packed value where it does not say.
bool RecordReader::bounded(std::uint8_t id, Cursor& cursor, Record& record) {
  std::uint64_t length = 0;
  if (content_ == Content::Events && has_no_length(id)) {
    Cursor ahead = cursor;
    const std::uint8_t size = ahead.u8();
    if (ahead.ok() && size > 8 && size != 0xff) return stop(Ending::Damaged);
    length = size == 0xff ? 1 : std::uint64_t{size} + 1;
  } else {
    length = cursor.u8();
    if (length == 0xff) length = cursor.u64();
  }
  record.content = cursor.part(length);
  return cursor.ok() || stop(Ending::Cut);
}

bool RecordReader::next(Record& record) {
  while (!done_) {
    Cursor c = here();
    const std::uint8_t id = c.u8();
    if (!c.ok()) return stop(Ending::Cut);
    if (id == kEndOfFile || id == kEndOfBuffer) {
      ++at_;
      return stop(Ending::Whole);
    }
    if (id == kEndOfChunk) {
      if (!next_chunk()) return false;
      continue;
    }
    const bool events = content_ == Content::Events;
    if (events && id == kTimeStamp) {
      const std::uint64_t time = c.u64();
      if (!c.ok()) return stop(Ending::Cut);
      time_ = time;
      at_ += c.position();
      continue;
    }
    if (id < (events ? kFirstEvent : kFirstDefinition) && !(events && id == kAttributeList))
      return stop(Ending::Damaged);
    if (!bounded(id, c, record)) return false;
    at_ += c.position();
    if (events && id == kAttributeList) continue;
    record.id = id;
    record.time = time_;
    return true;
  }
  return false;
}

}  // namespace cox::trace::otf2
