// SPDX-License-Identifier: Apache-2.0
#include "cli/output/failure.hpp"

#include <fmt/format.h>

#include <utility>

#include "cox/report/terminal.hpp"

namespace cox::cli {

std::string describe(const Error& error, bool color) {
  const char* on = color ? "\x1b[1;31m" : "";
  const char* off = color ? "\x1b[0m" : "";
  std::string text = fmt::format("{}cox:{} {}", on, off, report::terminal_text(error.to_string()));
  if (!error.id.empty()) text += fmt::format(" [{}]", error.id);
  text += '\n';
  if (!error.hint.empty()) text += fmt::format("  hint: {}\n", report::terminal_text(error.hint));
  return text;
}

ExitCode exit_code_of(Errc code) {
  switch (code) {
    case Errc::Usage:
      return ExitCode::Usage;
    case Errc::InvalidInput:
    case Errc::NotFound:
    case Errc::Unsupported:
      return ExitCode::BadInput;
    case Errc::Io:
    case Errc::Timeout:
      return ExitCode::Environment;
    case Errc::Infeasible:
      return ExitCode::BadAnswer;
  }
  return ExitCode::Bug;
}

ExitCode observe_exit_code_of(const Error& error) {
  if (error.id == "observe-003") return ExitCode::NotFound;
  if (error.id == "observe-004") return ExitCode::NotExecutable;
  return ExitCode::ObserveFailed;
}

Error usage_error(const char* id, std::string message, std::string hint) {
  return Error{
      .code = Errc::Usage, .id = id, .message = std::move(message), .hint = std::move(hint), .where = {}};
}

}  // namespace cox::cli
