// SPDX-License-Identifier: Apache-2.0
#include "report/forecast/pictures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <vector>

#include "cox/base/number_text.hpp"

#include "report/markup.hpp"

namespace cox::report {
namespace {

using forecast::KeptRatio;
using forecast::SizeMargin;
using forecast::SizeRatios;

constexpr double kWidth = 440, kHeight = 270, kLeft = 60, kRight = 18, kTop = 14, kBottom = 40;
constexpr std::size_t kMostGroups = 64;
constexpr std::size_t kMostWindows = 200;

/// A scale from values to places; logarithmic or not.
class Axis {
 public:
  Axis(double low, double high, double from, double to, bool logarithmic)
      : low_(logarithmic ? std::log(low) : low),
        high_(logarithmic ? std::log(high) : high),
        from_(from),
        to_(to),
        logarithmic_(logarithmic) {
    if (!(high_ > low_)) high_ = low_ + 1;
  }
  [[nodiscard]] double at(double value) const {
    const double v = logarithmic_ ? std::log(std::max(value, 1e-300)) : value;
    return from_ + (std::clamp(v, low_, high_) - low_) / (high_ - low_) * (to_ - from_);
  }

 private:
  double low_, high_, from_, to_;
  bool logarithmic_;
};

Axis across(double low, double high, bool logarithmic) {
  return {low, high, kLeft, kWidth - kRight, logarithmic};
}
Axis up(double low, double high, bool logarithmic) {
  return {low, high, kHeight - kBottom, kTop, logarithmic};
}

std::string short_number(double v) {
  return v >= 1e7 ? plain_number(v / 1e6) + "M" : plain_number(v);  // what is longer leaves the margin
}

std::string svg(std::string_view label, const std::string& inside) {
  return fmt::format("<svg class=\"picture\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">{}</svg>\n",
                     kWidth, kHeight, html(label), inside);
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view text,
                    std::string_view kind = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>", x, y, anchor,
                     kind.empty() ? "" : fmt::format(" class=\"{}\"", kind), html(text));
}

std::string frame(std::string_view x_name, std::string_view y_name) {
  return fmt::format("<path class=\"axis\" d=\"M{0:.1f} {1:.1f}V{2:.1f}H{3:.1f}\"/>", kLeft, kTop,
                     kHeight - kBottom, kWidth - kRight) +
         text_at((kLeft + kWidth - kRight) / 2, kHeight - 4, "middle", x_name) +
         fmt::format("<text transform=\"translate(12 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
                     (kTop + kHeight - kBottom) / 2, html(y_name));
}

/// Powers of `base` within two values, at most about six.
std::vector<double> powers(double low, double high, double base) {
  std::vector<double> out;
  const int first = static_cast<int>(std::ceil(std::log(low) / std::log(base) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log(high) / std::log(base) + 1e-9));
  const int every = std::max((last - first) / 5, 1);
  for (int i = first; i <= last; i += every) out.push_back(std::pow(base, i));
  return out;
}

std::string ticks_across(const Axis& x, const std::vector<double>& values) {
  std::string out;
  for (const double v : values)
    out += fmt::format("<path class=\"grid\" d=\"M{0:.1f} {1:.1f}V{2:.1f}\"/>", x.at(v), kTop,
                       kHeight - kBottom) +
           text_at(x.at(v), kHeight - kBottom + 15, "middle", short_number(v));
  return out;
}

std::string ticks_up(const Axis& y, const std::vector<double>& values,
                     const std::function<std::string(double)>& name) {
  std::string out;
  for (const double v : values)
    out += fmt::format("<path class=\"grid\" d=\"M{0:.1f} {1:.1f}H{2:.1f}\"/>", kLeft, y.at(v),
                       kWidth - kRight) +
           text_at(kLeft - 6, y.at(v) + 4, "end", name(v));
  return out;
}

template <class Point, class Value>
std::string line(const std::vector<Point>& points, const Axis& x, const Axis& y, const Value& value,
                 std::string_view kind) {
  std::string d;
  for (const Point& p : points) {
    const auto [at, height] = value(p);
    d += fmt::format("{}{:.1f} {:.1f}", d.empty() ? "M" : "L", x.at(at), y.at(height));
  }
  return fmt::format("<path class=\"{}\" d=\"{}\"/>", kind, d);
}

template <class Point, class Low, class High>
std::string band(const std::vector<Point>& points, const Axis& x, const Axis& y, const Low& low,
                 const High& high) {
  std::string d;
  for (const Point& p : points)
    d += fmt::format("{}{:.1f} {:.1f}", d.empty() ? "M" : "L", x.at(low(p).first), y.at(low(p).second));
  for (auto p = points.rbegin(); p != points.rend(); ++p)
    d += fmt::format("L{:.1f} {:.1f}", x.at(high(*p).first), y.at(high(*p).second));
  return fmt::format("<path class=\"band\" d=\"{}Z\"/>", d);
}

std::vector<SizeRatios> known(const std::vector<SizeRatios>& points) {
  std::vector<SizeRatios> out;
  for (const SizeRatios& p : points)
    if (p.refused.empty() && p.throughput > 0 && p.ranks > 0) out.push_back(p);
  std::sort(out.begin(), out.end(),
            [](const SizeRatios& a, const SizeRatios& b) { return a.ranks < b.ranks; });
  return out;
}

/// Stretches of sizes in one regime, behind everything.
std::string regimes_behind(const forecast::Regimes& r, const Axis& x, double least, double most) {
  struct Stretch {
    double to;
    forecast::Regime regime;
  };
  const auto at = [&](const forecast::RegimeBoundary& b) {
    if (b.place == forecast::RegimeBoundary::Place::Below) return least;
    return b.inside() ? static_cast<double>(b.ranks) : most;
  };
  const std::array<Stretch, 4> all = {{{at(r.map.n1), forecast::Regime::Linear},
                                       {at(r.map.n2), forecast::Regime::Sublinear},
                                       {at(r.map.n_star), forecast::Regime::PostLinear},
                                       {most, forecast::Regime::Collapse}}};
  std::string out;
  double from = least;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double to = std::clamp(all[i].to, from, most);
    const double width = x.at(to) - x.at(from);
    if (width <= 0.5) continue;
    out +=
        fmt::format("<rect class=\"regime r{}\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{:.1f}\"/>",
                    i, x.at(from), kTop, width, kHeight - kBottom - kTop);
    const std::string_view name = forecast::name_of(all[i].regime);
    if (width > 6.5 * static_cast<double>(name.size()))
      out += text_at(x.at(from) + width / 2, kTop + 12, "middle", name, "faint");
    else if (width > 11)  // upwards, where it is too narrow for a line
      out += fmt::format(
          "<text class=\"faint\" text-anchor=\"end\" transform=\"translate({:.1f} {}) rotate(-90)\">{}</text>",
          x.at(from) + width / 2 + 4, kTop + 6, name);
    from = to;
  }
  return out;
}

std::string none(std::string_view why) {
  return fmt::format("<p class=\"none\">{}</p>\n", html(why));
}

}  // namespace

std::string scaling_picture(const ForecastPage& page) {
  const std::vector<SizeRatios> points = known(page.sizes);
  const std::vector<SizeRatios> other = known(page.controlled);
  if (points.size() < 2) return none("Not drawn: fewer than two sizes have a number.");
  const auto least = static_cast<double>(points.front().ranks),
             most = static_cast<double>(points.back().ranks);
  double lowest = points.front().throughput, highest = most;
  for (const SizeRatios& p : points)
    lowest = std::min({lowest, p.throughput, p.low > 0 ? p.low : p.throughput});
  const Axis x = across(least, most, true), y = up(lowest, highest, true);
  std::string in;
  if (page.regimes) in += regimes_behind(*page.regimes, x, least, most);
  in += ticks_across(x, powers(least, most, most / least > 1e3 ? 10 : 2)) +
        ticks_up(y, powers(lowest, highest, highest / lowest > 100 ? 10 : 2), short_number);
  in += fmt::format("<path class=\"ideal\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>",
                    x.at(std::max(least, lowest)), y.at(std::max(least, lowest)), x.at(most), y.at(most));
  const auto value = [](const SizeRatios& p) {
    return std::pair(static_cast<double>(p.ranks), p.throughput);
  };
  in += band(
      points, x, y, [](const SizeRatios& p) { return std::pair(static_cast<double>(p.ranks), p.low); },
      [](const SizeRatios& p) { return std::pair(static_cast<double>(p.ranks), p.high); });
  if (other.size() > 1) in += line(other, x, y, value, "control");
  in += line(points, x, y, value, "series");
  for (const SizeRatios& p : points)
    in += fmt::format(
        "<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"><title>{} ranks: {} ({} to {}){}</title></circle>",
        p.seen ? "seen" : "point", x.at(static_cast<double>(p.ranks)), y.at(p.throughput), grouped(p.ranks),
        plain_number(p.throughput, 4), plain_number(p.low, 4), plain_number(p.high, 4),
        p.seen ? ", measured" : "");
  return svg("throughput against ranks", in + frame("ranks", "throughput, of one rank"));
}

std::string margin_picture(const ForecastPage& page) {
  std::vector<SizeMargin> points;
  for (const SizeMargin& p : page.margins)
    if (p.factor > 0 && p.ranks > 0) points.push_back(p);
  if (points.size() < 2) return none("Not drawn: the margin is known at fewer than two sizes.");
  double highest = 2;
  for (const SizeMargin& p : points) highest = std::max(highest, p.factor);
  double lowest = 1;
  for (const SizeMargin& p : points) lowest = std::min(lowest, p.factor);
  const auto least = static_cast<double>(points.front().ranks),
             most = static_cast<double>(points.back().ranks);
  const Axis x = across(least, most, true), y = up(lowest, highest, true);
  const auto value = [](const SizeMargin& p) { return std::pair(static_cast<double>(p.ranks), p.factor); };
  std::string in = ticks_across(x, powers(least, most, most / least > 1e3 ? 10 : 2)) +
                   ticks_up(y,
                            powers(lowest, highest,
                                   highest / lowest > 100 ? 10
                                   : highest / lowest > 4 ? 2
                                                          : 1.25),
                            [](double v) { return "x" + plain_number(v); });
  in += fmt::format("<path class=\"edge\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>", kLeft, y.at(1), kWidth - kRight);
  in += line(points, x, y, value, "series");
  for (const SizeMargin& p : points)
    in += fmt::format(
        "<circle class=\"point\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"><title>{} ranks: x{}</title></circle>",
        x.at(static_cast<double>(p.ranks)), y.at(p.factor), grouped(p.ranks), plain_number(p.factor));
  return svg("margin against ranks", in + frame("ranks", "change that crosses"));
}

std::string decay_picture(const std::vector<KeptRatio>& kept, std::string_view against) {
  if (kept.size() < 2) return none("Not drawn: no delay was followed over steps.");
  double highest = 1, lowest = 0;
  for (const KeptRatio& p : kept) {
    highest = std::max({highest, p.kept, p.high});
    lowest = std::min({lowest, p.kept, p.low});
  }
  const Axis x = across(kept.front().step, kept.back().step, false), y = up(lowest, highest, false);
  const auto value = [](const KeptRatio& p) { return std::pair(p.step, p.kept); };
  std::vector<double> steps, parts;
  for (int i = 0; i <= 4; ++i) {
    steps.push_back(std::round(kept.front().step + (kept.back().step - kept.front().step) * i / 4));
    parts.push_back(lowest + (highest - lowest) * i / 4);
  }
  std::string in =
      ticks_across(x, steps) + ticks_up(y, parts, [](double v) { return fmt::format("{:.2f}", v); });
  in += band(
      kept, x, y, [](const KeptRatio& p) { return std::pair(p.step, p.low); },
      [](const KeptRatio& p) { return std::pair(p.step, p.high); });
  in += line(kept, x, y, value, "series");
  return svg("what is left of a delay", in + frame(against, "part that is kept"));
}

std::string coupling_picture(const ShareTable& table) {
  const std::size_t n = std::min({table.values.size(), table.rows.size(), table.columns.size(), kMostGroups});
  if (n < 2) return none("Not drawn: the ranks form one group, so the path has nowhere to move.");
  double most = 0;
  for (const auto& row : table.values)
    for (const double v : row) most = std::max(most, v);
  const double side =
      std::min((kWidth - 90) / static_cast<double>(n), (kHeight - 40) / static_cast<double>(n));
  std::string in;
  for (std::size_t r = 0; r < n; ++r)
    for (std::size_t c = 0; c < std::min(n, table.values[r].size()); ++c) {
      const double v = table.values[r][c];
      in += fmt::format(
          "<rect class=\"cell\" style=\"--shade:{:.3f}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"><title>{}: {}</title></rect>",
          most > 0 ? v / most : 0, 80 + side * static_cast<double>(c), 24 + side * static_cast<double>(r),
          std::max(side - 1, 0.5), std::max(side - 1, 0.5), html(table.rows[r] + " from " + table.columns[c]),
          percent(v));
    }
  const std::size_t every = n > 16 ? n / 8 : 1;
  for (std::size_t i = 0; i < n; i += every) {
    in += text_at(74, 24 + side * (static_cast<double>(i) + 0.5) + 4, "end", table.rows[i].substr(0, 12));
    if (side > 34)
      in += text_at(80 + side * (static_cast<double>(i) + 0.5), 18, "middle", table.columns[i].substr(0, 12));
  }
  return svg("how often the critical path goes through a group, having come from another", in);
}

std::string path_picture(const ShareTable& table) {
  const std::size_t windows = std::min({table.values.size(), table.rows.size(), kMostWindows});
  if (windows < 2) return none("Not drawn: the path is known in fewer than two windows.");
  const Axis y = up(0, 1, false);
  const double width = (kWidth - kLeft - kRight) / static_cast<double>(windows);
  std::string in;
  for (std::size_t w = 0; w < windows; ++w) {
    double from = 0;
    for (std::size_t g = 0; g < std::min(table.values[w].size(), kMostGroups); ++g) {
      const double to = std::min(from + table.values[w][g], 1.0);
      in += fmt::format(
          "<rect class=\"g{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"><title>{}: {} {}</title></rect>",
          g % 6, kLeft + width * static_cast<double>(w), y.at(to), std::max(width - 1, 0.6),
          y.at(from) - y.at(to), html(table.rows[w]),
          html(g < table.columns.size() ? table.columns[g] : std::string()), percent(table.values[w][g]));
      from = to;
    }
  }
  std::string keys;
  for (std::size_t g = 0; g < std::min<std::size_t>(table.columns.size(), 12); ++g)
    keys += fmt::format("<li><i class=\"g{}\"></i>{}</li>", g % 6, html(table.columns[g]));
  return svg("share of each group of the critical path, over time",
             in + ticks_up(y, {0, 0.5, 1}, [](double v) { return percent(v, PartDigits::Whole); }) +
                 frame("windows of the run", "of the critical path")) +
         "<ul class=\"keys\">" + keys + "</ul>\n";
}

}  // namespace cox::report
