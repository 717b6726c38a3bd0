// SPDX-License-Identifier: Apache-2.0
#include "diagnose/match/account.hpp"

#include <algorithm>
#include <span>

#include "cox/base/parallel.hpp"
#include "cox/base/stats.hpp"

#include "diagnose/match/coverage.hpp"
#include "diagnose/match/span_math.hpp"

namespace cox::diagnose {
namespace {

/// Median over ranks of each step's length, so that it does not depend on clocks being comparable.
std::vector<Duration> times_of(const Steps& steps, int threads) {
  constexpr std::int64_t kBlock = 64;
  const std::size_t ranks = steps.bounds.size();
  std::vector<Duration> times(static_cast<std::size_t>(steps.count));
  parallel_for(static_cast<std::size_t>((steps.count + kBlock - 1) / kBlock), threads, [&](std::size_t b) {
    std::vector<Duration> block(static_cast<std::size_t>(kBlock) * ranks);
    const std::int64_t from = static_cast<std::int64_t>(b) * kBlock;
    const std::int64_t to = std::min(steps.count, from + kBlock);
    for (std::size_t r = 0; r < ranks; ++r)
      for (std::int64_t s = from; s < to; ++s)
        block[static_cast<std::size_t>(s - from) * ranks + r] = minus_clamped(
            steps.bounds[r][static_cast<std::size_t>(s) + 1], steps.bounds[r][static_cast<std::size_t>(s)]);
    for (std::int64_t s = from; s < to; ++s)
      times[static_cast<std::size_t>(s)] =
          lower_median_in_place(std::span(block).subspan(static_cast<std::size_t>(s - from) * ranks, ranks));
  });
  return times;
}

StepSpread spread_of(const std::vector<Duration>& times) {
  StepSpread spread;
  spread.count = static_cast<std::int64_t>(times.size());
  if (times.empty()) return spread;
  std::vector<double> seconds;
  Welford moments;
  for (const Duration t : times) {
    seconds.push_back(in_seconds(t));
    moments.add(in_seconds(t));
  }
  spread.median = duration_from_seconds(median_in_place(seconds));
  spread.p05 = duration_from_seconds(quantile_in_place(seconds, 0.05));
  spread.p95 = duration_from_seconds(quantile_in_place(seconds, 0.95));
  spread.cv = moments.cv();
  return spread;
}

Duration run_time_of(const Matching& m, bool comparable) {
  Duration first = Duration::max();
  Duration last = Duration::min();
  Duration longest{};
  for (const Matching::Totals& t : m.totals) {
    if (t.points == 0 && t.last_exit <= t.first_entry) continue;
    first = std::min(first, t.first_entry);
    last = std::max(last, t.last_exit);
    longest = std::max(longest, minus_clamped(t.last_exit, t.first_entry));
  }
  return comparable && last > first ? minus_clamped(last, first) : longest;
}

/// What of the run time lies outside of each rank's own part of it.
std::vector<Duration> outside_of(const Matching& m, Duration run_time) {
  std::vector<Duration> outside;
  outside.reserve(m.totals.size());
  for (const Matching::Totals& t : m.totals)
    outside.push_back(
        positive_part(minus_clamped(run_time, positive_part(minus_clamped(t.last_exit, t.first_entry)))));
  return outside;
}

/// Time in waits for messages after the last of the peers had sent.
Duration transfers_of_messages(const Matched& matched, std::size_t rank) {
  Duration sum{};
  for (const MessageWait& wait : matched.message_waits().of(rank))
    if (wait.end != trace::kStillRunning) add_to(sum, minus_clamped(wait.end, wait.until));
  return sum;
}

std::vector<RankAccount> accounts_of(const Matched& matched, const StepTable& delays, int threads) {
  const Matching& m = matched.operations();
  const Skew& skew = matched.skew();
  std::vector<RankAccount> accounts(matched.ranks());
  parallel_for(accounts.size(), threads, [&](std::size_t r) {
    RankAccount& a = accounts[r];
    a.rank = matched.rank(r);
    a.work = m.totals[r].work;
    a.wait = skew.wait_total[r];
    a.transfer = minus_clamped(m.totals[r].inside, a.wait);
    const Duration moved = std::min(transfers_of_messages(matched, r), m.totals[r].messages);
    a.message_wait = minus_clamped(m.totals[r].messages, moved);
    add_to(a.transfer, moved);
    a.charged = skew.charged[r];
    if (skew.compared[r] > 0)
      a.last_share = static_cast<double>(skew.last[r]) / static_cast<double>(skew.compared[r]);
    a.collectives = matched.scan(r).collectives;
    a.steps = matched.steps().found[r];
    std::vector<Duration> row = delays[r];
    for (const Duration d : row) add_to(a.self_delay, positive_part(d));
    if (!row.empty()) a.self_delay_median = lower_median_in_place(row);
  });
  return accounts;
}

}  // namespace

TimeAccount account_for(const Matched& matched, const StepTable& delays, int threads) {
  TimeAccount out;
  out.run_time = run_time_of(matched.operations(), matched.clocks_comparable());
  out.outside = outside_of(matched.operations(), out.run_time);
  out.step_times = times_of(matched.steps(), threads);
  out.step_time = spread_of(out.step_times);
  out.ranks = accounts_of(matched, delays, threads);
  out.communicators = account_communicators(matched);
  return out;
}

const char* name_of(StepSource s) {
  switch (s) {
    case StepSource::Marks:
      return "marks";
    case StepSource::Period:
      return "period";
    case StepSource::EachSync:
      return "each_sync";
    case StepSource::None:
      return "none";
  }
  return "none";
}

}  // namespace cox::diagnose
