// SPDX-License-Identifier: Apache-2.0
/// \file
/// The closed loop of pacing in virtual time: ranks that synchronise in every step, a controller in each, and
/// an environment that may read the controllers and choose against them.
///
/// The same step is evaluated twice, with the delays that the controllers ask for and with none: the two runs
/// differ in nothing else ("common draws"), also where the environment adapts to what it sees.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "cox/base/random.hpp"
#include "cox/base/units.hpp"
#include "cox/pace/controller.hpp"

namespace cox::pace::laws {

/// What one step asks of the ranks, before anybody is delayed.
///
/// Formula: a rank starts `skew` after the synchronisation before, plus its delay; its share of `prepare` is
///          served by `cores` in processor sharing; then comes its own `device` time; the step ends
///          `transfer` after the last rank. With no shared work, toll or relief this is max-plus.
struct Load {
  std::vector<double> device;  ///< seconds, as all times here
  std::vector<double> skew;
  double prepare = 0;
  int cores = 0;  ///< 0: nothing is shared
  double transfer = 0;
  double toll = 0;               ///< times the largest delay: added to everybody's step
  double relief = 0;             ///< times the largest delay: saved by each rank that is not delayed
  std::vector<double> headroom;  ///< a delay beyond it lengthens the step (another group waits for the rank)

  explicit Load(int ranks) : device(static_cast<std::size_t>(ranks)), skew(device.size()) {}
};

/// Where each rank's equal share of work ends if `cores` serve them in processor sharing.
///
/// Formula: with n at work each proceeds at min(1, cores / n), so equal shares end in the order in which they
///          began. Cost: O(n log n).
inline void share_cores(std::span<const double> release, double work, int cores, std::vector<double>& done) {
  const std::size_t n = release.size();
  static thread_local std::vector<std::uint32_t> order;
  static thread_local std::vector<double> target;  // of attained service, at which a rank is done
  order.resize(n);
  target.resize(n);
  done.resize(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = static_cast<std::uint32_t>(i);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return release[a] < release[b] || (release[a] == release[b] && a < b);
  });
  double now = 0;
  double service = 0;  // of a rank that has been at work all the time
  for (std::size_t in = 0, out = 0; out < n;) {
    const auto at_work = static_cast<double>(in - out);
    const double rate = at_work > cores ? cores / at_work : 1;
    const double next_out = in > out ? now + (target[order[out]] - service) / rate : INFINITY;
    const double next_in = in < n ? release[order[in]] : INFINITY;
    const double next = std::min(next_in, next_out);
    if (in > out) service += (next - now) * rate;
    now = next;
    if (next_in <= next_out) {
      target[order[in]] = service + work;
      ++in;
    } else {
      done[order[out++]] = now;
    }
  }
}

/// A job's surroundings. `shape` sets the loads of a step and may read what the controllers decided for it.
class Environment {
 public:
  virtual ~Environment() = default;
  virtual void shape(std::uint64_t step, std::span<const Controller> controllers, Load& load) = 0;
  /// What a rank is told instead of what happened.
  virtual void distort(std::uint64_t /*step*/, std::size_t /*rank*/, Observation& /*seen*/) {}
  /// Waits of other groups in the same iteration.
  virtual void tell_others(std::uint64_t /*step*/, std::size_t /*rank*/, Controller& /*controller*/) {}
  bool transfer_known = true;
  double oversleep = 0;  ///< seconds by which a timer is late
};

/// One job, run twice at once.
class Loop {
 public:
  Loop(int ranks, const Settings& settings)
      : load_(ranks),
        release_(load_.device.size()),
        arrival_(load_.device.size()),
        delay_(load_.device.size()),
        skew_before_(load_.device.size()) {
    for (int r = 0; r < ranks; ++r)
      controllers_.emplace_back(settings, static_cast<std::uint32_t>(r), static_cast<std::uint32_t>(ranks));
  }

  void step(Environment& environment) {
    const std::size_t ranks = controllers_.size();
    longest_delay_ = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
      delay_[r] = in_seconds(controllers_[r].decide().delay);
      if (delay_[r] > 0) delay_[r] += environment.oversleep;
      longest_delay_ = std::max(longest_delay_, delay_[r]);
    }
    skew_before_ = load_.skew;
    environment.shape(now_, controllers_, load_);
    off_ += iterate(false);
    const double whole = iterate(true);
    paced_ += whole;
    for (std::size_t r = 0; r < ranks; ++r) {
      const double start = skew_before_[r];
      Observation seen{.step = now_,
                       .work = duration_from_seconds(arrival_[r] - start - delay_[r]),
                       .sync = duration_from_seconds(whole + load_.skew[r] - arrival_[r]),
                       .delayed = duration_from_seconds(delay_[r])};
      if (environment.transfer_known) seen.transfer = duration_from_seconds(load_.transfer);
      environment.distort(now_, r, seen);
      environment.tell_others(now_, r, controllers_[r]);
      controllers_[r].observe(seen);
    }
    ++now_;
    if (now_ == kWindow) first_window_ = off_;
  }

  [[nodiscard]] const std::vector<Controller>& controllers() const { return controllers_; }
  [[nodiscard]] double off() const { return off_; }      ///< time that the run without delays has taken
  [[nodiscard]] double paced() const { return paced_; }  ///< time that the controlled run has taken
  [[nodiscard]] double regret() const { return paced_ - off_; }
  [[nodiscard]] double longest_delay() const { return longest_delay_; }  ///< in the last step
  [[nodiscard]] double delay_of(std::size_t rank) const { return delay_[rank]; }
  [[nodiscard]] std::uint64_t steps() const { return now_; }
  /// Regret may not exceed it: 0.5 % of the run's time so far + its first 64 iterations without delays.
  [[nodiscard]] double allowance() const {
    const double window = now_ < kWindow ? off_ * kWindow / static_cast<double>(now_) : first_window_;
    return 0.005 * paced_ + window;
  }

 private:
  static constexpr std::uint64_t kWindow = 64;

  double iterate(bool paced) {
    const std::size_t ranks = controllers_.size();
    double late = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
      release_[r] = skew_before_[r] + (paced ? delay_[r] : 0);
      if (paced && !load_.headroom.empty()) late = std::max(late, delay_[r] - load_.headroom[r]);
    }
    if (load_.cores > 0)
      share_cores(release_, load_.prepare, load_.cores, arrival_);
    else
      arrival_ = release_;
    double last = 0;
    const double saved = paced ? load_.relief * longest_delay_ : 0;
    for (std::size_t r = 0; r < ranks; ++r) {
      arrival_[r] += delay_[r] > 0 ? load_.device[r] : std::max(0.0, load_.device[r] - saved);
      last = std::max(last, arrival_[r]);
    }
    return last + load_.transfer + late + (paced ? load_.toll * longest_delay_ : 0);
  }

  std::vector<Controller> controllers_;
  Load load_;
  std::vector<double> release_;
  std::vector<double> arrival_;
  std::vector<double> delay_;
  std::vector<double> skew_before_;
  double longest_delay_ = 0;
  double off_ = 0;
  double paced_ = 0;
  double first_window_ = 0;
  std::uint64_t now_ = 0;
};

/// Law of multiplicative jitter; its mean is 1.
struct Jitter {
  enum class Law : std::uint8_t { None, Lognormal, Exponential, Pareto };
  Law law = Law::None;
  double spread = 0;
  double tail = 1.5;  ///< Pareto: exponent; below 2 the variance is infinite

  /// `z` is standard normal.
  [[nodiscard]] double at(double z) const {
    const double upper = 0.5 * std::erfc(z / std::sqrt(2.0));
    switch (law) {
      case Law::None:
        break;
      case Law::Lognormal:
        return std::exp(spread * z - spread * spread / 2);
      case Law::Exponential:
        return 1 + spread * (-std::log(upper) - 1);
      case Law::Pareto:
        return std::max(0.1, 1 + spread * (std::pow(upper, -1 / tail) - tail / (tail - 1)));
    }
    return 1;
  }
};

}  // namespace cox::pace::laws
