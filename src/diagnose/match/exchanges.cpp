// SPDX-License-Identifier: Apache-2.0
#include "diagnose/match/exchanges.hpp"

#include <algorithm>

#include "diagnose/match/span_math.hpp"

namespace cox::diagnose {
namespace {

/// Fewer are no repetition that anything could be told from.
constexpr std::size_t kLeastExchanges = 10;
/// Of the time in which messages pass, one part in so many must lie between two collectives: where these come
/// more often, there are enough of them to tell who is late.
constexpr int kStretch = 25;
/// Ranks whose last message differs by more than one in so many, and by more than two, do different things.
constexpr std::uint32_t kAlike = 50;

struct Numbered {
  std::uint32_t number = 0;
  std::size_t event = 0;
};

/// First call of each message number of a rank, ascending.
std::vector<Numbered> numbers_of(const MessageWaits& waits, std::size_t rank) {
  std::vector<Numbered> all;
  std::uint32_t highest = 0;
  for (const MessageWait& wait : waits.of(rank)) {
    if (wait.end == trace::kStillRunning) continue;
    std::uint32_t number = 0;
    for (const AwaitedMessages& a : waits.awaited(rank, wait)) number = std::max(number, a.received);
    if (number <= highest) continue;
    highest = number;
    all.push_back({number, wait.event});
  }
  return all;
}

/// Whether a long stretch of the time in which a rank exchanges messages holds no collective.
bool mostly_messages(const trace::EventColumns& e, Duration from, Duration to) {
  Duration longest{};
  Duration last = from;
  for (std::size_t i = 0; i < e.size(); ++i) {
    if (e.kind[i] != trace::EventKind::Collective || e.begin[i] < from || e.begin[i] > to) continue;
    longest = std::max(longest, minus_clamped(e.begin[i], last));
    last = e.begin[i];
  }
  longest = std::max(longest, minus_clamped(to, last));
  return longest > minus_clamped(to, from) / kStretch;
}

bool alike(const std::vector<std::vector<Numbered>>& numbers) {
  std::uint32_t least = numbers.front().back().number;
  std::uint32_t most = least;
  for (const auto& mine : numbers) {
    least = std::min(least, mine.back().number);
    most = std::max(most, mine.back().number);
  }
  return most - least <= std::max(2U, most / kAlike);
}

std::vector<std::uint32_t> common(const std::vector<std::vector<Numbered>>& numbers) {
  std::vector<std::uint32_t> kept;
  for (const Numbered& n : numbers.front()) kept.push_back(n.number);
  for (const auto& mine : numbers) {
    auto at = mine.begin();
    std::erase_if(kept, [&](std::uint32_t number) {
      while (at != mine.end() && at->number < number) ++at;
      return at == mine.end() || at->number != number;
    });
  }
  return kept;
}

/// Whether those that wait for a server get what they wait for when all of them have come, as where it sums what they bring; else
/// each goes at a pace of its own.
bool waits_for_all(const trace::Run& run, const std::vector<std::vector<Numbered>>& numbers,
                   const std::vector<std::uint32_t>& told, std::size_t server) {
  constexpr double kMostly = 0.9;
  std::vector<std::vector<Numbered>::const_iterator> at;
  for (const auto& mine : numbers) at.push_back(mine.begin());
  std::size_t together = 0;
  for (const std::uint32_t number : told) {
    Duration last_came = Duration::min();
    Duration first_left = Duration::max();
    for (std::size_t r = 0; r < numbers.size(); ++r) {
      while (at[r]->number < number) ++at[r];
      if (r == server) continue;
      last_came = std::max(last_came, run.ranks[r].events.begin[at[r]->event]);
      first_left = std::min(first_left, run.ranks[r].events.end[at[r]->event]);
    }
    together += first_left >= last_came ? 1 : 0;
  }
  return static_cast<double>(together) >= kMostly * static_cast<double>(told.size());
}

}  // namespace

void find_exchanges(const trace::Run& run, const MessageWaits& waits, std::vector<RankScan>& scans) {
  if (scans.size() < 2) return;
  std::vector<std::vector<Numbered>> numbers;
  for (std::size_t r = 0; r < scans.size(); ++r) {
    if (scans[r].program_waits) return;
    numbers.push_back(numbers_of(waits, r));
    const auto& mine = numbers.back();
    if (mine.size() < kLeastExchanges) return;
    const trace::EventColumns& e = run.ranks[r].events;
    if (!mostly_messages(e, e.begin[mine.front().event], e.begin[mine.back().event])) return;
  }
  if (!alike(numbers)) return;
  const std::vector<std::uint32_t> told = common(numbers);
  if (told.size() < kLeastExchanges) return;
  if (const auto server = waits.server(); server && !waits_for_all(run, numbers, told, *server)) return;
  for (std::size_t r = 0; r < scans.size(); ++r) {
    auto at = numbers[r].begin();
    for (std::size_t op = 0; op < told.size(); ++op) {
      while (at->number < told[op]) ++at;
      scans[r].exchanges.push_back({at->event, static_cast<std::int64_t>(op)});
    }
  }
}

}  // namespace cox::diagnose
