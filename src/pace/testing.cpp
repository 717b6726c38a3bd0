// SPDX-License-Identifier: Apache-2.0
// How mode `auto` learns from blocks and pairs of blocks. Guest code: libc only.
#include "cox/pace/controller.hpp"

#include "pace/arithmetic.hpp"

namespace cox::pace {
namespace {

constexpr double kLongest = 4;             // typical iterations: what is longer counts as so long
constexpr double kClearLoss = 0.02;        // relative; with three deviations behind it a test ends at once
constexpr std::uint32_t kMostBackOff = 6;  // doublings

double larger(double a, double b) {
  return a > b ? a : b;
}
double smaller(double a, double b) {
  return a < b ? a : b;
}

}  // namespace

// A running median: robust against stops of seconds, and follows a new level within a few dozen steps.
void Controller::track(double period) noexcept {
  if (seen_ == 0) typical_ = period;
  const double rate = seen_ < 16 ? 0.3 : 0.05;
  const double next = period > typical_ ? typical_ * (1 + rate) : typical_ / (1 + rate);
  typical_ = period > typical_ ? smaller(next, period) : larger(next, period);
}

double Controller::cost_of(const Observation& o, double longest) const noexcept {
  double cost = to_ns(o.work + o.sync + o.delayed);
  if (settings_.objective == Objective::Energy)
    cost = to_ns(o.work + o.sync) + settings_.idle_power * to_ns(o.delayed);
  return smaller(cost, longest);
}

Controller::Role Controller::role_at(std::uint64_t step) const noexcept {
  bool paced = false;
  switch (state_) {
    case State::Trial:
      paced = pattern_.is_paced(step);
      break;
    case State::Hold:
      paced = pattern_.is_paced_holding(step, every_);
      break;
    case State::Probe:
      if (pattern_.pair_of(step) % ranks_ != rank_) return Role::Bystander;
      paced = pattern_.is_paced(step);
      break;
    case State::WarmUp:
    case State::Watch:
      break;
  }
  return paced ? Role::Paced : Role::Unpaced;
}

void Controller::take_in(const Observation& o) noexcept {
  const double period = to_ns(o.work + o.sync + o.delayed);
  if (seen_ > 0 && o.step != last_step_ + 1) {  // a gap: what was begun cannot be completed
    block_.clear();
    unpaced_ = paced_ = Shown{};
  }
  track(period);
  last_step_ = o.step;
  ++seen_;
  elapsed_ += period;
  const bool by_the_book = settings_.mode == Mode::Paper;  // which takes the whole time for waiting
  transfer_known_ = o.transfer >= Duration::zero() || by_the_book;
  const double longest = kLongest * typical_;
  const double sync = to_ns(o.sync) - (o.transfer > Duration::zero() && !by_the_book ? to_ns(o.transfer) : 0);
  const double wait = smaller(larger(sync, 0), longest);
  const bool settled = pattern_.place_of(o.step) >= settings_.settle;
  const bool testing = settings_.mode == Mode::Auto && state_ >= State::Probe;
  if (!testing || (role_at(o.step) != Role::Paced && settled)) slack_.add(from_ns(wait));
  if (!testing) return;
  if (settled && block_.count < sizeof block_.costs / sizeof block_.costs[0]) {
    const double bounded = smaller(period, longest);
    block_.costs[block_.count++] = static_cast<float>(cost_of(o, longest));
    block_.period += bounded;
    block_.squares += bounded * bounded;
    block_.wait += wait;
  }
  if (state_ == State::Hold && role_at(o.step) == Role::Paced) {
    held_loss_ += smaller(period, longest);
    ++held_steps_;
  }
  if (pattern_.place_of(o.step) + 1 == pattern_.block()) end_block(o.step);
}

Controller::Shown Controller::close_block() noexcept {
  Shown shown;
  const std::uint32_t n = block_.count;
  shown.steps = n;
  if (n == 0) return shown;
  shown.period = block_.period / n;
  shown.wait = block_.wait / n;
  if (n > 1) shown.variance = larger(0, (block_.squares - block_.period * shown.period) / (n - 1));
  // The mean over the block, or over its slowest quarter: the largest ones are moved to the front.
  const std::uint32_t used = settings_.objective == Objective::Tail ? (n + 3) / 4 : n;
  double sum = 0;
  for (std::uint32_t i = 0; i < used; ++i) {
    for (std::uint32_t j = i + 1; used < n && j < n; ++j)
      if (block_.costs[j] > block_.costs[i]) {
        const float keep = block_.costs[i];
        block_.costs[i] = block_.costs[j];
        block_.costs[j] = keep;
      }
    sum += static_cast<double>(block_.costs[i]);
  }
  shown.cost = sum / used;
  block_.clear();
  return shown;
}

void Controller::end_block(std::uint64_t step) noexcept {
  const Role role = role_at(step);
  const Shown shown = close_block();
  if (shown.steps == 0) return;
  if (role == Role::Paced) {
    paced_ = shown;
    if (state_ != State::Probe) limit_self(shown);
    if (state_ == State::Hold) suspect(shown);
  } else {
    unpaced_ = shown;
    reference_ = reference_ == 0 ? shown.period : reference_ + 0.5 * (shown.period - reference_);
    noise_ = noise_ == 0 ? shown.variance : noise_ + 0.25 * (shown.variance - noise_);
  }
  const bool pair_ends = (step + 1) % (2 * pattern_.block()) == 0;
  if (!pair_ends) return;
  if (paced_.steps > 0 && unpaced_.steps > 0) end_pair(step);
  unpaced_ = paced_ = Shown{};
}

// Where paced ranks have become the ones that the others wait for, they were paced too much.
void Controller::limit_self(const Shown& paced) noexcept {
  if (!transfer_known_) return;
  const double slack = to_ns(slack_.mean());
  if (paced.wait < 0.05 * slack)
    scale_ = larger(0.25, 0.7 * scale_);
  else if (paced.wait > 0.15 * slack)
    scale_ = smaller(1, 1.15 * scale_);
}

// Signs that things are no longer as they were when pacing was shown to pay: iterations longer than unpaced
// ones were, or waits gone. Two blocks in a row, and the trial begins again.
void Controller::suspect(const Shown& paced) noexcept {
  const double deviation = square_root(noise_ / paced.steps);
  const bool longer = paced.period > reference_ + larger(kClearLoss * reference_, 3 * deviation);
  const bool gone = held_wait_ > 0.02 * typical_ && paced.wait < 0.4 * held_wait_;
  held_wait_ = held_wait_ == 0 ? paced.wait : held_wait_ + 0.1 * (paced.wait - held_wait_);
  suspicions_ = longer || gone ? suspicions_ + 1 : 0;
  if (suspicions_ < 2) return;
  settle_account({.period = reference_});
  begin_trial();
}

void Controller::begin_trial() noexcept {
  state_ = State::Trial;
  test_.clear();
  time_gain_ = tested_loss_ = 0;
  spent_before_ = spent_;
  held_loss_ = held_gain_ = held_wait_ = 0;
  held_steps_ = suspicions_ = 0;
  every_ = 1;
  block_.clear();
  unpaced_ = paced_ = Shown{};
}

void Controller::end_pair(std::uint64_t step) noexcept {
  if (state_ == State::Probe) {
    judge_probe(step);
    return;
  }
  const double gain = (unpaced_.cost - paced_.cost) / unpaced_.cost;
  const double steps = smaller(unpaced_.steps, paced_.steps);
  const double relative = noise_ / (unpaced_.period * unpaced_.period);
  test_.add(gain, 2 * relative / steps);
  const double time_gain = (unpaced_.period - paced_.period) / unpaced_.period;
  time_gain_ += (time_gain - time_gain_) / test_.count();
  if (state_ == State::Trial) {
    // What the test has cost so far, and one standard error on top.
    tested_loss_ += (paced_.period - unpaced_.period) * pattern_.block();
    const double error = square_root(test_.variance() * test_.count()) * unpaced_.period * pattern_.block();
    spent_ = spent_before_ + larger(0, tested_loss_ + error);
    judge_trial(step);
  } else {
    settle_account(unpaced_);
    held_gain_ += 0.25 * (gain - held_gain_);
    judge_hold();
  }
}

// Charges what the paced iterations since the last unpaced block took more than unpaced ones do now.
void Controller::settle_account(const Shown& unpaced) noexcept {
  const double loss = held_loss_ - held_steps_ * unpaced.period;
  spent_ += larger(0, loss);
  held_loss_ = 0;
  held_steps_ = 0;
}

void Controller::judge_trial(std::uint64_t step) noexcept {
  const double gain = test_.mean();
  const double half = test_.half_width(settings_.alpha);
  const double error = square_root(test_.variance() / test_.count());
  const bool pays = gain - half > settings_.min_gain && time_gain_ > -settings_.min_gain;
  if (test_.count() >= settings_.min_pairs && pays) {
    state_ = State::Hold;
    failures_ = 0;
    held_gain_ = gain;
    every_ = 1;
  } else if (gain < -larger(kClearLoss, 3 * error) || gain + half < 0) {
    leave(Reason::Harm, step);
  } else if (gain + half < settings_.min_gain || test_.count() >= settings_.max_pairs) {
    leave(Reason::NoGain, step);
  }
}

void Controller::judge_hold() noexcept {
  const double gain = (unpaced_.cost - paced_.cost) / unpaced_.cost;
  const double deviation = square_root(test_.variance());
  if (held_gain_ < settings_.min_gain || gain < -larger(kClearLoss, 3 * deviation)) {
    begin_trial();
    return;
  }
  if (4 * every_ * pattern_.block() <= settings_.window) every_ *= 2;
}

// Harm = iterations lengthened per delay: 0 where the delay was slack, 1 where it was transfer time.
void Controller::judge_probe(std::uint64_t step) noexcept {
  const double delay =
      smaller(cap(), level_ * settings_.share * to_ns(slack_.predictable(settings_.deviations)));
  if (delay <= 0) {
    leave(Reason::NoSlack, step);
    return;
  }
  const double harm = (paced_.period - unpaced_.period) / delay;
  const double steps = smaller(unpaced_.steps, paced_.steps);
  test_.add(harm, 2 * noise_ / steps / (delay * delay));
  spent_ += larger(0, (paced_.period - unpaced_.period) * pattern_.block());
  const double error = 2 * square_root(test_.variance() / test_.count());
  if (test_.count() < 2) return;
  if (test_.mean() + error < 0.5) {
    proven_ = delay;
    level_ *= 2;
    test_.clear();
  } else if (test_.mean() - error > 0.25 || test_.count() >= 8) {
    if (proven_ <= 0) leave(Reason::UnknownTransfer, step);
    level_ = 2;  // no further
  }
}

// Back to watching. The pause begins and ends at steps that are alike on all ranks.
void Controller::leave(Reason why, std::uint64_t step) noexcept {
  if (state_ == State::Hold) settle_account({.period = reference_});
  state_ = State::Watch;
  left_for_ = why == Reason::NoGain || why == Reason::Harm ? Reason::BackingOff : why;
  if (why == Reason::Harm) proven_ = 0;
  const std::uint64_t pause = std::uint64_t{settings_.retry}
                              << (failures_ < kMostBackOff ? failures_ : kMostBackOff);
  if (why != Reason::NoSlack) ++failures_;
  const std::uint64_t until = why == Reason::NoSlack ? step + settings_.retry / 4 : step + pause;
  retry_at_ = (until + settings_.retry - 1) / settings_.retry * settings_.retry;
  scale_ = 1;
  block_.clear();
  unpaced_ = paced_ = Shown{};
}

}  // namespace cox::pace
