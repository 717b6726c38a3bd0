// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "cox/diagnose/diagnosis.hpp"

#include "diagnose/match/synthetic_job.hpp"

namespace cox::diagnose {
namespace {

using testing::Job;
using testing::lognormal_work;
using testing::make_job;
using testing::pareto_work;
using namespace std::chrono_literals;

Diagnosis must(const trace::Run& run) {
  auto d = diagnose(run);
  EXPECT_TRUE(d.has_value()) << d.error().to_string();
  return d ? *std::move(d) : Diagnosis{};
}

std::vector<Rank> ranks(std::initializer_list<int> values) {
  std::vector<Rank> list;
  for (const int v : values) list.emplace_back(v);
  return list;
}

/// 10 ms of work with 5 % lognormal scatter, plus what the test adds.
Job noisy(std::uint64_t seed, const std::function<Duration(int, int)>& extra) {
  Job job;
  job.work = [seed, extra](int rank, int step) {
    return lognormal_work(seed, rank, step, 10ms, 0.05) + extra(rank, step);
  };
  return job;
}

TEST(Diagnose, SlowRankIsNamedWhicheverItIs) {
  for (const int slow : {0, 3, 7}) {
    const Diagnosis d =
        must(make_job(noisy(1, [=](int r, int) { return r == slow ? Duration{3ms} : Duration{}; })));
    ASSERT_EQ(d.findings.size(), 1U) << d.verdict;
    const Finding& f = d.findings[0];
    EXPECT_EQ(f.kind, FindingKind::SlowRank);
    EXPECT_EQ(f.rank, Rank{slow});
    EXPECT_NEAR(f.gain_ratio, 2.3 / 13.5, 0.05);  // 3 ms less what the next latest takes anyway, of 13.5 ms
    EXPECT_GT(f.share_ratio, 0.7);
    EXPECT_FALSE(f.first_step.has_value());
    EXPECT_EQ(d.coverage.ratio, 1.0);
    EXPECT_EQ(d.wait_method, WaitMethod::Clock);
    EXPECT_NE(d.verdict.find("rank " + std::to_string(slow) + " sets the pace"), std::string::npos)
        << d.verdict;
    EXPECT_EQ(d.verdict, "rank " + std::to_string(slow) + " sets the pace all along: " + d.lead);
  }
}

// Rank 0 waits for a message of rank 1 before every all-reduce: both come late, only one of them worked.
TEST(Diagnose, WaitingForAPeerIsNoWork) {
  Job job = noisy(1, [](int r, int) { return r < 2 ? Duration{4ms} : Duration{}; });
  trace::Run run = make_job(job);
  trace::EventColumns& e = run.ranks[0].events;
  trace::EventColumns with_waits;
  for (std::size_t i = 0; i < e.size(); ++i) {
    const std::size_t calls = with_waits.size();
    if (calls > 0)
      testing::add_event(with_waits, trace::EventKind::Wait, static_cast<std::uint8_t>(trace::WaitKind::Peer),
                         e.begin[i] - 4ms, e.begin[i] - 1us, 0, CommId{0}, 0);
    testing::add_call(with_waits, e.collective(i), e.begin[i], e.end[i], e.bytes[i].count(), e.seq[i]);
  }
  run.ranks[0].events = with_waits;
  const Diagnosis d = must(run);
  ASSERT_EQ(d.findings.size(), 1U) << d.verdict;
  EXPECT_EQ(d.findings[0].rank, Rank{1}) << d.verdict;
}

Diagnosis with_two_slow(Duration of_2) {
  return must(make_job(noisy(2, [=](int r, int) {
    if (r == 5) return Duration{4ms};
    return r == 2 ? of_2 : Duration{};
  })));
}

TEST(Diagnose, ASecondThatHardlyCountsIsAFindingOfItsOwn) {
  const Diagnosis d = with_two_slow(800us);
  ASSERT_EQ(d.findings.size(), 2U) << d.verdict;
  EXPECT_EQ(d.findings[0].rank, Rank{5});
  EXPECT_EQ(d.findings[1].rank, Rank{2});
  EXPECT_GT(gain_alone(d.findings[0]), 0.15);
  EXPECT_LT(gain_alone(d.findings[1]), 0.005);
}

TEST(Diagnose, TwoUnevenSlowRanksAreOneSetWithTheGainOfEach) {
  const Diagnosis d = with_two_slow(2500us);
  ASSERT_EQ(d.findings.size(), 1U) << d.verdict;
  EXPECT_EQ(d.findings[0].kind, FindingKind::SlowGroup);
  EXPECT_EQ(d.findings[0].ranks, ranks({2, 5}));
  const auto& e = std::get<LateEvidence>(d.findings[0].evidence);
  ASSERT_EQ(e.each_alone.size(), 2U);
  EXPECT_LT(e.each_alone[0], 0.005);
  EXPECT_GT(e.each_alone[1], 0.05);
  EXPECT_GT(d.findings[0].gain_ratio, e.each_alone[1] + 0.05);
  EXPECT_NE(d.verdict.find("fixing rank 5 alone saves"), std::string::npos) << d.verdict;
}

TEST(Diagnose, TwoEquallySlowRanksHideEachOtherAndAreOneSet) {
  const Diagnosis d =
      must(make_job(noisy(3, [](int r, int) { return r == 1 || r == 6 ? Duration{4ms} : Duration{}; })));
  ASSERT_EQ(d.findings.size(), 1U) << d.verdict;
  EXPECT_EQ(d.findings[0].kind, FindingKind::SlowGroup);
  EXPECT_EQ(d.findings[0].ranks, ranks({1, 6}));
  EXPECT_GT(d.findings[0].gain_ratio, 0.15);
  const auto& e = std::get<LateEvidence>(d.findings[0].evidence);
  ASSERT_EQ(e.each_alone.size(), 2U);
  for (const double alone : e.each_alone) EXPECT_LT(alone, 0.05);
}

TEST(Diagnose, SlowNodeIsOneFinding) {
  for (const int nodes : {2, 4}) {
    Job job = noisy(4, [=](int r, int) { return r * nodes / 16 == 1 ? Duration{3ms} : Duration{}; });
    job.ranks = 16;
    job.nodes = nodes;
    const Diagnosis d = must(make_job(job));
    ASSERT_EQ(d.findings.size(), 1U) << d.verdict;
    EXPECT_EQ(d.findings[0].kind, FindingKind::SlowGroup);
    EXPECT_FALSE(d.findings[0].rank.has_value());
    EXPECT_EQ(d.findings[0].ranks.size(), static_cast<std::size_t>(16 / nodes));
    EXPECT_EQ(d.findings[0].ranks.front(), Rank{16 / nodes});
  }
}

TEST(Diagnose, GroupsSideBySideGainNoMoreThanOneOfThem) {
  Job job;
  job.ranks = 4;
  job.work = [](int rank, int) { return rank == 1 ? Duration{14ms} : Duration{10ms}; };
  const trace::Run one = make_job(job);
  trace::Run both = one;
  both.world_size = 8;
  both.communicators.push_back(one.communicators.front());
  trace::Communicator& second = both.communicators.back();
  second.id = CommId{1};
  for (Rank& rank : second.ranks) rank = Rank{rank.value() + 4};
  for (trace::RankTrack track : one.ranks) {
    track.rank = Rank{track.rank.value() + 4};
    for (std::size_t i = 0; i < track.events.size(); ++i) track.events.comm.set(i, CommId{1});
    both.ranks.push_back(std::move(track));
  }
  const Diagnosis of_both = must(both);
  ASSERT_FALSE(of_both.findings.empty());
  // The jobs run side by side: with both put right the run is as much shorter as one of them.
  const double gain = ratio(Duration{4ms}, Duration{14500us});
  for (const Finding& f : of_both.findings) EXPECT_NEAR(f.gain_ratio, gain, 0.01);
  EXPECT_NEAR(of_both.late_gain_ratio, gain, 0.01);
}

TEST(Diagnose, TransientIsLimitedToItsSteps) {
  Job job = noisy(5, [](int r, int s) { return r == 3 && s >= 60 && s < 110 ? Duration{4ms} : Duration{}; });
  job.steps = 200;
  const Diagnosis d = must(make_job(job));
  ASSERT_EQ(d.findings.size(), 1U) << d.verdict;
  EXPECT_EQ(d.findings[0].kind, FindingKind::TransientStraggler);
  EXPECT_EQ(d.findings[0].rank, Rank{3});
  EXPECT_NEAR(static_cast<double>(d.findings[0].first_step->value()), 60, 2);
  EXPECT_NEAR(static_cast<double>(d.findings[0].last_step->value()), 109, 2);
}

// Seen where eight ranks share two CPUs: who had computed more was faster than the others once that was over.
TEST(Diagnose, TransientThatLeavesItsRankFasterIsNamed) {
  Job job = noisy(5, [](int r, int s) {
    if (r != 3) return Duration{2500us};
    return Duration{s < 40 ? 2500us : s < 80 ? 8ms : 0us};
  });
  job.steps = 120;
  const Diagnosis d = must(make_job(job));
  ASSERT_EQ(d.findings.size(), 1U) << d.verdict;
  EXPECT_EQ(d.findings[0].kind, FindingKind::TransientStraggler);
  EXPECT_EQ(d.findings[0].rank, Rank{3});
}

TEST(Diagnose, ShortTransientBesideASlowRank) {
  Job job = noisy(6, [](int r, int s) {
    if (r == 6) return Duration{2ms};
    return r == 1 && s >= 20 && s < 35 ? Duration{9ms} : Duration{};
  });
  const Diagnosis d = must(make_job(job));
  ASSERT_EQ(d.findings.size(), 2U) << d.verdict;
  EXPECT_EQ(d.findings[0].rank, Rank{6});
  EXPECT_EQ(d.findings[1].rank, Rank{1});
  EXPECT_EQ(d.findings[1].kind, FindingKind::TransientStraggler);
}

TEST(Diagnose, RotatingHasASetAndNoRank) {
  for (const int turn : {1, 5, 10}) {
    Job job = noisy(7, [=](int r, int s) { return (s / turn) % 8 == r ? Duration{4ms} : Duration{}; });
    job.steps = 160;
    const Diagnosis d = must(make_job(job));
    ASSERT_EQ(d.findings.size(), 1U) << turn << ": " << d.verdict;
    EXPECT_EQ(d.findings[0].kind, FindingKind::RotatingStraggler);
    EXPECT_FALSE(d.findings[0].rank.has_value());
    EXPECT_EQ(d.findings[0].ranks, ranks({0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_GT(d.findings[0].gain_ratio, 0.1);
  }
}

TEST(Diagnose, RotationAmongSomeRanksInAnyOrder) {
  const int order[] = {1, 6, 3};
  Job job = noisy(8, [&](int r, int s) { return order[s % 3] == r ? Duration{4ms} : Duration{}; });
  const Diagnosis d = must(make_job(job));
  ASSERT_EQ(d.findings.size(), 1U) << d.verdict;
  EXPECT_EQ(d.findings[0].kind, FindingKind::RotatingStraggler);
  EXPECT_EQ(d.findings[0].ranks, ranks({1, 3, 6}));
}

TEST(Diagnose, NobodyIsNamedForIndependentJitter) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Job job;
    job.ranks = 2 + static_cast<int>(seed % 15);
    job.steps = 30 + static_cast<int>(seed % 7) * 20;
    const double sigma = 0.02 + 0.1 * static_cast<double>(seed % 9);
    job.work = [=](int r, int s) { return lognormal_work(seed, r, s, 10ms, sigma); };
    const Diagnosis d = must(make_job(job));
    EXPECT_TRUE(d.findings.empty()) << "seed " << seed << ": " << d.verdict;
  }
}

TEST(Diagnose, NobodyIsNamedOnAnOverloadedHost) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Job job;
    job.ranks = 4 + static_cast<int>(seed % 3) * 4;
    job.steps = 60 + static_cast<int>(seed % 5) * 60;
    job.work = [=](int r, int s) { return pareto_work(seed, r, s, 10ms); };
    job.leave = [=](int r, int s) { return pareto_work(seed + 1000, r, s, 2ms); };
    const Diagnosis d = must(make_job(job));
    EXPECT_TRUE(d.findings.empty()) << "seed " << seed << ": " << d.verdict;
  }
}

TEST(Diagnose, NobodyIsNamedWhereCulpritsAreDrawnByLot) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Job job = noisy(seed, [=](int r, int s) {
      const auto drawn = lognormal_work(seed, 99, s, 1s, 3).count() / 1000 % 8;
      return drawn == r ? Duration{4ms} : Duration{};
    });
    const Diagnosis d = must(make_job(job));
    EXPECT_TRUE(d.findings.empty()) << "seed " << seed << ": " << d.verdict;
  }
}

/// Scatter that lasts: each rank's speed wanders (first-order autoregression), as under a busy scheduler.
TEST(Diagnose, NobodyIsNamedForWanderingSpeeds) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    std::vector<std::vector<Duration>> work(8, std::vector<Duration>(300));
    for (int r = 0; r < 8; ++r) {
      double drift = 0;
      for (int s = 0; s < 300; ++s) {
        drift = 0.8 * drift + std::log(in_seconds(lognormal_work(seed, r, s, 1s, 0.1)));
        work[static_cast<std::size_t>(r)][static_cast<std::size_t>(s)] =
            duration_from_seconds(0.01 * std::exp(drift));
      }
    }
    Job job;
    job.steps = 300;
    job.work = [&](int r, int s) { return work[static_cast<std::size_t>(r)][static_cast<std::size_t>(s)]; };
    const Diagnosis d = must(make_job(job));
    EXPECT_TRUE(d.findings.empty()) << "seed " << seed << ": " << d.verdict;
  }
}

TEST(Diagnose, NobodyIsNamedForALateStartOnly) {
  Job job = noisy(9, [](int r, int s) { return r == 2 && s == 0 ? Duration{3s} : Duration{}; });
  const Diagnosis d = must(make_job(job));
  EXPECT_TRUE(d.findings.empty()) << d.verdict;
  EXPECT_LT(d.ranks[2].charged, 100ms);  // carried in, not charged
}

TEST(Diagnose, LeavingEarlyAndWorkingLongerHoldsNobodyUp) {
  // Rank 4 leaves first by 3 ms and needs 3 ms more: everybody arrives together.
  Job job = noisy(10, [](int r, int) { return r == 4 ? Duration{3ms} : Duration{}; });
  job.leave = [](int r, int) { return r == 4 ? Duration{} : Duration{3ms}; };
  const Diagnosis d = must(make_job(job));
  EXPECT_TRUE(d.findings.empty()) << d.verdict;
}

TEST(Diagnose, FewStepsNameOnlyWhatIsHuge) {
  Job job = noisy(11, [](int r, int) { return r == 3 ? Duration{2ms} : Duration{}; });
  job.steps = 8;
  EXPECT_TRUE(must(make_job(job)).findings.empty());
  job = noisy(11, [](int r, int) { return r == 3 ? Duration{40ms} : Duration{}; });
  job.steps = 8;
  const Diagnosis d = must(make_job(job));
  ASSERT_EQ(d.findings.size(), 1U) << d.verdict;
  EXPECT_EQ(d.findings[0].rank, Rank{3});
}

TEST(Diagnose, ClockOffsetsDoNotChangeWhoIsNamed) {
  for (const int slow : {1, 6}) {
    Job job = noisy(12, [=](int r, int) { return r == slow ? Duration{3ms} : Duration{}; });
    job.nodes = 2;
    job.clock_offset = [](int node) { return node == 0 ? Duration{} : Duration{37s}; };
    for (const bool marks : {false, true}) {
      job.marks = marks;
      const Diagnosis d = must(make_job(job));
      ASSERT_EQ(d.findings.size(), 1U) << d.verdict;
      EXPECT_EQ(d.findings[0].rank, Rank{slow});
      EXPECT_EQ(d.wait_method, WaitMethod::Duration);
      EXPECT_FALSE(d.coverage.clocks_comparable);
      EXPECT_EQ(d.coverage.clock_domains, 2);
      EXPECT_LT(d.step_time.median, 20ms);
      EXPECT_LT(d.run_time, 2s);
      ASSERT_FALSE(d.cannot_tell.empty());
      EXPECT_NE(d.cannot_tell.front().find("clock offset"), std::string::npos);
    }
  }
}

TEST(Diagnose, DdpWaitsAreTheSynchronisations) {
  Job job = noisy(13, [](int r, int) { return r == 2 ? Duration{3ms} : Duration{}; });
  job.ranks = 4;
  job.ddp = true;
  job.marks = true;
  const Diagnosis d = must(make_job(job));
  ASSERT_EQ(d.findings.size(), 1U) << d.verdict;
  EXPECT_EQ(d.findings[0].rank, Rank{2});
  EXPECT_EQ(d.coverage.ratio, 1.0);
  EXPECT_EQ(d.steps, 100);
  EXPECT_EQ(d.step_source, StepSource::Marks);
  ASSERT_EQ(d.communicators.size(), 1U);
  EXPECT_EQ(d.communicators[0].collectives, 200);
  EXPECT_EQ(d.communicators[0].bytes, Bytes{500'000'000});
  job.work = [](int r, int s) { return lognormal_work(14, r, s, 10ms, 0.1); };
  EXPECT_TRUE(must(make_job(job)).findings.empty());
}

TEST(Diagnose, WithMissingRankTheLateOneOfThosePresentIsNamedAndNothingIsPromised) {
  trace::Run run = make_job(noisy(15, [](int r, int) { return r == 2 ? Duration{3ms} : Duration{}; }));
  run.ranks.erase(run.ranks.begin() + 5);
  const Diagnosis d = must(run);
  ASSERT_EQ(d.findings.size(), 1U) << d.verdict;
  EXPECT_EQ(d.findings[0].rank, Rank{2});
  EXPECT_EQ(d.findings[0].gain_ratio, 0);
  EXPECT_NE(d.verdict.find("of those present"), std::string::npos) << d.verdict;
  EXPECT_EQ(d.coverage.missing_ranks, ranks({5}));
  EXPECT_NEAR(d.coverage.ratio, 7.0 / 8, 1e-9);
  EXPECT_EQ(d.coverage.collectives_matched, 0);
  EXPECT_NE(d.cannot_tell.front().find("rank 5"), std::string::npos);
}

TEST(Diagnose, UnfinishedCallsAreCountedAndNotUsed) {
  trace::Run run = make_job(noisy(16, [](int r, int) { return r == 2 ? Duration{3ms} : Duration{}; }));
  for (auto& track : run.ranks) track.events.end.back() = trace::kStillRunning;
  const Diagnosis d = must(run);
  EXPECT_EQ(d.coverage.unfinished_calls, 8);
  EXPECT_LT(d.coverage.ratio, 1.0);
  ASSERT_EQ(d.findings.size(), 1U);
  EXPECT_EQ(d.findings[0].rank, Rank{2});
  EXPECT_EQ(d.steps, 99);
}

TEST(Diagnose, RecycledBeginningIsAlignedBySequence) {
  trace::Run run = make_job(noisy(17, [](int r, int) { return r == 2 ? Duration{3ms} : Duration{}; }));
  auto& e = run.ranks[4].events;
  std::vector<std::uint32_t> kept(e.size() - 40);
  std::iota(kept.begin(), kept.end(), 40U);
  e.reorder(kept);
  run.ranks[4].recycled_records = 40;
  const Diagnosis d = must(run);
  ASSERT_EQ(d.findings.size(), 1U) << d.verdict;
  EXPECT_EQ(d.findings[0].rank, Rank{2});
  EXPECT_NEAR(d.coverage.ratio, 1 - 40.0 / 800, 1e-9);
  EXPECT_EQ(d.coverage.recycled_records, 40U);
}

TEST(Diagnose, CallsThatAreOnlyCountedAreSaid) {
  constexpr auto kOneSided = static_cast<std::size_t>(trace::Unobserved::OneSided);
  trace::Run run = make_job(noisy(17, [](int, int) { return Duration{}; }));
  run.ranks[1].unobserved_calls[kOneSided] = 1200;
  run.ranks[4].unobserved_calls[kOneSided] = 34;
  const Diagnosis d = must(run);
  EXPECT_EQ(d.coverage.unobserved_calls[kOneSided], 1234U);
  EXPECT_EQ(d.coverage.calls_only_counted(), 1234U);
  int said = 0;
  for (const std::string& gap : d.cannot_tell)
    if (gap.find("one-sided communication 1 234") != std::string::npos) ++said;
  EXPECT_EQ(said, 1);
}

TEST(Diagnose, OneRankNamesNobody) {
  Job job;
  job.ranks = 1;
  const Diagnosis d = must(make_job(job));
  EXPECT_TRUE(d.findings.empty());
  EXPECT_EQ(d.answer.kind, AnswerKind::CannotTell);
  EXPECT_EQ(d.verdict, "cannot tell: " + d.lead);
}

TEST(Diagnose, NothingToDiagnoseIsAnError) {
  trace::Run none;
  EXPECT_EQ(diagnose(none).error().id, "diagnose-001");
  EXPECT_EQ(diagnose(testing::empty_run(4)).error().id, "diagnose-002");
}

TEST(Diagnose, AJobThatFailedBeforeItsRanksMetIsToldHowItEnded) {
  trace::Run run = testing::empty_run(4);
  run.info.exit_status = 137;
  run.info.signal = 9;
  run.info.ends = {{.rank = 2, .exit_status = 137, .signal = 9}};
  const auto d = diagnose(run);
  ASSERT_TRUE(d) << d.error().to_string();
  EXPECT_EQ(d->answer.kind, AnswerKind::JobFailed);
  EXPECT_NE(d->verdict.find("rank 2 ended first"), std::string::npos) << d->verdict;
  EXPECT_TRUE(d->remedies.empty());
  ASSERT_FALSE(d->cannot_tell.empty());
  EXPECT_NE(d->cannot_tell.front().find("cox doctor"), std::string::npos) << d->cannot_tell.front();
}

TEST(Diagnose, SlowRankBeforeARootedOperationIsFound) {
  // Work, then a reduce that lets everybody but the root go at once, then an all-reduce: the extra work lies
  // before the operation that names nobody.
  trace::Run run = testing::empty_run(4);
  Duration now = 1ms;
  for (std::uint32_t s = 0; s < 60; ++s) {
    const auto entry = [&](int r) {
      return now + lognormal_work(18, r, static_cast<int>(s), 5ms, 0.03) + (r == 3 ? 2ms : 0ms);
    };
    Duration latest{};
    for (int r = 0; r < 4; ++r) latest = std::max(latest, entry(r));
    for (int r = 0; r < 4; ++r) {
      auto& e = run.ranks[static_cast<std::size_t>(r)].events;
      const Duration out = r == 0 ? latest + 100us : entry(r) + 50us;
      testing::add_call(e, model::Collective::Reduce, entry(r), out, 64, 2 * s);
      testing::add_call(e, model::Collective::AllReduce, out + 10us, latest + 300us, 64, 2 * s + 1);
    }
    now = latest + 300us;
  }
  const Diagnosis d = must(run);
  ASSERT_EQ(d.findings.size(), 1U) << d.verdict;
  EXPECT_EQ(d.findings[0].rank, Rank{3});
}

/// Rank 1 works 4 ms longer. Each step: `first` for 2 ms, then what is left, in `rest` where one is named.
std::string cause_with(trace::PhaseKind first, std::optional<trace::PhaseKind> rest) {
  trace::Run run = make_job(noisy(19, [](int r, int) { return r == 1 ? Duration{4ms} : Duration{}; }));
  for (auto& track : run.ranks) {
    trace::EventColumns with;
    Duration from = track.events.begin.front() - 4ms;
    for (std::size_t i = 0; i < track.events.size(); ++i) {
      const Duration entry = track.events.begin[i];
      testing::add_event(with, trace::EventKind::Phase, static_cast<std::uint8_t>(first), from + 100us,
                         from + 2ms, 0, trace::kNoComm, 0);
      if (rest)
        testing::add_event(with, trace::EventKind::Phase, static_cast<std::uint8_t>(*rest), from + 2ms,
                           track.events.end[i], 0, trace::kNoComm, 0);
      testing::add_call(with, model::Collective::AllReduce, entry, track.events.end[i], 1'000'000,
                        track.events.seq[i]);
      from = track.events.end[i];
    }
    track.events = std::move(with);
  }
  const Diagnosis d = must(run);
  return d.findings.size() == 1 ? name_of(d.findings[0].cause) : d.verdict;
}

TEST(Diagnose, PhasesTellWhereTheExtraWorkIs) {
  using trace::PhaseKind;
  EXPECT_EQ(cause_with(PhaseKind::Forward, PhaseKind::Backward), "backward");
  EXPECT_EQ(cause_with(PhaseKind::Forward, PhaseKind::Optimizer), "optimizer");
  EXPECT_EQ(cause_with(PhaseKind::Forward, PhaseKind::Data), "data");
  EXPECT_EQ(cause_with(PhaseKind::Forward, PhaseKind::Evaluation), "evaluation");
  // In no phase: what it can be depends on what is recorded as one.
  EXPECT_EQ(cause_with(PhaseKind::Forward, std::nullopt), "optimizer_or_data");
  EXPECT_EQ(cause_with(PhaseKind::Data, std::nullopt), "outside_phases");
}

TEST(Diagnose, HostileTimesAndNumbersAreSurvived) {
  trace::Run run = testing::empty_run(4);
  const Duration far = Duration::max() - Duration{1};
  for (int r = 0; r < 4; ++r) {
    auto& e = run.ranks[static_cast<std::size_t>(r)].events;
    testing::add_call(e, model::Collective::AllReduce, Duration::min(), far, -5, 0);
    testing::add_call(e, model::Collective::AllReduce, Duration::min() + Duration{9}, Duration::min(),
                      INT64_MAX, 4'000'000'000U);
    testing::add_call(e, static_cast<model::Collective>(200), Duration{}, far, INT64_MAX, 7, 99);
    testing::add_call(e, model::Collective::AllReduce, far, far, INT64_MAX, 4'294'967'295U);
    testing::add_event(e, trace::EventKind::Step, 0, Duration::min(), Duration::min(), INT64_MIN,
                       trace::kNoComm, 0);
    testing::add_event(e, trace::EventKind::Step, 0, far, far, INT64_MAX, trace::kNoComm, 0);
    testing::add_event(e, static_cast<trace::EventKind>(77), 250, far, Duration::min(), 1, CommId{-7}, 0);
  }
  run.world_size = INT32_MAX;
  run.communicators[0].size = INT32_MAX;
  const Diagnosis d = must(run);
  EXPECT_TRUE(d.findings.empty());
  EXPECT_LT(d.coverage.ratio, 1.0);
  EXPECT_NE(to_json(d, run, "x").find("cox.diagnose/1"), std::string::npos);
}

}  // namespace
}  // namespace cox::diagnose
