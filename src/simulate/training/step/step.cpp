// SPDX-License-Identifier: Apache-2.0
#include "simulate/training/step/step.hpp"

#include <algorithm>
#include <utility>

#include "cox/base/assert.hpp"

#include "simulate/training/account/accounts.hpp"
#include "simulate/training/step/later.hpp"

namespace cox::simulate::training {

namespace {

void add(std::vector<StepParts>& to, const std::vector<StepParts>& more) {
  for (std::size_t s = 0; s < to.size(); ++s)
    for (std::size_t p = 0; p < kStepParts; ++p) to[s][p] += more[s][p];
}

}  // namespace

StepEngine::StepEngine(const Plan& plan, const Noise* noise, std::uint64_t seed, int first, int count,
                       StepShortcuts shortcuts)
    : plan_(plan),
      network_(plan.network() != nullptr ? plan.network() : plan.worker_network()),
      beside_neighbours_(plan.network() != nullptr && !plan.scenario().neighbours.empty()),
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
  const int shard = plan.groups().size(ReplicaGroup::Shards);
  const int groups = plan.job().is_hybrid() ? std::max(shard, count / shard) : 1;
  data_.resize(static_cast<std::size_t>(plan.stages() * groups));
  if (plan.job().input.takes_time() && plan.scenario().policy.in_step()) input_.emplace(plan, first, count);
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
  const std::span<const Seconds> made = given_.empty() ? std::span<const Seconds>(now) : given_;
  const std::span<const Seconds> fed = input_ ? input_->begins(now) : made;
  for (std::size_t u = 0; u < units_.size(); ++u) {
    Unit& unit = units_[u];
    unit.at = 0;
    unit.now = unit.mail_free = fed[u];
    for (Receiver& one : unit.receivers) one = {.processor = fed[u], .port = fed[u]};
    unit.stream.clear();
    unit.open = 0;
    unit.busy = 0;
    unit.due = kNotYet;
    unit.parked = false;
    unit.exchange = Exchange::None;
    unit.exposed = {};
    if (watcher_ == nullptr) continue;
    watcher_->begin(static_cast<int>(u), now[u]);
    if (fed[u] > now[u]) watcher_->fed(static_cast<int>(u), now[u], fed[u]);
  }
  for (std::size_t k = 0; k < data_.size(); ++k)
    data_[k].assign((*programs_)[k % static_cast<std::size_t>(plan_.stages())].data.size(), Instance{});
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
  set_clock(now, holds);
  std::vector<Seconds>& own = clock_.after;
  if (watcher == nullptr) {
    COX_CHECK(run_on_own_clock(own, nullptr));
  } else {
    Later later(*watcher, clock_.origin);
    COX_CHECK(run_on_own_clock(own, &later));
  }
  if (input_) input_->next_step();
  given_.clear();
  std::transform(own.begin(), own.end(), now.begin(), [&](Seconds t) { return clock_.origin + t; });
  clock_.told.assign(now.begin(), now.end());
  feed_back();
  return {};
}

/// A step's own clock begins with its first unit.
void StepEngine::set_clock(std::span<const Seconds> now, std::span<const Seconds> holds) {
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
  for (std::size_t u = 0; u < given_.size(); ++u) given_[u] = std::max(given_[u] - clock_.origin, own[u]);
}

/// Plays the step, unless it is one that is known.
Status StepEngine::run_on_own_clock(std::span<Seconds> now, Watcher* watcher) {
  const bool draws = draws_messages() || plan_.dips() || timeouts_.happen();
  if (draws || watcher != nullptr || !shortcuts_.memo || beside_neighbours_)
    return play_accounted(now, watcher);
  const KnownStep* known = known_steps_.find([&](const KnownStep& k) {
    return k.meeting == meeting_ && k.first == first_ && k.times.stand_for(now) && k.factors == factors_ &&
           k.longer == longer_ && k.input_from == input_from();
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
  fresh.input_from = input_from();
  std::vector<StepParts> before(accounts_.size());
  std::swap(before, accounts_);
  std::vector<double> carried = std::exchange(link_bytes_, {});
  COX_CHECK(play_accounted(now, nullptr));
  fresh.times.ends.assign(now.begin(), now.end());
  if (plan_.job().overlap_feedback > 0)
    for (const Unit& u : units_) fresh.exposed.push_back(u.exposed);
  // Shared links, and computation that is slower beside communication, are no sums and maxima.
  if (network_ == nullptr && plan_.job().overlap_slowdown == 0 && !input_ && given_.empty())
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
  if (network_ == nullptr) {
    const std::vector<double>& carried = plan_.own_link_bytes(meeting_);
    link_bytes_.resize(carried.size());
    for (std::size_t l = 0; l < carried.size(); ++l) link_bytes_[l] += carried[l];
    return pass(now, watcher);
  }
  const std::vector<Seconds> begin(now.begin(), now.end());
  told_.clear();
  told_mail_.resize(mail_.size());
  keeps_ = watcher != nullptr;
  reached_ = -kNotYet;
  open_network();
  Status played = pass(now, nullptr);
  const FlowOutcome outcome = shared_->take_outcome();
  std::unique_ptr<SharedNetwork> kept = std::move(shared_);
  if (beside_neighbours_ && watcher == nullptr) shared_ = std::move(kept);
  messages_ += outcome.messages;
  evaluated_ += outcome.played + outcome.evaluated;
  memo_used_ = memo_used_ || outcome.memo;
  link_bytes_.resize(outcome.link_bytes.size());
  for (std::size_t l = 0; l < link_bytes_.size(); ++l) link_bytes_[l] += outcome.link_bytes[l];
  if (!played || watcher == nullptr) return played;
  std::copy(begin.begin(), begin.end(), now.begin());
  Status told = tell_pass(now, *watcher);
  if (beside_neighbours_) shared_ = std::move(kept);
  return told;
}

/// What was played on a network is told.
Status StepEngine::tell_pass(std::span<Seconds> now, Watcher& watcher) {
  const std::int64_t messages = messages_;
  const std::int64_t evaluated = evaluated_;
  Status told = pass(now, &watcher);
  messages_ = messages;
  evaluated_ = evaluated;
  return told;
}

/// A network for the step; with neighbours one for all steps.
void StepEngine::open_network() {
  const model::Scenario& s = plan_.scenario();
  if (!shared_)
    shared_ = std::make_unique<SharedNetwork>(
        plan_, *network_, first_,
        FlowOptions{.memo = shortcuts_.memo,
                    .noise = noise_,
                    .timeouts = &timeouts_,
                    .step = step_,
                    .seed = seed_,
                    .protocol = s.protocol,
                    .limits = beside_neighbours_ ? NeighbourJobs::limits(s) : std::vector<Bandwidth>{}},
        Seconds{});
  if (beside_neighbours_) shared_->open_step(step_, clock_.origin);
}

}  // namespace cox::simulate::training
