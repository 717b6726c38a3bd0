// SPDX-License-Identifier: Apache-2.0
// Pictures as SVG: axes and text take the colour of the page, series colours
// are readable on white and on black.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "cox/study/write.hpp"

namespace cox::study {
namespace {

constexpr double kWidth = 720;
constexpr double kHeight = 360;
constexpr double kLeft = 70;
constexpr double kRight = 700;
constexpr double kTop = 50;
constexpr double kBottom = 300;
// Okabe and Ito 2008: told apart by the colour blind; mid lightness.
constexpr std::size_t kMostMarkers = 30;  ///< of a series, about; more would be a band
constexpr std::array kColours = {"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"};

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += c;
    }
  }
  return out;
}

/// Maps values to pixels, linear or logarithmic, with round ticks.
class Axis {
 public:
  Axis(double least, double most, bool is_log, double from, double to)
      : is_log_(is_log && least > 0), from_(from), to_(to) {
    low_ = is_log_ ? std::floor(std::log10(least) + 1e-9) : std::min(0.0, least);
    high_ = is_log_ ? std::ceil(std::log10(most) - 1e-9) : most;
    if (high_ <= low_) high_ = low_ + 1;
    step_ = is_log_ ? std::max(1.0, std::ceil((high_ - low_) / 6)) : round_step((high_ - low_) / 5);
    if (is_log_) return;
    high_ = std::ceil(high_ / step_ - 1e-9) * step_;
    low_ = std::floor(low_ / step_ + 1e-9) * step_;
  }
  [[nodiscard]] double at(double value) const {
    const double v = is_log_ ? std::log10(value) : value;
    return from_ + (v - low_) / (high_ - low_) * (to_ - from_);
  }
  [[nodiscard]] std::vector<double> ticks() const {
    std::vector<double> out;
    const int count = static_cast<int>((high_ - low_) / step_ + 1.5);
    for (int i = 0; i < count; ++i) {
      const double v = low_ + i * step_;
      if (v <= high_ + 1e-9 * std::abs(high_)) out.push_back(is_log_ ? std::pow(10, v) : v);
    }
    return out;
  }

 private:
  /// 1, 2 or 5 times a power of ten, at least `raw`.
  static double round_step(double raw) {
    const double power = std::pow(10, std::floor(std::log10(raw)));
    for (const double k : {1.0, 2.0, 5.0})
      if (k * power >= raw * (1 - 1e-9)) return k * power;
    return 10 * power;
  }
  bool is_log_;
  double low_;
  double high_;
  double step_ = 1;
  double from_;
  double to_;
};

std::string tick_text(double v) {
  if (std::abs(v) < 1e-12) return "0";
  return fmt::format("{:.6g}", v);
}

struct Range {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();
  void take(double v) {
    if (!std::isfinite(v)) return;
    least = std::min(least, v);
    most = std::max(most, v);
  }
};

std::string y_axis_of(const Axis& y, const Picture& p) {
  std::string out;
  for (const double v : y.ticks())
    out += fmt::format(
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"currentColor\" "
        "stroke-opacity=\"0.15\"/>\n<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
        kLeft, kRight, y.at(v), kLeft - 6, y.at(v) + 4, tick_text(v));
  return out +
         fmt::format("<text transform=\"rotate(-90)\" x=\"{}\" y=\"16\" text-anchor=\"middle\">{}</text>\n",
                     -(kTop + kBottom) / 2, escaped(p.y_label));
}

/// A point of series `i`: each has its own shape, so that curves on top of each other are still told apart.
/// The first of `count` series is the largest, so that a later one on top of it leaves a rim.
double weight_of(std::size_t i, std::size_t count) {
  constexpr std::size_t kMost = 4;
  return static_cast<double>(std::min(kMost, count) - std::min(i + 1, std::min(kMost, count)));
}

std::string marker_of(const Series& s, std::size_t i, std::size_t count, double x, double y) {
  const std::string_view colour = kColours[i % kColours.size()];
  const std::string style = s.is_printed
                                ? fmt::format("fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"", colour)
                                : fmt::format("fill=\"{}\"", colour);
  const double radius = 4 + 0.7 * weight_of(i, count);
  const double side = radius * 1.25;
  switch (i % 4) {
    case 0:
      return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" {}/>\n", x, y, radius, style);
    case 1:
      return fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" {}/>\n",
                         x - radius, y - radius, 2 * radius, 2 * radius, style);
    case 2:
      return fmt::format("<path d=\"M{:.1f} {:.1f}l{:.1f} {:.1f}h-{:.1f}z\" {}/>\n", x, y - 1.16 * side, side,
                         1.74 * side, 2 * side, style);
    default:
      return fmt::format(
          "<path d=\"M{0:.1f} {1:.1f}l{2:.1f} {2:.1f}l-{2:.1f} {2:.1f}l-{2:.1f} -{2:.1f}z\" {3}/>\n", x,
          y - side, side, style);
  }
}

/// What a name takes of a legend's row, with its marker and room behind it.
double legend_width(const Series& s) {
  return 30 + 6.6 * static_cast<double>(s.name.size());
}

/// One row, or two where the names are too long for it.
std::string legend_of(const Picture& p) {
  std::string out;
  if (p.series.size() < 2) return out;
  double whole = 0;
  for (const Series& s : p.series) whole += legend_width(s);
  double x = kLeft;
  double y = whole > kRight - kLeft ? 29 : 35;
  for (std::size_t i = 0; i < p.series.size(); ++i) {
    if (x > kLeft && x + legend_width(p.series[i]) > kRight + 30) {
      x = kLeft;
      y += 14;
    }
    if (p.kind == Picture::Kind::Lines || p.series[i].is_printed)
      out += marker_of(p.series[i], i, p.series.size(), x + 5, y);
    else
      out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"10\" height=\"10\" fill=\"{}\"/>\n", x, y - 5,
                         kColours[i % kColours.size()]);
    out += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", x + 14, y + 4, escaped(p.series[i].name));
    x += legend_width(p.series[i]);
  }
  return out;
}

/// Points in the order in which a line passes them.
std::vector<std::size_t> from_left(const Series& s) {
  std::vector<std::size_t> order(std::min(s.x.size(), s.y.size()));
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return s.x[a] < s.x[b]; });
  return order;
}

std::string lines_of(const Picture& p, const Axis& x, const Axis& y) {
  std::string out;
  for (const double v : x.ticks())
    out += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x.at(v),
                       kBottom + 16, tick_text(v));
  for (std::size_t i = 0; i < p.series.size(); ++i) {
    const Series& s = p.series[i];
    std::string points;
    std::string markers;
    const std::vector<std::size_t> order = from_left(s);
    const std::size_t every = order.size() / kMostMarkers + 1;
    for (std::size_t k = 0; k < order.size(); ++k) {
      const double px = x.at(s.x[order[k]]);
      const double py = y.at(s.y[order[k]]);
      points += fmt::format("{}{:.1f},{:.1f}", k == 0 ? "" : " ", px, py);
      // Of long series some points are marked, each series at places of its own.
      if (k % every == i % every) markers += marker_of(s, i, p.series.size(), px, py);
    }
    out += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{:g}\"{}/>\n",
                       points, kColours[i % kColours.size()], 2 + 0.8 * weight_of(i, p.series.size()),
                       s.is_printed ? " stroke-dasharray=\"5 4\"" : "");
    out += markers;
  }
  return out;
}

std::string bars_of(const Picture& p, const Axis& y) {
  std::string out;
  const double room = (kRight - kLeft) / static_cast<double>(std::max<std::size_t>(p.categories.size(), 1));
  const auto bars =
      std::count_if(p.series.begin(), p.series.end(), [](const Series& s) { return !s.is_printed; });
  const double wide = room * 0.8 / static_cast<double>(std::max<std::ptrdiff_t>(bars, 1));
  for (std::size_t c = 0; c < p.categories.size(); ++c) {
    const double left = kLeft + room * (static_cast<double>(c) + 0.1);
    out += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", left + room * 0.4,
                       kBottom + 16, escaped(p.categories[c]));
    for (std::size_t i = 0; i < p.series.size(); ++i) {
      if (p.series[i].is_printed || c >= p.series[i].y.size()) continue;
      const double top = y.at(p.series[i].y[c]);
      out += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n",
                         left + wide * static_cast<double>(i), top, wide, std::max(0.0, kBottom - top),
                         kColours[i % kColours.size()]);
    }
  }
  // Printed values: a mark over the bar of its category, `x`.
  for (std::size_t i = 0; i < p.series.size(); ++i)
    for (std::size_t k = 0; p.series[i].is_printed && k < p.series[i].x.size(); ++k)
      out += marker_of(p.series[i], i, p.series.size(), kLeft + room * (p.series[i].x[k] + 0.5),
                       y.at(p.series[i].y[k]));
  return out;
}

/// One panel without its frame; empty where there is nothing to draw.
std::string panel_of(const Picture& p) {
  if (p.series.empty()) return {};
  Range xs;
  Range ys;
  for (const Series& s : p.series) {
    for (const double v : s.x) xs.take(v);
    for (const double v : s.y) ys.take(v);
  }
  if (!(ys.least <= ys.most)) return {};
  const Axis y(ys.least, ys.most, p.y_is_log, kBottom, kTop);
  std::string out = fmt::format("<text x=\"{}\" y=\"18\" font-size=\"14\" font-weight=\"bold\">{}</text>\n",
                                kLeft, escaped(p.title));
  out += legend_of(p) + y_axis_of(y, p);
  if (p.kind == Picture::Kind::Bars) {
    out += bars_of(p, y);
  } else {
    out += lines_of(p, Axis(xs.least, xs.most, p.x_is_log, kLeft, kRight), y);
  }
  return out +
         fmt::format(
             "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\" stroke=\"currentColor\"/>\n<text x=\"{3}\" "
             "y=\"{4}\" text-anchor=\"middle\">{5}</text>\n",
             kLeft, kRight, kBottom, (kLeft + kRight) / 2, kBottom + 38, escaped(p.x_label));
}

}  // namespace

std::string to_svg(const Picture& p) {
  const std::string first = panel_of(p);
  if (first.empty()) return {};
  std::string below;
  double height = kHeight;
  for (const Picture& further : p.below) {
    const std::string panel = panel_of(further);
    if (panel.empty()) continue;
    below += fmt::format("<g transform=\"translate(0 {})\">\n{}</g>\n", height, panel);
    height += kHeight;
  }
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\" "
             "font-family=\"sans-serif\" font-size=\"12\" fill=\"currentColor\">\n"
             "<style>svg{{color:#222}}@media(prefers-color-scheme:dark){{svg{{color:#ddd}}}}</style>\n",
             kWidth, height, escaped(p.title)) +
         first + below + "</svg>\n";
}

}  // namespace cox::study
