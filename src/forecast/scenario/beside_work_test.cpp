// SPDX-License-Identifier: Apache-2.0
#include "forecast/scenario/beside_work.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "cox/model/closed_form.hpp"

#include "support/forecast_sample.hpp"

namespace cox::forecast {
namespace {

constexpr Bytes kLarge{40'000'000};
constexpr Bytes kSmall{10'000'000};

/// A time of 100 until the waits, of 16 ranks; sums of 2, or as said, each at a place of its own.
struct Sum {
  double begins = 0;
  double takes = 2;
  Bytes bytes = kLarge;
  model::Collective kind = model::Collective::AllReduce;
  std::int32_t chain = 0;
};

Sample sample_with(const std::vector<Sum>& sums, double own = 100) {
  Sample out = test::sample_of({.residual = 0.01}, 2, 8, 40, 1);
  for (Seconds& t : out.positions.front().own) t *= own / 100;
  out.record.overlapped_among = 16;
  OverlappedStep step{.work = Seconds{100}};
  for (const Sum& s : sums) {
    out.record.messages.push_back(
        {.kind = s.kind, .ranks = 16, .bytes = s.bytes, .times = std::vector<Seconds>(20, Seconds{s.takes})});
    step.operations.push_back({.chain = s.chain,
                               .kind = s.kind,
                               .bytes = s.bytes,
                               .arrival = Seconds{s.begins},
                               .departure = Seconds{s.begins + s.takes}});
  }
  out.record.background.assign(16, {.operations = 1, .in_flight = Seconds{1}, .hidden = Seconds{1}});
  out.record.overlapped.assign(10, step);
  return out;
}

BesideWork made(const Sample& sample) {
  return beside_work(sample, std::span(&sample, 1), Seconds{90}, 16);
}

/// Where in 90 of work the gradients of layers are there, in the order of the backward pass.
std::vector<double> begins(const BesideWork& beside) {
  double at = 0;
  for (const model::Layer& l : beside.job.layers) at += l.forward.count();
  std::vector<double> out;
  for (auto l = beside.job.layers.rbegin(); l != beside.job.layers.rend(); ++l) {
    at += l->backward.count();
    if (l->gradients > Bytes{}) out.push_back(at);
  }
  return out;
}

TEST(BesideWork, SumsBeginWhereTheyWereSeen) {
  const BesideWork b =
      made(sample_with({{.begins = 50}, {.begins = 60, .takes = 0.6, .bytes = kSmall}, {.begins = 90}}));
  EXPECT_EQ(b.why_not, "");
  const std::vector<double> at = begins(b);
  ASSERT_EQ(at.size(), 3U);
  EXPECT_NEAR(at[0], 45, 1e-4);
  EXPECT_NEAR(at[1], 54, 1e-4);
  EXPECT_NEAR(at[2], 81, 1e-4);
  ASSERT_EQ(b.job.layers.size(), 4U) << "and 9 of work behind the last";
  EXPECT_NEAR(b.job.layers.front().backward.count(), 9, 1e-4);
  EXPECT_EQ(b.job.layers[1].gradients, kLarge);
  EXPECT_EQ(b.job.layers[2].gradients, kSmall);
  EXPECT_EQ(b.job.bucket, kSmall) << "each layer is a bucket";
  EXPECT_TRUE(b.job.overlap);
}

TEST(BesideWork, SumsThatWaitedAreEvenlyBetweenTheOthers) {
  // The second and the third wait for the one before; the last one does not.
  const BesideWork b = made(sample_with({{.begins = 40, .takes = 30},
                                         {.begins = 70, .takes = 10},
                                         {.begins = 80, .takes = 10},
                                         {.begins = 100, .takes = 10}}));
  const std::vector<double> at = begins(b);
  ASSERT_EQ(at.size(), 4U);
  EXPECT_NEAR(at[0], 36, 1e-4);
  EXPECT_NEAR(at[1], 54, 1e-4);
  EXPECT_NEAR(at[2], 72, 1e-4);
  EXPECT_NEAR(at[3], 90, 1e-4);
  EXPECT_NE(b.notes.back().find("one size does not tell"), std::string::npos) << b.notes.back();
  EXPECT_NE(b.notes.front().find("2 waited"), std::string::npos) << b.notes.front();
  // Not later than it was seen to begin.
  const std::vector<double> early = begins(made(
      sample_with({{.begins = 40, .takes = 4}, {.begins = 44, .takes = 1}, {.begins = 100, .takes = 10}})));
  EXPECT_NEAR(early[1], 0.44 * 90, 1e-4);
}

TEST(BesideWork, MessagesTakeAsLongAsThoseThatStepsFollow) {
  // The first sum is over long before the last one begins, and took longer: a rank was late in it.
  const BesideWork b = made(sample_with({{.begins = 40, .takes = 5}, {.begins = 99, .takes = 4}}));
  model::CollectiveSpec spec = b.job.collective;
  spec.ranks = 16;
  spec.bytes = kLarge;
  EXPECT_NEAR(model::closed_form(spec, b.cost)->count(), 4, 1e-6);
  EXPECT_EQ(b.cv, 0);
}

TEST(BesideWork, WhatMessagesVaryByIsTold) {
  Sample sample = sample_with({{.begins = 90, .takes = 14}});
  for (std::size_t k = 0; k < sample.record.overlapped.size(); ++k)
    sample.record.overlapped[k].operations[0].departure += Seconds{k % 2 == 0 ? 1.4 : -1.4};
  EXPECT_NEAR(made(sample).cv, 0.1 * std::sqrt(10.0 / 9), 0.002);
  EXPECT_EQ(made(sample).deviation, Seconds{});
  // 4,096 ranks by a ring are 33 million messages a step: too many.
  const BesideWork many = beside_work(sample, std::span(&sample, 1), Seconds{90}, 4096);
  EXPECT_EQ(many.cv, 0);
  EXPECT_NEAR(many.deviation.count(), 1.4 * std::sqrt(10.0 / 9), 1e-6);
}

TEST(BesideWork, WorkBehindTheWaitsIsTheNextStepsFirst) {
  const BesideWork b = made(sample_with({{.begins = 50, .takes = 20}, {.begins = 100}}, 125));
  const std::vector<double> at = begins(b);
  EXPECT_NEAR(at[0], 90 * (0.2 + 0.8 * 0.5), 0.02);
  EXPECT_NEAR(at[1], 90, 0.02);
}

TEST(BesideWork, WhatLayersCannotSayIsTold) {
  EXPECT_TRUE(made(test::sample_of({.residual = 1}, 2, 8, 40, 1)).job.layers.empty());
  const auto why = [](const Sample& s) {
    const BesideWork b = made(s);
    EXPECT_TRUE(b.job.layers.empty());
    return b.why_not;
  };
  EXPECT_NE(why(sample_with({{.begins = 60, .takes = 9, .kind = model::Collective::ReduceScatter}})), "");
  EXPECT_NE(why(sample_with({{.begins = 60, .takes = 9}, {.begins = 70, .takes = 9, .chain = 1}})), "");
  Sample unlike = sample_with({{.begins = 60, .takes = 9}});
  unlike.record.overlapped[3].operations[0].bytes = kSmall;
  EXPECT_NE(why(unlike), "");
  Sample waits = sample_with({{.begins = 60, .takes = 9}});
  waits.record.overlapped.clear();
  EXPECT_NE(why(waits), "");
  EXPECT_EQ(why(sample_with({{.begins = 99.9, .takes = 9}})), "") << "next to nothing is hidden";
}

}  // namespace
}  // namespace cox::forecast
