// SPDX-License-Identifier: Apache-2.0
/// \file
/// `--watch`: how far a simulation has come, and how fast it goes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

namespace cox::cli {

/// One line that redraws itself on a terminal, else a line a second: `1,200 of 10,000 steps, 4,100 steps/s`.
/// Threads: one caller. Held by: src/cli/output/step_rate_test.cpp
class StepRate {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  StepRate(
      std::ostream& stream, bool terminal, std::string unit = "steps",
      Clock clock = [] { return std::chrono::steady_clock::now(); });
  /// `done` of `total`; draws at most five times a second on a terminal,
  /// once a second elsewhere, and at the end.
  void update(std::int64_t done, std::int64_t total);

 private:
  std::ostream& stream_;
  bool terminal_;
  std::string unit_;
  Clock clock_;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point drawn_;
};

}  // namespace cox::cli
