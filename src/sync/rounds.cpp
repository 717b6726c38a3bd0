// SPDX-License-Identifier: Apache-2.0
#include "cox/sync/rounds.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "cox/base/assert.hpp"
#include "cox/base/random.hpp"

namespace cox::sync {

Rounds::Rounds(const RoundSpec& spec, int workers)
    : spec_(spec),
      members_(static_cast<std::size_t>(workers)),
      done_(static_cast<std::size_t>(workers)),
      copies_of_(done_.size(), -1) {
  COX_ASSERT(workers > 0, "rounds without workers");
  spec_.local_steps = std::max(spec_.local_steps, 1);
  spec_.dropped = std::max(spec_.dropped, 0);
  COX_ASSERT(spec_.copies == 0 || spec_.local_steps == 1, "copies are of a step");
  std::iota(members_.begin(), members_.end(), 0);
  draw();
  for (int w = 0; w < workers; ++w)
    if (!std::ranges::binary_search(participants_, w)) give_up(w, 0);
}

int Rounds::awaited() const {
  return std::max(static_cast<int>(participants_.size()) - spec_.dropped, 1);
}

void Rounds::start_call(std::vector<int>& released) {
  released.clear();
  events_.clear();
  interrupted_.clear();
  begun_again_.clear();
}

void Rounds::bring(int worker, bool copied) {
  waiting_.push_back(worker);
  if (copied) interrupted_.push_back(worker);
  if (spec_.copies == 0) return;
  for (std::size_t w = 0; w < copies_of_.size(); ++w) {
    if (copies_of_[w] != worker) continue;
    copies_of_[w] = -1;
    if (!copied) interrupted_.push_back(static_cast<int>(w));
  }
}

void Rounds::begin_copies() {
  const int missing = static_cast<int>(participants_.size()) - arrived();
  if (missing > spec_.copies) return;
  std::vector<char> at_work(copies_of_.size(), 1);  // at it is one alone
  for (const int w : waiting_) at_work[static_cast<std::size_t>(w)] = 0;
  for (const int of : copies_of_)
    if (of >= 0) at_work[static_cast<std::size_t>(of)] = 0;
  auto by = waiting_.begin();
  for (const int of : participants_) {
    if (at_work[static_cast<std::size_t>(of)] == 0) continue;
    by = std::find_if(by, waiting_.end(), [&](int w) { return copies_of_[static_cast<std::size_t>(w)] < 0; });
    if (by == waiting_.end()) return;
    copies_of_[static_cast<std::size_t>(*by)] = of;
    begun_again_.push_back({.by = *by, .of = of});
  }
}

void Rounds::give_up(int worker, int steps) {
  events_.push_back({.kind = StreamEvent::Kind::Abandoned,
                     .update = {.worker = worker, .version_read = version_, .steps = steps}});
}

/// The first of a permutation by Fisher and Yates, then in rank order.
void Rounds::draw() {
  constexpr std::uint32_t kClients = 0x73790001;
  const auto all = static_cast<double>(members_.size());
  const auto wanted = static_cast<std::size_t>(std::clamp(std::ceil(spec_.fraction * all), 1.0, all));
  participants_ = members_;
  if (wanted < members_.size()) {
    const RandomStream draws(spec_.seed, kClients);
    for (std::size_t i = 0; i < wanted; ++i) {
      const double u = draws.uniform(static_cast<std::uint64_t>(version_), i);
      const auto rest = static_cast<double>(participants_.size() - i);
      std::swap(participants_[i], participants_[i + static_cast<std::size_t>(u * rest)]);
    }
    participants_.resize(wanted);
    std::ranges::sort(participants_);
  }
  for (const int w : participants_) done_[static_cast<std::size_t>(w)] = 0;
}

void Rounds::hold(std::vector<int>& released) {
  for (std::size_t w = 0; w < copies_of_.size(); ++w)
    if (std::exchange(copies_of_[w], -1) >= 0) interrupted_.push_back(static_cast<int>(w));
  std::ranges::sort(waiting_);
  for (const int w : waiting_)
    events_.push_back({.kind = StreamEvent::Kind::Delivered,
                       .update = {.worker = w,
                                  .version_read = version_,
                                  .version_applied = version_,
                                  .steps = spec_.local_steps}});
  for (const int w : participants_) {
    if (std::ranges::binary_search(waiting_, w)) continue;
    give_up(w, done_[static_cast<std::size_t>(w)] + 1);
    interrupted_.push_back(w);
  }
  ++version_;
  events_.push_back({.kind = StreamEvent::Kind::Advanced,
                     .update = {.worker = waiting_.back(), .version_applied = version_}});
  waiting_.clear();
  draw();
  for (const int w : participants_)
    events_.push_back({.kind = StreamEvent::Kind::Read, .update = {.worker = w, .version_read = version_}});
  released = participants_;
}

void Rounds::delivered(int worker, std::vector<int>& released) {
  const int copied = copies_of_[static_cast<std::size_t>(worker)];
  COX_ASSERT(std::ranges::binary_search(participants_, worker) &&
                 (copied >= 0 || std::ranges::count(waiting_, worker) == 0),
             "a worker that takes part, and has not delivered");
  start_call(released);
  int& done = done_[static_cast<std::size_t>(worker)];
  if (copied < 0 && ++done < spec_.local_steps) {
    released.push_back(worker);
    return;
  }
  bring(copied >= 0 ? copied : worker, copied >= 0);
  if (arrived() >= awaited()) return hold(released);
  if (spec_.copies > 0) begin_copies();
}

void Rounds::expired(std::vector<int>& released) {
  start_call(released);
  if (!waiting_.empty()) hold(released);
}

void Rounds::left(int worker, std::vector<int>& released) {
  COX_ASSERT(std::ranges::binary_search(members_, worker), "a worker left twice");
  start_call(released);
  std::erase(members_, worker);
  std::erase(waiting_, worker);
  copies_of_[static_cast<std::size_t>(worker)] = -1;
  for (std::size_t w = 0; w < copies_of_.size(); ++w)
    if (copies_of_[w] == worker) {
      copies_of_[w] = -1;
      interrupted_.push_back(static_cast<int>(w));
    }
  events_.push_back({.kind = StreamEvent::Kind::Left, .update = {.worker = worker}});
  if (std::erase(participants_, worker) == 0 || members_.empty()) return;
  if (!waiting_.empty() && arrived() >= awaited()) return hold(released);
  if (!participants_.empty()) return;
  // All who were drawn are gone before anybody delivered: others take up the same version.
  draw();
  for (const int w : participants_)
    events_.push_back({.kind = StreamEvent::Kind::Read, .update = {.worker = w, .version_read = version_}});
  released = participants_;
}

}  // namespace cox::sync
