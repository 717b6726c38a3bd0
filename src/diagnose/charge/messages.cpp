// SPDX-License-Identifier: Apache-2.0
#include "diagnose/charge/messages.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace cox::diagnose {

MessageEnds::MessageEnds(const Matched& matched) {
  const trace::MessageColumns& m = matched.messages();
  if (m.size() == 0 || !matched.clocks_comparable()) return;
  halves_.resize(matched.ranks());
  for (std::size_t i = 0; i < m.size(); ++i) {
    const std::int32_t from = matched.index_of(m.from[i]);
    const std::int32_t to = matched.index_of(m.to[i]);
    if (from < 0 || to < 0) continue;
    halves_[static_cast<std::size_t>(from)].push_back({m.send_end[i], to, true, m.receive_begin[i]});
    halves_[static_cast<std::size_t>(to)].push_back({m.receive_end[i], from, false, m.send_begin[i]});
  }
  for (auto& halves : halves_)
    std::sort(halves.begin(), halves.end(), [](const Half& a, const Half& b) {
      return std::tuple{a.end, a.peer, a.sent, a.other_begin} <
             std::tuple{b.end, b.peer, b.sent, b.other_begin};
    });
}

Duration MessageEnds::waited_until(std::size_t rank, std::int32_t peer, Duration begin, Duration end) const {
  if (halves_.empty()) return end;
  const auto& halves = halves_[rank];
  const auto key = std::pair{end, peer};
  auto at = std::lower_bound(halves.begin(), halves.end(), key, [](const Half& h, const auto& k) {
    return std::pair{h.end, h.peer} < k;
  });
  if (at == halves.end() || std::pair{at->end, at->peer} != key) return end;
  Duration until = begin;
  for (; at != halves.end() && std::pair{at->end, at->peer} == key; ++at)
    if (!at->sent || at->other_begin <= end) until = std::max(until, std::min(at->other_begin, end));
  return until;
}

MessageEnds::Last MessageEnds::last_to_come(std::size_t rank, Duration begin, Duration end) const {
  Last last{-1, end};
  if (halves_.empty()) return last;
  const auto& halves = halves_[rank];
  auto at = std::lower_bound(halves.begin(), halves.end(), end,
                             [](const Half& h, Duration e) { return h.end < e; });
  for (; at != halves.end() && at->end == end; ++at) {
    if (at->sent && at->other_begin > end) continue;
    const Duration until = std::clamp(at->other_begin, begin, end);
    if (last.peer < 0 || until > last.until) last = {at->peer, until};
  }
  return last;
}

}  // namespace cox::diagnose
