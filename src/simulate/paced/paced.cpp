// SPDX-License-Identifier: Apache-2.0
#include "cox/simulate/paced.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "cox/base/assert.hpp"

#include "simulate/paced/iteration.hpp"
#include "simulate/record/pace_tally.hpp"

namespace cox::simulate {
namespace {

constexpr Seconds kLongestPart{86'400};  ///< of one part of one iteration
constexpr Seconds kShortestSlice{1e-6};
constexpr double kMostSlices = 1e6;  ///< of one rank's work in a step
constexpr std::int64_t kMostSteps = 100'000'000;
constexpr double kMostFactor = 1e6;

/// Refuses a parameter of a job that has no meaning.
tl::unexpected<Error> without_meaning(const std::string& what, const std::string& got,
                                      const std::string& wanted) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "simulate-007",
                    .message = fmt::format("{} is {}, expected {}", what, got, wanted),
                    .hint = "docs/concepts/pacing-simulated.md says what each part of an iteration is",
                    .where = {}});
}

Status check_count(const char* what, std::int64_t got, std::int64_t least, std::int64_t most) {
  if (got >= least && got <= most) return {};
  return without_meaning(what, fmt::format("{}", got), fmt::format("{} to {}", least, most));
}

Status check_part(const char* what, Seconds got) {
  if (got >= Seconds::zero() && got <= kLongestPart) return {};
  return without_meaning(what, fmt::format("{} s", got.count()),
                         fmt::format("0 to {} s", kLongestPart.count()));
}

Status check_options(const model::Iteration& job, const PacedOptions& options) {
  COX_CHECK(check_count("number of steps", options.steps, 1, kMostSteps));
  COX_CHECK(check_part("cost of waking a rank", options.wake_up));
  COX_CHECK(check_count("number of arms", static_cast<std::int64_t>(options.arms.size()), 1, 1000));
  // 4 KB each: a gigabyte or so.
  COX_CHECK(check_count("number of controllers", job.ranks * static_cast<std::int64_t>(options.arms.size()),
                        1, std::int64_t{4} * kMostPacedRanks));
  for (const PacedArm& arm : options.arms)
    COX_CHECK(check_count("nice value of early ranks", arm.early_nice, -20, 19));
  return {};
}

/// A step that is over, and whose end the rank has not noticed yet.
struct Passed {
  std::size_t arm = 0;
  Seconds period{};
  Seconds arrived{};
  Seconds woke{};
  Seconds delayed{};
};

/// What one arm has done so far, and its controllers.
struct ArmState {
  std::vector<pace::Controller> controllers;  ///< empty in mode Off, and where delays are given
  std::vector<pace::Decision> decisions;
  std::vector<std::uint64_t> seen;  ///< steps that each controller was told of
  PaceTally tally;
};

/// The whole simulation: state of the job, arm by arm and step by step.
class PacedJob {
 public:
  PacedJob(const model::Iteration& job, const PacedOptions& options)
      : job_(job), options_(options), player_(job), transfer_(options.transfer.value_or(transfer_time(job))) {
    const auto ranks = static_cast<std::size_t>(job.ranks);
    for (std::vector<Seconds>* v : {&compute_, &woke_, &delayed_, &arrived_, &waited_}) v->resize(ranks);
    passed_.resize(ranks);
    weight_.resize(ranks);
    wake_order_.resize(ranks);
    by_arrival_.resize(ranks);
    std::iota(wake_order_.begin(), wake_order_.end(), 0);
    for (const PacedArm& arm : options.arms) states_.push_back(state_of(arm));
  }

  PacedJob(const PacedJob&) = delete;
  PacedJob& operator=(const PacedJob&) = delete;

  PacedOutcome run() {
    out_.periods.reserve(static_cast<std::size_t>(options_.steps));
    for (std::int64_t step = 0; step < options_.steps; ++step) {
      const std::size_t arm = options_.arm_of ? options_.arm_of(step) : 0;
      COX_ASSERT(arm < states_.size(), "a schedule names arms that there are");
      play(step, arm);
    }
    out_.events = player_.events();
    for (std::size_t r = 0; r < passed_.size(); ++r) observe(options_.steps, r, {});
    std::stable_sort(out_.changes.begin(), out_.changes.end(),
                     [](const PacedChange& a, const PacedChange& b) {
                       return std::pair{a.step, a.rank} < std::pair{b.step, b.rank};
                     });
    for (std::size_t arm = 0; arm < states_.size(); ++arm)
      out_.summary.push_back(states_[arm].tally.summary(options_.arms[arm].name, states_[arm].decisions,
                                                        states_[arm].controllers));
    return std::move(out_);
  }

 private:
  [[nodiscard]] ArmState state_of(const PacedArm& arm) const {
    const auto ranks = static_cast<std::size_t>(job_.ranks);
    ArmState state{.controllers = {}, .decisions = {}, .seen = {}, .tally = PaceTally(ranks)};
    state.decisions.resize(ranks);
    if (arm.settings.mode == pace::Mode::Off || arm.delays) return state;
    state.seen.resize(ranks);
    state.controllers.reserve(ranks);
    for (std::uint32_t r = 0; r < ranks; ++r)
      state.controllers.emplace_back(arm.settings, r, static_cast<std::uint32_t>(ranks));
    for (std::size_t r = 0; r < ranks; ++r) state.decisions[r] = state.controllers[r].decide();
    return state;
  }

  /// Weights and compute times of a step under an arm.
  void prepare(std::int64_t step, const PacedArm& arm) {
    const double early = nice_weight(arm.early_nice);
    for (std::size_t r = 0; r < delayed_.size(); ++r) {
      const int rank = static_cast<int>(r);
      compute_[r] = model::compute_time(job_, options_.seed, rank, options_.first_draw + step);
      weight_[r] = model::is_slow(job_, options_.seed, rank, options_.first_draw + step) ? 1 : early;
    }
  }

  /// The rank notices that the last step is over, and its controller says what it does next.
  Waking wake(int rank, Seconds now) {
    const auto r = static_cast<std::size_t>(rank);
    const PacedArm& spec = options_.arms[arm_];
    woke_[r] = now;
    if (step_ > 0) observe(step_, r, now);
    delayed_[r] = spec.delays ? spec.delays(rank, step_) : Seconds(states_[arm_].decisions[r].delay);
    COX_ASSERT(delayed_[r] >= Seconds::zero() && delayed_[r] <= kLongestPart, "a delay is a length of time");
    const bool at_entry = spec.settings.placement == pace::Placement::Collective;
    const bool blocks = spec.wait.value_or(job_.wait) == pace::WaitMode::Block;
    Waking w{.delay_before = at_entry ? Seconds::zero() : delayed_[r],
             .delay_at_entry = at_entry ? delayed_[r] : Seconds::zero()};
    w.wake_up = blocks || w.delay_before > Seconds::zero() ? options_.wake_up : Seconds::zero();
    return w;
  }

  void play(std::int64_t step, std::size_t arm) {
    ArmState& state = states_[arm];
    const PacedArm& spec = options_.arms[arm];
    prepare(step, spec);
    step_ = step;
    arm_ = arm;
    const IterationStep what{.compute = compute_,
                             .weight = weight_,
                             .wake_order = wake_order_,
                             .wake = waking_,
                             .wait = spec.wait.value_or(job_.wait)};
    player_.play(what, arrived_);
    const Seconds last = *std::max_element(arrived_.begin(), arrived_.end());
    const Seconds period = last + transfer_;
    for (std::size_t r = 0; r < arrived_.size(); ++r) waited_[r] = last - arrived_[r];
    state.tally.add(period, delayed_, waited_);
    out_.periods.push_back(period);
    out_.arms.push_back(static_cast<std::uint32_t>(arm));
    if (options_.each_step) tell(step, arm, period);
    for (std::size_t r = 0; r < passed_.size(); ++r)
      passed_[r] = {
          .arm = arm, .period = period, .arrived = arrived_[r], .woke = woke_[r], .delayed = delayed_[r]};
    now_ += period;
    if (job_.time_slice > Seconds::zero()) order_by_arrival();
  }

  /// Who came first wakes first; the last one never slept and goes on before all others.
  void order_by_arrival() {
    std::iota(by_arrival_.begin(), by_arrival_.end(), 0);
    std::stable_sort(by_arrival_.begin(), by_arrival_.end(), [&](int a, int b) {
      return arrived_[static_cast<std::size_t>(a)] < arrived_[static_cast<std::size_t>(b)];
    });
    const int last = static_cast<int>(by_arrival_.size()) - 1;
    for (int i = 0; i <= last; ++i)
      wake_order_[static_cast<std::size_t>(by_arrival_[static_cast<std::size_t>(i)])] = i == last ? 0 : i + 1;
  }

  void tell(std::int64_t step, std::size_t arm, Seconds period) {
    absolute_.resize(arrived_.size());
    for (std::size_t r = 0; r < arrived_.size(); ++r) absolute_[r] = now_ + arrived_[r];
    options_.each_step({.step = step,
                        .arm = arm,
                        .begin = now_,
                        .end = now_ + period,
                        .transfer = transfer_,
                        .woke = woke_,
                        .delayed = delayed_,
                        .arrived = absolute_,
                        .decisions = states_[arm].decisions,
                        .controllers = states_[arm].controllers});
  }

  /// What the rank saw of the step before `step`, as its guest would measure it, once it has a core again;
  /// and what its controller decides then.
  void observe(std::int64_t step, std::size_t r, Seconds now) {
    const Passed& p = passed_[r];
    ArmState& state = states_[p.arm];
    if (state.controllers.empty()) return;
    const Duration whole = duration_from_seconds((p.period + now - p.woke).count());
    const Duration sync = duration_from_seconds((p.period - p.arrived + now).count());
    const Duration delayed = duration_from_seconds(p.delayed.count());
    state.controllers[r].observe(
        {.step = state.seen[r]++,
         .work = std::max(Duration::zero(), whole - sync - delayed),
         .sync = sync,
         .transfer = options_.tell_transfer ? duration_from_seconds(transfer_.count()) : Duration{-1},
         .delayed = delayed});
    const pace::Decision decided = state.controllers[r].decide();
    if (decided.reason != state.decisions[r].reason) {
      if (out_.changes.size() < PacedOutcome::kMostChanges)
        out_.changes.push_back(
            {.step = step, .arm = p.arm, .rank = static_cast<int>(r), .decision = decided});
      else
        ++out_.changes_left_out;
    }
    state.decisions[r] = decided;
  }

  const model::Iteration& job_;
  const PacedOptions& options_;
  IterationPlayer player_;
  const std::function<Waking(int, Seconds)> waking_ = [this](int rank, Seconds now) {
    return wake(rank, now);
  };
  std::int64_t step_ = 0;  ///< that is played, and the arm it belongs to
  std::size_t arm_ = 0;
  Seconds transfer_;
  Seconds now_{};
  std::vector<ArmState> states_;
  std::vector<Seconds> compute_;
  std::vector<Seconds> woke_;
  std::vector<Seconds> delayed_;
  std::vector<Seconds> arrived_;
  std::vector<Seconds> waited_;
  std::vector<Passed> passed_;  ///< the last step, by rank
  std::vector<Seconds> absolute_;
  std::vector<double> weight_;
  std::vector<int> wake_order_;
  std::vector<int> by_arrival_;
  PacedOutcome out_;
};

}  // namespace

double nice_weight(int nice) {
  COX_ASSERT(nice >= -20 && nice <= 19, "nice values are -20 to 19");
  double weight = 1;
  for (int i = 0; i < nice; ++i) weight /= 1.25;
  for (int i = nice; i < 0; ++i) weight *= 1.25;
  return weight;
}

Seconds transfer_time(const model::Iteration& job) {
  if (job.reduce.count() <= 0 || job.ranks < 2 || !(job.link > Bandwidth{})) return {};
  const std::int64_t chunk = (job.reduce.count() + job.ranks - 1) / job.ranks;
  return Seconds{2.0 * (job.ranks - 1) * static_cast<double>(chunk) / job.link.in_bytes_per_s()};
}

Status check_iteration(const model::Iteration& job) {
  COX_CHECK(check_count("number of ranks", job.ranks, 1, kMostPacedRanks));
  COX_CHECK(check_count("number of hosts", job.hosts, 1, job.ranks));
  COX_CHECK(check_count("number of cores of a host", job.cores, 1, 1'000'000));
  COX_CHECK(check_part("preparation", job.prepare));
  COX_CHECK(check_part("compute", job.compute));
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;
  COX_CHECK(check_count("bytes of input", job.fetch.count(), 0, kMostBytes));
  COX_CHECK(check_count("bytes of the all-reduce", job.reduce.count(), 0, kMostBytes));
  if (!std::isfinite(job.link.in_bytes_per_s()) || job.link < Bandwidth{})
    return without_meaning("bandwidth of the link", fmt::format("{} B/s", job.link.in_bytes_per_s()),
                           "0 (no link) or more");
  const double most_spread = job.jitter == model::JitterLaw::Exponential ? 1 : 10;
  if (!(job.spread >= 0 && job.spread <= most_spread))
    return without_meaning("spread of the jitter", fmt::format("{}", job.spread),
                           fmt::format("0 to {}", most_spread));
  COX_CHECK(check_count("number of slow ranks", job.slow_ranks, 0, job.ranks));
  if (!(job.slow_factor >= 0 && job.slow_factor <= kMostFactor))
    return without_meaning("factor of slow ranks", fmt::format("{}", job.slow_factor),
                           fmt::format("0 to {}", kMostFactor));
  COX_CHECK(check_count("steps of an episode", job.episode, 1, kMostSteps));
  // Shorter slices would take for ever, and processor sharing is what they come to.
  const Seconds shortest =
      std::max(kShortestSlice, (job.prepare + job.compute * std::max(1.0, job.slow_factor)) / kMostSlices);
  if (job.time_slice == Seconds::zero() || (job.time_slice >= shortest && job.time_slice <= kLongestPart))
    return {};
  return without_meaning(
      "time slice of a core", fmt::format("{} s", job.time_slice.count()),
      fmt::format("0 (processor sharing) or {} to {} s", shortest.count(), kLongestPart.count()));
}

Result<PacedOutcome> simulate_paced(const model::Iteration& job, const PacedOptions& options) {
  COX_CHECK(check_iteration(job));
  COX_CHECK(check_options(job, options));
  return PacedJob(job, options).run();
}

}  // namespace cox::simulate
