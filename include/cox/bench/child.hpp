// SPDX-License-Identifier: Apache-2.0
/// \file
/// Programs that are measured, or that measure for us: started, read and waited for.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"

namespace cox::bench {

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
  Seconds time{600};                               ///< then it gets SIGKILL
  std::size_t out_bytes = std::size_t{64} << 20U;  ///< then too
};

/// Starts `command` (found in PATH), reads what it prints and waits. Standard input is empty; standard error
/// is ours. Errors: bench-006 (cannot be started; took too long; printed too much). A status other than 0 is
/// no error. Held by: src/bench/child_test.cpp
[[nodiscard]] Result<Ended> run_child(const std::vector<std::string>& command,
                                      const ChildLimits& limits = {});

/// Several at once, all with the same limits; the results are in the order of the commands.
[[nodiscard]] Result<std::vector<Ended>> run_children(const std::vector<std::vector<std::string>>& commands,
                                                      const ChildLimits& limits = {});

/// Whether a program of this name is in PATH.
[[nodiscard]] bool in_path(const std::string& program);

}  // namespace cox::bench
