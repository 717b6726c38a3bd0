// SPDX-License-Identifier: Apache-2.0
#include "cli/output/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cox/base/number_text.hpp"

namespace cox::cli {
namespace {

constexpr auto kSilence = std::chrono::milliseconds(500);
constexpr int kBarWidth = 30;
constexpr int kLineStep = 10;  // percent

std::string text_of(int hundredths) {
  return percent(hundredths / 100.0, PartDigits::Whole);
}

}  // namespace

Progress::Progress(std::ostream& stream, ProgressStyle style, std::string label, Clock clock)
    : stream_(stream), style_(style), label_(std::move(label)), clock_(std::move(clock)), start_(clock_()) {}

Progress::~Progress() {
  finish();
}

void Progress::update(std::int64_t done, std::int64_t total) {
  if (total <= 0) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (style_ == ProgressStyle::Off || clock_() - start_ <= kSilence) return;
  const double share =
      static_cast<double>(std::clamp<std::int64_t>(done, 0, total)) / static_cast<double>(total);
  const int hundredths = static_cast<int>(share * 100);
  if (style_ == ProgressStyle::Bar) {
    if (hundredths != last_percent_) draw_bar(hundredths);
    last_percent_ = hundredths;
    return;
  }
  // Work that comes back from several threads may report out of order; lines only ever go up.
  const int tenth = hundredths / kLineStep * kLineStep;
  if (tenth <= last_percent_ || tenth == 0) return;
  last_percent_ = tenth;
  stream_ << fmt::format("cox: {} {}\n", label_, text_of(tenth)) << std::flush;
}

void Progress::draw_bar(int hundredths) {
  const int filled = hundredths * kBarWidth / 100;
  stream_ << fmt::format("\r{} [{:#<{}}{:.<{}}] {:>5}", label_, "", filled, "", kBarWidth - filled,
                         text_of(hundredths))
          << std::flush;
  bar_visible_ = true;
}

void Progress::finish() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (bar_visible_) stream_ << "\r\x1b[K" << std::flush;
  bar_visible_ = false;
  style_ = ProgressStyle::Off;
}

}  // namespace cox::cli
