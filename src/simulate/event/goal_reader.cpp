// SPDX-License-Identifier: Apache-2.0
#include "simulate/event/goal_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "simulate/event/goal_image.hpp"
#include "simulate/event/goal_labels.hpp"

namespace cox::simulate {
namespace {

constexpr std::size_t kMostImageBytes = std::size_t{4} << 30;
/// Bytes of the table of ranks that the text must justify: a schedule may have ranks that do nothing, not
/// millions of them.
constexpr std::uint64_t kFreeRanks = std::uint64_t{1} << 16;

constexpr bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool ends_word(char c) {
  return is_space(c) || c == '\n' || c == ':' || c == ';' || c == '{' || c == '}';
}

/// Words of the text, with the line that they are on. A statement ends at a line's end or at `;`.
class GoalWords {
 public:
  explicit GoalWords(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  /// Skips to the next statement; false at the end of the text.
  bool next_statement() {
    while (true) {
      skip_spaces();
      if (at_ == end_) return false;
      if (*at_ == '\n') ++line_;
      if (*at_ != '\n' && *at_ != ';') return true;
      ++at_;
    }
  }
  /// At the end of the statement.
  bool done() {
    skip_spaces();
    return at_ == end_ || *at_ == '\n' || *at_ == ';' || *at_ == '}';
  }
  /// The next word, empty at the end of the statement. `:`, `{` and `}` are words by themselves.
  std::string_view word() {
    skip_spaces();
    const char* begin = at_;
    while (at_ != end_ && !ends_word(*at_)) ++at_;
    if (at_ == begin && at_ != end_ && (*at_ == ':' || *at_ == '{' || *at_ == '}')) ++at_;
    return {begin, static_cast<std::size_t>(at_ - begin)};
  }
  bool take(std::string_view expected) {
    const char* back = at_;
    if (word() == expected) return true;
    at_ = back;
    return false;
  }
  /// A whole number, from 0 to 2^64 - 1; what stands directly behind it is the next word.
  std::optional<std::uint64_t> number() {
    skip_spaces();
    if (at_ == end_ || !is_digit(*at_)) return std::nullopt;
    std::uint64_t value = 0;
    for (; at_ != end_ && is_digit(*at_); ++at_) {
      const auto digit = static_cast<std::uint64_t>(*at_ - '0');
      if (value > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) return std::nullopt;
      value = value * 10 + digit;
    }
    return value;
  }
  [[nodiscard]] std::int64_t line() const { return line_; }
  /// What stands here, for messages.
  [[nodiscard]] std::string_view here() const {
    const char* stop = at_;
    while (stop != end_ && *stop != '\n' && stop - at_ < 40) ++stop;
    return {at_, static_cast<std::size_t>(stop - at_)};
  }

 private:
  void skip_spaces() {
    while (at_ != end_) {
      if (is_space(*at_)) {
        ++at_;
      } else if (*at_ == '/' && end_ - at_ > 1 && at_[1] == '/') {
        at_ = std::find(at_, end_, '\n');
      } else if (*at_ == '/' && end_ - at_ > 1 && at_[1] == '*') {
        skip_comment();
      } else {
        return;
      }
    }
  }
  void skip_comment() {
    for (at_ += 2; at_ != end_; ++at_) {
      if (*at_ == '\n') ++line_;
      if (*at_ == '*' && end_ - at_ > 1 && at_[1] == '/') {
        at_ += 2;
        return;
      }
    }
  }

  const char* at_;
  const char* end_;
  std::int64_t line_ = 1;
};

class GoalReader {
 public:
  GoalReader(std::string_view text, const std::string& name) : text_(text), name_(name), words_(text) {}
  Result<std::string> read();

 private:
  [[nodiscard]] tl::unexpected<Error> error(const char* id, std::string message, const char* hint) const {
    return fail(Error{.code = Errc::InvalidInput,
                      .id = id,
                      .message = std::move(message),
                      .hint = hint,
                      .where = Where{.file = name_, .line = words_.line()}});
  }
  [[nodiscard]] tl::unexpected<Error> expected(const char* what) const {
    return error("goal-002", fmt::format("`{}` found, expected {}", printable(words_.here()), what),
                 "docs/reference/goal.md has the statements");
  }
  static std::string printable(std::string_view text) {
    std::string out(text);
    for (char& c : out)
      if (c < ' ' || c > '~') c = '?';
    return out;
  }

  Status read_rank_count();
  Status read_rank();
  Status read_statement();
  Status read_operation(std::string_view keyword, std::string_view label);
  Status read_message(GoalOperation& op);
  Status read_options(GoalOperation& op);
  Status read_dependency(std::string_view label, bool on_start);
  Status finish_rank(std::uint32_t rank);

  std::string_view text_;
  const std::string& name_;
  GoalWords words_;
  std::optional<GoalImageWriter> writer_;
  std::uint32_t ranks_ = 0;
  std::uint64_t total_ = 0;
  std::vector<GoalOperation> operations_;  // of the rank at hand, as all below
  std::vector<GoalEdge> edges_;
  GoalLabels labels_;
};

Status GoalReader::read_rank_count() {
  const auto count = words_.number();
  if (!count || !words_.done()) return expected("a number of ranks");
  if (writer_) return error("goal-004", "`num_ranks` comes twice", "keep the first line only");
  if (*count == 0 || *count > 0x7fffffff || (*count > kFreeRanks && *count > text_.size()))
    return error("goal-004", fmt::format("{} ranks in a text of {} bytes", *count, text_.size()),
                 "write the number of ranks that the schedule has");
  ranks_ = static_cast<std::uint32_t>(*count);
  writer_.emplace(ranks_);
  return {};
}

Status GoalReader::read_options(GoalOperation& op) {
  while (!words_.done()) {
    const bool message = op.kind != GraphOp::Calc;
    if (message && words_.take("tag")) {
      if (op.kind == GraphOp::Receive && words_.take("-1")) {
        op.tag = kAnyTag;
        continue;
      }
      const auto tag = words_.number();
      if (!tag || *tag >= kAnyTag) return expected("a tag from 0 to 4294967294, or -1 for any in a `recv`");
      op.tag = static_cast<std::uint32_t>(*tag);
    } else if (words_.take("cpu")) {
      const auto cpu = words_.number();
      if (!cpu || *cpu > 255) return expected("a CPU from 0 to 255");
      op.cpu = static_cast<std::uint8_t>(*cpu);
    } else if (message && words_.take("nic")) {
      const auto nic = words_.number();
      if (!nic || *nic > 255) return expected("a port from 0 to 255");
      op.nic = static_cast<std::uint8_t>(*nic);
    } else {
      return expected(message ? "`tag`, `cpu`, `nic` or the end of the line"
                              : "`cpu` or the end of the line");
    }
  }
  return {};
}

Status GoalReader::read_message(GoalOperation& op) {
  const auto bytes = words_.number();
  if (!bytes || !words_.take("b")) return expected("a number of bytes, as in `100b`");
  op.amount = *bytes;
  const bool send = op.kind == GraphOp::Send;
  if (!words_.take(send ? "to" : "from")) return expected(send ? "`to`" : "`from`");
  if (!send && words_.take("-1")) {
    op.peer = kAnySource;
    return read_options(op);
  }
  const auto peer = words_.number();
  if (!peer) return expected(send ? "a rank" : "a rank, or -1 for any");
  if (*peer >= ranks_)
    return error("goal-004", fmt::format("rank {} of {} is named", *peer, ranks_),
                 "ranks count from 0; check `num_ranks`");
  op.peer = static_cast<std::uint32_t>(*peer);
  return read_options(op);
}

Status GoalReader::read_operation(std::string_view keyword, std::string_view label) {
  GoalOperation op;
  if (keyword == "calc") {
    const auto amount = words_.number();
    if (!amount) return expected("a number of nanoseconds");
    op.amount = *amount;
    COX_CHECK(read_options(op));
  } else {
    op.kind = keyword == "send" ? GraphOp::Send : GraphOp::Receive;
    COX_CHECK(read_message(op));
  }
  if (++total_ >= GoalLabels::kNone || writer_->size() > kMostImageBytes)
    return error("goal-006", "more operations than can be held",
                 "simulate fewer ranks or steps, or use binary GOAL");
  const auto index = static_cast<std::uint32_t>(operations_.size());
  operations_.push_back(op);
  if (label.empty() || labels_.add(label, index)) return {};
  return error("goal-003", fmt::format("label `{}` comes twice in its rank", printable(label.substr(0, 40))),
               "give each operation of a rank its own label");
}

Status GoalReader::read_dependency(std::string_view label, bool on_start) {
  const std::string_view other = words_.word();
  if (other.empty() || !words_.done()) return expected("one label and the end of the line");
  const std::uint32_t after = labels_[label];
  const std::uint32_t before = labels_[other];
  if (after != GoalLabels::kNone && before != GoalLabels::kNone) {
    edges_.push_back(GoalEdge{before, after, on_start});
    return {};
  }
  return error("goal-003",
               fmt::format("no operation of this rank is labelled `{}` so far",
                           printable((after == GoalLabels::kNone ? label : other).substr(0, 40))),
               "write an operation before what depends on it");
}

Status GoalReader::read_statement() {
  const std::string_view first = words_.word();
  if (first == "calc" || first == "send" || first == "recv") return read_operation(first, {});
  if (first.empty() || first == ":" || first == "{")
    return expected("`calc`, `send`, `recv`, a label or `}`");
  if (words_.take(":")) {
    const std::string_view keyword = words_.word();
    if (keyword == "calc" || keyword == "send" || keyword == "recv") return read_operation(keyword, first);
    return expected("`calc`, `send` or `recv` behind the label");
  }
  if (words_.take("requires")) return read_dependency(first, false);
  if (words_.take("irequires")) return read_dependency(first, true);
  return expected("`:`, `requires` or `irequires` behind a label");
}

Status GoalReader::read_rank() {
  const auto rank = words_.number();
  if (!rank || !words_.take("{")) return expected("a rank and `{`");
  if (!writer_)
    return error("goal-004", "a rank before `num_ranks`", "begin the schedule with `num_ranks N`");
  if (*rank >= ranks_)
    return error("goal-004", fmt::format("rank {} of {}", *rank, ranks_),
                 "ranks count from 0; check `num_ranks`");
  if (writer_->has(static_cast<std::uint32_t>(*rank)))
    return error("goal-004", fmt::format("rank {} comes twice", *rank),
                 "write each rank's operations in one block");
  operations_.clear();
  edges_.clear();
  labels_.clear();
  const std::int64_t begun = words_.line();
  while (words_.next_statement()) {
    if (words_.take("}")) return finish_rank(static_cast<std::uint32_t>(*rank));
    COX_CHECK(read_statement());
  }
  return error("goal-002",
               fmt::format("the text ends in rank {}, begun in line {}, expected `}}`", *rank, begun),
               "the file may be cut short");
}

Status GoalReader::finish_rank(std::uint32_t rank) {
  writer_->add_rank(rank, operations_, edges_);
  return {};
}

Result<std::string> GoalReader::read() {
  bool any = false;
  while (words_.next_statement()) {
    if (words_.take("num_ranks")) {
      COX_CHECK(read_rank_count());
      if (!any) writer_->reserve(std::min(text_.size() + text_.size() / 2, kMostImageBytes));
      any = true;
    } else if (words_.take("rank")) {
      COX_CHECK(read_rank());
    } else {
      return any ? expected("`rank`")
                 : error("goal-001", "neither binary nor text of a GOAL schedule, expected `num_ranks`",
                         "name a schedule as LogGOPSim reads it (docs/reference/goal.md)");
    }
  }
  if (any) return std::move(*writer_).finish();
  return error("goal-001", "no GOAL schedule in it, expected `num_ranks`", "check the file");
}

}  // namespace

Result<std::string> read_goal_text(std::string_view text, const std::string& name) {
  return GoalReader(text, name).read();
}

}  // namespace cox::simulate
