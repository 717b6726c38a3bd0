// SPDX-License-Identifier: Apache-2.0
/// \file
/// A big JSON object member by member, where one member is a long array: the array's elements one by one.
///
/// Finds only where values begin and end; who takes a value parses it. So a file of any length needs the
/// memory of its longest element, and what stands before a cut is still found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cox/base/result.hpp"

#include "trace/import/bytes/byte_source.hpp"

namespace cox::trace {

class JsonStream {
 public:
  /// `array`: key of the member whose elements come one by one.
  JsonStream(ByteSource source, std::string_view array) : source_(std::move(source)), array_(array) {}

  struct Piece {
    std::string key;         ///< of a member; empty for an element of the array
    std::string_view value;  ///< its text, valid until the next call
    bool element = false;
  };
  /// The next member or element; nothing at the end, or where the text stops being JSON (see `stopped`).
  [[nodiscard]] Result<std::optional<Piece>> next();
  /// Why reading ended before the end of the object; empty where it did not.
  [[nodiscard]] const std::string& stopped() const { return stopped_; }

 private:
  enum class At { Start, Members, Elements, End };

  [[nodiscard]] Result<bool> more();
  [[nodiscard]] Result<char> peek();
  [[nodiscard]] Result<std::optional<std::string_view>> value();
  [[nodiscard]] Result<std::optional<Piece>> element();
  [[nodiscard]] Result<std::optional<Piece>> member();
  [[nodiscard]] std::optional<Piece> stop(std::string why);
  void take() {
    ++used_;
    ++position_;
  }

  ByteSource source_;
  std::string array_;
  std::string buffer_;
  std::size_t used_ = 0;
  std::uint64_t position_ = 0;  ///< of buffer_[used_] in the file
  At at_ = At::Start;
  std::string stopped_;
};

}  // namespace cox::trace
