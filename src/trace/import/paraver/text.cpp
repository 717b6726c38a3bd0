// SPDX-License-Identifier: Apache-2.0
#include "trace/import/paraver/text.hpp"

#include <charconv>
#include <span>
#include <system_error>

namespace cox::trace {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{256} << 10;

}  // namespace

Result<bool> LineStream::fill() {
  buffer_.erase(0, from_);
  searched_ -= from_;
  from_ = 0;
  const std::size_t had = buffer_.size();
  buffer_.resize(had + kPieceBytes);
  COX_TRY(const std::size_t n, source_.read(std::span(buffer_).subspan(had)));
  buffer_.resize(had + n);
  return n > 0;
}

Result<std::optional<std::string_view>> LineStream::next() {
  while (true) {
    const std::size_t end = buffer_.find('\n', searched_);
    if (end == std::string::npos) {
      searched_ = buffer_.size();
      if (buffer_.size() - from_ > kLongestLine) {
        from_ = buffer_.size();
        skipping_ = true;
      }
      COX_TRY(const bool more, fill());
      if (!more) return std::optional<std::string_view>();
      continue;
    }
    std::string_view line = std::string_view(buffer_).substr(from_, end - from_);
    from_ = searched_ = end + 1;
    ++number_;
    if (skipping_) {
      skipping_ = false;
      ++too_long_;
      continue;
    }
    if (line.ends_with('\r')) line.remove_suffix(1);
    return std::optional(line);
  }
}

bool ColonNumbers::next(std::int64_t& value) {
  if (rest_.empty() || damaged_) return false;
  const char* const end = rest_.data() + rest_.size();
  const auto [stop, error] = std::from_chars(rest_.data(), end, value);
  const bool last = stop == end;
  if (error != std::errc() || (!last && *stop != ':')) {
    damaged_ = true;
    return false;
  }
  rest_.remove_prefix(static_cast<std::size_t>(stop - rest_.data()) + (last ? 0 : 1));
  return true;
}

}  // namespace cox::trace
