// SPDX-License-Identifier: Apache-2.0
#include "diagnose/verdict/of_messages.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
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
constexpr double kPartOfMessage = 0.05;  // of the mean turn: less is between parts of one message

/// Logarithms of a worker's turns, and how much each is like those before it: correlations.
struct Memory {
  double mean = 0;
  double variance = 0;
  double next = 0;   ///< correlation of a turn with the one behind it
  double after = 0;  ///< with the one behind that
  Memory& operator+=(const Memory& other) {
    mean += other.mean;
    variance += other.variance;
    next += other.next;
    after += other.after;
    return *this;
  }
};

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
  Duration time{};            ///< from its first wait to its last, or of all steps
};

/// Between the parts of one message, which come one behind the other, no work is done: turns much shorter than the others.
std::vector<double> without_parts_of_messages(const std::vector<double>& turns) {
  double sum = 0;
  for (const double t : turns) sum += t;
  const double least = kPartOfMessage * sum / static_cast<double>(std::max<std::size_t>(turns.size(), 1));
  std::vector<double> out;
  std::ranges::copy_if(turns, std::back_inserter(out), [least](double t) { return t >= least; });
  return out;
}

/// Waits of several threads lie beside each other: what a rank did between them is not known.
bool on_several_threads(const Matched& matched, std::size_t rank) {
  const auto waits = matched.message_waits().of(rank);
  const auto& thread = matched.track(rank).events.thread;
  return std::ranges::any_of(
      waits, [&](const MessageWait& w) { return thread[w.event] != thread[waits.front().event]; });
}

OfRank look_at(const Matched& matched, std::size_t rank) {
  OfRank r{.waits = ended_waits(matched, rank), .turns = {}};
  if (!r.waits.empty()) r.time = r.waits.back().end - r.waits.front().begin;
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

/// What its ways forth and back take of each of its steps; no turns where it marks no steps, or not both ways.
OfRank look_at_phases(const Matched& matched, std::size_t rank) {
  OfRank r;
  bool forth = false, back = false;
  std::optional<Duration> first, work;  // none before the first step
  const trace::EventColumns& events = matched.track(rank).events;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events.kind[i] == trace::EventKind::Step) {
      if (work) r.turns.push_back(in_seconds(*work));
      if (!first) first = events.begin[i];
      r.time = events.begin[i] - *first;
      work = Duration{};
    }
    const auto phase = static_cast<trace::PhaseKind>(events.op[i]);
    if (events.kind[i] != trace::EventKind::Phase || !work || events.end[i] == trace::kStillRunning) continue;
    if (phase != trace::PhaseKind::Forward && phase != trace::PhaseKind::Backward) continue;
    *work += events.end[i] - events.begin[i];
    (phase == trace::PhaseKind::Forward ? forth : back) = true;
  }
  if (!forth || !back) r.turns.clear();
  return r;
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
  return worker.time > Duration{} ? ratio(held, worker.time) : 0;
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

/// Time that a rank was ready to run and had no CPU, by the samples of its main thread; none where there are none.
Duration without_cpu(const Matched& matched, std::size_t rank) {
  const auto& samples = matched.track(rank).samples;
  if (samples.size() < 2 || !samples.front().main_wait || !samples.back().main_wait) return {};
  return std::max(*samples.back().main_wait - *samples.front().main_wait, Duration{});
}

std::optional<Finding> slow_server(const Matched& matched, const std::vector<OfRank>& ranks, std::size_t s) {
  const OfRank& server = ranks[s];
  if (!matched.clocks_comparable() || server.time <= Duration{}) return std::nullopt;
  double sum = 0;
  for (const double t : server.turns) sum += t;
  // It may have lacked a CPU in its waits, too: then it works more than is said here, and is not named for it.
  const double lacked = in_seconds(without_cpu(matched, s));
  const double works = sum > 0 ? std::max(sum - lacked, 0.0) / sum : 0;
  MessageEvidence e{.is_server = true,
                    .work = duration_from_seconds(quantile(server.turns, 0.5)),
                    .turns = std::ssize(server.turns),
                    .busy_ratio = works * sum / in_seconds(server.time)};
  for (std::size_t r = 0; r < ranks.size(); ++r)
    if (r != s) e.held_ratio = std::max(e.held_ratio, works * held_by(server, ranks[r]));
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

/// Of all workers, or, where too few turns would be left of one, of none.
void drop_parts_of_messages(std::vector<OfRank>& ranks, std::size_t server) {
  std::vector<std::vector<double>> without;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    without.push_back(r == server ? ranks[r].turns : without_parts_of_messages(ranks[r].turns));
    if (without.back().size() < kLeastTurns) return;
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) ranks[r].turns = std::move(without[r]);
}

/// Of sorted values without `one` of them.
double median_without(std::span<const double> sorted, double one) {
  const auto skipped = static_cast<std::size_t>(std::ranges::lower_bound(sorted, one) - sorted.begin());
  const auto at = [&](std::size_t i) { return sorted[i < skipped ? i : i + 1]; };
  const std::size_t left = sorted.size() - 1;
  return (at((left - 1) / 2) + at(left / 2)) / 2;
}

/// Formula: r_k = sum of (x_i - mean)(x_i+k - mean) over that of k = 0; of n turns it is too small by (1 + 3 r) / n, which is put back
/// (Marriott and Pope 1954, for k = 1; for 2 as well).
Memory memory_of(const std::vector<double>& turns) {
  Welford all;
  std::vector<double> x;
  x.reserve(turns.size());
  for (const double t : turns) x.push_back(std::log(std::max(t, 1e-9)));
  for (const double v : x) all.add(v);
  double none = 0, one = 0, two = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double here = x[i] - all.mean();
    none += here * here;
    if (i + 1 < x.size()) one += here * (x[i + 1] - all.mean());
    if (i + 2 < x.size()) two += here * (x[i + 2] - all.mean());
  }
  const auto n = static_cast<double>(x.size());
  Memory out{.mean = all.mean(), .variance = none / std::max(n - 1, 1.0)};
  if (none <= 0 || n < 6) return out;
  const auto whole = [n](double r) { return (r + 1 / n) / (1 - 3 / n); };
  out.next = whole(one / none);
  out.after = whole(two / none);
  return out;
}

/// The workers but one: whether it is unlike them is asked of what they are.
struct Usual {
  double mean = 0;      ///< of the logarithm of their turns
  double variance = 0;  ///< of a turn's, about its worker's mean
  double workers = 0;
  double in_one = 1;  ///< turns in a row that tell as much as one
};

/// Formula: turns in one = 1 + 2 r1 / (1 - phi): noise on an autoregression, phi = r2 / r1 where both are more than twice their error, else
/// r1, at most 0.99; 1 where r1 is less than that. `all`: sums over all workers.
Usual usual_beside(const Memory& all, std::size_t workers, const Memory& own, std::size_t turns) {
  constexpr double kMost = 0.99;
  Usual out;
  out.workers = static_cast<double>(workers) - 1;
  if (workers < 2) return out;
  out.mean = (all.mean - own.mean) / out.workers;
  out.variance = std::max((all.variance - own.variance) / out.workers, 0.0);
  const double next = std::min((all.next - own.next) / out.workers, kMost);
  const double after = (all.after - own.after) / out.workers;
  const double error = 2 / std::sqrt(out.workers * static_cast<double>(turns));
  if (next < error) return out;
  out.in_one = 1 + 2 * next / (1 - (after < error ? next : std::clamp(after / next, next, kMost)));
  return out;
}

/// Whether a worker's turns are longer by more than chance makes them: more of them than three of four of another's, or, in logarithms, by
/// `kFarOff` errors of a difference of means. Of turns that know of each other as many are counted as do not.
bool beyond_chance(const Memory& own, std::int64_t turns, std::int64_t longer, const Usual& usual,
                   std::size_t workers) {
  constexpr double kFarOff = 5;
  const double n = static_cast<double>(turns) / usual.in_one;
  const double chance =
      binomial_upper_tail(static_cast<std::int64_t>(static_cast<double>(longer) / usual.in_one),
                          static_cast<std::int64_t>(n), kQuarter);
  if (chance * static_cast<double>(workers) < kChance) return true;
  const double error = std::sqrt(usual.variance * (1 + 1 / usual.workers) / std::max(n, 1.0));
  return own.mean - usual.mean > kFarOff * error;
}

std::optional<Finding> slow_worker(const Matched& matched, const std::vector<OfRank>& ranks,
                                   const Workers& workers, std::size_t r, const Memory& own_memory,
                                   const Usual& usual, bool of_phases) {
  constexpr std::size_t kLeastWorkers = 3;  // of two neither is the usual one
  if (workers.medians.size() < kLeastWorkers) return std::nullopt;
  const std::vector<double>& own = ranks[r].turns;
  const double work = quantile(own, 0.5);
  const double others = median_without(workers.medians, work);
  const double upper = median_without(workers.upper, quantile(own, 1 - kQuarter));
  const auto longer = std::count_if(own.begin(), own.end(), [&](double t) { return t > upper; });
  const double cycle = in_seconds(ranks[r].time) / static_cast<double>(own.size());
  if (work < kLonger * others || work - others < kLeastPart * cycle ||
      !beyond_chance(own_memory, std::ssize(own), longer, usual, workers.medians.size()))
    return std::nullopt;
  double excess = 0;
  for (const double t : own) excess += std::max(0.0, t - others);
  return finding_of(matched.rank(r),
                    {.is_server = false,
                     .of_phases = of_phases,
                     .work = duration_from_seconds(work),
                     .others = duration_from_seconds(others),
                     .turns = std::ssize(own),
                     .longer = longer},
                    excess / in_seconds(ranks[r].time));
}

}  // namespace

bool are_stages(const Matched& matched) {
  if (matched.ranks() < 2 || !matched.message_waits().any()) return false;
  for (std::size_t r = 0; r < matched.ranks(); ++r)
    if (matched.scan(r).collectives > 0 || !matched.scan(r).waits.empty() ||
        look_at_phases(matched, r).turns.empty())
      return false;
  return true;
}

std::vector<Finding> findings_of_messages(const Matched& matched) {
  std::vector<OfRank> ranks;
  const bool of_phases = are_stages(matched);
  std::size_t server = matched.ranks();  // nobody
  if (!of_phases) {
    const auto found = matched.message_waits().server();
    if (!found) return {};
    server = *found;
  }
  for (std::size_t r = 0; r < matched.ranks(); ++r) {
    if (!of_phases && on_several_threads(matched, r)) return {};
    ranks.push_back(of_phases ? look_at_phases(matched, r) : look_at(matched, r));
  }
  if (!of_phases) drop_parts_of_messages(ranks, server);
  if (std::ranges::any_of(ranks, [](const OfRank& r) { return r.turns.size() < kLeastTurns; })) return {};
  std::vector<Finding> found;
  const Workers workers = workers_of(ranks, server);
  std::vector<Memory> memories;
  Memory all;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    memories.push_back(memory_of(ranks[r].turns));
    if (r != server) all += memories.back();
  }
  for (std::size_t r = 0; r < ranks.size(); ++r)
    if (r != server)
      if (auto f = slow_worker(matched, ranks, workers, r, memories[r],
                               usual_beside(all, workers.medians.size(), memories[r], ranks[r].turns.size()),
                               of_phases))
        found.push_back(*std::move(f));
  std::stable_sort(found.begin(), found.end(),
                   [](const Finding& a, const Finding& b) { return *a.gain_at_most > *b.gain_at_most; });
  if (server < ranks.size())
    if (auto f = slow_server(matched, ranks, server)) found.insert(found.begin(), *std::move(f));
  return found;
}

}  // namespace cox::diagnose
