// SPDX-License-Identifier: Apache-2.0
#include "diagnose/naming/naming.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cox/base/parallel.hpp"
#include "cox/base/stats.hpp"

#include "diagnose/naming/scatter.hpp"

namespace cox::diagnose {
namespace {

constexpr std::int64_t kStepsPerBlock = 5;
constexpr std::int64_t kMostBlocks = 20;
constexpr std::size_t kNoiseSample = 200'000;

std::size_t block_count(std::int64_t steps) {
  return static_cast<std::size_t>(std::clamp<std::int64_t>(steps / kStepsPerBlock, 1, kMostBlocks));
}

/// Search for the set of ranks that stand out from all others, from the largest plausible one downwards.
class PersistentSearch {
 public:
  PersistentSearch(const Place& place, const DelayFigures& f)
      : x_(place),
        f_(f),
        measured_(place.x.steps().count - first_measured_step(place.x)),
        few_(too_few_steps(place.x, static_cast<double>(place.rows()) * place.searched)) {}

  std::vector<std::size_t> find() {
    std::vector<std::size_t> order(x_.rows());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return f_.typical[a] > f_.typical[b]; });
    for (const std::size_t r : order)
      if (f_.typical[r] >= least_delay() && set_.size() < x_.rows() / 2) set_.push_back(r);
    while (!set_.empty()) {
      measure_others();
      // Drop the least of those that do not stand out: it may be what hides the others' standing.
      const auto failing =
          std::find_if(set_.rbegin(), set_.rend(), [&](std::size_t r) { return !stands_out(r); });
      if (failing == set_.rend()) break;
      set_.erase(std::next(failing).base());
    }
    return set_;
  }

  [[nodiscard]] double spread() const { return spread_; }

  [[nodiscard]] double agreement(std::size_t r) const {
    const auto& blocks = f_.blocks[r];
    const double bar = std::max(least_delay() / 2, 0.5 * x_.rules().spreads * spread_);
    const auto agreeing = std::count_if(blocks.begin(), blocks.end(), [&](double b) { return b >= bar; });
    return static_cast<double>(agreeing) / static_cast<double>(blocks.size());
  }

  /// Bonferroni bound of a one-sided sign test over steps: how likely one of the ranks
  /// is late so often by chance.
  [[nodiscard]] double chance(std::size_t r) const {
    const double tail = binomial_upper_tail(late_steps(r), measured_, 0.5);
    return std::min(1.0, tail * static_cast<double>(x_.rows()) * x_.searched);
  }

  [[nodiscard]] std::int64_t late_steps(std::size_t r) const {
    std::int64_t late = 0;
    for (std::size_t s = 0; s < x_.steps(); ++s) late += x_.is_late(r, s);
    return late;
  }

 private:
  [[nodiscard]] bool few_steps() const { return few_; }
  [[nodiscard]] double least_delay() const {
    return few_steps() ? x_.rules().huge_delay : x_.rules().least_delay;
  }

  void measure_others() {
    std::vector<double> others;
    others_ = {};
    for (std::size_t r = 0; r < x_.rows(); ++r)
      if (std::find(set_.begin(), set_.end(), r) == set_.end()) {
        others.insert(others.end(), f_.blocks[r].begin(), f_.blocks[r].end());
        others_.add(f_.typical[r]);
      }
    spread_ = scaled_mad(others);
  }

  [[nodiscard]] bool stands_out(std::size_t r) const {
    if (f_.typical[r] < std::max(least_delay(), x_.rules().spreads * spread_)) return false;
    if (few_steps()) {  // too few for statistics: every single step must say so, but the first, which is carried in
      std::int64_t late = 0;
      for (std::size_t s = 0; s < x_.steps(); ++s) late += x_.delay(r, s) >= x_.rules().huge_delay;
      return late >= 3 && late >= static_cast<std::int64_t>(x_.steps()) - 1;
    }
    return agreement(r) >= x_.rules().blocks_agree && chance(r) < x_.rules().sign_test && beyond_scatter(r);
  }

  /// Whether it is late by more than what lasts for many steps on its own leaves behind: in its own steps, or, as
  /// bursts may hide there, in the medians of the other ranks.
  [[nodiscard]] bool beyond_scatter(std::size_t r) const {
    const double most = x_.rules().scatter_test / (static_cast<double>(x_.rows()) * x_.searched);
    if (chance_among_others(r) < most) return true;
    const Scatter scatter =
        scatter_of(beyond_others(x_.delays, x_.x.typical_step, r, set_), 1, x_.x.least_told());
    return chance_of_level(scatter.center, scatter) < most;
  }

  /// Probability that one more rank like the others has a median of that height.
  [[nodiscard]] double chance_among_others(std::size_t r) const {
    if (others_.count() < 3) return 1;
    const double error = error_of_one_more(others_, x_.x.least_told());
    const double beyond = f_.typical[r] - others_.mean();
    if (error <= 0) return beyond > 0 ? 0 : 1;
    return student_upper_tail(beyond / error, others_.count() - 1);
  }

  const Place& x_;
  const DelayFigures& f_;
  std::int64_t measured_;
  bool few_;
  std::vector<std::size_t> set_;
  double spread_ = 0;
  Welford others_;  ///< their typical delays
};

}  // namespace

std::int64_t first_measured_step(const Evidenced& x) {
  const auto& ops = x.skew().ops;
  return std::any_of(ops.begin(), ops.end(), [](const ComparedOp& op) { return op.step == 0; }) ? 0 : 1;
}

bool too_few_steps(const Evidenced& x, double places) {
  if (x.steps().count < x.rules.least_steps) return true;
  const std::int64_t measured = x.steps().count - first_measured_step(x);
  return binomial_upper_tail(measured, measured, 0.5) * places >= x.rules.sign_test;
}

DelayFigures figures_of(const Place& x, int threads) {
  DelayFigures f;
  const std::size_t rows = x.rows();
  const std::size_t steps = x.steps();
  const std::size_t blocks = block_count(x.x.steps().count);
  f.typical.resize(rows);
  f.blocks.resize(rows);
  parallel_for(rows, threads, [&](std::size_t r) {
    std::vector<double> row(steps);
    for (std::size_t s = 0; s < steps; ++s) row[s] = x.delay(r, s);
    f.blocks[r].resize(blocks);
    for (std::size_t b = 0; b < blocks; ++b) {
      const std::size_t from = b * steps / blocks;
      const std::size_t to = (b + 1) * steps / blocks;
      f.blocks[r][b] = median_in_place(std::span(row).subspan(from, to - from));
    }
    f.typical[r] = x.position < 0 ? ratio(x.x.accounts[r].self_delay_median, x.x.typical_step)
                                  : quantile_in_place(row, 0.5);
  });
  // odd: not in step with a pattern of even length
  const std::size_t stride = (rows * steps / kNoiseSample) | 1;
  std::vector<double> sample;
  for (std::size_t i = 0; i < rows * steps; i += stride) sample.push_back(x.delay(i / steps, i % steps));
  f.step_noise = scaled_mad(sample);
  for (const double q : {0.8, 0.95, 0.99}) f.late_bars.push_back(quantile_in_place(sample, q));
  return f;
}

std::vector<LateRank> find_late(const Place& x, const DelayFigures& f) {
  PersistentSearch search(x, f);
  std::vector<LateRank> late;
  const std::vector<std::size_t> set = search.find();
  std::vector<double> others;
  for (std::size_t r = 0; r < x.rows(); ++r)
    if (std::find(set.begin(), set.end(), r) == set.end()) others.push_back(f.typical[r]);
  const double usual = others.empty() ? 0 : median_in_place(others);
  late.reserve(set.size());
  for (const std::size_t r : set)
    late.push_back({.rank = x.rank(r),
                    .typical = f.typical[r],
                    .beyond = f.typical[r] - usual,
                    .spread = search.spread(),
                    .agreement = search.agreement(r),
                    .chance = search.chance(r),
                    .late_steps = search.late_steps(r),
                    .positions = x.limits()});
  return late;
}

}  // namespace cox::diagnose
