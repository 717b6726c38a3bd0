// SPDX-License-Identifier: Apache-2.0
/// \file
/// The text of a GOAL schedule, statement by statement.
///
/// Source: grammar of the converter of LogGOPSim (spcl/LogGOPSim, src/LogGOPSim/txt2bin.re); Hoefler et al.,
///         Group Operation Assembly Language (2009).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"

#include "trace/import/bytes/byte_source.hpp"

namespace cox::trace {

/// `-1` where a receive takes a message of any rank, or of any tag.
inline constexpr std::int64_t kAnyRank = -1;
inline constexpr std::int64_t kAnyTag = -1;

struct GoalStatement {
  enum class What { RankCount, Rank, End, Calc, Send, Receive, Requires, StartRequires };
  What what = What::End;
  std::string_view label;    ///< of the operation; of Requires: who waits
  std::string_view other;    ///< of Requires: for whom
  std::uint64_t amount = 0;  ///< ranks; rank; nanoseconds of a Calc; bytes of a message
  std::int64_t peer = 0;
  std::int64_t tag = 0;
};

/// One statement, without its line end; nothing where it is none.
[[nodiscard]] std::optional<GoalStatement> parse_goal_statement(std::string_view text);

/// Cuts text into statements: lines and what `;`, `{` and `}` end, without comments.
class GoalLines {
 public:
  explicit GoalLines(ByteSource source) : source_(std::move(source)) {}
  /// The next statement's text, never empty, valid until the next call; nothing at the end.
  [[nodiscard]] Result<std::optional<std::string_view>> next();
  [[nodiscard]] std::int64_t line() const { return line_; }  ///< of the last statement, from 1
  [[nodiscard]] bool cut() const { return source_.cut(); }

 private:
  [[nodiscard]] Result<bool> more();

  ByteSource source_;
  std::string buffer_;
  std::size_t used_ = 0;
  std::string statement_;
  std::int64_t line_ = 1;
  std::int64_t ended_ = 0;  ///< line ends that belong to the last statement
};

}  // namespace cox::trace
