// SPDX-License-Identifier: Apache-2.0
// Jobs over several hosts whose clocks are known, through `assemble`: does it find them again?
#include "trace/run/host_clocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include "trace/run/assemble.hpp"

namespace cox::trace {
namespace {

using namespace std::chrono_literals;

/// A host: where its clocks are at the job's start, and how fast the monotonic one runs.
struct Host {
  double monotonic_s = 1000;
  double drift_ppm = 0;
  double realtime_error_s = 0;
};

struct Job {
  std::vector<Host> hosts{};
  int ranks_per_host = 2;
  double seconds = 60;
  double work_s = 10e-3;
  double jitter_s = 0.3e-3;   ///< of the work, normal
  double latency_s = 30e-6;   ///< least, one way between hosts
  double queueing_s = 20e-6;  ///< mean of what comes on top, exponential
  double preempted = 0;       ///< share of the returns that come 1 to 4 ms late
  double busy_from_s = 1e9;   ///< from then on returns come up to 20 ms late, most of them, unevenly by host
  int slow_rank = -1;
  double slow_s = 3e-3;
  double wander_s = 0;  ///< amplitude of the second host's clock around its line, one period over the job
  model::Collective op = model::Collective::AllReduce;
  std::vector<std::vector<int>> groups{};  ///< ranks; all together where empty
  std::uint64_t seed = 1;
};

std::vector<ProcessFile> processes_of(const Job& job) {
  std::mt19937_64 random(job.seed);
  std::normal_distribution<double> jitter(0, 1);
  std::exponential_distribution<double> queue(1);
  std::uniform_real_distribution<double> uniform(0, 1);
  const auto n = static_cast<int>(job.hosts.size()) * job.ranks_per_host;
  std::vector<std::vector<int>> groups = job.groups;
  if (groups.empty()) {
    groups.emplace_back();
    for (int r = 0; r < n; ++r) groups.back().push_back(r);
  }
  const auto shown = [&](int rank, double t) {
    const Host& h = job.hosts[static_cast<std::size_t>(rank / job.ranks_per_host)];
    double m = t * (1 + h.drift_ppm * 1e-6);
    if (rank / job.ranks_per_host == 1) m += job.wander_s * std::sin(2 * 3.14159265358979 * t / job.seconds);
    return duration_from_seconds(m);
  };
  std::vector<ProcessFile> out(static_cast<std::size_t>(n));
  for (int r = 0; r < n; ++r) {
    ProcessFile& p = out[static_cast<std::size_t>(r)];
    const int node = r / job.ranks_per_host;
    const Host& h = job.hosts[static_cast<std::size_t>(node)];
    p.file = "rank" + std::to_string(r);
    p.rank = r;
    p.world_size = n;
    p.pid = 100 + r;
    p.host = "host" + std::to_string(node);
    p.boot_id = "boot" + std::to_string(node);
    p.aligned = true;
    p.reference_ns = std::llround(h.monotonic_s * 1e9);
    p.realtime_offset_ns = std::llround((1.7e9 + h.realtime_error_s - h.monotonic_s) * 1e9);
    for (std::size_t g = 0; g < groups.size(); ++g)
      if (std::find(groups[g].begin(), groups[g].end(), r) != groups[g].end())
        p.communicators.push_back({.identity = 7 + g,
                                   .local_number = static_cast<std::uint32_t>(g + 1),
                                   .size = static_cast<int>(groups[g].size()),
                                   .my_rank = 0,
                                   .members = {groups[g].begin(), groups[g].end()},
                                   .name = {}});
  }
  std::vector<double> now(static_cast<std::size_t>(n), 1.0);
  for (std::uint32_t seq = 0; now[0] < job.seconds; ++seq) {
    for (std::size_t g = 0; g < groups.size(); ++g) {
      std::vector<double> entry;
      for (const int r : groups[g]) {
        double& t = now[static_cast<std::size_t>(r)];
        t += std::max(1e-6,
                      job.work_s + job.jitter_s * jitter(random) + (r == job.slow_rank ? job.slow_s : 0));
        entry.push_back(t);
      }
      for (std::size_t i = 0; i < groups[g].size(); ++i) {
        const int r = groups[g][i];
        double exit = entry[i];
        for (std::size_t k = 0; k < groups[g].size(); ++k) {
          const bool far = groups[g][k] / job.ranks_per_host != r / job.ranks_per_host;
          exit = std::max(exit, entry[k] + (far ? job.latency_s + job.queueing_s * queue(random) : 1e-6));
        }
        exit += 2e-6;
        if (uniform(random) < job.preempted) exit += 1e-3 + 3e-3 * uniform(random);
        const int host = r / job.ranks_per_host;
        const double busy = 0.5 + 0.15 * host;
        if (exit > job.busy_from_s && uniform(random) < busy) exit += 20e-3 * std::pow(uniform(random), 2);
        out[static_cast<std::size_t>(r)].events.push_back({.kind = EventKind::Collective,
                                                           .op = static_cast<std::uint8_t>(job.op),
                                                           .begin = shown(r, entry[i]),
                                                           .end = shown(r, exit),
                                                           .bytes = Bytes{8},
                                                           .comm = CommId{static_cast<std::int32_t>(g + 1)},
                                                           .seq = seq});
        now[static_cast<std::size_t>(r)] = exit;
      }
    }
  }
  return out;
}

/// The true distance of two ranks' clocks on the Run's axis: zero where all is well. Taken from an operation
/// in which both returned: what the axis says of the job's first moment and of its last.
struct Error {
  double offset_s = 0;  // of the reported offset at the Run's origin
  double drift_ppm = 0;
};

Error error_of(const Job& job, const trace::Run& run, std::size_t node) {
  const Host& first = job.hosts[0];
  const Host& h = job.hosts[node];
  const double offset = h.monotonic_s - first.monotonic_s;  // at the job's start, a second before the origin
  const double origin = 1 + job.work_s;
  const double drift = (1 + h.drift_ppm * 1e-6) / (1 + first.drift_ppm * 1e-6) - 1;
  const NodeClock& c = run.nodes.at(node).clock;
  return {.offset_s = static_cast<double>(c.offset.count()) * 1e-9 - offset - drift * origin,
          .drift_ppm = c.drift_ppm - drift * 1e6};
}

void expect_found(const Job& job, double offset_s = 0.2e-3, double drift_ppm = 2,
                  double residual_s = 0.5e-3) {
  const trace::Run run = assemble(processes_of(job), 1);
  ASSERT_EQ(run.nodes.size(), job.hosts.size());
  EXPECT_EQ(run.nodes[0].clock.source, ClockSource::Shared);
  for (std::size_t n = 1; n < job.hosts.size(); ++n) {
    EXPECT_EQ(run.nodes[n].clock.source, ClockSource::Collectives);
    EXPECT_EQ(run.nodes[n].clock.against, NodeId{0});
    const Error e = error_of(job, run, n);
    EXPECT_LE(std::abs(e.offset_s), offset_s) << "host " << n;
    EXPECT_LE(std::abs(e.drift_ppm), drift_ppm) << "host " << n;
    const NodeClock& clock = run.nodes[n].clock;
    EXPECT_TRUE(clock.drift_ppm == 0 || clock.drift_error_ppm > 0) << "host " << n << ": without its error";
    EXPECT_LE(in_seconds(run.nodes[n].clock.residual), residual_s) << "host " << n;
    EXPECT_GT(run.nodes[n].clock.operations, 100);
  }
}

/// The four hosts of the project's acceptance test.
std::vector<Host> four_hosts() {
  return {{5000, 0, 0}, {5100, 40, 0}, {5000.25, -25, 0}, {4999.75, 0, 0}};
}

TEST(HostClocks, FourHostsWithOffsetsAndDrifts) {
  expect_found({.hosts = four_hosts()});
}

TEST(HostClocks, APersistentStragglerOnAnyHost) {
  for (int slow : {0, 3, 7}) {
    SCOPED_TRACE(slow);
    expect_found({.hosts = four_hosts(), .slow_rank = slow});
  }
}

TEST(HostClocks, ABusyMachineWithLateReturns) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    expect_found(
        {.hosts = four_hosts(), .queueing_s = 100e-6, .preempted = 0.25, .slow_rank = 5, .seed = seed});
  }
}

TEST(HostClocks, AMachineThatIsBusyHalfOfTheTime) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    expect_found({.hosts = four_hosts(),
                  .ranks_per_host = 1,
                  .latency_s = 50e-6,
                  .busy_from_s = seed % 2 == 0 ? 30.0 : 15.0,
                  .slow_rank = static_cast<int>(seed % 4),
                  .seed = seed});
  }
}

TEST(HostClocks, RealtimeClocksFarOffDoNotMatter) {
  Job job{.hosts = four_hosts(), .seconds = 20};
  job.hosts[1].realtime_error_s = 100;
  job.hosts[2].realtime_error_s = -1.6e9;  // a machine that believes that it is 1973
  expect_found(job, 0.2e-3, 4);
}

TEST(HostClocks, RandomClocksAreFoundAgain) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> offset(10, 1e6);
  std::uniform_real_distribution<double> drift(-100, 100);
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Job job{.ranks_per_host = 1 + static_cast<int>(seed % 3), .seconds = 60, .seed = seed};
    for (std::uint64_t n = 0; n < 2 + seed % 3; ++n) job.hosts.push_back({offset(random), drift(random), 0});
    job.jitter_s = seed % 2 == 0 ? 1e-3 : 50e-6;
    if (seed % 3 == 0) job.slow_rank = 0;
    SCOPED_TRACE(seed);
    expect_found(job);
  }
}

TEST(HostClocks, CausalityHoldsOnTheRunsAxis) {
  const Job job{.hosts = four_hosts(), .seconds = 20, .slow_rank = 2};
  const trace::Run run = assemble(processes_of(job), 2);
  std::size_t broken = 0;
  const std::size_t n = run.ranks[0].events.size();
  for (std::size_t i = 0; i < n; ++i) {
    Duration last_entry = Duration::min();
    Duration first_exit = Duration::max();
    for (const RankTrack& track : run.ranks) {
      last_entry = std::max(last_entry, track.events.begin[i]);
      first_exit = std::min(first_exit, track.events.end[i]);
    }
    broken += first_exit < last_entry ? 1 : 0;
  }
  EXPECT_LE(broken, n / 20);
}

TEST(HostClocks, GroupsThatChainHostsAreEnough) {
  // Hosts 0 and 1, 1 and 2, 2 and 3 talk; 0 and 3 never do.
  Job job{.hosts = four_hosts(), .ranks_per_host = 1, .groups = {{0, 1}, {1, 2}, {2, 3}}};
  expect_found(job, 0.3e-3);
}

TEST(HostClocks, HostsThatNeverTalkStayAsTheirRealtimeClocksSay) {
  Job job{.hosts = four_hosts(), .ranks_per_host = 1, .seconds = 20, .groups = {{0, 1}, {2, 3}}};
  job.hosts[2].realtime_error_s = job.hosts[3].realtime_error_s = 0.125;
  const trace::Run run = assemble(processes_of(job), 1);
  EXPECT_EQ(run.nodes[1].clock.source, ClockSource::Collectives);
  EXPECT_EQ(run.nodes[2].clock.source, ClockSource::Realtime);
  EXPECT_EQ(run.nodes[3].clock.source, ClockSource::Collectives);
  EXPECT_EQ(run.nodes[3].clock.against, NodeId{2});
  EXPECT_NEAR(static_cast<double>(run.nodes[2].clock.offset.count()), 125e6, 1e3);
  ASSERT_EQ(run.notes.size(), 1U);
  EXPECT_NE(run.notes[0].text.find("clocks of host2 are put beside host0's by realtime alone"),
            std::string::npos)
      << run.notes[0].text;
}

TEST(HostClocks, OperationsThatHoldNobodyTellNothing) {
  for (const auto op : {model::Collective::Broadcast, model::Collective::Reduce, model::Collective::Scan}) {
    Job job{.hosts = four_hosts(), .seconds = 5, .op = op};
    const trace::Run run = assemble(processes_of(job), 1);
    for (std::size_t n = 1; n < 4; ++n) EXPECT_EQ(run.nodes[n].clock.source, ClockSource::Realtime);
  }
  Job job{.hosts = four_hosts(), .seconds = 5};
  auto processes = processes_of(job);
  for (ProcessFile& p : processes)
    for (std::size_t i = 0; i < p.events.size(); ++i) p.events.flags[i] = kNonBlocking;
  EXPECT_EQ(assemble(std::move(processes), 1).nodes[1].clock.source, ClockSource::Realtime);
}

TEST(HostClocks, AFewOperationsAreTooFew) {
  Job job{.hosts = four_hosts(), .seconds = 1.05};
  EXPECT_EQ(assemble(processes_of(job), 1).nodes[1].clock.source, ClockSource::Realtime);
}

TEST(HostClocks, AShortRunHasAnOffsetAndNoDrift) {
  Job job{.hosts = four_hosts(), .seconds = 1.5};
  const trace::Run run = assemble(processes_of(job), 1);
  EXPECT_EQ(run.nodes[1].clock.source, ClockSource::Collectives);
  EXPECT_EQ(run.nodes[1].clock.drift_ppm, 0);
  EXPECT_LE(std::abs(error_of(job, run, 1).offset_s), 0.2e-3);
}

TEST(HostClocks, AClockThatATimeServiceSteersIsFollowed) {
  Job job{.hosts = {{100, 0, 0}, {200, 20, 0}},
          .ranks_per_host = 1,
          .seconds = 1000,
          .work_s = 50e-3,
          .wander_s = 1e-3};
  const trace::Run run = assemble(processes_of(job), 1);
  EXPECT_LE(in_seconds(run.nodes[1].clock.residual), 0.5e-3);
  std::vector<double> off;
  for (std::size_t i = 0; i < run.ranks[0].events.size(); ++i)
    off.push_back(std::abs(in_seconds(run.ranks[0].events.end[i] - run.ranks[1].events.end[i])));
  std::sort(off.begin(), off.end());
  EXPECT_LE(off[off.size() * 9 / 10], 0.2e-3);  // a straight line would leave most of a millisecond
}

TEST(HostClocks, ATraceThatRanksNeverSharedChangesNothing) {
  // Members that name different operations by one number: mismatched, not evidence.
  Job job{.hosts = four_hosts(), .ranks_per_host = 1, .seconds = 5};
  auto processes = processes_of(job);
  EventColumns& other = processes[1].events;
  for (std::size_t i = 0; i < other.size(); ++i)
    other.op[i] = static_cast<std::uint8_t>(model::Collective::Barrier);
  const trace::Run run = assemble(std::move(processes), 1);
  for (std::size_t n = 1; n < 4; ++n) EXPECT_EQ(run.nodes[n].clock.source, ClockSource::Realtime);
}

TEST(ClockLine, GoesOnStraightBeyondItsKnots) {
  const ClockLine line({{1s, 10us}, {2s, 20us}, {4s, 0us}});
  EXPECT_EQ(line.at(0s), Duration{0us});
  EXPECT_EQ(line.at(1500ms), Duration{15us});
  EXPECT_EQ(line.at(3s), Duration{10us});
  EXPECT_EQ(line.at(5s), Duration{-10us});
  EXPECT_EQ(ClockLine{}.at(5s), Duration::zero());
  EXPECT_EQ(ClockLine({{1s, 7us}}).at(5s), Duration{7us});
}

/// Two clocks with a known drift that see each other within `noise_s`, normal, for a minute.
LinkFit fit_with_drift(double drift, double noise_s, unsigned seed) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> noise(0, noise_s);
  std::vector<LinkSample> samples;
  for (int i = 0; i < 600; ++i) {
    const double t = 0.1 * i;
    const Duration exits = duration_from_seconds(drift * t + noise(bits));
    samples.push_back({duration_from_seconds(t), exits + 1ms, exits - 1ms, exits});
  }
  return fit_link(samples).value();
}

TEST(ClockLink, ADriftSmallerThanItsErrorIsNotApplied) {
  int applied = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    const LinkFit fit = fit_with_drift(0, 50e-6, seed);
    EXPECT_GT(fit.drift_error, 0);
    EXPECT_LT(fit.drift_error, 1e-6);
    applied += fit.offset.slope() != 0;
  }
  // What is larger than its standard error by chance: one in three.
  EXPECT_LT(applied, 25);
  EXPECT_GT(applied, 2);
}

TEST(ClockLink, ADriftBeyondItsErrorIsApplied) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    const LinkFit fit = fit_with_drift(10e-6, 50e-6, seed);
    EXPECT_NEAR(fit.offset.slope(), 10e-6, 5 * fit.drift_error);
  }
}

TEST(ClockLink, TooFewSamplesGiveNothing) {
  EXPECT_FALSE(fit_link(std::vector<LinkSample>(7)));
}

TEST(ClockLink, EqualTimesDoNotTripIt) {
  std::vector<LinkSample> same(100, {.at = 5s, .upper = 20us, .lower = -20us, .exits = 1us});
  const auto fit = fit_link(same);
  ASSERT_TRUE(fit);
  EXPECT_LE(fit->offset.at(5s), Duration{20us});
  EXPECT_GE(fit->offset.at(5s), Duration{-20us});
}

}  // namespace
}  // namespace cox::trace
