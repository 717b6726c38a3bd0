// SPDX-License-Identifier: Apache-2.0
// A step on a network that others use at the same time, who drive it.
#include <algorithm>
#include <utility>

#include "cox/base/assert.hpp"

#include "simulate/training/account/accounts.hpp"
#include "simulate/training/step/later.hpp"
#include "simulate/training/step/step.hpp"

namespace cox::simulate::training {

void StepEngine::begin(std::int64_t step, Meeting meeting, std::span<const Seconds> now) {
  COX_ASSERT(shared_ != nullptr && now.size() == units_.size(), "a network, and one time per unit");
  step_ = step;
  meeting_ = meeting;
  programs_ = &plan_.code(meeting);
  draw(step, now, {});
  set_clock(now, {});
  ++played_;
  told_.clear();
  told_mail_.resize(mail_.size());
  keeps_ = true;
  reached_ = -kNotYet;
  shared_->open_step(step, clock_.origin);
  open_pass(clock_.after, nullptr);
  go_on();
}

void StepEngine::take(const SharedNetwork::Left& left) {
  reached_ = left.at;
  leave(left);
  go_on();
}

void StepEngine::come_due() {
  reached_ = due_.top().first;
  wake(due_.top().second);
  due_.pop();
  go_on();
}

bool StepEngine::is_over() const {
  for (std::size_t u = 0; u < units_.size(); ++u)
    if (units_[u].at < (*programs_)[static_cast<std::size_t>(stage_of(static_cast<int>(u)))].code.size())
      return false;
  return shared_->all_left();
}

Status StepEngine::end(std::span<Seconds> now, Watcher* watcher) {
  COX_ASSERT(!accounts_.empty(), "accounts are kept");
  std::vector<Seconds>& own = clock_.after;
  const std::vector<Seconds> begins = own;
  COX_CHECK(close_pass(own));
  const std::vector<Seconds> ends = std::exchange(own, begins);
  std::unique_ptr<SharedNetwork> kept = std::move(shared_);
  Accounts accounts(plan_, factors_, of_unit_, accounts_);
  Status told;
  if (watcher == nullptr) {
    told = tell_pass(own, accounts);
  } else {
    Later later(*watcher, clock_.origin);
    Both both(accounts, later);
    told = tell_pass(own, both);
  }
  shared_ = std::move(kept);
  COX_CHECK(told);
  own = ends;
  given_.clear();
  std::transform(own.begin(), own.end(), now.begin(), [&](Seconds t) { return clock_.origin + t; });
  clock_.told.assign(now.begin(), now.end());
  feed_back();
  return {};
}

}  // namespace cox::simulate::training
