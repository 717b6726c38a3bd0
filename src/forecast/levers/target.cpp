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

/// A word up to white space, `*` or the end.
std::string_view next_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  if (!text.empty() && text.front() == '*') return std::exchange(text, text.substr(1)).substr(0, 1);
  const std::string_view word = text.substr(0, text.find_first_of(" \t*"));
  text.remove_prefix(word.size());
  return word;
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
  const auto figure = figure_from(next_word(left));
  if (!figure) return cannot(text, fmt::format("begins with no figure, wanted {}", kNames));
  out.figure = *figure;
  const std::string_view sign = next_word(left);
  if (sign != "<=" && sign != ">=")
    return cannot(
        text, fmt::format("wanted <= or >= behind {}", kFigures[static_cast<std::size_t>(*figure)].first));
  out.at_most = sign == "<=";
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
    if (!other) return cannot(text, fmt::format("compared with no figure, wanted baseline, {}", kNames));
    if (is_time(*other) != is_time(out.figure)) return cannot(text, "compares a time with what is none");
    if (!is_time(out.figure) && *other != out.figure)
      return cannot(text, "compares two figures of different kinds");
    out.of = *other;
  }
  if (!next_word(left).empty()) return cannot(text, "goes on behind its end");
  return out;
}

}  // namespace cox::forecast
