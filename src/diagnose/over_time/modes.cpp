// SPDX-License-Identifier: Apache-2.0
// Places that a series of plain numbers keeps to.
#include <algorithm>
#include <cmath>

#include "cox/base/stats.hpp"

#include "diagnose/over_time/parts.hpp"

namespace cox::diagnose {
namespace {

constexpr std::size_t kLeastValues = 40;
constexpr std::size_t kMostPlaces = 4;
constexpr double kHardlyChance = 0.05;
constexpr double kSureChance = 1e-2;
constexpr double kLeastShare = 0.1;
constexpr double kLeastDistance = 0.02;
constexpr double kTrimmed = 0.01;
/// Values that are rounded coarsely have gaps between them that say nothing.
constexpr double kGrains = 2.5;
/// Where to cut is looked for at so many quantiles.
constexpr std::size_t kGrid = 48;
/// Half a window around a place, and around the middle, in distances between the places.
constexpr double kWindow = 1.0 / 6;

/// Sums over sorted values, so that a stretch's share of the variance between stretches costs one step.
class Stretches {
 public:
  explicit Stretches(std::span<const double> sorted) {
    for (const double x : sorted) sums_.push_back(sums_.back() + x);
  }
  /// Squared sum over count: what a stretch adds to the variance between stretches.
  [[nodiscard]] double worth(std::size_t from, std::size_t to) const {
    const double sum = sums_[to] - sums_[from];
    return sum * sum / static_cast<double>(to - from);
  }

 private:
  std::vector<double> sums_{0.0};
};

/// Where to cut sorted values so that the means of the parts are farthest apart for their weights (Otsu 1979), at
/// most `more` further cuts, the last part beginning at `from`.
struct Cuts {
  std::vector<std::size_t> at;
  double worth = -1;
};

void cut_further(const Stretches& s, std::span<const std::size_t> grid, std::size_t n, std::size_t more,
                 std::vector<std::size_t>& so_far, double worth, Cuts& best) {
  const std::size_t from = so_far.empty() ? 0 : so_far.back();
  if (more == 0) {
    const double all = worth + s.worth(from, n);
    if (all > best.worth) best = {so_far, all};
    return;
  }
  for (std::size_t g = 0; g < grid.size(); ++g) {
    if (grid[g] <= from) continue;
    so_far.push_back(grid[g]);
    cut_further(s, grid.subspan(g + 1), n, more - 1, so_far, worth + s.worth(from, grid[g]), best);
    so_far.pop_back();
  }
}

std::vector<std::size_t> best_cuts(std::span<const double> sorted, std::size_t places) {
  const Stretches s(sorted);
  std::vector<std::size_t> grid;
  // Two places are cut at any value: that is one pass.
  const std::size_t steps = places == 2 ? sorted.size() : std::min(sorted.size(), kGrid);
  for (std::size_t g = 1; g < steps; ++g) grid.push_back(g * sorted.size() / steps);
  Cuts best;
  std::vector<std::size_t> so_far;
  cut_further(s, grid, sorted.size(), places - 1, so_far, 0, best);
  return best.at;
}

double smallest_gap(std::span<const double> sorted) {
  double least = sorted.back() - sorted.front();
  for (std::size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i] > sorted[i - 1] * (1 + 1e-9)) least = std::min(least, sorted[i] - sorted[i - 1]);
  return least;
}

double count_between(std::span<const double> sorted, double low, double high) {
  return static_cast<double>(std::lower_bound(sorted.begin(), sorted.end(), high) -
                             std::lower_bound(sorted.begin(), sorted.end(), low));
}

/// The middle of the emptiest sixth between two places.
double valley_between(std::span<const double> sorted, double low, double high) {
  constexpr int kPlaces = 24;
  const double width = (high - low) / 6;
  double middle = (low + high) / 2;
  double least = count_between(sorted, middle - width / 2, middle + width / 2);
  for (int k = 0; k <= kPlaces; ++k) {
    const double from = low + (high - low - width) * k / kPlaces;
    const double here = count_between(sorted, from, from + width);
    if (here >= least) continue;
    least = here;
    middle = from + width / 2;
  }
  return middle;
}

/// Values near two places and near the middle between them. Where there is one place only, the middle holds at least
/// as many as the emptier of the two.
struct Near {
  double low = 0;
  double middle = 0;
  double high = 0;
  void add(double value, double at_low, double at_high) {
    const double window = kWindow * (at_high - at_low);
    low += std::abs(value - at_low) < window;
    high += std::abs(value - at_high) < window;
    middle += std::abs(value - (at_low + at_high) / 2) < window;
  }
  /// Of so few in the middle, `share` of the values being independent.
  [[nodiscard]] double chance(double share) const {
    const double beside = std::min(low, high);
    const auto fewer = std::llround(share * beside);
    const auto all = std::llround(share * (beside + middle));
    return all > 0 ? binomial_upper_tail(fewer, all, 0.5) : 1;
  }
};

/// All values count by how independent they are. Those before and after a change from one side of the middle to the
/// other count in full: where neighbours resemble each other, a series that crosses a middle is near it.
double chance_of_valley(std::span<const double> values, double low, double high) {
  const double middle = (low + high) / 2;
  Near all;
  Near crossing;
  bool counted = false;  // the value before
  for (std::size_t i = 0; i < values.size(); ++i) {
    all.add(values[i], low, high);
    const bool crosses = i > 0 && (values[i] > middle) != (values[i - 1] > middle);
    if (crosses && !counted) crossing.add(values[i - 1], low, high);
    if (crosses) crossing.add(values[i], low, high);
    counted = crosses;
  }
  return std::min(1.0,
                  2 * std::min(all.chance(independent_share(values, median(values))), crossing.chance(1)));
}

/// So many places, or none where one of them is hardly one.
std::optional<Modes> places_of(std::span<const double> values, std::span<const double> sorted,
                               std::size_t places) {
  const std::vector<std::size_t> cuts = best_cuts(sorted, places);
  if (cuts.size() + 1 != places) return std::nullopt;
  Modes m;
  m.chance = 0;
  for (std::size_t k = 0; k < places; ++k) {
    const std::size_t from = k == 0 ? 0 : cuts[k - 1];
    const std::size_t to = k + 1 < places ? cuts[k] : sorted.size();
    m.places.push_back(median(sorted.subspan(from, to - from)));
  }
  const double grain = smallest_gap(sorted);
  for (std::size_t k = 0; k + 1 < places; ++k) {
    const double distance = m.places[k + 1] - m.places[k];
    if (m.places[k] <= 0 || distance < kLeastDistance * m.places[k] || distance < kGrains * grain)
      return std::nullopt;
    m.borders.push_back(valley_between(sorted, m.places[k], m.places[k + 1]));
    m.chance = std::max(m.chance, chance_of_valley(values, m.places[k], m.places[k + 1]));
  }
  std::vector<double> counts(places, 0.0);
  for (const double x : values) ++counts[m.of(x)];
  for (const double count : counts) {
    m.shares.push_back(count / static_cast<double>(values.size()));
    if (m.shares.back() < kLeastShare) return std::nullopt;
  }
  return m;
}

}  // namespace

std::optional<Modes> find_modes(std::span<const double> values) {
  if (values.size() < kLeastValues) return std::nullopt;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const auto trimmed = static_cast<std::size_t>(kTrimmed * static_cast<double>(sorted.size()));
  const auto kept = std::span<const double>(sorted).subspan(trimmed, sorted.size() - 2 * trimmed);
  std::optional<Modes> found = places_of(values, kept, 2);
  for (std::size_t places = 3; places <= kMostPlaces; ++places) {
    // More than two have to be sure.
    std::optional<Modes> more = places_of(values, kept, places);
    if (more && more->chance <= kSureChance) found = std::move(more);
  }
  if (found && found->chance > kHardlyChance) return std::nullopt;
  return found;
}

}  // namespace cox::diagnose
