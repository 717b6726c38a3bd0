// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "cox/base/stats.hpp"

#include "diagnose/naming/naming.hpp"

namespace cox::diagnose {
namespace {

constexpr std::size_t kLeastPauses = 4;
/// Longest period looked for, in steps.
constexpr std::size_t kMostPeriod = 2000;
/// Ranks looked at closely, those with most time in late steps: a bound of the cost, not of the method.
constexpr std::size_t kMostChecked = 16;
/// Part of the steps that a period expects a pause in, in which there must be one.
constexpr double kKept = 0.75;
/// Part of a rank's late steps that must be pauses at the period.
constexpr double kExplained = 0.5;
/// Nobody is so punctual that a late step would be a surprise of more than one in so many.
constexpr double kLeastLateRate = 0.01;
/// A single delay this many spreads above the usual is long whatever the quantiles say.
constexpr double kLongSpreads = 4;
/// Pauses at irregular times: at least so many, so much more often than any other rank, and so far apart.
constexpr std::size_t kLeastIrregular = 6;
constexpr double kOtherRanks = 1.0 / 3;
constexpr std::size_t kLeastApart = 4;
constexpr std::size_t kStretches = 4;

struct Period {
  std::size_t length = 0;
  std::size_t phase = 0;
  double chance = 1;
};

using Late = std::vector<std::uint32_t>;  // steps, ascending

/// Who was late when, for one meaning of late.
struct Meaning {
  double bar = 0;
  std::vector<Late> late{};  ///< per row; empty for known ones
  std::size_t all = 0;
};

/// Every how many steps a row is late, if it is: the length and phase whose hits chance explains least.
Period best_period(const Late& late, std::size_t steps, double others_rate) {
  Period best;
  std::vector<std::uint32_t> hits;
  const std::size_t longest = std::min(steps / kLeastPauses, kMostPeriod);
  for (std::size_t length = 2; length <= longest; ++length) {
    hits.assign(length, 0);
    for (const auto s : late) ++hits[s % length];
    const auto phase = static_cast<std::size_t>(std::max_element(hits.begin(), hits.end()) - hits.begin());
    const std::size_t expected = (steps - phase + length - 1) / length;
    const std::size_t hit = hits[phase];
    if (hit < kLeastPauses || static_cast<double>(hit) < kKept * static_cast<double>(expected)) continue;
    const std::size_t else_late = late.size() - hit;
    if (static_cast<double>(hit) < kExplained * static_cast<double>(late.size())) continue;
    // Jeffreys' rule: that none of five other steps was late does not say that one in a hundred is.
    const double own = (static_cast<double>(else_late) + 0.5) / static_cast<double>(steps - expected + 1);
    const double rate = std::max({own, others_rate, kLeastLateRate});
    const double chance = binomial_upper_tail(static_cast<std::int64_t>(hit),
                                              static_cast<std::int64_t>(expected), std::min(rate, 1.0));
    if (chance < best.chance) best = {length, phase, chance};
  }
  return best;
}

class PauseSearch {
 public:
  PauseSearch(const Place& x, const DelayFigures& f, const std::vector<bool>& known)
      : x_(x), f_(f), known_(known) {
    const double least = x.rules().least_delay;
    for (const double bar : f.late_bars) meanings_.push_back({.bar = std::max(least, bar)});
    meanings_.push_back({.bar = std::max(x.rules().least_burst_delay, kLongSpreads * f.step_noise)});
    for (Meaning& m : meanings_) m.late.resize(x.rows());
    for (std::size_t r = 0; r < x.rows(); ++r)
      if (!is_known(r)) collect(r);
  }

  std::vector<Named> find() const {
    std::vector<Named> found;
    for (const std::size_t r : candidates())
      if (auto named = check(r)) found.push_back(*std::move(named));
    // Where a quarter of the ranks pauses, pauses are what this machine does.
    if (found.size() > std::max<std::size_t>(2, x_.rows() / 4)) return {};
    return found;
  }

 private:
  void collect(std::size_t r) {
    double bar = meanings_.front().bar;
    for (const Meaning& m : meanings_) bar = std::min(bar, m.bar);
    const Duration lowest = duration_from_seconds(bar * in_seconds(x_.x.typical_step));
    for (std::size_t s = 0; s < x_.steps(); ++s) {
      if (x_.delays[r][s] < lowest) continue;
      const double delay = x_.delay(r, s);
      for (Meaning& m : meanings_)
        if (delay > m.bar) m.late[r].push_back(static_cast<std::uint32_t>(s));
    }
    for (Meaning& m : meanings_) m.all += m.late[r].size();
  }

  [[nodiscard]] bool is_known(std::size_t row) const {
    return known_[static_cast<std::size_t>(x_.rank(row))];
  }

  /// Rows whose long delays add up to enough, most first.
  [[nodiscard]] std::vector<std::size_t> candidates() const {
    std::vector<double> sum(x_.rows(), 0);
    for (std::size_t r = 0; r < x_.rows(); ++r)
      for (const auto s : meanings_.front().late[r]) sum[r] += x_.delay(r, s);
    std::vector<std::size_t> order;
    const double least = x_.rules().least_burst_gain * static_cast<double>(x_.steps());
    for (std::size_t r = 0; r < x_.rows(); ++r)
      if (sum[r] >= least) order.push_back(r);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return sum[a] > sum[b]; });
    if (order.size() > kMostChecked) order.resize(kMostChecked);
    return order;
  }

  [[nodiscard]] double everywhere() const {
    return static_cast<double>(x_.rows()) * static_cast<double>(meanings_.size()) * x_.searched;
  }

  [[nodiscard]] std::optional<Named> check(std::size_t r) const {
    const Meaning* meaning = nullptr;
    Period best;
    for (const Meaning& m : meanings_) {
      const double others = static_cast<double>(m.all - m.late[r].size()) /
                            static_cast<double>(std::max<std::size_t>(1, (x_.rows() - 1) * x_.steps()));
      const Period p = best_period(m.late[r], x_.steps(), others);
      if (p.chance < best.chance) {
        best = p;
        meaning = &m;
      }
    }
    // As many pairs of length and phase were tried.
    const double longest = static_cast<double>(std::min(x_.steps() / kLeastPauses, kMostPeriod));
    const double chance = best.chance * longest * longest / 2 * everywhere();
    if (meaning == nullptr || chance > x_.rules().burst_test) return irregular(r);
    std::vector<std::size_t> at;
    for (std::size_t s = best.phase; s < x_.steps(); s += best.length) at.push_back(s);
    Named n = named(r, at, chance);
    n.pauses = {.count = 0,
                .period = static_cast<std::int64_t>(best.length),
                .first = static_cast<std::int64_t>(best.phase),
                .regular = true};
    return judge(std::move(n), r, at, meaning->bar);
  }

  /// Long delays that one row has time and again and nobody else has.
  [[nodiscard]] std::optional<Named> irregular(std::size_t r) const {
    for (const Meaning& m : meanings_) {
      if (m.bar < x_.rules().least_burst_delay || !rare_and_alone(m, r)) continue;
      const auto own = static_cast<std::int64_t>(m.late[r].size());
      const double chance =
          binomial_upper_tail(own, static_cast<std::int64_t>(m.all), 1 / static_cast<double>(x_.rows())) *
          everywhere();
      if (chance > x_.rules().burst_test) continue;
      const std::vector<std::size_t> at(m.late[r].begin(), m.late[r].end());
      std::vector<double> gaps;
      for (std::size_t i = 1; i < at.size(); ++i) gaps.push_back(static_cast<double>(at[i] - at[i - 1]));
      Named n = named(r, at, chance);
      n.pauses = {.count = 0,
                  .period = static_cast<std::int64_t>(std::llround(median_in_place(gaps))),
                  .first = static_cast<std::int64_t>(at.front()),
                  .regular = false};
      if (auto judged = judge(std::move(n), r, at, m.bar)) return judged;
    }
    return std::nullopt;
  }

  /// Single late steps, in every part of the Run, and far more than any other row has.
  [[nodiscard]] bool rare_and_alone(const Meaning& m, std::size_t r) const {
    const Late& late = m.late[r];
    if (late.size() < kLeastIrregular || late.size() * kLeastApart > x_.steps()) return false;
    for (std::size_t q = 0; q < x_.rows(); ++q)
      if (q != r && static_cast<double>(m.late[q].size()) > kOtherRanks * static_cast<double>(late.size()))
        return false;
    std::vector<std::size_t> in(kStretches, 0);
    std::size_t close = 0;
    for (std::size_t i = 0; i < late.size(); ++i) {
      ++in[late[i] * kStretches / x_.steps()];
      close += i > 0 && late[i] - late[i - 1] < 2;
    }
    return close * 4 <= late.size() && std::all_of(in.begin(), in.end(), [](auto n) { return n > 0; });
  }

  [[nodiscard]] Named named(std::size_t r, const std::vector<std::size_t>& at, double chance) const {
    Named n{.kind = FindingKind::PeriodicPause,
            .suspect = {{x_.rank(r)},
                        0,
                        x_.x.steps().count - 1,
                        std::vector<std::int32_t>(x_.steps(), -1),
                        x_.limits()},
            .others_spread = f_.step_noise,
            .chance = std::min(1.0, chance)};
    for (const auto s : at) n.suspect.rank_of_step[s] = x_.rank(r);
    return n;
  }

  [[nodiscard]] std::optional<Named> judge(Named n, std::size_t r, const std::vector<std::size_t>& at,
                                           double bar) const {
    std::vector<double> delays;
    delays.reserve(at.size());
    for (const auto s : at) delays.push_back(x_.delay(r, s));
    const auto late = std::count_if(delays.begin(), delays.end(), [&](double d) { return d > bar; });
    n.late_steps = late;
    n.pauses->count = late;
    n.agreement = static_cast<double>(late) / static_cast<double>(at.size());
    n.typical_delay = median_in_place(delays);
    if (n.typical_delay < x_.rules().least_burst_delay) return std::nullopt;
    n.saving = x_.without(n.suspect);
    if (ratio(n.saving.share, x_.x.stepped) < x_.rules().least_burst_gain) return std::nullopt;
    return n;
  }

  const Place& x_;
  const DelayFigures& f_;
  const std::vector<bool>& known_;
  std::vector<Meaning> meanings_;
};

}  // namespace

std::vector<Named> find_pauses(const Place& place, const DelayFigures& f, const std::vector<bool>& known) {
  return PauseSearch(place, f, known).find();
}

}  // namespace cox::diagnose
