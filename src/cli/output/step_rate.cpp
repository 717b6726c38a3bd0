// SPDX-License-Identifier: Apache-2.0
#include "cli/output/step_rate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cox/base/units_text.hpp"

namespace cox::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSettled{1000};  ///< from then on a rate says something

}  // namespace

StepRate::StepRate(std::ostream& stream, bool terminal, std::string unit, std::chrono::seconds patience,
                   Clock clock)
    : stream_(stream),
      terminal_(terminal),
      unit_(std::move(unit)),
      patience_(patience),
      clock_(std::move(clock)),
      start_(clock_()),
      drawn_(start_) {}

void StepRate::say(const std::string& text) {
  if (text.empty()) return;
  if (terminal_)
    stream_ << "\rhint: " << text << "\x1b[K\n" << std::flush;
  else
    stream_ << "cox: hint: " << text << '\n' << std::flush;
}

void StepRate::update(double done, double total) {
  const auto now = clock_();
  const bool last = done >= total;
  // In a log, work that nobody asked to watch says a line every so often as it was waited for.
  const auto pause = terminal_ ? milliseconds(200) : std::max<milliseconds>(patience_, milliseconds(1000));
  if (!last && now - drawn_ < pause) return;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = seconds > 0 ? done / seconds : 0;
  const auto exceeds = [&](std::chrono::seconds limit) {
    return rate > 0 && total / rate > std::chrono::duration<double>(limit).count();
  };
  const bool is_clear = terminal_ && now - start_ >= kSettled && exceeds(patience_);
  if (!drew_ && ((now - start_ < patience_ && !is_clear) || (last && patience_.count() > 0))) return;
  drawn_ = now;
  drew_ = true;
  if (hint_ && !last && exceeds(kLong)) say(std::exchange(hint_, {})());
  // Whole steps, or the part of one that a long one has come.
  const int digits = done == std::floor(done) || done >= 100 ? 0 : 2;
  std::string line =
      fmt::format("{:.{}f} of {:.0f} {}, {:.3g} {}/s", done, digits, total, unit_, rate, unit_);
  if (!last && rate > 0) line += fmt::format(", about {} left", to_string(Seconds{(total - done) / rate}));
  if (terminal_)
    stream_ << '\r' << line << "\x1b[K" << (last ? "\n" : "") << std::flush;
  else
    stream_ << "cox: " << line << '\n' << std::flush;
}

}  // namespace cox::cli
