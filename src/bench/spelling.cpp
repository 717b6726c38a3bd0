// SPDX-License-Identifier: Apache-2.0
#include "bench/spelling.hpp"

#include <fmt/format.h>

namespace cox::bench {
namespace {

/// Without zeros at the end of a fraction.
std::string trimmed(double value, int digits) {
  std::string text = fmt::format("{:.{}f}", value, digits);
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace

std::string spell_time(Seconds s) {
  const double seconds = s.count();
  if (seconds < 1e-6) return trimmed(seconds * 1e9, 3) + "ns";
  if (seconds < 1e-3) return trimmed(seconds * 1e6, 3) + "us";
  if (seconds < 1) return trimmed(seconds * 1e3, 6) + "ms";
  return trimmed(seconds, 9) + "s";
}

std::string spell_rate(Bandwidth w) {
  const double rate = w.in_bytes_per_s();
  if (rate < 1e6) return trimmed(rate * 1e-3, 6) + "kB/s";
  if (rate < 1e9) return trimmed(rate * 1e-6, 6) + "MB/s";
  return trimmed(rate * 1e-9, 6) + "GB/s";
}

std::string toml_string(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      quoted += fmt::format("\\{}", c);
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      quoted += c;
  }
  return quoted + '"';
}

}  // namespace cox::bench
