// SPDX-License-Identifier: Apache-2.0
#include "cox/simulate/attribution.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "cox/base/random.hpp"
#include "cox/base/stats.hpp"
#include "cox/simulate/switches.hpp"

#include "simulate/training/seed_steps.hpp"

namespace cox::simulate {
namespace {

constexpr std::size_t kMostExact = 6;
constexpr int kPairsOfOrders = 20;
constexpr std::uint32_t kOrderStream = 0x73686170;

/// Which mechanisms are on, one bit each.
using Set = std::uint64_t;

/// Mean total for any combination of switches; each is simulated once.
class Totals {
 public:
  Totals(const model::Scenario& scenario, const SimulateOptions& options, std::span<const Switch> switches)
      : scenario_(scenario), options_(options), switches_(switches) {
    options_.want_run = false;
    told_ = std::exchange(options_.progress, {});
    scenario_.plays_links = engine_for(scenario) == model::EngineKind::Flow;
  }
  Result<Seconds> of(Set on) {
    if (const auto known = known_.find(on); known != known_.end()) return known->second;
    model::Scenario one = scenario_;
    switch_off(switches_, on, one);
    COX_TRY(known_[on], total(on, one));
    if (told_)
      told_(static_cast<double>(simulated()), static_cast<double>(std::max(simulated(), expected())));
    return known_[on];
  }
  [[nodiscard]] std::int64_t simulated() const { return static_cast<std::int64_t>(known_.size()); }

 private:
  /// The first is simulated as it is: it says which engine. Failures and the start change no step, so combinations of others
  /// are played once for all of those, and kept as long only where there are any.
  Result<Seconds> total(Set on, const model::Scenario& one) {
    const bool first = std::exchange(first_, false);
    if (first || one.job.workload() != model::Workload::Training) {
      COX_TRY(const Outcome outcome, simulate(one, options_));
      if (first) pin(outcome.engine);
      return outcome.over_replicas.mean;
    }
    Set steps = on;
    bool again = false;
    for (std::size_t i = 0; i < switches_.size(); ++i)
      if (switches_[i].kind == SwitchKind::Failures || switches_[i].kind == SwitchKind::Start) {
        steps &= ~(Set{1} << i);
        again = true;
      }
    if (!again) {
      COX_TRY(const SeedSteps made, play_seeds(one, options_));
      return mean_total(one, made);
    }
    auto played = played_.find(steps);
    if (played == played_.end()) {
      COX_TRY(SeedSteps made, play_seeds(one, options_));
      played = played_.emplace(steps, std::move(made)).first;
    }
    return mean_total(one, played->second);
  }
  /// One engine for all, or its own small differences would be somebody's cost: that of the job as it is, which is asked first.
  void pin(model::EngineKind engine) {
    const model::Workload workload = scenario_.job.workload();
    if (scenario_.engine != model::EngineKind::Auto || scenario_.plays_links ||
        (workload != model::Workload::Training && workload != model::Workload::Collective))
      return;
    scenario_.plays_links = engine == model::EngineKind::Flow;
    if (engine == model::EngineKind::MaxPlus) scenario_.engine = engine;
  }
  /// Simulations in all; of drawn orders about as many as they have different beginnings.
  [[nodiscard]] std::int64_t expected() const {
    const auto n = static_cast<std::int64_t>(switches_.size());
    return n <= static_cast<std::int64_t>(kMostExact) ? std::int64_t{1} << n
                                                      : std::int64_t{2} * kPairsOfOrders * (n - 1) + 2;
  }

  model::Scenario scenario_;
  SimulateOptions options_;
  std::function<void(double, double)> told_;
  std::span<const Switch> switches_;
  std::map<Set, Seconds> known_;
  std::map<Set, SeedSteps> played_;  ///< by what is on of all that changes steps, where it is asked for again
  bool first_ = true;
};

/// By all sets: a set of k others comes before i in k! (n - 1 - k)! of the n! orders.
Status exact_shares(Totals& totals, std::vector<MechanismCost>& costs) {
  const std::size_t n = costs.size();
  std::vector<double> weight(n);
  double choose = 1;  // n - 1 over k
  for (std::size_t k = 0; k < n; ++k) {
    weight[k] = 1 / (static_cast<double>(n) * choose);
    choose *= static_cast<double>(n - 1 - k) / static_cast<double>(k + 1);
  }
  for (std::size_t i = 0; i < n; ++i)
    for (Set on = 0; on < Set{1} << n; ++on) {
      if ((on >> i & 1) != 0) continue;
      COX_TRY(const Seconds without, totals.of(on));
      COX_TRY(const Seconds with, totals.of(on | Set{1} << i));
      costs[i].share += (with - without) * weight[static_cast<std::size_t>(std::popcount(on))];
    }
  return {};
}

/// By orders that are drawn, each beside its reverse; what an order gives is added up exactly.
Status sampled_shares(Totals& totals, std::uint64_t seed, std::vector<MechanismCost>& costs) {
  const std::size_t n = costs.size();
  const RandomStream draws(seed, kOrderStream);
  std::vector<Welford> shares(n);
  std::vector<std::size_t> order(n);
  std::uint64_t at = 0;
  for (int pair = 0; pair < kPairsOfOrders; ++pair) {
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[draws.bits(0, at++) % i]);
    std::vector<double> both(n, 0);
    for (int way = 0; way < 2; ++way) {
      Set on = 0;
      for (const std::size_t i : order) {
        COX_TRY(const Seconds without, totals.of(on));
        on |= Set{1} << i;
        COX_TRY(const Seconds with, totals.of(on));
        both[i] += (with - without).count() / 2;
      }
      std::reverse(order.begin(), order.end());
    }
    for (std::size_t i = 0; i < n; ++i) shares[i].add(both[i]);
  }
  for (std::size_t i = 0; i < n; ++i) {
    costs[i].share = Seconds{shares[i].mean()};
    costs[i].half_width = Seconds{student_half_width(shares[i], 0.025)};
  }
  return {};
}

}  // namespace

Result<Attribution> attribute(const model::Scenario& scenario, const SimulateOptions& options) {
  std::vector<Switch> switches = switches_of(scenario);
  std::erase_if(switches, [](const Switch& one) { return !one.off; });
  const std::size_t n = switches.size();
  if (n > 63)
    return fail({.code = Errc::InvalidInput,
                 .id = "simulate-003",
                 .message = "the scenario switches on more than 63 mechanisms",
                 .hint = "mechanisms are noise, oversubscription, background load, failures, ...",
                 .where = std::nullopt});
  Totals totals(scenario, options, switches);
  Attribution out;
  out.exact = n <= kMostExact;
  const Set all = (Set{1} << n) - 1;
  COX_TRY(out.with, totals.of(all));
  COX_TRY(out.without, totals.of(0));
  for (std::size_t i = 0; i < n; ++i) {
    COX_TRY(const Seconds alone, totals.of(Set{1} << i));
    COX_TRY(const Seconds others, totals.of(all & ~(Set{1} << i)));
    out.mechanisms.push_back(
        {.name = switches[i].name, .alone = alone - out.without, .last = out.with - others});
  }
  COX_CHECK(out.exact ? exact_shares(totals, out.mechanisms)
                      : sampled_shares(totals, scenario.seed, out.mechanisms));
  out.simulated = totals.simulated();
  return out;
}

}  // namespace cox::simulate
