// SPDX-License-Identifier: Apache-2.0
#include "diagnose/verdict/of_messages.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "cox/base/stats.hpp"

#include "diagnose/match/message_waits.hpp"

namespace cox::diagnose {
namespace {

constexpr std::size_t kLeastTurns = 20;
constexpr double kLonger = 1.2;
constexpr double kLeastPart = 0.05;  // of a turn and its wait
constexpr double kQuarter = 0.25;
constexpr double kChance = 1e-4;
constexpr double kServerWorks = 0.5;
constexpr double kServerHolds = 0.2;

/// The waits of a rank that ended, in order.
std::vector<MessageWait> ended_waits(const Matched& matched, std::size_t rank) {
  std::vector<MessageWait> out;
  for (const MessageWait& w : matched.message_waits().of(rank))
    if (w.end != trace::kStillRunning) out.push_back(w);
  return out;
}

/// Whether a call ends with a message that came, and not only with those that left; without numbers each is taken for one.
bool receives(std::span<const AwaitedMessages> all) {
  return std::ranges::any_of(all, [](const AwaitedMessages& a) { return a.received > 0; }) ||
         std::ranges::none_of(all, [](const AwaitedMessages& a) { return a.sent > 0; });
}

struct OfRank {
  std::vector<MessageWait> waits;
  std::vector<double> turns;  ///< seconds
  [[nodiscard]] Duration time() const { return waits.back().end - waits.front().begin; }
};

OfRank look_at(const Matched& matched, std::size_t rank) {
  OfRank r{.waits = ended_waits(matched, rank), .turns = {}};
  std::optional<Duration> turn;  // none before the first message
  for (std::size_t i = 0; i < r.waits.size(); ++i) {
    if (turn && i > 0) *turn += r.waits[i].begin - r.waits[i - 1].end;
    if (!receives(matched.message_waits().awaited(rank, r.waits[i]))) continue;
    if (turn) r.turns.push_back(in_seconds(*turn));
    turn = Duration{};
  }
  return r;
}

/// Of the time from `begin` to `end`, what lies in waits of the server.
Duration waited_within(std::span<const MessageWait> server, Duration begin, Duration end) {
  auto at = std::upper_bound(server.begin(), server.end(), begin,
                             [](Duration t, const MessageWait& w) { return t < w.end; });
  Duration sum{};
  for (; at != server.end() && at->begin < end; ++at)
    sum += std::max(Duration{}, std::min(at->end, end) - std::max(at->begin, begin));
  return sum;
}

/// Of a worker's time, what it waited for the server while that worked.
double held_by(const OfRank& server, const OfRank& worker) {
  Duration held{};
  for (const MessageWait& w : worker.waits) {
    const Duration until = std::clamp(w.until, w.begin, w.end);
    // Before its first wait and behind its last one it is not known what it did.
    const Duration from = std::max(w.begin, server.waits.front().begin);
    const Duration to = std::min(until, server.waits.back().end);
    if (from < to) held += to - from - waited_within(server.waits, from, to);
  }
  return worker.time() > Duration{} ? ratio(held, worker.time()) : 0;
}

Finding finding_of(Rank rank, const MessageEvidence& e, double at_most) {
  Finding f;
  f.kind = FindingKind::SlowRank;
  f.ranks = {rank};
  f.rank = rank;
  f.gain_at_most = std::min(at_most, 1.0);
  f.evidence = e;
  return f;
}

std::optional<Finding> slow_server(const Matched& matched, const std::vector<OfRank>& ranks, std::size_t s) {
  const OfRank& server = ranks[s];
  if (!matched.clocks_comparable() || server.time() <= Duration{}) return std::nullopt;
  double sum = 0;
  for (const double t : server.turns) sum += t;
  MessageEvidence e{.is_server = true,
                    .work = duration_from_seconds(quantile(server.turns, 0.5)),
                    .turns = std::ssize(server.turns),
                    .busy_ratio = sum / in_seconds(server.time())};
  for (std::size_t r = 0; r < ranks.size(); ++r)
    if (r != s) e.held_ratio = std::max(e.held_ratio, held_by(server, ranks[r]));
  if (e.busy_ratio <= kServerWorks || e.held_ratio < kServerHolds) return std::nullopt;
  return finding_of(matched.rank(s), e, e.held_ratio);
}

/// Of the workers, ascending: medians of their turns, and what three of four of a worker's turns do not exceed.
struct Workers {
  std::vector<double> medians;
  std::vector<double> upper;
};
Workers workers_of(const std::vector<OfRank>& ranks, std::size_t server) {
  Workers all;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (r == server) continue;
    all.medians.push_back(quantile(ranks[r].turns, 0.5));
    all.upper.push_back(quantile(ranks[r].turns, 1 - kQuarter));
  }
  std::ranges::sort(all.medians);
  std::ranges::sort(all.upper);
  return all;
}

/// Of sorted values without `one` of them.
double median_without(std::span<const double> sorted, double one) {
  const auto skipped = static_cast<std::size_t>(std::ranges::lower_bound(sorted, one) - sorted.begin());
  const auto at = [&](std::size_t i) { return sorted[i < skipped ? i : i + 1]; };
  const std::size_t left = sorted.size() - 1;
  return (at((left - 1) / 2) + at(left / 2)) / 2;
}

std::optional<Finding> slow_worker(const Matched& matched, const std::vector<OfRank>& ranks,
                                   const Workers& workers, std::size_t r) {
  constexpr std::size_t kLeastWorkers = 3;  // of two neither is the usual one
  if (workers.medians.size() < kLeastWorkers) return std::nullopt;
  const std::vector<double>& own = ranks[r].turns;
  const double work = quantile(own, 0.5);
  const double others = median_without(workers.medians, work);
  const double upper = median_without(workers.upper, quantile(own, 1 - kQuarter));
  const auto longer = std::count_if(own.begin(), own.end(), [&](double t) { return t > upper; });
  const double cycle = in_seconds(ranks[r].time()) / static_cast<double>(own.size());
  const double chance = binomial_upper_tail(longer, std::ssize(own), kQuarter);
  if (work < kLonger * others || work - others < kLeastPart * cycle ||
      chance * static_cast<double>(ranks.size() - 1) >= kChance)
    return std::nullopt;
  double excess = 0;
  for (const double t : own) excess += std::max(0.0, t - others);
  return finding_of(matched.rank(r),
                    {.is_server = false,
                     .work = duration_from_seconds(work),
                     .others = duration_from_seconds(others),
                     .turns = std::ssize(own),
                     .longer = longer},
                    excess / in_seconds(ranks[r].time()));
}

}  // namespace

std::vector<Finding> findings_of_messages(const Matched& matched) {
  const auto server = matched.message_waits().server();
  if (!server) return {};
  std::vector<OfRank> ranks;
  for (std::size_t r = 0; r < matched.ranks(); ++r) ranks.push_back(look_at(matched, r));
  if (std::ranges::any_of(ranks, [](const OfRank& r) { return r.turns.size() < kLeastTurns; })) return {};
  std::vector<Finding> found;
  const Workers workers = workers_of(ranks, *server);
  for (std::size_t r = 0; r < ranks.size(); ++r)
    if (r != *server)
      if (auto f = slow_worker(matched, ranks, workers, r)) found.push_back(*std::move(f));
  std::stable_sort(found.begin(), found.end(),
                   [](const Finding& a, const Finding& b) { return *a.gain_at_most > *b.gain_at_most; });
  if (auto f = slow_server(matched, ranks, *server)) found.insert(found.begin(), *std::move(f));
  return found;
}

}  // namespace cox::diagnose
