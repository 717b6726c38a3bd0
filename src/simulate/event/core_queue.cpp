// SPDX-License-Identifier: Apache-2.0
#include "simulate/event/core_queue.hpp"

#include <algorithm>
#include <limits>

#include "cox/base/assert.hpp"

namespace cox::simulate {

std::size_t CoreQueue::first() const {
  std::size_t best = running_.size();
  for (std::size_t i = 0; i < running_.size(); ++i)
    if (running_[i].job.rank >= 0 && (best == running_.size() || running_[i].ends < running_[best].ends))
      best = i;
  return best;
}

/// Puts a job where the heap finds it: who comes later in the queue is "less".
void CoreQueue::wait(const Job& job) {
  ready_.push_back(job);
  std::push_heap(ready_.begin(), ready_.end(), [](const Job& a, const Job& b) {
    if (a.used != b.used) return a.used > b.used;
    if (a.weight != b.weight) return a.weight < b.weight;
    return a.order > b.order;
  });
}

void CoreQueue::give(Core& core, Seconds now) {
  core.job = Job{};
  if (ready_.empty()) return;
  std::pop_heap(ready_.begin(), ready_.end(), [](const Job& a, const Job& b) {
    if (a.used != b.used) return a.used > b.used;
    if (a.weight != b.weight) return a.weight < b.weight;
    return a.order > b.order;
  });
  core.job = ready_.back();
  ready_.pop_back();
  if (core.job.is_waking) {
    core.job.is_waking = false;
    core.job.left = woken_(core.job.rank, now);
    COX_ASSERT(core.job.left >= Seconds::zero(), "work is a length of time");
  }
  core.length = std::min(core.job.left, slice_);
  core.ends = now + core.length;
  floor_ = std::max(floor_, core.job.used);
}

void CoreQueue::add(Seconds now, int rank, Seconds work, double weight) {
  COX_ASSERT(rank >= 0 && work >= Seconds::zero() && weight > 0, "a job has a rank, work and a weight");
  queue({.rank = rank, .left = work, .weight = weight}, now);
}

void CoreQueue::wake(Seconds now, int rank, double weight) {
  COX_ASSERT(rank >= 0 && weight > 0 && woken_, "somebody says what a rank that wakes wants");
  queue({.rank = rank, .weight = weight, .is_waking = true}, now);
}

void CoreQueue::queue(const Job& job, Seconds now) {
  Job queued = job;
  queued.used = floor_;
  queued.order = added_++;
  wait(queued);
  for (Core& core : running_)
    if (core.job.rank < 0) return give(core, now);
}

CoreQueue::Next CoreQueue::next() const {
  const std::size_t core = first();
  if (core == running_.size()) return {Seconds{std::numeric_limits<double>::infinity()}, -1};
  return {running_[core].ends, running_[core].job.rank};
}

bool CoreQueue::advance() {
  const std::size_t at = first();
  COX_ASSERT(at < running_.size(), "a slice ends only where one runs");
  Core& core = running_[at];
  Job job = core.job;
  const Seconds now = core.ends;
  const bool done = job.left <= core.length;
  job.left -= core.length;
  job.used += core.length / job.weight;
  job.order = added_++;
  if (!done) wait(job);
  give(core, now);
  return done;
}

}  // namespace cox::simulate
