// SPDX-License-Identifier: Apache-2.0
// Where units meet: data collectives on their streams, exchanges of experts, groups within a unit.
#include <algorithm>
#include <utility>

#include "simulate/training/step/step.hpp"

namespace cox::simulate::training {

void StepEngine::issue(int unit, const Instruction& i) {
  Unit& u = units_[static_cast<std::size_t>(unit)];
  if (shared_) {
    u.stream.push_back({.begin = u.now, .complete = {}});
    return join_stream(unit);
  }
  const int stage = stage_of(unit);
  Instance& instance = data_[static_cast<std::size_t>(stage)][static_cast<std::size_t>(i.slot)];
  if (instance.times.empty()) instance.times.resize(static_cast<std::size_t>(count_));
  instance.times[static_cast<std::size_t>(unit / plan_.stages())] = u.now;
  u.stream.push_back({});  // slots are numbered in the order in which they are issued
  if (watcher_ != nullptr) watcher_->issued(unit, i, u.now);
  if (++instance.arrived == count_) complete_data(stage, i.slot);
}

/// The next collective of the unit's stream begins, if it was issued and the one before it is over.
void StepEngine::join_stream(int unit) {
  Unit& u = units_[static_cast<std::size_t>(unit)];
  const std::size_t slot = u.joined;
  if (slot >= u.stream.size() || (slot > 0 && u.stream[slot - 1].end == kNotYet)) return;
  ++u.joined;
  Interval& at = u.stream[slot];
  at.begin = std::max(at.begin, u.stream_free);
  const int stage = stage_of(unit);
  const DataCollective& c = (*programs_)[static_cast<std::size_t>(stage)].data[slot];
  shared_->join({.kind = SharedNetwork::Kind::Data, .stage = stage, .slot = static_cast<int>(slot)},
                known(c.kind, shared_bytes(c.bytes), plan_.data_group().members).schedule,
                unit / plan_.stages(), at.begin + c.encode);
}

/// Of a data collective on the network: in equal chunks, where only these repeat and it changes next to nothing.
Bytes StepEngine::shared_bytes(Bytes bytes) const {
  const bool draws = noise_ != nullptr && (noise_->disturbs_messages() || noise_->disturbs_bandwidth());
  return shortcuts_.memo && !draws ? plan_.in_equal_chunks(bytes) : bytes;
}

/// A unit leaves something that it shared.
void StepEngine::leave(const SharedNetwork::Left& left) {
  using Kind = SharedNetwork::Kind;
  const SharedNetwork::Key& key = left.key;
  const bool data = key.kind == Kind::Data;
  const int members = data                        ? plan_.layout().data
                      : key.kind == Kind::Message ? 2
                      : key.kind == Kind::Inner   ? 1
                                                  : plan_.layout().expert;
  if (keeps_) {
    std::vector<Seconds>& all = told_[key];
    all.resize(static_cast<std::size_t>(members));
    all[static_cast<std::size_t>(left.member)] = left.at;
  }
  if (key.kind == Kind::Message) {
    if (left.member == 0) return;
    mail_[static_cast<std::size_t>(key.stage) * static_cast<std::size_t>(plan_.mailboxes()) +
          static_cast<std::size_t>(key.slot)] = {.leaves = {}, .arrives = left.at};
    return wake(key.stage);
  }
  if (key.kind == Kind::Inner) {
    Unit& u = units_[static_cast<std::size_t>(key.stage)];
    u.now = left.at;
    u.exchange = Exchange::Done;
    return wake(key.stage);
  }
  const int replica = data ? left.member : key.group * members + left.member;
  const int unit = replica * plan_.stages() + key.stage;
  Unit& u = units_[static_cast<std::size_t>(unit)];
  if (data) {
    const DataCollective& c =
        (*programs_)[static_cast<std::size_t>(key.stage)].data[static_cast<std::size_t>(key.slot)];
    u.stream_free = u.stream[static_cast<std::size_t>(key.slot)].end = left.at + c.decode;
    join_stream(unit);
  } else {
    u.now = left.at;
    u.exchange = Exchange::Done;
  }
  wake(unit);
}

const std::vector<Seconds>& StepEngine::told(const SharedNetwork::Key& key) const {
  return told_.at(key);
}

/// The collectives of a stream begin in order, so that this one's predecessors are complete, too.
void StepEngine::complete_data(int stage, int slot) {
  Instance instance = std::move(data_[static_cast<std::size_t>(stage)][static_cast<std::size_t>(slot)]);
  const DataCollective& c =
      (*programs_)[static_cast<std::size_t>(stage)].data[static_cast<std::size_t>(slot)];
  members_.clear();
  for (int d = 0; d < count_; ++d) {
    const int unit = d * plan_.stages() + stage;
    members_.push_back(unit);
    Seconds& time = instance.times[static_cast<std::size_t>(d)];
    time = std::max(time, units_[static_cast<std::size_t>(unit)].stream_free) + c.encode;
  }
  arrivals_ = instance.times;
  collect({.kind = c.kind,
           .bytes = c.bytes,
           .stage = stage,
           .slot = slot,
           .members = members_,
           .arrivals = arrivals_,
           .departures = {}},
          plan_.data_group(), plan_.layout().context, instance.times);
  const Seconds complete = *std::max_element(arrivals_.begin(), arrivals_.end());
  for (std::size_t d = 0; d < members_.size(); ++d) {
    Unit& u = units_[static_cast<std::size_t>(members_[d])];
    u.stream_free = instance.times[d] + c.decode;
    u.stream[static_cast<std::size_t>(slot)] = {
        .begin = arrivals_[d] - c.encode, .complete = complete, .end = u.stream_free};
    wake(members_[d]);
  }
}

bool StepEngine::await(int unit, const Instruction& i) {
  Unit& u = units_[static_cast<std::size_t>(unit)];
  const Interval& busy = u.stream[static_cast<std::size_t>(i.slot)];
  if (busy.end == kNotYet) return false;
  const Seconds longer = longer_wait(unit);
  const Seconds end = std::max(u.now, busy.end) + longer;
  u.exposed += end - u.now;
  if (watcher_ != nullptr) {
    Seconds alone{};
    for (std::size_t slot = u.busy; slot <= static_cast<std::size_t>(i.slot); ++slot) {
      const Interval& at = u.stream[slot];
      alone += std::max(std::min(at.complete, at.end) - std::max(at.begin, u.now), Seconds{});
    }
    watcher_->awaited(unit, i, u.now, alone, longer > Seconds{} ? end : busy.end);
  }
  u.now = end;
  return true;
}

bool StepEngine::exchange(int unit, const Instruction& i) {
  Unit& u = units_[static_cast<std::size_t>(unit)];
  if (u.exchange == Exchange::Done) {
    u.exchange = Exchange::None;
    return true;
  }
  if (u.exchange == Exchange::Waiting) return false;
  u.exchange = Exchange::Waiting;
  const int experts = plan_.layout().expert;
  const int replica = unit / plan_.stages();
  const int group = replica / experts;
  if (shared_) {
    const Bytes bytes =
        (*programs_)[static_cast<std::size_t>(stage_of(unit))].exchanges[static_cast<std::size_t>(i.slot)];
    shared_->join(
        {.kind = SharedNetwork::Kind::Exchange, .stage = stage_of(unit), .group = group, .slot = i.slot},
        known(model::Collective::AllToAll, bytes, experts).schedule, replica % experts, u.now);
    return false;
  }
  const int key = stage_of(unit) + group * plan_.stages();
  Instance& instance = exchanges_[{key, i.slot}];
  if (instance.times.empty()) instance.times.resize(static_cast<std::size_t>(experts));
  instance.times[static_cast<std::size_t>(replica % experts)] = u.now;
  if (++instance.arrived < experts) return false;
  complete_exchange(stage_of(unit), group, i.slot);
  u.exchange = Exchange::None;
  return true;
}

void StepEngine::complete_exchange(int stage, int group, int slot) {
  const auto at = exchanges_.find({stage + group * plan_.stages(), slot});
  std::vector<Seconds> times = std::move(at->second.times);
  exchanges_.erase(at);
  members_.clear();
  for (std::size_t e = 0; e < times.size(); ++e)
    members_.push_back((group * plan_.layout().expert + static_cast<int>(e)) * plan_.stages() + stage);
  arrivals_ = times;
  collect({.exchange = true,
           .kind = model::Collective::AllToAll,
           .bytes = (*programs_)[static_cast<std::size_t>(stage)].exchanges[static_cast<std::size_t>(slot)],
           .stage = stage,
           .group = group,
           .slot = slot,
           .members = members_,
           .arrivals = arrivals_,
           .departures = {}},
          plan_.expert_group(), 1, times);
  for (std::size_t e = 0; e < times.size(); ++e) {
    Unit& u = units_[static_cast<std::size_t>(members_[e])];
    u.now = times[e];
    u.exchange = Exchange::Done;
    wake(members_[e]);
  }
}

/// All ranks of the unit come at once, and go on when all of them have left.
bool StepEngine::inner(int unit, const Instruction& i) {
  Unit& u = units_[static_cast<std::size_t>(unit)];
  const SharedNetwork::Key key{.kind = SharedNetwork::Kind::Inner, .stage = unit, .slot = i.slot};
  const InnerCollective& what =
      (*programs_)[static_cast<std::size_t>(stage_of(unit))].inner[static_cast<std::size_t>(i.slot)];
  if (is_told()) {
    const Seconds end = told(key).front();
    Instruction as_it_was = i;
    const bool tensor = what.kind == model::Collective::AllReduce;
    (tensor ? as_it_was.tensor : as_it_was.context) = end - u.now;
    (tensor ? as_it_was.bytes : as_it_was.context_bytes) = what.bytes;
    watcher_->computed(unit, as_it_was, u.now, u.now, end);
    u.now = end;
    return true;
  }
  if (u.exchange == Exchange::Waiting) return false;
  const bool done = u.exchange == Exchange::Done;
  u.exchange = done ? Exchange::None : Exchange::Waiting;
  if (done) return true;
  shared_->meet(key, what, u.now);
  return false;
}

}  // namespace cox::simulate::training
