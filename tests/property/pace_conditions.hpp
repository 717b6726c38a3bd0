// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the laws of pacing put controllers into: jobs drawn at random, and jobs made to hurt.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "property/pace_loop.hpp"

namespace cox::pace::laws {

/// A regime of a job; times in seconds.
struct Regime {
  double device = 0.02;
  Jitter jitter;
  int slow = 0;  ///< so many ranks are slow, from `first_slow` on
  int first_slow = 0;
  double slow_factor = 1;
  int episode = 0;  ///< steps after which others are slow; 0: never
  double prepare = 0;
  int cores = 0;
  double transfer = 0;
  double toll = 0;
  double relief = 0;
  double skew = 0;  ///< largest lateness in leaving a synchronisation
};

/// Draws what its regime says. What changes it, or what ranks are told, is given as functions.
class Job : public Environment {
 public:
  using Adapt = std::function<void(std::uint64_t step, std::span<const Controller>, Regime&, Load&)>;
  using Distort = std::function<void(std::uint64_t step, std::size_t rank, Observation&)>;
  using Tell = std::function<void(std::uint64_t step, std::size_t rank, Controller&)>;

  Job(std::uint64_t seed, const Regime& regime) : draws_(seed, 1), places_(seed, 2), regime_(regime) {}

  void shape(std::uint64_t step, std::span<const Controller> controllers, Load& load) override {
    if (adapt) adapt(step, controllers, regime_, load);
    const std::size_t ranks = load.device.size();
    const Regime& now = regime_;
    int first = now.first_slow;
    if (now.episode > 0)
      first = static_cast<int>(places_.bits(step / static_cast<std::uint64_t>(now.episode), 0) % ranks);
    normals_.resize(2 * ranks);
    if (now.jitter.law != Jitter::Law::None || now.skew > 0) draws_.normals(step, 0, normals_);
    for (std::size_t r = 0; r < ranks; ++r) {
      const bool slow = (static_cast<int>(r + ranks) - first) % static_cast<int>(ranks) < now.slow;
      load.device[r] = now.device * (slow ? now.slow_factor : 1) * now.jitter.at(normals_[r]);
      load.skew[r] = now.skew > 0 ? now.skew * std::min(1.0, std::abs(normals_[ranks + r]) / 3) : 0;
    }
    load.prepare = now.prepare;
    load.cores = now.cores;
    load.transfer = now.transfer;
    load.toll = now.toll;
    load.relief = now.relief;
    if (after) after(step, controllers, regime_, load);
  }
  void distort(std::uint64_t step, std::size_t rank, Observation& seen) override {
    if (lie) lie(step, rank, seen);
  }
  void tell_others(std::uint64_t step, std::size_t rank, Controller& controller) override {
    if (tell) tell(step, rank, controller);
  }

  Adapt adapt;  ///< before a step is drawn
  Adapt after;  ///< when it has been drawn
  Distort lie;
  Tell tell;

 private:
  RandomStream draws_;
  RandomStream places_;
  Regime regime_;
  std::vector<double> normals_;
};

struct Condition {
  std::string name;
  int ranks = 4;
  std::uint64_t steps = 600;
  std::unique_ptr<Job> job;
};

/// The two of pacing.md in which pacing gains, and what they are without imbalance.
/// Source of the numbers: rows (vi), (vi0), (iv-b) and (iv-b0), solved for the shared work.
inline Regime shared_host(int slow) {
  return {.device = 0.020,
          .jitter = {.law = Jitter::Law::Lognormal, .spread = 0.03},
          .slow = slow,
          .first_slow = 28,
          .slow_factor = 1.5,
          .prepare = 0.0006,
          .cores = 2};
}
inline Regime shared_link(int slow) {
  return {.device = 0.036,
          .jitter = {.law = Jitter::Law::Lognormal, .spread = 0.03},
          .slow = slow,
          .first_slow = 6,
          .slow_factor = 1.5,
          .prepare = 0.0047,
          .cores = 1};
}

/// A persistent straggler that shares nothing: half an iteration of slack for all the others.
inline Regime straggler(double jitter = 0.03) {
  return {.device = 0.020,
          .jitter = {.law = Jitter::Law::Lognormal, .spread = jitter},
          .slow = 1,
          .slow_factor = 1.5};
}

/// The `index`-th of the random conditions: one to three regimes after each other.
inline Condition random_condition(std::uint64_t index, std::uint64_t steps) {
  const RandomStream choice(0x70616365 + index, 3);
  std::uint64_t drawn = 0;
  const auto uniform = [&](double low, double high) {
    return low + (high - low) * choice.uniform(0, drawn++);
  };
  const auto one_of = [&](int count) { return static_cast<int>(uniform(0, count)); };
  Condition c;
  c.name = "random " + std::to_string(index);
  c.ranks = one_of(10) == 0 ? 8 + one_of(9) : 2 + one_of(4);
  c.steps = steps;
  const double period = 0.001 * std::pow(10, uniform(0, 2));
  const auto regime = [&] {
    Regime r;
    r.device = period * uniform(0.5, 1.5);
    r.jitter.law = static_cast<Jitter::Law>(one_of(4));
    r.jitter.spread = 0.005 * std::pow(10, uniform(0, 1.5));
    if (r.jitter.law == Jitter::Law::Pareto) r.jitter.tail = uniform(1.2, 3);
    r.slow = one_of(c.ranks);
    r.first_slow = one_of(c.ranks);
    r.slow_factor = uniform(1, 2);
    r.episode = one_of(3) == 0 ? 1 + one_of(60) : 0;
    if (one_of(2) == 0) {
      r.cores = 1 + one_of(2);
      r.prepare = period * uniform(0, 0.4) / c.ranks * r.cores;
    }
    if (one_of(2) == 0) r.transfer = period * uniform(0, 4);
    if (one_of(4) == 0) r.toll = uniform(0, 1);
    if (one_of(4) == 0) r.relief = uniform(0, 1);
    r.skew = 1e-5 * one_of(4);
    return r;
  };
  c.job = std::make_unique<Job>(index, regime());
  if (one_of(4) == 0)
    c.job->after = [state = static_cast<State>(one_of(5)), harm = uniform(0, 1), use = uniform(0, 0.3)](
                       std::uint64_t, std::span<const Controller> all, Regime&, Load& load) {
      const bool there =
          std::ranges::any_of(all, [state](const Controller& one) { return one.decide().state == state; });
      load.toll = there ? harm : 0;
      load.relief = there ? 0 : use;
    };
  c.job->transfer_known = one_of(2) == 0;
  c.job->oversleep = 2e-5 * one_of(4);
  if (one_of(2) == 0) {
    const auto first = static_cast<std::uint64_t>(uniform(0, static_cast<double>(steps)));
    const auto second = static_cast<std::uint64_t>(uniform(0, static_cast<double>(steps)));
    c.job->adapt = [first, second, a = regime(), b = regime()](std::uint64_t step, auto, Regime& now, auto&) {
      if (step == first) now = a;
      if (step == second) now = b;
    };
  }
  return c;
}

/// Jobs made to hurt a controller that tries and measures.
std::vector<Condition> constructed_conditions();

}  // namespace cox::pace::laws
