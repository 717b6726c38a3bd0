// SPDX-License-Identifier: Apache-2.0
#include "trace/import/graphs/goal_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <utility>

namespace cox::trace {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{128} << 10;
/// Longest statement that is kept; what is longer is none.
constexpr std::size_t kMostStatementBytes = 4096;

constexpr bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

/// Words of a statement; `:` is one by itself.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) {}
  std::string_view next() {
    while (!rest_.empty() && is_space(rest_.front())) rest_.remove_prefix(1);
    std::size_t n = 0;
    while (n < rest_.size() && !is_space(rest_[n]) && rest_[n] != ':') ++n;
    if (n == 0 && !rest_.empty()) n = 1;
    const std::string_view word = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return word;
  }

 private:
  std::string_view rest_;
};

template <class T>
std::optional<T> number(std::string_view word) {
  T value{};
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, value);
  if (word.empty() || error != std::errc() || stop != end) return std::nullopt;
  return value;
}

/// `100b`, or `100 b`.
std::optional<std::uint64_t> byte_count(Words& words) {
  std::string_view word = words.next();
  if (word.ends_with('b')) {
    word.remove_suffix(1);
  } else if (words.next() != "b") {
    return std::nullopt;
  }
  return number<std::uint64_t>(word);
}

/// `tag`, `cpu` and `nic` with their numbers, any of them. Only the tag is kept: which core or port does it
/// says nothing about what waits for what.
bool take_options(Words& words, bool message, GoalStatement& s) {
  while (true) {
    const std::string_view word = words.next();
    if (word.empty()) return true;
    const auto value = number<std::int64_t>(words.next());
    if (!value) return false;
    if (message && word == "tag") {
      s.tag = *value;
    } else if (word != "cpu" && !(message && word == "nic")) {
      return false;
    }
  }
}

std::optional<GoalStatement> parse_message(Words words, GoalStatement s) {
  const auto bytes = byte_count(words);
  const bool send = s.what == GoalStatement::What::Send;
  if (!bytes || words.next() != (send ? "to" : "from")) return std::nullopt;
  const auto peer = number<std::int64_t>(words.next());
  if (!peer || *peer < (send ? 0 : kAnyRank) || !take_options(words, true, s)) return std::nullopt;
  s.amount = *bytes;
  s.peer = *peer;
  return s;
}

std::optional<GoalStatement> parse_operation(std::string_view word, Words words, GoalStatement s) {
  if (word == "send" || word == "recv") {
    s.what = word == "send" ? GoalStatement::What::Send : GoalStatement::What::Receive;
    return parse_message(words, s);
  }
  if (word != "calc") return std::nullopt;
  s.what = GoalStatement::What::Calc;
  const auto amount = number<std::uint64_t>(words.next());
  if (!amount || !take_options(words, false, s)) return std::nullopt;
  s.amount = *amount;
  return s;
}

}  // namespace

std::optional<GoalStatement> parse_goal_statement(std::string_view text) {
  using What = GoalStatement::What;
  Words words(text);
  const std::string_view first = words.next();
  GoalStatement s;
  if (first == "}") return s;
  if (first == "num_ranks" || first == "rank") {
    const auto amount = number<std::uint64_t>(words.next());
    const std::string_view brace = words.next();
    if (!amount || brace != (first == "rank" ? "{" : "") || !words.next().empty()) return std::nullopt;
    s.what = first == "rank" ? What::Rank : What::RankCount;
    s.amount = *amount;
    return s;
  }
  if (auto operation = parse_operation(first, words, s)) return operation;
  s.label = first;
  const std::string_view second = words.next();
  if (second == ":") {
    const std::string_view operation = words.next();
    return parse_operation(operation, words, s);
  }
  if (second != "requires" && second != "irequires") return std::nullopt;
  s.what = second == "requires" ? What::Requires : What::StartRequires;
  s.other = words.next();
  if (s.other.empty() || !words.next().empty()) return std::nullopt;
  return s;
}

/// More bytes, once those there are used; false at the end.
Result<bool> GoalLines::more() {
  buffer_.resize(kPieceBytes);
  used_ = 0;
  COX_TRY(const std::size_t n, source_.read(std::span(buffer_)));
  buffer_.resize(n);
  return n > 0;
}

Result<std::optional<std::string_view>> GoalLines::next() {
  enum class In { Text, LineComment, BlockComment };
  In in = In::Text;
  char before = '\0';
  statement_.clear();
  line_ += std::exchange(ended_, 0);
  const auto has_text = [&] { return !std::all_of(statement_.begin(), statement_.end(), is_space); };
  while (true) {
    if (used_ == buffer_.size()) {
      COX_TRY(const bool any, more());
      if (!any) return has_text() ? std::optional<std::string_view>(statement_) : std::nullopt;
    }
    const char c = buffer_[used_++];
    const char last = std::exchange(before, c);
    if (in == In::BlockComment) {
      if (c == '\n') ++ended_;
      if (last == '*' && c == '/') {
        in = In::Text;
        before = '\0';
      }
      continue;
    }
    if (c == '\n' || (in == In::Text && c == ';')) {
      in = In::Text;
      if (c == '\n') ++ended_;
      if (has_text()) return std::optional<std::string_view>(statement_);
      statement_.clear();
      line_ += std::exchange(ended_, 0);
      continue;
    }
    if (in == In::LineComment) continue;
    if (last == '/' && (c == '/' || c == '*')) {
      in = c == '/' ? In::LineComment : In::BlockComment;
      if (!statement_.empty()) statement_.pop_back();
      before = '\0';
      continue;
    }
    if (c == '}' && has_text()) {
      --used_;  // ends the block after the statement before it
      return std::optional<std::string_view>(statement_);
    }
    if (statement_.size() < kMostStatementBytes) statement_ += c;
    if (c == '{' || c == '}') return std::optional<std::string_view>(statement_);
  }
}

}  // namespace cox::trace
