// SPDX-License-Identifier: Apache-2.0
/// \file
/// A place in a bounded piece of memory that never leaves it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cox::trace {

/// What binary formats read their values from. What is not there makes `ok` false for good and moves to the end.
/// Held by: src/trace/import/bytes/bounded_bytes_test.cpp
class BoundedBytes {
 public:
  BoundedBytes() = default;
  explicit BoundedBytes(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::size_t left() const { return bytes_.size() - at_; }
  [[nodiscard]] std::size_t position() const { return at_; }
  void skip(std::uint64_t n) { static_cast<void>(take(n)); }

 protected:
  /// The next n bytes; none of them where fewer are left.
  [[nodiscard]] std::string_view take(std::uint64_t n) {
    if (n > left()) {
      spoil();
      return {};
    }
    const std::string_view taken = bytes_.substr(at_, static_cast<std::size_t>(n));
    at_ += taken.size();
    return taken;
  }
  /// All that is left, without moving.
  [[nodiscard]] std::string_view rest() const { return bytes_.substr(at_); }
  /// What was read cannot be: nothing more is to be read.
  void spoil() {
    ok_ = false;
    at_ = bytes_.size();
  }
  /// What was read cannot be, and reading may go on.
  void doubt() { ok_ = false; }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace cox::trace
