// SPDX-License-Identifier: Apache-2.0
#include "report/columns.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <span>
#include <utility>

#include "cox/base/assert.hpp"

namespace cox::report {
namespace {

/// How finely the data is written.
struct Grain {
  Duration unit;
  std::int64_t merged;
};

void put_varint(std::string& out, std::uint64_t v) {
  while (v >= 128) {
    out += static_cast<char>((v & 127) | 128);
    v >>= 7;
  }
  out += static_cast<char>(v);
}

void put_signed(std::string& out, std::int64_t v) {
  put_varint(out, (static_cast<std::uint64_t>(v) << 1) ^ static_cast<std::uint64_t>(v >> 63));
}

/// Whole units from the origin, to the nearest: rounding instants, not lengths, keeps sums free of drift.
class Ticks {
 public:
  Ticks(Duration origin, Duration unit) : origin_(origin), unit_(unit) {}
  [[nodiscard]] std::int64_t at(Duration t) const {
    return t <= origin_ ? 0 : (t - origin_ + unit_ / 2) / unit_;
  }

 private:
  Duration origin_;
  Duration unit_;
};

/// Columns that grow together while the ranks pass by.
struct TimelineColumns {
  std::string gap;  ///< from the end of the span before
  std::string wait;
  std::string transfer;
  std::string
      message;        ///< part of `wait` that is for messages; empty where nothing is merged: `what` says it
  std::string inner;  ///< own work inside a merged span; empty where nothing is merged
  std::string step;   ///< difference to the span before, signed
  std::string what;
};

/// Neighbouring spans of one group of steps as one: its wait, its transfer, and the own work between them. In ticks, as
/// they are drawn: added up after rounding, so that a row ends where it ends.
struct Merged {
  std::int64_t begin, end, wait, transfer, message, step;
  std::uint8_t what;
};

bool waits_for_messages(const diagnose::Stay& s) {
  constexpr std::uint8_t kMarks = diagnose::kUnfinishedMark | diagnose::kUnsplitMark;
  return (s.what & ~kMarks) == diagnose::kWaitCode + static_cast<std::uint8_t>(trace::WaitKind::Peer);
}

void append_spans(TimelineColumns& out, Row& row, const std::vector<diagnose::Stay>& spans,
                  const Ticks& ticks, std::int64_t merged) {
  std::int64_t previous_end = row.first;
  std::int64_t previous_step = -1;
  const auto flush = [&](const Merged& m) {
    put_varint(out.gap, static_cast<std::uint64_t>(std::max<std::int64_t>(m.begin - previous_end, 0)));
    put_varint(out.wait, static_cast<std::uint64_t>(m.wait));
    put_varint(out.transfer, static_cast<std::uint64_t>(m.transfer));
    if (merged > 1) {
      put_varint(out.message, static_cast<std::uint64_t>(m.message));
      const std::int64_t inner = m.end - m.begin - m.wait - m.transfer;
      put_varint(out.inner, static_cast<std::uint64_t>(std::max<std::int64_t>(inner, 0)));
    }
    put_signed(out.step, m.step - previous_step);
    out.what += static_cast<char>(m.what);
    previous_end = m.end;
    previous_step = m.step;
    ++row.spans;
  };
  Merged open{};
  std::int64_t open_group = -1;
  std::int64_t index = 0;
  for (const diagnose::Stay& s : spans) {
    const std::int64_t begin = ticks.at(s.begin);
    const std::int64_t wait_end = ticks.at(s.wait_end);
    const std::int64_t end = ticks.at(s.end);
    const std::int64_t message = waits_for_messages(s) ? wait_end - begin : 0;
    const std::int64_t group = (s.step >= 0 ? s.step : index) / merged;
    ++index;
    if (open_group == group && merged > 1) {
      open.end = end;
      open.wait += wait_end - begin;
      open.transfer += end - wait_end;
      open.message += message;
      open.what |= s.what & diagnose::kUnfinishedMark;
      continue;
    }
    if (open_group >= 0) flush(open);
    open = {begin, end, wait_end - begin, end - wait_end, message, s.step, s.what};
    open_group = group;
  }
  if (open_group >= 0) flush(open);
}

/// One matrix as two planes of bytes: the high bytes hardly change from cell to cell and deflate well.
struct Planes {
  std::string high, low;
  void put(Duration d) {
    const std::uint16_t code = short_time(d);
    high += static_cast<char>(code >> 8);
    low += static_cast<char>(code & 255);
  }
  [[nodiscard]] std::string joined() const { return high + low; }
};

/// Mean and largest value of each group of `merged` neighbours;
/// the largest only where there is more than one.
void put_cells(Planes& mean, Planes& largest, std::span<const Duration> row, std::int64_t columns,
               std::int64_t merged) {
  for (const diagnose::Cell& cell : diagnose::cells_of(row, columns, merged)) {
    mean.put(cell.mean);
    if (merged > 1) largest.put(cell.largest);
  }
}

std::string deflate_bytes(const std::string& bytes) {
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::string out(size, '\0');
  const int status =
      compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                static_cast<uLong>(bytes.size()), 6);
  COX_ASSERT(status == Z_OK, "deflate into a buffer of compressBound cannot fail");
  out.resize(size);
  return out;
}

class Encoder {
 public:
  Encoder(const trace::Run& run, const diagnose::Timeline& timeline, const diagnose::Diagnosis& diagnosis)
      : run_(run), timeline_(timeline), diagnosis_(diagnosis) {}

  /// All columns, not yet deflated; `bytes` holds them.
  Columns encode(Grain grain, std::string& bytes) const {
    Columns out;
    out.unit = grain.unit;
    out.merged = grain.merged;
    const auto steps = static_cast<std::int64_t>(diagnosis_.step_times.size());
    out.columns = (steps + grain.merged - 1) / grain.merged;
    const auto add = [&](const char* name, const std::string& part) {
      out.sections.push_back({name, bytes.size(), part.size()});
      bytes += part;
    };
    add_timeline(out, grain, add);
    if (steps > 0) add_steps(out, grain, add);
    return out;
  }

 private:
  template <class Add>
  void add_timeline(Columns& out, Grain grain, const Add& add) const {
    const Ticks ticks(timeline_.first(), grain.unit);
    TimelineColumns columns;
    for (std::size_t r = 0; r < run_.ranks.size(); ++r) {
      const std::vector<diagnose::Stay> spans = timeline_.stays(r);
      const diagnose::Extent extent = timeline_.extent(r, spans);
      Row row;
      row.first = ticks.at(extent.first);
      row.last = ticks.at(extent.last);
      append_spans(columns, row, spans, ticks, grain.merged);
      out.rows.push_back(row);
      out.spans += static_cast<std::int64_t>(spans.size());
    }
    add("gap", columns.gap);
    add("wait", columns.wait);
    add("transfer", columns.transfer);
    if (grain.merged > 1) add("message", columns.message);
    if (grain.merged > 1) add("inner", columns.inner);
    add("step", columns.step);
    add("what", columns.what);
  }

  template <class Add>
  void add_steps(Columns& out, Grain grain, const Add& add) const {
    Planes mean, largest;
    put_cells(mean, largest, diagnosis_.step_times, out.columns, grain.merged);
    add("step_time", mean.joined());
    if (grain.merged > 1) add("step_time_max", largest.joined());

    const Ticks ticks(timeline_.first(), grain.unit);
    std::string begins;
    std::int64_t previous = 0;
    std::string numbers;
    std::int64_t previous_number = -1;
    for (std::int64_t c = 0; c < out.columns; ++c) {
      const auto i = static_cast<std::size_t>(c * grain.merged);
      const std::optional<Duration> begin = timeline_.step_begin(i);
      const std::int64_t at = begin ? std::max(previous, ticks.at(*begin)) : previous;
      put_varint(begins, static_cast<std::uint64_t>(at - previous));
      previous = at;
      const auto& given = diagnosis_.step_numbers;
      const std::int64_t number = i < given.size() ? given[i].value() : static_cast<std::int64_t>(i);
      put_signed(numbers, number - previous_number);
      previous_number = number;
    }
    add("step_number", numbers);
    add("step_begin", begins);

    add_matrix(
        "wait_cell", [&](std::size_t r) { return timeline_.wait_by_step(r); }, out.columns, grain, add);
    add_matrix(
        "work_cell", [&](std::size_t r) { return timeline_.work_by_step(r); }, out.columns, grain, add);
  }

  template <class RowOf, class Add>
  void add_matrix(const std::string& name, const RowOf& row_of, std::int64_t columns, Grain grain,
                  const Add& add) const {
    if (timeline_.step_begins(0).empty()) return;
    Planes mean, largest;
    for (std::size_t r = 0; r < run_.ranks.size(); ++r)
      put_cells(mean, largest, row_of(r), columns, grain.merged);
    add(name.c_str(), mean.joined());
    if (grain.merged > 1) add((name + "_max").c_str(), largest.joined());
  }

  const trace::Run& run_;
  const diagnose::Timeline& timeline_;
  const diagnose::Diagnosis& diagnosis_;
};

}  // namespace

std::string grain_of(const Columns& columns) {
  const bool micro = columns.unit >= std::chrono::microseconds{1};
  return fmt::format("{} {}", columns.unit / (micro ? Duration{1'000'000} : Duration{1'000}),
                     micro ? "\u00B5s" : "ns");
}

std::size_t data_budget(Bytes limit, std::size_t text, std::size_t ranks) {
  constexpr std::size_t kSmallest = 16'384;  // below this no data is worth drawing, whatever the limit
  const std::size_t fixed = text + 16'384 + 64 * ranks;
  const auto most = static_cast<std::size_t>(std::max<std::int64_t>(limit.count(), 0));
  return std::max(most > fixed ? (most - fixed) / 4 * 3 : 0, kSmallest);
}

std::uint16_t short_time(Duration d) {
  // To the nearest nanosecond; added to the quotient, because the longest duration
  // has no room for another 500 ps.
  const std::int64_t ns =
      d <= Duration::zero() ? 0 : d / Duration{1000} + (d % Duration{1000} >= Duration{500} ? 1 : 0);
  if (ns < 2048) return static_cast<std::uint16_t>(ns);
  int shift = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(ns))) - 12;
  std::int64_t mantissa = shift == 0 ? ns : (ns + (std::int64_t{1} << (shift - 1))) >> shift;
  if (mantissa == 4096) {  // rounded up into the next power of two
    mantissa = 2048;
    ++shift;
  }
  if (shift > 30) return 0xFFFF;
  return static_cast<std::uint16_t>(((shift + 1) << 11) | static_cast<int>(mantissa - 2048));
}

Duration from_short_time(std::uint16_t code) {
  const int exponent = code >> 11;
  const std::int64_t mantissa = code & 2047;
  return std::chrono::nanoseconds{exponent == 0 ? mantissa : (mantissa + 2048) << (exponent - 1)};
}

Columns encode_columns(const trace::Run& run, const diagnose::Timeline& timeline,
                       const diagnose::Diagnosis& diagnosis, std::size_t budget) {
  const Encoder encoder(run, timeline, diagnosis);
  using std::chrono::nanoseconds;
  constexpr std::array<Duration, 4> kUnits = {nanoseconds{1}, nanoseconds{10}, nanoseconds{100},
                                              nanoseconds{1000}};
  const auto longest = static_cast<std::int64_t>(std::max(diagnosis.step_times.size(), run.event_count()));
  Columns out;
  const auto fits = [&](Grain grain) {
    std::string bytes;
    out = encoder.encode(grain, bytes);
    // Deflating costs most of the time here and never halves these columns by more than this.
    if (bytes.size() / 4 > budget) return false;
    out.deflated = deflate_bytes(bytes);
    return out.deflated.size() <= budget;
  };
  bool done = false;
  for (std::size_t u = 0; u < kUnits.size() && !done; ++u) done = fits({kUnits[u], 1});
  for (std::int64_t merged = 2; !done; merged *= 2) {
    done = fits({kUnits.back(), merged});
    if (!done && merged >= longest) {  // nothing left to merge: the coarsest form, whatever its size
      std::string bytes;
      out = encoder.encode({kUnits.back(), merged}, bytes);
      out.deflated = deflate_bytes(bytes);
      done = true;
    }
  }
  out.worst = timeline.worst_step(diagnosis.step_times);
  return out;
}

}  // namespace cox::report
