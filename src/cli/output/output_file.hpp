// SPDX-License-Identifier: Apache-2.0
/// \file
/// A result that goes to a file: whole or not at all, and never over somebody's file without --force.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>

#include "cox/base/file.hpp"

#include "cli/frame/command.hpp"

namespace cox::cli {

/// Where a verb writes its result: standard output (no name, or `-`) or a file under its final name only once
/// all of it is there. Held by: src/cli/output/output_file_test.cpp
class Output {
 public:
  /// Errors: base-003 (a device or folder), base-005 (exists and `if_exists` is Fail),
  /// base-006 (cannot be made).
  [[nodiscard]] static Result<Output> open(const std::string& name, IfExists if_exists,
                                           std::ostream& standard);
  Output(Output&&) noexcept = default;
  Output& operator=(Output&&) = delete;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output();

  [[nodiscard]] std::ostream& stream() { return file_ ? *file_ : *standard_; }
  [[nodiscard]] bool is_file() const { return !path_.empty(); }
  /// Gives a file its name. Errors: base-006 (disk full), cli-006 (standard output is closed).
  [[nodiscard]] Status commit();

 private:
  Output() = default;
  std::filesystem::path path_;
  std::string temporary_;
  std::unique_ptr<std::ofstream> file_;  ///< null once committed
  std::ostream* standard_ = nullptr;
};

/// The same as a verb has it: --force replaces. Errors: also cli-003 where --json needs standard output too;
/// `what` is the result: `trace`.
[[nodiscard]] Result<Output> open_output(const std::string& name, std::string_view what,
                                         const Invocation& call, Console& console);

}  // namespace cox::cli
