// SPDX-License-Identifier: Apache-2.0
// Printed over computed: a row for every printed number of a study. Kinds do not matter, as a ratio has none.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "study/page/svg.hpp"

namespace cox::study {
namespace {

constexpr double kMargin = 21;
constexpr double kName = 292;  ///< names end here
constexpr double kFrom = 306;  ///< the axis of ratios
constexpr double kTo = 506;
constexpr double kPrinted = 612;  ///< two columns of numbers end here
constexpr double kOurs = 714;
constexpr double kRow = 18;
constexpr double kLine = 12;  ///< each further line of a row's text
constexpr double kHead = 30;  ///< first row of the legend
constexpr std::size_t kNameColumns = 46;
constexpr std::size_t kNumberColumns = 15;

/// A verdict's marker: colours as in other panels, and a shape that is told apart without one.
struct Sign {
  Verdict verdict;
  std::string_view colour;
  std::string_view shape;  ///< a path around 0, 0
  bool is_hollow = false;
};
constexpr std::string_view kCircle = "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z";
constexpr std::string_view kSquare = "M-4 -4h8v8h-8z";
constexpr std::string_view kDiamond = "M0 -5.5l5.5 5.5l-5.5 5.5l-5.5 -5.5z";
constexpr std::string_view kTriangle = "M0 -5.5l5 9h-10z";
constexpr std::array kSigns = {
    Sign{Verdict::Follows, "#009e73", kCircle},
    Sign{Verdict::FollowsWithOurs, "#009e73", kCircle, true},
    Sign{Verdict::Fitted, "#56b4e9", kSquare},
    Sign{Verdict::FitMisses, "#56b4e9", kTriangle},
    Sign{Verdict::AmongDraws, "#cc79a7", kDiamond},
    Sign{Verdict::TypedIn, "#56b4e9", kSquare, true},
    Sign{Verdict::NotWithOurs, "#d55e00", kTriangle, true},
    Sign{Verdict::DoesNotFollow, "#d55e00", kTriangle},
};

const Sign* sign_of(Verdict v) {
  const auto at = std::find_if(kSigns.begin(), kSigns.end(), [&](const Sign& s) { return s.verdict == v; });
  return at == kSigns.end() ? nullptr : at;
}

std::string mark(const Sign& s, double x, double y) {
  return fmt::format("<path class=\"mark\" transform=\"translate({:.1f} {:.1f})\" d=\"{}\" {}/>\n", x, y,
                     s.shape,
                     s.is_hollow ? fmt::format("fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"", s.colour)
                                 : fmt::format("fill=\"{}\"", s.colour));
}

std::string text_cell(const std::vector<std::string>& lines, double x, double y) {
  std::string out;
  for (const std::string& line : lines) {
    out +=
        fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", x, y + 4, escaped(line));
    y += kLine;
  }
  return out;
}

/// Where a printed number stands beside the computed one. A ratio that a logarithm does not show is at an end of the
/// axis, and `note` says why.
struct Place {
  double low = 1;
  double high = 1;
  std::string note{};
};

constexpr double kEnd = HUGE_VAL;

/// Positive ratios. One that is so far off that the others would be in one spot is at an end, with its number.
Place in_reach(double least, double most) {
  constexpr double kReach = 1000;
  Place out{least, most};
  if (least == 0) out.note = "from 0";
  const auto pull = [&](double& ratio) {
    if (ratio <= 0 || (ratio <= kReach * (1 + 1e-9) && ratio >= (1 - 1e-9) / kReach)) return;
    out.note = fmt::format("{:.2g}", ratio);
    ratio = ratio > 1 ? kEnd : 0;
  };
  pull(out.low);
  pull(out.high);
  return out;
}

std::optional<Place> place_of(const Printed& p, const Judged& j) {
  if (!j.computed) return std::nullopt;
  const double ours = j.computed->value.in_base_unit();
  const double low = p.value.value.in_base_unit();
  const double high = p.up_to ? p.up_to->value.in_base_unit() : low;
  if (ours == 0 && low == 0 && high == 0) return Place{1, 1, "both are 0"};
  if (ours == 0) return Place{kEnd, kEnd, "computed is 0"};
  const auto [least, most] = std::minmax({low / ours, high / ours});
  if (least == 0 && most == 0) return Place{0, 0, "printed is 0"};
  if (most <= 0) return Place{0, 0, "other sign"};
  if (least < 0) return Place{0, most, "from other sign"};
  return in_reach(least, most);
}

/// Ratios to pixels, to both sides of 1 as far as `least` and `most` need, and at least a fifth of the width.
class Ratios {
 public:
  Ratios(double least, double most) {
    const double below = round_above(1 / least);
    const double above = round_above(most);
    low_ = -std::log10(std::max(below, round_above(std::pow(above, 0.25))));
    high_ = std::log10(std::max(above, round_above(std::pow(below, 0.25))));
  }
  [[nodiscard]] double at(double ratio) const {
    if (ratio <= 0) return kFrom;
    if (std::isinf(ratio)) return kTo;
    return kFrom + std::clamp((std::log10(ratio) - low_) / (high_ - low_), 0.0, 1.0) * (kTo - kFrom);
  }
  /// 1, the ends, and round ones that have room between them.
  [[nodiscard]] std::vector<double> ticks() const {
    constexpr double kApart = 36;
    std::vector<double> out = {1};
    const auto add = [&](double tick) {
      const double x = at(tick);
      const bool inside = std::log10(tick) > low_ - 1e-9 && std::log10(tick) < high_ + 1e-9;
      if (inside &&
          std::none_of(out.begin(), out.end(), [&](double o) { return std::abs(at(o) - x) < kApart; }))
        out.push_back(tick);
    };
    add(std::pow(10, low_));
    add(std::pow(10, high_));
    for (const double digit : {1.0, 5.0, 2.0})
      for (int power = static_cast<int>(std::floor(low_)); power <= high_; ++power)
        add(digit * std::pow(10, power));
    for (const double tick : {0.9, 1.1}) add(tick);
    return out;
  }

 private:
  /// 1.25, or 1, 2 or 5 times a power of ten.
  static double round_above(double ratio) {
    const auto is_below = [&](double end) { return end < ratio * (1 - 1e-9); };
    if (!is_below(1.25)) return 1.25;
    const double power = std::pow(10, std::floor(std::log10(ratio)));
    for (const double digit : {1.0, 2.0, 5.0})
      if (!is_below(digit * power)) return digit * power;
    return 10 * power;
  }
  double low_ = 0;
  double high_ = 0;
};

Ratios ratios_of(const std::vector<std::optional<Place>>& places) {
  double least = 1;
  double most = 1;
  for (const auto& place : places)
    for (const double r : place ? std::array{place->low, place->high} : std::array{1.0, 1.0}) {
      if (r <= 0 || std::isinf(r)) continue;
      least = std::min(least, r);
      most = std::max(most, r);
    }
  return {least, most};
}

/// Marker, bar of a range and note of one number; of one that is compared with nothing, why.
std::string drawn(const std::optional<Place>& place, Verdict verdict, const Ratios& ratios, double y) {
  const Sign* sign = sign_of(verdict);
  const auto text = [&](double x, std::string_view what, bool before) {
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", x, y + 4,
                       before ? " text-anchor=\"end\"" : "", escaped(what));
  };
  if (!place || sign == nullptr) return text(kFrom + 9, name_of(verdict), false);
  const double low = ratios.at(place->low);
  const double high = ratios.at(place->high);
  std::string out;
  if (place->low != place->high)
    out +=
        fmt::format(
            "<rect class=\"range\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"3\" fill=\"{}\"/>\n",
            low, y - 1.5, high - low, sign->colour) +
        mark(*sign, low, y);
  out += mark(*sign, high, y);
  if (place->note.empty()) return out;
  const bool before = high > (kFrom + kTo) / 2 + 1;
  return out + text(before ? low - 9 : high + 9, place->note, before);
}

/// The verdicts that occur, each with its marker; `y` moves to the last row.
std::string legend(const AnsweredStudy& a, double& y) {
  std::string out;
  double x = kMargin;
  for (const Sign& s : kSigns) {
    if (std::none_of(a.judged.begin(), a.judged.end(),
                     [&](const Judged& j) { return j.verdict == s.verdict && j.computed; }))
      continue;
    const double wide = 34 + 6.6 * static_cast<double>(name_of(s.verdict).size());
    if (x > kMargin && x + wide > kPictureWidth) {
      x = kMargin;
      y += 16;
    }
    out += mark(s, x, y) +
           fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x + 10, y + 4, name_of(s.verdict));
    x += wide;
  }
  return out;
}

/// What stands above the rows, and the lines through them down to `bottom`.
std::string scale(const Ratios& ratios, double y, double bottom) {
  std::string out = fmt::format(
      "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">printed</text>\n<text x=\"{}\" y=\"{:.1f}\" "
      "text-anchor=\"end\">computed</text>\n",
      kPrinted, y, kOurs, y);
  for (const double tick : ratios.ticks())
    out += fmt::format(
        "<text x=\"{0:.1f}\" y=\"{1:.1f}\" text-anchor=\"middle\">{2:.6g}</text>\n<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" "
        "y1=\"{3:.1f}\" y2=\"{4:.1f}\" stroke=\"currentColor\" stroke-opacity=\"{5}\"/>\n",
        ratios.at(tick), y, tick, y + 5, bottom, tick == 1 ? "0.8" : "0.15");
  return out;
}

}  // namespace

Panel printed_panel(const AnsweredStudy& a) {
  if (a.judged.empty()) return {};
  std::vector<std::optional<Place>> places;
  for (std::size_t i = 0; i < a.judged.size(); ++i)
    places.push_back(place_of(a.study.printed[i], a.judged[i]));
  const Ratios ratios = ratios_of(places);
  double y = kHead + 4;
  const std::string signs = legend(a, y);
  const double head = y + 24;
  y = head + 18;
  std::string rows;
  for (std::size_t i = 0; i < a.judged.size(); ++i) {
    const Printed& p = a.study.printed[i];
    const Judged& j = a.judged[i];
    const std::string ours = j.computed ? text_like(j.computed->value, p.value) : "-";
    const auto name = broken(p.name, kNameColumns);
    const auto printed = broken(p.text(), kNumberColumns);
    const auto computed = broken(ours, kNumberColumns);
    rows += fmt::format("<g class=\"printed\"><title>{}: printed {}, computed {}, {}</title>\n{}{}{}{}</g>\n",
                        escaped(p.name), escaped(p.text()), escaped(ours), name_of(j.verdict),
                        text_cell(name, kName, y), drawn(places[i], j.verdict, ratios, y),
                        text_cell(printed, kPrinted, y), text_cell(computed, kOurs, y));
    y += kRow + kLine * static_cast<double>(std::max({name.size(), printed.size(), computed.size()}) - 1);
  }
  return {fmt::format(
              "<text x=\"16\" y=\"18\" font-size=\"14\" font-weight=\"bold\">Printed over computed</text>\n"
              "<g font-size=\"11\">\n{}{}{}</g>\n",
              signs, scale(ratios, head, y - 8), rows),
          y + 6};
}

}  // namespace cox::study
