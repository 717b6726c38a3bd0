// SPDX-License-Identifier: Apache-2.0
#include "trace/import/graphs/chakra_json_stream.hpp"

#include <fmt/format.h>

#include <span>
#include <utility>

namespace cox::trace {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{128} << 10;
/// Longest value that is believed: a node with the shapes of all its tensors has some kilobytes.
constexpr std::size_t kMostValueBytes = std::size_t{64} << 20;

constexpr bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/// Finds the end of one value, byte by byte, keeping what it saw: text may come in pieces.
class ValueEnd {
 public:
  /// Whether the value ends before `c` (a number or word) or with it; `with` says which.
  bool feed(char c) {
    if (in_string_) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_string_ = false;
        return with = depth_ == 0;
      }
      return false;
    }
    if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if (c == '}' || c == ']') {
      if (depth_ == 0) return true;
      return with = --depth_ == 0;
    } else if (depth_ == 0 && (c == ',' || is_space(c))) {
      return true;
    }
    return false;
  }
  [[nodiscard]] bool open() const { return in_string_ || depth_ > 0; }
  bool with = false;

 private:
  std::size_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
};

}  // namespace

std::optional<JsonStream::Piece> JsonStream::stop(std::string why) {
  at_ = At::End;
  stopped_ = std::move(why);
  return std::nullopt;
}

Result<bool> JsonStream::more() {
  buffer_.erase(0, used_);
  used_ = 0;
  const std::size_t have = buffer_.size();
  buffer_.resize(have + kPieceBytes);
  COX_TRY(const std::size_t n, source_.read(std::span(buffer_).subspan(have)));
  buffer_.resize(have + n);
  return n > 0;
}

/// The next byte that is no white space, not taken; zero at the end.
Result<char> JsonStream::peek() {
  while (true) {
    for (; used_ < buffer_.size(); take())
      if (!is_space(buffer_[used_])) return buffer_[used_];
    COX_TRY(const bool any, more());
    if (!any) return '\0';
  }
}

/// The text of the value that begins at the next byte, taken; nothing where it has no end.
Result<std::optional<std::string_view>> JsonStream::value() {
  ValueEnd end;
  std::size_t length = 0;
  while (true) {
    for (; used_ + length < buffer_.size(); ++length) {
      if (!end.feed(buffer_[used_ + length])) continue;
      length += end.with ? 1 : 0;
      const std::string_view text(buffer_.data() + used_, length);
      used_ += length;
      position_ += length;
      return length == 0 ? std::nullopt : std::optional(text);
    }
    if (length > kMostValueBytes) return std::nullopt;
    COX_TRY(const bool any, more());
    if (!any) return std::nullopt;
  }
}

Result<std::optional<JsonStream::Piece>> JsonStream::element() {
  COX_TRY(char c, peek());
  if (c == ',') {
    take();
    COX_TRY(c, peek());
  }
  if (c == ']') {
    take();
    at_ = At::Members;
    return std::optional<Piece>();
  }
  const std::uint64_t begin = position_;
  COX_TRY(const auto text, value());
  if (!text) return stop(fmt::format("the file ends or is damaged inside the element at byte {}", begin));
  return Piece{.key = {}, .value = *text, .element = true};
}

Result<std::optional<JsonStream::Piece>> JsonStream::member() {
  COX_TRY(char c, peek());
  if (c == ',') {
    take();
    COX_TRY(c, peek());
  }
  if (c == '}') {
    take();
    at_ = At::End;
    return std::optional<Piece>();
  }
  const std::uint64_t begin = position_;
  const auto damaged = [&] { return stop(fmt::format("no member of a JSON object at byte {}", begin)); };
  if (c != '"') return damaged();
  COX_TRY(const auto quoted, value());
  if (!quoted || quoted->size() < 2) return damaged();
  std::string key(quoted->substr(1, quoted->size() - 2));
  COX_TRY(c, peek());
  if (c != ':') return damaged();
  take();
  COX_TRY(c, peek());
  if (key == array_ && c == '[') {
    take();
    at_ = At::Elements;
    return std::optional<Piece>();
  }
  COX_TRY(const auto text, value());
  if (!text) return stop(fmt::format("the file ends or is damaged inside the member at byte {}", begin));
  return Piece{.key = std::move(key), .value = *text};
}

Result<std::optional<JsonStream::Piece>> JsonStream::next() {
  if (at_ == At::Start) {
    COX_TRY(const char c, peek());
    if (c != '{') return stop(fmt::format("no JSON object at byte {}", position_));
    take();
    at_ = At::Members;
  }
  // An array's begin and end give no piece: a loop, because a hostile file has nothing but empty arrays.
  while (at_ != At::End) {
    COX_TRY(auto piece, at_ == At::Elements ? element() : member());
    if (piece) return piece;
  }
  return std::optional<Piece>();
}

}  // namespace cox::trace
