// SPDX-License-Identifier: Apache-2.0
// Messages between the stages of a replica.
#include <algorithm>

#include "simulate/training/step/step.hpp"

namespace cox::simulate::training {

void StepEngine::send(int unit, const Instruction& i) {
  Unit& u = units_[static_cast<std::size_t>(unit)];
  const int to = unit - stage_of(unit) + i.stage;
  const int first = first_ * plan_.stages();
  const model::MessageCost& cost = plan_.between(first + unit, first + to);
  const std::size_t box = static_cast<std::size_t>(to) * static_cast<std::size_t>(plan_.mailboxes()) +
                          static_cast<std::size_t>(i.slot);
  Mail& mail = mail_[box];
  const SharedNetwork::Key key{.kind = SharedNetwork::Kind::Message, .stage = to, .slot = i.slot};
  if (shared_) return shared_->send(key, unit, i.bytes, u.now);
  if (is_told()) {
    mail = {.leaves = u.now, .arrives = told_mail_[box]};
  } else {
    const Seconds late = delay(first + unit, first + to, i.slot, cost, i.bytes);
    if (plan_.scenario().protocol == model::Protocol::LogGops) {
      mail = by_processors(u, units_[static_cast<std::size_t>(to)], i,
                           plan_.said_between(first + unit, first + to), late);
    } else {
      const Seconds leaves = std::max(u.now, u.mail_free);
      mail = {.leaves = leaves, .arrives = leaves + cost(i.bytes) + late};
      u.mail_free = mail.arrives;  // as on a network: the next one begins when this one is over
    }
  }
  messages_ += plan_.ranks_per_unit();
  if (watcher_ != nullptr) watcher_->sent(unit, to, i, u.now, mail.leaves, mail.arrives);
  wake(to);
}

/// As the event engine does it, with a thread at one end that sends to all stages and one at the other that receives what
/// comes in this direction, which is all from one stage and in its order. A message longer than S is over for its sender
/// when it is taken.
StepEngine::Mail StepEngine::by_processors(Unit& from, Unit& to, const Instruction& i,
                                           const model::MessageCost& cost, Seconds late) {
  Receiver& in = to.receivers[plan_.is_forward(i.slot) ? 0 : 1];
  const Seconds port = cost.occupied(i.bytes);
  const Seconds copied = cost.copied(i.bytes);
  const Seconds leaves = std::max(from.now, from.mail_free);
  const Seconds taken = std::max({leaves + cost.overhead + cost.latency + late, in.processor, in.port});
  in.port = taken + cost.gap + port;
  in.processor = taken + cost.overhead + std::max(copied, port);
  from.mail_free = leaves + std::max(cost.overhead + copied, cost.gap + port);
  if (i.bytes > cost.eager_limit) from.mail_free = std::max(from.mail_free, taken);
  return {.leaves = leaves, .arrives = in.processor};
}

/// How much later than undisturbed a message between units arrives: the latest of their ranks'.
Seconds StepEngine::delay(int from_unit, int to_unit, int slot, const model::MessageCost& cost,
                          Bytes bytes) const {
  if (!draws_messages() && !timeouts_.happen()) return {};
  Seconds latest = -kNotYet;
  const int ranks = plan_.ranks_per_unit();
  for (int g = 0; g < ranks; ++g) {
    Seconds took = cost(bytes);
    const std::int64_t number = plan_.message_number(slot) + std::int64_t{2} * g;
    if (draws_messages())
      noise_->messages(step_, number, 0, to_unit * ranks + g, {&took, 1}, {&cost.latency, 1});
    latest = std::max(latest, took + late(from_unit * ranks + g, to_unit * ranks + g, number));
  }
  return std::max(latest - cost(bytes), -cost(bytes));
}

bool StepEngine::receive(int unit, const Instruction& i) {
  Unit& u = units_[static_cast<std::size_t>(unit)];
  const Mail& mail = mail_[static_cast<std::size_t>(unit) * static_cast<std::size_t>(plan_.mailboxes()) +
                           static_cast<std::size_t>(i.slot)];
  if (mail.arrives == kNotYet) return false;
  if (watcher_ != nullptr) watcher_->received(unit, i, u.now, mail.leaves, mail.arrives);
  u.now = std::max(u.now, mail.arrives);
  return true;
}

}  // namespace cox::simulate::training
