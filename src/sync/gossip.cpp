// SPDX-License-Identifier: Apache-2.0
#include "cox/sync/gossip.hpp"

#include <algorithm>
#include <utility>

#include "cox/base/assert.hpp"

namespace cox::sync {

Gossip::Gossip(const GossipSpec& graph, int workers)
    : neighbours_(graph, workers),
      workers_(workers),
      begun_(static_cast<std::size_t>(workers)),
      ended_(static_cast<std::size_t>(workers)) {}

bool Gossip::may_begin(int worker) const {
  const auto w = static_cast<std::size_t>(worker);
  if (ended_[w] <= begun_[w]) return false;
  return std::ranges::all_of(neighbours_.of(worker, begun_[w]),
                             [&](int p) { return ended_[static_cast<std::size_t>(p)] > begun_[w]; });
}

/// One more has ended the round that the stream is in.
void Gossip::tell(int worker) {
  events_.push_back({.kind = StreamEvent::Kind::Delivered,
                     .update = {.worker = worker, .version_read = version_, .version_applied = version_}});
  if (++there_ < workers_) return;
  there_ = 0;
  ++version_;
  events_.push_back(
      {.kind = StreamEvent::Kind::Advanced, .update = {.worker = worker, .version_applied = version_}});
  for (int w = 0; w < workers_; ++w)
    events_.push_back({.kind = StreamEvent::Kind::Read, .update = {.worker = w, .version_read = version_}});
  // Each once: of those who are further ahead, the first entry is of this round.
  std::vector<char> taken(static_cast<std::size_t>(workers_));
  std::vector<int> later;
  std::vector<int> now;
  for (const int w : told_later_)
    (std::exchange(taken[static_cast<std::size_t>(w)], 1) == 0 ? now : later).push_back(w);
  told_later_ = std::move(later);
  for (const int w : now) tell(w);
}

void Gossip::delivered(int worker, std::vector<int>& released) {
  const auto w = static_cast<std::size_t>(worker);
  COX_ASSERT(ended_[w] == begun_[w], "a worker ended a round that it had not begun");
  released.clear();
  events_.clear();
  if (ended_[w]++ == version_)
    tell(worker);
  else
    told_later_.push_back(worker);
  for (int v = 0; v < workers_; ++v) {
    if (!may_begin(v)) continue;
    ++begun_[static_cast<std::size_t>(v)];
    released.push_back(v);
  }
}

}  // namespace cox::sync
