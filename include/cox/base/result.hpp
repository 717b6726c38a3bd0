// SPDX-License-Identifier: Apache-2.0
/// \file
/// How things that can go wrong are returned: `Result<T>`, and the `Error` in it.
///
/// Use when: a file is bad, a library is missing, a plan is impossible.
/// Not when: our own code is wrong; see cox/base/assert.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace cox {

/// What kind of thing went wrong; small and stable, the command line maps it to an exit code.
enum class Errc : std::uint8_t { InvalidInput, NotFound, Io, Unsupported, Infeasible, Timeout, Usage };

/// Where in an input the error sits. Zero means "not known".
struct Where {
  std::string file;
  std::int64_t line = 0;
  std::int64_t column = 0;
};

/// One error: a line to print, an anchor in docs/reference/errors.md, and what to do.
///
/// `message` starts lower case, has no full stop, and names what was found and what was wanted.
/// `hint` is the next thing to type or change.
struct Error {
  Errc code = Errc::InvalidInput;
  std::string id;
  std::string message;
  std::string hint;
  std::optional<Where> where;

  /// `cluster.toml:4:7: rank is empty, expected an integer`
  [[nodiscard]] std::string to_string() const;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

/// Wraps an error for return from any function that returns a `Result`.
[[nodiscard]] inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace cox

#define COX_CAT2(a, b) a##b
#define COX_CAT(a, b) COX_CAT2(a, b)
// NOLINTBEGIN(bugprone-macro-parentheses): `tmp` and `decl` are names being declared
#define COX_TRY_IMPL(tmp, decl, expr)                   \
  auto tmp = (expr);                                    \
  if (!tmp) return ::cox::fail(std::move(tmp).error()); \
  decl = *std::move(tmp)
// NOLINTEND(bugprone-macro-parentheses)
/// `COX_TRY(auto file, open(path))`: the value, or an early return of the error.
#define COX_TRY(decl, expr) COX_TRY_IMPL(COX_CAT(cox_try_, __COUNTER__), decl, expr)
/// The same for a `Status`, which has no value. One statement: an `else` behind it belongs to the `if`
/// before.
#define COX_CHECK(expr)                                                                              \
  do {                                                                                               \
    if (auto cox_status_ = (expr); !cox_status_) return ::cox::fail(std::move(cox_status_).error()); \
  } while (false)
