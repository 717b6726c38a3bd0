// SPDX-License-Identifier: Apache-2.0
// Files of a folder that measure the same, each against the others.
#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "cox/base/stats.hpp"

#include "diagnose/figures/parts.hpp"

namespace cox::diagnose {
namespace {

using Alike = std::vector<const trace::SizeSeries*>;

/// Configurations of several files that measure the same; in place only where out of place is not there.
std::vector<Alike> alike_of_files(const trace::SizeTable& table) {
  std::vector<Alike> groups;
  for (const trace::SizeSeries& s : table.series) {
    const bool beside = s.in_place && std::any_of(table.series.begin(), table.series.end(),
                                                  [&](const auto& o) { return is_other_place(o, s); });
    if (beside) continue;
    const auto at = std::find_if(groups.begin(), groups.end(),
                                 [&](const Alike& group) { return is_alike(*group.front(), s); });
    if (at == groups.end())
      groups.push_back({&s});
    else
      at->push_back(&s);
  }
  return groups;
}

/// Files that measure the same, each against the median of the others. What differs would be in the reference of the
/// others: round by round those that differ most are set apart.
class FileGroup {
 public:
  explicit FileGroup(const Alike& group) : apart_(group.size(), false), staying_(group.size()) {
    for (const trace::SizeSeries* s : group) {
      files_.push_back(named_points_of(*s));
      for (const SizePoint& p : files_.back().points) times_[p.size].push_back(p.time);
    }
    for (auto& [size, times] : times_) std::sort(times.begin(), times.end());
  }

  std::vector<SizeComparison> compare() {
    std::vector<Compared> all = compare_all();
    for (int round = 0; round < kMostRounds && set_apart(all); ++round) all = compare_all();
    std::vector<SizeComparison> out;
    bool has_pair = false;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      // Of two that remain, the second against the first alone.
      if (staying_ == 2 && !apart_[i] && !std::exchange(has_pair, true)) continue;
      out.push_back(std::move(all[i].comparison));
    }
    return out;
  }

 private:
  static constexpr int kMostRounds = 8;
  static constexpr std::size_t kOfMany = 16;

  /// Of how many others a file's reference is made.
  [[nodiscard]] std::size_t others(std::size_t i) const { return staying_ - (apart_[i] ? 0 : 1); }

  /// Those that differ most: one, of many files one of sixteen, which move the median of the others by little. Half of all
  /// stay. Whether there was any.
  bool set_apart(const std::vector<Compared>& all) {
    std::vector<std::size_t> differ;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (!apart_[i] && all[i].strength > 0) differ.push_back(i);
    std::stable_sort(differ.begin(), differ.end(),
                     [&](std::size_t a, std::size_t b) { return all[a].strength > all[b].strength; });
    const std::size_t already = files_.size() - staying_;
    differ.resize(std::min(
        {differ.size(), std::max<std::size_t>(1, files_.size() / kOfMany), files_.size() / 2 - already}));
    for (const std::size_t i : differ) set_apart(i);
    return !differ.empty();
  }

  void set_apart(std::size_t i) {
    apart_[i] = true;
    --staying_;
    for (const SizePoint& p : files_[i].points) {
      std::vector<double>& times = times_[p.size];
      times.erase(std::lower_bound(times.begin(), times.end(), p.time));
    }
  }

  /// The median of those that are not set apart, without one of them, at each size that at least half of them have. One
  /// alone is its own.
  [[nodiscard]] NamedPoints others_of(std::size_t i) const {
    const std::size_t count = others(i);
    if (count == 1) {
      std::size_t k = 0;
      while (k == i || apart_[k]) ++k;
      return files_[k];
    }
    NamedPoints others{
        .name = "the median of " + std::to_string(count) + " others", .nodes = files_[i].nodes, .points = {}};
    // Sizes that it lacks are compared with nothing.
    for (const SizePoint& p : files_[i].points) {
      const std::vector<double>& times = times_.at(p.size);
      const std::size_t without =
          apart_[i] ? times.size()
                    : static_cast<std::size_t>(std::lower_bound(times.begin(), times.end(), p.time) -
                                               times.begin());
      const std::size_t have = times.size() - (apart_[i] ? 0 : 1);
      if (have == 0 || 2 * have < count) continue;
      const auto at = [&](std::size_t k) { return times[k < without ? k : k + 1]; };
      const double median = have % 2 == 1 ? at(have / 2) : (at(have / 2 - 1) + at(have / 2)) / 2;
      others.points.push_back({.size = p.size, .time = median, .repeats = 1});
    }
    return others;
  }

  [[nodiscard]] std::vector<Compared> compare_all() const {
    std::vector<NamedPoints> references;
    std::vector<double> scatters;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      references.push_back(others_of(i));
      scatters.push_back(scatter_between(references.back().points, files_[i].points));
    }
    const Family family{.count = files_.size(), .scatter = median_in_place(scatters)};
    std::vector<Compared> all;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      all.push_back(compare_points(references[i], files_[i], family));
      if (others(i) > 1) all.back().comparison.of_files = static_cast<std::int64_t>(others(i));
    }
    return all;
  }

  std::vector<NamedPoints> files_;
  std::map<double, std::vector<double>> times_;  // by size, ascending, of those not set apart
  std::vector<bool> apart_;
  std::size_t staying_;  // not set apart
};

}  // namespace

std::vector<SizeComparison> compare_files(const trace::SizeTable& table) {
  std::vector<SizeComparison> out;
  for (const Alike& group : alike_of_files(table)) {
    if (group.size() == 2) out.push_back(compare_two(*group[0], *group[1]));
    if (group.size() < 3) continue;
    std::vector<SizeComparison> of_group = FileGroup(group).compare();
    std::move(of_group.begin(), of_group.end(), std::back_inserter(out));
  }
  return out;
}

}  // namespace cox::diagnose
