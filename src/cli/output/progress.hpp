// SPDX-License-Identifier: Apache-2.0
/// \file
/// Says how far long work has come.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <ostream>
#include <string>

namespace cox::cli {

/// How progress is shown.
enum class ProgressStyle : std::uint8_t {
  Off,
  Lines,  ///< one line per 10 %
  Bar,    ///< one line that redraws itself, on a terminal
};

/// Progress of one piece of work on one stream. Silent for the first half second: short work says nothing.
///
/// Threads: `update` may be called from any thread. Lifetime: the stream must outlive it; the destructor
/// removes the bar. Held by: src/cli/output/progress_test.cpp, tests/e2e/terminal.
class Progress {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  Progress(
      std::ostream& stream, ProgressStyle style, std::string label,
      Clock clock = [] { return std::chrono::steady_clock::now(); });
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  /// `done` of `total` units of work; a total of 0 or less says nothing.
  void update(std::int64_t done, std::int64_t total);
  /// Removes the bar; further updates are ignored.
  void finish();

 private:
  void draw_bar(int hundredths);

  std::ostream& stream_;
  ProgressStyle style_;
  std::string label_;
  Clock clock_;
  std::chrono::steady_clock::time_point start_;
  std::mutex mutex_;
  int last_percent_ = -1;
  bool bar_visible_ = false;
};

}  // namespace cox::cli
