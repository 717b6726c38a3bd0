// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cox/evaluate/computations.hpp"
#include "cox/evaluate/stated_job.hpp"
#include "cox/forecast/forecast.hpp"
#include "cox/study/study.hpp"

namespace cox::evaluate {
namespace {

study::AnsweredStudy answer() {
  const auto studies = study::read_studies(COX_STUDIES);
  EXPECT_TRUE(studies);
  for (const study::Study& s : *studies) {
    if (s.name != "hyperscale-fabric") continue;
    auto a = study::run_study(s, computations(), {.threads = 1});
    EXPECT_TRUE(a) << a.error().to_string();
    return *a;
  }
  ADD_FAILURE() << "no such study";
  return {};
}

std::optional<double> value(const study::AnsweredStudy& a, const std::string& name) {
  for (const study::Computed& c : a.computation.values)
    if (c.name == name) return c.value.in_base_unit();
  return std::nullopt;
}

TEST(Hyperscale, FourRegimesAndTheirMechanisms) {
  const study::AnsweredStudy a = answer();
  const double n1 = *value(a, "N1"), n2 = *value(a, "N2"), most = *value(a, "N*");
  EXPECT_LT(n1, n2);
  EXPECT_LT(n2, most);
  // By a script of its own, other derivatives: 90, 2,723, 4,116.
  EXPECT_NEAR(n1, 90, 1);
  EXPECT_NEAR(n2, 2723, 5);
  EXPECT_NEAR(most, 4116, 5);
  // Switching the named mechanism off removes or moves its transition; others hardly move it.
  EXPECT_NEAR(*value(a, "N1 without oversubscription between pods"), 339, 2);
  EXPECT_NEAR(*value(a, "N* without restarts that grow with the job"), 16'290, 100);
  EXPECT_NEAR(*value(a, "N* without failures, their checkpoints and restarts"), 32'200, 400);
  EXPECT_NEAR(*value(a, "N* without time-outs in sequential rounds"), 1.02 * most, 0.01 * most);
  for (const study::CrossCheck& c : a.computation.checks) EXPECT_TRUE(c.agrees()) << c.name;
}

TEST(Hyperscale, ControlMovesTheSizeOfMostThroughput) {
  const study::AnsweredStudy a = answer();
  EXPECT_GT(*value(a, "N* with control"), 2 * *value(a, "N*"));
  EXPECT_GT(*value(a, "throughput of N* with control"), 1.3);
  EXPECT_LT(*value(a, "throughput of twice N*"), 0.8);  // more nodes do less
}

forecast::StatedJob stated() {
  const auto studies = study::read_studies(COX_STUDIES);
  EXPECT_TRUE(studies);
  for (const study::Study& s : *studies) {
    if (s.name != "hyperscale-fabric") continue;
    auto job = stated_job(s);
    EXPECT_TRUE(job) << job.error().to_string();
    return *std::move(job);
  }
  ADD_FAILURE() << "no such study";
  return {};
}

forecast::MadeForecast forecast_of(const forecast::StatedJob& job, std::vector<std::int64_t> sizes) {
  forecast::ReadEvidence evidence;
  EXPECT_TRUE(evidence.add_stated("hyperscale-fabric.toml", job));
  auto made = forecast::make_forecast(evidence, {.sizes = std::move(sizes)});
  EXPECT_TRUE(made) << made.error().to_string();
  return *std::move(made);
}

// Every boundary of the study, with and without control and each mechanism, is one of the forecast, in ranks of eight a node.
TEST(Hyperscale, TheForecastHasTheStudysNumbers) {
  const study::AnsweredStudy a = answer();
  const auto n_star = static_cast<std::int64_t>(*value(a, "N*"));
  const forecast::MadeForecast made = forecast_of(stated(), {64, 8 * n_star, 16 * n_star, 1'000});
  const forecast::Forecast& f = made.shown();
  ASSERT_TRUE(f.regimes && f.controlled_job && f.margins);
  const auto same = [&](const std::string& name, const forecast::RegimeBoundary& at) {
    if (at.inside())
      EXPECT_EQ(static_cast<double>(at.ranks), 8 * value(a, name).value_or(0)) << name;
    else
      EXPECT_FALSE(value(a, name)) << name;
  };
  const auto all = [&](const std::string& end, const forecast::Regimes& r) {
    same("N1" + end, r.n1.value);
    same("N2" + end, r.n2.value);
    same("N*" + end, r.n_star.value);
  };
  all("", *f.regimes);
  all(" with control", f.controlled_job->regimes);
  ASSERT_EQ(f.regimes->n1.without.size(), 5U);
  for (std::size_t i = 0; i < f.regimes->n1.without.size(); ++i) {
    same("N1 without " + f.regimes->n1.without[i].mechanism, f.regimes->n1.without[i].at);
    same("N2 without " + f.regimes->n2.without[i].mechanism, f.regimes->n2.without[i].at);
    same("N* without " + f.regimes->n_star.without[i].mechanism, f.regimes->n_star.without[i].at);
  }
  // Throughput of 8 nodes is in the study's per node at N*; the forecast's rate is over that.
  EXPECT_NEAR(f.net_speed_up(1) * 8 / static_cast<double>(n_star), *value(a, "throughput per node at N*"),
              1e-6);
  EXPECT_NEAR(f.net_speed_up(2) / f.net_speed_up(1), *value(a, "throughput of twice N*"), 1e-6);
  EXPECT_NEAR(f.controlled_job->most, *value(a, "throughput of N* with control"), 1e-12);
  EXPECT_NEAR(f.controlled_job->sizes[1].throughput_ratio, *value(a, "throughput at N*, with control there"),
              1e-12);
  EXPECT_NEAR(f.elasticity(1), 0, 1e-3);
  EXPECT_LT(f.elasticity(2), 0);
  EXPECT_TRUE(f.projection.points[3].refused.empty()) << "125 nodes";
}

// Levers by the laws of its parts, and the study's switches and control by formula: two ways to the same sizes of most throughput.
TEST(Hyperscale, LeversMoveTheSizeOfMostThroughputAsTheStudySays) {
  const study::AnsweredStudy a = answer();
  forecast::ReadEvidence evidence;
  ASSERT_TRUE(evidence.add_stated("hyperscale-fabric.toml", stated()));
  const forecast::Question asked{.sizes = {32'768}};
  auto made = forecast::make_forecast(evidence, asked);
  ASSERT_TRUE(made) << made.error().to_string();
  forecast::ControlQuestion q;
  q.levers = true;
  ASSERT_TRUE(made->add_control(q, evidence, asked));
  const forecast::LeverTable& t = *made->shown().control->levers;
  const auto most = [&](const std::string& lever) {
    for (const forecast::LeverEffect& e : t.levers)
      if (!e.names.empty() && e.names.front() == lever) return e.most_nodes.value_or(0);
    return 0.0;
  };
  const double as_it_is = *value(a, "N*");
  EXPECT_EQ(t.baseline.most_nodes.value_or(0), as_it_is);
  EXPECT_FALSE(t.baseline.most_nodes_ends) << "terms that are stated are not drawn";
  EXPECT_EQ(most("restart-by-tree"), *value(a, "N* with control"));
  EXPECT_EQ(most("no-time-outs"), *value(a, "N* without time-outs in sequential rounds"));
  EXPECT_EQ(most("full-bisection"), *value(a, "N* without oversubscription between pods"));
}

// Below the eight nodes from which its terms are stated there is no step, so no number of days either.
TEST(Hyperscale, DaysAreOfNodesWhoseTermsAreStated) {
  forecast::ReadEvidence evidence;
  ASSERT_TRUE(evidence.add_stated("hyperscale-fabric.toml", stated()));
  const forecast::Question asked{.sizes = {8, 512}};
  auto made = forecast::make_forecast(evidence, asked);
  ASSERT_TRUE(made) << made.error().to_string();
  forecast::ControlQuestion q;
  q.training = forecast::Training{.tokens = 1e12, .tokens_per_step = 1e6, .within = Seconds{400 * 86'400.0}};
  ASSERT_TRUE(made->add_control(q, evidence, asked));
  std::string text;
  for (const TextLine& line : made->text_lines(false)) text += line.text + '\n';
  EXPECT_NE(text.find("within 400 days: 8 nodes"), std::string::npos) << text;
  EXPECT_NE(text.find("--days: sizes below the 8 nodes from which the terms are stated are not looked at"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("\n1 nodes: "), std::string::npos) << text;
}

TEST(Hyperscale, TheForecastRefusesWhatTheStudyDoesNotState) {
  const forecast::MadeForecast made = forecast_of(stated(), {8, 100, 128});
  const auto& points = made.shown().projection.points;
  EXPECT_NE(points[0].refused.find("below the 8 nodes"), std::string::npos);
  EXPECT_NE(points[1].refused.find("whole number of nodes"), std::string::npos);
  EXPECT_TRUE(points[2].refused.empty());
  forecast::ReadEvidence evidence;
  ASSERT_TRUE(evidence.add_stated("a.toml", stated()));
  EXPECT_FALSE(evidence.add_stated("b.toml", stated()));
  const auto strong =
      forecast::make_forecast(evidence, {.sizes = {128}, .scaling = forecast::Scaling::Strong});
  ASSERT_FALSE(strong);
  EXPECT_EQ(strong.error().id, "forecast-013");
  study::Study other;
  other.compute = "pipeline-bubble";
  EXPECT_EQ(stated_job(other).error().id, "forecast-014");
}

}  // namespace
}  // namespace cox::evaluate
