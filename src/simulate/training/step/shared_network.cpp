// SPDX-License-Identifier: Apache-2.0
#include "simulate/training/step/shared_network.hpp"

#include <algorithm>
#include <utility>

#include "cox/base/assert.hpp"

#include "simulate/flow/places.hpp"

namespace cox::simulate::training {

SharedNetwork::SharedNetwork(const Plan& plan, const Network& network, int first, FlowOptions options,
                             Seconds origin)
    : plan_(plan),
      first_(first),
      own_(std::in_place, network, plan.scenario().fabric, std::move(options), origin),
      engine_(*own_) {
  if (plan.network() != nullptr && !plan.scenario().neighbours.empty())
    neighbours_.emplace(plan.scenario(), engine_);
}

void SharedNetwork::open_step(std::int64_t step, Seconds offset) {
  COX_ASSERT(open_ == 0, "all of the step before has left");
  step_ = step;
  offset_ = offset;
  by_key_.clear();
  transfers_.clear();
  transfer_of_.clear();
}

/// The time on the network's clock, which may be further.
Seconds SharedNetwork::on_clock(Seconds at) {
  if (!neighbours_ && !tell_) return at;
  const Seconds wanted = at + offset_;
  late_ = std::max(late_, engine_.said() - wanted);
  return std::max(wanted, engine_.said());
}

std::vector<NeighbourOutcome> SharedNetwork::neighbours() const {
  return neighbours_ ? outcome_of(*neighbours_, plan_.scenario(), *plan_.network())
                     : std::vector<NeighbourOutcome>{};
}

FlowCourseId SharedNetwork::begin(const Key& key, FlowCollective what, int ranks_per_member) {
  const auto members = static_cast<std::size_t>(what.schedule->ranks() / ranks_per_member);
  what.step = step_;
  const FlowCourseId course = engine_.begin(std::move(what));
  const auto transfer = static_cast<std::int32_t>(transfers_.size());
  if (tell_) {
    tell_(course, transfer);
  } else {
    if (transfer_of_.empty()) first_course_ = course;
    transfer_of_.resize(course - first_course_, -1);
    transfer_of_.push_back(transfer);
  }
  open_ += static_cast<std::int64_t>(members);
  transfers_.push_back(
      {.key = key, .ranks = ranks_per_member, .staying = std::vector<int>(members, ranks_per_member)});
  return course;
}

void SharedNetwork::join(const Key& key, const model::Schedule& schedule, int member, Seconds at) {
  const int ranks = plan_.groups().ranks_of_member(key.of);
  auto known = by_key_.find(key);
  if (known == by_key_.end()) {
    const int groups = plan_.ranks_per_unit() / ranks;
    Key ours = key;
    ours.group += plan_.groups().group_of(key.of, first_);
    const FlowCourseId course = begin(key,
                                      {.schedule = &schedule,
                                       .rank_of = devices_of(plan_, ours, schedule.participants(), groups),
                                       .groups = groups,
                                       .number = draw_number(plan_, ours, groups)},
                                      ranks);
    known = by_key_.emplace(key, course).first;
  }
  for (int c = 0; c < ranks; ++c) engine_.arrive(known->second, member * ranks + c, on_clock(at));
}

void SharedNetwork::meet(const Key& key, const InnerCollective& what, Seconds at) {
  const bool tensor = what.kind == model::Collective::AllReduce;
  auto known = inner_.find({what.kind, what.bytes.count()});
  if (known == inner_.end()) {
    auto made = plan_.inner_schedule(what);
    COX_ASSERT(made.has_value(), "a ring exists for any number of ranks");
    known = inner_.emplace(std::pair{what.kind, what.bytes.count()}, *std::move(made)).first;
  }
  const int places = known->second.ranks();
  const int groups = plan_.ranks_per_unit() / places;
  std::vector<int> devices;
  for (int g = 0; g < groups; ++g) {
    std::vector<int> group;
    group.reserve(static_cast<std::size_t>(places));
    for (int p = 0; p < places; ++p)
      group.push_back(device_of(key.stage, tensor ? g * places + p : p * groups + g));
    add_servers(group, known->second.participants());
    devices.insert(devices.end(), group.begin(), group.end());
  }
  // Draws of its own: beyond those of all collectives between units.
  constexpr std::int64_t kInner = std::int64_t{1} << 48;
  const std::int64_t number = (std::int64_t{key.slot} * plan_.units() + key.stage) * plan_.ranks_per_unit();
  const FlowCourseId course = begin(key,
                                    {.schedule = &known->second,
                                     .rank_of = std::move(devices),
                                     .groups = groups,
                                     .number = kInner + 2 * number,
                                     .draws_by_device = true},
                                    places);
  for (int p = 0; p < places; ++p) engine_.arrive(course, p, on_clock(at));
}

void SharedNetwork::send(const Key& key, int from_unit, Bytes bytes, Seconds at) {
  const Message what{.key = key, .bytes = bytes, .at = at};
  const auto [behind, is_idle] = behind_.try_emplace(from_unit);
  if (is_idle)
    begin_message(what, from_unit);
  else
    behind->second.push_back(what);
}

void SharedNetwork::sender_left(int unit, Seconds at) {
  const auto behind = behind_.find(unit);
  if (behind->second.empty()) {
    behind_.erase(behind);
    return;
  }
  Message next = behind->second.front();
  behind->second.pop_front();
  next.at = std::max(next.at, at);
  begin_message(next, unit);
}

void SharedNetwork::begin_message(const Message& what, int from_unit) {
  auto known = messages_.find(what.bytes.count());
  if (known == messages_.end()) {
    auto made = model::Schedule::make({.kind = model::Collective::SendRecv,
                                       .algorithm = model::Algorithm::Chain,
                                       .ranks = 2,
                                       .bytes = what.bytes});
    COX_ASSERT(made.has_value(), "a chain of two exists for any size");
    known = messages_.emplace(what.bytes.count(), *std::move(made)).first;
  }
  const int groups = plan_.ranks_per_unit();
  std::vector<int> devices;
  for (int g = 0; g < groups; ++g)
    for (const int unit : {from_unit, what.key.stage}) devices.push_back(device_of(unit, g));
  const FlowCourseId course = begin(what.key,
                                    {.schedule = &known->second,
                                     .rank_of = std::move(devices),
                                     .groups = groups,
                                     .number = plan_.message_number(what.key.slot),
                                     .draws_by_device = true,
                                     .lone_messages = true},
                                    1);
  transfers_.back().sender = from_unit;
  for (const int place : {0, 1}) engine_.arrive(course, place, on_clock(what.at));
}

std::optional<SharedNetwork::Left> SharedNetwork::next(Seconds until) {
  // NeighbourJobs go on for ever: without anything of ours there is nothing to wait for.
  constexpr std::int64_t kMostOfOthers = 100'000'000;
  std::int64_t of_others = 0;
  while (!neighbours_ || (open_ > 0 && of_others < kMostOfOthers)) {
    const std::optional<FlowDeparture> one = engine_.next(until + offset_);
    if (!one) return std::nullopt;
    if (neighbours_ && neighbours_->take(*one)) {
      ++of_others;
      continue;
    }
    if (const auto left = take(transfer_of_[one->course - first_course_], *one)) return left;
  }
  return std::nullopt;
}

std::optional<SharedNetwork::Left> SharedNetwork::take(std::int32_t transfer, const FlowDeparture& one) {
  Transfer& t = transfers_[static_cast<std::size_t>(transfer)];
  const auto member = static_cast<std::size_t>(one.place / t.ranks);
  if (member >= t.staying.size()) return std::nullopt;  // a server
  if (--t.staying[member] > 0) return std::nullopt;     // a unit that is still there
  --open_;
  const Left left{.key = t.key, .member = static_cast<int>(member), .at = one.at - offset_};
  const int sender = member == 0 ? t.sender : -1;
  if (sender >= 0) sender_left(sender, left.at);  // may move the transfers
  return left;
}

}  // namespace cox::simulate::training
