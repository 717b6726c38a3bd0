// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>

#include "property/pace_conditions.hpp"

namespace cox::pace::laws {
namespace {

using std::chrono::milliseconds;
using Controllers = std::span<const Controller>;

bool any_in(Controllers controllers, State state) {
  return std::ranges::any_of(controllers, [state](const Controller& c) { return c.decide().state == state; });
}
bool any_delays(Controllers controllers) {
  return std::ranges::any_of(controllers,
                             [](const Controller& c) { return c.decide().delay > Duration::zero(); });
}

/// Use that is just enough to be believed, and all the harm that a delay can do.
void turn_against(std::uint64_t, Controllers all, Regime& now, Load&) {
  const bool holding = any_in(all, State::Hold);
  now.toll = holding ? 1 : 0;
  now.relief = holding ? 0 : 0.1;
}
void step_forward(std::uint64_t step, std::size_t, Observation& seen) {
  if (step % 2000 == 5) seen.work += std::chrono::hours{60};
}

class Collection {
 public:
  Job& add(std::string name, int ranks, std::uint64_t steps, const Regime& regime) {
    all_.push_back({.name = std::move(name),
                    .ranks = ranks,
                    .steps = steps,
                    .job = std::make_unique<Job>(all_.size(), regime)});
    return *all_.back().job;
  }
  std::vector<Condition> take() { return std::move(all_); }

 private:
  std::vector<Condition> all_;
};

/// They read what the controllers decide and turn against it.
void add_readers(Collection& to) {
  // The effect changes its sign after each decision; long enough for the budget to be what ends it.
  to.add("harm while they hold, use when they let go", 4, 16000, straggler(0.002)).adapt = turn_against;
  Job& days = to.add("the same with a clock that steps forward by days", 4, 16000, straggler(0.002));
  days.adapt = turn_against;
  days.lie = step_forward;
  to.add("use in trials, harm outside them, by the imbalance", 8, 3000, shared_link(2)).adapt =
      [](std::uint64_t, Controllers all, Regime& now, Load&) { now.slow = any_in(all, State::Hold) ? 0 : 2; };
  to.add("harm in trials, use in a hold that never comes", 4, 4000, straggler()).adapt =
      [](std::uint64_t, Controllers all, Regime& now, Load&) {
        const bool holding = any_in(all, State::Hold);
        now.toll = holding ? 0 : 1;
        now.relief = holding ? 1 : 0;
      };
  to.add("a straggler that moves as soon as it is paced for", 8, 2000, straggler()).adapt =
      [](std::uint64_t, Controllers all, Regime& now, Load&) {
        if (!any_delays(all)) return;
        for (std::size_t r = 0; r < all.size(); ++r)
          if (all[r].decide().delay > Duration::zero()) now.first_slow = static_cast<int>(r);
      };
  to.add("slack that ends with the first delay and returns in calm", 4, 2000, straggler()).adapt =
      [calm = std::uint64_t{0}](std::uint64_t step, Controllers all, Regime& now, Load&) mutable {
        if (any_delays(all)) calm = step + 70;
        now.slow = step < calm ? 0 : 1;
      };
}

/// They change by themselves.
void add_changes(Collection& to) {
  to.add("an iteration that doubles", 4, 1500, straggler()).adapt = [](std::uint64_t step, Controllers,
                                                                       Regime& now, Load&) {
    now.device = step < 300 ? 0.02 : 0.04;
    now.toll = 1;
  };
  to.add("an iteration that becomes ten times shorter, and harm", 4, 3000, straggler()).adapt =
      [](std::uint64_t step, Controllers, Regime& now, Load&) {
        now.device = step < 300 ? 0.02 : 0.002;
        now.toll = 1;
      };
  to.add("a gain that decays slowly into harm", 4, 4000, straggler()).adapt =
      [](std::uint64_t step, Controllers, Regime& now, Load&) {
        const double part = static_cast<double>(step) / 4000;
        now.relief = std::max(0.0, 0.6 - 1.2 * part);
        now.toll = std::max(0.0, 1.2 * part - 0.6);
      };
  to.add("slack that drifts away", 4, 2000, straggler()).adapt = [](std::uint64_t step, Controllers,
                                                                    Regime& now, Load&) {
    now.slow_factor = 1.5 - static_cast<double>(step) / 4000;
    now.toll = 0.5;
  };
  for (const int period : {8, 16, 32, 128}) {
    to.add("slow steps with period " + std::to_string(period), 4, 2000, straggler()).adapt =
        [period](std::uint64_t step, Controllers, Regime& now, Load&) {
          now.device =
              step % static_cast<unsigned>(period) < static_cast<unsigned>(period) / 2 ? 0.02 : 0.026;
          now.toll = 1;
        };
  }
  to.add("a gain in every eighth pair of blocks, harm between", 4, 4000, straggler()).adapt =
      [](std::uint64_t step, Controllers, Regime& now, Load&) {
        now.relief = step < 400 || step / 16 % 8 == 0 ? 0.8 : 0;
        now.toll = now.relief > 0 ? 0 : 1;
      };
  Regime moving = straggler();
  moving.episode = 10;
  to.add("a straggler that moves every ten steps", 8, 2000, moving);
  to.add("imbalance that comes and goes", 4, 3000, straggler()).adapt = [](std::uint64_t step, Controllers,
                                                                           Regime& now, Load&) {
    now.slow = step / 150 % 2 == 0 ? 1 : 0;
    now.toll = 0.7;
  };
}

/// Noise, stops, and ranks that are told what did not happen.
void add_noise(Collection& to) {
  Regime heavy = straggler();
  heavy.jitter = {.law = Jitter::Law::Pareto, .spread = 0.05, .tail = 1.3};
  heavy.toll = 1;
  to.add("noise without a variance", 4, 3000, heavy);
  Regime harmful = straggler();
  harmful.toll = 1;
  to.add("one rank that takes its work for waiting", 4, 2000, harmful).lie =
      [](std::uint64_t, std::size_t rank, Observation& seen) {
        if (rank != 0) return;
        seen.sync += seen.work / 3;
        seen.work -= seen.work / 3;
      };
  to.add("one rank that says it is late", 4, 2000, harmful).lie = [](std::uint64_t, std::size_t rank,
                                                                     Observation& seen) {
    if (rank != 2) return;
    seen.work += seen.sync;
    seen.sync = Duration::zero();
  };
  to.add("a clock that steps back in each block", 4, 4000, harmful).lie = [](std::uint64_t step, std::size_t,
                                                                             Observation& seen) {
    if (step % 8 == 5) seen.work = -milliseconds{300};
  };
  Job& late_gaps = to.add("gaps and harm that begin in a hold", 4, 4000, straggler());
  late_gaps.adapt = [](std::uint64_t step, Controllers, Regime& now, Load&) {
    now.relief = step < 600 ? 0.5 : 0;
    now.toll = step < 600 ? 0 : 1;
  };
  late_gaps.lie = [](std::uint64_t step, std::size_t, Observation& seen) {
    if (step > 600 && step % 8 == 5) seen.sync = -milliseconds{1};
  };
  for (const std::uint64_t stride : {3U, 5U, 9U, 15U, 16U, 17U})
    to.add("synchronisations numbered by " + std::to_string(stride), 4, 3000, harmful).lie =
        [stride](std::uint64_t, std::size_t, Observation& seen) { seen.step *= stride; };
  to.add("one rank stops for two seconds", 4, 2000, harmful).after = [](std::uint64_t step, Controllers,
                                                                        Regime&, Load& load) {
    if (step % 300 == 100) load.device[1] += 2;
  };
  Regime wire = {.device = 0.005, .jitter = {.law = Jitter::Law::Lognormal, .spread = 0.02}};
  wire.transfer = 0.020;
  to.add("transfer of four fifths, unknown, no imbalance", 4, 3000, wire).transfer_known = false;
  wire.slow = 1;
  wire.slow_factor = 2;
  to.add("transfer of two thirds, unknown, and a straggler", 4, 3000, wire).transfer_known = false;
  to.add("many ranks with jitter", 64, 600,
         {.device = 0.02, .jitter = {.law = Jitter::Law::Exponential, .spread = 0.1}});
  to.add("timers that are late by as much as they serve", 4, 2000, harmful).oversleep = 0.004;
}

/// Slack that is one group's and not another's.
void add_groups(Collection& to) {
  Job& two = to.add("two groups, one without slack", 4, 2000, straggler());
  two.after = [](std::uint64_t, Controllers, Regime&, Load& load) { load.headroom.assign(4, 0.0002); };
  two.tell = [](std::uint64_t, std::size_t, Controller& c) {
    c.observe_other(0, std::chrono::microseconds{200});
  };
  Job& hidden = to.add("two groups, of which one is not told", 4, 2000, straggler());
  hidden.after = [](std::uint64_t, Controllers, Regime&, Load& load) { load.headroom.assign(4, 0); };
  to.add("the only early rank changes every 500 steps, and delays harm", 24, 11000, straggler(0.002)).after =
      [](std::uint64_t step, Controllers, Regime& now, Load& load) {
        now.slow = 0;
        now.toll = 1;
        load.device[step / 500 % 24] *= 0.6;
      };
}

}  // namespace

std::vector<Condition> constructed_conditions() {
  Collection all;
  add_readers(all);
  add_changes(all);
  add_noise(all);
  add_groups(all);
  return all.take();
}

}  // namespace cox::pace::laws
