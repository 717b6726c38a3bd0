// SPDX-License-Identifier: Apache-2.0
// Where units meet: data collectives on their streams, exchanges of experts, groups within a unit.
#include <algorithm>
#include <utility>

#include "simulate/training/step/step.hpp"

namespace cox::simulate::training {

void StepEngine::issue(int unit, const Instruction& i) {
  Unit& u = units_[static_cast<std::size_t>(unit)];
  u.stream.push_back(
      {.begin = u.now, .complete = {}});  // slots are numbered in the order in which they are issued
  ++u.open;
  if (watcher_ != nullptr) watcher_->issued(unit, i, u.now);
  join_stream(unit, i.slot);
}

/// When a collective that was issued may begin: not before the one before it on its stream is over, nor before the one
/// whose result it takes. Not yet known: for ever.
Seconds StepEngine::may_begin(const Unit& u, const DataCollective& c, const Interval& at) const {
  Seconds begin = at.begin;
  for (const int before : {c.after, c.needs})
    if (before >= 0) begin = std::max(begin, u.stream[static_cast<std::size_t>(before)].end);
  return begin;
}

/// The unit's collective begins, if it was issued and may. Groups count from those of the engine's first replica.
void StepEngine::join_stream(int unit, int slot) {
  Unit& u = units_[static_cast<std::size_t>(unit)];
  if (static_cast<std::size_t>(slot) >= u.stream.size()) return;
  Interval& at = u.stream[static_cast<std::size_t>(slot)];
  const int stage = stage_of(unit);
  const DataCollective& c = data_collective(stage, slot);
  const Seconds begin = may_begin(u, c, at);
  if (at.joined || begin == kNotYet) return;
  at.joined = true;
  at.begin = begin;
  const int replica = unit / plan_.stages();
  const int group = plan_.groups().group_of(c.of, replica);
  const int member = plan_.groups().member_of(c.of, replica);
  if (shared_)
    return shared_->join(
        {.kind = SharedNetwork::Kind::Data, .of = c.of, .stage = stage, .group = group, .slot = slot},
        known(c.kind, shared_bytes(c.bytes, c.of), c.of).schedule, member, begin + c.encode);
  const int size = plan_.groups().size(c.of);
  Instance& all = instance(stage, group, slot);
  all.times.resize(static_cast<std::size_t>(size));
  all.times[static_cast<std::size_t>(member)] = begin;
  if (++all.arrived == size) complete_data(stage, group, slot);
}

/// It is over for the unit, and what waited for it may begin.
void StepEngine::leave_stream(int unit, int slot, const Interval& was) {
  Unit& u = units_[static_cast<std::size_t>(unit)];
  u.stream[static_cast<std::size_t>(slot)] = was;
  --u.open;
  const DataCollective& c = data_collective(stage_of(unit), slot);
  for (const int then : {c.next, c.feeds})
    if (then >= 0) join_stream(unit, then);
  wake(unit);
}

/// Of a data collective on the network: in equal chunks, where only these repeat and it changes next to nothing.
Bytes StepEngine::shared_bytes(Bytes bytes, ReplicaGroup of) const {
  const bool draws = noise_ != nullptr && (noise_->disturbs_messages() || noise_->disturbs_bandwidth());
  return shortcuts_.memo && !draws ? plan_.in_equal_chunks(bytes, of) : bytes;
}

/// A unit leaves something that it shared.
void StepEngine::leave(const SharedNetwork::Left& left) {
  using Kind = SharedNetwork::Kind;
  const SharedNetwork::Key& key = left.key;
  const int members = key.kind == Kind::Inner ? 1 : plan_.groups().size(key.of);
  if (key.kind == Kind::Message) {
    if (left.member == 0) return;
    const std::size_t box =
        static_cast<std::size_t>(key.stage) * static_cast<std::size_t>(plan_.mailboxes()) +
        static_cast<std::size_t>(key.slot);
    mail_[box] = {.leaves = {}, .arrives = left.at};
    if (keeps_) told_mail_[box] = left.at;
    return wake(key.stage);
  }
  if (keeps_) {
    std::vector<Seconds>& all = told_[key];
    all.resize(static_cast<std::size_t>(members));
    all[static_cast<std::size_t>(left.member)] = left.at;
  }
  if (key.kind == Kind::Inner) {
    Unit& u = units_[static_cast<std::size_t>(key.stage)];
    u.now = left.at;
    u.exchange = Exchange::Done;
    return wake(key.stage);
  }
  const int unit = plan_.groups().replica_of(key.of, key.group, left.member) * plan_.stages() + key.stage;
  Unit& u = units_[static_cast<std::size_t>(unit)];
  if (key.kind == Kind::Data) {
    Interval was = u.stream[static_cast<std::size_t>(key.slot)];
    was.end = left.at + data_collective(key.stage, key.slot).decode;
    return leave_stream(unit, key.slot, was);
  }
  u.now = left.at;
  u.exchange = Exchange::Done;
  wake(unit);
}

const std::vector<Seconds>& StepEngine::told(const SharedNetwork::Key& key) const {
  return told_.at(key);
}

void StepEngine::complete_data(int stage, int group, int slot) {
  Instance all = std::move(instance(stage, group, slot));
  const DataCollective& c = data_collective(stage, slot);
  std::vector<int> members;
  for (std::size_t m = 0; m < all.times.size(); ++m) {
    members.push_back(plan_.groups().replica_of(c.of, group, static_cast<int>(m)) * plan_.stages() + stage);
    all.times[m] += c.encode;
  }
  const std::vector<Seconds> arrivals = all.times;
  collect({.of = c.of,
           .kind = c.kind,
           .bytes = c.bytes,
           .stage = stage,
           .group = group + plan_.groups().group_of(c.of, first_),
           .slot = slot,
           .members = members,
           .arrivals = arrivals,
           .departures = {}},
          all.times);
  const Seconds complete = *std::max_element(arrivals.begin(), arrivals.end());
  for (std::size_t m = 0; m < members.size(); ++m)
    leave_stream(members[m], slot,
                 {.begin = arrivals[m] - c.encode,
                  .complete = complete,
                  .end = all.times[m] + c.decode,
                  .joined = true});
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
    const auto copies = [&](std::size_t slot) {
      return data_collective(stage_of(unit), static_cast<int>(slot)).of == ReplicaGroup::Copies;
    };
    for (std::size_t slot = u.busy; slot <= static_cast<std::size_t>(i.slot); ++slot) {
      const Interval& at = u.stream[slot];
      if (copies(slot) != copies(static_cast<std::size_t>(i.slot))) continue;
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
  const int experts = plan_.groups().size(ReplicaGroup::Experts);
  const int replica = unit / plan_.stages();
  const int group = replica / experts;
  if (shared_) {
    const Bytes bytes =
        (*programs_)[static_cast<std::size_t>(stage_of(unit))].exchanges[static_cast<std::size_t>(i.slot)];
    shared_->join({.kind = SharedNetwork::Kind::Exchange,
                   .of = ReplicaGroup::Experts,
                   .stage = stage_of(unit),
                   .group = group,
                   .slot = i.slot},
                  known(model::Collective::AllToAll, bytes, ReplicaGroup::Experts).schedule,
                  replica % experts, u.now);
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
  collect({.of = ReplicaGroup::Experts,
           .kind = model::Collective::AllToAll,
           .bytes = (*programs_)[static_cast<std::size_t>(stage)].exchanges[static_cast<std::size_t>(slot)],
           .stage = stage,
           .group = group + plan_.groups().group_of(ReplicaGroup::Experts, first_),
           .slot = slot,
           .members = members_,
           .arrivals = arrivals_,
           .departures = {}},
          times);
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
