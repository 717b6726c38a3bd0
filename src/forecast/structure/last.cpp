// SPDX-License-Identifier: Apache-2.0
#include "forecast/structure/last.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "cox/base/hash.hpp"

namespace cox::forecast {
namespace {

constexpr std::size_t kDraws = 200;

/// From what chance gives: its mean, and how often it gives as much.
Dependence judge(std::string on, double seen, const std::vector<double>& drawn) {
  Dependence out{.on = std::move(on)};
  if (drawn.empty()) return out;
  const auto as_much = std::ranges::count_if(drawn, [&](double v) { return v >= seen - 1e-12; });
  const auto n = static_cast<double>(drawn.size());
  out.chance = (1 + static_cast<double>(as_much)) / (1 + n);
  out.excess = seen - std::accumulate(drawn.begin(), drawn.end(), 0.0) / n;
  return out;
}

/// Share of steps at whose positions somebody is last who was so in the step before it, in this order of steps.
double repeats(const LastRanks& last, const std::vector<std::size_t>& order) {
  double same = 0;
  for (std::size_t k = 1; k < order.size(); ++k)
    for (std::size_t p = 0; p < last.positions; ++p)
      if (last.share_one(order[k - 1] * last.positions + p, order[k] * last.positions + p)) ++same;
  return same / static_cast<double>((order.size() - 1) * last.positions);
}

Dependence on_the_one_before(const LastRanks& last, std::size_t steps) {
  std::vector<std::size_t> order(steps);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const double seen = repeats(last, order);
  SplitMix random{0x6265666f7265};
  std::vector<double> drawn;
  for (std::size_t i = 0; i < kDraws; ++i) {
    for (std::size_t k = steps; k > 1; --k) std::swap(order[k - 1], order[random.next() % k]);
    drawn.push_back(repeats(last, order));
  }
  return judge("who was last before", seen, drawn);
}

/// Distance in variation between who is last in steps with the state and in those without: 1 = nobody in both.
double distance(const LastRanks& last, const std::vector<bool>& state, std::size_t turned,
                std::vector<double>& by_rank) {
  std::ranges::fill(by_rank, 0.0);
  const std::size_t steps = state.size();
  const auto with = static_cast<double>(std::ranges::count(state, true));
  const double without = static_cast<double>(steps) - with;
  for (std::size_t k = 0; k < steps; ++k) {
    const double weight = state[(k + turned) % steps] ? 1 / with : -1 / without;
    for (std::size_t p = 0; p < last.positions; ++p) {
      const auto who = last.at(k * last.positions + p);
      for (const std::uint32_t r : who) by_rank[r] += weight / static_cast<double>(who.size());
    }
  }
  double sum = 0;
  for (const double v : by_rank) sum += std::abs(v);
  return sum / 2 / static_cast<double>(last.positions);
}

Dependence on_a_state(std::string name, const LastRanks& last, const std::vector<bool>& state,
                      std::size_t ranks) {
  const std::size_t steps = state.size();
  const auto with = std::ranges::count(state, true);
  if (with == 0 || with == static_cast<std::ptrdiff_t>(steps)) return {.on = std::move(name)};
  std::vector<double> by_rank(ranks);
  const double seen = distance(last, state, 0, by_rank);
  std::vector<double> drawn;
  const std::size_t turns = std::min(kDraws, steps - 1);
  for (std::size_t i = 1; i <= turns; ++i)
    drawn.push_back(distance(last, state, i * steps / (turns + 1), by_rank));
  return judge(std::move(name), seen, drawn);
}

}  // namespace

bool LastRanks::share_one(std::size_t a, std::size_t b) const {
  const auto x = at(a);
  const auto y = at(b);
  std::size_t i = 0;
  for (std::size_t j = 0; i < x.size() && j < y.size();) {
    if (x[i] == y[j]) return true;
    x[i] < y[j] ? ++i : ++j;
  }
  return false;
}

LastRanks last_ranks(const Sample& sample) {
  const std::size_t ranks = sample.ranks.size();
  LastRanks out;
  out.positions = sample.positions.size();
  for (std::size_t k = 0; k < sample.steps.size(); ++k)
    for (const Position& position : sample.positions) {
      const auto own = std::span(position.own).subspan(k * ranks, ranks);
      const Seconds longest = *std::ranges::max_element(own);
      for (std::uint32_t r = 0; r < ranks; ++r)
        if (own[r] == longest) out.who.push_back(r);
      out.first.push_back(static_cast<std::uint32_t>(out.who.size()));
      out.longest.push_back(longest);
    }
  return out;
}

std::vector<Dependence> dependences_of(const Sample& sample, const LastRanks& last) {
  const std::size_t steps = sample.steps.size();
  std::vector<Seconds> lengths;
  lengths.reserve(sample.steps.size());
  for (const SampleStep& step : sample.steps) lengths.push_back(step.length);
  std::ranges::nth_element(lengths, lengths.begin() + static_cast<std::ptrdiff_t>(steps / 2));
  std::vector<bool> is_long;
  std::vector<bool> later;
  for (std::size_t k = 0; k < steps; ++k) {
    is_long.push_back(sample.steps[k].length > lengths[steps / 2]);
    later.push_back(k >= steps / 2);
  }
  return {on_the_one_before(last, steps),
          on_a_state("how long the step is", last, is_long, sample.ranks.size()),
          on_a_state("which half of the run", last, later, sample.ranks.size())};
}

}  // namespace cox::forecast
