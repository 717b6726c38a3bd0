// SPDX-License-Identifier: Apache-2.0
// Laws from measurements, patterns in time, and who shares a draw: against closed forms.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "cox/simulate/noise.hpp"

#include "simulate/kernels/seconds_array.hpp"

namespace cox::simulate {
namespace {

using model::NoiseLaw;
using model::NoisePattern;
using model::NoiseScope;
using model::NoiseSource;
using model::NoiseTarget;

Noise noise_of(const std::vector<NoiseSource>& sources, const SharedPlaces& placement,
               std::uint64_t seed = 5) {
  auto made = Noise::make(sources, placement, seed);
  EXPECT_TRUE(made.has_value()) << made.error().to_string();
  return made.has_value() ? *made : Noise{};
}

/// Times of n ranks whose undisturbed time is one second.
std::vector<double> seconds(const Noise& noise, std::int64_t step, int n) {
  std::vector<double> t(static_cast<std::size_t>(n), 1.0);
  noise.compute(step, 0, as_seconds(std::span<const double>(t)), as_seconds(std::span(t)));
  return t;
}

/// Costs of messages of one second into `n` ranks.
std::vector<double> messages(const Noise& noise, std::int64_t step, std::int64_t round, int n,
                             std::span<const int> ranks = {}, std::int64_t collective = 0) {
  std::vector<double> t(static_cast<std::size_t>(n), 1.0);
  noise.messages(step, collective, round, 0, as_seconds(std::span(t)), {}, ranks);
  return t;
}

double largest(const std::vector<double>& v) {
  return *std::ranges::max_element(v);
}

struct Estimate {
  double mean = 0;
  double error = 0;  ///< three standard errors
};
Estimate estimate(const std::vector<double>& v) {
  const auto n = static_cast<double>(v.size());
  double sum = 0;
  double squares = 0;
  for (const double x : v) sum += x;
  const double mean = sum / n;
  for (const double x : v) squares += (x - mean) * (x - mean);
  return {.mean = mean, .error = 3 * std::sqrt(squares / (n - 1) / n)};
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const double ma = estimate(a).mean;
  const double mb = estimate(b).mean;
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - ma) * (b[i] - mb);
    aa += (a[i] - ma) * (a[i] - ma);
    bb += (b[i] - mb) * (b[i] - mb);
  }
  return ab / std::sqrt(aa * bb);
}

/// Work of 100 s whose residuals have the tail u = 10, p = 0.05, sigma = 5.
NoiseSource measured(double shape) {
  return {.name = "measured",
          .law = NoiseLaw::Quantiles,
          .relative = false,
          .quantiles = {-10'000, 0, 10'000},
          .unit = Seconds{1e-3},
          .tail_probability = 0.05,
          .tail_scale = 5'000,
          .tail_shape = shape};
}

TEST(NoisePatterns, MeasuredLawsHaveTheirMeanAndTheirLargest) {
  constexpr int kRanks = 4096;
  const Noise noise = noise_of({measured(0.2)}, {.ranks = kRanks});
  std::vector<double> means;
  std::vector<double> largests;
  for (int step = 0; step < 800; ++step) {
    std::vector<double> t(kRanks, 100.0);
    noise.compute(step, 0, as_seconds(std::span<const double>(t)), as_seconds(std::span(t)));
    means.push_back(estimate(t).mean);
    largests.push_back(largest(t));
  }
  const Estimate mean = estimate(means);
  EXPECT_NEAR(mean.mean, 100 + 0.05 * (10 + 5 / 0.8), mean.error);  // the body is symmetric about nothing
  const Estimate most = estimate(largests);
  EXPECT_NEAR(most.mean, 169.3827, most.error);
}

TEST(NoisePatterns, MeasuredLawsAreOfMessagesAndBandwidthToo) {
  NoiseSource s{.name = "m", .law = NoiseLaw::Quantiles, .quantiles = {0, 0.1, 0.5}};
  for (const NoiseTarget target : {NoiseTarget::Message, NoiseTarget::Bandwidth}) {
    s.target = target;
    const Estimate got = estimate(messages(noise_of({s}, {.ranks = 65536}), 3, 1, 65536));
    EXPECT_NEAR(got.mean, 1 + (0.05 + 0.3) / 2, got.error);
  }
}

// AR(1) by the normal law that lies under any law: bounded values that wander.
TEST(NoisePatterns, MeasuredLawsAreCorrelatedInTime) {
  NoiseSource s{
      .name = "m", .law = NoiseLaw::Quantiles, .correlation = 0.999, .quantiles = {0, 0.02, 0.02, 0.3}};
  const Noise noise = noise_of({s}, {.ranks = 20000});
  const auto a = seconds(noise, 10, 20000);
  const auto b = seconds(noise, 11, 20000);
  EXPECT_GT(correlation(a, b), 0.98);
  EXPECT_LT(std::abs(correlation(a, seconds(noise, 20010, 20000))), 0.03);
  EXPECT_GE(*std::ranges::min_element(a), 1);
  EXPECT_LE(largest(a), 1.3);
  const Estimate mean = estimate(a);
  EXPECT_NEAR(mean.mean, 1 + (0.01 + 0.02 + 0.16) / 3, mean.error);
}

TEST(NoisePatterns, BadMeasuredLawsAreRefused) {
  const auto refused = [](const NoiseSource& s) { return !Noise::make({s}, {.ranks = 4}, 1).has_value(); };
  const NoiseSource good = measured(0.2);
  EXPECT_FALSE(refused(good));
  const auto with = [&](auto change) {
    NoiseSource s = good;
    change(s);
    return refused(s);
  };
  EXPECT_TRUE(with([](NoiseSource& s) { s.quantiles = {1}; }));
  EXPECT_TRUE(with([](NoiseSource& s) { s.quantiles = {1, 0}; }));
  EXPECT_TRUE(with([](NoiseSource& s) { s.quantiles = {0, 1e300}; }));
  EXPECT_TRUE(with([](NoiseSource& s) { s.unit = {}; }));
  EXPECT_TRUE(with([](NoiseSource& s) { s.tail_shape = 1; }));
  EXPECT_TRUE(with([](NoiseSource& s) { s.tail_probability = 1; }));
  EXPECT_TRUE(with([](NoiseSource& s) { s.file = "also.txt"; }));
  EXPECT_TRUE(with([](NoiseSource& s) { s.pattern = NoisePattern::Periodic; }));
}

// Adds only while on, for all of a node alike; in how many steps: burst / (burst + calm).
TEST(NoisePatterns, BurstsAddWhileTheyLast) {
  const NoiseSource s{.name = "b",
                      .law = NoiseLaw::Constant,
                      .scope = NoiseScope::Node,
                      .mean_ratio = 2,
                      .burst_steps = 4,
                      .calm_steps = 12};
  for (const NoiseTarget target : {NoiseTarget::Compute, NoiseTarget::Message, NoiseTarget::Bandwidth}) {
    NoiseSource of = s;
    of.target = target;
    const Noise noise = noise_of({of}, {.ranks = 512, .ranks_per_node = 8});
    double on = 0;
    for (int step = 0; step < 400; ++step) {
      const auto t =
          target == NoiseTarget::Compute ? seconds(noise, step, 512) : messages(noise, step, 3, 512);
      for (std::size_t r = 0; r < 512; ++r) {
        ASSERT_TRUE(t[r] == 1 || t[r] == 3);
        ASSERT_EQ(t[r], t[r / 8 * 8]);
        on += t[r] == 3 ? 1 : 0;
      }
    }
    EXPECT_NEAR(on / 512 / 400, 0.25, 0.02);
  }
}

TEST(NoisePatterns, ScopesAreRailsAndStages) {
  // Two stages of two ranks in each of four replicas; nodes of four devices, at two cards.
  const SharedPlaces placement{
      .ranks = 16, .ranks_per_node = 4, .rails = 2, .ranks_per_stage = 2, .stages = 2};
  const auto rail = [](int rank) { return rank % 4 / 2; };
  const auto stage = [](int rank) { return rank / 2 % 2; };
  for (const NoiseTarget target : {NoiseTarget::Compute, NoiseTarget::Message, NoiseTarget::Bandwidth})
    for (const NoisePattern pattern : {NoisePattern::EveryStep, NoisePattern::Persistent}) {
      NoiseSource s{
          .name = "s", .target = target, .law = NoiseLaw::Uniform, .pattern = pattern, .mean_ratio = 1};
      for (const NoiseScope scope : {NoiseScope::Rail, NoiseScope::Stage}) {
        s.scope = scope;
        const Noise noise = noise_of({s}, placement);
        const auto t = target == NoiseTarget::Compute ? seconds(noise, 1, 16) : messages(noise, 1, 0, 16);
        std::map<int, double> of;
        for (int r = 0; r < 16; ++r) {
          const int unit = scope == NoiseScope::Rail ? rail(r) : stage(r);
          const auto [at, fresh] = of.emplace(unit, t[static_cast<std::size_t>(r)]);
          EXPECT_EQ(at->second, t[static_cast<std::size_t>(r)]);
        }
        EXPECT_EQ(of.size(), 2U);
        EXPECT_NE(of[0], of[1]);
      }
    }
}

// A message goes by who receives it, not by where that is in a collective.
TEST(NoisePatterns, MessagesGoByTheRankThatReceives) {
  NoiseSource s{
      .name = "s", .target = NoiseTarget::Message, .law = NoiseLaw::Constant, .mean_ratio = 1, .ranks = {9}};
  const std::vector<int> ranks = {1, 5, 9, 13};
  for (const NoiseTarget target : {NoiseTarget::Message, NoiseTarget::Bandwidth}) {
    s.target = target;
    EXPECT_EQ(messages(noise_of({s}, {.ranks = 16}), 0, 0, 4, ranks), (std::vector<double>{1, 1, 2, 1}));
  }
  NoiseSource drawn{
      .name = "d", .target = NoiseTarget::Bandwidth, .law = NoiseLaw::Exponential, .mean_ratio = 1};
  const Noise by_rank = noise_of({drawn}, {.ranks = 4096});
  const auto all = messages(by_rank, 2, 0, 4096);
  std::vector<int> far(40);  // further apart than what is drawn at a time
  for (std::size_t i = 0; i < far.size(); ++i) far[i] = static_cast<int>(i * 100);
  const auto some = messages(by_rank, 2, 0, 40, far);
  for (std::size_t i = 0; i < far.size(); ++i) EXPECT_EQ(some[i], all[static_cast<std::size_t>(far[i])]);
  EXPECT_TRUE(by_rank.names_ranks());
  EXPECT_FALSE(
      noise_of({{.name = "plain", .target = NoiseTarget::Message, .cv = 0.1}}, {.ranks = 4}).names_ranks());
}

// A memory saves draws, and changes none: in any order of steps, for other ranks, another seed.
TEST(NoisePatterns, AMemoryChangesNothing) {
  const std::vector<NoiseSource> sources{
      {.name = "p", .pattern = NoisePattern::Persistent, .cv = 0.1, .ranks = {3, 700}},
      {.name = "a", .cv = 0.1, .correlation = 0.7},
      {.name = "n", .law = NoiseLaw::Exponential, .scope = NoiseScope::Node, .correlation = 0.99},
      {.name = "r", .scope = NoiseScope::Rail, .cv = 0.1, .correlation = 1e-9},
      {.name = "b", .pattern = NoisePattern::Persistent, .cv = 0.2, .burst_steps = 3, .calm_steps = 3}};
  const SharedPlaces placement{.ranks = 1300, .ranks_per_node = 4, .rails = 2};
  NoiseMemory memory;
  const Noise noise = noise_of(sources, placement);
  for (const Noise& one : {noise, noise.with_seed(9), noise})
    for (const int first : {0, 100})
      for (const int step : {0, 1, 2, 3, 4, 5, 6, 7, 8, 100, 1000, 4, 12345678}) {
        const std::vector<Seconds> work(1100, Seconds{1});
        std::vector<Seconds> with(work.size());
        std::vector<Seconds> without(work.size());
        one.compute(step, first, work, with, {}, &memory);
        one.compute(step, first, work, without);
        ASSERT_EQ(with, without) << first << ' ' << step;
      }
}

// Correlated messages: one draw per step and rank, for all messages of the step.
TEST(NoisePatterns, MessagesAreCorrelatedInTime) {
  const NoiseSource s{.name = "c", .target = NoiseTarget::Message, .cv = 0.1, .correlation = 0.9};
  const Noise noise = noise_of({s}, {.ranks = 20000});
  const auto now = messages(noise, 5, 0, 20000);
  EXPECT_EQ(now, messages(noise, 5, 7, 20000, {}, 3));
  EXPECT_NEAR(correlation(now, messages(noise, 6, 0, 20000)), 0.9, 0.01);
  EXPECT_NEAR(correlation(now, messages(noise, 8, 0, 20000)), 0.729, 0.02);
}

// Detour of length l in one step out of P: each rank once in P steps. With phases of their own a step has it with
// probability 1 - (1 - 1/P)^N, all together with 1/P.
TEST(NoisePatterns, CollectionsThatAreStaggeredCostMoreThanAligned) {
  constexpr int kPeriod = 50;
  constexpr int kRanks = 64;
  NoiseSource s{.name = "gc",
                .law = NoiseLaw::Constant,
                .pattern = NoisePattern::Recurring,
                .relative = false,
                .mean = Seconds{0.25},
                .period_steps = kPeriod};
  for (const bool aligned : {false, true}) {
    s.scope = aligned ? NoiseScope::Global : NoiseScope::Rank;
    std::vector<double> cost;  // mean over the steps of a period, per seed
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      const Noise noise = noise_of({s}, {.ranks = kRanks}, seed);
      std::vector<int> often(kRanks, 0);
      double sum = 0;
      for (int step = 100; step < 100 + kPeriod; ++step) {
        const auto t = seconds(noise, step, kRanks);
        sum += largest(t) - 1;
        for (std::size_t r = 0; r < t.size(); ++r) often[r] += t[r] > 1 ? 1 : 0;
      }
      ASSERT_EQ(often, std::vector<int>(kRanks, 1));
      cost.push_back(sum / kPeriod);
    }
    const double wanted = 0.25 * (aligned ? 1.0 / kPeriod : 1 - std::pow(1 - 1.0 / kPeriod, kRanks));
    const Estimate got = estimate(cost);
    EXPECT_NEAR(got.mean, wanted, got.error + 1e-12);
  }
}

// A rack's walk is held between bounds; it throttles where it is hottest. With R racks a step is throttled with
// probability 1 - (1 - q)^R, whatever the correlation.
TEST(NoisePatterns, RacksThatThrottle) {
  constexpr double kHot = 0.02;
  constexpr int kRacks = 32;
  const NoiseSource s{.name = "throttle",
                      .law = NoiseLaw::Bimodal,
                      .scope = NoiseScope::Switch,
                      .mean_ratio = 0.3,
                      .probability = kHot,
                      .correlation = 0.99};
  const SharedPlaces placement{.ranks = kRacks * 8, .ranks_per_node = 2, .nodes_per_switch = 4};
  std::vector<double> throttled;
  double again = 0;
  double hot = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    const Noise noise = noise_of({s}, placement, seed);
    const auto t = seconds(noise, 7, kRacks * 8);
    const auto next = seconds(noise, 8, kRacks * 8);
    for (std::size_t r = 0; r < t.size(); ++r) ASSERT_EQ(t[r], t[r / 8 * 8]);
    throttled.push_back(largest(t) > 1 ? 1 : 0);
    for (std::size_t r = 0; r < t.size(); r += 8) {
      hot += t[r] > 1 ? 1 : 0;
      again += t[r] > 1 && next[r] > 1 ? 1 : 0;
    }
  }
  const Estimate got = estimate(throttled);
  EXPECT_NEAR(got.mean, 1 - std::pow(1 - kHot, kRacks), got.error);
  EXPECT_GT(again / hot, 0.8);  // it lasts
}

/// Mean over seeds of how much later the last of `ranks` is for a delay of rank 0, over that delay. Both with the same
/// draws.
Estimate kept(const NoiseSource& jitter, int ranks, double delay) {
  NoiseSource once{.name = "delay",
                   .law = NoiseLaw::Constant,
                   .pattern = NoisePattern::Once,
                   .relative = false,
                   .mean = Seconds{delay},
                   .step = 3,
                   .ranks = {0}};
  NoiseSource none = once;
  none.off = true;
  std::vector<double> parts;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    const SharedPlaces placement{.ranks = ranks};
    const auto with = seconds(noise_of({jitter, once}, placement, seed), 3, ranks);
    const auto without = seconds(noise_of({jitter, none}, placement, seed), 3, ranks);
    parts.push_back((largest(with) - largest(without)) / delay);
  }
  return estimate(parts);
}

// D_0 / d at a barrier. Formula: integral of F(x)^N - F(x - d) F(x)^(N - 1).
TEST(NoisePatterns, ADelayIsKeptAsFarAsItsRankIsTheLast) {
  const NoiseSource normal{
      .name = "n", .law = NoiseLaw::Gaussian, .relative = false, .mean = Seconds{100}, .cv = 0.01};
  const NoiseSource exponential{
      .name = "e", .law = NoiseLaw::Exponential, .relative = false, .mean = Seconds{1}};
  struct Case {
    const NoiseSource& jitter;
    int ranks;
    double delay;
    double kept;
  };
  for (const Case& c :
       {Case{normal, 8, 1, 0.243}, Case{normal, 8, 5, 0.715}, Case{normal, 64, 3, 0.28056},
        Case{normal, 64, 10, 0.766}, Case{exponential, 8, 1, 0.214}, Case{exponential, 8, 10, 0.828},
        Case{exponential, 64, 5, 0.291}, Case{exponential, 64, 10, 0.626}}) {
    const Estimate got = kept(c.jitter, c.ranks, c.delay);
    EXPECT_NEAR(got.mean, c.kept, got.error + 0.0005) << c.jitter.name << ' ' << c.ranks << ' ' << c.delay;
  }
}

TEST(NoisePatterns, ADelayIsInjectedOnceAndExactly) {
  const NoiseSource once{.name = "delay",
                         .law = NoiseLaw::Constant,
                         .pattern = NoisePattern::Once,
                         .relative = false,
                         .mean = Seconds{0.5},
                         .step = 3,
                         .ranks = {2}};
  const Noise noise = noise_of({once}, {.ranks = 4});
  EXPECT_EQ(seconds(noise, 2, 4), (std::vector<double>{1, 1, 1, 1}));
  EXPECT_EQ(seconds(noise, 3, 4), (std::vector<double>{1, 1, 1.5, 1}));
  EXPECT_EQ(seconds(noise, 4, 4), (std::vector<double>{1, 1, 1, 1}));
}

}  // namespace
}  // namespace cox::simulate
