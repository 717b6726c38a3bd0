// SPDX-License-Identifier: Apache-2.0
#include "model/toml/keys/presets.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "cox/model/toml.hpp"

namespace cox::model {
namespace {

ReadScenario of(const std::string& preset, const std::string& more = "") {
  auto read = parse_scenario("cluster.preset = \"" + preset + "\"\ncluster.nodes = 8\njob.steps = 1\n" + more,
                             "f.toml", "");
  EXPECT_TRUE(read) << read.error().to_string();
  return read ? *std::move(read) : ReadScenario{};
}

TEST(ScenarioPresets, EveryFigureIsExplainedWithItsSource) {
  for (const Preset& preset : presets()) {
    const ReadScenario read = of(std::string(preset.name), "cost.form = \"nccl\"\n");
    for (const Figure& figure : preset.figures) {
      EXPECT_GT(figure.source.size(), 20U) << figure.key;
      const auto at = std::find_if(read.explained.begin(), read.explained.end(),
                                   [&](const Explained& e) { return e.key == figure.key; });
      ASSERT_NE(at, read.explained.end()) << figure.key;
      EXPECT_EQ(at->origin, Origin::Preset) << figure.key;
      EXPECT_EQ(at->why, figure.source);
    }
  }
}

TEST(ScenarioPresets, WriteAndReadBack) {
  for (const Preset& preset : presets()) {
    const ReadScenario first = of(std::string(preset.name));
    const std::string text = scenario_toml(first.scenario);
    const auto again = parse_scenario(text, "other.toml", "");
    ASSERT_TRUE(again) << again.error().to_string() << text;
    EXPECT_EQ(scenario_toml(again->scenario), text) << preset.name;
    ASSERT_EQ(again->explained.size(), first.explained.size());
    for (std::size_t i = 0; i < first.explained.size(); ++i)
      EXPECT_EQ(again->explained[i].value, first.explained[i].value) << first.explained[i].key;
  }
}

TEST(ScenarioPresets, FiguresAreOfOneDirectionAndDense) {
  const Scenario a = of("dgx-a100").scenario;
  EXPECT_EQ(a.cluster.device_peak, FlopRate::flops_per_s(312e12));
  EXPECT_EQ(a.cluster.scale_up.bandwidth, Bandwidth::gbyte_per_s(300))
      << "the vendor's 600 GB/s is both directions";
  EXPECT_EQ(a.cluster.nic.bandwidth, Bandwidth::gbit_per_s(200));
  const Scenario h = of("dgx-h100").scenario;
  EXPECT_EQ(h.cluster.scale_up.bandwidth, Bandwidth::gbyte_per_s(450));
  EXPECT_EQ(h.cluster.nic.bandwidth, Bandwidth::gbit_per_s(400));
  const Scenario b = of("dgx-b200").scenario;
  EXPECT_EQ(b.cluster.device_peak, FlopRate::flops_per_s(2250e12));
  EXPECT_EQ(b.cluster.device_memory, Bytes{180'000'000'000});
  EXPECT_EQ(of("tpu-v4").scenario.fabric.kind, FabricKind::Torus);
  EXPECT_EQ(of("cloud-100g").scenario.cluster.nic.bandwidth, Bandwidth::gbyte_per_s(12.5));
}

}  // namespace
}  // namespace cox::model
