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

void StepRate::update(double done, double total) {
  const auto now = clock_();
  const bool last = done >= total;
  // In a log, work that nobody asked to watch says a line every so often as it was waited for.
  const auto pause = terminal_ ? milliseconds(200) : std::max<milliseconds>(patience_, milliseconds(1000));
  if (!last && now - drawn_ < pause) return;
  if (!drew_ && (now - start_ < patience_ || (last && patience_.count() > 0))) return;
  drawn_ = now;
  drew_ = true;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = seconds > 0 ? done / seconds : 0;
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
