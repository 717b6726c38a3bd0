// SPDX-License-Identifier: Apache-2.0
/// \file
/// Real gradients in the order of a stream until a target, for studies: one problem, one rate, one way.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/learn/drawn.hpp"
#include "cox/learn/learner.hpp"
#include "cox/learn/problem.hpp"
#include "cox/study/answer.hpp"
#include "cox/study/inputs.hpp"

namespace cox::evaluate {

/// The engine of values that real gradients made.
inline constexpr std::string_view kLearning = "learning";
inline constexpr std::string_view kClosedForm = "closed-form";

/// What is run. The problem is one that `problem_of` takes.
struct Race {
  learn::ProblemSpec problem{};
  double rate = 1;
  learn::Way way{};
  learn::StepShare share{};
  int workers = 1;
  double target = 1e-4;  ///< of the first loss
  /// How many versions the loss has to stay below the target; it is there at the first of them. One that swings passes its optimum
  /// long before it stays. At the edge of an age a a swing takes 4 a + 2 versions.
  std::int64_t calm = 0;
  std::int64_t versions = 1'000;  ///< at most
};

struct Finish {
  bool reached = false;
  bool lost = false;  ///< the loss is no number any more, or a million times the first
  std::int64_t versions = 0;
  std::int64_t delivered = 0;
  std::int64_t discarded = 0;
  double steps = 0;       ///< of a worker on average, local ones counted
  std::int64_t ages = 0;  ///< sum over those that were applied
  std::int64_t largest_age = 0;
  double loss = 1;  ///< of the first one
  Seconds time{};   ///< of the last event that was taken
  Bytes sent{};     ///< compressed
  [[nodiscard]] double mean_age() const {
    const std::int64_t applied = delivered - discarded;
    return applied > 0 ? static_cast<double>(ages) / static_cast<double>(applied) : 0;
  }
};

/// Takes a stream until it is at the target, lost, or at the end of its versions; the loss is scored at every version.
/// Pre: the problem's spec is in range (asserted). Deterministic. Threads: one owner. Held by: src/evaluate/learning/race_test.cpp
class Racer {
 public:
  explicit Racer(const Race& race);
  bool take(const sync::StreamEvent& event, Seconds at);
  [[nodiscard]] const Finish& finish() const { return finish_; }
  [[nodiscard]] std::span<const float> parameters() const { return learner_->parameters(); }
  [[nodiscard]] learn::ScaledSteps scaled_steps() const { return learner_->scaled_steps(); }

 private:
  Race race_;
  std::unique_ptr<learn::Problem> problem_;
  std::unique_ptr<learn::Learner> learner_;
  double first_ = 1;
  bool below_ = false;
  Finish crossed_;  ///< where it came below the target last
  Finish finish_;
};

/// Sends events to whoever takes them until nobody wants more.
using Stream = std::function<void(const std::function<bool(const sync::StreamEvent&, Seconds)>&)>;

/// The age that update `n` (from 0 on) has.
using AgeOf = std::function<int(std::int64_t n)>;

/// Updates one by one whose ages are given, at most `most` and never older than the first version: what the delays of
/// theory are, with no workers behind them. Workers of the events are numbers 0 ... most; time stands still.
/// Cost: O(1) per update. Held by: src/evaluate/learning/race_test.cpp
void stream_aged(int most, const AgeOf& age,
                 const std::function<bool(const sync::StreamEvent&, Seconds)>& take);

/// All rates on one stream, which ends `patience` times as late as the first is at the target (0: with the last).
/// Cost: a gradient and a score per rate and version.
[[nodiscard]] std::vector<Finish> race_rates(const Race& race, std::span<const double> rates,
                                             const Stream& stream, double patience = 0);

/// A number of a run: updates, time.
using Cost = std::function<double(const Finish&)>;
/// The rate that is at the target with the least cost; nothing where none gets there.
[[nodiscard]] std::optional<std::size_t> best_of(std::span<const Finish> finishes, const Cost& cost);

/// Rates between `best` and those that are next to it in the list, three on each side in even steps of the logarithm; none beyond the
/// list's ends. Held by: src/evaluate/learning/race_test.cpp
[[nodiscard]] std::vector<double> rates_around(std::span<const double> rates, double best);

/// The rate that is at the target with the least cost on one stream, and its run: the best of a list, or one around it.
struct BestRate {
  double rate = 0;
  Finish finish{};
};
/// As `race_rates`, twice; nothing where none gets there.
[[nodiscard]] std::optional<BestRate> race_best(const Race& race, std::span<const double> rates,
                                                const Stream& stream, const Cost& cost, double patience = 0);

/// A way with the rate that was best for it on seeds of their own (the next best where that one misses on the others), and its
/// runs on the others.
struct Tuned {
  double rate = 0;  ///< 0: none was at the target on all of its seeds
  std::vector<Finish> runs{};
  /// On every seed.
  [[nodiscard]] bool reached() const;
  [[nodiscard]] std::vector<double> each(const Cost& value) const;
  [[nodiscard]] double mean(const Cost& value) const;
};

/// Seeds 1 ... `seeds` are judged, `tuning_seeds` from 1000 on choose the rate: the best that is at the
/// target on all of them, of the list and then of those around it, or the next best where that one misses on a judged
/// seed; a seed draws times and samples.
/// Deterministic for any number of threads. Cost: tuning_seeds x (rates + 7) + seeds runs; `seeds` more for each that
/// misses, and the first part again, uncut, where no rate is at the target on all that choose.
/// Held by: src/evaluate/learning/race_test.cpp
[[nodiscard]] Tuned race_tuned(const Race& race, std::span<const double> rates, int seeds,
                               const std::function<Stream(std::uint64_t seed)>& stream, const Cost& cost,
                               int threads, int tuning_seeds = 16);

/// For `Cost`.
[[nodiscard]] inline double versions_of(const Finish& f) {
  return static_cast<double>(f.versions);
}
[[nodiscard]] inline double steps_of(const Finish& f) {
  return f.steps;
}
[[nodiscard]] inline double seconds_of(const Finish& f) {
  return f.time.count();
}

/// Adds a value to what a study has computed.
void add_value(study::Computation& out, std::string name, study::Quantity value, std::string_view engine);
/// The mean over seeds with its interval, made by learning.
void add_learned(study::Computation& out, std::string name, study::Dimension d,
                 const std::vector<double>& sample);

}  // namespace cox::evaluate
