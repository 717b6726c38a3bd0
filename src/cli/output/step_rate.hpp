// SPDX-License-Identifier: Apache-2.0
/// \file
/// How far a long piece of work has come, how fast it goes, and how long it will still take.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <utility>

namespace cox::cli {

/// One line that redraws itself on a terminal, else a line a second: `1200 of 10000 steps, 410 steps/s, about
/// 21.5 s left`. Nothing of work that is over within `patience`; on a terminal it begins as soon as it is clear that it will not be.
/// Threads: one caller. Held by: src/cli/output/step_rate_test.cpp
class StepRate {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  StepRate(
      std::ostream& stream, bool terminal, std::string unit = "steps", std::chrono::seconds patience = {},
      Clock clock = [] { return std::chrono::steady_clock::now(); });
  /// `done` of `total`; draws at most five times a second on a terminal,
  /// once a second elsewhere, and at the end.
  void update(double done, double total);
  /// What to say once, before the first line that says that the whole takes longer than `kLong`. Empty text: nothing.
  void when_long(std::function<std::string()> hint) { hint_ = std::move(hint); }
  static constexpr std::chrono::seconds kLong{10};

 private:
  void say(const std::string& text);

  std::ostream& stream_;
  bool terminal_;
  std::string unit_;
  std::chrono::seconds patience_;
  bool drew_ = false;
  std::function<std::string()> hint_;
  Clock clock_;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point drawn_;
};

}  // namespace cox::cli
