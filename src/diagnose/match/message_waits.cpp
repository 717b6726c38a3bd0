// SPDX-License-Identifier: Apache-2.0
#include "diagnose/match/message_waits.hpp"

#include <algorithm>
#include <utility>

#include "diagnose/match/span_math.hpp"

namespace cox::diagnose {
namespace {

using trace::EventColumns;
using trace::EventKind;

/// Peers of one call that are looked at: a file may claim any number.
constexpr std::uint32_t kMostPeers = 64;

/// Records that name the peers of a wait: itself, or those that its thread left right before it.
std::vector<std::size_t> naming(const EventColumns& e, std::size_t wait) {
  if (e.aux[wait] != trace::kAnyPeer) return {wait};
  const std::uint32_t count = std::min(e.seq[wait], kMostPeers);
  std::vector<std::size_t> found;
  for (std::size_t i = wait; i-- > 0 && found.size() < count;) {
    if (e.thread[i] != e.thread[wait]) continue;
    if (e.kind[i] != EventKind::Awaited) break;
    found.push_back(i);
  }
  return found;
}

/// The first record that shows message `number` or a later one.
template <class All>
auto first_of(const All& all, std::uint32_t number) {
  return std::lower_bound(all.begin(), all.end(), number,
                          [](const auto& one, std::uint32_t n) { return one.number < n; });
}

AwaitedMessages read(const trace::Run& run, const CommIndex& comms, const EventColumns& e, std::size_t i) {
  AwaitedMessages a;
  a.comm = comms.find(e.comm[i]);
  if (a.comm >= 0 && e.aux[i] != trace::kAnyPeer) a.peer = rank_at(run, a.comm, e.aux[i]);
  if ((e.flags[i] & trace::kNumbered) == 0) return a;
  const auto numbers = trace::MessageNumbers::of(e.seq[i], static_cast<std::uint64_t>(e.bytes[i].count()));
  a.received = numbers.received;
  a.sent = numbers.sent;
  a.sent_at = minus_clamped(e.begin[i], Duration{std::int64_t{numbers.sent_before_ns} * 1000});
  return a;
}

}  // namespace

MessageWaits::MessageWaits(const trace::Run& run, const CommIndex& comms) : ranks_(run.ranks.size()) {
  for (std::size_t r = 0; r < ranks_.size(); ++r) collect(run, comms, r);
  for (auto& [route, all] : sent_)
    std::stable_sort(all.begin(), all.end(),
                     [](const Sent& a, const Sent& b) { return a.number < b.number; });
}

void MessageWaits::tell_last() {
  for (std::size_t r = 0; r < ranks_.size(); ++r)
    for (MessageWait& wait : ranks_[r].waits) find_last(wait, r);
  // A library may hold back what a call sends until the peer comes to receive it. Whoever came later than the
  // last message was sent, and before the call ended, was the last one then.
  std::map<Route, std::vector<Sent>> received;
  for (std::size_t r = 0; r < ranks_.size(); ++r)
    for (const MessageWait& wait : ranks_[r].waits)
      for (const AwaitedMessages& a : awaited(r, wait))
        if (a.received > 0)
          received[{a.comm, a.peer, static_cast<std::int32_t>(r)}].push_back({a.received, wait.begin});
  for (std::size_t r = 0; r < ranks_.size(); ++r)
    for (MessageWait& wait : ranks_[r].waits) {
      if (wait.end == trace::kStillRunning || wait.last < 0) continue;
      const auto all = awaited(r, wait);
      bool known = std::any_of(all.begin(), all.end(), [](const auto& a) { return a.received > 0; });
      for (const AwaitedMessages& a : all) {
        const auto route = received.find({a.comm, static_cast<std::int32_t>(r), a.peer});
        if (a.sent == 0 || route == received.end() || (known && a.peer == wait.last)) continue;
        const auto at = first_of(route->second, a.sent);
        if (at == route->second.end() || at->at > wait.end || (known && at->at <= wait.until)) continue;
        wait.last = a.peer;
        wait.until = std::max(at->at, wait.begin);
        known = true;
      }
    }
}

void MessageWaits::collect(const trace::Run& run, const CommIndex& comms, std::size_t rank) {
  const EventColumns& e = run.ranks[rank].events;
  const auto self = static_cast<std::int32_t>(rank);
  OfRank& mine = ranks_[rank];
  Duration outer = Duration::min();
  for (std::size_t i = 0; i < e.size(); ++i) {
    if (!is_peer_wait(e, i)) continue;
    MessageWait wait{.event = i, .begin = e.begin[i], .end = e.end[i], .first = mine.awaited.size()};
    wait.until = wait.end;
    const std::vector<std::size_t> named = naming(e, i);
    wait.more = named.empty() || (e.aux[i] == trace::kAnyPeer && e.bytes[i] > Bytes{});
    for (const std::size_t at : named) {
      const AwaitedMessages a = read(run, comms, e, at);
      if (a.peer < 0 || a.peer == self) {
        wait.more = wait.more || a.peer < 0;
        continue;
      }
      if (a.sent > 0) sent_[{a.comm, self, a.peer}].push_back({a.sent, a.sent_at});
      if (a.received > 0) {
        std::uint32_t& posted = posted_[{a.comm, a.peer, self}];
        posted = std::max(posted, a.received);
      }
      mine.awaited.push_back(a);
    }
    wait.count = mine.awaited.size() - wait.first;
    if (e.end[i] != trace::kStillRunning && e.end[i] <= outer) continue;  // a part of another one
    if (e.end[i] != trace::kStillRunning) outer = std::max(outer, e.end[i]);
    mine.waits.push_back(wait);
  }
}

/// Whoever was the last of the senders to send; the one peer of a call that only sends.
void MessageWaits::find_last(MessageWait& wait, std::size_t rank) {
  if (wait.end == trace::kStillRunning || wait.more) return;
  const auto all = awaited(rank, wait);
  const bool receives =
      std::any_of(all.begin(), all.end(), [](const AwaitedMessages& a) { return a.received > 0; });
  if (!receives) {
    if (all.size() == 1) wait.last = all.front().peer;
    return;
  }
  std::int32_t last = -1;
  Duration until = Duration::min();
  for (const AwaitedMessages& a : all) {
    if (a.received == 0) continue;
    const auto route = sent_.find({a.comm, a.peer, static_cast<std::int32_t>(rank)});
    if (route == sent_.end()) return;
    const auto at = first_of(route->second, a.received);
    if (at == route->second.end()) return;
    if (at->at > until) {
      until = at->at;
      last = a.peer;
    }
  }
  wait.last = last;
  wait.until = std::clamp(until, wait.begin, wait.end);
}

const MessageWait* MessageWaits::find(std::size_t rank, std::size_t event) const {
  const auto& waits = ranks_[rank].waits;
  const auto at = std::lower_bound(waits.begin(), waits.end(), event,
                                   [](const MessageWait& w, std::size_t i) { return w.event < i; });
  return at != waits.end() && at->event == event ? &*at : nullptr;
}

bool MessageWaits::any() const {
  return std::any_of(ranks_.begin(), ranks_.end(), [](const OfRank& r) { return !r.waits.empty(); });
}

bool MessageWaits::surely_sent(std::int32_t from, std::int32_t to, std::int32_t comm,
                               std::uint32_t number) const {
  const auto route = sent_.find({comm, from, to});
  return number > 0 && route != sent_.end() && route->second.back().number >= number;
}

bool MessageWaits::surely_posted(std::int32_t from, std::int32_t to, std::int32_t comm,
                                 std::uint32_t number) const {
  const auto route = posted_.find({comm, from, to});
  return number > 0 && route != posted_.end() && route->second >= number;
}

std::int32_t MessageWaits::always_named(std::size_t rank) const {
  constexpr double kAlways = 0.95;
  std::map<std::int32_t, std::size_t> names;
  for (const MessageWait& w : of(rank))
    if (const auto peers = awaited(rank, w); peers.size() == 1 && !w.more) ++names[peers.front().peer];
  const auto most = std::max_element(names.begin(), names.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  const bool always = most != names.end() &&
                      static_cast<double>(most->second) >= kAlways * static_cast<double>(of(rank).size());
  return always ? most->first : -1;
}

std::optional<std::size_t> MessageWaits::server() const {
  constexpr std::size_t kLeastRanks = 3;  // of two, each waits for the other
  if (ranks_.size() < kLeastRanks) return std::nullopt;
  std::vector<std::int32_t> named;
  for (std::size_t r = 0; r < ranks_.size(); ++r) named.push_back(always_named(r));
  const std::int32_t server = named[0] == named[1] ? named[0] : named[2];  // two of three are none
  if (server < 0) return std::nullopt;
  for (std::size_t r = 0; r < ranks_.size(); ++r)
    if (std::cmp_not_equal(r, server) && named[r] != server) return std::nullopt;
  return static_cast<std::size_t>(server);
}

}  // namespace cox::diagnose
