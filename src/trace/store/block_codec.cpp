// SPDX-License-Identifier: Apache-2.0
#include "trace/store/block_codec.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "cox/base/assert.hpp"

namespace cox::trace {
namespace {

/// Ids of the columns: part of the format, never renumbered. Columns with other ids are skipped by readers.
enum class Column : std::uint8_t {
  Kind = 1,
  Op = 2,
  Flags = 3,
  Thread = 4,
  Comm = 5,
  Seq = 6,
  Bytes = 7,
  Aux = 8,
  Gap = 9,
  Length = 10
};
constexpr std::size_t kColumns = 10;

struct BlockHead {
  std::uint32_t records;
  std::uint32_t columns;
};
struct ColumnHead {
  std::uint8_t id;
  std::uint8_t width;
  std::uint16_t zero;
  std::uint32_t stored;
};
static_assert(sizeof(BlockHead) == 8 && sizeof(ColumnHead) == 8);

std::uint64_t zigzag(std::uint64_t difference) {
  return (difference << 1) ^ (0 - (difference >> 63));
}
std::uint64_t unzigzag(std::uint64_t coded) {
  return (coded >> 1) ^ (0 - (coded & 1));
}

/// What a record is expected to look like after those before it. Encoder and decoder run the same one.
class Predictor {
 public:
  /// Where the thread was last seen: inside a phase at its begin, else at the return of its last call.
  [[nodiscard]] std::uint64_t& clock(std::uint32_t thread) { return clock_[thread % clock_.size()]; }
  static std::uint64_t after(std::uint8_t kind, std::uint64_t begin, std::uint64_t end) {
    return kind == static_cast<std::uint8_t>(EventKind::Phase) || end < begin ? begin : end;
  }
  /// Next sequence number of a communicator, kept apart per kind since only collectives count.
  [[nodiscard]] std::uint32_t& seq(std::uint32_t comm, std::uint8_t kind) {
    return seq_[(comm * 8U + kind) % seq_.size()];
  }
  [[nodiscard]] std::uint64_t& step() { return step_; }

 private:
  std::array<std::uint64_t, 16> clock_{};
  std::array<std::uint32_t, 1024> seq_{};
  std::uint64_t step_ = 0;
};

bool is_step(std::uint8_t kind) {
  return kind == static_cast<std::uint8_t>(EventKind::Step);
}

int width_of(std::uint64_t most) {
  int width = 0;
  for (; most != 0; most >>= 8) ++width;
  return width;
}

template <class T>
void append_pod(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_column(std::string& to, Column id, const std::vector<std::uint64_t>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const auto column = static_cast<std::uint8_t>(id);
  if (*least == *most) {
    append_pod(to, ColumnHead{column, 0, 0, sizeof(std::uint64_t)});
    append_pod(to, *least);
    return;
  }
  const int width = width_of(*most);
  const std::size_t n = values.size();
  append_pod(to, ColumnHead{column, static_cast<std::uint8_t>(width), 0,
                            static_cast<std::uint32_t>(n * static_cast<std::size_t>(width))});
  for (int plane = 0; plane < width; ++plane)
    for (const std::uint64_t v : values) to.push_back(static_cast<char>(v >> (8 * plane)));
}

/// The planes of a column, or its one value, as values of type T. False where they do not fit.
template <class T>
bool read_values(std::string_view stored, std::uint8_t width, std::vector<T>& values) {
  const std::size_t n = values.size();
  if (width == 0) {
    std::uint64_t value = 0;
    if (stored.size() != sizeof value) return false;
    std::memcpy(&value, stored.data(), sizeof value);
    std::fill(values.begin(), values.end(), static_cast<T>(value));
    return static_cast<T>(value) == value;
  }
  if (width > sizeof(T) || stored.size() != n * width) return false;
  const auto* plane = reinterpret_cast<const unsigned char*>(stored.data());
  for (std::size_t i = 0; i < n; ++i) values[i] = plane[i];
  for (std::uint8_t p = 1; p < width; ++p) {
    plane += n;
    for (std::size_t i = 0; i < n; ++i)
      values[i] = static_cast<T>(values[i] | static_cast<T>(static_cast<T>(plane[i]) << (8 * p)));
  }
  return true;
}

bool read_column(std::uint8_t id, std::string_view stored, std::uint8_t width, RecordColumns& into) {
  switch (static_cast<Column>(id)) {
    case Column::Kind:
      return read_values(stored, width, into.kind);
    case Column::Op:
      return read_values(stored, width, into.op);
    case Column::Flags:
      return read_values(stored, width, into.flags);
    case Column::Thread:
      return read_values(stored, width, into.thread);
    case Column::Comm:
      return read_values(stored, width, into.comm);
    case Column::Seq:
      return read_values(stored, width, into.seq);
    case Column::Bytes:
      return read_values(stored, width, into.bytes);
    case Column::Aux:
      return read_values(stored, width, into.aux);
    case Column::Gap:
      return read_values(stored, width, into.begin);
    case Column::Length:
      return read_values(stored, width, into.end);
  }
  return true;
}

/// From gaps and lengths to times, and from differences to numbers; in place.
void restore(RecordColumns& r) {
  Predictor predict;
  for (std::size_t i = 0; i < r.size(); ++i) {
    const std::uint8_t kind = r.kind[i];
    std::uint64_t& clock = predict.clock(r.thread[i]);
    r.begin[i] = clock + unzigzag(r.begin[i]);
    r.end[i] += r.begin[i];
    clock = Predictor::after(kind, r.begin[i], r.end[i]);
    std::uint32_t& seq = predict.seq(r.comm[i], kind);
    r.seq[i] += seq;
    seq = r.seq[i] + 1;
    if (is_step(kind)) {
      r.bytes[i] += predict.step();
      predict.step() = r.bytes[i] + 1;
    }
  }
}

}  // namespace

std::string encode_block(const RecordColumns& records, std::size_t first, std::size_t count) {
  COX_ASSERT(count > 0 && count <= kMaxRecordsPerBlock && first + count <= records.size(),
             "a block of records");
  std::array<std::vector<std::uint64_t>, kColumns> values;
  for (auto& column : values) column.resize(count);
  const auto column = [&](Column id) -> std::vector<std::uint64_t>& {
    return values[static_cast<std::size_t>(id) - 1];
  };
  Predictor predict;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = first + i;
    const std::uint8_t kind = records.kind[at];
    std::uint64_t& clock = predict.clock(records.thread[at]);
    column(Column::Kind)[i] = kind;
    column(Column::Op)[i] = records.op[at];
    column(Column::Flags)[i] = records.flags[at];
    column(Column::Thread)[i] = records.thread[at];
    column(Column::Comm)[i] = records.comm[at];
    column(Column::Aux)[i] = records.aux[at];
    column(Column::Gap)[i] = zigzag(records.begin[at] - clock);
    // Wraps where the call had not returned (end = 0): still lossless, and rare.
    column(Column::Length)[i] = records.end[at] - records.begin[at];
    clock = Predictor::after(kind, records.begin[at], records.end[at]);
    std::uint32_t& seq = predict.seq(records.comm[at], kind);
    column(Column::Seq)[i] = static_cast<std::uint32_t>(records.seq[at] - seq);
    seq = records.seq[at] + 1;
    column(Column::Bytes)[i] = records.bytes[at] - (is_step(kind) ? predict.step() : 0);
    if (is_step(kind)) predict.step() = records.bytes[at] + 1;
  }
  std::string out;
  append_pod(out, BlockHead{static_cast<std::uint32_t>(count), kColumns});
  for (std::size_t c = 0; c < kColumns; ++c) append_column(out, static_cast<Column>(c + 1), values[c]);
  return out;
}

bool decode_block(std::string_view bytes, RecordColumns& into) {
  into.resize(0);
  BlockHead head{};
  if (bytes.size() < sizeof head) return false;
  std::memcpy(&head, bytes.data(), sizeof head);
  bytes.remove_prefix(sizeof head);
  if (head.records == 0 || head.records > kMaxRecordsPerBlock || head.columns > 64) return false;
  into.resize(head.records);
  std::uint64_t seen = 0;
  bool good = true;
  for (std::uint32_t c = 0; good && c < head.columns; ++c) {
    ColumnHead column{};
    good = bytes.size() >= sizeof column;
    if (!good) break;
    std::memcpy(&column, bytes.data(), sizeof column);
    bytes.remove_prefix(sizeof column);
    good = column.stored <= bytes.size() &&
           read_column(column.id, bytes.substr(0, column.stored), column.width, into);
    if (!good) break;
    bytes.remove_prefix(column.stored);
    if (column.id >= 1 && column.id <= kColumns) seen |= std::uint64_t{1} << column.id;
  }
  constexpr std::uint64_t kAll = ((std::uint64_t{1} << kColumns) - 1) << 1;
  good = good && seen == kAll;
  if (good)
    restore(into);
  else
    into.resize(0);
  return good;
}

}  // namespace cox::trace
