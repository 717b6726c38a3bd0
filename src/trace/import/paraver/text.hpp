// SPDX-License-Identifier: Apache-2.0
/// \file
/// Lines of a text that is read piece by piece, and numbers between colons.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cox/base/result.hpp"

#include "trace/import/bytes/byte_source.hpp"

namespace cox::trace {

/// Hands out the lines of a source, one at a time, without their line ends.
///
/// Memory: the longest line, at most `kLongestLine`; a longer one is skipped and counted.
class LineStream {
 public:
  static constexpr std::size_t kLongestLine = std::size_t{16} << 20;

  explicit LineStream(ByteSource& source) : source_(source) {}

  /// The next whole line, valid until the next call; nothing at the end. What stands behind the last line end
  /// is no line: nobody can tell a short number from a cut one.
  /// Errors: those of `ByteSource::read`.
  [[nodiscard]] Result<std::optional<std::string_view>> next();
  [[nodiscard]] std::int64_t number() const { return number_; }  ///< of the line last handed out, from 1
  [[nodiscard]] std::int64_t too_long() const { return too_long_; }
  /// After the end: there were bytes behind the last line end.
  [[nodiscard]] bool ends_inside_a_line() const { return skipping_ || from_ < buffer_.size(); }

 private:
  [[nodiscard]] Result<bool> fill();

  ByteSource& source_;
  std::string buffer_;
  std::size_t from_ = 0;      ///< begin of what was not handed out yet
  std::size_t searched_ = 0;  ///< before it there is no line end
  std::int64_t number_ = 0;
  std::int64_t too_long_ = 0;
  bool skipping_ = false;  ///< inside a line that is too long
};

/// Whole numbers with a colon after each but the last.
class ColonNumbers {
 public:
  explicit ColonNumbers(std::string_view text) : rest_(text) {}

  /// Reads the next number; false at the end, or where there is something else or a number too large, after
  /// which `damaged` says so.
  [[nodiscard]] bool next(std::int64_t& value);
  /// Reads so many numbers; false where one is missing.
  template <class... Numbers>
  [[nodiscard]] bool read(Numbers&... values) {
    return (next(values) && ...);
  }
  [[nodiscard]] bool damaged() const { return damaged_; }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool damaged_ = false;
};

}  // namespace cox::trace
