// SPDX-License-Identifier: Apache-2.0
#include "trace/import/mpi/dumpi_file.hpp"

#include <algorithm>

#include "trace/raw/meta_entries.hpp"

namespace cox::trace::dumpi {
namespace {

constexpr std::uint64_t kMagic = 0xffaadd44554d5049;
constexpr std::uint64_t kFooterMagic = 0xf007fee7;
constexpr std::size_t kStreamAt = 8;  ///< the calls follow the magic (io.c, dumpi_alloc_output_profile)
constexpr std::size_t kFunctionsInFooter = 291;

// Bits of a record's mask (settings.h).
constexpr std::uint8_t kHasStatus = 3;
constexpr std::uint8_t kHasCpuTime = 1 << 2;
constexpr std::uint8_t kHasWallTime = 1 << 3;
constexpr std::uint8_t kHasThread = 1 << 6;
constexpr std::uint8_t kHasCounters = 1 << 7;

constexpr std::size_t kStatusBytes = 14;
constexpr std::size_t kLongestName = 256;

}  // namespace

std::uint64_t Cursor::number(std::size_t bytes) {
  std::uint64_t value = 0;
  for (const char byte : take(bytes)) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

std::string_view Cursor::text(std::uint64_t n) {
  const std::string_view found = take(n);
  return ok() ? found : std::string_view();
}

bool has_magic(std::string_view head) {
  return Cursor(head).u64() == kMagic;
}

File::File(std::string_view bytes) : bytes_(bytes), stream_(bytes) {
  read_index();
  stream_.skip(kStreamAt);
  stream_.skip(4);  // base of the CPU times
  base_second_ = stream_.u32();
  if (!stream_.ok()) static_cast<void>(stop(Ending::Cut));
}

/// Offsets of the sections, at the very end behind a second magic; two of them came with later versions.
void File::read_index() {
  for (const std::size_t entries : {7U, 6U, 5U, 4U}) {
    const std::size_t size = 8 * (entries + 1);
    if (bytes_.size() < size) continue;
    Cursor c(bytes_.substr(bytes_.size() - size));
    if (c.u64() != kMagic) continue;
    if (entries >= 7) read_type_sizes(c.u64());
    if (entries >= 6) c.skip(8);  // names of profiled functions
    if (entries >= 5) c.skip(8);  // labels of counters
    read_header(c.u64());
    c.skip(8);  // the calls
    read_footer(c.u64());
    return;
  }
}

void File::read_header(std::uint64_t at) {
  Cursor c(bytes_);
  c.skip(at);
  Header h;
  for (std::uint8_t& part : h.version) part = c.u8();
  h.started = c.u64();
  h.host = clean_text(c.text(c.u16()).substr(0, kLongestName));
  if (c.ok() && at > 0) header_ = std::move(h);
}

void File::read_footer(std::uint64_t at) {
  Cursor c(bytes_);
  c.skip(at);
  if (c.u64() != kFooterMagic) return;
  Footer f;
  for (std::size_t i = 0; i < kFunctionsInFooter; ++i) f.calls.push_back(c.u32());
  for (std::size_t i = 0; i < kFunctionsInFooter; ++i) f.ignored += c.u32();
  if (c.ok()) footer_ = std::move(f);
}

void File::read_type_sizes(std::uint64_t at) {
  Cursor c(bytes_);
  c.skip(at);
  const std::uint32_t count = c.u32();
  if (at == 0 || !c.ok() || count > c.left() / 4) return;
  for (std::uint32_t i = 0; i < count; ++i) type_sizes_.push_back(c.i32());
}

bool File::too_old() const {
  return header_ && header_->version < std::array<std::uint8_t, 3>{0, 6, 9};
}

bool File::stop(Ending ending) {
  ending_ = ending;
  done_ = true;
  return false;
}

/// Seconds are stored in 16 bits; calls are recorded as they return, so a fall by half of that is a wrap.
Duration File::time_at(std::uint16_t second, std::uint32_t ns) {
  constexpr std::int64_t kWrap = 1 << 16;
  std::int64_t s = last_second_ - last_second_ % kWrap + second;
  if (s + kWrap / 2 < last_second_)
    s += kWrap;
  else if (s > last_second_ + kWrap / 2 && s >= kWrap)
    s -= kWrap;
  constexpr std::int64_t kMost = std::int64_t{50} * 86'400;
  last_second_ = std::min(s, kMost);
  return std::chrono::seconds(last_second_) + Nanoseconds(ns);
}

void File::read_times(std::uint8_t mask, Record& record) {
  if ((mask & kHasCpuTime) != 0) stream_.skip(12);
  record.timed = (mask & kHasWallTime) != 0;
  record.begin = record.end = Duration{};
  if (!record.timed) return;
  const std::uint16_t begin = stream_.u16();
  const std::uint32_t begin_ns = stream_.u32();
  const std::uint16_t end = stream_.u16();
  const std::uint32_t end_ns = stream_.u32();
  record.begin = time_at(begin, begin_ns);
  record.end = std::max(record.begin, time_at(end, end_ns));
}

void File::read_array(std::vector<std::int32_t>* to) {
  const std::uint32_t count = stream_.u32();
  if (to == nullptr || count > stream_.left() / 4) {
    stream_.skip_array(count, 4);
    return;
  }
  to->reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) to->push_back(stream_.i32());
}

void File::read_strings(Record& record) {
  const std::uint32_t count = stream_.u32();
  for (std::uint32_t i = 0; i < count && stream_.ok(); ++i) {
    const std::string_view text = stream_.text(stream_.u32());
    if (i == 0) record.text = text.substr(0, kLongestName);
  }
}

void File::read_statuses(Record& record) {
  const std::uint32_t count = stream_.u32();
  if (count > stream_.left() / kStatusBytes) {
    stream_.skip_array(count, kStatusBytes);
    return;
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    Status s;
    s.bytes = stream_.i32();
    s.source = stream_.i32();
    s.cancelled = stream_.u8() != 0;
    stream_.skip(1);  // error
    s.tag = stream_.i32();
    record.statuses.push_back(s);
  }
}

bool File::read_arguments(std::string_view layout, std::uint8_t mask, Record& record) {
  std::size_t ints = 0;
  std::size_t halves = 0;
  std::size_t arrays = 0;
  std::int32_t own_rank = 0;
  std::int32_t root = 0;
  bool reading = true;
  const auto take_int = [&] {
    const std::int32_t v = stream_.i32();
    if (ints < record.ints.size()) record.ints[ints++] = v;
    return v;
  };
  for (const char kind : layout) {
    if (!reading && kind != 'E') continue;
    switch (kind) {
      case 'i':
        static_cast<void>(take_int());
        break;
      case 'r':
        own_rank = take_int();
        break;
      case 'o':
        root = take_int();
        break;
      case 'h': {
        const std::uint16_t v = stream_.u16();
        if (halves < record.halves.size()) record.halves[halves++] = v;
        break;
      }
      case 'b':
        stream_.skip(1);
        break;
      case 'q':
        stream_.skip(8);
        break;
      case 'I':
        read_array(arrays == 0 ? &record.first_array : arrays == 1 ? &record.second_array : nullptr);
        ++arrays;
        break;
      case 'H':
        stream_.skip_array(stream_.u32(), 2);
        break;
      case 'B':
      case 'C':
        stream_.skip_array(stream_.u32(), 1);
        break;
      case 'D':
        read_strings(record);
        break;
      case 'Y':
        for (std::uint32_t n = stream_.u32(); n > 0 && stream_.ok(); --n) read_array(nullptr);
        break;
      case 'T':
        for (std::uint32_t n = stream_.u32(); n > 0 && stream_.ok(); --n) read_strings(record);
        break;
      case 'S':
        if ((mask & kHasStatus) != 0) read_statuses(record);
        break;
      case 'R':
        reading = own_rank == root;
        break;
      case 'E':
        reading = true;
        break;
      default:
        return false;
    }
  }
  return true;
}

bool File::next(Record& record) {
  if (done_) return false;
  record.function = stream_.u16();
  if (!stream_.ok()) return stop(Ending::Cut);
  if (record.function == kEndOfStream) return stop(Ending::Whole);
  if (record.function > kEndOfStream) return stop(Ending::Damaged);
  const std::uint8_t mask = stream_.u8();
  record.thread = (mask & kHasThread) != 0 ? stream_.u16() : std::uint16_t{0};
  read_times(mask, record);
  if ((mask & kHasCounters) != 0) stream_.skip_array(stream_.u8(), 16);
  record.first_array.clear();
  record.second_array.clear();
  record.statuses.clear();
  record.text = {};
  record.ints = {};
  record.halves = {};
  if (!read_arguments(functions()[record.function].arguments, mask, record)) return stop(Ending::Damaged);
  return stream_.ok() || stop(Ending::Cut);
}

}  // namespace cox::trace::dumpi
