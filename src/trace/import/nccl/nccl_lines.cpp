// SPDX-License-Identifier: Apache-2.0
#include "trace/import/nccl/nccl_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>

#include "trace/import/bytes/byte_order_mark.hpp"
#include "trace/import/part/part_builder.hpp"
#include "trace/raw/meta_entries.hpp"

namespace cox::trace {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kPieceBytes = std::size_t{256} << 10;
constexpr std::size_t kLongestId = 128;

}  // namespace

JsonLines::JsonLines(ByteSource source) : source_(std::move(source)) {}

Result<bool> JsonLines::next_line(std::string_view& line) {
  std::size_t searched = begin_;
  for (;;) {
    const void* end = std::memchr(buffer_.data() + searched, '\n', filled_ - searched);
    if (end != nullptr || (at_end_ && begin_ < filled_)) {
      const std::size_t stop =
          end != nullptr ? static_cast<std::size_t>(static_cast<const char*>(end) - buffer_.data()) : filled_;
      line = std::string_view(buffer_).substr(begin_, stop - begin_);
      begin_ = std::min(stop + 1, filled_);
      if (++line_ == 1) line = without_mark(line);
      if (std::exchange(skipping_, false)) line = "?";  // its front is gone: no JSON
      return true;
    }
    if (at_end_) return false;
    if (filled_ - begin_ > kLongestLine) {
      skipping_ = true;
      begin_ = filled_;
    }
    std::memmove(buffer_.data(), buffer_.data() + begin_, filled_ - begin_);
    filled_ -= begin_;
    begin_ = 0;
    searched = filled_;
    if (buffer_.size() < filled_ + kPieceBytes + simdjson::SIMDJSON_PADDING)
      buffer_.resize(2 * filled_ + kPieceBytes + simdjson::SIMDJSON_PADDING);
    COX_TRY(const std::size_t n, source_.read({buffer_.data() + filled_, kPieceBytes}));
    filled_ += n;
    at_end_ = n < kPieceBytes;
  }
}

Result<std::optional<dom::element>> JsonLines::next() {
  std::string_view line;
  for (;;) {
    COX_TRY(const bool more, next_line(line));
    if (!more) return std::nullopt;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    dom::element value;
    // What follows the line in the buffer is the padding that the parser wants; it changes nothing.
    const bool padded = line.data() >= buffer_.data() && line.data() < buffer_.data() + buffer_.size();
    const auto rc = parser_.parse(line.data(), line.size(), !padded).get(value);
    if (rc == simdjson::SUCCESS && value.is_object()) {
      text_ = line;
      return value;
    }
    if (unreadable_++ == 0) first_unreadable_ = line_;
  }
}

std::optional<std::int64_t> integer_at(dom::element object, std::string_view key) {
  std::int64_t n = 0;
  return object[key].get(n) == simdjson::SUCCESS ? std::optional(n) : std::nullopt;
}
std::optional<double> number_at(dom::element object, std::string_view key) {
  double n = 0;
  return object[key].get(n) == simdjson::SUCCESS ? std::optional(n) : std::nullopt;
}
std::optional<std::string_view> text_at(dom::element object, std::string_view key) {
  std::string_view text;
  return object[key].get(text) == simdjson::SUCCESS ? std::optional(text) : std::nullopt;
}
std::optional<dom::element> object_at(dom::element object, std::string_view key) {
  dom::element value;
  if (object[key].get(value) != simdjson::SUCCESS || !value.is_object()) return std::nullopt;
  return value;
}

void note_unreadable(PartBuilder& part, std::int64_t lines, std::int64_t first) {
  part.note_count(lines, "line is no JSON object: line ", "lines are no JSON object, the first is line ",
                  std::to_string(first));
}

std::string nccl_comm_id(dom::element object, std::string_view key) {
  std::uint64_t id = 0;
  if (object[key].get(id) == simdjson::SUCCESS) return fmt::format("0x{:x}", id);
  if (const auto negative = integer_at(object, key))
    return fmt::format("0x{:x}", static_cast<std::uint64_t>(*negative));
  const std::string_view text = text_at(object, key).value_or("").substr(0, kLongestId);
  const bool hex = text.starts_with("0x");
  const char* end = text.data() + text.size();
  const auto [stop, ec] = std::from_chars(text.data() + (hex ? 2 : 0), end, id, hex ? 16 : 10);
  if (ec == std::errc() && stop == end && !text.empty()) return fmt::format("0x{:x}", id);
  return clean_text(text);
}

}  // namespace cox::trace
