// SPDX-License-Identifier: Apache-2.0
#include "simulate/paced/iteration.hpp"

#include <algorithm>
#include <limits>

namespace cox::simulate {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();
constexpr std::int32_t kTimer = -1;

}  // namespace

IterationPlayer::IterationPlayer(const model::Iteration& job)
    : job_(job),
      per_host_((job.ranks + job.hosts - 1) / job.hosts),
      link_((job.ranks - 1) / per_host_ + 1),
      next_(static_cast<std::size_t>(job.ranks)),
      waking_(next_.size()) {
  for (std::int32_t host = 0; host < link_; ++host)
    shared_.push_back({.resource = SharedResource(job.cores)});
  shared_.push_back({.resource = SharedResource(job.link.in_bytes_per_s())});
}

/// Earlier first; of simultaneous ones, who is first in the wake order.
void IterationPlayer::push(Event e) {
  e.order = step_->wake_order[static_cast<std::size_t>(e.rank)];
  events_.push_back(e);
  std::push_heap(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
    return a.at != b.at ? a.at > b.at : a.order > b.order;
  });
}

IterationPlayer::Event IterationPlayer::pop() {
  std::pop_heap(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
    return a.at != b.at ? a.at > b.at : a.order > b.order;
  });
  const Event e = events_.back();
  events_.pop_back();
  return e;
}

/// Every change of a resource moves the next end of a job, or of a slice, on it. One that is only later now is
/// found out when the event comes that was announced.
void IterationPlayer::announce(std::int32_t shared) {
  Shared& s = shared_[static_cast<std::size_t>(shared)];
  if (s.queue) {
    ++s.version;
    const CoreQueue::Next next = s.queue->next();
    if (next.rank >= 0)
      push({.at = next.at, .rank = next.rank, .shared = shared, .version = s.version, .job = 0});
    return;
  }
  const SharedResource::Next next = s.resource.next();
  if (next.job == SharedResource::kNoJob || s.announced < next.at) return;
  s.announced = next.at;
  ++s.version;
  push({.at = next.at, .rank = s.rank_of[next.job], .shared = shared, .version = s.version, .job = next.job});
}

void IterationPlayer::share(std::int32_t shared, int rank, Seconds now, double work, double weight,
                            double limit) {
  Shared& s = shared_[static_cast<std::size_t>(shared)];
  if (s.queue) {
    s.queue->add(now, rank, Seconds{work}, weight);
  } else {
    s.resource.add(now, work, weight, limit);
    s.rank_of.push_back(rank);
  }
  announce(shared);
}

/// What a rank that has got a core for the first time keeps it for:
/// it goes on with its work unless it is held back.
Seconds IterationPlayer::begin_work(int rank, Seconds now) {
  const auto r = static_cast<std::size_t>(rank);
  waking_[r] = step_->wake(rank, now);
  next_[r] = Phase::Delay;
  if (waking_[r].delay_before > Seconds::zero()) return {};
  const Seconds prepare = job_.prepare + waking_[r].wake_up;
  if (prepare > Seconds::zero()) {
    next_[r] = Phase::Fetch;
    return prepare;
  }
  const bool fetches = job_.fetch.count() > 0 && job_.link > Bandwidth{};
  if (fetches || !job_.compute_on_cores) return {};
  next_[r] = Phase::EntryDelay;
  return step_->compute[r];
}

/// Lets a rank begin `phase`, or the first after it that takes time.
void IterationPlayer::enter(int rank, Phase phase, Seconds now) {
  const auto r = static_cast<std::size_t>(rank);
  const auto timer = [&](Seconds length, Phase then) {
    next_[r] = then;
    push({.at = now + length, .rank = rank, .shared = kTimer, .version = 0, .job = 0});
  };
  const auto on_cores = [&](Seconds work, Phase then) {
    next_[r] = then;
    share(host_of(rank), rank, now, work.count(), step_->weight[r], 1);
  };
  switch (phase) {
    case Phase::Wake:
      if (std::optional<CoreQueue>& queue = shared_[static_cast<std::size_t>(host_of(rank))].queue) {
        queue->wake(now, rank, step_->weight[r]);
        return announce(host_of(rank));
      }
      waking_[r] = step_->wake(rank, now);
      [[fallthrough]];
    case Phase::Delay:
      if (waking_[r].delay_before > Seconds::zero()) return timer(waking_[r].delay_before, Phase::Prepare);
      [[fallthrough]];
    case Phase::Prepare:
      if (const Seconds work = job_.prepare + waking_[r].wake_up; work > Seconds::zero())
        return on_cores(work, Phase::Fetch);
      [[fallthrough]];
    case Phase::Fetch:
      if (job_.fetch.count() > 0 && job_.link > Bandwidth{}) {
        next_[r] = Phase::Compute;
        return share(link_, rank, now, static_cast<double>(job_.fetch.count()), 1, kForever);
      }
      [[fallthrough]];
    case Phase::Compute:
      if (step_->compute[r] > Seconds::zero())
        return job_.compute_on_cores ? on_cores(step_->compute[r], Phase::EntryDelay)
                                     : timer(step_->compute[r], Phase::EntryDelay);
      [[fallthrough]];
    case Phase::EntryDelay:
      if (waking_[r].delay_at_entry > Seconds::zero()) return timer(waking_[r].delay_at_entry, Phase::Arrive);
      [[fallthrough]];
    case Phase::Arrive:
      arrived_[r] = now;
      --waiting_;
      // A waiter that spins takes its share of the cores until everybody is there, and gets nothing done.
      if (step_->wait == pace::WaitMode::Spin) share(host_of(rank), rank, now, kForever, step_->weight[r], 1);
  }
}

/// Whether a rank's work on what it shares is done.
bool IterationPlayer::take_off(const Event& e) {
  Shared& s = shared_[static_cast<std::size_t>(e.shared)];
  if (e.version != s.version) return false;
  bool done = true;
  s.announced = kNever;
  if (s.queue) {
    done = s.queue->advance();
  } else {
    const SharedResource::Next next = s.resource.next();
    done = next.at == e.at && next.job == e.job;
    if (done) s.resource.remove(e.at, e.job);
  }
  announce(e.shared);
  return done;
}

void IterationPlayer::finish(const Event& e) {
  ++handled_;
  if (e.shared != kTimer && !take_off(e)) return;
  enter(e.rank, next_[static_cast<std::size_t>(e.rank)], e.at);
}

void IterationPlayer::reset(const IterationStep& step) {
  step_ = &step;
  waiting_ = job_.ranks;
  events_.clear();
  for (std::int32_t i = 0; i < link_; ++i) {
    Shared& host = shared_[static_cast<std::size_t>(i)];
    if (job_.time_slice > Seconds::zero())
      host.queue.emplace(std::min(job_.cores, per_host_), job_.time_slice,
                         [this](int rank, Seconds now) { return begin_work(rank, now); });
    else
      host.resource = SharedResource(job_.cores);
  }
  shared_.back().resource = SharedResource(job_.link.in_bytes_per_s());
  for (Shared& s : shared_) {
    s.rank_of.clear();
    s.announced = kNever;
  }
}

void IterationPlayer::play(const IterationStep& step, std::span<Seconds> arrived) {
  arrived_ = arrived;
  reset(step);
  // All wake at once: in their order, and what an earlier one has done by then comes before.
  by_order_.resize(static_cast<std::size_t>(job_.ranks));
  for (int rank = 0; rank < job_.ranks; ++rank)
    by_order_[static_cast<std::size_t>(step.wake_order[static_cast<std::size_t>(rank)])] = rank;
  for (int order = 0; order < job_.ranks; ++order) {
    while (!events_.empty() && events_.front().at == Seconds{} && events_.front().order < order)
      finish(pop());
    ++handled_;
    enter(by_order_[static_cast<std::size_t>(order)], Phase::Wake, {});
  }
  while (waiting_ > 0) finish(pop());
}

}  // namespace cox::simulate
