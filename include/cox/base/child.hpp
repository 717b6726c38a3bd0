// SPDX-License-Identifier: Apache-2.0
/// \file
/// Programs that are started, read and waited for. (`cox observe` starts its job another way: it passes
/// signals on, and the job keeps its terminal.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"

namespace cox {

/// What a program that has ended left.
struct Ended {
  int status = 0;     ///< exit status; 128 + signal where one ended it
  std::string out{};  ///< its standard output
  Seconds user{};     ///< processor time of it and of the children that it waited for
  Seconds system{};
  Seconds wall{};
  Bytes peak_memory{};  ///< largest resident set of it or of one of those children
};

struct ChildLimits {
  Seconds time{600};                                                         ///< then it gets SIGKILL
  std::size_t out_bytes = std::size_t{64} << 20U;                            ///< then too
  enum class Errors : std::uint8_t { Ours, Nowhere } errors = Errors::Ours;  ///< where standard error goes
  std::string input{};                                                       ///< its standard input
  std::function<bool()> stop{};  ///< asked five times a second; true: it gets SIGTERM, once
  std::function<void(std::string_view)>
      hear{};  ///< gets its standard output as it comes, in pieces of any length
};

/// Words as `exec` takes them, null at the end; they stay those of `command`.
[[nodiscard]] std::vector<char*> argument_list(const std::vector<std::string>& command);
/// Of what `waitpid` told: the exit status, or 128 + signal where one ended the process, as a shell has it.
[[nodiscard]] int exit_status_of(int wait_status);

/// A process that was started with SIGCHLD ignored hears of no child's end: from the first call on it does. Threads: any.
void hear_of_children();
/// Puts that back, between fork and exec of a program that is not ours.
void restore_child_signal();

/// Starts `command` (found in PATH), reads what it prints and waits.
/// Errors: `error_id`, the caller's, who knows what the program is for (cannot be started; took too long;
/// printed too much). A status other than 0 is no error. Held by: src/base/child_test.cpp
[[nodiscard]] Result<Ended> run_child(const std::vector<std::string>& command, std::string_view error_id,
                                      const ChildLimits& limits = {});

/// Several at once, all with the same limits; the results are in the order of the commands.
[[nodiscard]] Result<std::vector<Ended>> run_children(const std::vector<std::vector<std::string>>& commands,
                                                      std::string_view error_id,
                                                      const ChildLimits& limits = {});

/// A word as a shell has to be told it: quoted where it would take it apart. Held by: src/base/child_test.cpp
[[nodiscard]] std::string shell_word(std::string_view word);

/// Whether a program of this name is in PATH.
[[nodiscard]] bool in_path(const std::string& program);

}  // namespace cox
