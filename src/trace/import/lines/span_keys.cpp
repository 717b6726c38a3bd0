// SPDX-License-Identifier: Apache-2.0
#include "trace/import/lines/span_keys.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "trace/import/bytes/one_of.hpp"

namespace cox::trace {
namespace {

constexpr std::size_t kLongestKey = 128;

std::vector<std::string_view> words_of(std::string_view key) {
  std::vector<std::string_view> words;
  while (!key.empty()) {
    const std::size_t end = std::min(key.find('_'), key.size());
    if (end > 0) words.push_back(key.substr(0, end));
    key.remove_prefix(std::min(end + 1, key.size()));
  }
  return words;
}

SpanPart part_of(std::string_view word) {
  static constexpr std::array<std::string_view, 5> kStart{"start", "begin", "started", "begun", "t0"};
  static constexpr std::array<std::string_view, 6> kEnd{"end", "stop", "finish", "finished", "ended", "t1"};
  static constexpr std::array<std::string_view, 5> kLength{"duration", "dur", "elapsed", "took", "latency"};
  if (is_one_of(word, kStart)) return SpanPart::Start;
  if (is_one_of(word, kEnd)) return SpanPart::End;
  return is_one_of(word, kLength) ? SpanPart::Length : SpanPart::None;
}

}  // namespace

std::string plain_key(std::string_view key) {
  if (const std::size_t dot = key.rfind('.'); dot != std::string_view::npos) key.remove_prefix(dot + 1);
  std::string out;
  bool small = false;
  for (const char c : key.substr(0, kLongestKey)) {
    const bool capital = c >= 'A' && c <= 'Z';
    if (capital && small) out += '_';
    small = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    out += static_cast<char>(capital                                          ? c - 'A' + 'a'
                             : (c == ' ' || c == '-' || c == '(' || c == ')') ? '_'
                                                                              : c);
  }
  while (out.ends_with('_')) out.pop_back();
  return out;
}

std::optional<Seconds> unit_named(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, double>, 24> kUnits{{{"s", 1},
                                                                               {"sec", 1},
                                                                               {"secs", 1},
                                                                               {"second", 1},
                                                                               {"seconds", 1},
                                                                               {"ms", 1e-3},
                                                                               {"msec", 1e-3},
                                                                               {"msecs", 1e-3},
                                                                               {"millis", 1e-3},
                                                                               {"millisecond", 1e-3},
                                                                               {"us", 1e-6},
                                                                               {"usec", 1e-6},
                                                                               {"usecs", 1e-6},
                                                                               {"micros", 1e-6},
                                                                               {"microsecond", 1e-6},
                                                                               {"ns", 1e-9},
                                                                               {"nsec", 1e-9},
                                                                               {"nano", 1e-9},
                                                                               {"nanos", 1e-9},
                                                                               {"nanosecond", 1e-9},
                                                                               {"nanoseconds", 1e-9},
                                                                               {"microseconds", 1e-6},
                                                                               {"milliseconds", 1e-3},
                                                                               {"nsecs", 1e-9}}};
  for (const auto& [text, seconds] : kUnits)
    if (text == name) return Seconds(seconds);
  return std::nullopt;
}

SpanKey span_key(std::string_view key) {
  static constexpr std::array<std::string_view, 7> kFiller{"time", "timestamp", "ts",  "at",
                                                           "unix", "epoch",     "wall"};
  const std::string plain = plain_key(key);
  std::vector<std::string_view> words = words_of(plain);
  SpanKey out;
  if (words.empty() || words.size() > 8) return out;
  if (words.size() > 1) out.unit = unit_named(words.back());
  if (out.unit) words.pop_back();
  const auto filler = [&] { return !words.empty() && is_one_of(words.back(), kFiller); };
  bool stamp = false;
  while (filler()) {
    stamp = true;
    words.pop_back();
  }
  if (words.empty()) {
    out.part = stamp ? SpanPart::Stamp : SpanPart::None;
    return out;
  }
  out.part = part_of(words.back());
  // `ts_start`, `time_start`; else what stands in front of the word names the span: `comp_start`.
  std::size_t first = 0;
  while (first + 1 < words.size() && (is_one_of(words[first], kFiller) || words[first] == "t")) ++first;
  if (out.part == SpanPart::None) {
    // `step_time`, `iteration_time_ms`: a length by what it is the time of.
    static constexpr std::array<std::string_view, 4> kSteps{"step", "iter", "iteration", "batch"};
    if (stamp && is_one_of(words.back(), kSteps) && plain.find("time") != std::string::npos &&
        plain.find("stamp") == std::string::npos) {
      out.part = SpanPart::Length;
      out.prefix = words.back();
    }
    return out;
  }
  for (std::size_t i = first; i + 1 < words.size(); ++i)
    out.prefix += (out.prefix.empty() ? "" : "_") + std::string(words[i]);
  return out;
}

}  // namespace cox::trace
