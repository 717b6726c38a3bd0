// SPDX-License-Identifier: Apache-2.0
#include "diagnose/what_if/what_if.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "diagnose/match/matched.hpp"
#include "diagnose/match/skew.hpp"
#include "diagnose/match/synthetic_job.hpp"
#include "diagnose/what_if/json.hpp"
#include "diagnose/words/sentences.hpp"

namespace cox::diagnose {
namespace {

using testing::Job;
using namespace std::chrono_literals;

/// Times of workers in samples, as published tables have them: [worker][sample].
using Series = std::vector<std::vector<Duration>>;

/// The Run of a job with one barrier after each sample, and one before the first
/// so that nothing is carried in.
trace::Run run_of(const Series& series, Duration transfer = 0us) {
  Job job;
  job.ranks = static_cast<int>(series.size());
  job.steps = static_cast<int>(series.front().size()) + 1;
  job.transfer = transfer;
  job.work = [&](int r, int s) {
    return s == 0 ? Duration{1ms} : series[static_cast<std::size_t>(r)][static_cast<std::size_t>(s) - 1];
  };
  return testing::make_job(job);
}

/// What replacing some workers gains, sample by sample and without replay: the slowest sets the time, and
/// those fixed take the median of the others.
double exact_gain(const Series& series, const std::vector<int>& fixed) {
  double recorded = 0;
  double replaced = 0;
  for (std::size_t s = 0; s < series.front().size(); ++s) {
    double slowest = 0;
    std::vector<double> others;
    for (std::size_t w = 0; w < series.size(); ++w) {
      slowest = std::max(slowest, in_seconds(series[w][s]));
      if (std::find(fixed.begin(), fixed.end(), static_cast<int>(w)) == fixed.end())
        others.push_back(in_seconds(series[w][s]));
    }
    std::sort(others.begin(), others.end());
    recorded += slowest;
    replaced += std::max(others.back(), (others[others.size() / 2] + others[(others.size() - 1) / 2]) / 2);
  }
  return recorded / replaced;
}

/// Like job 1 of the published table: workers 0, 1 and 2 a little slow all along,
/// worker 6 very slow for a while.
Series like_job_1() {
  const std::vector<double> level{1.081, 1.071, 1.057, 0.981, 0.985, 0.985, 0.984, 0.977, 0.969, 0.975};
  const std::vector<double> peak{1.35, 1.2, 1.6, 2.0, 2.35, 1.25, 2.2, 1.9, 1.15, 1.6, 1.1, 1.4, 1.2, 1.15};
  Series series(level.size());
  for (std::size_t w = 0; w < level.size(); ++w)
    for (int s = 0; s < 300; ++s) {
      Duration d =
          testing::lognormal_work(20, static_cast<int>(w), s, duration_from_seconds(0.1 * level[w]), 0.035);
      if (w == 6 && s >= 181 && s < 181 + static_cast<int>(peak.size()))
        d = duration_from_seconds(0.1 * peak[static_cast<std::size_t>(s) - 181]);
      series[w].push_back(d);
    }
  return series;
}

/// Like job 2: worker 5 slow throughout.
Series like_job_2() {
  const std::vector<double> level{0.852, 0.825, 0.899, 1.029, 1.023, 1.092, 1.003, 1.019, 1.012, 0.961};
  Series series(level.size());
  for (std::size_t w = 0; w < level.size(); ++w)
    for (int s = 0; s < 238; ++s)
      series[w].push_back(
          testing::lognormal_work(21, static_cast<int>(w), s, duration_from_seconds(0.1 * level[w]), 0.014));
  return series;
}

WhatIf what_if(const trace::Run& run, const WhatIfOptions& options = {}) {
  return what_if(Matched(run), options);
}

std::vector<int> numbers(const std::vector<Rank>& ranks) {
  std::vector<int> out;
  out.reserve(ranks.size());
  for (const Rank r : ranks) out.push_back(r.value());
  return out;
}

void expect_as_exact(const Series& series, const std::vector<Rank>& ranks, const Estimate& e) {
  const double exact = exact_gain(series, numbers(ranks));
  EXPECT_NEAR(e.speedup_ratio - 1, exact - 1, 0.05 * (exact - 1) + 1e-9);
  EXPECT_TRUE(e.has_interval);
  EXPECT_LE(e.speedup_low, e.speedup_ratio);
  EXPECT_GE(e.speedup_high, e.speedup_ratio);
}

TEST(WhatIf, TransientAndSteadyStragglersOfJob1AreFoundAsASet) {
  const Series series = like_job_1();
  // The series has the properties of the published one.
  EXPECT_NEAR(exact_gain(series, {6}), 1.0177, 0.003);
  EXPECT_NEAR(exact_gain(series, {0}), 1.0139, 0.003);
  ASSERT_GT(exact_gain(series, {6}), exact_gain(series, {0}));
  const WhatIf w = what_if(run_of(series));
  ASSERT_EQ(w.fidelity, Fidelity::Good) << w.why;
  EXPECT_DOUBLE_EQ(w.fidelity_ratio, 0);
  EXPECT_EQ(w.compared, 3000);
  ASSERT_GE(w.sets.size(), 3U);
  EXPECT_EQ(numbers(w.sets[0].ranks), (std::vector<int>{6}));
  EXPECT_EQ(numbers(w.sets[1].ranks), (std::vector<int>{6, 0}));
  EXPECT_EQ(numbers(w.sets[2].ranks), (std::vector<int>{6, 0, 1}));
  for (const SetWhatIf& set : w.sets) expect_as_exact(series, set.ranks, set.fixed);
  for (const SetWhatIf& set : w.best_pairs) expect_as_exact(series, set.ranks, set.fixed);
  for (const RankWhatIf& r : w.ranks) {
    ASSERT_TRUE(r.evaluated);
    expect_as_exact(series, {r.rank}, r.fixed);
  }
  // The two together gain more than one after the other suggests.
  EXPECT_GT(w.sets[2].added_ratio, w.sets[1].added_ratio);
}

TEST(WhatIf, TheSteadyStragglerOfJob2IsWorthWhatItCosts) {
  const Series series = like_job_2();
  EXPECT_NEAR(exact_gain(series, {5}), 1.0489, 0.01);
  const WhatIf w = what_if(run_of(series));
  ASSERT_EQ(w.fidelity, Fidelity::Good);
  ASSERT_FALSE(w.sets.empty());
  EXPECT_EQ(numbers(w.sets[0].ranks), (std::vector<int>{5}));
  expect_as_exact(series, w.sets[0].ranks, w.sets[0].fixed);
  EXPECT_TRUE(w.sets[0].beyond_noise);
  for (const RankWhatIf& r : w.ranks)
    EXPECT_TRUE(r.rank == Rank{5} || r.fixed.speedup_ratio < 1.005) << r.rank.value();
}

TEST(WhatIf, PairsAndTriplesAreTheBestThereAre) {
  const Series series = like_job_1();
  const WhatIf w = what_if(run_of(series));
  ASSERT_FALSE(w.best_pairs.empty());
  ASSERT_FALSE(w.best_triples.empty());
  for (int a = 0; a < 10; ++a)
    for (int b = a + 1; b < 10; ++b) {
      EXPECT_LE(exact_gain(series, {a, b}), w.best_pairs[0].fixed.speedup_ratio * 1.0005);
      for (int c = b + 1; c < 10; ++c)
        EXPECT_LE(exact_gain(series, {a, b, c}), w.best_triples[0].fixed.speedup_ratio * 1.0005);
    }
}

/// Three ranks, two samples; all figures by hand. Times 10 10 16 / 10 14 10 ms and 1 ms of transfer.
TEST(WhatIf, HandExample) {
  const Series series{{10ms, 10ms}, {10ms, 14ms}, {16ms, 10ms}};
  const WhatIf w = what_if(run_of(series, 1ms));
  ASSERT_EQ(w.fidelity, Fidelity::Good) << w.why;
  EXPECT_EQ(w.measured, 32ms);
  EXPECT_EQ(w.simulated, 32ms);
  EXPECT_EQ(w.ideal, 22ms);
  EXPECT_DOUBLE_EQ(w.slowdown_ratio, 32.0 / 22);
  EXPECT_EQ(w.ranks[2].self_delay, 6ms);
  EXPECT_EQ(w.ranks[2].charged, 6ms);
  EXPECT_EQ(w.ranks[2].fixed.time, 26ms);
  EXPECT_DOUBLE_EQ(w.ranks[2].removal_share, 0.6);
  EXPECT_DOUBLE_EQ(w.ranks[2].loss_ratio, 6.0 / 22);
  EXPECT_DOUBLE_EQ(w.ranks[2].add_back_share, 0.6);
  EXPECT_FALSE(w.ranks[0].evaluated);
  EXPECT_EQ(w.waited, 12ms + 8ms);
  EXPECT_EQ(w.injected, 10ms);
  EXPECT_EQ(w.lost, 30ms);
  EXPECT_DOUBLE_EQ(w.amplification_ratio, 3);
  EXPECT_EQ(w.fabric_free.time, 30ms);
  EXPECT_EQ(w.fabric_tenfold.time, 30ms + 200us);
  EXPECT_FALSE(w.fabric_free.has_interval);
  EXPECT_DOUBLE_EQ(w.path.work[2], 16.0 / 32);
  EXPECT_DOUBLE_EQ(w.path.work[1], 14.0 / 32);
  ASSERT_EQ(w.communicators.size(), 1U);
  EXPECT_DOUBLE_EQ(w.communicators[0].path_share, 2.0 / 32);
  EXPECT_EQ(w.communicators[0].transfer, 2ms);
  ASSERT_EQ(w.sets.size(), 2U);
  EXPECT_EQ(w.sets[1].fixed.time, 22ms);
}

double sum(const std::vector<double>& x) {
  return std::accumulate(x.begin(), x.end(), 0.0);
}

double path_sum(const WhatIf& w) {
  double all = sum(w.path.work) + sum(w.path.held) + w.path.carried_in;
  for (const CommWhatIf& c : w.communicators) all += c.path_share;
  return all;
}

/// Four ranks in pairs (communicators 1 and 2) that meet twice per step, then all meet (communicator 0).
trace::Run pairs_and_world(const std::function<Duration(int rank, int step, int call)>& work,
                           int steps = 40) {
  trace::Run run = testing::empty_run(4);
  for (int pair = 0; pair < 2; ++pair)
    run.communicators.push_back(
        {CommId{pair + 1}, 0, "tensor " + std::to_string(pair), 2, {Rank{2 * pair}, Rank{2 * pair + 1}}});
  std::vector<Duration> at(4, Duration{1ms});
  const auto meet = [&](int comm, std::initializer_list<int> ranks, std::uint32_t seq, int step, int call,
                        Duration transfer) {
    Duration latest{};
    std::vector<Duration> entry;
    for (const int r : ranks) {
      entry.push_back(at[static_cast<std::size_t>(r)] + work(r, step, call));
      latest = std::max(latest, entry.back());
    }
    std::size_t k = 0;
    for (const int r : ranks) {
      at[static_cast<std::size_t>(r)] = latest + transfer;
      testing::add_call(run.ranks[static_cast<std::size_t>(r)].events, model::Collective::AllReduce,
                        entry[k++], latest + transfer, comm == 0 ? 1000 : 500, seq, comm);
    }
  };
  for (int s = 0; s < steps; ++s) {
    const auto seq = static_cast<std::uint32_t>(s);
    for (int call = 0; call < 2; ++call) {
      meet(1, {0, 1}, 2 * seq + static_cast<std::uint32_t>(call), s, call, 100us);
      meet(2, {2, 3}, 2 * seq + static_cast<std::uint32_t>(call), s, call, 100us);
    }
    meet(0, {0, 1, 2, 3}, seq, s, 2, 500us);
  }
  return run;
}

TEST(WhatIf, RanksOfOtherGroupsThatDoTheSameArePeers) {
  // Both ranks of one pair are slow together: within the pair nobody is.
  const WhatIf w = what_if(pairs_and_world([](int r, int, int call) {
    return call == 2 ? Duration{1ms} : r < 2 ? Duration{7ms} : Duration{5ms};
  }));
  ASSERT_EQ(w.fidelity, Fidelity::Good) << w.why;
  EXPECT_DOUBLE_EQ(w.fidelity_ratio, 0);
  EXPECT_GT(w.slowdown_ratio, 1.2);
  ASSERT_EQ(w.sets.size(), 2U);
  EXPECT_EQ(numbers(w.sets[1].ranks), (std::vector<int>{0, 1}));
  // Fixing one of the two gains nothing; the search goes on.
  EXPECT_NEAR(w.sets[0].fixed.speedup_ratio, 1, 1e-9);
  EXPECT_NEAR(w.sets[1].fixed.speedup_ratio, w.slowdown_ratio, 1e-9);
  EXPECT_NEAR(path_sum(w), 1, 1e-9);
}

TEST(WhatIf, LaterCallsInheritNothing) {
  const auto work = [](int r, int s, int call) {
    return testing::lognormal_work(5, 4 * call + r, s, 3ms, 0.3) + (r == 2 && call == 1 ? 2ms : 0ms);
  };
  const WhatIf w = what_if(pairs_and_world(work));
  ASSERT_EQ(w.fidelity, Fidelity::Good) << w.why;
  const auto best = std::max_element(w.ranks.begin(), w.ranks.end(), [](const auto& a, const auto& b) {
    return a.fixed.speedup_ratio < b.fixed.speedup_ratio;
  });
  EXPECT_EQ(best->rank, Rank{2});
  EXPECT_EQ(w.communicators.size(), 3U);
  for (const CommWhatIf& c : w.communicators) {
    EXPECT_TRUE(c.evaluated);
    EXPECT_GE(c.zero.speedup_ratio, c.lower_quartile.speedup_ratio);
  }
  EXPECT_NEAR(path_sum(w), 1, 1e-9);
}

TEST(WhatIf, ClocksThatDifferDoNotMatter) {
  Job job;
  job.nodes = 4;
  job.work = [](int r, int s) { return testing::lognormal_work(9, r, s, 10ms, 0.1) + (r == 3 ? 4ms : 0ms); };
  const WhatIf one = what_if(testing::make_job(job));
  job.clock_offset = [](int node) { return Duration{node * 3s}; };
  const WhatIf other = what_if(testing::make_job(job));
  ASSERT_EQ(other.fidelity, Fidelity::Good) << other.why;
  EXPECT_EQ(one.simulated, other.simulated);
  EXPECT_EQ(one.ideal, other.ideal);
  ASSERT_FALSE(other.sets.empty());
  EXPECT_EQ(numbers(other.sets[0].ranks), (std::vector<int>{3}));
}

TEST(WhatIf, WhatWasCarriedInIsNotReplayed) {
  Job job;
  job.work = [](int r, int s) { return s == 0 && r == 1 ? Duration{100s} : Duration{10ms}; };
  const WhatIf w = what_if(testing::make_job(job));
  ASSERT_EQ(w.fidelity, Fidelity::Good) << w.why;
  EXPECT_EQ(w.measured, 99 * (10ms + 500us));
  EXPECT_DOUBLE_EQ(w.slowdown_ratio, 1);
  EXPECT_TRUE(w.sets.empty());
}

TEST(WhatIf, RaggedLeavingStaysWithItsRank) {
  Job job;
  job.work = [](int r, int s) { return testing::lognormal_work(3, r, s, 10ms, 0.05); };
  job.leave = [](int r, int s) { return testing::lognormal_work(4, r, s, 200us, 0.5); };
  const WhatIf w = what_if(testing::make_job(job));
  ASSERT_EQ(w.fidelity, Fidelity::Good) << w.why;
  EXPECT_DOUBLE_EQ(w.fidelity_ratio, 0);
  EXPECT_GT(sum(w.path.held), 0);
  EXPECT_NEAR(path_sum(w), 1, 1e-9);
}

TEST(WhatIf, RefusesWhatReplayCannotReproduce) {
  // Nobody waits: each leaves at once, whoever has not come yet.
  trace::Run run = testing::empty_run(2);
  Duration at[2] = {1ms, 1ms};
  for (std::uint32_t s = 0; s < 50; ++s)
    for (std::size_t r = 0; r < 2; ++r) {
      at[r] += r == s % 2 ? 10ms : 1ms;
      testing::add_call(run.ranks[r].events, model::Collective::AllReduce, at[r], at[r] + 1us, 8, s);
    }
  const WhatIf w = what_if(run);
  EXPECT_EQ(w.fidelity, Fidelity::Refused);
  EXPECT_NE(w.why.find("longer than was measured"), std::string::npos) << w.why;
  EXPECT_TRUE(w.ranks.empty());
  EXPECT_TRUE(w.sets.empty());
  ASSERT_EQ(describe(w, Whom::Ranks).size(), 1U);
}

TEST(WhatIf, RefusesWhatHoldsNothing) {
  EXPECT_EQ(what_if(trace::Run{}).fidelity, Fidelity::Refused);
  EXPECT_EQ(what_if(testing::empty_run(3)).fidelity, Fidelity::Refused);
  Job job;
  job.steps = 1;
  const WhatIf w = what_if(testing::make_job(job));
  EXPECT_EQ(w.fidelity, Fidelity::Refused);
  EXPECT_FALSE(w.why.empty());
}

TEST(WhatIf, CrosswiseOrderIsTornApartAndToldOf) {
  trace::Run run = testing::empty_run(2);
  run.communicators.push_back({CommId{1}, 0, "other", 2, {Rank{0}, Rank{1}}});
  Duration at = 1ms;
  for (std::uint32_t s = 0; s < 20; ++s) {
    const bool crossed = s == 10;
    for (std::size_t r = 0; r < 2; ++r) {
      const int first = crossed && r == 1 ? 1 : 0;
      auto& e = run.ranks[r].events;
      testing::add_call(e, model::Collective::AllReduce, at + 1ms, at + 2ms, 8, s, first);
      testing::add_call(e, model::Collective::AllReduce, at + 3ms, at + 4ms, 8, s, 1 - first);
    }
    at += 5ms;
  }
  const WhatIf w = what_if(run);
  ASSERT_NE(w.fidelity, Fidelity::Refused) << w.why;
  ASSERT_EQ(w.screened.size(), 2U);
  EXPECT_NE(w.screened[0].find("different orders"), std::string::npos);
}

TEST(WhatIf, SaysWhatWasLeftOut) {
  Job job;
  job.ranks = 80;
  job.steps = 20;
  job.work = [](int r, int s) { return testing::lognormal_work(3, r, s, 10ms, 0.05); };
  const trace::Run run = testing::make_job(job);
  const WhatIf few = what_if(run, {.most_work = 1});
  ASSERT_EQ(few.fidelity, Fidelity::Good);
  EXPECT_EQ(std::count_if(few.ranks.begin(), few.ranks.end(), [](const auto& r) { return r.evaluated; }), 8);
  ASSERT_FALSE(few.screened.empty());
  EXPECT_NE(few.screened[0].find("8 of 80 ranks"), std::string::npos) << few.screened[0];
  const WhatIf cut = what_if(run, {.most_cells = 400});
  ASSERT_EQ(cut.fidelity, Fidelity::Good) << cut.why;
  EXPECT_LE(cut.cells, 400);
  EXPECT_EQ(cut.operations, 5);
  EXPECT_DOUBLE_EQ(cut.fidelity_ratio, 0);
  EXPECT_NE(cut.screened[0].find("the first 5"), std::string::npos) << cut.screened[0];
}

TEST(WhatIf, TimesAtTheEndOfTheRangeDoNotWrap) {
  trace::Run run = testing::empty_run(2);
  const Duration far = Duration::max() - Duration{1};
  for (std::size_t r = 0; r < 2; ++r) {
    auto& e = run.ranks[r].events;
    testing::add_call(e, model::Collective::AllReduce, Duration::min() + Duration{2},
                      Duration::min() + Duration{5}, 8, 0);
    testing::add_call(e, model::Collective::AllReduce, Duration{static_cast<std::int64_t>(r)}, Duration{9}, 8,
                      1);
    testing::add_call(e, model::Collective::AllReduce, far - Duration{4}, far, 8, 2);
  }
  const WhatIf w = what_if(run);
  EXPECT_GE(w.simulated, Duration::zero());
  EXPECT_GE(w.measured, Duration::zero());
}

TEST(WhatIf, AnotherNumberOfThreadsIsTheSameAnswer) {
  const trace::Run run = run_of(like_job_1());
  nlohmann::ordered_json one;
  nlohmann::ordered_json four;
  write_json(what_if(run, {.threads = 1}), run, one);
  write_json(what_if(run, {.threads = 4}), run, four);
  EXPECT_EQ(one.dump(), four.dump());
}

TEST(WhatIf, JsonHoldsAllAndRefusalsAreNull) {
  const trace::Run run = run_of(like_job_1());
  nlohmann::ordered_json j;
  write_json(what_if(run), run, j);
  EXPECT_EQ(j["fidelity"], "good");
  EXPECT_TRUE(j["why"].is_null());
  EXPECT_EQ(j["ranks"].size(), 10U);
  EXPECT_EQ(j["sets"][0]["ranks"][0], 6);
  EXPECT_EQ(j["sets"][0]["fixed"]["speedup_95_ratio"].size(), 2U);
  EXPECT_GT(j["ranks"][6]["fixed"]["speedup_ratio"], 1.01);
  EXPECT_EQ(j["communicators"][0]["comm_name"], "world");
  EXPECT_GT(j["slowdown_ratio"], 1.05);
  EXPECT_GT(j["slowdown_95_ratio"][1], j["slowdown_95_ratio"][0]);
  nlohmann::ordered_json none;
  write_json(what_if(trace::Run{}), trace::Run{}, none);
  EXPECT_EQ(none["fidelity"], "refused");
  EXPECT_TRUE(none["ideal_s"].is_null());
  EXPECT_TRUE(none["fabric_free"].is_null());
  EXPECT_EQ(none.size(), j.size());
}

TEST(WhatIf, LinesFitATerminal) {
  trace::Run run = run_of(like_job_1(), 3ms);
  run.communicators[0].name = std::string(300, '\x1b');
  const auto lines = describe(what_if(run), Whom::Ranks);
  EXPECT_GE(lines.size(), 6U);
  for (const std::string& line : lines) {
    EXPECT_LE(line.size(), 120U) << line;
    EXPECT_EQ(line.find('\x1b'), std::string::npos);
  }
  EXPECT_NE(lines[1].find("rank 6 as its peers: 1.8 % shorter"), std::string::npos) << lines[1];
}

TEST(WhatIf, WhereNobodyIsNamedNoRankIsToldAndNamesOfGroupsStay) {
  WhatIf w = what_if(run_of(like_job_1(), 3ms));
  CommWhatIf group;
  group.name = "rank 6 and its like\x1b";
  group.comm = CommId{0};
  group.evaluated = true;
  group.lower_quartile.speedup_ratio = group.zero.speedup_ratio = w.fabric_free.speedup_ratio = 1.1;
  w.communicators = {group};
  const auto lines = describe(w, Whom::Nobody);
  const auto any = [&](std::string_view text) {
    return std::any_of(lines.begin(), lines.end(),
                       [&](const std::string& l) { return l.find(text) != std::string::npos; });
  };
  EXPECT_FALSE(any(" as its peers: "));
  EXPECT_FALSE(any(" together: "));
  EXPECT_FALSE(any(" more ranks"));
  EXPECT_TRUE(any("no transfer at all: 9.1 % shorter")) << lines.front();
  EXPECT_TRUE(any("rank 6 and its like?: no transfer slower than its lower quartile: 9.1 % shorter"));
}

TEST(WhatIfJson, WhatIsNotANumberIsNull) {
  WhatIf w;
  w.fidelity = Fidelity::Good;
  w.slowdown_ratio = w.amplification_ratio = w.path.carried_in = std::nan("");
  nlohmann::ordered_json j;
  write_json(w, trace::Run{}, j);
  j = nlohmann::ordered_json::parse(j.dump());  // as it is read
  EXPECT_TRUE(j["slowdown_ratio"].is_null());
  EXPECT_TRUE(j["amplification_ratio"].is_null());
  EXPECT_TRUE(j["critical_path"]["carried_in_ratio"].is_null());
  EXPECT_EQ(j["fidelity_ratio"], 0.0);
}

}  // namespace
}  // namespace cox::diagnose
