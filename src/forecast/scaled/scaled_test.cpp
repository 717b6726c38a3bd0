// SPDX-License-Identifier: Apache-2.0
#include "forecast/scaled/scaled.hpp"

#include <gtest/gtest.h>

namespace cox::forecast {
namespace {

TEST(Scaled, WorkIsLayersAndOptimizerOrWhatIsBeforeACollective) {
  model::Scenario s;
  s.noise = {{.name = "stated", .mean = Seconds{0.5}}};
  s.job.work = model::CollectiveJob{.compute = Seconds{2}};
  scale_work(s, 1.5);
  EXPECT_EQ(s.job.as<model::CollectiveJob>().compute, Seconds{3});
  model::TrainingJob job;
  job.layers.assign(2, {.forward = Seconds{1}, .backward = Seconds{2}, .gradients = {}, .activations = {}});
  job.optimizer = Seconds{4};
  s.job.work = job;
  scale_work(s, 0.5);
  for (const model::Layer& layer : s.job.as<model::TrainingJob>().layers) {
    EXPECT_EQ(layer.forward, Seconds{0.5});
    EXPECT_EQ(layer.backward, Seconds{1});
  }
  EXPECT_EQ(s.job.as<model::TrainingJob>().optimizer, Seconds{2});
  EXPECT_EQ(s.noise.front().mean, Seconds{0.5}) << "noise stays";
}

TEST(Scaled, LinksAreCardsSwitchesAndWhatAByteTakesBetweenNodes) {
  model::Scenario s;
  s.cluster.nic.bandwidth = Bandwidth::gbyte_per_s(25);
  s.fabric.link.bandwidth = Bandwidth::gbyte_per_s(50);
  s.inside.per_byte = s.across.per_byte = TimePerByte::seconds_per_byte(4e-10);
  scale_links(s, 2);
  EXPECT_EQ(s.cluster.nic.bandwidth, Bandwidth::gbyte_per_s(50));
  EXPECT_EQ(s.fabric.link.bandwidth, Bandwidth::gbyte_per_s(100));
  EXPECT_EQ(s.across.per_byte.in_seconds_per_byte(), 2e-10);
  EXPECT_EQ(s.inside.per_byte.in_seconds_per_byte(), 4e-10) << "inside a node nothing changes";
}

}  // namespace
}  // namespace cox::forecast
