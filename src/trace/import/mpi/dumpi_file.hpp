// SPDX-License-Identifier: Apache-2.0
/// \file
/// One DUMPI file: the records of one rank, and what stands around them.
///
/// Source: sst-dumpi (BSD-3-Clause), docs/traceformat.dox and dumpi/common/io.c, iodefs.h. All numbers are
/// big endian. The library is not used: it asserts on what it reads.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/units.hpp"

#include "trace/import/bytes/bounded_bytes.hpp"
#include "trace/import/mpi/dumpi_functions.hpp"

namespace cox::trace::dumpi {

[[nodiscard]] bool has_magic(std::string_view head);

/// Reads big-endian values from a bounded piece of memory. What is not there reads as zero and makes `ok`
/// false for good.
class Cursor : public BoundedBytes {
 public:
  using BoundedBytes::BoundedBytes;
  /// Jumps over `count` values of `width` bytes each.
  void skip_array(std::uint32_t count, std::uint32_t width) { skip(std::uint64_t{count} * width); }
  [[nodiscard]] std::uint8_t u8() { return static_cast<std::uint8_t>(number(1)); }
  [[nodiscard]] std::uint16_t u16() { return static_cast<std::uint16_t>(number(2)); }
  [[nodiscard]] std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
  [[nodiscard]] std::int32_t i32() { return static_cast<std::int32_t>(number(4)); }
  [[nodiscard]] std::uint64_t u64() { return number(8); }
  [[nodiscard]] std::string_view text(std::uint64_t n);

 private:
  [[nodiscard]] std::uint64_t number(std::size_t bytes);
};

struct Status {
  std::int32_t bytes = 0;
  std::int32_t source = -1;
  std::int32_t tag = -1;
  bool cancelled = false;
};

/// One call as recorded. Arguments of one letter in the order of the layout; reused from call to call.
struct Record {
  std::uint16_t function = 0;
  std::uint16_t thread = 0;
  bool timed = false;  ///< with wall-clock times
  Duration begin{};    ///< from the file's base second
  Duration end{};
  std::array<std::int32_t, 8> ints{};
  std::array<std::uint16_t, 4> halves{};
  std::vector<std::int32_t> first_array;  ///< of I
  std::vector<std::int32_t> second_array;
  std::vector<Status> statuses;
  std::string_view text;  ///< first C or first element of D
};

/// What stands behind the calls.
struct Header {
  std::array<std::uint8_t, 3> version{};
  std::uint64_t started = 0;  ///< Unix time, seconds
  std::string host;
};
struct Footer {
  std::vector<std::uint32_t> calls;  ///< by function
  std::int64_t ignored = 0;          ///< calls that the recorder was told to leave out
};

enum class Ending : std::uint8_t { Whole, Cut, Damaged };

class File {
 public:
  /// Takes the index at the end of the file where it is whole; a file without one was cut.
  explicit File(std::string_view bytes);

  [[nodiscard]] const std::optional<Header>& header() const { return header_; }
  [[nodiscard]] const std::optional<Footer>& footer() const { return footer_; }
  [[nodiscard]] const std::vector<std::int32_t>& type_sizes() const { return type_sizes_; }
  /// Second that wall times count from; near `Header::started` where it is the time of day.
  [[nodiscard]] std::uint32_t base_second() const { return base_second_; }
  /// Layouts of before 0.6.9 differ.
  [[nodiscard]] bool too_old() const;

  /// The next call, or nothing at the end; then `ending` tells which.
  [[nodiscard]] bool next(Record& record);
  [[nodiscard]] Ending ending() const { return ending_; }
  [[nodiscard]] std::size_t position() const { return stream_.position(); }

 private:
  void read_index();
  void read_header(std::uint64_t at);
  void read_footer(std::uint64_t at);
  void read_type_sizes(std::uint64_t at);
  void read_times(std::uint8_t mask, Record& record);
  [[nodiscard]] Duration time_at(std::uint16_t second, std::uint32_t ns);
  [[nodiscard]] bool read_arguments(std::string_view layout, std::uint8_t mask, Record& record);
  void read_array(std::vector<std::int32_t>* to);
  void read_strings(Record& record);
  void read_statuses(Record& record);
  [[nodiscard]] bool stop(Ending ending);

  std::string_view bytes_;
  Cursor stream_;
  std::optional<Header> header_;
  std::optional<Footer> footer_;
  std::vector<std::int32_t> type_sizes_;
  std::uint32_t base_second_ = 0;
  std::int64_t last_second_ = 0;
  Ending ending_ = Ending::Cut;
  bool done_ = false;
};

}  // namespace cox::trace::dumpi
