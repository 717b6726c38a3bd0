// SPDX-License-Identifier: Apache-2.0
// What the ranks of a job of collectives spend their time on.
#include <algorithm>

#include "cox/base/assert.hpp"

#include "simulate/collective/player.hpp"

namespace cox::simulate {
namespace {

struct Sum {
  Seconds all{};
  Seconds most{};
};

/// Eight at once, in an order that depends on nothing else.
Sum sum_of(std::span<const Seconds> times) {
  constexpr std::size_t kLanes = 8;
  double all[kLanes] = {}, most[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= times.size(); i += kLanes)
    for (std::size_t l = 0; l < kLanes; ++l) {
      const double t = times[i + l].count();
      all[l] += t;
      most[l] = most[l] < t ? t : most[l];
    }
  for (; i < times.size(); ++i) {
    all[0] += times[i].count();
    most[0] = std::max(most[0], times[i].count());
  }
  Sum sum;
  for (std::size_t l = 0; l < kLanes; ++l) {
    sum.all += Seconds{all[l]};
    sum.most = std::max(sum.most, Seconds{most[l]});
  }
  return sum;
}

}  // namespace

void RankTime::arrive(std::span<const Seconds> at, Seconds packing) {
  const Sum sum = sum_of(at);
  ranks_ = static_cast<std::int64_t>(at.size());
  came_ = sum.all;
  latest_ = sum.most;
  busy_ += came_ - left_ - packing * static_cast<double>(ranks_);
  ++steps_;
  if (may_leave_early_) arrived_.assign(at.begin(), at.end());
}

void RankTime::depart(std::span<const Seconds> at) {
  const Sum sum = sum_of(at);
  left_ = sum.all;
  last_ = sum.most;
  if (!may_leave_early_) {
    waiting_ += latest_ * static_cast<double>(ranks_) - came_;
    return;
  }
  COX_ASSERT(arrived_.size() == at.size(), "who leaves has come");
  for (std::size_t r = 0; r < at.size(); ++r)
    waiting_ += std::max(std::min(at[r], latest_) - arrived_[r], Seconds{});
}

GroupTime RankTime::mean(Seconds total) const {
  GroupTime mean{.name = "ranks", .ranks = ranks_};
  const auto each = static_cast<double>(ranks_ * steps_);
  if (each == 0) return mean;
  const Seconds behind = total * static_cast<double>(ranks_) - left_;
  const Seconds waiting = waiting_ + std::max(behind, Seconds{});
  mean.busy = std::max(busy_, Seconds{}) / each;
  mean.waiting = std::max(waiting, Seconds{}) / each;
  mean.exposed = std::max(total * static_cast<double>(ranks_) - busy_ - waiting, Seconds{}) / each;
  return mean;
}

}  // namespace cox::simulate
