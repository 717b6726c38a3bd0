// SPDX-License-Identifier: Apache-2.0
// Pictures as SVG: axes and text take the colour of the page, series colours
// are readable on white and on black.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "cox/study/write.hpp"

#include "study/page/svg.hpp"

namespace cox::study {
namespace {

constexpr double kHeight = 360;
constexpr double kLeft = 70;
constexpr double kRight = 700;
constexpr double kTop = 50;
constexpr double kBottom = 300;
constexpr double kLine = 13;  ///< of a text
// Okabe and Ito 2008: told apart by the colour blind; mid lightness.
constexpr std::size_t kMostMarkers = 30;  ///< of a series, about; more would be a band
constexpr std::array kColours = {"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"};

/// Of the `i`-th series; what was printed has that of its curve.
std::string_view colour_of(const Series& s, std::size_t i) {
  return kColours[(s.curve >= 0 ? static_cast<std::size_t>(s.curve) : i) % kColours.size()];
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
  const std::string_view colour = colour_of(s, i);
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
    if (p.kind == Picture::Kind::Lines || p.y_is_log || p.series[i].is_printed)
      out += marker_of(p.series[i], i, p.series.size(), x + 5, y);
    else
      out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"10\" height=\"10\" fill=\"{}\"/>\n", x, y - 5,
                         colour_of(p.series[i], i));
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

/// A series in pixels, from left to right.
struct Path {
  std::vector<double> x;
  std::vector<double> y;
};

Path path_of(const Series& s, const Axis& x, const Axis& y) {
  Path out;
  for (const std::size_t k : from_left(s)) {
    out.x.push_back(x.at(s.x[k]));
    out.y.push_back(y.at(s.y[k]));
  }
  return out;
}

/// Whether `path` passes so close to a point that a line there hides it.
bool passes(const Path& path, double x, double y) {
  constexpr double kClose = 1.5;
  const auto right = std::lower_bound(path.x.begin(), path.x.end(), x - 0.05);
  if (right == path.x.end() || path.x.front() > x + 0.05) return false;
  const auto k = static_cast<std::size_t>(right - path.x.begin());
  const double wide = k == 0 ? 0 : path.x[k] - path.x[k - 1];
  const double share = wide > 0 ? std::clamp((x - path.x[k - 1]) / wide, 0.0, 1.0) : 1;
  const double there = k == 0 ? path.y[0] : path.y[k - 1] + share * (path.y[k] - path.y[k - 1]);
  return std::abs(there - y) < kClose;
}

/// Of the lines that lie on each other in a segment: how many, and how many of them are drawn before this one. The
/// first is drawn as if it were alone.
struct Pile {
  std::size_t before = 0;
  std::size_t all = 1;
  bool operator==(const Pile&) const = default;
};

Pile pile_of(const Picture& p, const std::vector<Path>& paths, std::size_t i, std::size_t k) {
  Pile pile;
  const Path& own = paths[i];
  for (std::size_t o = 0; o < paths.size(); ++o) {
    if (o == i || p.series[o].is_printed || !passes(paths[o], own.x[k], own.y[k]) ||
        !passes(paths[o], own.x[k + 1], own.y[k + 1]))
      continue;
    ++pile.all;
    if (o < i) ++pile.before;
  }
  return pile.before == 0 ? Pile{} : pile;
}

/// Points `from` to `to` of a path. Where lines lie on each other the first is whole, and each further one has dashes
/// at places of its own, so that all of them are seen.
std::string stretch_of(const Path& path, std::size_t from, std::size_t to, const Pile& pile,
                       std::string_view style) {
  constexpr std::size_t kDash = 8;
  std::string points;
  for (std::size_t k = from; k <= to; ++k)
    points += fmt::format("{}{:.1f},{:.1f}", k == from ? "" : " ", path.x[k], path.y[k]);
  const std::string dashes = pile.before == 0
                                 ? ""
                                 : fmt::format(" stroke-dasharray=\"{} {}\" stroke-dashoffset=\"-{}\"", kDash,
                                               kDash * (pile.all - 1), kDash * pile.before);
  return fmt::format("<polyline points=\"{}\" fill=\"none\" {}{}/>\n", points, style, dashes);
}

std::string curve_of(const Picture& p, const std::vector<Path>& paths, std::size_t i) {
  const std::string_view colour = colour_of(p.series[i], i);
  const Path& path = paths[i];
  const std::size_t last = path.x.size() - 1;
  if (p.series[i].is_printed)
    return stretch_of(path, 0, last, {},
                      fmt::format("stroke=\"{}\" stroke-width=\"1.5\" stroke-dasharray=\"5 4\"", colour));
  const std::string style =
      fmt::format("stroke=\"{}\" stroke-width=\"{:g}\"", colour, 2 + 0.8 * weight_of(i, p.series.size()));
  if (last == 0) return stretch_of(path, 0, 0, {}, style);
  std::string out;
  std::size_t from = 0;
  Pile pile = pile_of(p, paths, i, 0);
  for (std::size_t k = 1; k < last; ++k)
    if (const Pile next = pile_of(p, paths, i, k); !(next == pile)) {
      out += stretch_of(path, from, k, pile, style);
      from = k;
      pile = next;
    }
  return out + stretch_of(path, from, last, pile, style);
}

/// Of long series some points are marked, each series at places of its own.
std::string markers_of(const Picture& p, const Path& path, std::size_t i) {
  std::string out;
  const std::size_t every = path.x.size() / kMostMarkers + 1;
  for (std::size_t k = i % every; k < path.x.size(); k += every)
    out += marker_of(p.series[i], i, p.series.size(), path.x[k], path.y[k]);
  return out;
}

/// What was printed is drawn last, thin and dashed: the curve below it stays in sight.
std::string lines_of(const Picture& p, const Axis& x, const Axis& y) {
  std::string out;
  for (const double v : x.ticks()) {
    const std::string text = tick_text(v);
    const double inside =
        kPictureWidth - 2 - 3.9 * static_cast<double>(text.size());  // not cut at the right edge
    out += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                       std::min(x.at(v), inside), kBottom + 16, text);
  }
  std::vector<Path> paths;
  paths.reserve(p.series.size());
  for (const Series& s : p.series) paths.push_back(path_of(s, x, y));
  for (const bool printed : {false, true})
    for (std::size_t i = 0; i < p.series.size(); ++i)
      if (p.series[i].is_printed == printed && !paths[i].x.empty())
        out += curve_of(p, paths, i) + markers_of(p, paths[i], i);
  return out;
}

double room_of_category(const Picture& p) {
  return (kRight - kLeft) / static_cast<double>(std::max<std::size_t>(p.categories.size(), 1));
}

/// A category's name, in as many lines as its bars have room for.
std::vector<std::string> category_lines(const Picture& p, std::size_t c) {
  constexpr double kCharacter = 7;
  return broken(p.categories[c],
                std::max<std::size_t>(2, static_cast<std::size_t>(room_of_category(p) / kCharacter)));
}

/// What the names below the axis need beside their first line.
double further_lines(const Picture& p) {
  std::size_t most = 1;
  for (std::size_t c = 0; p.kind == Picture::Kind::Bars && c < p.categories.size(); ++c)
    most = std::max(most, category_lines(p, c).size());
  return kLine * static_cast<double>(most - 1);
}

/// Of category `c`: without x a series has a value for each, in order.
std::optional<double> value_at(const Series& s, std::size_t c) {
  if (s.x.empty()) return c < s.y.size() ? std::optional(s.y[c]) : std::nullopt;
  for (std::size_t k = 0; k < s.x.size(); ++k)
    if (s.x[k] == static_cast<double>(c)) return s.y[k];
  return {};
}

std::string bars_of(const Picture& p, const Axis& y) {
  std::string out;
  const double room = room_of_category(p);
  const auto bars =
      std::count_if(p.series.begin(), p.series.end(), [](const Series& s) { return !s.is_printed; });
  const double wide = room * 0.8 / static_cast<double>(std::max<std::ptrdiff_t>(bars, 1));
  for (std::size_t c = 0; c < p.categories.size(); ++c) {
    const double left = kLeft + room * (static_cast<double>(c) + 0.1);
    double y_text = kBottom + 16;
    for (const std::string& line : category_lines(p, c)) {
      out += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", left + room * 0.4,
                         y_text, escaped(line));
      y_text += kLine;
    }
    for (std::size_t i = 0; i < p.series.size(); ++i) {
      const auto value = p.series[i].is_printed ? std::nullopt : value_at(p.series[i], c);
      if (!value) continue;
      const double top = y.at(*value);
      if (p.y_is_log) {  // no bar: where it begins would be anybody's choice
        out += marker_of(p.series[i], i, p.series.size(), left + wide * (static_cast<double>(i) + 0.5), top);
        continue;
      }
      out += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n",
                         left + wide * static_cast<double>(i), top, wide, std::max(0.0, kBottom - top),
                         colour_of(p.series[i], i));
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
             kLeft, kRight, kBottom, (kLeft + kRight) / 2, kBottom + 38 + further_lines(p),
             escaped(p.x_label));
}

}  // namespace

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

static bool continues_a_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U;
}

std::vector<std::string> broken(std::string_view text, std::size_t columns) {
  std::vector<std::string> out;
  while (true) {
    std::size_t end = 0;
    std::size_t count = 0;
    std::size_t cut = 0;
    for (; end < text.size(); ++end) {
      if (continues_a_character(text[end])) continue;
      if (text[end] == ' ' && end > 0) cut = end;
      if (++count > columns) break;
      if (text[end] == '-') cut = end + 1;
    }
    if (end >= text.size()) break;
    if (cut == 0) cut = end;
    out.emplace_back(text.substr(0, cut));
    text.remove_prefix(text[cut] == ' ' ? cut + 1 : cut);
  }
  out.emplace_back(text);
  return out;
}

std::vector<Panel> panels_of(const Picture& p) {
  std::vector<Panel> out;
  if (std::string first = panel_of(p); !first.empty())
    out.push_back({std::move(first), kHeight + further_lines(p)});
  for (const Picture& below : p.below)
    if (std::string panel = panel_of(below); !panel.empty())
      out.push_back({std::move(panel), kHeight + further_lines(below)});
  return out;
}

std::string svg_of(const std::vector<Panel>& panels, std::string_view label) {
  std::string body;
  double height = 0;
  for (const Panel& panel : panels) {
    if (panel.body.empty()) continue;
    body += height == 0 ? panel.body
                        : fmt::format("<g transform=\"translate(0 {})\">\n{}</g>\n", height, panel.body);
    height += panel.height;
  }
  if (body.empty()) return {};
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\" "
             "font-family=\"sans-serif\" font-size=\"12\" fill=\"currentColor\">\n"
             "<style>svg{{color:#222}}@media(prefers-color-scheme:dark){{svg{{color:#ddd}}}}</style>\n",
             kPictureWidth, height, escaped(label)) +
         body + "</svg>\n";
}

std::string to_svg(const Picture& p) {
  // What is below belongs to the first.
  return panel_of(p).empty() ? std::string() : svg_of(panels_of(p), p.title);
}

std::string to_svg(const AnsweredStudy& answer) {
  const Picture& p = answer.computation.picture;
  std::vector<Panel> panels = panels_of(p);
  panels.push_back(printed_panel(answer));
  return svg_of(panels, p.title.empty() ? answer.study.title : p.title);
}

}  // namespace cox::study
