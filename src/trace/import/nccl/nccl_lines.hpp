// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the two JSON-lines formats around NCCL share: lines one at a time, values by key.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cox/base/result.hpp"

#include "trace/import/bytes/byte_source.hpp"

namespace cox::trace {

class PartBuilder;

/// Reads JSON objects, one a line. Memory: the longest line so far, at most `kLongestLine`, three times.
class JsonLines {
 public:
  static constexpr std::size_t kLongestLine = std::size_t{16} << 20;

  explicit JsonLines(ByteSource source);
  /// The next line that holds an object; nothing at the end. What it refers to lives until the next call.
  /// Lines that hold none are counted, not errors. Errors: import-003, import-004, base-002.
  [[nodiscard]] Result<std::optional<simdjson::dom::element>> next();
  /// The last line as it stands in the file, until the next call.
  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] std::int64_t line() const { return line_; }  ///< number of the last line, from 1
  [[nodiscard]] std::int64_t unreadable() const { return unreadable_; }
  [[nodiscard]] std::int64_t first_unreadable() const { return first_unreadable_; }
  [[nodiscard]] bool cut() const { return source_.cut(); }

 private:
  Result<bool> next_line(std::string_view& line);

  ByteSource source_;
  simdjson::dom::parser parser_;
  std::string buffer_;
  std::string_view text_;
  std::size_t begin_ = 0;  // of what is not yet handed out
  std::size_t filled_ = 0;
  bool at_end_ = false;
  bool skipping_ = false;  // inside a line that is too long
  std::int64_t line_ = 0;
  std::int64_t unreadable_ = 0;
  std::int64_t first_unreadable_ = 0;
};

/// Says how many lines held no object, and which was the first. Nothing where there is none.
void note_unreadable(PartBuilder& part, std::int64_t lines, std::int64_t first);

// Values by key; nothing where there is none or it is of another kind.
[[nodiscard]] std::optional<std::int64_t> integer_at(simdjson::dom::element object, std::string_view key);
[[nodiscard]] std::optional<double> number_at(simdjson::dom::element object, std::string_view key);
[[nodiscard]] std::optional<std::string_view> text_at(simdjson::dom::element object, std::string_view key);
[[nodiscard]] std::optional<simdjson::dom::element> object_at(simdjson::dom::element object,
                                                              std::string_view key);

/// Identity of a communicator as NCCL's hash in hexadecimal, however it was spelled: a number, decimal text,
/// or text with 0x. Other text is cleaned and kept. Empty where there is none.
[[nodiscard]] std::string nccl_comm_id(simdjson::dom::element object, std::string_view key);

}  // namespace cox::trace
