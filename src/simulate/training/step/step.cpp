// SPDX-License-Identifier: Apache-2.0
#include "simulate/training/step/step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cox/base/assert.hpp"

#include "simulate/training/account/accounts.hpp"
#include "simulate/training/step/later.hpp"

namespace cox::simulate::training {

using Code = Instruction::Code;

namespace {

void add(std::vector<StepParts>& to, const std::vector<StepParts>& more) {
  for (std::size_t s = 0; s < to.size(); ++s)
    for (std::size_t p = 0; p < kStepParts; ++p) to[s][p] += more[s][p];
}

}  // namespace

StepEngine::StepEngine(const Plan& plan, const Noise* noise, std::uint64_t seed, int first, int count,
                       StepShortcuts shortcuts)
    : plan_(plan),
      noise_(noise),
      seed_(seed),
      timeouts_(plan.scenario().fabric.timeouts, seed),
      first_(first),
      count_(count),
      shortcuts_(shortcuts) {
  COX_ASSERT(plan.network() == nullptr || (first == 0 && count == plan.layout().data),
             "replicas that share a network are simulated together");
  const auto units = static_cast<std::size_t>(count) * static_cast<std::size_t>(plan.stages());
  units_.resize(units);
  factors_.assign(units * static_cast<std::size_t>(plan.ranks_per_unit()), 1);
  mail_.resize(units * static_cast<std::size_t>(plan.mailboxes()));
  data_.resize(static_cast<std::size_t>(plan.stages()));
  if (plan.job().input.takes_time()) input_.emplace(plan, first, count);
}

/// One draw per rank and step, over all that it computes in the step; each piece is longer by the same ratio.
void StepEngine::draw(std::int64_t step, std::span<const Seconds> now, std::span<const Seconds> holds) {
  const std::vector<double>& slow = plan_.slowness();
  const bool noisy = noise_ != nullptr && noise_->disturbs_compute();
  if (!noisy && slow.empty()) return;
  const auto per_unit = static_cast<std::size_t>(plan_.ranks_per_unit());
  base_.resize(factors_.size());
  disturbed_.resize(factors_.size());
  starts_.resize(factors_.size());
  for (std::size_t r = 0; r < factors_.size(); ++r) {
    base_[r] = (*programs_)[static_cast<std::size_t>(stage_of(static_cast<int>(r / per_unit)))].work;
    starts_[r] = now[r / per_unit];
    if (!holds.empty()) starts_[r] += holds[r / per_unit];
  }
  const int first_rank = first_ * plan_.stages() * plan_.ranks_per_unit();
  const auto slowness = [&](std::size_t r) {
    return slow.empty() ? 1.0 : slow[static_cast<std::size_t>(first_rank) + r];
  };
  for (std::size_t r = 0; r < factors_.size(); ++r) base_[r] *= slowness(r);
  disturbed_ = base_;
  if (noisy) noise_->compute(step, first_rank, base_, disturbed_, starts_, &memory_);
  for (std::size_t r = 0; r < factors_.size(); ++r)
    factors_[r] = (base_[r].count() > 0 ? std::max(disturbed_[r] / base_[r], 0.0) : 1.0) * slowness(r);
  for (std::size_t u = 0; u < units_.size(); ++u)
    units_[u].factor = *std::max_element(factors_.begin() + static_cast<std::ptrdiff_t>(u * per_unit),
                                         factors_.begin() + static_cast<std::ptrdiff_t>((u + 1) * per_unit));
}

void StepEngine::begin_step(std::span<Seconds> now) {
  std::fill(mail_.begin(), mail_.end(), Mail{});
  const std::span<const Seconds> fed = input_ ? input_->begins(now) : now;
  for (std::size_t u = 0; u < units_.size(); ++u) {
    Unit& unit = units_[u];
    unit.at = 0;
    unit.now = unit.stream_free = unit.mail_free = fed[u];
    unit.stream.clear();
    unit.joined = 0;
    unit.busy = 0;
    unit.due = kNotYet;
    unit.parked = false;
    unit.exchange = Exchange::None;
    unit.exposed = {};
    if (watcher_ == nullptr) continue;
    watcher_->begin(static_cast<int>(u), now[u]);
    if (fed[u] > now[u]) watcher_->fed(static_cast<int>(u), now[u], fed[u]);
  }
  for (std::size_t s = 0; s < data_.size(); ++s) data_[s].assign((*programs_)[s].data.size(), Instance{});
  exchanges_.clear();
  due_ = {};
}

Status StepEngine::run(std::int64_t step, Meeting meeting, std::span<Seconds> now, Watcher* watcher,
                       std::span<const Seconds> holds) {
  COX_ASSERT(now.size() == units_.size(), "one time per unit");
  COX_ASSERT(meeting == Meeting::None || count_ == plan_.layout().data,
             "replicas that meet are simulated together");
  step_ = step;
  meeting_ = meeting;
  programs_ = &plan_.code(meeting);
  draw(step, now, holds);
  const bool goes_on = std::equal(now.begin(), now.end(), clock_.told.begin(), clock_.told.end());
  std::vector<Seconds>& own = clock_.after;
  if (!goes_on) {
    own.assign(now.begin(), now.end());
    clock_.origin = {};
    if (input_) input_->reset();
  }
  for (std::size_t u = 0; u < holds.size(); ++u) own[u] += holds[u];
  const Seconds first = *std::min_element(own.begin(), own.end());
  for (Seconds& t : own) t -= first;
  clock_.origin += first;
  if (input_) input_->set_back(first);
  if (watcher == nullptr) {
    COX_CHECK(run_on_own_clock(own, nullptr));
  } else {
    Later later(*watcher, clock_.origin);
    COX_CHECK(run_on_own_clock(own, &later));
  }
  if (input_) input_->next_step();
  std::transform(own.begin(), own.end(), now.begin(), [&](Seconds t) { return clock_.origin + t; });
  clock_.told.assign(now.begin(), now.end());
  feed_back();
  return {};
}

/// Plays the step, unless it is one that is known.
Status StepEngine::run_on_own_clock(std::span<Seconds> now, Watcher* watcher) {
  const bool draws = draws_messages() || plan_.dips() || timeouts_.happen();
  const bool beside_others = !plan_.scenario().neighbours.empty();
  if (draws || watcher != nullptr || !shortcuts_.memo || beside_others) return play_accounted(now, watcher);
  const KnownStep* known = known_steps_.find([&](const KnownStep& k) {
    return k.meeting == meeting_ && k.first == first_ && k.times.stand_for(now) && k.factors == factors_ &&
           k.longer == longer_ && (!input_ || k.input_from == input_->made_from());
  });
  if (known != nullptr) {
    std::copy(known->times.ends.begin(), known->times.ends.end(), now.begin());
    messages_ += known->messages;
    for (std::size_t u = 0; u < known->exposed.size(); ++u) units_[u].exposed = known->exposed[u];
    for (std::size_t l = 0; l < known->link_bytes.size(); ++l) link_bytes_[l] += known->link_bytes[l];
    add(accounts_, known->accounts);
    if (input_) static_cast<void>(input_->begins(known->times.begins));
    return {};
  }
  KnownStep fresh{.meeting = meeting_,
                  .first = first_,
                  .factors = factors_,
                  .longer = longer_,
                  .exposed = {},
                  .times = {.begins = {now.begin(), now.end()}, .ends = {}},
                  .messages = messages_,
                  .link_bytes = {}};
  if (input_) fresh.input_from = input_->made_from();
  std::vector<StepParts> before(accounts_.size());
  std::swap(before, accounts_);
  std::vector<double> carried = std::exchange(link_bytes_, {});
  COX_CHECK(play_accounted(now, nullptr));
  fresh.times.ends.assign(now.begin(), now.end());
  if (plan_.job().overlap_feedback > 0)
    for (const Unit& u : units_) fresh.exposed.push_back(u.exposed);
  // Shared links, and computation that is slower beside communication, are no sums and maxima.
  if (plan_.network() == nullptr && plan_.job().overlap_slowdown == 0 && !input_)
    fresh.times.tolerance = tolerated(now);
  fresh.messages = messages_ - fresh.messages;
  fresh.link_bytes = link_bytes_;
  for (std::size_t l = 0; l < carried.size(); ++l) link_bytes_[l] += carried[l];
  add(before, accounts_);
  fresh.accounts = std::exchange(accounts_, std::move(before));
  known_steps_.keep(std::move(fresh));
  return {};
}

/// Plays the step, and keeps account of it where somebody asks.
Status StepEngine::play_accounted(std::span<Seconds> now, Watcher* watcher) {
  if (accounts_.empty()) return play_step(now, watcher);
  Accounts accounts(plan_, factors_, of_unit_, accounts_);
  if (watcher == nullptr) return play_step(now, &accounts);
  Both both(accounts, *watcher);
  return play_step(now, &both);
}

Status StepEngine::play_step(std::span<Seconds> now, Watcher* watcher) {
  ++played_;
  if (plan_.network() == nullptr) {
    const std::vector<double>& carried = plan_.own_link_bytes(meeting_);
    link_bytes_.resize(carried.size());
    for (std::size_t l = 0; l < carried.size(); ++l) link_bytes_[l] += carried[l];
    return pass(now, watcher);
  }
  const std::vector<Seconds> begin(now.begin(), now.end());
  told_.clear();
  keeps_ = watcher != nullptr;
  reached_ = -kNotYet;
  open_network();
  const Status played = pass(now, nullptr);
  const FlowOutcome outcome = shared_->take_outcome();
  std::unique_ptr<SharedNetwork> kept = std::move(shared_);
  if (!plan_.scenario().neighbours.empty() && watcher == nullptr) shared_ = std::move(kept);
  messages_ += outcome.messages;
  evaluated_ += outcome.played + outcome.evaluated;
  memo_used_ = memo_used_ || outcome.memo;
  link_bytes_.resize(outcome.link_bytes.size());
  for (std::size_t l = 0; l < link_bytes_.size(); ++l) link_bytes_[l] += outcome.link_bytes[l];
  if (!played || watcher == nullptr) return played;
  std::copy(begin.begin(), begin.end(), now.begin());
  const std::int64_t messages = messages_;
  const std::int64_t evaluated = evaluated_;
  const Status told = pass(now, watcher);
  messages_ = messages;
  evaluated_ = evaluated;
  if (!plan_.scenario().neighbours.empty()) shared_ = std::move(kept);
  return told;
}

/// A network for the step; with neighbours one for all steps.
void StepEngine::open_network() {
  const model::Scenario& s = plan_.scenario();
  if (!shared_)
    shared_ = std::make_unique<SharedNetwork>(plan_,
                                              FlowOptions{.memo = shortcuts_.memo,
                                                          .noise = noise_,
                                                          .timeouts = &timeouts_,
                                                          .step = step_,
                                                          .seed = seed_,
                                                          .protocol = s.protocol,
                                                          .limits = NeighbourJobs::limits(s)},
                                              Seconds{});
  if (!s.neighbours.empty()) shared_->open_step(step_, clock_.origin);
}

/// From the units' begin to their end, with all that is known of what they wait for.
Status StepEngine::pass(std::span<Seconds> now, Watcher* watcher) {
  watcher_ = watcher;
  begin_step(now);
  ready_.clear();
  for (int u = static_cast<int>(units_.size()) - 1; u >= 0; --u) ready_.push_back(u);
  for (;;) {
    while (!ready_.empty()) {
      const int unit = ready_.back();
      ready_.pop_back();
      proceed(unit);
    }
    const Seconds due = due_.empty() ? kNotYet : due_.top().first;
    const auto left = shared_ ? shared_->next(due) : std::nullopt;
    if (left) {
      reached_ = left->at;
      leave(*left);
    } else if (!due_.empty()) {
      reached_ = due;
      wake(due_.top().second);
      due_.pop();
    } else {
      break;
    }
  }
  for (std::size_t u = 0; u < units_.size(); ++u) {
    const StageCode& program = (*programs_)[static_cast<std::size_t>(stage_of(static_cast<int>(u)))];
    if (units_[u].at < program.code.size()) return fail(stuck());
    now[u] = units_[u].now;
    messages_ += program.tensor_messages;
    if (watcher_ != nullptr) watcher_->end(static_cast<int>(u), now[u]);
  }
  return {};
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

/// End of `work` that begins at `begin`, longer where the unit's stream is busy: for ever where it is not known
/// until when.
Seconds StepEngine::beside_stream(const Unit& u, Seconds begin, Seconds work) const {
  const double slow = 1 + plan_.job().overlap_slowdown;
  Seconds at = begin;
  for (std::size_t slot = u.busy; slot < u.stream.size(); ++slot) {
    const Interval& busy = u.stream[slot];
    if (busy.end <= at) continue;
    const Seconds free = std::max(busy.begin - at, Seconds{});
    if (work <= free) return at + work;
    work -= free;
    at += free;
    const Seconds room = busy.end - at;
    if (work * slow <= room) return at + work * slow;
    work = std::max(work - room / slow, Seconds{});
    at = busy.end;
  }
  return at + work;
}

/// Whether a computation beside the stream ends at `computed` whatever comes. On a network that is so when the
/// clock has got there; else when all ends of the stream are known.
bool StepEngine::knows_end(int unit, Seconds computed) {
  Unit& u = units_[static_cast<std::size_t>(unit)];
  if (u.stream.empty() || u.stream.back().end != kNotYet) return true;
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
    computed = beside_stream(u, u.now, work);
    if (!knows_end(unit, computed)) return false;
  }
  const Seconds end = computed + i.tensor + i.context;
  if (watcher_ != nullptr) watcher_->computed(unit, i, u.now, computed, end);
  u.now = end;
  while (u.busy < u.stream.size() && u.stream[u.busy].end <= u.now) ++u.busy;
  return true;
}

void StepEngine::send(int unit, const Instruction& i) {
  Unit& u = units_[static_cast<std::size_t>(unit)];
  const int to = unit - stage_of(unit) + i.stage;
  const int first = first_ * plan_.stages();
  const model::MessageCost& cost = plan_.between(first + unit, first + to);
  const Seconds leaves = std::max(u.now, u.mail_free);
  Mail& mail = mail_[static_cast<std::size_t>(to) * static_cast<std::size_t>(plan_.mailboxes()) +
                     static_cast<std::size_t>(i.slot)];
  const SharedNetwork::Key key{.kind = SharedNetwork::Kind::Message, .stage = to, .slot = i.slot};
  if (shared_) return shared_->send(key, unit, i.bytes, u.now);
  if (is_told()) {
    mail = {.leaves = u.now, .arrives = told(key)[1]};
  } else {
    u.mail_free = leaves + cost.occupied(i.bytes);
    mail = {.leaves = leaves,
            .arrives = leaves + cost(i.bytes) + delay(first + unit, first + to, i.slot, cost, i.bytes)};
  }
  messages_ += plan_.ranks_per_unit();
  if (watcher_ != nullptr) watcher_->sent(unit, to, i, u.now, mail.leaves, mail.arrives);
  wake(to);
}

/// How much later than undisturbed a message between units arrives: the latest of their ranks'.
Seconds StepEngine::delay(int from_unit, int to_unit, int slot, const model::MessageCost& cost,
                          Bytes bytes) const {
  if (!draws_messages() && !timeouts_.happen()) return {};
  Seconds latest = -kNotYet;
  const int ranks = plan_.ranks_per_unit();
  for (int g = 0; g < ranks; ++g) {
    Seconds took = cost(bytes);
    const std::int64_t number = plan_.message_number(slot) + 2 * g;
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
