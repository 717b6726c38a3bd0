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

bool plays_steps(const model::Scenario& s) {
  return s.job.workload() == model::Workload::Training;
}

bool changes_steps(const Switch& one) {
  return one.kind != SwitchKind::Failures && one.kind != SwitchKind::Start;
}

std::vector<Switch> usable(std::vector<Switch> switches) {
  std::erase_if(switches, [](const Switch& one) { return !one.off; });
  return switches;
}

std::int64_t simulations_of(const model::Scenario& s, std::span<const Switch> switches) {
  const std::ptrdiff_t changing =
      plays_steps(s) ? std::ranges::count_if(switches, changes_steps) : std::ssize(switches);
  return switches.size() <= kMostExact
             ? std::int64_t{1} << changing
             : std::int64_t{2} * kPairsOfOrders * std::max<std::ptrdiff_t>(changing - 1, 0) + 2;
}

/// What a combination of switches takes.
struct Combination {
  std::vector<Seconds> by_seed;
  Seconds mean{};
};

/// Totals of any combination of switches; each is simulated once.
class Totals {
 public:
  Totals(const model::Scenario& scenario, const SimulateOptions& options, std::span<const Switch> switches,
         const Outcome& whole)
      : scenario_(scenario), options_(options), switches_(switches) {
    options_.want_run = options_.keep_steps = false;
    told_ = std::exchange(options_.progress, {});
    if (told_) options_.progress = [this](double done, double total) { tell(total > 0 ? done / total : 0); };
    scenario_.plays_links = engine_for(scenario) == model::EngineKind::Flow;
    // Without its noise on messages a job might be left to max-plus, a few per cent beside.
    if (scenario.engine == model::EngineKind::Auto && scenario_.plays_links && disturbs_messages(scenario))
      scenario_.engine = model::EngineKind::Flow;
    for (std::size_t i = 0; i < switches_.size(); ++i)
      if (plays_steps(scenario) && !changes_steps(switches_[i])) repeat_ |= Set{1} << i;
    pin(whole.engine);
    const Set all = (Set{1} << switches_.size()) - 1;
    known_[all] = {.by_seed = whole.totals, .mean = whole.over_replicas.mean};
    if (repeat_ != 0 && whole.seed_steps) played_[all & ~repeat_] = *whole.seed_steps;
    tell(0);
  }
  /// Stays where it is.
  Result<const Combination*> of(Set on) {
    if (const auto known = known_.find(on); known != known_.end()) return &known->second;
    model::Scenario one = scenario_;
    switch_off(switches_, on, one);
    COX_TRY(std::vector<Seconds> made, totals(on, one));
    const Seconds mean = spread_of(made).mean;
    return &known_.emplace(on, Combination{.by_seed = std::move(made), .mean = mean}).first->second;
  }
  [[nodiscard]] std::int64_t simulated() const { return static_cast<std::int64_t>(known_.size()); }

 private:
  /// Combinations of what changes steps are played once for all others, and kept as long only where there are any.
  Result<std::vector<Seconds>> totals(Set on, const model::Scenario& one) {
    auto steps = played_.find(on & ~repeat_);
    if (repeat_ != 0 && steps != played_.end()) return seed_totals(one, steps->second);
    if (!plays_steps(one)) {
      COX_TRY(Outcome outcome, simulate(one, options_));
      simulation_is_done();
      return std::move(outcome.totals);
    }
    COX_TRY(SeedSteps made, play_seeds(one, options_));
    simulation_is_done();
    if (repeat_ == 0) return seed_totals(one, made);
    steps = played_.emplace(on & ~repeat_, std::move(made)).first;
    return seed_totals(one, steps->second);
  }
  void simulation_is_done() {
    ++simulations_;
    tell(0);
  }
  /// `part` of the simulation under way.
  void tell(double part) const {
    const double done = static_cast<double>(simulations_) + part;
    if (told_) told_(done, std::max(done, static_cast<double>(simulations_of(scenario_, switches_))));
  }
  /// One engine for all, or its own small differences would be somebody's cost: that of the job as it is.
  void pin(model::EngineKind engine) {
    const model::Workload workload = scenario_.job.workload();
    if (scenario_.engine != model::EngineKind::Auto || scenario_.plays_links ||
        (workload != model::Workload::Training && workload != model::Workload::Collective))
      return;
    scenario_.plays_links = engine == model::EngineKind::Flow;
    if (engine == model::EngineKind::MaxPlus) scenario_.engine = engine;
  }

  model::Scenario scenario_;
  SimulateOptions options_;
  std::function<void(double, double)> told_;
  std::span<const Switch> switches_;
  Set repeat_ = 0;  ///< what changes no step
  std::map<Set, Combination> known_;
  std::map<Set, SeedSteps> played_;  ///< by what is on of all that changes steps, where it is asked for again
  std::int64_t simulations_ = 1;     ///< that of the scenario as it is
};

/// What switches add to the total of each seed; every combination of a seed is on the same draws.
class SeedShares {
 public:
  SeedShares(std::size_t switches, std::size_t seeds)
      : shares_(switches, std::vector<Seconds>(seeds > 1 ? seeds : 0)) {}
  void add(std::size_t i, const Combination& with, const Combination& without, double weight) {
    for (std::size_t seed = 0; seed < shares_[i].size(); ++seed)
      shares_[i][seed] += (with.by_seed[seed] - without.by_seed[seed]) * weight;
  }
  [[nodiscard]] Seconds half_width(std::size_t i) const { return spread_of(shares_[i]).half_width_95; }

 private:
  std::vector<std::vector<Seconds>> shares_;  ///< [switch][seed]; of a single seed nobody asks
};

/// By all sets: a set of k others comes before i in k! (n - 1 - k)! of the n! orders.
Status exact_shares(Totals& totals, SeedShares& seeds, std::vector<MechanismCost>& costs) {
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
      COX_TRY(const Combination* without, totals.of(on));
      COX_TRY(const Combination* with, totals.of(on | Set{1} << i));
      const double part = weight[static_cast<std::size_t>(std::popcount(on))];
      costs[i].share += (with->mean - without->mean) * part;
      seeds.add(i, *with, *without, part);
    }
  return {};
}

/// By orders that are drawn, each beside its reverse; what an order gives is added up exactly.
Status sampled_shares(Totals& totals, std::uint64_t seed, SeedShares& seeds,
                      std::vector<MechanismCost>& costs) {
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
        COX_TRY(const Combination* without, totals.of(on));
        on |= Set{1} << i;
        COX_TRY(const Combination* with, totals.of(on));
        both[i] += (with->mean - without->mean).count() / 2;
        seeds.add(i, *with, *without, 1. / (2 * kPairsOfOrders));
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

std::int64_t simulations_to_attribute(const model::Scenario& scenario) {
  return simulations_of(scenario, usable(switches_of(scenario)));
}

Result<Attribution> attribute(const model::Scenario& scenario, const SimulateOptions& options) {
  SimulateOptions keeping{.threads = options.threads,
                          .memo = options.memo,
                          .closure = options.closure,
                          .keep_steps = true,
                          .progress = {}};
  COX_TRY(const Outcome whole, simulate(scenario, keeping));
  return attribute(scenario, options, whole);
}

Result<Attribution> attribute(const model::Scenario& scenario, const SimulateOptions& options,
                              const Outcome& whole) {
  const std::vector<Switch> switches = usable(switches_within(scenario, whole.last_end()));
  const std::size_t n = switches.size();
  if (n > 63)
    return fail({.code = Errc::InvalidInput,
                 .id = "simulate-003",
                 .message = "the scenario switches on more than 63 mechanisms",
                 .hint = "mechanisms are noise, oversubscription, background load, failures, ...",
                 .where = std::nullopt});
  Totals totals(scenario, options, switches, whole);
  Attribution out;
  out.exact = n <= kMostExact;
  const Set all = (Set{1} << n) - 1;
  COX_TRY(const Combination* with, totals.of(all));
  COX_TRY(const Combination* without, totals.of(0));
  out.with = with->mean;
  out.without = without->mean;
  out.seeds = static_cast<int>(with->by_seed.size());
  for (std::size_t i = 0; i < n; ++i) {
    COX_TRY(const Combination* alone, totals.of(Set{1} << i));
    COX_TRY(const Combination* others, totals.of(all & ~(Set{1} << i)));
    out.mechanisms.push_back(
        {.name = switches[i].name, .alone = alone->mean - out.without, .last = out.with - others->mean});
  }
  SeedShares seeds(n, with->by_seed.size());
  COX_CHECK(out.exact ? exact_shares(totals, seeds, out.mechanisms)
                      : sampled_shares(totals, scenario.seed, seeds, out.mechanisms));
  for (std::size_t i = 0; i < n; ++i) out.mechanisms[i].seeds_half_width = seeds.half_width(i);
  out.simulated = totals.simulated();
  return out;
}

}  // namespace cox::simulate
