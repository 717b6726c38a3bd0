// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "cox/base/spelling.hpp"
#include "cox/learn/compressor.hpp"

namespace cox::learn {
namespace {

using Kind = CompressorKind;

struct KindRow {
  Kind kind;
  std::string_view name;
  std::string_view keys;  ///< those of its own, each followed by a blank
  FeedbackKind feedback;  ///< where the text does not say
};
constexpr std::array kKinds = {
    KindRow{Kind::Dense, "dense", "", FeedbackKind::None},
    KindRow{Kind::TopK, "top-k", "keep warm-up ", FeedbackKind::Error},
    KindRow{Kind::RandomK, "random-k", "keep warm-up scaled ", FeedbackKind::None},
    KindRow{Kind::Threshold, "threshold", "threshold ", FeedbackKind::Error},
    KindRow{Kind::Qsgd, "qsgd", "levels bucket ", FeedbackKind::None},
    KindRow{Kind::MaxScaled, "max-scaled", "levels bucket ", FeedbackKind::None},
    KindRow{Kind::TernGrad, "terngrad", "clip ", FeedbackKind::None},
    KindRow{Kind::Sign, "sign", "", FeedbackKind::Error},
    KindRow{Kind::SignRms, "sign-rms", "", FeedbackKind::Error},
    KindRow{Kind::PowerSgd, "powersgd", "rank ", FeedbackKind::Error},
    KindRow{Kind::Fp16, "fp16", "", FeedbackKind::None},
    KindRow{Kind::Bf16, "bf16", "", FeedbackKind::None},
    KindRow{Kind::E4m3Fn, "e4m3fn", "", FeedbackKind::None},
    KindRow{Kind::E5m2, "e5m2", "", FeedbackKind::None},
    // Another name of max-scaled, whose levels are 127 where nothing is said.
    KindRow{Kind::MaxScaled, "int8", "bucket ", FeedbackKind::None},
};
constexpr std::string_view kCommonKeys = "per feedback ";

/// A key whose value is a number.
struct NumberRow {
  std::string_view name;
  double low;  ///< open where `above`
  double high;
  bool above;
  bool whole;
  void (*set)(CompressorSpec&, double);
};
constexpr std::array kNumbers = {
    NumberRow{"keep", 0, 1, true, false, [](CompressorSpec& s, double v) { s.keep = v; }},
    NumberRow{"threshold", 0, 1e30, true, false, [](CompressorSpec& s, double v) { s.threshold = v; }},
    NumberRow{"levels", 1, 127, false, true,
              [](CompressorSpec& s, double v) { s.levels = static_cast<int>(v); }},
    NumberRow{"bucket", 0, 1e9, false, true,
              [](CompressorSpec& s, double v) { s.bucket = static_cast<std::int64_t>(v); }},
    NumberRow{"clip", 0, 1e6, false, false, [](CompressorSpec& s, double v) { s.clip = v; }},
    NumberRow{"rank", 1, 1024, false, true,
              [](CompressorSpec& s, double v) { s.rank = static_cast<int>(v); }},
    NumberRow{"warm-up", 0, 1e12, false, true,
              [](CompressorSpec& s, double v) { s.warm_up = static_cast<std::int64_t>(v); }},
};

/// A key whose value is one of a few words.
struct WordRow {
  std::string_view key;
  std::string_view word;
  void (*set)(CompressorSpec&);
};
constexpr std::array kWords = {
    WordRow{"per", "all", [](CompressorSpec& s) { s.by_tensor = false; }},
    WordRow{"per", "tensor", [](CompressorSpec& s) { s.by_tensor = true; }},
    WordRow{"scaled", "yes", [](CompressorSpec& s) { s.scaled = true; }},
    WordRow{"scaled", "no", [](CompressorSpec& s) { s.scaled = false; }},
    WordRow{"feedback", "none", [](CompressorSpec& s) { s.feedback = FeedbackKind::None; }},
    WordRow{"feedback", "error", [](CompressorSpec& s) { s.feedback = FeedbackKind::Error; }},
    WordRow{"feedback", "ef21", [](CompressorSpec& s) { s.feedback = FeedbackKind::Ef21; }},
};

tl::unexpected<Error> unreadable(std::string message, std::string hint) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "learn-020",
                    .message = std::move(message),
                    .hint = std::move(hint),
                    .where = {}});
}

/// The words of a list that is separated by blanks, as a sentence has them.
std::string in_sentence(std::string words) {
  if (!words.empty()) words.pop_back();
  for (std::size_t at = words.find(' '); at != std::string::npos; at = words.find(' ', at + 2))
    words.replace(at, 1, ", ");
  return words;
}

Status set_number(const NumberRow& row, std::string_view text, CompressorSpec& spec) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool read = error == std::errc{} && end == text.data() + text.size() && std::isfinite(value);
  const bool inside = read && value <= row.high && (row.above ? value > row.low : value >= row.low);
  if (!inside || (row.whole && value != std::floor(value)))
    return unreadable(
        fmt::format("compressor's {} is {}, expected a {} {} {} and at most {}", row.name, shown(text),
                    row.whole ? "whole number" : "number", row.above ? "above" : "from", row.low, row.high),
        fmt::format("write for example {}={}", row.name, row.whole ? 4 : 0.01));
  row.set(spec, value);
  return {};
}

Status set_word(std::string_view key, std::string_view text, CompressorSpec& spec) {
  std::string words;
  for (const WordRow& row : kWords) {
    if (row.key != key) continue;
    if (row.word == text) return row.set(spec), Status{};
    words += std::string(row.word) + ' ';
  }
  return unreadable(
      fmt::format("compressor's {} is {}, expected one of: {}", key, shown(text), in_sentence(words)),
      "choose one of these");
}

bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t at = 0; at < words.size(); at = words.find(' ', at) + 1)
    if (words.substr(at, words.find(' ', at) - at) == word) return true;
  return false;
}

Status set_key(const KindRow& kind, std::string_view said, CompressorSpec& spec) {
  const std::size_t equals = std::min(said.find('='), said.size());
  const std::string_view key = said.substr(0, equals);
  const std::string_view value = said.substr(std::min(equals + 1, said.size()));
  const std::string keys = std::string(kind.keys) + std::string(kCommonKeys);
  if (!has_word(keys, key))
    return unreadable(
        fmt::format("compressor {} has no {}, expected one of: {}", kind.name, shown(key), in_sentence(keys)),
        "write NAME,KEY=VALUE,...");
  const auto* number =
      std::find_if(kNumbers.begin(), kNumbers.end(), [&](const NumberRow& row) { return row.name == key; });
  return number == kNumbers.end() ? set_word(key, value, spec) : set_number(*number, value, spec);
}

const KindRow* named(std::string_view name) {
  const auto* row =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const KindRow& k) { return k.name == name; });
  return row == kKinds.end() ? nullptr : &*row;
}

}  // namespace

std::string_view name_of(CompressorKind kind) {
  return kKinds[static_cast<std::size_t>(kind)].name;
}

Result<CompressorSpec> read_compressor(std::string_view text) {
  const std::size_t name_end = std::min(text.find(','), text.size());
  const KindRow* const kind = named(text.substr(0, name_end));
  if (kind == nullptr) {
    std::string names;
    for (const KindRow& row : kKinds) names += std::string(row.name) + ' ';
    return unreadable(fmt::format("compressor is {}, expected one of: {}", shown(text.substr(0, name_end)),
                                  in_sentence(names)),
                      "write NAME or NAME,KEY=VALUE,...");
  }
  CompressorSpec spec{.kind = kind->kind, .feedback = kind->feedback};
  bool feedback_said = false;
  bool scaled_said = false;
  for (std::size_t at = name_end; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at + 1), text.size());
    const std::string_view said = text.substr(at + 1, end - at - 1);
    COX_CHECK(set_key(*kind, said, spec));
    feedback_said = feedback_said || said.starts_with("feedback=");
    scaled_said = scaled_said || said.starts_with("scaled=");
    at = end;
  }
  if (!feedback_said && spec.clip > 0) spec.feedback = FeedbackKind::Error;
  if (!scaled_said) spec.scaled = spec.feedback == FeedbackKind::None;
  if (spec.kind == Kind::RandomK && spec.scaled && spec.feedback != FeedbackKind::None)
    return unreadable("compressor random-k is scaled and has feedback: what is left would grow",
                      "leave out scaled=yes or feedback");
  return spec;
}

}  // namespace cox::learn
