// SPDX-License-Identifier: Apache-2.0
#include "cox/simulate/noise.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "cox/base/file.hpp"
#include "cox/base/parallel.hpp"

#include "simulate/kernels/seconds_array.hpp"
#include "simulate/noise/delays.hpp"
#include "simulate/noise/trace.hpp"

namespace cox::simulate {
namespace {

using model::NoiseLaw;
using model::NoisePattern;
using model::NoiseScope;
using model::NoiseSource;
using model::NoiseTarget;

constexpr int kMany = 1 << 16;

Noise noise_of(const std::vector<NoiseSource>& sources, const SharedPlaces& placement = {.ranks = kMany},
               std::uint64_t seed = 77) {
  auto n = Noise::make(sources, placement, seed);
  EXPECT_TRUE(n.has_value()) << n.error().to_string();
  return n.has_value() ? *n : Noise{};
}

/// Times of ranks [first, first + n) whose undisturbed time is one second.
std::vector<double> seconds(const Noise& noise, std::int64_t step, int n, int first = 0) {
  std::vector<double> t(static_cast<std::size_t>(n), 1.0);
  noise.compute(step, first, as_seconds(std::span<const double>(t)), as_seconds(std::span(t)));
  return t;
}

double mean_of(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += x;
  return sum / static_cast<double>(v.size());
}
double variance_of(const std::vector<double>& v) {
  const double m = mean_of(v);
  double sum = 0;
  for (const double x : v) sum += (x - m) * (x - m);
  return sum / static_cast<double>(v.size() - 1);
}

struct LawCase {
  NoiseSource source;
  double mean;
  double variance;                         // below 0: none
  std::function<double(double)> quantile;  // of the disturbed time
};

std::vector<LawCase> laws() {
  const double a = 2.5;
  const double k = 1.7;
  const double g1 = std::tgamma(1 + 1 / k);
  const double sigma = std::sqrt(std::log(1 + 0.09));
  const auto z = [](double q) {  // of the standard normal, for the three q that are asked for
    return q == 0.1 ? -1.2815515655446004 : q == 0.5 ? 0.0 : 1.2815515655446004;
  };
  return {
      {{.name = "constant", .law = NoiseLaw::Constant, .mean_ratio = 0.25},
       1.25,
       0,
       [](double) { return 1.25; }},
      {{.name = "factor", .law = NoiseLaw::Gaussian, .cv = 0.05},
       1,
       0.0025,
       [z](double q) { return 1 + 0.05 * z(q); }},
      {{.name = "gaussian", .law = NoiseLaw::Gaussian, .mean_ratio = 0.5, .cv = 0.1},
       1.5,
       0.0025,
       [z](double q) { return 1.5 + 0.05 * z(q); }},
      {{.name = "lognormal", .law = NoiseLaw::Lognormal, .cv = 0.3},
       1,
       0.09,
       [z, sigma](double q) { return std::exp(sigma * z(q) - sigma * sigma / 2); }},
      {{.name = "exponential", .law = NoiseLaw::Exponential, .mean_ratio = 0.2},
       1.2,
       0.04,
       [](double q) { return 1 - 0.2 * std::log(1 - q); }},
      {{.name = "pareto", .law = NoiseLaw::Pareto, .mean_ratio = 1, .shape = a},
       2,
       -1,
       [a](double q) { return 1 + (a - 1) / a * std::pow(1 - q, -1 / a); }},
      {{.name = "pareto-cv", .law = NoiseLaw::Pareto, .mean_ratio = 1, .cv = 0.2},
       2,
       -1,
       [](double q) {
         const double s = 1 + std::sqrt(26.0);
         return 1 + (s - 1) / s * std::pow(1 - q, -1 / s);
       }},
      {{.name = "weibull", .law = NoiseLaw::Weibull, .mean_ratio = 0.5, .shape = k},
       1.5,
       0.25 * (std::tgamma(1 + 2 / k) / (g1 * g1) - 1),
       [k, g1](double q) { return 1 + 0.5 / g1 * std::pow(-std::log(1 - q), 1 / k); }},
      {{.name = "uniform", .law = NoiseLaw::Uniform, .mean_ratio = 0.5},
       1.5,
       1.0 / 12,
       [](double q) { return 1 + q; }},
      {{.name = "absolute", .law = NoiseLaw::Uniform, .relative = false, .mean = Seconds{2}, .cv = 0.1},
       3,
       0.04,
       [](double q) { return 3 + 0.2 * std::sqrt(3.0) * (2 * q - 1); }},
  };
}

TEST(Noise, LawsHaveTheirMomentsAndQuantiles) {
  for (const LawCase& c : laws()) {
    const auto t = seconds(noise_of({c.source}), 3, kMany);
    const double n = kMany;
    const double spread = variance_of(t);
    EXPECT_LE(std::abs(mean_of(t) - c.mean), 3 * std::sqrt(spread / n) + 1e-12) << c.source.name;
    if (c.variance >= 0) {
      double fourth = 0;
      const double m = mean_of(t);
      for (const double x : t) fourth += std::pow(x - m, 4) / n;
      EXPECT_LE(std::abs(spread - c.variance), 3 * std::sqrt((fourth - spread * spread) / n) + 1e-12)
          << c.source.name;
    }
    if (c.variance == 0) continue;
    for (const double q : {0.1, 0.5, 0.9}) {
      const double below = c.quantile(q);
      const auto count = std::ranges::count_if(t, [below](double x) { return x < below; });
      EXPECT_NEAR(static_cast<double>(count) / n, q, 3 * std::sqrt(q * (1 - q) / n))
          << c.source.name << ' ' << q;
    }
  }
}

TEST(Noise, BimodalAndProbability) {
  for (const NoiseLaw law : {NoiseLaw::Bimodal, NoiseLaw::Constant}) {
    const auto t =
        seconds(noise_of({{.name = "pause", .law = law, .mean_ratio = 2, .probability = 0.125}}), 0, kMany);
    const auto hit = std::ranges::count(t, 3.0);
    EXPECT_EQ(hit + std::ranges::count(t, 1.0), kMany);
    EXPECT_NEAR(static_cast<double>(hit) / kMany, 0.125, 3 * std::sqrt(0.125 * 0.875 / kMany));
  }
}

// Oracle 8: the latest of 256 lognormal times against quadrature of 1 - F^256.
TEST(Noise, LatestOfManyLognormals) {
  for (const auto& [cv, printed] : {std::pair{0.2, 1.72}, std::pair{0.3, 2.21}}) {
    const double sigma = std::sqrt(std::log(1 + cv * cv));
    double expected = 0;
    constexpr double kStep = 1e-4;
    for (int k = 0; k < 120000; ++k) {
      const double x = kStep * (k + 0.5);
      const double f = 0.5 * std::erfc(-(std::log(x) + sigma * sigma / 2) / sigma / std::sqrt(2.0));
      expected += (1 - std::pow(f, 256)) * kStep;
    }
    EXPECT_NEAR(expected, printed, 0.005);
    const auto noise = noise_of({{.name = "n", .law = NoiseLaw::Lognormal, .cv = cv}}, {.ranks = 256});
    std::vector<double> latest;
    latest.reserve(4000);
    for (int step = 0; step < 4000; ++step) latest.push_back(std::ranges::max(seconds(noise, step, 256)));
    EXPECT_NEAR(mean_of(latest), expected, 3 * std::sqrt(variance_of(latest) / 4000));
  }
}

// Oracle 8: of 256 Pareto times of shape 1.5. Their latest has no variance,
// so it is compared by its quantiles too.
TEST(Noise, LatestOfManyParetos) {
  const double a = 1.5;
  const double n = 256;
  const double expected =
      (a - 1) / a * std::exp(std::lgamma(n + 1) + std::lgamma(1 - 1 / a) - std::lgamma(n + 1 - 1 / a));
  EXPECT_NEAR(expected, 36.02, 0.005);
  const auto noise = noise_of({{.name = "n", .law = NoiseLaw::Pareto, .shape = a}}, {.ranks = 256});
  std::vector<double> latest;
  latest.reserve(8000);
  for (int step = 0; step < 8000; ++step) latest.push_back(std::ranges::max(seconds(noise, step, 256)));
  EXPECT_NEAR(mean_of(latest), expected, 3 * std::sqrt(variance_of(latest) / 8000));
  for (const double q : {0.1, 0.5, 0.9, 0.99}) {
    const double below = (a - 1) / a * std::pow(1 - std::pow(q, 1 / n), -1 / a);
    const auto count = std::ranges::count_if(latest, [below](double x) { return x < below; });
    EXPECT_NEAR(static_cast<double>(count) / 8000, q, 3 * std::sqrt(q * (1 - q) / 8000)) << q;
  }
}

TEST(Noise, CorrelationDecaysWithTheSteps) {
  constexpr int kSome = 1 << 14;
  for (const double rho : {0.5, 0.9, 0.995}) {
    const auto noise = noise_of({{.name = "n", .law = NoiseLaw::Gaussian, .cv = 0.05, .correlation = rho}});
    for (const std::int64_t step : {0, 37, 511, 1022}) {
      const auto a = seconds(noise, step, kSome);
      EXPECT_NEAR(variance_of(a), 0.0025, 3 * 0.0025 * std::sqrt(2.0 / kSome)) << rho << ' ' << step;
      for (const std::int64_t lag : {1, 2, 7, 100}) {
        const auto b = seconds(noise, step + lag, kSome);
        double product = 0;
        for (std::size_t i = 0; i < a.size(); ++i) product += (a[i] - 1) * (b[i] - 1) / 0.0025 / kSome;
        const double want = std::pow(rho, static_cast<double>(lag));
        EXPECT_NEAR(product, want, 3 * std::sqrt((1 + want * want) / kSome))
            << rho << ' ' << step << '+' << lag;
      }
    }
  }
}

TEST(Noise, CorrelatedLawsKeepTheirDistribution) {
  const auto noise =
      noise_of({{.name = "n", .law = NoiseLaw::Exponential, .mean_ratio = 0.2, .correlation = 0.9}});
  const auto t = seconds(noise, 13, kMany);
  EXPECT_NEAR(mean_of(t), 1.2, 3 * std::sqrt(0.04 / kMany));
  const auto later = seconds(noise, 14, kMany);
  double product = 0;
  for (std::size_t i = 0; i < t.size(); ++i) product += (t[i] - 1.2) * (later[i] - 1.2) / 0.04 / kMany;
  EXPECT_GT(product, 0.8);  // of exponentials from normals with 0.9: a little less
}

std::vector<NoiseSource> many_sources() {
  return {{.name = "a", .law = NoiseLaw::Lognormal, .cv = 0.1, .correlation = 0.8},
          {.name = "b", .law = NoiseLaw::Pareto, .scope = NoiseScope::Node, .mean_ratio = 0.1, .shape = 3},
          {.name = "c",
           .law = NoiseLaw::Weibull,
           .scope = NoiseScope::Switch,
           .mean_ratio = 0.1,
           .shape = 2,
           .probability = 0.3},
          {.name = "d", .law = NoiseLaw::Exponential, .scope = NoiseScope::Global, .mean_ratio = 0.1},
          {.name = "e", .pattern = NoisePattern::Persistent, .cv = 0.1, .ranks = {5, 3, 900}},
          {.name = "f",
           .law = NoiseLaw::Exponential,
           .pattern = NoisePattern::Periodic,
           .relative = false,
           .mean = Seconds{0.01},
           .period = Seconds{0.3}}};
}

TEST(Noise, SameDrawsInAnyOrderCutAndThread) {
  const SharedPlaces placement{.ranks = 1500, .ranks_per_node = 8, .nodes_per_switch = 4};
  const auto noise = noise_of(many_sources(), placement);
  const std::vector<Seconds> base(1500, Seconds{1});
  std::vector<Seconds> now(1500);
  for (std::size_t r = 0; r < now.size(); ++r) now[r] = Seconds{0.001 * static_cast<double>(r)};
  const auto whole = [&](const Noise& n, std::int64_t step) {
    std::vector<Seconds> t(1500);
    n.compute(step, 0, base, t, now);
    return t;
  };
  std::vector<std::vector<Seconds>> forward;
  forward.reserve(20);
  for (int step = 0; step < 20; ++step) forward.push_back(whole(noise, step));
  for (int step = 19; step >= 0; --step)
    EXPECT_EQ(whole(noise, step), forward[static_cast<std::size_t>(step)]);
  std::vector<std::vector<Seconds>> threaded(20);
  parallel_for(20, 3,
               [&](std::size_t step) { threaded[step] = whole(noise, static_cast<std::int64_t>(step)); });
  EXPECT_EQ(threaded, forward);
  for (int first = 0; first < 1500; first += 7) {  // one piece of seven after the other
    const auto n = static_cast<std::size_t>(std::min(7, 1500 - first));
    const auto at = static_cast<std::size_t>(first);
    std::vector<Seconds> t(n);
    noise.compute(11, first, std::span(base).first(n), t, std::span<const Seconds>(now).subspan(at, n));
    EXPECT_TRUE(std::equal(t.begin(), t.end(), forward[11].begin() + first)) << first;
  }
  EXPECT_NE(whole(noise.with_seed(78), 0), forward[0]);
  EXPECT_EQ(whole(noise.with_seed(77), 0), forward[0]);
}

TEST(Noise, ScopesShareADraw) {
  const SharedPlaces placement{.ranks = 64, .ranks_per_node = 4, .nodes_per_switch = 2};
  for (const auto& [scope, size] : {std::pair{NoiseScope::Rank, 1},
                                    {NoiseScope::Node, 4},
                                    {NoiseScope::Switch, 8},
                                    {NoiseScope::Global, 64}}) {
    const auto t = seconds(noise_of({{.name = "n", .scope = scope, .cv = 0.1}}, placement), 2, 64);
    for (std::size_t r = 1; r < t.size(); ++r)
      EXPECT_EQ(t[r] == t[r - 1], r % static_cast<std::size_t>(size) != 0) << r;
  }
}

// Ranks go round the nodes: who shares a node's draw is known from the device, which has the draw that it has when packed.
TEST(Noise, ScopesOfDevicesGoByWhereRanksSit) {
  SharedPlaces placement{.ranks = 16, .ranks_per_node = 4, .nodes_per_switch = 2, .rails = 2};
  std::vector<int> devices;
  devices.reserve(16);
  for (int r = 0; r < 16; ++r) devices.push_back(r % 4 * 4 + r / 4);
  for (const NoiseScope scope : {NoiseScope::Node, NoiseScope::Switch, NoiseScope::Rail})
    for (const NoisePattern pattern : {NoisePattern::EveryStep, NoisePattern::Rotating}) {
      const NoiseSource source{
          .name = "n", .law = NoiseLaw::Exponential, .scope = scope, .pattern = pattern, .mean_ratio = 1};
      placement.devices.clear();
      const auto packed = seconds(noise_of({source}, placement), 2, 16);
      placement.devices = devices;
      const auto placed = seconds(noise_of({source}, placement), 2, 16);
      for (std::size_t r = 0; r < 16; ++r)
        EXPECT_EQ(placed[r], packed[static_cast<std::size_t>(devices[r])]) << r;
      EXPECT_NE(placed, packed);
    }
}

// The same for what is received, where the ranks are named; which of them sits on a device is asked of the noise.
TEST(Noise, MessagesGoByWhereRanksSit) {
  SharedPlaces placement{.ranks = 16, .ranks_per_node = 4, .nodes_per_switch = 2, .rails = 2};
  std::vector<int> ranks(16), devices;
  std::iota(ranks.begin(), ranks.end(), 0);
  for (const int r : ranks) devices.push_back(r % 4 * 4 + r / 4);
  for (const NoiseScope scope : {NoiseScope::Node, NoiseScope::Switch, NoiseScope::Rail})
    for (const NoiseTarget target : {NoiseTarget::Message, NoiseTarget::Bandwidth}) {
      const NoiseSource source{
          .name = "n", .target = target, .law = NoiseLaw::Exponential, .scope = scope, .mean_ratio = 1};
      const auto received = [&] {
        const Noise noise = noise_of({source}, placement);
        std::vector<Seconds> costs(16, Seconds{1});
        for (int i = 0; i < 16; ++i) {
          const auto at = static_cast<std::size_t>(i);
          const int rank = noise.rank_on(placement.devices.empty() ? i : devices[at]);
          EXPECT_EQ(rank, i);
          noise.messages(0, 0, 0, 0, {&costs[at], 1}, {}, {&rank, 1});
        }
        return costs;
      };
      placement.devices.clear();
      const auto packed = received();
      placement.devices = devices;
      const auto placed = received();
      for (std::size_t r = 0; r < 16; ++r)
        EXPECT_EQ(placed[r], packed[static_cast<std::size_t>(devices[r])]) << r;
      EXPECT_NE(placed, packed);
    }
}

// Of eight nodes the job has the last two: the straggler that goes round goes round these, and a server beyond the ranks is neither.
TEST(Noise, UnitsAreThoseInUse) {
  SharedPlaces placement{.ranks = 4, .ranks_per_node = 2, .devices = {12, 13, 14, 15}};
  const auto noise = noise_of({{.name = "n",
                                .law = NoiseLaw::Constant,
                                .scope = NoiseScope::Node,
                                .pattern = NoisePattern::Rotating,
                                .mean_ratio = 1,
                                .period_steps = 1}},
                              placement);
  EXPECT_EQ(seconds(noise, 0, 4), (std::vector<double>{2, 2, 1, 1}));
  EXPECT_EQ(seconds(noise, 1, 4), (std::vector<double>{1, 1, 2, 2}));
  EXPECT_EQ(seconds(noise, 2, 4), (std::vector<double>{2, 2, 1, 1}));
  EXPECT_EQ(noise.rank_on(14), 2);
}

TEST(Noise, PatternsOfStragglers) {
  const SharedPlaces placement{.ranks = 8, .ranks_per_node = 2};
  const auto rotating = noise_of({{.name = "n",
                                   .law = NoiseLaw::Constant,
                                   .scope = NoiseScope::Node,
                                   .pattern = NoisePattern::Rotating,
                                   .mean_ratio = 1,
                                   .period_steps = 3}},
                                 placement);
  for (int step = 0; step < 30; ++step) {
    const auto t = seconds(rotating, step, 8);
    for (int r = 0; r < 8; ++r)
      EXPECT_EQ(t[static_cast<std::size_t>(r)], r / 2 == step / 3 % 4 ? 2 : 1) << step;
  }
  const auto persistent = noise_of({{.name = "n",
                                     .law = NoiseLaw::Exponential,
                                     .pattern = NoisePattern::Persistent,
                                     .mean_ratio = 1,
                                     .ranks = {6, 1}}},
                                   placement);
  const auto t = seconds(persistent, 0, 8);
  EXPECT_EQ(t, seconds(persistent, 99, 8));
  for (std::size_t r = 0; r < 8; ++r) EXPECT_EQ(t[r] > 1, r == 1 || r == 6);
  const auto drift = noise_of({{.name = "n",
                                .law = NoiseLaw::Constant,
                                .pattern = NoisePattern::Drift,
                                .mean_ratio = 0.5,
                                .period_steps = 10}},
                              placement);
  EXPECT_EQ(seconds(drift, 0, 1)[0], 1.0);
  EXPECT_DOUBLE_EQ(seconds(drift, 4, 1)[0], 1.2);
  EXPECT_DOUBLE_EQ(seconds(drift, 1000, 1)[0], 1.5);
}

// A daemon of 10 ms in each 100 ms takes a tenth of long work.
TEST(Noise, DaemonsInterruptWork) {
  for (const NoiseLaw law : {NoiseLaw::Constant, NoiseLaw::Exponential}) {
    const auto noise = noise_of({{.name = "n",
                                  .law = law,
                                  .pattern = NoisePattern::Periodic,
                                  .relative = false,
                                  .mean = Seconds{0.01},
                                  .period = Seconds{0.1}}});
    std::vector<Seconds> t(2000, Seconds{9});
    const std::vector<Seconds> now(2000, Seconds{12.3});
    noise.compute(0, 0, t, t, now);
    const auto out = as_doubles(std::span(t));
    const std::vector<double> all(out.begin(), out.end());
    EXPECT_NEAR(mean_of(all), 10.0, 3 * std::sqrt(variance_of(all) / 2000) + 0.01);
    if (law != NoiseLaw::Constant) continue;
    // 9 / 0.09 interruptions, or one fewer and the rest of one that was running when the work began
    for (const double x : all) ASSERT_TRUE(std::abs(x - 10) < 1e-9 || (x > 9.99 - 1e-9 && x < 10)) << x;
    EXPECT_NEAR(
        static_cast<double>(std::ranges::count_if(all, [](double x) { return x < 10 - 1e-9; })) / 2000, 0.1,
        3 * std::sqrt(0.09 / 2000));
  }
  const auto source =
      NoiseDraws::make({.name = "n", .law = NoiseLaw::Constant, .relative = false, .mean = Seconds{0.01}}, 0);
  const Daemon daemon{*source, 0.1};
  EXPECT_EQ(daemon.delay(1, 0, 0, 0), 0);
  double hits = 0;  // begins within 20 ms, or runs already
  for (std::uint64_t unit = 0; unit < 10000; ++unit) hits += daemon.delay(1, unit, 5, 0.02) > 0 ? 1 : 0;
  EXPECT_NEAR(hits / 10000, 0.3, 3 * std::sqrt(0.21 / 10000));
}

TEST(Noise, RecordedDetoursComeBack) {
  const auto trace = parse_noise_trace("# a core\nwindow 1s\n100ms 10ms\n500ms 20ms\n\n900ms 30ms\n", "t");
  ASSERT_TRUE(trace) << trace.error().to_string();
  const auto& d = std::get<Detours>(*trace);
  ASSERT_EQ(d.at.size(), 3U);
  EXPECT_NEAR(d.total, 0.06, 1e-12);
  const auto source = NoiseDraws::make({.name = "n", .law = NoiseLaw::Trace}, 0);
  const DetourReplay replay{*source, d};
  for (std::uint64_t unit = 0; unit < 200; ++unit) {
    const double added = replay.delay(9, unit, 3.25, 2.5);
    EXPECT_GE(added, 0.12 - 1e-12);  // 2.5 s of work need more than two windows, less than three
    EXPECT_LE(added, 0.18 + 0.03 + 1e-12);
    EXPECT_NEAR(replay.delay(9, unit, 3.25, 2.5 + 0.94) - added, 0.06, 1e-9);  // a window more
    EXPECT_NEAR(replay.delay(9, unit, 4.25, 2.5), added, 1e-9);                // a window later
  }
}

TEST(Noise, RecordedStepTimesReplay) {
  const auto path =
      std::filesystem::path(testing::TempDir()) / ("cox_noise_steps-" + std::to_string(getpid()) + ".csv");
  ASSERT_TRUE(
      write_file_atomically(path, "step,rank,compute_s\n0,0,1\n0,1,3\n1,0,2\n1,1,2\n", IfExists::Replace));
  NoiseSource s{.name = "trace", .law = NoiseLaw::Trace, .relative = false, .file = path.string()};
  const auto exact = noise_of({s}, {.ranks = 4});
  EXPECT_EQ(seconds(exact, 0, 2), (std::vector<double>{1, 3}));
  EXPECT_EQ(seconds(exact, 1, 2), (std::vector<double>{2, 2}));
  EXPECT_EQ(seconds(exact, 2, 2), (std::vector<double>{1, 3}));
  const std::string file = path.string();
  EXPECT_EQ(exact.repeats(3, Seconds{9}),
            (std::vector<std::string>{file + " holds 2 steps, the run has 3: they are played again",
                                      file + " holds 2 ranks, the job has 4: they are played again"}));
  EXPECT_TRUE(noise_of({s}, {.ranks = 2}).repeats(2, Seconds{9}).empty());
  s.relative = true;
  EXPECT_EQ(seconds(noise_of({s}, {.ranks = 4}), 0, 2), (std::vector<double>{0.5, 1.5}));
  std::filesystem::remove(path);
}

TEST(Noise, TracesThatAreWrongAreRefusedWithTheirLine) {
  const auto line_of = [](std::string_view text) -> std::int64_t {
    const auto t = parse_noise_trace(text, "t");
    if (t) return -1;
    EXPECT_EQ(t.error().id, "simulate-002");
    return t.error().where->line;
  };
  EXPECT_EQ(line_of(""), 0);
  EXPECT_EQ(line_of("# only this\n"), 1);
  EXPECT_EQ(line_of("step,rank,compute_s\n"), 1);
  EXPECT_EQ(line_of("step,rank,compute_s\n0,0,1\n0,2,1\n"), 3);
  EXPECT_EQ(line_of("step,rank,compute_s\n0,0,1\n0,1,1\n1,0,1\n"), 4);
  EXPECT_EQ(line_of("step,rank,compute_s\n0,0,1\n1,0,1\n1,1,1\n"), 4);
  EXPECT_EQ(line_of("step,rank,compute_s\n0,0,-1\n"), 2);
  EXPECT_EQ(line_of("step,rank,compute_s\n0,0,nan\n"), 2);
  EXPECT_EQ(line_of("step,rank,compute_s\n0,0,1e999\n"), 2);
  EXPECT_EQ(line_of("step,rank,compute_s\n0,18446744073709551615,1\n"), 2);
  EXPECT_EQ(line_of("1ms 2ms\n"), 1);
  EXPECT_EQ(line_of("window 0s\n"), 1);
  EXPECT_EQ(line_of("window 1s\n2s 1ms\n"), 2);
  EXPECT_EQ(line_of("window 1s\n2ms 1ms\n1ms 1ms\n"), 3);
  EXPECT_EQ(line_of("window 1s\n2ms\n"), 2);
  EXPECT_EQ(line_of("window 1s\n2ms 2\n"), 2);
  EXPECT_EQ(line_of("window 1s\n2ms 1s\n"), 2);
}

TEST(Noise, BandwidthSlowsOnlyTheBytes) {
  const auto noise = noise_of(
      {{.name = "n", .target = NoiseTarget::Bandwidth, .law = NoiseLaw::Constant, .mean_ratio = 0.5}});
  EXPECT_FALSE(noise.disturbs_compute());
  EXPECT_FALSE(noise.disturbs_messages());
  EXPECT_TRUE(noise.disturbs_bandwidth());
  std::vector<Seconds> costs(3, Seconds{10});
  const std::vector<Seconds> latency(3, Seconds{4});
  noise.messages(0, 0, 0, 0, costs, latency);
  for (const Seconds c : costs) EXPECT_DOUBLE_EQ(c.count(), 13);
}

TEST(Noise, MessagesDrawAnewForEachRoundAndCollective) {
  const auto noise =
      noise_of({{.name = "n", .target = NoiseTarget::Message, .law = NoiseLaw::Uniform, .mean_ratio = 0.5}});
  const auto draw = [&](std::int64_t step, std::int64_t collective, std::int64_t round) {
    std::vector<Seconds> t(1000, Seconds{1});
    noise.messages(step, collective, round, 0, t);
    return t;
  };
  const auto first = draw(0, 0, 0);
  EXPECT_EQ(first, draw(0, 0, 0));
  EXPECT_NE(first, draw(1, 0, 0));
  EXPECT_NE(first, draw(0, 1, 0));
  EXPECT_NE(first, draw(0, 0, 1));
  // numbers of large jobs, and of what is no collective
  const std::int64_t large = std::int64_t{1} << 33;
  const auto other = draw(0, -2, 0);
  EXPECT_NE(other, draw(0, -4, 0));
  EXPECT_NE(other, draw(0, large - 2, 0));
  EXPECT_NE(first, draw(0, large, 0));
  EXPECT_NE(draw(0, 2 * large, 0), draw(0, large, 0));
  // the short way and the general one are the same
  const auto general =
      noise_of({{.name = "n", .target = NoiseTarget::Message, .law = NoiseLaw::Uniform, .mean_ratio = 0.5},
                {.name = "none",
                 .target = NoiseTarget::Message,
                 .law = NoiseLaw::Constant,
                 .mean_ratio = 1,
                 .probability = 0}});
  std::vector<Seconds> t(1000, Seconds{1});
  general.messages(0, 0, 0, 0, t);
  EXPECT_EQ(t, first);
  std::vector<double> u;
  u.reserve(first.size());
  for (const Seconds s : first) u.push_back(s.count());
  EXPECT_NEAR(mean_of(u), 1.5, 3 * std::sqrt(1.0 / 12 / 1000));
}

TEST(Noise, ParametersWithoutMeaningAreRefused) {
  const std::vector<NoiseSource> bad = {
      {.name = "n", .law = NoiseLaw::Pareto, .mean_ratio = 1, .shape = 1},
      {.name = "n", .law = NoiseLaw::Pareto, .mean_ratio = 1, .cv = 0.5, .shape = 3},
      {.name = "n", .law = NoiseLaw::Weibull, .mean_ratio = 1},
      {.name = "n", .law = NoiseLaw::Gaussian},
      {.name = "n", .law = NoiseLaw::Gaussian, .relative = false, .cv = 0.1},
      {.name = "n", .law = NoiseLaw::Uniform, .mean_ratio = 1, .cv = 0.6},
      {.name = "n", .law = NoiseLaw::Exponential, .mean_ratio = 1, .cv = 0.6},
      {.name = "n", .law = NoiseLaw::Gaussian, .mean_ratio = -1, .cv = 0.6},
      {.name = "n", .law = NoiseLaw::Gaussian, .cv = std::nan("")},
      {.name = "n", .law = NoiseLaw::Gaussian, .cv = 0.1, .correlation = 1},
      {.name = "n", .law = NoiseLaw::Constant, .mean_ratio = 1, .correlation = 0.5},
      {.name = "n", .pattern = NoisePattern::Persistent, .cv = 0.1, .correlation = 0.5},
      {.name = "n", .pattern = NoisePattern::Drift, .cv = 0.1, .period_steps = 0},
      {.name = "n", .pattern = NoisePattern::Periodic, .mean_ratio = 1, .period = Seconds{1}},
      {.name = "n",
       .law = NoiseLaw::Constant,
       .pattern = NoisePattern::Periodic,
       .relative = false,
       .mean = Seconds{1},
       .period = Seconds{1}},
      {.name = "n",
       .target = NoiseTarget::Bandwidth,
       .law = NoiseLaw::Constant,
       .relative = false,
       .mean = Seconds{1}},
      {.name = "n", .cv = 0.1, .ranks = {0, 8}},
      {.name = "n", .cv = 0.1, .ranks = {-1}}};
  for (std::size_t i = 0; i < bad.size(); ++i) {
    const auto n = Noise::make({bad[i]}, {.ranks = 8}, 1);
    ASSERT_FALSE(n.has_value()) << i;
    EXPECT_EQ(n.error().id, "simulate-001") << i;
  }
  const auto missing =
      Noise::make({{.name = "n", .law = NoiseLaw::Trace, .file = "/nowhere/at/all"}}, {.ranks = 8}, 1);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().id, "base-002");
}

}  // namespace
}  // namespace cox::simulate
