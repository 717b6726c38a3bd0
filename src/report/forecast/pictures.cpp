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

/// Stretches of sizes in one regime, behind everything, and their names, before everything.
struct RegimeStretches {
  std::string shades;
  std::string names;
};

std::string regime_name(double from, double to, std::string_view name) {
  const double width = to - from;
  if (width > 6.5 * static_cast<double>(name.size()))
    return text_at(from + width / 2, kTop + 12, "middle", name, "faint");
  if (width <= 11) return {};
  return fmt::format(  // upwards, where it is too narrow for a line
      "<text class=\"faint\" text-anchor=\"end\" transform=\"translate({:.1f} {}) rotate(-90)\">{}</text>",
      from + width / 2 + 4, kTop + 6, name);
}

RegimeStretches regimes_of(const forecast::Regimes& r, const Axis& x, double least, double most) {
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
  RegimeStretches out;
  double from = least;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double to = std::clamp(all[i].to, from, most);
    const double width = x.at(to) - x.at(from);
    if (width <= 0.5) continue;
    out.shades +=
        fmt::format("<rect class=\"regime r{}\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{:.1f}\"/>",
                    i, x.at(from), kTop, width, kHeight - kBottom - kTop);
    out.names += regime_name(x.at(from), x.at(to), forecast::name_of(all[i].regime));
    from = to;
  }
  return out;
}

std::string none(std::string_view why) {
  return fmt::format("<p class=\"none\">{}</p>\n", html(why));
}

std::string none(std::string_view why, std::string_view otherwise) {
  return none(fmt::format("Not drawn: {}.", why.empty() ? otherwise : why));
}

}  // namespace

std::string size_title(const SizeRatios& p) {
  return fmt::format(
      "{} ranks: {}{}{}", grouped(p.ranks), plain_number(p.throughput, 4),
      p.has_band() ? fmt::format(" ({} to {})", plain_number(p.low, 4), plain_number(p.high, 4)) : "",
      p.seen ? ", measured" : "");
}

std::string scaling_picture(const ForecastPage& page) {
  const std::vector<SizeRatios> points = known(page.sizes);
  if (points.size() < 2) return none("Not drawn: fewer than two sizes have a number.");
  const std::vector<SizeRatios> curve = page.curve.empty() ? points : known(page.curve);
  const std::vector<SizeRatios> other = known(page.controlled);
  const std::vector<SizeRatios> other_curve = page.control_curve.empty() ? other : known(page.control_curve);
  const auto least = static_cast<double>(points.front().ranks),
             most = static_cast<double>(points.back().ranks);
  double lowest = points.front().throughput, highest = most;
  for (const std::vector<SizeRatios>* all : {&points, &curve})
    for (const SizeRatios& p : *all)
      lowest = std::min({lowest, p.throughput, p.low > 0 ? p.low : p.throughput});
  const Axis x = across(least, most, true), y = up(lowest, highest, true);
  const RegimeStretches regimes =
      page.regimes ? regimes_of(*page.regimes, x, least, most) : RegimeStretches{};
  std::string in = regimes.shades;
  in += ticks_across(x, powers(least, most, most / least > 1e3 ? 10 : 2)) +
        ticks_up(y, powers(lowest, highest, highest / lowest > 100 ? 10 : 2), short_number);
  in += fmt::format("<path class=\"ideal\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>",
                    x.at(std::max(least, lowest)), y.at(std::max(least, lowest)), x.at(most), y.at(most));
  const auto value = [](const SizeRatios& p) {
    return std::pair(static_cast<double>(p.ranks), p.throughput);
  };
  if (std::ranges::any_of(curve, &SizeRatios::has_band))
    in += band(
        curve, x, y, [](const SizeRatios& p) { return std::pair(static_cast<double>(p.ranks), p.low); },
        [](const SizeRatios& p) { return std::pair(static_cast<double>(p.ranks), p.high); });
  if (other_curve.size() > 1) in += line(other_curve, x, y, value, "control");
  in += line(curve, x, y, value, "series");
  for (const SizeRatios& p : points)
    in += fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"><title>{}</title></circle>",
                      p.seen ? "seen" : "point", x.at(static_cast<double>(p.ranks)), y.at(p.throughput),
                      size_title(p));
  return svg("throughput against ranks", in + regimes.names + frame("ranks", "throughput, of one rank"));
}

std::string margin_picture(const ForecastPage& page) {
  const std::vector<SizeRatios> sizes = known(page.sizes);
  if (sizes.size() < 2 || !page.regimes) return none("Not drawn: fewer than two sizes have a number.");
  const std::int64_t first = sizes.front().ranks, last = sizes.back().ranks;
  const std::vector<std::vector<SizeMargin>> stretches =
      forecast::margin_stretches(*page.regimes, first, last);
  if (stretches.empty())
    return none(
        fmt::format("Not drawn: no boundary is reached up to {} ranks.", grouped(page.regimes->range.to)));
  double lowest = 1, highest = 2;
  for (const auto& stretch : stretches)
    for (const SizeMargin& p : stretch) {
      highest = std::max(highest, p.factor);
      lowest = std::min(lowest, p.factor);
    }
  const auto least = static_cast<double>(first), most = static_cast<double>(last);
  const Axis x = across(least, most, true), y = up(lowest, highest, true);
  const RegimeStretches regimes = regimes_of(*page.regimes, x, least, most);
  const double base = highest / lowest > 100 ? 10 : highest / lowest > 4 ? 2 : 1.25;
  std::string in = regimes.shades + ticks_across(x, powers(least, most, most / least > 1e3 ? 10 : 2)) +
                   ticks_up(y, powers(lowest, highest, base), [](double v) { return "x" + plain_number(v); });
  in += fmt::format("<path class=\"edge\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>", kLeft, y.at(1), kWidth - kRight);
  const auto value = [](const SizeMargin& p) { return std::pair(static_cast<double>(p.ranks), p.factor); };
  for (const auto& stretch : stretches) in += line(stretch, x, y, value, "series");
  for (const SizeMargin& p : page.margins)
    in += fmt::format(
        "<circle class=\"point\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"><title>{} ranks: x{}</title></circle>",
        x.at(static_cast<double>(p.ranks)), y.at(p.factor), grouped(p.ranks), plain_number(p.factor));
  return svg("margin against ranks", in + regimes.names + frame("ranks", "next boundary, of these ranks"));
}

std::string decay_picture(const std::vector<KeptRatio>& kept, std::string_view against,
                          std::string_view why_none) {
  if (kept.size() < 2) return none(why_none, "no delay was followed");
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

std::string coupling_picture(const ShareTable& table, std::string_view why_none) {
  const std::size_t n = std::min({table.values.size(), table.rows.size(), table.columns.size(), kMostGroups});
  if (n < 2) return none(why_none, "the ranks form one group, so the path has nowhere to move");
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

std::string path_picture(const ShareTable& table, std::string_view why_none) {
  const std::size_t windows = std::min({table.values.size(), table.rows.size(), kMostWindows});
  if (windows < 2) return none(why_none, "the path is known in fewer than two windows");
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
