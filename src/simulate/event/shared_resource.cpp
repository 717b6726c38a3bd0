// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "cox/base/assert.hpp"
#include "cox/simulate/event.hpp"

namespace cox::simulate {

/// Work done since the last change. A job whose end has come has exactly nothing left.
void SharedResource::advance(Seconds now) {
  COX_ASSERT(now >= at_, "a resource's time goes forward");
  const Seconds passed = now - at_;
  for (Entry& e : jobs_) e.left = finish_of(e) <= now ? 0 : std::max(0.0, e.left - e.rate * passed.count());
  at_ = now;
}

Seconds SharedResource::finish_of(const Entry& e) const {
  if (e.left == 0) return at_;
  if (e.rate <= 0) return Seconds{std::numeric_limits<double>::infinity()};
  return at_ + Seconds{e.left / e.rate};
}

/// Max-min: jobs in the order of the level (rate per weight) at which their limit binds; those that bind
/// below the common level get their limit, the others share the rest by weight.
void SharedResource::share() {
  double capacity = capacity_;
  double weight = 0;
  for (const Entry& e : jobs_) weight += e.weight;
  std::size_t bound = 0;
  for (; bound < jobs_.size(); ++bound) {
    Entry& e = jobs_[bound];
    if (e.limit * weight > capacity * e.weight) break;
    e.rate = e.limit;
    capacity = std::max(0.0, capacity - e.limit);
    weight -= e.weight;
  }
  weight = 0;  // summed again: a difference of sums loses digits
  for (std::size_t i = bound; i < jobs_.size(); ++i) weight += jobs_[i].weight;
  for (std::size_t i = bound; i < jobs_.size(); ++i) jobs_[i].rate = capacity * (jobs_[i].weight / weight);
}

SharedResource::Job SharedResource::add(Seconds now, double work, double weight, double limit) {
  COX_ASSERT(work >= 0 && weight > 0 && limit >= 0 && weight < std::numeric_limits<double>::infinity(),
             "a job has work, a weight and a limit");
  advance(now);
  const Entry entry{.left = work, .weight = weight, .limit = limit, .rate = 0, .job = made_++};
  const auto binds_before = [](const Entry& a, const Entry& b) {
    return a.limit / a.weight < b.limit / b.weight;
  };
  jobs_.insert(std::upper_bound(jobs_.begin(), jobs_.end(), entry, binds_before), entry);
  share();
  return entry.job;
}

double SharedResource::remove(Seconds now, Job job) {
  advance(now);
  const auto at = std::find_if(jobs_.begin(), jobs_.end(), [job](const Entry& e) { return e.job == job; });
  COX_ASSERT(at != jobs_.end(), "a job is removed once");
  const double left = at->left;
  jobs_.erase(at);
  share();
  return left;
}

SharedResource::Next SharedResource::next() const {
  Next first{Seconds{std::numeric_limits<double>::infinity()}, kNoJob};
  for (const Entry& e : jobs_) {
    const Seconds at = finish_of(e);
    if (at < first.at ||
        (at == first.at && at.count() < std::numeric_limits<double>::infinity() && e.job < first.job))
      first = Next{at, e.job};
  }
  return first;
}

}  // namespace cox::simulate
