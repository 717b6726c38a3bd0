// SPDX-License-Identifier: Apache-2.0
// From synchronisations to iterations, observations and delays. Guest code: libc only.
#include "guest/pacing/pacing.hpp"

namespace cox::guest {
namespace {

using pace::Decision;
using pace::Placement;
using pace::Reason;

// Beyond any span that a job has; keeps sums of a clock that jumped within the range of a Duration.
constexpr double kLongestPs = 1e18;

std::uint32_t millionths(double gain) noexcept {
  const double bounded = gain > 1000 ? 1000 : (gain < -1000 ? -1000 : gain);
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(bounded * 1e6));
}

}  // namespace

void Pacer::define(std::uint32_t comm, std::int32_t size, std::int32_t rank) noexcept {
  if (comm == 0 || comm >= kGroups) return;
  groups_[comm].rank.store(rank, std::memory_order_relaxed);
  groups_[comm].size.store(size, std::memory_order_relaxed);
}

// Recording is on, and this is the thread whose iterations count.
bool Pacer::is_ours() noexcept {
  if (!world_.is_recording()) return false;
  const std::uint32_t me = world_.thread();
  std::uint32_t owner = owner_.load(std::memory_order_relaxed);
  if (owner == 0 && owner_.compare_exchange_strong(owner, me, std::memory_order_relaxed)) return true;
  return owner == me;
}

// The same for calls that are no synchronisation: they make no thread the one that counts. Asked before
// anything else is read, which belongs to that thread.
bool Pacer::is_owner() const noexcept {
  const std::uint32_t owner = owner_.load(std::memory_order_relaxed);
  return owner != 0 && world_.is_recording() && owner == world_.thread();
}

// Negative where the clock went back.
Duration Pacer::span(std::uint64_t begin, std::uint64_t end) const noexcept {
  const double ps = static_cast<double>(static_cast<std::int64_t>(end - begin)) * ps_per_tick_;
  const double bounded = ps > kLongestPs ? kLongestPs : (ps < -kLongestPs ? -kLongestPs : ps);
  return Duration{static_cast<std::int64_t>(bounded)};
}

// The part of a wait that is transfer; negative = not known.
Duration Pacer::transfer_of(std::int64_t bytes, Duration wait) const noexcept {
  if (bytes >= 0 && settings_.transfer_latency >= Duration::zero()) {
    const double ps = static_cast<double>(settings_.transfer_latency.count()) +
                      static_cast<double>(bytes) * settings_.transfer_ps_per_byte;
    return ps < static_cast<double>(wait.count()) ? Duration{static_cast<std::int64_t>(ps)} : wait;
  }
  return bytes >= 0 && bytes <= kSmall ? Duration::zero() : Duration{-1};
}

// Whether the group becomes the paced one with this synchronisation.
bool Pacer::takes_over(std::uint32_t comm) noexcept {
  Group& g = groups_[comm];
  if (g.stamp != paced_seen_) {
    g.stamp = paced_seen_;
    g.run = 0;
  }
  ++g.run;
  if (g.seen < kFirst) return false;
  if (paced_ == 0) return true;
  const std::int32_t size = g.size.load(std::memory_order_relaxed);
  const std::int32_t paced = groups_[paced_].size.load(std::memory_order_relaxed);
  if (size > paced && !g.given_up) return true;
  return g.run >= (size >= paced ? kReplaced : kGivenUp);
}

void Pacer::take(std::uint32_t comm, std::uint64_t now) noexcept {
  if (!asked_) {
    asked_ = true;
    settings_.launch_ahead = settings_.launch_ahead || world_.drives_accelerator();
    ps_per_tick_ = world_.picoseconds_per_tick();
  }
  if (paced_ != 0) groups_[paced_].given_up = true;
  paced_ = comm;
  paced_seen_ = 0;
  for (Group& g : groups_) g.stamp = g.run = 0;
  for (Other& other : others_) other = Other{};
  boundaries_.forget();
  restart(now);
}

// The first iteration of a new count begins; what was seen of another group, or between other boundaries,
// says nothing about it.
void Pacer::restart(std::uint64_t now) noexcept {
  const Group& g = groups_[paced_];
  const std::int32_t rank = g.rank.load(std::memory_order_relaxed);
  controller_ = pace::Controller(settings_, static_cast<std::uint32_t>(rank < 0 ? 0 : rank),
                                 static_cast<std::uint32_t>(g.size.load(std::memory_order_relaxed)));
  told_ = false;
  counted_until_ = now;
  step_ = 0;
  began_ = now;
  sync_ = transfer_ = delayed_ = Duration::zero();
  transfer_known_ = true;
  pending_ = false;
}

void Pacer::add_other(std::uint32_t comm, Duration wait) noexcept {
  for (Other& other : others_) {
    if (other.comm == 0) other.comm = comm;
    if (other.comm != comm) continue;
    other.sum += wait;
    ++other.waits;
    return;
  }
}

void Pacer::leave(std::uint32_t comm, std::uint64_t begin, std::uint64_t end, std::int64_t bytes,
                  Boundary boundary) noexcept {
  if (comm == 0 || comm >= kGroups || !is_ours()) return;
  Group& g = groups_[comm];
  if (g.size.load(std::memory_order_relaxed) < 2) return;
  ++g.seen;
  if (comm != paced_) {
    if (takes_over(comm)) {
      take(comm, end);
    } else if (paced_ != 0) {
      const Duration wait = span(begin, end);
      const Duration transfer = transfer_of(bytes, wait);
      add_other(comm, transfer > Duration::zero() ? wait - transfer : wait);
    }
    return;
  }
  ++paced_seen_;
  // A call inside another one was counted already. (A clock that went back is not that.)
  if (begin < counted_until_ && counted_until_ <= end) begin = counted_until_;
  counted_until_ = end;
  const Duration wait = span(begin, end);
  const Duration transfer = transfer_of(bytes, wait);
  sync_ += wait;
  if (transfer >= Duration::zero())
    transfer_ += transfer;
  else
    transfer_known_ = false;
  pass(boundary, end);
}

void Pacer::pass(Boundary boundary, std::uint64_t now) noexcept {
  using Effect = pace::BoundaryRule::Effect;
  const Effect effect = boundaries_.pass(boundary);
  if (effect == Effect::BeginsAnew) restart(now);
  if (effect == Effect::Ends) close_iteration(now);
}

void Pacer::mark() noexcept {
  if (!is_owner() || paced_ == 0) return;
  pass(Boundary::Mark, world_.ticks());
}

void Pacer::enter(std::uint32_t comm) noexcept {
  if (settings_.placement != Placement::Collective) return;
  if (!is_owner() || !pending_ || comm != paced_) return;
  pending_ = false;
  serve(waiting_);
}

void Pacer::close_iteration(std::uint64_t now) noexcept {
  for (std::uint32_t i = 0; i < pace::Controller::kOtherGroups; ++i) {
    if (others_[i].waits > 0) controller_.observe_other(i, others_[i].sum);
    others_[i].waits = 0;
    others_[i].sum = Duration::zero();
  }
  const pace::Observation seen{.step = step_,
                               .work = span(began_, now) - delayed_ - sync_,
                               .sync = sync_,
                               .transfer = transfer_known_ ? transfer_ : Duration{-1},
                               .delayed = delayed_};
  controller_.observe(seen);
  ++step_;
  began_ = now;
  sync_ = transfer_ = delayed_ = Duration::zero();
  transfer_known_ = true;
  pending_ = false;
  if (world_.decided != nullptr) world_.decided(controller_, seen);
  act(controller_.decide());
}

void Pacer::act(Decision decision) noexcept {
  if (settings_.launch_ahead) decision = {Duration::zero(), Reason::LaunchAhead, decision.state};
  // The controller keeps to its bounds; what a job is held back by does not hang on that alone.
  if (decision.delay > settings_.max_delay) decision.delay = settings_.max_delay;
  if (decision.delay < Duration::zero()) decision.delay = Duration::zero();
  if (decision.delay > Duration::zero() && settings_.placement == Placement::Collective) {
    pending_ = true;
    waiting_ = decision;
    return;
  }
  if (decision.delay > Duration::zero() || !told_ || decision.reason != reason_) serve(decision);
}

void Pacer::serve(const Decision& decision) noexcept {
  const auto flags = trace::PaceFlags::of(static_cast<std::uint8_t>(decision.state),
                                          static_cast<std::uint8_t>(settings_.mode));
  trace::RawRecord* const record = world_.begin(
      trace::EventKind::Pace, static_cast<std::uint8_t>(decision.reason), flags, paced_,
      static_cast<std::uint32_t>(step_), static_cast<std::uint64_t>(decision.delay.count() / 1000),
      millionths(controller_.evidence().gain));
  told_ = true;
  reason_ = decision.reason;
  // What cannot be told in the Run (a full disk) is not done either.
  if (decision.delay <= Duration::zero() || !world_.is_stored(record)) {
    record->end = record->begin;
    return;
  }
  world_.sleep(decision.delay);
  world_.end(record);
  counted_until_ = record->end;
  delayed_ += span(record->begin, record->end);
}

}  // namespace cox::guest
