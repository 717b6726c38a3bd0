// SPDX-License-Identifier: Apache-2.0
// What a rank does next: the modes, and the way of mode `auto` from state to state. Guest code: libc only.
#include "cox/pace/controller.hpp"

#include "cox/base/hash.hpp"

#include "pace/arithmetic.hpp"

namespace cox::pace {
namespace {

constexpr double kShares[] = {0.85, 0.5, 0.3, 0.18};  // candidates, of the wanted delay
constexpr double kFirstLevel = 1.0 / 16;              // of the wanted delay: the first that a probe tries
constexpr std::uint32_t kFewest = 8;                  // waits that make another group part of the iterations
constexpr double kSmallestTried = 0.03;               // of an iteration: slack that is worth a trial
constexpr double kSmallestShare = 0.005;              // of an iteration: a delay below it is not worth a test
constexpr std::uint32_t kMostProbed = 64;  // ranks that take turns; a round of more would take too long

// A uniform number in [0, 1) for (seed, rank, step).
double draw(std::uint64_t seed, std::uint32_t rank, std::uint64_t step) {
  const std::uint64_t bits = mix_bits(seed + (step + 1) * kGoldenStep + (std::uint64_t{rank} << 32));
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

// What a hold leaves unpaced of a block: half, with enough steps after the settling ones to say something of
// the waits too. Who passed a trial has a gain that half a block shows again; a tail it would not show.
std::uint32_t half_of(std::uint32_t block, std::uint32_t settle) {
  constexpr std::uint32_t kMeasured = 3;
  return block / 2 < settle + kMeasured ? settle + kMeasured : block / 2;
}

bool can_be(Duration time) {
  constexpr Duration kLongest = std::chrono::hours{240};
  return time >= Duration::zero() && time <= kLongest;
}

}  // namespace

Controller::Controller(const Settings& settings, std::uint32_t rank, std::uint32_t ranks) noexcept
    : settings_(settings),
      pattern_(settings.seed, settings.block),
      rank_(rank),
      ranks_(ranks < 1 ? 1 : ranks),
      deviations_(settings.deviations * expected_maximum(ranks)),
      crossover_(settings.seed, 2 * pattern_.block(), settings.carry) {
  if (settings_.settle >= pattern_.block()) settings_.settle = pattern_.block() - 1;
  if (settings_.release > settings_.activate) settings_.release = settings_.activate;
  unpaced_steps_ = pattern_.block();
  if (const std::uint32_t half = half_of(pattern_.block(), settings_.settle);
      settings_.objective != Objective::Tail && half < pattern_.block())
    unpaced_steps_ = half;
  slack_.resize(settings.window);
  for (SlackWindow& other : others_) other.resize(settings.window);
  decision_.reason = settings.mode <= Mode::Observe ? Reason::Observing : Reason::WarmingUp;
}

void Controller::observe_other(std::uint32_t group, Duration wait) noexcept {
  if (group >= kOtherGroups) return;
  others_[group].add(wait);
  other_seen_[group] = seen_;
}

void Controller::observe(const Observation& o) noexcept {
  if (settings_.mode == Mode::Off) return;
  if (!can_be(o.work) || !can_be(o.sync) || !can_be(o.delayed)) {
    decision_ = passive(Reason::ClockStep);
    return;
  }
  take_in(o);
  const std::uint64_t next = o.step + 1;
  if (settings_.launch_ahead && settings_.mode != Mode::Observe) {
    decision_ = passive(Reason::LaunchAhead);
    return;
  }
  switch (settings_.mode) {
    case Mode::Auto:
      decision_ = choose_auto(next);
      if (decision_.delay > Duration::zero()) at_stake_ += cap();
      break;
    case Mode::Paper:
      decision_ = choose_paper();
      break;
    case Mode::Always:
    case Mode::Random:
      decision_ = choose_fixed(next);
      break;
    case Mode::Off:
    case Mode::Observe:
      decision_ = passive(Reason::Observing);
      break;
  }
}

Decision Controller::passive(Reason reason) const noexcept {
  return {.delay = Duration::zero(), .reason = reason, .state = state_};
}

Decision Controller::served(double delay, Reason reason) const noexcept {
  const double most = cap();
  const double ns = delay > most ? most : (delay < to_ns(settings_.min_delay) ? 0 : delay);
  return {.delay = ns > 0 ? from_ns(ns) : Duration::zero(), .reason = reason, .state = state_};
}

double Controller::cap() const noexcept {
  const double share = settings_.max_ratio * typical_;
  const double most = to_ns(settings_.max_delay);
  return share < most ? share : most;
}

double Controller::least() const noexcept {
  const double share = kSmallestShare * typical_;
  const double timer = to_ns(settings_.min_delay);
  return share > timer ? share : timer;
}

// The window is the first one, or one of today's iterations where these have become shorter. A twentieth is
// kept back for what the measurements are off.
double Controller::remaining() const noexcept {
  const double today = settings_.window * typical_;
  const double window = today < first_window_ ? today : first_window_;
  return 0.95 * (settings_.budget * elapsed_ + window) - spent_;
}

bool Controller::affords(double blocks) const noexcept {
  return blocks * pattern_.block() * cap() <= remaining();
}

// Both mean and deviation are estimates from n waits: the bound lies two standard errors lower,
// s sqrt((1 + k^2 / 2) / n).
Duration Controller::predictable(const SlackWindow& window) const noexcept {
  const std::uint32_t n = window.count();
  if (n < 2) return Duration::zero();
  const double error = square_root((1 + deviations_ * deviations_ / 2) / n);
  return window.predictable(deviations_ + kConfidence * error);
}

double Controller::wanted() const noexcept {
  Duration least_slack = predictable(slack_);
  for (std::uint32_t i = 0; i < kOtherGroups; ++i) {
    // A barrier now and then is no part of the iterations, and a group that is used no more is none.
    if (others_[i].count() < kFewest || seen_ - other_seen_[i] > settings_.window) continue;
    const Duration slack = predictable(others_[i]);
    if (slack < least_slack) least_slack = slack;
  }
  const double delay = settings_.share * to_ns(least_slack);
  return !transfer_known_ && delay > proven_ ? proven_ : delay;
}

Decision Controller::choose_auto(std::uint64_t next) noexcept {
  if (state_ == State::WarmUp) {
    if (seen_ < settings_.warm_up) return passive(Reason::WarmingUp);
    state_ = State::Watch;
  }
  const bool pair_begins = next % (std::uint64_t{2} * pattern_.block()) == 0;
  if (state_ == State::Watch ||
      (state_ == State::Probe && pair_begins && !transfer_known_ && proven_ > 0 && level_ > 1))
    return choose_watching(next);
  return state_ == State::Probe ? choose_probe(next) : choose_testing(next);
}

Decision Controller::choose_watching(std::uint64_t next) noexcept {
  state_ = State::Watch;
  if (next < retry_at_) return passive(left_for_);
  const double slack = settings_.share * to_ns(predictable(slack_));
  if (slack < least() || slack < kSmallestTried * typical_)
    return passive(slack > 0 ? Reason::TooSmall : Reason::NoSlack);
  if (!transfer_known_ && proven_ <= 0) {
    if (ranks_ > kMostProbed) return passive(Reason::UnknownTransfer);
    if (next % (std::uint64_t{2} * pattern_.block()) != 0) return passive(Reason::UnknownTransfer);
    state_ = State::Probe;
    level_ = kFirstLevel * slack > least() ? kFirstLevel : least() / slack;
    tests_[0].clear();
    tested_loss_ = 0;
    spent_before_ = spent_;
    return choose_probe(next);
  }
  const double delay = wanted();
  if (delay < least()) return passive(transfer_known_ ? Reason::OtherGroup : Reason::UnknownTransfer);
  if (!affords(1) || to_bear_ > remaining()) return passive(Reason::OverBudget);
  // All ranks begin together: at the first pair after the warm-up, or where a pause would end.
  const std::uint64_t pair = std::uint64_t{2} * pattern_.block();
  if (next % pair != 0 || (next >= settings_.warm_up + pair && next / pair * pair % settings_.retry >= pair))
    return passive(Reason::Waiting);
  begin_trial(next);
  return choose_testing(next);
}

Decision Controller::choose_testing(std::uint64_t next) noexcept {
  const bool holding = state_ == State::Hold;
  if (next % pattern_.block() == 0) {
    if (wanted() < least()) {
      leave(Reason::NoSlack, next);
      return passive(Reason::NoSlack);
    }
    while (holding && every_ > 1 && !affords(2.0 * every_)) every_ /= 2;
    if (!affords(holding ? 2.0 * every_ : 1)) {
      leave(Reason::OverBudget, next);
      return passive(Reason::OverBudget);
    }
  }
  if (role_at(next) == Role::Paced)
    return served(kShares[candidate_at(next)] * wanted(), holding ? Reason::Holding : Reason::BlockPaced);
  if (!holding) return passive(Reason::BlockOff);
  return passive(crossover_.is_off(next) ? Reason::LongOff : Reason::HoldOff);
}

Decision Controller::choose_probe(std::uint64_t next) noexcept {
  const double delay = level_ * settings_.share * to_ns(predictable(slack_));
  if (role_at(next) == Role::Paced && delay >= least() && affords(1)) return served(delay, Reason::ProbeTurn);
  return passive(Reason::UnknownTransfer);
}

// "When Scaling Fails", section 5.3: a rolling window of observed collective wait times; above a threshold of
// its variability early ranks are delayed before the next iteration, by a bounded amount; below it they are
// not. The text leaves open how variability is measured: here by the root mean square of the waits against a
// typical iteration, which a lasting imbalance raises as well as a changing one.
Decision Controller::choose_paper() noexcept {
  if (seen_ < settings_.warm_up) return passive(Reason::WarmingUp);
  state_ = State::Watch;
  const double imbalance = to_ns(slack_.root_mean_square());
  const double threshold = (paper_active_ ? settings_.release : settings_.activate) * typical_;
  paper_active_ = imbalance > threshold;
  if (!paper_active_) return passive(Reason::Released);
  state_ = State::Hold;
  return served(settings_.paper_share * to_ns(slack_.mean()), Reason::Threshold);
}

Decision Controller::choose_fixed(std::uint64_t next) noexcept {
  if (fixed_ < 0) {
    if (seen_ < settings_.window) return passive(Reason::WarmingUp);
    fixed_ = settings_.mode == Mode::Always ? settings_.paper_share * to_ns(slack_.mean()) : wanted();
    if (!transfer_known_ && settings_.mode == Mode::Random)
      fixed_ = settings_.share * to_ns(predictable(slack_));
  }
  state_ = State::Hold;
  const double factor = settings_.mode == Mode::Random ? 2 * draw(settings_.seed, rank_, next) : 1;
  return served(factor * fixed_, Reason::Fixed);
}

DecisionBasis Controller::evidence() const noexcept {
  const BenefitTest& best = tests_[tests_[1].mean() > tests_[0].mean() ? 1 : 0];
  return {.period = from_ns(typical_),
          .slack = slack_.mean(),
          .deviation = slack_.deviation(),
          .predictable = predictable(slack_),
          .gain = state_ == State::Hold ? held_gain_ : best.mean(),
          .half_width = best.half_width(settings_.alpha / 2),
          .pairs = tests_[0].count() + tests_[1].count(),
          .spent = from_ns(spent_),
          .allowance = from_ns(remaining())};
}

}  // namespace cox::pace
