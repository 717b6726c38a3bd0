// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "forecast/levers/levers.hpp"

namespace cox::forecast {
namespace {

constexpr std::array<std::pair<std::string_view, Target::Figure>, 8> kFigures = {{
    {"mean", Target::Figure::Mean},
    {"median", Target::Figure::Median},
    {"p95", Target::Figure::P95},
    {"p99", Target::Figure::P99},
    {"cv", Target::Figure::Cv},
    {"throughput", Target::Figure::Throughput},
    {"cost", Target::Figure::Cost},
    {"energy", Target::Figure::Energy},
}};

std::optional<Target::Figure> figure_from(std::string_view word) {
  for (const auto& [name, figure] : kFigures)
    if (name == word) return figure;
  return std::nullopt;
}

bool is_time(Target::Figure f) {
  return f == Target::Figure::Mean || f == Target::Figure::Median || f == Target::Figure::P95 ||
         f == Target::Figure::P99;
}

/// A word up to white space, `*`, a sign of comparison or the end; or one of these signs.
std::string_view next_word(std::string_view& text) {
  constexpr std::string_view kSigns = "<>=";
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  if (text.empty()) return text;
  std::size_t length = text.find_first_of(" \t*<>=");
  if (text.front() == '*') length = 1;
  if (kSigns.find(text.front()) != std::string_view::npos) length = text.find_first_not_of(kSigns);
  const std::string_view word = text.substr(0, length);
  text.remove_prefix(word.size());
  return word;
}

/// A limit itself is reached by nobody, so `<` is `<=`.
bool is_at_most(std::string_view sign) {
  return sign == "<=" || sign == "<";
}
bool is_at_least(std::string_view sign) {
  return sign == ">=" || sign == ">";
}

tl::unexpected<Error> cannot(std::string_view text, std::string_view why) {
  return fail(
      {.code = Errc::Usage,
       .id = "forecast-033",
       .message = fmt::format("target \"{}\": {}", text.substr(0, 80), why),
       .hint = "say for example \"p99 <= 1.2 * median\", \"cv <= 0.05\" or \"throughput >= 1.1 * baseline\"",
       .where = std::nullopt});
}

}  // namespace

Result<Target> parse_target(std::string_view text) {
  constexpr std::string_view kNames = "mean, median, p95, p99, cv, throughput, cost or energy";
  std::string_view left = text;
  Target out;
  out.text = std::string(text.substr(0, 200));
  const std::string_view name = next_word(left);
  const auto figure = figure_from(name);
  if (!figure)
    return cannot(text,
                  fmt::format("begins with '{}', which is no figure, wanted {}", name.substr(0, 40), kNames));
  out.figure = *figure;
  const std::string_view sign = next_word(left);
  if (!is_at_most(sign) && !is_at_least(sign))
    return cannot(text, fmt::format("got '{}' behind {}, wanted <= or >=", sign.substr(0, 40), name));
  out.at_most = is_at_most(sign);
  std::string_view word = next_word(left);
  double number = 1;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  const bool is_number = error == std::errc() && end == word.data() + word.size();
  if (is_number) {
    if (!(number > 0) || !std::isfinite(number)) return cannot(text, "wanted a number above 0");
    out.factor = number;
    const std::string_view star = next_word(left);
    if (!star.empty() && star != "*")
      return cannot(text, "wanted * and a figure, or nothing, behind the number");
    if (star.empty()) {
      if (is_time(out.figure)) return cannot(text, "a time is compared with another, as ratios have no unit");
      if (out.figure != Target::Figure::Cv) out.of_baseline = true;
      return out;
    }
    word = next_word(left);
  }
  if (word == "baseline") {
    out.of_baseline = true;
  } else {
    const auto other = figure_from(word);
    if (!other)
      return cannot(text, fmt::format("compared with '{}', which is no figure, wanted baseline, {}",
                                      word.substr(0, 40), kNames));
    if (is_time(*other) != is_time(out.figure)) return cannot(text, "compares a time with what is none");
    if (!is_time(out.figure) && *other != out.figure)
      return cannot(text, "compares two figures of different kinds");
    out.of = *other;
  }
  if (!next_word(left).empty()) return cannot(text, "goes on behind its end");
  return out;
}

}  // namespace cox::forecast
