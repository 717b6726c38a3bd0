// SPDX-License-Identifier: Apache-2.0
#include "trace/import/kineto/stream.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

namespace cox::trace::kineto {
namespace {

constexpr std::size_t kMaxEvent = std::size_t{16} << 20;   // a longer one is passed over
constexpr std::size_t kMaxMember = std::size_t{16} << 20;  // a longer one of the outer object is not kept

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

std::size_t spaces_in(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && is_space(text[n])) ++n;
  return n;
}

/// Bytes up to and including the last brace that a comma and another brace follow: very likely the end of an
/// event. Zero where there is none. Whether it is one shows when the batch is read.
std::size_t likely_end(std::string_view text) {
  std::size_t at = text.size();
  while (at > 0) {
    const std::size_t open = text.rfind('{', at - 1);
    if (open == std::string_view::npos || open == 0) return 0;
    std::size_t i = open;
    while (i > 0 && is_space(text[i - 1])) --i;
    if (i > 0 && text[i - 1] == ',') {
      --i;
      while (i > 0 && is_space(text[i - 1])) --i;
      if (i > 0 && text[i - 1] == '}') return i;
    }
    at = open;
  }
  return 0;
}

/// The walk itself. Every step works on what is in the window and asks for more where that is not enough.
class Walker {
 public:
  Walker(ByteSource& source, std::size_t window_bytes, const std::vector<std::string_view>& wanted,
         EventParser& events)
      : window_(source, window_bytes), wanted_(wanted), events_(events) {}

  Result<Walk> run() {
    COX_TRY(const bool done, outer());
    walk_.whole = done;
    walk_.stopped_at = window_.position();
    walk_.damaged = !done && !window_.bytes().empty() && !at_end_;
    return std::move(walk_);
  }

 private:
  /// First byte that is no white space; nothing at the end.
  Result<std::optional<char>> next() {
    for (;;) {
      window_.consume(spaces_in(window_.bytes()));
      if (!window_.bytes().empty()) return window_.bytes().front();
      COX_TRY(const bool some, more());
      if (!some) return std::nullopt;
    }
  }
  Result<bool> more() {
    COX_TRY(const bool some, window_.more());
    at_end_ = !some;
    return some;
  }

  Result<bool> outer() {
    COX_TRY(auto first, next());
    if (first == '\xef') {  // byte order mark
      if (window_.bytes().starts_with("\xef\xbb\xbf")) window_.consume(3);
      COX_TRY(first, next());
    }
    if (first != '{' && first != '[') return false;
    if (first == '[') return list();
    window_.consume(1);
    COX_TRY(first, next());
    if (first == '}') {
      window_.consume(1);
      return true;
    }
    for (;;) {
      COX_TRY(const bool good, member());
      if (!good) return false;
      COX_TRY(const auto behind, next());
      if (behind != ',' && behind != '}') return false;
      window_.consume(1);
      if (behind == '}') return true;
    }
  }

  /// `"key": value`, and nothing else.
  Result<bool> member() {
    COX_TRY(auto first, next());
    if (first != '"') return false;
    std::string key;
    COX_TRY(const bool got_key, take_value(&key));
    if (!got_key) return false;
    if (key.size() > kMaxMember) return false;
    key = key.substr(1, key.size() - 2);
    COX_TRY(first, next());
    if (first != ':') return false;
    window_.consume(1);
    COX_TRY(first, next());
    if (!first) return false;
    if (key == "traceEvents" && first == '[') return list();
    if (std::find(wanted_.begin(), wanted_.end(), key) == wanted_.end()) return take_value(nullptr);
    std::string value;
    COX_TRY(const bool got, take_value(&value));
    if (got && value.size() <= kMaxMember)
      walk_.members.push_back({.key = std::move(key), .value = std::move(value)});
    return got;
  }

  /// Passes a value over, or keeps its text.
  Result<bool> take_value(std::string* to) {
    ValueEnd end;
    for (;;) {
      const std::string_view bytes = window_.bytes();
      const std::size_t n = end.find(bytes);
      const std::size_t used = std::min(n, bytes.size());
      if (to != nullptr && to->size() <= kMaxMember) to->append(bytes.substr(0, used));
      window_.consume(used);
      if (n != ValueEnd::kNotYet) return true;
      COX_TRY(const bool some, more());
      if (!some) return false;
    }
  }

  /// The list of events, from its opening bracket to its closing one.
  Result<bool> list() {
    walk_.has_events = true;
    window_.consume(1);
    for (;;) {
      COX_TRY(const auto first, next());
      if (!first) return false;
      if (*first == ']') {
        window_.consume(1);
        return true;
      }
      if (*first == ',') {
        window_.consume(1);
        continue;
      }
      if (*first == '}' || *first == ':') return false;
      COX_TRY(const auto state, batch());
      if (state != State::GoOn) return state == State::Ended;
    }
  }

  enum class State : std::uint8_t { GoOn, Ended, Broken };

  /// As many events as the window holds, at least one.
  Result<State> batch() {
    const std::size_t likely = likely_end(window_.bytes());
    if (likely == 0) return one_by_one();
    const EventParser::Outcome outcome = events_.parse(window_.data(), likely);
    window_.consume(outcome.used);
    if (outcome.array_ended) return State::Ended;
    return outcome.failed ? one_by_one() : State::GoOn;
  }

  /// The same without guessing: each event is delimited by counting brackets, and read alone, so that only a
  /// damaged one is lost.
  State one_by_one_in_window() {
    for (;;) {
      window_.consume(spaces_in(window_.bytes()));
      const std::string_view bytes = window_.bytes();
      if (bytes.empty()) return State::GoOn;
      if (bytes.front() == ',') {
        window_.consume(1);
        continue;
      }
      if (bytes.front() == ']' || bytes.front() == '}' || bytes.front() == ':') return State::GoOn;
      ValueEnd end;
      const std::size_t n = end.find(bytes);
      if (n == ValueEnd::kNotYet) return State::GoOn;
      if (events_.parse(window_.data(), n).failed) {
        ++events_.counts().events;
        ++events_.counts().malformed;
      }
      window_.consume(n);
    }
  }

  Result<State> one_by_one() {
    const std::uint64_t before = window_.position();
    one_by_one_in_window();
    if (window_.position() != before || closes()) return State::GoOn;
    // Not even one event ends within the window.
    if (window_.bytes().size() > kMaxEvent) {
      ++events_.counts().events;
      ++events_.counts().malformed;
      COX_TRY(const bool good, take_value(nullptr));
      return good ? State::GoOn : State::Broken;
    }
    COX_TRY(const bool some, more());
    return some ? State::GoOn : State::Broken;
  }

  [[nodiscard]] bool closes() const {
    return !window_.bytes().empty() && (window_.bytes().front() == ']' || window_.bytes().front() == '}' ||
                                        window_.bytes().front() == ':');
  }

  Window window_;
  const std::vector<std::string_view>& wanted_;
  EventParser& events_;
  Walk walk_;
  bool at_end_ = false;
};

}  // namespace

std::size_t ValueEnd::find(std::string_view piece) {
  for (std::size_t i = 0; i < piece.size(); ++i) {
    const char c = piece[i];
    // As simdjson does, also outside of strings: an escaped quote neither opens nor closes one.
    const bool escaped = std::exchange(escaped_, !escaped_ && c == '\\');
    if (in_string_) {
      if (c != '"' || escaped) continue;
      in_string_ = false;
      if (depth_ == 0) return i + 1;
      continue;
    }
    const bool quote = c == '"' && !escaped;
    const bool stops =
        quote || c == ',' || c == ':' || c == '{' || c == '[' || c == '}' || c == ']' || is_space(c);
    if (scalar_ && stops) return i;
    if (quote)
      in_string_ = true;
    else if (c == '{' || c == '[')
      ++depth_;
    else if (c == '}' || c == ']') {
      if (--depth_ <= 0) return i + 1;
    } else if (depth_ == 0) {
      scalar_ = true;
    }
  }
  return kNotYet;
}

Window::Window(ByteSource& source, std::size_t size)
    : source_(source), buffer_(std::max<std::size_t>(size, 16) + kRoomBehind) {}

Result<bool> Window::more() {
  if (ended_) return false;
  if (begin_ > 0 && filled_ > 0) std::memmove(buffer_.data(), data(), filled_);
  begin_ = 0;
  if (filled_ + kRoomBehind >= buffer_.size()) {
    std::vector<char> larger(buffer_.size() * 2);
    std::memcpy(larger.data(), buffer_.data(), filled_);
    buffer_.swap(larger);
  }
  const std::size_t room = buffer_.size() - kRoomBehind - filled_;
  COX_TRY(const std::size_t n, source_.read({buffer_.data() + filled_, room}));
  filled_ += n;
  ended_ = n < room;
  return n > 0;
}

Result<Walk> walk_trace(ByteSource& source, std::size_t window_bytes,
                        const std::vector<std::string_view>& wanted, EventParser& events) {
  return Walker(source, window_bytes, wanted, events).run();
}

Outline outline_of(std::string_view head) {
  Outline out;
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  const auto skip = [&] { head.remove_prefix(spaces_in(head)); };
  skip();
  if (head.starts_with('[')) {
    out.list = true;
    head.remove_prefix(1);
    skip();
  }
  if (!head.starts_with('{')) return out;
  out.object = !out.list;
  head.remove_prefix(1);
  for (;;) {
    skip();
    if (head.starts_with('}')) {
      out.finished = true;
      return out;
    }
    if (!head.starts_with('"')) return out;
    const std::size_t key = ValueEnd().find(head);
    if (key == ValueEnd::kNotYet) return out;
    const std::string_view name = head.substr(1, key - 2);
    head.remove_prefix(key);
    skip();
    if (!head.starts_with(':')) return out;
    head.remove_prefix(1);
    skip();
    out.keys.push_back(name);
    const std::size_t value = ValueEnd().find(head);
    if (value == ValueEnd::kNotYet) return out;
    head.remove_prefix(value);
    skip();
    if (head.starts_with(',')) head.remove_prefix(1);
  }
}

}  // namespace cox::trace::kineto
