// SPDX-License-Identifier: Apache-2.0
#include "diagnose/efficiency/ideal_network_messages.hpp"

#include <algorithm>
#include <tuple>

namespace cox::diagnose {
namespace {

using trace::EventColumns;
using trace::MessageColumns;

constexpr std::uint32_t kNone = 0xffffffff;

/// Where in a call a message touches it: sent and posted at its begin, complete at its end.
enum class Edge : std::uint8_t { Begin, End };

/// Index of the call that time `at` lies in, or kNone.
std::uint32_t find_call(const EventColumns& e, Duration at, Edge edge) {
  constexpr std::size_t kLookBack = 4;  // calls of one thread do not overlap
  const auto after = edge == Edge::Begin ? std::upper_bound(e.begin.begin(), e.begin.end(), at)
                                         : std::lower_bound(e.begin.begin(), e.begin.end(), at);
  const auto from = static_cast<std::size_t>(after - e.begin.begin());
  for (std::size_t i = from; i-- > 0 && i + kLookBack >= from;)
    if (may_complete_messages(e, i) && e.end[i] >= at) return static_cast<std::uint32_t>(i);
  return kNone;
}

std::uint32_t index_of(const Matched& matched, Rank rank) {
  const std::int32_t at = matched.index_of(rank);
  return at < 0 ? kNone : static_cast<std::uint32_t>(at);
}

void add(PlacedMessages& placed, std::uint32_t rank, std::uint32_t call, Duration at, std::uint32_t message,
         Part part) {
  if (call == kNone)
    placed.postings[rank].push_back({at, message, part});
  else
    placed.touches[rank].push_back({call, message, part});
}

}  // namespace

PlacedMessages place_messages(const Matched& matched) {
  PlacedMessages placed;
  placed.touches.resize(matched.ranks());
  placed.postings.resize(matched.ranks());
  const MessageColumns& m = matched.messages();
  placed.sender.assign(m.size(), kNone);
  placed.receiver.assign(m.size(), kNone);
  for (std::size_t k = 0; k < m.size(); ++k) {
    const std::uint32_t from = index_of(matched, m.from[k]);
    const std::uint32_t to = index_of(matched, m.to[k]);
    const std::uint32_t done =
        to == kNone ? kNone : find_call(matched.track(to).events, m.receive_end[k], Edge::End);
    if (from == kNone || done == kNone) {
      ++placed.unplaced;
      continue;
    }
    placed.sender[k] = from;
    placed.receiver[k] = to;
    const auto message = static_cast<std::uint32_t>(k);
    const std::uint32_t sent = find_call(matched.track(from).events, m.send_begin[k], Edge::Begin);
    const std::uint32_t posted = find_call(matched.track(to).events, m.receive_begin[k], Edge::Begin);
    add(placed, from, sent, m.send_begin[k], message, Part::Send);
    // A receive is posted by the time that it completes, whatever the record says.
    if (posted == kNone)
      add(placed, to, kNone, std::min(m.receive_begin[k], matched.track(to).events.begin[done]), message,
          Part::Post);
    else
      add(placed, to, std::min(posted, done), {}, message, Part::Post);
    add(placed, to, done, {}, message, Part::Receive);
  }
  for (auto& touches : placed.touches)
    std::sort(touches.begin(), touches.end(), [](const Touch& a, const Touch& b) {
      return std::tuple{a.event, a.part, a.message} < std::tuple{b.event, b.part, b.message};
    });
  for (auto& postings : placed.postings)
    std::sort(postings.begin(), postings.end(), [](const Posting& a, const Posting& b) {
      return std::tuple{a.at, a.part, a.message} < std::tuple{b.at, b.part, b.message};
    });
  return placed;
}

}  // namespace cox::diagnose
