// SPDX-License-Identifier: Apache-2.0
#include "forecast/structure/structure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "cox/base/assert.hpp"
#include "cox/base/stats.hpp"

#include "forecast/structure/last.hpp"

namespace cox::forecast {
namespace {

constexpr std::size_t kBlocks = 20;
constexpr std::size_t kMostGroups = 256;

/// Ranks by what they belong to: dense numbers in the order of the units.
struct Units {
  std::vector<std::int32_t> unit;  ///< ascending
  std::vector<std::uint32_t> of;   ///< of each rank
};

Units units_of(const Sample& sample, std::int32_t SampleRank::*which) {
  Units out;
  std::set<std::int32_t> all;
  for (const SampleRank& r : sample.ranks) all.insert(r.*which);
  out.unit.assign(all.begin(), all.end());
  for (const SampleRank& r : sample.ranks)
    out.of.push_back(
        static_cast<std::uint32_t>(std::ranges::lower_bound(out.unit, r.*which) - out.unit.begin()));
  return out;
}

bool all_known(const Units& units) {
  return units.unit.size() > 1 && units.unit.front() >= 0;
}

/// What part each unit has in being last at one synchronisation.
class Shares {
 public:
  explicit Shares(const Units& units) : units_(&units), of_(units.unit.size(), 0.0) {}
  void take(const LastRanks& last, std::size_t s) {
    for (const std::uint32_t u : seen_) of_[u] = 0;
    seen_.clear();
    const auto who = last.at(s);
    for (const std::uint32_t r : who) {
      const std::uint32_t u = units_->of[r];
      if (of_[u] == 0) seen_.push_back(u);
      of_[u] += 1 / static_cast<double>(who.size());
    }
  }
  [[nodiscard]] std::span<const std::uint32_t> seen() const { return seen_; }
  [[nodiscard]] double of(std::uint32_t unit) const { return of_[unit]; }

 private:
  const Units* units_;
  std::vector<double> of_;
  std::vector<std::uint32_t> seen_;
};

struct Tally {
  double sum = 0;
  double squares = 0;
  double lagged = 0;  ///< products with the same place a step before
  Seconds own{};
  Seconds own_alone{};  ///< where nobody else was last
  Seconds own_any{};
};

/// Trials that count as independent, of `n` of which `before` have one a step before them.
double independent(const Tally& t, double n, double before) {
  const double p = t.sum / n;
  const double variance = t.squares / n - p * p;
  if (!(variance > 0) || !(before > 0)) return n;
  const double r = std::clamp((t.lagged / before - p * p) / variance, 0.0, 0.999);
  return std::max(1.0, n * (1 - r) / (1 + r));
}

std::vector<UnitPace> paces_of(const Sample& sample, const LastRanks& last, const Units& units) {
  std::vector<Tally> tally(units.unit.size());
  std::vector<Shares> before(last.positions, Shares(units));
  Shares now(units);
  for (std::size_t s = 0; s < last.size(); ++s) {
    now.take(last, s);
    Shares& old = before[s % last.positions];
    for (const std::uint32_t u : now.seen()) {
      Tally& t = tally[u];
      const double share = now.of(u);
      t.sum += share;
      t.squares += share * share;
      t.lagged += share * old.of(u);
      t.own += share * last.longest[s];
      t.own_any += last.longest[s];
      if (now.seen().size() == 1) t.own_alone += last.longest[s];
    }
    std::swap(old, now);
  }
  Seconds time{};
  for (const SampleStep& step : sample.steps) time += step.length;
  const auto n = static_cast<double>(last.size());
  const double with_one_before = n - static_cast<double>(last.positions);
  std::vector<UnitPace> out;
  for (std::size_t u = 0; u < tally.size(); ++u) {
    const Tally& t = tally[u];
    const double trials = independent(t, n, with_one_before);
    const auto over = [&](Seconds own) { return time > Seconds{} ? own / time : 0; };
    out.push_back({.unit = units.unit[u],
                   .critical = wilson(t.sum / n * trials, trials),
                   .elasticity = over(t.own),
                   .if_faster = over(t.own_alone),
                   .if_slower = over(t.own_any)});
  }
  return out;
}

Concentration concentration(const LastRanks& last, const std::vector<UnitPace>& ranks) {
  std::vector<double> shares;
  shares.reserve(ranks.size());
  for (const UnitPace& r : ranks) shares.push_back(r.critical.value);
  Concentration out = concentration_of(shares, static_cast<double>(last.size()));
  double moved = 0;
  for (std::size_t s = last.positions; s < last.size(); ++s)
    if (!last.share_one(s - last.positions, s)) ++moved;
  out.moves = wilson(moved, static_cast<double>(last.size() - last.positions));
  return out;
}

/// A ratio of sums over steps, with an interval from blocks of neighbouring steps (jackknife).
Proportion ratio_over_blocks(const std::vector<Seconds>& above, const std::vector<Seconds>& below) {
  const std::size_t blocks = std::min(kBlocks, above.size());
  std::vector<Seconds> a(blocks);
  std::vector<Seconds> b(blocks);
  Seconds all_a{};
  Seconds all_b{};
  for (std::size_t k = 0; k < above.size(); ++k) {
    a[k * blocks / above.size()] += above[k];
    b[k * blocks / above.size()] += below[k];
    all_a += above[k];
    all_b += below[k];
  }
  if (!(all_b > Seconds{})) return {};
  const double value = all_a / all_b;
  Welford without;
  for (std::size_t i = 0; i < blocks; ++i)
    if (all_b > b[i]) without.add((all_a - a[i]) / (all_b - b[i]));
  const auto m = without.count();
  if (m < 2) return {.value = value, .low = value, .high = value};
  const double half = student_quantile(0.05, m - 1) * without.stddev() * static_cast<double>(m - 1) /
                      std::sqrt(static_cast<double>(m));
  return {.value = value, .low = value - half, .high = value + half};
}

void add_parts(const Sample& sample, const LastRanks& last, Structure& out) {
  std::vector<Seconds> time;
  time.reserve(sample.steps.size());
  for (const SampleStep& step : sample.steps) time.push_back(step.length);
  std::vector<Seconds> rest = time;
  for (std::size_t p = 0; p < last.positions; ++p) {
    std::vector<Seconds> part;
    for (std::size_t k = 0; k < time.size(); ++k) {
      part.push_back(last.longest[k * last.positions + p]);
      rest[k] -= part.back();
    }
    const std::string& name = sample.positions[p].name;
    out.parts.push_back({.to = name.empty() ? "own work" : fmt::format("own work before {}", name),
                         .value = ratio_over_blocks(part, time)});
  }
  out.parts.push_back({.to = "communication that nothing hides", .value = ratio_over_blocks(rest, time)});

  Seconds own{};
  for (const Position& position : sample.positions)
    for (const Seconds x : position.own) own += x;
  Seconds all{};
  Seconds left{};
  for (std::size_t k = 0; k < time.size(); ++k) {
    all += time[k];
    left += rest[k];
  }
  const Seconds one = own / static_cast<double>(sample.ranks.size()) + left;
  out.amplification = one > Seconds{} ? all / one : 1;
}

void add_groups(const Sample& sample, const LastRanks& last, Structure& out) {
  Units groups = units_of(sample, &SampleRank::role);
  out.groups_are_roles = groups.unit.size() > 1;
  if (!out.groups_are_roles) groups = units_of(sample, &SampleRank::node);
  if (!all_known(groups) || groups.unit.size() > kMostGroups) return;
  out.groups = groups.unit;
  out.entered.assign(groups.unit.size(), std::vector<double>(groups.unit.size(), 0.0));
  Shares before(groups);
  Shares now(groups);
  before.take(last, 0);
  const double each = 1 / static_cast<double>(last.size() - 1);
  for (std::size_t s = 1; s < last.size(); ++s) {
    now.take(last, s);
    for (const std::uint32_t g : now.seen())
      for (const std::uint32_t h : before.seen()) out.entered[g][h] += now.of(g) * before.of(h) * each;
    std::swap(before, now);
  }
}

/// Standard deviation of own work between the ranks of a step.
Seconds spread_in_a_step(const Sample& sample, const Position& position) {
  const std::size_t ranks = sample.ranks.size();
  double sum = 0;
  for (std::size_t k = 0; k < sample.steps.size(); ++k) {
    Welford step;
    for (std::size_t r = 0; r < ranks; ++r) step.add(position.at(k, r, ranks).count());
    sum += step.variance();
  }
  return Seconds{std::sqrt(sum / static_cast<double>(sample.steps.size()))};
}

void add_kept(const Sample& sample, Structure& out) {
  Seconds deviation{};
  for (const Position& p : sample.positions)
    deviation += spread_in_a_step(sample, p) / static_cast<double>(sample.positions.size());
  if (!(deviation > Seconds{})) return;
  for (const double times : {1.0, 3.0, 5.0, 10.0}) out.kept.push_back(kept_of(sample, times * deviation));
}

}  // namespace

KeptPart kept_of(const Sample& sample, Seconds delay) {
  COX_ASSERT(delay > Seconds{} && !sample.positions.empty(), "a delay before a synchronisation");
  const std::size_t ranks = sample.ranks.size();
  const auto each = static_cast<double>(ranks * sample.positions.size());
  std::vector<Seconds> kept(sample.steps.size());
  std::vector<double> single;
  single.reserve(kept.size() * ranks * sample.positions.size());
  for (const Position& at : sample.positions)
    for (std::size_t k = 0; k < sample.steps.size(); ++k) {
      const auto own = std::span(at.own).subspan(k * ranks, ranks);
      const Seconds longest = *std::ranges::max_element(own);
      for (const Seconds x : own) {
        const Seconds left = std::max(Seconds{}, delay - (longest - x));
        kept[k] += left / each;
        single.push_back(left / delay);
      }
    }
  Proportion share = ratio_over_blocks(kept, std::vector<Seconds>(kept.size(), delay));
  share.low = std::max(0.0, share.low);
  share.high = std::min(1.0, share.high);
  const auto place = [&](double p) {
    const auto at = single.begin() + std::lround(p * static_cast<double>(single.size() - 1));
    std::ranges::nth_element(single, at);
    return *at;
  };
  return {.delay = delay, .kept = share, .one_low = place(0.05), .one_high = place(0.95)};
}

Result<Structure> structure_of(const Sample& sample) {
  COX_CHECK(check(sample));
  if (sample.positions.empty())
    return fail(Error{
        .code = Errc::InvalidInput,
        .id = "forecast-020",
        .message = fmt::format("{}: only step times are known, expected own work per rank", sample.name),
        .hint = "give a Run, a trace or a table with one column per rank",
        .where = {}});
  const LastRanks last = last_ranks(sample);
  Structure out;
  out.synchronisations = static_cast<std::int64_t>(last.size());
  out.ranks = paces_of(sample, last, units_of(sample, &SampleRank::rank));
  if (const Units nodes = units_of(sample, &SampleRank::node); all_known(nodes))
    out.nodes = paces_of(sample, last, nodes);
  if (const Units roles = units_of(sample, &SampleRank::role); all_known(roles))
    out.roles = paces_of(sample, last, roles);
  out.who = concentration(last, out.ranks);
  out.depends = dependences_of(sample, last);
  add_parts(sample, last, out);
  add_groups(sample, last, out);
  add_kept(sample, out);
  return out;
}

}  // namespace cox::forecast
