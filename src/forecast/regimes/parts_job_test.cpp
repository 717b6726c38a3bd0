// SPDX-License-Identifier: Apache-2.0
#include "forecast/regimes/parts_job.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <optional>
#include <utility>

#include "cox/forecast/regimes.hpp"

#include "forecast/regimes/recipe.hpp"
#include "forecast/regimes/redrawn.hpp"

namespace cox::forecast {
namespace {

TimeEstimate time(double value, double low, double high) {
  return {.value = Seconds{value}, .low = Seconds{low}, .high = Seconds{high}};
}

/// 64 ranks on 8 nodes: 100 ms of work, exponential jitter of 4 ms, communication of 1 ms that grows by 20 us a rank.
Parts growing() {
  Parts parts;
  parts.ranks = 64;
  parts.ranks_per_node = 8;
  parts.nodes = 8;
  parts.steps = 2'000;
  PositionParts p;
  p.level = time(0.1, 0.0999, 0.1001);
  p.residual = Law::exponential(Seconds{4e-3}).plus(Seconds{-4e-3});
  p.residual_sd = time(4e-3, 3.9e-3, 4.1e-3);
  parts.positions = {p};
  parts.rest = time(1e-3, 0.9e-3, 1.1e-3);
  parts.rest_growth = {{.growth = Growth::Linear, .slope = Seconds{2e-6}}};
  return parts;
}

/// T(n) of the same on a sheet of paper, and eps.
double eps_by_hand(double n) {
  const TimeAtSize h = testing::harmonic(n);
  const double t = 0.1 - 4e-3 + 4e-3 * h.value.count() + 1e-3 + 2e-6 * (n - 64);
  return 1 - (4e-3 * h.growth.count() + 2e-6 * n) / t;
}

const RegimeBoundary& without(const TransitionBand& band, const std::string& name) {
  for (const MovedBoundary& m : band.without)
    if (m.mechanism == name) return m.at;
  ADD_FAILURE() << name;
  return band.value;
}

TEST(PartsJob, ElasticityIsThatOfTheFormula) {
  const PartsJob job = job_of_parts(growing(), {.replicates = 0});
  for (const std::int64_t n : {64, 1'024, 16'384, 262'144})
    EXPECT_NEAR(job.job.at(n, kEveryMechanism).elasticity, eps_by_hand(static_cast<double>(n)), 2e-3) << n;
  EXPECT_NEAR(job.job.at(1'024, 0).elasticity, 1, 1e-9) << "nothing on: linear";
}

// A step's length of a draw is that of its parts, beside the estimate.
TEST(PartsJob, DrawnStepsAreThoseOfTheDraws) {
  Parts parts = growing();
  parts.rest = time(1e-3, 0, 40e-3);
  parts.rest_growth.clear();
  PartsJobOptions options{.replicates = 4};
  options.project.rest = [&parts](std::int64_t) { return parts.rest; };
  const auto longer = drawn_steps_of(parts, options);
  const double step = 0.1 + 4e-3 * (testing::harmonic(512).value.count() - 1) + 1e-3;
  for (int r = 0; r < 4; ++r) {
    const auto replicate = static_cast<std::uint64_t>(r);
    const Parts drawn = redrawn(parts, 1, replicate);
    ProjectOptions one{.replicates = 0};
    one.rest = [&](std::int64_t) {
      const Seconds s = place_of_rest(1, replicate) * parts.rest.high;
      return TimeEstimate{.value = s, .low = s, .high = s};
    };
    EXPECT_NEAR(longer(512, r), project_one(drawn, 512, one).mean.value.count() / step, 2e-3) << r;
  }
  EXPECT_GT(longer(512, 0) / longer(512, 1) + longer(512, 1) / longer(512, 0), 2.001) << "two draws";
}

// The jitter makes the first transition, communication that is linear in the ranks the second; none lowers throughput.
TEST(PartsJob, BoundariesHaveTheirMechanismAndBand) {
  const PartsJob job = job_of_parts(growing(), {.replicates = 8});
  const Regimes r =
      regimes_of(job.job, {.from = 64, .to = 1 << 20, .per_doubling = 1}, true, job.replicates, 2);
  ASSERT_TRUE(r.n1.value.inside());
  ASSERT_TRUE(r.n2.value.inside());
  EXPECT_NEAR(eps_by_hand(static_cast<double>(r.n1.value.ranks)), 0.95, 2e-3);
  EXPECT_NEAR(eps_by_hand(static_cast<double>(r.n2.value.ranks)), 0.5, 2e-3);
  EXPECT_EQ(r.n2.because, "communication that grows with the job");
  EXPECT_EQ(without(r.n2, "communication that grows with the job").place, RegimeBoundary::Place::Above);
  EXPECT_EQ(r.n_star.value.place, RegimeBoundary::Place::Above);
  EXPECT_TRUE(r.n_star.because.empty());
  EXPECT_LE(r.n2.low.ranks, r.n2.value.ranks);
  EXPECT_GE(r.n2.high.ranks, r.n2.value.ranks);
}

// With failures whose restarts grow, throughput falls, and that is what is named.
TEST(PartsJob, FailuresOfAScenarioLowerIt) {
  model::Scenario failing;
  failing.cluster.nodes = 8;
  failing.cluster.devices_per_node = 8;
  failing.failures = {.node_mtbf = Seconds{1000 * 86400 / 6.5},
                      .restart = Seconds{300},
                      .restart_per_node = Seconds{0.3},
                      .checkpoint = Seconds{60}};
  Parts parts = growing();
  parts.rest_growth.clear();
  const PartsJob job = job_of_parts(parts, {.failing = failing, .replicates = 0});
  const Regimes r = regimes_of(job.job, {.from = 64, .to = 1 << 20, .per_doubling = 1});
  ASSERT_TRUE(r.n_star.value.inside());
  EXPECT_GT(r.n_star.value.ranks, 16'000);
  EXPECT_LT(r.n_star.value.ranks, 60'000);
  EXPECT_EQ(r.n_star.because, "failures, their checkpoints and restarts");
  EXPECT_GT(without(r.n_star, "restarts that grow with the job").ranks, 2 * r.n_star.value.ranks);
}

TEST(PartsJob, StrongScalingBendsSooner) {
  PartsJobOptions options{.replicates = 0};
  options.project.scaling = Scaling::Strong;
  const PartsJob job = job_of_parts(growing(), options);
  const Regimes r = regimes_of(job.job, {.from = 64, .to = 1 << 16, .per_doubling = 1}, false);
  ASSERT_TRUE(r.n_star.value.inside());
  EXPECT_EQ(r.n_star.because, "communication that grows with the job");
}

// The margin in ranks is the boundary, and those in the others put them on it.
TEST(PartsJob, MarginsLeadToTheBoundary) {
  const Parts parts = growing();
  const Margins m = margins_of_parts(parts, 8'192, 0.5, {.replicates = 0});
  ASSERT_EQ(m.alone.size(), 3U);
  EXPECT_EQ(m.alone[0].name, "ranks");
  EXPECT_NEAR(eps_by_hand(8'192 * m.alone[0].factor.value_or(0)), 0.5, 2e-3);
  EXPECT_EQ(m.alone[1].name, "jitter");
  EXPECT_EQ(m.alone[2].name, "bandwidth");
  ASSERT_TRUE(m.alone[2].factor);
  EXPECT_LT(*m.alone[2].factor, 1) << "less of it is worse";
  ASSERT_TRUE(m.worst);
  EXPECT_LE(m.worst->distance, -std::log(*m.alone[2].factor) + 1e-6);
}

/// Own work of 100 ms for good, and such a communication.
PartsJobOptions with_rest(std::function<double(double ranks)> seconds) {
  PartsJobOptions out{.replicates = 0};
  out.project.rest = [seconds = std::move(seconds)](std::int64_t ranks) {
    const double s = seconds(static_cast<double>(ranks));
    return time(s, s, s);
  };
  return out;
}
Parts constant() {
  Parts parts = growing();
  parts.positions[0].residual = Law();
  parts.positions[0].residual_sd = time(0, 0, 0);
  parts.rest_growth.clear();
  return parts;
}

// Communication that grows as the ranks, with a slope that goes to and fro about it between doublings: throughput rises with each of them.
TEST(PartsJob, ASlopeBetweenSizesIsNoCollapse) {
  const auto wavy = [](double n) {
    return 1e-3 * n * (1 + 0.02 * std::sin(2 * std::numbers::pi * std::log2(n / 64)));
  };
  const PartsJob job = job_of_parts(constant(), with_rest(wavy));
  for (std::int64_t n = 64; n <= 1 << 16; n += n / 16)
    EXPECT_GE(job.job.at(n, kEveryMechanism).elasticity, 0) << n;
  const auto square = [](double n) { return 1e-6 * n * n; };
  EXPECT_LT(job_of_parts(constant(), with_rest(square)).job.at(1 << 12, kEveryMechanism).elasticity, -0.5);
}

// How often something fails is stated: N* is as little known, as goodput is. Rarer failures and cheaper restarts move it out.
TEST(PartsJob, TheBandOfMostThroughputHoldsThePriorOfFailures) {
  model::Scenario failing;
  failing.cluster.nodes = 8;
  failing.cluster.devices_per_node = 8;
  failing.failures = {.node_mtbf = Seconds{1000 * 86400 / 6.5},
                      .restart = Seconds{300},
                      .restart_per_node = Seconds{0.3},
                      .checkpoint = Seconds{60}};
  const RegimeRange range{.from = 64, .to = 1 << 20, .per_doubling = 1};
  const auto most = [&](const PartsJobOptions& options) {
    const PartsJob job = job_of_parts(constant(), options);
    return regimes_of(job.job, range, true, job.replicates).n_star;
  };
  const auto with_time_between = [&](double factor) {
    PartsJobOptions options{.failing = failing, .replicates = 0};
    change_between(options.failing->failures, factor);
    return most(options).value.ranks;
  };
  PartsJobOptions options{.failing = failing, .stated = stated_ranges(Prior{}), .replicates = 20};
  const TransitionBand known_to_a_factor = most(options);
  ASSERT_TRUE(known_to_a_factor.low.inside() && known_to_a_factor.high.inside());
  EXPECT_LE(known_to_a_factor.low.ranks, with_time_between(1 / 1.5));
  EXPECT_GE(known_to_a_factor.high.ranks, with_time_between(1.5));
  options.stated = stated_ranges({.failures = 1, .restarts = 1, .checkpoints = 1, .start = 1});
  const TransitionBand exactly = most(options);
  EXPECT_EQ(exactly.low, exactly.high) << "nothing else is drawn of a job without noise";
}

// A saw: at every other doubling messages meet worse, and throughput rises from tooth to tooth.
TEST(PartsJob, ADipThatALargerSizeMakesUpForIsNoCollapse) {
  const auto saw = [](double n) {
    return 0.5e-3 * n * (1 + 0.3 * std::sin(std::numbers::pi * std::log2(n / 64)));
  };
  PartsJobOptions options = with_rest(saw);
  const auto eps = [&](std::int64_t n) {
    return job_of_parts(constant(), options).job.at(n, kEveryMechanism).elasticity;
  };
  std::int64_t dip = 0;
  for (std::int64_t n = 1 << 10; n < 1 << 13; n += n / 16)
    if (eps(n) < 0) dip = n;
  ASSERT_GT(dip, 0) << "where nothing is known beyond twice the ranks";
  options.simulated_to = 1 << 16;
  EXPECT_EQ(eps(dip), 0);
  options.simulated_to = dip + 1;
  EXPECT_LE(eps(dip), 0);
  EXPECT_LT(job_of_parts(constant(), with_rest([](double n) { return 1e-6 * n * n; }))
                .job.at(1 << 12, kEveryMechanism)
                .elasticity,
            -0.5);
}

// Three factors and a line say collapse; simulated with these links throughput rises: then none is said.
TEST(PartsJob, ACollapseWithOtherLinksIsOneThatIsSimulated) {
  PartsJobOptions options = with_rest([](double n) { return 1e-4 * n; });
  options.links = [](std::int64_t ranks, double bandwidth) {
    const auto n = static_cast<double>(ranks);
    const double s = 1e-4 * n + (1 / bandwidth - 1) * 1e-6 * n * n;
    return time(s, s, s);
  };
  const auto margin = [&] {
    const Margins m = margins_of_parts(constant(), 128, 0, options);
    return std::ranges::find(m.alone, "bandwidth", &Margin::name)->factor;
  };
  ASSERT_TRUE(margin());
  options.exact_links = options.links;
  EXPECT_TRUE(margin()) << "the same links";
  options.exact_links = [](std::int64_t ranks, double bandwidth) {
    const double s = 1e-4 * static_cast<double>(ranks) / bandwidth;
    return time(s, s, s);
  };
  EXPECT_FALSE(margin());
}

// Where links can be slower, what work hides is another part of communication then: 1 ms a rank, of which 80 ms are hidden.
TEST(PartsJob, SlowerLinksOfHiddenCommunicationAreNoCollapse) {
  PartsJobOptions options = with_rest([](double n) { return std::max(1e-3 * n - 0.08, 0.0); });
  const auto bandwidth = [&] {
    const Margins m = margins_of_parts(constant(), 128, 0, options);
    for (const Margin& one : m.alone)
      if (one.name == "bandwidth") return one.factor;
    return std::optional<double>();
  };
  EXPECT_TRUE(bandwidth()) << "what is seen of it, taken as all of it, grows quicker than the ranks";
  options.links = [](std::int64_t ranks, double bandwidth) {
    const double s = std::max(1e-3 * static_cast<double>(ranks) / bandwidth - 0.08, 0.0);
    return time(s, s, s);
  };
  EXPECT_FALSE(bandwidth());
  options.links = [](std::int64_t ranks,
                     double bandwidth) {  // a boundary of tiers at 192 ranks: beyond it four times as slow
    const double s = 1e-2 / bandwidth * (1 + 3 / (1 + std::exp((192.0 - static_cast<double>(ranks)) / 8)));
    return time(s, s, s);
  };
  options.project.rest = [links = options.links](std::int64_t ranks) { return links(ranks, 1); };
  const Margins tiers = margins_of_parts(constant(), 192, 0, options);
  ASSERT_FALSE(tiers.crossed);
  const auto at = std::ranges::find(tiers.alone, "bandwidth", &Margin::name);
  ASSERT_TRUE(at != tiers.alone.end() && at->factor) << "more of the ranks are in another tier";
  const auto throughput = [&](std::int64_t ranks) {
    return static_cast<double>(ranks) / (0.1 + options.links(ranks, 0.9 * *at->factor).value.count());
  };
  EXPECT_LT(throughput(194), throughput(190));
}

TEST(PartsJob, OneRankAndConstantWorkHaveNoBoundary) {
  Parts parts;
  parts.ranks = 1;
  parts.steps = 10;
  PositionParts p;
  p.level = time(0.1, 0.1, 0.1);
  parts.positions = {p};
  const PartsJob job = job_of_parts(parts, {.replicates = 3});
  const Regimes r = regimes_of(job.job, {.from = 1, .to = 4'096, .per_doubling = 1}, true, job.replicates);
  EXPECT_EQ(r.n1.value.place, RegimeBoundary::Place::Above);
  EXPECT_EQ(r.n1.low, r.n1.high);
  EXPECT_TRUE(job.job.mechanisms.empty());
}

PartsJobOptions unseen_options() {
  PartsJobOptions out{.replicates = 20, .unseen = true, .worst = false};
  out.project.growth = {.usual = 0.03, .most = 0.5};
  return out;
}

// Growth takes its power off eps; slow nodes make steps longer, and never shorter.
TEST(PartsJob, DrawsHaveWhatWasNotSeen) {
  PartsJobOptions options = unseen_options();
  const PartsJob plain = job_of_parts(growing(), {.replicates = 20});
  const PartsJob with = job_of_parts(growing(), options);
  options.project.prior.alpha = 0;
  const PartsJob grown = job_of_parts(growing(), options);
  ASSERT_EQ(with.replicates.size(), plain.replicates.size());
  ASSERT_EQ(with.shared.size(), plain.replicates.size());
  EXPECT_TRUE(plain.shared.empty());
  for (std::size_t r = 0; r < plain.replicates.size(); ++r) {
    const ThroughputPoint before = plain.replicates[r].at(4'096, kEveryMechanism);
    const ThroughputPoint after = grown.replicates[r].at(4'096, kEveryMechanism);
    const Unseen draw = unseen_of(growing(), options.project, r);
    EXPECT_GT(draw.usual, 0);
    EXPECT_EQ(draw.slow_share, 0);
    EXPECT_NEAR(after.elasticity, before.elasticity - draw.usual, 1e-12);
    EXPECT_NEAR(after.throughput, before.throughput * std::pow(64, -draw.usual), 1e-9 * before.throughput);
    EXPECT_LE(with.replicates[r].at(4'096, kEveryMechanism).throughput, after.throughput * (1 + 1e-9));
  }
}

TEST(PartsJob, BandsOfBendsHoldWhatWasNotSeen) {
  const RegimeRange range{.from = 64, .to = 1'048'576, .per_doubling = 2};
  const auto map = [&](const PartsJob& job) {
    return regimes_of(job.job, range, true, job.replicates, 1, job.shared);
  };
  const Regimes narrow = map(job_of_parts(growing(), {.replicates = 20}));
  const Regimes wide = map(job_of_parts(growing(), unseen_options()));
  EXPECT_EQ(wide.n2.value, narrow.n2.value);
  ASSERT_TRUE(narrow.n2.low.inside() && wide.n2.low.inside());
  EXPECT_LT(wide.n2.low.ranks, narrow.n2.low.ranks);
  EXPECT_EQ(narrow.n2.shared_low, narrow.n2.low) << "none was asked";
  // With eps lower by 0.5 no size is above 0.5.
  EXPECT_LT(wide.n2.shared_low.place == RegimeBoundary::Place::Inside ? wide.n2.shared_low.ranks : 64,
            wide.n2.low.ranks);
}

TEST(PartsJob, TheShareOfDrawsThatAreAcrossIsCounted) {
  const double now = job_of_parts(growing(), {.replicates = 0}).job.at(1'024, kEveryMechanism).elasticity;
  PartsJobOptions options = unseen_options();
  options.bands = false;
  const Margins near = margins_of_parts(growing(), 1'024, now - 0.005, options);
  const Margins far = margins_of_parts(growing(), 1'024, now - 0.3, options);
  ASSERT_TRUE(near.other_side && far.other_side);
  EXPECT_GT(*near.other_side, 0.5);
  EXPECT_LT(*far.other_side, *near.other_side);
  EXPECT_FALSE(near.alone.front().banded) << "no band was asked";
  options.unseen = false;
  EXPECT_FALSE(margins_of_parts(growing(), 1'024, now - 0.3, options).other_side);
}

}  // namespace
}  // namespace cox::forecast
