// SPDX-License-Identifier: Apache-2.0
#include "forecast/law/score_table.hpp"

#include <algorithm>
#include <cmath>

#include "cox/base/assert.hpp"
#include "cox/base/elementary.hpp"

#include "forecast/law/special.hpp"

namespace cox::forecast {
namespace {

const double kMostMinusLog = 1e3;  // G = 0, to any precision that matters

/// ln(-ln F(x)^power) within [least, ln 1000].
double score_of(const Law& law, double power, double x, double least) {
  const double above = law.above(Seconds{x});
  const double minus_log =
      above > 0.5 ? -logarithm(std::max(law.below(Seconds{x}), 1e-300)) : -logarithm_of_one_plus(-above);
  return logarithm(std::clamp(power * minus_log, cox::exponential(least), kMostMinusLog));
}

}  // namespace

ScoreTable::ScoreTable(const Law& law, double power, double least, int points) {
  if (law.is_constant()) {
    x_.assign(2, law.mean().count());
    y_ = {logarithm(kMostMinusLog), least - 2};
    curve();
    return;
  }
  std::vector<double> levels;
  levels.reserve(static_cast<std::size_t>(points));
  for (int i = 0; i < points; ++i) levels.push_back(kMostScore + (least - kMostScore) * i / (points - 1));
  std::vector<double> above = levels;  // the probability above each place
  exponentials(above);
  for (double& a : above) a = -a / power;
  std::vector<double> below = above;
  exponentials(below);
  for (std::size_t i = 0; i < above.size(); ++i) {
    above[i] = above[i] > -1e-5 ? -above[i] - above[i] * above[i] / 2 : 1 - below[i];
  }
  std::vector<double> places;
  for (std::size_t i = 0; i < above.size(); ++i) {
    places.push_back(above[i] > 0.5 ? law.quantile(below[i]).count() : law.upper_quantile(above[i]).count());
  }
  // An atom is a jump: several levels have one place, and the probabilities just before and just after it differ.
  const double spread = law.deviation().count();
  const double near = 1e-9 * (std::isfinite(spread) ? spread : places[places.size() / 2] - places.front());
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!x_.empty() && places[i] <= x_.back()) continue;
    const bool tie = i + 1 < places.size() && places[i + 1] <= places[i];
    x_.push_back(places[i]);
    y_.push_back(levels[i]);
    if (!tie && !law.is_discrete()) continue;
    y_.back() = score_of(law, power, places[i] - near, least - 2);
    x_.push_back(places[i]);
    y_.push_back(score_of(law, power, places[i] + near, least - 2));
  }
  for (const Seconds at : law.breaks()) {
    breaks_.push_back(at.count());
    const auto next = std::lower_bound(x_.begin(), x_.end(), at.count());
    if (next == x_.begin() || next == x_.end() || *next == at.count()) continue;
    const auto place = next - x_.begin();
    x_.insert(next, at.count());
    y_.insert(y_.begin() + place, score_of(law, power, at.count(), least - 2));
  }
  for (std::size_t i = 1; i < y_.size(); ++i) y_[i] = std::min(y_[i], y_[i - 1]);
  curve();
}

ScoreTable::ScoreTable(std::vector<double> x, std::span<const double> minus_log) : x_(std::move(x)) {
  y_.assign(minus_log.begin(), minus_log.end());
  for (double& y : y_) y = std::clamp(y, 1e-40, kMostMinusLog);
  logarithms(y_);
  for (std::size_t i = 1; i < y_.size(); ++i) y_[i] = std::min(y_[i], y_[i - 1]);
  curve();
}

/// Slopes of the parabola through three neighbours, held to what keeps the curve falling (Fritsch, Carlson 1980); at a jump and
/// at the ends the chord's.
void ScoreTable::curve() {
  const std::size_t n = x_.size();
  COX_ASSERT(n >= 2 && y_.size() == n, "a table has points");
  std::vector<double> before(n, 0.0);
  std::vector<double> after(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    const double left = i > 0 ? x_[i] - x_[i - 1] : 0;
    const double right = i + 1 < n ? x_[i + 1] - x_[i] : 0;
    if (left > 0) before[i] = (y_[i] - y_[i - 1]) / left;
    if (right > 0) after[i] = (y_[i + 1] - y_[i]) / right;
    if (left <= 0 || right <= 0) continue;
    const double parabola = (before[i] * right + after[i] * left) / (left + right);
    const double steepest = 3 * std::max(before[i], after[i]);  // both are negative or zero
    before[i] = after[i] = std::max(parabola, steepest);
  }
  steepness_ = before.back();
  cubics_.assign(n, {});
  for (std::size_t i = 0; i + 1 < n; ++i) {
    const double h = x_[i + 1] - x_[i];
    if (h <= 0) continue;
    const double chord = (y_[i + 1] - y_[i]) / h;
    cubics_[i] = {.first = after[i],
                  .second = (3 * chord - 2 * after[i] - before[i + 1]) / h,
                  .third = (after[i] + before[i + 1] - 2 * chord) / (h * h)};
  }
}

double ScoreTable::within(std::size_t left, double x) const {
  const Cubic& c = cubics_[left];
  const double d = x - x_[left];
  return y_[left] + d * (c.first + d * (c.second + d * c.third));
}

double ScoreTable::middle(std::size_t left) const {
  return within(left, (x_[left] + x_[left + 1]) / 2);
}

void ScoreTable::minus_log(std::span<const double> ascending, double shift, std::span<double> out) const {
  std::size_t left = 0;
  std::size_t first = 0;
  const std::size_t last = x_.size() - 1;
  while (first < ascending.size() && ascending[first] - shift < x_.front()) out[first++] = kMostMinusLog;
  for (std::size_t i = first; i < ascending.size(); ++i) {
    const double x = ascending[i] - shift;
    while (left < last && x_[left + 1] <= x) ++left;
    out[i] = left < last ? within(left, x) : y_.back() + steepness_ * (x - x_.back());
  }
  exponentials(out.subspan(first));
}

double ScoreTable::score(double x) const {
  if (x < x_.front()) return logarithm(kMostMinusLog);
  const auto next = std::upper_bound(x_.begin(), x_.end(), x);
  if (next == x_.end()) return y_.back() + steepness_ * (x - x_.back());
  return within(static_cast<std::size_t>(next - x_.begin()) - 1, x);
}

void ScoreTable::add_places(std::span<const double> descending, std::span<double> out) const {
  std::size_t right = 0;
  for (std::size_t i = 0; i < descending.size(); ++i) {
    const double y = descending[i];
    while (right < y_.size() && y_[right] > y) ++right;
    if (right == 0 || right == y_.size()) {
      out[i] += right == 0 ? x_.front() : x_.back();
      continue;
    }
    const double part = (y_[right - 1] - y) / (y_[right - 1] - y_[right]);
    out[i] += x_[right - 1] + part * (x_[right] - x_[right - 1]);
  }
}

double ScoreTable::place(double y) const {
  // The first point at or below y; the crossing lies in the interval before it.
  const auto right = std::lower_bound(y_.begin(), y_.end(), y, [](double a, double b) { return a > b; });
  if (right == y_.begin()) return x_.front();
  if (right == y_.end()) return x_.back();
  const std::size_t left = static_cast<std::size_t>(right - y_.begin()) - 1;
  double low = x_[left];
  double high = x_[left + 1];
  if (low == high) return low;
  double x = low + (high - low) * (y_[left] - y) / (y_[left] - y_[left + 1]);
  for (int i = 0; i < 60; ++i) {
    const double here = within(left, x);
    if (std::abs(here - y) < 1e-12 || high - low <= 1e-14 * std::max(std::abs(high), std::abs(low))) break;
    (here > y ? low : high) = x;
    const double slope = (within(left, high) - within(left, low)) / (high - low);
    const double next = x + (y - here) / slope;
    x = next > low && next < high && i % 3 != 2 ? next : (low + high) / 2;
  }
  return x;
}

}  // namespace cox::forecast
