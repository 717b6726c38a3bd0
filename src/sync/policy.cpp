// SPDX-License-Identifier: Apache-2.0
#include "cox/sync/policy.hpp"

#include <algorithm>

#include "cox/base/assert.hpp"

namespace cox::sync {

using model::PolicyKind;

Policy::Policy(const model::PolicySpec& spec, int workers)
    : spec_(spec), members_(workers), workers_(static_cast<std::size_t>(workers)), at_(1, workers) {
  COX_ASSERT(workers > 0, "a policy without workers");
  spec_.staleness = std::max(spec_.staleness, 0);
  spec_.local_steps = std::max(spec_.local_steps, 1);
}

bool Policy::communicates(std::int64_t step) const {
  return spec_.kind != PolicyKind::LocalSgd || (step + 1) % spec_.local_steps == 0;
}

std::int64_t Policy::clock(int worker) const {
  return workers_[static_cast<std::size_t>(worker)].begun - 1;
}

int Policy::quorum() const {
  return spec_.kind == PolicyKind::Backup ? members_ - std::clamp(spec_.backups, 0, std::max(members_ - 1, 0))
                                          : members_;
}

void Policy::start_call(std::vector<int>& released) {
  released.clear();
  events_.clear();
}

void Policy::begin_step(int worker, std::vector<int>& released) {
  Worker& w = workers_[static_cast<std::size_t>(worker)];
  if (w.local == 0) {
    w.read = version_;
    note(StreamEvent::Kind::Read, {.worker = worker, .version_read = version_});
  }
  ++w.begun;
  released.push_back(worker);
}

bool Policy::drop_empty_levels() {
  const std::int64_t before = slowest_;
  for (; members_ > 0 && at_.front() == 0; at_.pop_front()) ++slowest_;
  return slowest_ > before;
}

bool Policy::count_step(Worker& worker) {
  const auto level = static_cast<std::size_t>(worker.steps++ - slowest_);
  --at_[level];
  if (at_.size() == level + 1) at_.push_back(0);
  ++at_[level + 1];
  return drop_empty_levels();
}

void Policy::hold_meeting(std::vector<int>& released) {
  std::sort(waiting_.begin(), waiting_.end());
  for (const int member : waiting_) {
    Worker& w = workers_[static_cast<std::size_t>(member)];
    note(StreamEvent::Kind::Delivered,
         {.worker = member, .version_read = w.read, .version_applied = version_, .steps = w.local});
    w.local = 0;
  }
  ++version_;
  note(StreamEvent::Kind::Advanced, {.worker = waiting_.back(), .version_applied = version_});
  for (const int member : waiting_) begin_step(member, released);
  waiting_.clear();
}

Ruling Policy::meet(int worker, std::vector<int>& released) {
  Worker& w = workers_[static_cast<std::size_t>(worker)];
  if (w.read < version_) {
    note(StreamEvent::Kind::Delivered, {.worker = worker,
                                        .version_read = w.read,
                                        .version_applied = version_,
                                        .applied = false,
                                        .steps = w.local});
    w.local = 0;
    begin_step(worker, released);
    return Ruling::Discard;
  }
  waiting_.push_back(worker);
  if (static_cast<int>(waiting_.size()) < quorum()) return Ruling::Wait;
  hold_meeting(released);
  return Ruling::Go;
}

void Policy::release_within_bound(std::vector<int>& released) {
  const auto may_go = [&](int worker) {
    return workers_[static_cast<std::size_t>(worker)].steps - slowest_ <= spec_.staleness;
  };
  const auto rest = std::stable_partition(waiting_.begin(), waiting_.end(), may_go);
  std::sort(waiting_.begin(), rest);
  for (auto member = waiting_.begin(); member != rest; ++member) begin_step(*member, released);
  waiting_.erase(waiting_.begin(), rest);
}

Ruling Policy::apply(int worker, bool moved, std::vector<int>& released) {
  Worker& w = workers_[static_cast<std::size_t>(worker)];
  const bool too_old =
      spec_.kind == PolicyKind::BoundedDiscard && version_ - w.read > std::int64_t{spec_.staleness};
  note(StreamEvent::Kind::Delivered,
       {.worker = worker, .version_read = w.read, .version_applied = version_, .applied = !too_old});
  w.local = 0;
  if (!too_old) {
    ++version_;
    note(StreamEvent::Kind::Advanced, {.worker = worker, .version_applied = version_});
  }
  if (spec_.kind != PolicyKind::BoundedWait) {
    begin_step(worker, released);
    return too_old ? Ruling::Discard : Ruling::Go;
  }
  // Those who wait are too far ahead until the slowest has moved.
  const bool may_go = w.steps - slowest_ <= spec_.staleness;
  if (!moved && may_go) {
    begin_step(worker, released);
    return Ruling::Go;
  }
  waiting_.push_back(worker);
  if (moved) release_within_bound(released);
  return may_go ? Ruling::Go : Ruling::Wait;
}

Ruling Policy::delivered(int worker, std::vector<int>& released) {
  COX_ASSERT(worker >= 0 && worker < static_cast<int>(workers_.size()),
             "a worker that the policy does not know");
  Worker& w = workers_[static_cast<std::size_t>(worker)];
  COX_ASSERT(w.here && w.begun == w.steps + 1, "a worker finished a step that it had not begun");
  start_call(released);
  ++w.local;
  const bool moved = count_step(w);
  switch (spec_.kind) {
    case PolicyKind::Synchronous:
    case PolicyKind::Backup:
      return meet(worker, released);
    case PolicyKind::LocalSgd:
      if (w.local >= spec_.local_steps) return meet(worker, released);
      begin_step(worker, released);
      return Ruling::Go;
    case PolicyKind::BoundedWait:
    case PolicyKind::BoundedDiscard:
    case PolicyKind::Asynchronous:
      break;
  }
  return apply(worker, moved, released);
}

void Policy::set_staleness(int bound, std::vector<int>& released) {
  start_call(released);
  spec_.staleness = std::max(bound, 0);
  if (spec_.kind == PolicyKind::BoundedWait) release_within_bound(released);
}

void Policy::left(std::span<const int> workers, std::vector<int>& released) {
  start_call(released);
  for (const int worker : workers) {
    Worker& w = workers_[static_cast<std::size_t>(worker)];
    COX_ASSERT(w.here, "a worker left twice");
    w.here = false;
    --members_;
    note(StreamEvent::Kind::Left, {.worker = worker});
    --at_[static_cast<std::size_t>(w.steps - slowest_)];
    std::erase(waiting_, worker);
  }
  if (members_ == 0) return;
  drop_empty_levels();
  if (spec_.kind == PolicyKind::BoundedWait)
    release_within_bound(released);
  else if (!waiting_.empty() && static_cast<int>(waiting_.size()) >= quorum())
    hold_meeting(released);
}

int Policy::joined(std::vector<int>& released) {
  start_call(released);
  const int worker = static_cast<int>(workers_.size());
  workers_.push_back({.read = version_, .steps = slowest_, .begun = slowest_});
  ++members_;
  ++at_.front();
  note(StreamEvent::Kind::Joined, {.worker = worker});
  begin_step(worker, released);
  return worker;
}

}  // namespace cox::sync
