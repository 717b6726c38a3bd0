// SPDX-License-Identifier: Apache-2.0
#include "cox/sync/policy.hpp"

#include <algorithm>

#include "cox/base/assert.hpp"

namespace cox::sync {

using model::PolicyKind;

Policy::Policy(const model::PolicySpec& spec, int workers)
    : spec_(spec),
      workers_(workers),
      read_(static_cast<std::size_t>(workers)),
      steps_(static_cast<std::size_t>(workers)),
      begun_(static_cast<std::size_t>(workers), 1),
      at_(1, workers) {
  COX_ASSERT(workers > 0, "a policy without workers");
  spec_.staleness = std::max(spec_.staleness, 0);
  spec_.local_steps = std::max(spec_.local_steps, 1);
  spec_.backups = std::clamp(spec_.backups, 0, workers - 1);
}

bool Policy::communicates(std::int64_t step) const {
  return spec_.kind != PolicyKind::LocalSgd || (step + 1) % spec_.local_steps == 0;
}

std::int64_t Policy::clock(int worker) const {
  return begun_[static_cast<std::size_t>(worker)] - 1;
}

int Policy::quorum() const {
  return spec_.kind == PolicyKind::Backup ? workers_ - spec_.backups : workers_;
}

void Policy::begin_step(int worker, std::vector<int>& released) {
  const auto w = static_cast<std::size_t>(worker);
  read_[w] = version_;
  ++begun_[w];
  released.push_back(worker);
}

bool Policy::count_step(int worker) {
  const std::int64_t before = slowest_;
  const auto level = static_cast<std::size_t>(steps_[static_cast<std::size_t>(worker)]++ - slowest_);
  --at_[level];
  if (at_.size() == level + 1) at_.push_back(0);
  ++at_[level + 1];
  for (; at_.front() == 0; at_.pop_front()) ++slowest_;
  return slowest_ > before;
}

Ruling Policy::meet(int worker, std::vector<int>& released) {
  const auto w = static_cast<std::size_t>(worker);
  if (read_[w] < version_) {
    log_.push_back({worker, read_[w], version_, false});
    begin_step(worker, released);
    return Ruling::Discard;
  }
  waiting_.push_back(worker);
  if (static_cast<int>(waiting_.size()) < quorum()) return Ruling::Wait;
  std::sort(waiting_.begin(), waiting_.end());
  for (const int member : waiting_)
    log_.push_back({member, read_[static_cast<std::size_t>(member)], version_, true});
  ++version_;
  for (const int member : waiting_) begin_step(member, released);
  waiting_.clear();
  return Ruling::Go;
}

Ruling Policy::deliver(int worker, bool moved, std::vector<int>& released) {
  const auto w = static_cast<std::size_t>(worker);
  const bool too_old =
      spec_.kind == PolicyKind::BoundedDiscard && version_ - read_[w] > std::int64_t{spec_.staleness};
  log_.push_back({worker, read_[w], version_, !too_old});
  if (!too_old) ++version_;
  if (spec_.kind != PolicyKind::BoundedWait) {
    begin_step(worker, released);
    return too_old ? Ruling::Discard : Ruling::Go;
  }
  // Whoever waits is exactly one step too far ahead: none of them goes on, or,
  // once the slowest has moved, all.
  if (!moved && steps_[w] - slowest_ > spec_.staleness) {
    waiting_.push_back(worker);
    return Ruling::Wait;
  }
  if (moved) waiting_.swap(members_);
  members_.push_back(worker);
  std::sort(members_.begin(), members_.end());
  for (const int member : members_) begin_step(member, released);
  members_.clear();
  return Ruling::Go;
}

Ruling Policy::finished(int worker, std::vector<int>& released) {
  COX_ASSERT(worker >= 0 && worker < workers_, "a worker that the policy does not know");
  const auto w = static_cast<std::size_t>(worker);
  COX_ASSERT(begun_[w] == steps_[w] + 1, "a worker finished a step that it had not begun");
  released.clear();
  const std::int64_t step = steps_[w];
  const bool moved = count_step(worker);
  switch (spec_.kind) {
    case PolicyKind::Synchronous:
    case PolicyKind::Backup:
      return meet(worker, released);
    case PolicyKind::LocalSgd:
      if (communicates(step)) return meet(worker, released);
      begin_step(worker, released);
      return Ruling::Go;
    case PolicyKind::BoundedWait:
    case PolicyKind::BoundedDiscard:
    case PolicyKind::Asynchronous:
      break;
  }
  return deliver(worker, moved, released);
}

}  // namespace cox::sync
