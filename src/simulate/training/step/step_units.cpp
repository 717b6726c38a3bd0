// SPDX-License-Identifier: Apache-2.0
// Units go through their programs, each as far as it can.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "simulate/training/step/step.hpp"

namespace cox::simulate::training {

using Code = Instruction::Code;

/// From the units' begin to their end, with all that is known of what they wait for.
Status StepEngine::pass(std::span<Seconds> now, Watcher* watcher) {
  open_pass(now, watcher);
  const std::int64_t all = shared_ && progress_ ? departures() : 0;
  left_ = 0;
  for (;;) {
    go_on();
    const Seconds due = due_.empty() ? kNotYet : due_.top().first;
    const auto left = shared_ ? shared_->next(due) : std::nullopt;
    if (left) {
      reached_ = left->at;
      leave(*left);
      constexpr std::int64_t kBetween = 1024;  // departures between two reports
      if (all > 0 && ++left_ % kBetween == 0)
        progress_(static_cast<double>(left_) / static_cast<double>(all));
    } else if (!due_.empty()) {
      reached_ = due;
      wake(due_.top().second);
      due_.pop();
    } else {
      break;
    }
  }
  return close_pass(now);
}

void StepEngine::open_pass(std::span<Seconds> now, Watcher* watcher) {
  watcher_ = watcher;
  begin_step(now);
  ready_.clear();
  for (int u = static_cast<int>(units_.size()) - 1; u >= 0; --u) ready_.push_back(u);
}

/// Until all units stand still.
void StepEngine::go_on() {
  while (!ready_.empty()) {
    const int unit = ready_.back();
    ready_.pop_back();
    proceed(unit);
  }
}

Status StepEngine::close_pass(std::span<Seconds> now) {
  for (std::size_t u = 0; u < units_.size(); ++u) {
    const StageCode& program = (*programs_)[static_cast<std::size_t>(stage_of(static_cast<int>(u)))];
    if (units_[u].at < program.code.size()) return fail(stuck());
    now[u] = units_[u].now;
    messages_ += program.tensor_messages;
    if (watcher_ != nullptr) watcher_->end(static_cast<int>(u), now[u]);
  }
  return {};
}

/// Of all units from what they share in a step; both ends of messages.
std::int64_t StepEngine::departures() const {
  std::int64_t all = 0;
  for (const StageCode& stage : *programs_)
    all += static_cast<std::int64_t>(stage.data.size() + stage.exchanges.size() + stage.inner.size()) +
           2 * std::ranges::count(stage.code, Code::Send, &Instruction::code);
  return all * count_;
}

void StepEngine::proceed(int unit) {
  Unit& u = units_[static_cast<std::size_t>(unit)];
  const auto& code = (*programs_)[static_cast<std::size_t>(stage_of(unit))].code;
  u.parked = false;
  for (; u.at < code.size(); ++u.at) {
    ++evaluated_;
    if (!play(unit, code[u.at])) {
      u.parked = true;
      return;
    }
  }
}

void StepEngine::wake(int unit) {
  Unit& u = units_[static_cast<std::size_t>(unit)];
  if (!u.parked) return;
  u.parked = false;
  ready_.push_back(unit);
}

bool StepEngine::play(int unit, const Instruction& i) {
  switch (i.code) {
    case Code::Compute:
      return compute(unit, i);
    case Code::Receive:
      return receive(unit, i);
    case Code::Send:
      send(unit, i);
      return true;
    case Code::Issue:
      issue(unit, i);
      return true;
    case Code::Await:
      return await(unit, i);
    case Code::Inner:
      return inner(unit, i);
    case Code::Exchange:
      break;
  }
  return exchange(unit, i);
}

/// What is under way first on the unit's streams at `at` or after; null = nothing. `from`: of each stream, the slot
/// from which on it is looked for, which moves on.
const StepEngine::Interval* StepEngine::next_busy(int unit, Seconds at, std::size_t (&from)[2]) const {
  const Unit& u = units_[static_cast<std::size_t>(unit)];
  const Interval* first = nullptr;
  Seconds begin = kNotYet;
  for (const int stream : {0, 1}) {
    std::size_t& slot = from[stream];
    const auto passed = [&] {
      const bool copies = data_collective(stage_of(unit), static_cast<int>(slot)).of == ReplicaGroup::Copies;
      return copies != (stream == 1) || u.stream[slot].end <= at;
    };
    while (slot < u.stream.size() && passed()) ++slot;
    if (slot == u.stream.size()) continue;
    const Seconds of = may_begin(u, data_collective(stage_of(unit), static_cast<int>(slot)), u.stream[slot]);
    if (of >= begin) continue;
    begin = of;
    first = &u.stream[slot];
  }
  return first;
}

/// End of `work` that begins at `begin`, longer where one of the unit's streams is busy: for ever where it is not known
/// until when.
Seconds StepEngine::beside_streams(int unit, Seconds begin, Seconds work) const {
  const double slow = 1 + plan_.job().overlap_slowdown;
  Seconds at = begin;
  const Unit& u = units_[static_cast<std::size_t>(unit)];
  std::size_t from[2] = {u.busy, plan_.job().is_hybrid() ? u.busy : u.stream.size()};
  while (const Interval* busy = next_busy(unit, at, from)) {
    const Seconds free = std::max(busy->begin - at, Seconds{});
    if (work <= free) return at + work;
    work -= free;
    at += free;
    const Seconds room = busy->end - at;
    if (work * slow <= room) return at + work * slow;
    work = std::max(work - room / slow, Seconds{});
    at = busy->end;
  }
  return at + work;
}

/// Whether a computation beside the stream ends at `computed` whatever comes. On a network that is so when the
/// clock has got there; else when all ends of the stream are known.
bool StepEngine::knows_end(int unit, Seconds computed) {
  Unit& u = units_[static_cast<std::size_t>(unit)];
  if (u.open == 0) return true;
  if (!shared_) return false;
  if (computed <= reached_) return true;
  if (u.due != computed) {
    u.due = computed;
    due_.emplace(computed, unit);
  }
  return false;
}

bool StepEngine::compute(int unit, const Instruction& i) {
  Unit& u = units_[static_cast<std::size_t>(unit)];
  const Seconds work = i.work * u.factor;
  Seconds computed = u.now + work;
  if (plan_.job().overlap_slowdown > 0) {
    computed = beside_streams(unit, u.now, work);
    if (!knows_end(unit, computed)) return false;
  }
  const Instruction& as_it_was = i.slot > 0 ? with_dips(unit, i) : i;
  const Seconds end = computed + as_it_was.tensor + as_it_was.context;
  if (watcher_ != nullptr) watcher_->computed(unit, as_it_was, u.now, computed, end);
  u.now = end;
  while (u.busy < u.stream.size() && u.stream[u.busy].end <= u.now) ++u.busy;
  return true;
}

Error StepEngine::stuck() const {
  for (std::size_t u = 0; u < units_.size(); ++u) {
    const int stage = stage_of(static_cast<int>(u));
    const StageCode& program = (*programs_)[static_cast<std::size_t>(stage)];
    if (units_[u].at >= program.code.size()) continue;
    const Instruction& i = program.code[units_[u].at];
    const std::int64_t rank =
        (std::int64_t{first_} * plan_.stages() + static_cast<std::int64_t>(u)) * plan_.ranks_per_unit();
    const std::string what =
        i.code == Code::Receive    ? fmt::format("micro-batch {} from another stage", i.micro_batch)
        : i.code == Code::Exchange ? fmt::format("the other experts in exchange {}", i.slot)
                                   : fmt::format("the other replicas in collective {}", i.slot);
    return {
        .code = Errc::InvalidInput,
        .id = "simulate-004",
        .message = fmt::format("step {} cannot finish: rank {} (stage {}) waits for {}, which never comes",
                               step_, rank, stage, what),
        .hint = "the order of the stages waits for itself; use another pipeline schedule",
        .where = std::nullopt};
  }
  return {};
}

}  // namespace cox::simulate::training
