// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "cox/base/assert.hpp"
#include "cox/simulate/event.hpp"

namespace cox::simulate {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

}  // namespace

void SharedResource::Sum::add(double x) {
  const double sum = sum_ + x;
  lost_ += std::abs(sum_) >= std::abs(x) ? (sum_ - sum) + x : (x - sum) + sum_;
  sum_ = sum;
}

/// Work done since the last change. A job whose end has come has exactly nothing left.
void SharedResource::advance(Seconds now) {
  COX_ASSERT(now >= at_, "a resource's time goes forward");
  const Seconds passed = now - at_;
  for (Limited& e : limited_)
    e.left = finish_of(e) <= now ? 0 : std::max(0.0, e.left - e.rate * passed.count());
  // To the level of the next to end where its end has come: a sum would miss it by a rounding.
  if (!by_level_.empty() && finish_of_first() <= now) {
    const auto [level, job] = *by_level_.begin();
    const Seconds since = std::max(now - finish_of_first(), Seconds{});
    level_ = std::max(level_, level) + speed_ * since.count();
  } else {
    level_ += speed_ * passed.count();
  }
  at_ = now;
}

Seconds SharedResource::finish_of(const Limited& e) const {
  if (e.left == 0) return at_;
  if (e.rate <= 0) return Seconds{kInfinite};
  return at_ + Seconds{e.left / e.rate};
}

Seconds SharedResource::finish_of_first() const {
  const double left = by_level_.begin()->first - level_;
  if (left <= 0) return at_;
  if (speed_ <= 0) return Seconds{kInfinite};
  return at_ + Seconds{left / speed_};
}

/// Max-min: jobs in the order of the level (rate per weight) at which their limit binds; those that bind
/// below the common level get their limit, the others share the rest by weight.
void SharedResource::share() {
  double capacity = capacity_;
  double weight = weight_of_others_.value();
  for (const Limited& e : limited_) weight += e.weight;
  std::size_t bound = 0;
  for (; bound < limited_.size(); ++bound) {
    Limited& e = limited_[bound];
    if (e.limit * weight > capacity * e.weight) break;
    e.rate = e.limit;
    capacity = std::max(0.0, capacity - e.limit);
    weight -= e.weight;
  }
  weight = weight_of_others_.value();  // summed again: a difference of sums loses digits
  for (std::size_t i = bound; i < limited_.size(); ++i) weight += limited_[i].weight;
  for (std::size_t i = bound; i < limited_.size(); ++i)
    limited_[i].rate = capacity * (limited_[i].weight / weight);
  speed_ = others_.empty() ? 0 : capacity / weight;
}

SharedResource::Job SharedResource::add(Seconds now, double work, double weight, double limit) {
  COX_ASSERT(work >= 0 && weight > 0 && limit >= 0 && weight < kInfinite,
             "a job has work, a weight and a limit");
  advance(now);
  const Job job = made_++;
  if (limit < kInfinite) {
    const Limited entry{.left = work, .weight = weight, .limit = limit, .rate = 0, .job = job};
    const auto binds_before = [](const Limited& a, const Limited& b) {
      return a.limit / a.weight < b.limit / b.weight;
    };
    limited_.insert(std::upper_bound(limited_.begin(), limited_.end(), entry, binds_before), entry);
  } else {
    if (others_.empty()) level_ = 0;
    const double end = level_ + work / weight;
    others_.emplace(job, Other{.end = end, .weight = weight});
    by_level_.emplace(end, job);
    weight_of_others_.add(weight);
  }
  share();
  return job;
}

double SharedResource::remove(Seconds now, Job job) {
  advance(now);
  double left = 0;
  if (const auto other = others_.find(job); other != others_.end()) {
    left = std::max(0.0, (other->second.end - level_) * other->second.weight);
    by_level_.erase({other->second.end, job});
    weight_of_others_.add(-other->second.weight);
    others_.erase(other);
    if (others_.empty()) weight_of_others_ = {};
  } else {
    const auto at =
        std::find_if(limited_.begin(), limited_.end(), [job](const Limited& e) { return e.job == job; });
    COX_ASSERT(at != limited_.end(), "a job is removed once");
    left = at->left;
    limited_.erase(at);
  }
  share();
  return left;
}

SharedResource::Next SharedResource::next() const {
  Next first{Seconds{kInfinite}, kNoJob};
  const auto consider = [&first](Seconds at, Job job) {
    if (at < first.at || (at == first.at && at.count() < kInfinite && job < first.job)) first = Next{at, job};
  };
  for (const Limited& e : limited_) consider(finish_of(e), e.job);
  if (!by_level_.empty()) consider(finish_of_first(), by_level_.begin()->second);
  return first;
}

}  // namespace cox::simulate
