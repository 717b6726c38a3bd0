// SPDX-License-Identifier: Apache-2.0
// How mode `auto` learns from blocks and pairs of blocks. Guest code: libc only.
#include "cox/pace/controller.hpp"

#include "pace/arithmetic.hpp"

namespace cox::pace {
namespace {

// Typical iterations that one may count as: in what is compared, and in what is charged. A lost packet or a
// stopped process makes one of hundreds; it must be paid for and must not decide.
constexpr double kLongest = 2;
constexpr double kLongestCharged = 4;
constexpr double kClearLoss = 0.02;         // relative; with three deviations behind it a test ends at once
constexpr std::uint32_t kMostBackOff = 6;   // doublings
constexpr double kProbeBudget = 1.0 / 16;   // windows that one round of probes may cost
constexpr std::uint32_t kTried[] = {0, 2};  // candidates that a trial tries
constexpr std::uint32_t kKnown = 24;        // iterations after which a typical one is known
constexpr std::uint32_t kMemory = 8;        // blocks that a candidate's cost is averaged over

double larger(double a, double b) {
  return a > b ? a : b;
}
double smaller(double a, double b) {
  return a < b ? a : b;
}

}  // namespace

// A running median: robust against stops of seconds, and follows a new level within a few dozen steps.
void Controller::track(double period) noexcept {
  if (typical_ <= 0) typical_ = period;
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
      paced = !crossover_.is_off(step) && pattern_.is_paced_holding(step, every_, unpaced_steps_);
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

// Whether what a block shows is what paced iterations take. While this rank has no test of its own, the paced
// block of a pair may be that of others.
bool Controller::is_in_paced_block(std::uint64_t step) const noexcept {
  if (state_ != State::Hold) return pattern_.is_paced(step);
  return !crossover_.is_off(step) && (pattern_.is_paced(step) || pattern_.pair_of(step) % every_ != 0);
}

// Which of the two delays of a trial a step's pair tries.
std::uint32_t Controller::variant_at(std::uint64_t step) const noexcept {
  return static_cast<std::uint32_t>(pattern_.pair_of(step) % 2);
}

// Which candidate's delay a paced step gets. Of a hold's pairs the tested ones get the best, and in the
// others blocks take turns; one that is out leaves its turn to the best.
std::uint32_t Controller::candidate_at(std::uint64_t step) const noexcept {
  if (state_ != State::Hold) return kTried[variant_at(step)];
  if (pattern_.pair_of(step) % every_ == 0) return best_;
  const auto turn = static_cast<std::uint32_t>(step / pattern_.block() % kCandidates);
  return candidates_[turn].out ? best_ : turn;
}

// One very long wait says nothing about the next: it counts as twice the mean and a little more.
void Controller::note_slack(double wait) noexcept {
  const double usual = 2 * to_ns(slack_.mean()) + 0.05 * typical_;
  const bool known = slack_.count() >= 8 && settings_.mode != Mode::Paper;
  slack_.add(from_ns(known ? smaller(wait, usual) : smaller(wait, kLongestCharged * typical_)));
}

void Controller::take_in(const Observation& o) noexcept {
  const double period = to_ns(o.work + o.sync + o.delayed);
  if (seen_ > 0 && o.step != last_step_ + 1) {  // a gap: what was begun cannot be completed
    block_.clear();
    unpaced_ = paced_ = Shown{};
    write_off();
  }
  track(period);
  last_step_ = o.step;
  ++seen_;
  const bool by_the_book = settings_.mode == Mode::Paper;  // which takes the whole time for waiting
  transfer_known_ = o.transfer >= Duration::zero() || by_the_book;
  const double longest = kLongest * typical_;
  const double charged = smaller(period, kLongestCharged * typical_);
  elapsed_ += charged;
  if (seen_ <= settings_.window) first_window_ = elapsed_ / static_cast<double>(seen_) * settings_.window;
  const double sync = to_ns(o.sync) - (o.transfer > Duration::zero() && !by_the_book ? to_ns(o.transfer) : 0);
  const double wait = larger(sync, 0);
  const bool settled = pattern_.place_of(o.step) >= settings_.settle;
  const bool testing = settings_.mode == Mode::Auto && state_ >= State::Probe;
  if (!testing || (role_at(o.step) != Role::Paced && settled)) note_slack(wait);
  if (settings_.mode != Mode::Auto) return;
  // The rest of a block that is paced again says nothing of unpaced iterations.
  const bool is_rest = role_at(o.step) == Role::Paced && !is_in_paced_block(o.step);
  if (settled && !is_rest && block_.count < sizeof block_.costs / sizeof block_.costs[0]) {
    block_.costs[block_.count++] = static_cast<float>(cost_of(o, longest));
    const double bounded = smaller(period, longest);
    block_.period += bounded;
    block_.squares += bounded * bounded;
    block_.charged += charged;
    block_.wait += smaller(wait, longest);
  }
  if (state_ == State::Probe && role_at(o.step) == Role::Paced && o.delayed > Duration::zero())
    ++turns_served_;
  if (state_ == State::Hold && role_at(o.step) == Role::Paced) {
    at_stake_ = 0;
    held_loss_ += charged;
    // Twice as long as the longest way from test to test: gaps keep the tests from being completed.
    if (++held_steps_ > 4 * larger(settings_.window, pattern_.block())) {
      settle_account({.charged = reference_});
      doubt(o.step, 0);
    }
  }
  if (state_ == State::Hold) crossover_.add(o.step, Seconds{smaller(period, longest)});
  if (pattern_.place_of(o.step) + 1 == pattern_.block()) end_block(o.step);
  if (state_ == State::Hold) judge_crossover(o.step);
}

Controller::Shown Controller::close_block() noexcept {
  Shown shown;
  const std::uint32_t n = block_.count;
  shown.steps = n;
  if (n == 0) return shown;
  shown.period = block_.period / n;
  shown.charged = block_.charged / n;
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
  const bool testing = state_ == State::Trial || state_ == State::Hold;
  const bool paced = is_in_paced_block(step);
  const Shown shown = close_block();
  if (shown.steps == 0) {
    // nothing of the block counts
  } else if (paced) {
    paced_ = shown;
    if (testing) note_cost(shown, step);
    if (state_ == State::Hold) {
      compare(shown);
      suspect(shown, step);
    }
  } else {
    unpaced_ = shown;
    // Waits of half of what they were are not the same waits:
    // the window would forget the old ones too slowly.
    const double error = kConfidence * to_ns(slack_.deviation()) / square_root(shown.steps);
    if (testing && shown.wait + error < 0.5 * to_ns(slack_.mean())) slack_.clear();
    reference_ = reference_ == 0 ? shown.period : reference_ + 0.5 * (shown.period - reference_);
    noise_ = noise_ == 0 ? shown.variance : noise_ + 0.25 * (shown.variance - noise_);
  }
  const bool pair_ends = (step + 1) % (std::uint64_t{2} * pattern_.block()) == 0;
  if (state_ <= State::Watch && shown.steps > 0 && seen_ >= kKnown) watch(shown, step);
  if (!pair_ends) return;
  // Iterations of no length measure nothing: gains are relative to unpaced ones.
  if (state_ == State::Hold && crossover_.is_off(step))
    at_stake_ = 0;
  else if (paced_.steps > 0 && unpaced_.steps > 0 && unpaced_.cost > 0 && unpaced_.period > 0)
    end_pair(step);
  else
    write_off();
  unpaced_ = paced_ = Shown{};
}

// What a candidate's blocks cost, a trial's included.
void Controller::note_cost(const Shown& paced, std::uint64_t step) noexcept {
  Candidate& tried = candidates_[candidate_at(step)];
  if (tried.blocks < kMemory) ++tried.blocks;
  tried.cost += (paced.cost - tried.cost) / tried.blocks;
  paced_noise_ = paced_noise_ == 0 ? paced.variance : paced_noise_ + 0.25 * (paced.variance - paced_noise_);
}

// Candidates that cost clearly more than the best one are not tried again.
void Controller::compare(const Shown& paced) noexcept {
  const std::uint32_t before = best_;
  for (std::uint32_t i = 0; i < kCandidates; ++i)
    if (candidates_[i].blocks >= 2 && !candidates_[i].out && candidates_[i].cost < candidates_[best_].cost)
      best_ = i;
  if (best_ != before) paced_reference_ = 0;
  const Candidate& best = candidates_[best_];
  for (Candidate& other : candidates_) {
    if (other.blocks < 2 || best.blocks < 2) continue;
    const double error = square_root(paced_noise_ / paced.steps * (1.0 / other.blocks + 1.0 / best.blocks));
    other.out = other.out || other.cost - best.cost > 2 * error;
  }
}

// Signs that things are no longer as they were when pacing was shown to pay; two blocks in a row, and only
// what all ranks see alike. Iterations longer than unpaced ones were: the trial begins again. Other than
// paced ones were: the next pair is tested.
void Controller::suspect(const Shown& paced, std::uint64_t step) noexcept {
  const double deviation = square_root(noise_ / paced.steps);
  const bool longer = paced.period > reference_ + larger(kClearLoss * reference_, 3 * deviation);
  suspicions_ = longer ? suspicions_ + 1 : 0;
  if (suspicions_ >= 2) {
    settle_account({.charged = reference_});
    doubt(step, paced.period - reference_);
    return;
  }
  if (candidate_at(step) != best_) return;
  const double change = paced.period - paced_reference_;
  const double usual = larger(kClearLoss * reference_, 4 * square_root(paced_noise_ / paced.steps));
  if (paced_reference_ == 0 || (change < usual && -change < usual)) {
    paced_reference_ = paced_reference_ == 0 ? paced.period : paced_reference_ + 0.2 * change;
    changes_ = 0;
  } else if (++changes_ >= 2) {
    paced_reference_ = 0;
    changes_ = 0;
    every_ = 1;
  }
}

// A hold that a crossover has proven is tested anew at once. Before that, what is in doubt may be a cost that
// comes late, which no trial sees: then it ends, and what its steps seem to have lost is charged.
void Controller::doubt(std::uint64_t step, double loss) noexcept {
  if (settings_.carry == 0 || crossover_.is_proven()) {
    begin_trial(step + 1);
    return;
  }
  take_back(loss);
  leave(loss > 0 ? Reason::Harm : Reason::NoGain, step);
}

// Of what its steps have lost there are two estimates: per step, against what was unpaced in the hold, and as a
// sum, against the blocks before the trial. The next trial has to wait until the budget could bear that loss
// until a hold is proven.
void Controller::take_back(double loss) noexcept {
  const double steps = crossover_.unproven();
  if (steps <= 0) return;
  const double lost = larger(larger(0, loss * steps), lost_since_before());
  spent_ += lost;
  to_bear_ = lost / steps * crossover_.longest();
  if (loss > 0) failures_ += 3;
}

// What blocks take while this rank paces nothing. For a while after a hold they may still pay for its delays.
void Controller::watch(const Shown& shown, std::uint64_t step) noexcept {
  if (step < paying_until_) {
    paid_after_ += (shown.period - calm_) * pattern_.block();
    return;
  }
  charge_after();
  calm_ = calm_ == 0 ? shown.period : calm_ + (shown.period - calm_) / kMemory;
}

void Controller::charge_after() noexcept {
  spent_ += larger(0, paid_after_);
  paid_after_ = 0;
  paying_until_ = 0;
}

// By the steps of a hold that are not proven to pay, against the blocks before the trial.
double Controller::lost_since_before() const noexcept {
  return calm_ > 0 ? crossover_.unproven_time().count() - crossover_.unproven() * calm_ : 0;
}

// Trials that follow a pause begin at steps that are alike on all ranks, at most one for each `retry` steps:
// the job's error is shared out among these, not among the trials of each rank.
void Controller::begin_trial(std::uint64_t next) noexcept {
  state_ = State::Trial;
  charge_after();
  wager_.clear();
  wealth_needed_ = Wager::needed(next / settings_.retry, settings_.alpha);
  for (BenefitTest& test : tests_) test.clear();
  time_gains_[0] = time_gains_[1] = 0;
  tested_loss_ = 0;
  spent_before_ = spent_;
  held_loss_ = held_gain_ = 0;
  held_steps_ = suspicions_ = 0;
  every_ = 1;
  paced_reference_ = 0;
  changes_ = 0;
  for (Candidate& candidate : candidates_) candidate = Candidate{};
  paced_noise_ = 0;
  block_.clear();
  unpaced_ = paced_ = Shown{};
}

void Controller::end_pair(std::uint64_t step) noexcept {
  at_stake_ = 0;
  if (state_ == State::WarmUp) return;
  if (state_ == State::Watch) {
    charge_others();
    return;
  }
  if (state_ == State::Probe) {
    judge_probe(step);
    return;
  }
  const double gain = (unpaced_.cost - paced_.cost) / unpaced_.cost;
  if (state_ == State::Hold) {
    settle_account(unpaced_);
    held_gain_ += 0.25 * (gain - held_gain_);
    judge_hold(gain, step);
    return;
  }
  const std::uint32_t variant = variant_at(step);
  BenefitTest& test = tests_[variant];
  const double steps = smaller(unpaced_.steps, paced_.steps);
  test.add(gain, 2 * noise_ / (unpaced_.period * unpaced_.period) / steps);
  const double both = unpaced_.cost + paced_.cost;
  const double difference = 2 * (unpaced_.cost - paced_.cost) / both;
  const double own = unpaced_.variance / unpaced_.steps + paced_.variance / paced_.steps;
  wager_.add(variant, difference - settings_.min_gain, 4 * own / (both * both));
  const double time_gain = (unpaced_.charged - paced_.charged) / unpaced_.charged;
  time_gains_[variant] += (time_gain - time_gains_[variant]) / test.count();
  // What the trial has cost so far, and one standard error on top.
  tested_loss_ += (paced_.charged - unpaced_.charged) * pattern_.block();
  const double variance = tests_[0].variance() * tests_[0].count() + tests_[1].variance() * tests_[1].count();
  const double error = square_root(variance) * unpaced_.period * pattern_.block();
  spent_ = spent_before_ + larger(0, tested_loss_ + error);
  judge_trial(step);
}

// Paced steps that nobody measured are charged with the most that they can have cost.
void Controller::write_off() noexcept {
  spent_ += at_stake_;
  spent_before_ += at_stake_;
  at_stake_ = 0;
}

// Ranks that have slack at different times would otherwise spend a budget each: what tests of others visibly
// cost is charged here too. Nothing says whether there are any, so a difference between the blocks has to
// stand out of what is usual. Formula: one-sided CUSUM, k = 1/2, h = 4 deviations (Page 1954).
void Controller::charge_others() noexcept {
  const double block = pattern_.block();
  const double loss = (paced_.period - unpaced_.period) * block;
  const double known = 2 * noise_ / smaller(unpaced_.steps, paced_.steps) * block * block;
  const double deviation = square_root(larger(known, usual_));
  if (loss < 0) usual_ += (loss * loss - usual_) / 16;  // harm is never below zero, noise is
  others_loss_ = larger(0, others_loss_ + loss - deviation / 2);
  if (others_loss_ <= 4 * deviation) return;
  spent_ += others_loss_;
  others_loss_ = 0;
}

// Charges what the paced iterations since the last unpaced block took more than unpaced ones do now.
void Controller::settle_account(const Shown& unpaced) noexcept {
  const double loss = held_loss_ - held_steps_ * unpaced.charged;
  spent_ += larger(0, loss);
  held_loss_ = 0;
  held_steps_ = 0;
}

// Whether either delay pays is one wager; which of them does is seen from their means.
void Controller::judge_trial(std::uint64_t step) noexcept {
  const double alpha = settings_.alpha / 2;
  const std::uint32_t pairs = tests_[0].count() + tests_[1].count();
  bool pays[2] = {};
  bool useless = true;
  bool harmful = true;
  for (int i = 0; i < 2; ++i) {
    const BenefitTest& test = tests_[i];
    if (test.count() < 2) return;
    const double error = square_root(test.variance() / test.count());
    pays[i] = test.mean() - error > settings_.min_gain && time_gains_[i] > -settings_.min_gain;
    // Giving up needs less proof than pacing does: it costs nothing but the time until the next trial.
    useless = useless && test.mean() + error < settings_.min_gain;
    harmful =
        harmful && (test.mean() < -larger(kClearLoss, 3 * error) || test.mean() + test.half_width(alpha) < 0);
  }
  if (pairs >= settings_.min_pairs && (pays[0] || pays[1]) && wager_.wealth() >= wealth_needed_) {
    const int better = !pays[1] || (pays[0] && tests_[0].mean() >= tests_[1].mean()) ? 0 : 1;
    state_ = State::Hold;
    held_gain_ = tests_[better].mean();
    best_ = kTried[better];
    crossover_.begin(step + 1);
    if (settings_.carry == 0) failures_ = 0;
  } else if (harmful) {
    leave(Reason::Harm, step);
  } else if (useless || pairs >= most_pairs() || (2 * pairs >= settings_.max_pairs && wager_.wealth() < 1)) {
    leave(Reason::NoGain, step);
  }
}

// The later a trial, the more it has to show: one pair more for each time that it is twice as much.
std::uint32_t Controller::most_pairs() const noexcept {
  std::uint32_t more = 0;
  for (double needed = wealth_needed_ * settings_.alpha; needed > 1; needed /= 2) ++more;
  return settings_.max_pairs + more;
}

void Controller::judge_hold(double gain, std::uint64_t step) noexcept {
  const double deviation = square_root(tests_[0].variance());
  if (held_gain_ < settings_.min_gain || gain < -larger(kClearLoss, 3 * deviation)) {
    doubt(step, 0);
    return;
  }
  if (2 * every_ * pattern_.block() <= settings_.window) every_ *= 2;
}

// What costs come late are in both blocks of a pair, and not in a long stretch without delays. A hold that
// they make a loss is taken back, and what it has lost is charged. Only a
// frame of full length that shows a gain makes the next pause short again.
void Controller::judge_crossover(std::uint64_t step) noexcept {
  using Verdict = Crossover::Verdict;
  const bool is_time = settings_.objective == Objective::Throughput;
  switch (crossover_.verdict(step, is_time ? 0 : -settings_.min_gain)) {
    case Verdict::None:
      if (crossover_.is_proven() || pattern_.place_of(step) + 1 < pattern_.block() ||
          lost_since_before() < remaining())
        break;
      take_back(0);
      leave(Reason::OverBudget, step);
      break;
    case Verdict::Unclear:
      break;
    case Verdict::Gain:
      if (!crossover_.is_proven()) break;
      failures_ = 0;
      to_bear_ = 0;
      break;
    case Verdict::Harm:
      take_back(-crossover_.gain() * crossover_.unpaced_time().count());
      leave(Reason::Harm, step);
      break;
    case Verdict::Unmeasured:
      leave(Reason::NoGain, step);
      break;
  }
}

// Every rank's turn is charged by all, and all stop where the turns together have cost too much. Own turns
// tell harm = iterations lengthened per delay: 0 where the delay was slack, 1 where it was transfer time.
void Controller::judge_probe(std::uint64_t step) noexcept {
  tested_loss_ += (paced_.charged - unpaced_.charged) * pattern_.block();
  spent_ = spent_before_ + larger(0, tested_loss_);
  if (tested_loss_ > kProbeBudget * settings_.window * typical_) {
    leave(Reason::UnknownTransfer, step);
    return;
  }
  const std::uint32_t served = turns_served_;
  turns_served_ = 0;
  if (role_at(step) == Role::Bystander || 2 * served < pattern_.block()) return;
  const double delay = smaller(cap(), level_ * settings_.share * to_ns(predictable(slack_)));
  if (delay < least()) return;
  BenefitTest& harm = tests_[0];
  const double steps = smaller(unpaced_.steps, paced_.steps);
  harm.add((paced_.period - unpaced_.period) / delay, 2 * noise_ / steps / (delay * delay));
  if (harm.count() < 2) return;
  const double error = 2 * square_root(harm.variance() / harm.count());
  if (harm.mean() + error < 0.5) {
    proven_ = delay;
    level_ *= 2;
    harm.clear();
  } else if (harm.mean() - error > 0.25 || harm.count() >= 8) {
    level_ = 2;  // no further
    if (proven_ <= 0) leave(Reason::UnknownTransfer, step);
  }
}

// Back to watching. The pause begins and ends at steps that are alike on all ranks.
void Controller::leave(Reason why, std::uint64_t step) noexcept {
  if (state_ == State::Hold) {
    settle_account({.charged = reference_});
    if (calm_ > 0) paying_until_ = step + settings_.carry;
  }
  write_off();
  state_ = State::Watch;
  left_for_ = why == Reason::NoGain || why == Reason::Harm ? Reason::BackingOff : why;
  if (why == Reason::Harm) proven_ = 0;
  if (why == Reason::UnknownTransfer) failures_ += 3;  // a round of probes takes long: rarer than trials
  const std::uint64_t pause = std::uint64_t{settings_.retry}
                              << (failures_ < kMostBackOff ? failures_ : kMostBackOff);
  ++failures_;
  retry_at_ = (step + pause + settings_.retry - 1) / settings_.retry * settings_.retry;
  block_.clear();
  unpaced_ = paced_ = Shown{};
}

}  // namespace cox::pace
