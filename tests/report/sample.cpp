// SPDX-License-Identifier: Apache-2.0
#include "report/sample.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "cox/base/stats.hpp"

namespace cox::test {
namespace {

using trace::EventKind;

Duration middle(std::vector<double> seconds) {
  return duration_from_seconds(median_in_place(seconds));
}

/// Latest entry of each operation, by communicator and position.
std::map<std::pair<std::int32_t, std::uint32_t>, Duration> latest_entries(const trace::Run& run) {
  std::map<std::pair<std::int32_t, std::uint32_t>, Duration> latest;
  for (const trace::RankTrack& track : run.ranks) {
    const trace::EventColumns& e = track.events;
    for (std::size_t i = 0; i < e.size(); ++i) {
      if (e.kind[i] != EventKind::Collective) continue;
      const auto [at, fresh] = latest.emplace(std::pair{e.comm[i].value(), e.seq[i]}, e.begin[i]);
      if (!fresh) at->second = std::max(at->second, e.begin[i]);
    }
  }
  return latest;
}

}  // namespace

diagnose::Diagnosis sample_diagnosis(const trace::Run& run) {
  diagnose::Diagnosis d;
  d.wait_method = diagnose::WaitMethod::Clock;
  d.step_source = diagnose::StepSource::Marks;
  d.lead = d.verdict = "Own work differs little between the ranks; what is lost is spread over all of them.";
  const auto latest = latest_entries(run);
  std::vector<std::vector<Duration>> work_by_step;
  std::vector<std::vector<Duration>> wait_by_step;
  std::size_t steps = 0;
  for (const trace::RankTrack& track : run.ranks) {
    const trace::EventColumns& e = track.events;
    std::size_t begins = 0;
    std::vector<Duration> waits, works;
    diagnose::RankAccount account;
    account.rank = track.rank;
    Duration last_end{};
    for (std::size_t i = 0; i < e.size(); ++i) {
      if (e.kind[i] == EventKind::Step) {
        ++begins;
        waits.emplace_back();
        works.emplace_back();
        last_end = e.begin[i];
      }
      if (e.kind[i] != EventKind::Collective || begins == 0 || e.end[i] == trace::kStillRunning) continue;
      const Duration all_in = std::clamp(latest.at({e.comm[i].value(), e.seq[i]}), e.begin[i], e.end[i]);
      waits.back() += all_in - e.begin[i];
      works.back() += e.begin[i] - last_end;
      account.transfer += e.end[i] - all_in;
      account.last_share += all_in == e.begin[i] ? 1.0 : 0.0;
      ++account.collectives;
      last_end = e.end[i];
    }
    for (const Duration w : waits) account.wait += w;
    for (const Duration w : works) account.work += w;
    account.last_share /= static_cast<double>(std::max<std::int64_t>(account.collectives, 1));
    account.steps = static_cast<std::int64_t>(begins);
    d.ranks.push_back(account);
    steps = begins;
    wait_by_step.push_back(std::move(waits));
    work_by_step.push_back(std::move(works));
  }
  std::vector<double> times;
  for (std::size_t s = 0; s < steps; ++s) {
    std::vector<double> works;
    Duration longest{};
    for (std::size_t r = 0; r < d.ranks.size(); ++r) {
      works.push_back(in_seconds(work_by_step[r][s]));
      longest = std::max(longest, work_by_step[r][s] + wait_by_step[r][s]);
    }
    const Duration usual = middle(works);
    const auto last = std::max_element(works.begin(), works.end()) - works.begin();
    for (std::size_t r = 0; r < d.ranks.size(); ++r) {
      d.ranks[r].self_delay += std::max(work_by_step[r][s] - usual, Duration::zero());
    }
    const Duration late = work_by_step[static_cast<std::size_t>(last)][s] - usual;
    d.ranks[static_cast<std::size_t>(last)].charged += late;
    d.lost += late;
    longest += d.ranks.front().transfer / std::max<std::int64_t>(d.ranks.front().steps, 1);
    d.step_times.push_back(longest);
    d.run_time += longest;
    times.push_back(in_seconds(longest));
  }
  for (std::size_t r = 0; r < d.ranks.size() && steps > 0; ++r) {
    d.ranks[r].self_delay_median = d.ranks[r].self_delay / static_cast<std::int64_t>(steps);
  }
  d.steps = static_cast<std::int64_t>(steps);
  d.step_time = {duration_from_seconds(quantile(times, 0.5)), duration_from_seconds(quantile(times, 0.05)),
                 duration_from_seconds(quantile(times, 0.95)), 0.01, d.steps};
  d.coverage.ratio = 1;
  d.coverage.ranks_seen = d.coverage.ranks_expected = static_cast<std::int64_t>(run.ranks.size());
  d.coverage.collectives_seen = d.coverage.collectives_matched = static_cast<std::int64_t>(latest.size());
  for (const diagnose::RankAccount& a : d.ranks) d.coverage.calls_seen += a.collectives;
  d.coverage.calls_expected = d.coverage.calls_seen;
  d.coverage.clock_domains = static_cast<std::int64_t>(run.nodes.size());
  d.coverage.clocks_comparable = run.nodes.size() <= 1;
  d.coverage.clock_residual = std::chrono::nanoseconds{180};
  for (const trace::Communicator& comm : run.communicators) {
    d.communicators.push_back({comm.id, comm.name, comm.size, static_cast<std::int64_t>(latest.size()),
                               Bytes{25'000'000} * static_cast<std::int64_t>(latest.size())});
  }
  d.cannot_tell = {
      "Why a rank works longer: no counters or stacks were recorded.",
      "Whether the network slows the transfer: there is no run on an idle network to compare with."};
  return d;
}

diagnose::Finding slow_rank_finding(int rank) {
  diagnose::Finding f;
  f.kind = diagnose::FindingKind::SlowRank;
  f.rank = Rank{rank};
  f.ranks = {Rank{rank}};
  f.share_ratio = 0.931;
  f.gain_ratio = 0.274;
  diagnose::LateEvidence e;
  e.self_delay = std::chrono::microseconds{4020};
  e.self_delay_ratio = 0.38;
  e.late_steps = 296;
  e.steps = 300;
  e.chance = 1e-6;
  f.evidence = e;
  return f;
}

diagnose::Finding slow_transfers_finding(const std::string& type) {
  diagnose::Finding f;
  f.kind = diagnose::FindingKind::SlowGroup;
  f.ranks = {Rank{0}, Rank{1}};
  f.cause = diagnose::Cause::Communication;
  diagnose::OperationFinding slow;
  slow.cause = diagnose::OperationCause::Communication;
  slow.communication_share = 0.8;
  slow.slowest_type = type;
  slow.slowest_type_slowdown = 1.5;
  f.evidence = diagnose::OperationEvidence{slow, 0.01};
  return f;
}

}  // namespace cox::test
