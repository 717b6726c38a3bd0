// SPDX-License-Identifier: Apache-2.0
#include "diagnose/naming/repetitions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <span>

#include "cox/base/stats.hpp"

namespace cox::diagnose {
namespace {

constexpr int kPolishTurns = 4;
constexpr std::array<std::size_t, 3> kBlocks{16, 8, 5};
/// A block's median is one of at least so many.
constexpr std::size_t kLeastInBlock = 3;
/// Steps are blocks of their own where there are so many; of more, neighbours are put together.
constexpr std::int64_t kLeastSteps = 3;
constexpr std::int64_t kMostStepBlocks = 10;
/// Below, the scatter among the other ranks is their standard deviation: a median deviation of few is anything.
constexpr std::size_t kManyRanks = 8;
/// Others that the scatter among ranks can be taken from.
constexpr std::size_t kLeastOthers = 3;
/// Standing out by less than so many errors is not looked at.
constexpr double kWorthTesting = 3;
/// Freedoms of Student's distribution beyond which it is the normal one.
constexpr std::int64_t kMostFreedom = 400;

double quantile_of(double tail, std::size_t freedom) {
  return student_quantile(std::clamp(tail, 1e-14, 0.5),
                          std::clamp<std::int64_t>(static_cast<std::int64_t>(freedom), 1, kMostFreedom));
}

/// Mean of the middle half. A median would be somebody's own value, and what is left of that one exactly nothing:
/// medians of blocks would stick to it and look surer than they are.
double middle_mean(std::vector<double>& sample) {
  const std::size_t cut = sample.size() / 4;
  std::sort(sample.begin(), sample.end());
  const auto from = sample.begin() + static_cast<std::ptrdiff_t>(cut);
  const auto to = sample.end() - static_cast<std::ptrdiff_t>(cut);
  return std::accumulate(from, to, 0.0) / static_cast<double>(to - from);
}

/// Medians of one rank's blocks at one length.
struct Blocks {
  std::vector<double> medians;
  double variance = 0;  ///< of one block
  double lagged = 0;    ///< sum of products of neighbours' deviations
  double squares = 0;   ///< sum of squares of deviations
};

Blocks blocks_of(std::vector<double> medians) {
  Blocks b{.medians = std::move(medians)};
  if (b.medians.size() < 2) return b;
  const auto n = static_cast<double>(b.medians.size());
  const double mean = std::accumulate(b.medians.begin(), b.medians.end(), 0.0) / n;
  for (std::size_t i = 0; i < b.medians.size(); ++i) {
    const double d = b.medians[i] - mean;
    b.squares += d * d;
    if (i > 0) b.lagged += d * (b.medians[i - 1] - mean);
  }
  b.variance = b.squares / (n - 1);
  return b;
}

/// Operations of one kind, or of all with each kind in units of its own noise.
class Slice {
 public:
  Slice(const RepetitionTable& t, std::vector<std::size_t> ops, const std::vector<double>& unit_of_kind)
      : t_(t), ops_(std::move(ops)), rows_(t.ranks), shift_(t.ranks, 0) {
    for (std::size_t o = 0; o < ops_.size(); ++o) {
      const RepeatedOperation& op = t.operations[ops_[o]];
      const double unit = unit_of_kind.empty() ? 1 : unit_of_kind[op.kind];
      for (std::size_t i = op.first; i < op.first + op.count; ++i) {
        const auto r = static_cast<std::size_t>(t.works[i].rank);
        values_.push_back(in_seconds(t.works[i].work) / unit);
        rows_[r].push_back({o, values_.size() - 1});
      }
    }
    polish();
  }

  [[nodiscard]] std::size_t repetitions(std::size_t r) const { return rows_[r].size(); }
  [[nodiscard]] double shift(std::size_t r) const { return shift_[r]; }
  [[nodiscard]] const std::vector<std::size_t>& operations() const { return ops_; }

  /// What a rank did beyond each operation's centre, in order.
  [[nodiscard]] std::vector<double> residuals(std::size_t r) const {
    std::vector<double> out;
    out.reserve(rows_[r].size());
    for (const Place& p : rows_[r]) out.push_back(values_[p.value] - center_[p.op]);
    return out;
  }

  /// Scatter of what is left after lateness is taken away.
  [[nodiscard]] double noise() const {
    std::vector<double> left;
    for (std::size_t r = 0; r < rows_.size(); ++r)
      for (const double e : residuals(r)) left.push_back(e - shift_[r]);
    return scaled_mad(left);
  }

  /// Medians of `count` blocks of equally many consecutive operations; empty where there are too few.
  [[nodiscard]] std::vector<double> in_blocks(std::size_t r, std::size_t count) const {
    std::vector<double> row = residuals(r);
    std::vector<double> medians;
    if (row.size() < kLeastInBlock * count) return medians;
    for (std::size_t b = 0; b < count; ++b) {
      const std::size_t from = b * row.size() / count;
      const std::size_t to = (b + 1) * row.size() / count;
      medians.push_back(median_in_place(std::span(row).subspan(from, to - from)));
    }
    return medians;
  }

  /// The same of steps, in at most kMostStepBlocks blocks; empty where there are too few.
  [[nodiscard]] std::vector<double> in_steps(std::size_t r) const {
    std::vector<double> medians;
    if (t_.steps < kLeastSteps) return medians;
    const std::int64_t joined = (t_.steps + kMostStepBlocks - 1) / kMostStepBlocks;
    std::map<std::int64_t, std::vector<double>> blocks;
    for (const Place& p : rows_[r]) {
      const std::int64_t step = t_.operations[ops_[p.op]].step;
      if (step >= 0) blocks[step / joined].push_back(values_[p.value] - center_[p.op]);
    }
    for (auto& [block, sample] : blocks)
      if (sample.size() >= kLeastInBlock) medians.push_back(median_in_place(sample));
    if (static_cast<std::int64_t>(medians.size()) < kLeastSteps) medians.clear();
    return medians;
  }

 private:
  struct Place {
    std::size_t op;
    std::size_t value;
  };

  void polish() {
    center_.assign(ops_.size(), 0);
    std::vector<double> sample;
    for (int turn = 0; turn < kPolishTurns; ++turn) {
      std::size_t value = 0;
      for (std::size_t o = 0; o < ops_.size(); ++o) {
        const RepeatedOperation& op = t_.operations[ops_[o]];
        sample.clear();
        for (std::size_t i = op.first; i < op.first + op.count; ++i)
          sample.push_back(values_[value++] - shift_[static_cast<std::size_t>(t_.works[i].rank)]);
        center_[o] = middle_mean(sample);
      }
      std::vector<double> shifts;
      for (std::size_t r = 0; r < rows_.size(); ++r) {
        if (rows_[r].empty()) continue;
        sample = residuals(r);
        shift_[r] = median_in_place(sample);
        shifts.push_back(shift_[r]);
      }
      const double usual = median_in_place(shifts);
      for (double& s : shift_) s -= usual;
    }
  }

  const RepetitionTable& t_;
  std::vector<std::size_t> ops_;
  std::vector<double> values_;
  std::vector<std::vector<Place>> rows_;
  std::vector<double> shift_;
  std::vector<double> center_;
};

/// All ranks' blocks of one length.
struct Level {
  std::vector<Blocks> ranks;
};

/// Who stands out in one slice.
class StandingOut {
 public:
  StandingOut(const Slice& s, const RepetitionTable& t, const RepetitionRules& rules, std::size_t slices)
      : s_(s),
        rules_(rules),
        among_ranks_(t.steps == 1 || t.steps == 2 ? rules.among_ranks_few_steps : rules.among_ranks) {
    for (std::size_t r = 0; r < t.ranks; ++r)
      if (static_cast<std::int64_t>(s.repetitions(r)) >= rules.least_operations) tested_.push_back(r);
    tests_ = static_cast<double>(std::max<std::size_t>(1, tested_.size()) * slices);
    const auto add = [&](auto&& medians) {
      Level level{std::vector<Blocks>(t.ranks)};
      for (const std::size_t r : tested_) level.ranks[r] = blocks_of(medians(r));
      levels_.push_back(std::move(level));
    };
    for (const std::size_t count : kBlocks) add([&](std::size_t r) { return s_.in_blocks(r, count); });
    if (t.steps >= kLeastSteps) add([&](std::size_t r) { return s_.in_steps(r); });
    set_.assign(t.ranks, false);
  }

  std::vector<std::size_t> find() {
    std::vector<std::size_t> found;
    if (tested_.size() < 2) return found;
    measure();
    for (const std::size_t r : tested_)
      if (s_.shift(r) - usual_ > kWorthTesting * error_of(r)) found.push_back(r);
    std::stable_sort(found.begin(), found.end(),
                     [&](std::size_t a, std::size_t b) { return s_.shift(a) > s_.shift(b); });
    if (found.size() > (tested_.size() - 1) / 2) found.resize((tested_.size() - 1) / 2);
    // On two ranks one may be late beside the other.
    if (found.empty() && tested_.size() == 2) found.push_back(latest());
    for (const std::size_t r : found) set_[r] = true;
    while (!found.empty()) {
      measure();
      const auto failing =
          std::find_if(found.rbegin(), found.rend(), [&](std::size_t r) { return !stands_out(r); });
      if (failing == found.rend()) break;
      set_[*failing] = false;
      found.erase(std::next(failing).base());
    }
    return found;
  }

  [[nodiscard]] double usual() const { return usual_; }
  [[nodiscard]] double scatter() const { return scatter_; }

  [[nodiscard]] double agreement(std::size_t r) const {
    for (const std::size_t level : {std::size_t{1}, std::size_t{2}}) {
      const auto& medians = levels_[level].ranks[r].medians;
      if (medians.empty()) continue;
      const double bar = usual_ + (s_.shift(r) - usual_) / 2;
      return static_cast<double>(
                 std::count_if(medians.begin(), medians.end(), [&](double m) { return m >= bar; })) /
             static_cast<double>(medians.size());
    }
    return 0;
  }

  /// Bonferroni bound over ranks and slices, by the level that is most doubtful.
  [[nodiscard]] double chance(std::size_t r) const {
    double most = 0;
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      const Pooled& p = pooled_[l];
      const std::size_t count = levels_[l].ranks[r].medians.size();
      if (count == 0 || p.freedom == 0 || p.variance <= 0) continue;
      const double t = (s_.shift(r) - usual_) / error(l, r);
      most = std::max(
          most, student_upper_tail(
                    t, std::clamp<std::int64_t>(static_cast<std::int64_t>(p.freedom), 1, kMostFreedom)));
    }
    return std::min(1.0, std::max(most, 1e-15) * tests_);
  }

 private:
  struct Pooled {
    double variance = 0;  ///< of one block, mean over the others
    std::size_t freedom = 0;
    double correlation = 0;  ///< of neighbouring blocks
    double widening = 1;
  };

  [[nodiscard]] std::size_t latest() const {
    return *std::max_element(tested_.begin(), tested_.end(),
                             [&](std::size_t a, std::size_t b) { return s_.shift(a) < s_.shift(b); });
  }

  /// What those who are not in the set look like.
  void measure() {
    std::vector<double> others;
    for (const std::size_t r : tested_)
      if (!set_[r]) others.push_back(s_.shift(r));
    usual_ = median(others);
    others_ = others.size();
    scatter_ = scaled_mad(others);
    if (others.size() < kManyRanks) {
      Welford moments;
      for (const double o : others) moments.add(o);
      scatter_ = std::max(scatter_, moments.stddev());
    }
    pooled_.clear();
    for (const Level& level : levels_) pooled_.push_back(pool(level));
  }

  [[nodiscard]] Pooled pool(const Level& level) const {
    Pooled p;
    double squares = 0;
    double lagged = 0;
    double correction = 0;
    std::size_t ranks = 0;
    for (const std::size_t r : tested_) {
      const Blocks& b = level.ranks[r];
      if (set_[r] || b.medians.size() < 2) continue;
      squares += b.squares;
      lagged += b.lagged;
      p.freedom += b.medians.size() - 1;
      correction += 1 / static_cast<double>(b.medians.size());
      ++ranks;
    }
    if (p.freedom == 0) return p;
    p.variance = squares / static_cast<double>(p.freedom);
    // Deviations from a mean of B values correlate by about -1/B by themselves.
    if (squares > 0)
      p.correlation = std::max(0.0, lagged / squares + correction / static_cast<double>(ranks));
    const double c = std::min(p.correlation, 0.9);
    p.widening = std::sqrt((1 + c) / (1 - c));
    return p;
  }

  [[nodiscard]] double error(std::size_t l, std::size_t r) const {
    return std::sqrt(pooled_[l].variance / static_cast<double>(levels_[l].ranks[r].medians.size())) *
           pooled_[l].widening;
  }

  /// The largest over all lengths of blocks; infinite where there is none.
  [[nodiscard]] double error_of(std::size_t r) const {
    double most = -1;
    for (std::size_t l = 0; l < levels_.size(); ++l)
      if (pooled_[l].freedom > 0 && !levels_[l].ranks[r].medians.empty()) most = std::max(most, error(l, r));
    return most < 0 ? INFINITY : most;
  }

  /// The level of the longest blocks that a rank has: steps where they are told, else a fifth of the Run.
  [[nodiscard]] std::size_t longest(std::size_t r) const {
    std::size_t level = 0;
    for (std::size_t l = 0; l < levels_.size(); ++l)
      if (!levels_[l].ranks[r].medians.empty() && pooled_[l].freedom > 0) level = l;
    return level;
  }

  [[nodiscard]] bool stands_out(std::size_t r) const {
    const double late = s_.shift(r) - usual_;
    if (late <= 0 || agreement(r) < rules_.blocks_agree) return false;
    bool tested = false;
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      const Blocks& own = levels_[l].ranks[r];
      if (own.medians.empty() || pooled_[l].freedom == 0) continue;
      tested = true;
      if (l == longest(r) && pooled_[l].correlation > rules_.most_correlation) return false;
      if (late < error(l, r) * quantile_of(rules_.chance / tests_, pooled_[l].freedom)) return false;
      const double own_error =
          std::sqrt(own.variance / static_cast<double>(own.medians.size())) * pooled_[l].widening;
      if (late < own_error * quantile_of(rules_.own_chance, own.medians.size() - 1)) return false;
    }
    if (!tested) return false;
    if (others_ < kLeastOthers) return true;
    const double n = static_cast<double>(others_);
    return late >= scatter_ * std::sqrt(1 + 1 / n) *
                       quantile_of(among_ranks_ / static_cast<double>(tested_.size()), others_ - 1);
  }

  const Slice& s_;
  const RepetitionRules& rules_;
  double among_ranks_;
  std::vector<std::size_t> tested_;
  double tests_ = 1;
  std::vector<Level> levels_;
  std::vector<Pooled> pooled_;
  std::vector<bool> set_;
  double usual_ = 0;
  double scatter_ = 0;
  std::size_t others_ = 0;
};

/// Operations of each kind, those with enough of them and most first; at most `most_kinds`.
std::vector<std::pair<std::uint32_t, std::vector<std::size_t>>> kinds_of(const RepetitionTable& t,
                                                                         const RepetitionRules& rules) {
  std::vector<std::vector<std::size_t>> by_kind(t.kinds);
  for (std::size_t o = 0; o < t.operations.size(); ++o) by_kind[t.operations[o].kind].push_back(o);
  std::vector<std::pair<std::uint32_t, std::vector<std::size_t>>> out;
  for (std::uint32_t k = 0; k < t.kinds; ++k)
    if (static_cast<std::int64_t>(by_kind[k].size()) >= rules.least_operations)
      out.emplace_back(k, std::move(by_kind[k]));
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  if (out.size() > rules.most_kinds) out.resize(rules.most_kinds);
  return out;
}

/// Noise of each kind, so that kinds can be put together.
std::vector<double> units_of(const RepetitionTable& t) {
  std::vector<std::vector<std::size_t>> by_kind(t.kinds);
  for (std::size_t o = 0; o < t.operations.size(); ++o) by_kind[t.operations[o].kind].push_back(o);
  std::vector<double> units(t.kinds, 1);
  for (std::uint32_t k = 0; k < t.kinds; ++k) {
    std::vector<double> within;
    std::vector<double> works;
    for (const std::size_t o : by_kind[k]) {
      const RepeatedOperation& op = t.operations[o];
      std::vector<double> sample;
      for (std::size_t i = op.first; i < op.first + op.count; ++i)
        sample.push_back(in_seconds(t.works[i].work));
      works.push_back(median(sample));
      within.push_back(scaled_mad(sample));
    }
    // Never so small that a kind without noise drowns the others.
    units[k] = std::max({median(within), 1e-3 * std::abs(median(works)), 1e-9});
  }
  return units;
}

LateOver told(const Slice& slice, const StandingOut& test, std::size_t r, std::int64_t kind) {
  LateOver late{.rank = r, .kind = kind};
  late.operations = static_cast<std::int64_t>(slice.repetitions(r));
  const double delay = slice.shift(r) - test.usual();
  const std::vector<double> residuals = slice.residuals(r);
  late.late = std::count_if(residuals.begin(), residuals.end(),
                            [&](double e) { return e - test.usual() >= delay / 2; });
  late.delay = duration_from_seconds(delay);
  late.others_spread = duration_from_seconds(test.scatter());
  late.agreement = test.agreement(r);
  late.chance = test.chance(r);
  return late;
}

}  // namespace

std::vector<LateOver> find_late_over(const RepetitionTable& t, const RepetitionRules& rules) {
  std::vector<LateOver> out;
  if (t.ranks < 2 || static_cast<std::int64_t>(t.operations.size()) < rules.least_operations) return out;
  const auto kinds = kinds_of(t, rules);
  const bool alone = kinds.size() == 1 && kinds.front().second.size() == t.operations.size();
  const std::size_t slices = kinds.size() + (alone ? 0 : 1);
  for (const auto& [kind, ops] : kinds) {
    const Slice slice(t, ops, {});
    StandingOut test(slice, t, rules, slices);
    for (const std::size_t r : test.find())
      out.push_back(told(slice, test, r, alone ? LateOver::kAllKinds : kind));
  }
  if (alone) return out;
  std::vector<std::size_t> all(t.operations.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const Slice in_units(t, all, units_of(t));
  StandingOut test(in_units, t, rules, slices);
  const std::vector<std::size_t> found = test.find();
  if (found.empty()) return out;
  // Who: by units. By how much: in seconds.
  const Slice in_seconds_of_all(t, std::move(all), {});
  for (const std::size_t r : found) {
    LateOver late = told(in_units, test, r, LateOver::kAllKinds);
    late.delay = duration_from_seconds(in_seconds_of_all.shift(r));
    out.push_back(late);
  }
  return out;
}

}  // namespace cox::diagnose
