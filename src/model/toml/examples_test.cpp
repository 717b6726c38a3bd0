// SPDX-License-Identifier: Apache-2.0
// The example scenarios: each reads, begins with its question, and survives being written.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "cox/base/file.hpp"
#include "cox/model/toml.hpp"

namespace cox::model {
namespace {

std::vector<std::filesystem::path> examples() {
  std::vector<std::filesystem::path> out;
  for (const auto& file : std::filesystem::directory_iterator(COX_TREE "/examples/scenarios"))
    if (file.path().extension() == ".toml") out.push_back(file.path());
  std::sort(out.begin(), out.end());
  return out;
}

TEST(ScenarioExamples, ReadAndBeginWithTheirQuestion) {
  EXPECT_GE(examples().size(), 14U);
  for (const auto& path : examples()) {
    const auto read = read_scenario(path);
    ASSERT_TRUE(read) << read.error().to_string();
    EXPECT_EQ(read->scenario.name, path.stem().string());
    const auto text = read_file(path, 1 << 20);
    ASSERT_TRUE(text);
    EXPECT_TRUE(text->starts_with("# ")) << path;
    EXPECT_NE(text->substr(0, text->find("\n[")).find('?'), std::string::npos) << path;
  }
}

TEST(ScenarioExamples, WriteAndReadBack) {
  for (const auto& path : examples()) {
    const auto read = read_scenario(path);
    ASSERT_TRUE(read);
    const std::string text = scenario_toml(read->scenario);
    const auto again = parse_scenario(text, path.string(), path.parent_path());
    ASSERT_TRUE(again) << again.error().to_string() << "\n" << text;
    EXPECT_EQ(scenario_toml(again->scenario), text);
  }
}

TEST(ScenarioExamples, OneForEachThingThatIsOffered) {
  const auto any = [](auto&& has) {
    for (const auto& path : examples())
      if (const auto read = read_scenario(path); read && has(read->scenario)) return true;
    return false;
  };
  for (int k = 0; k <= static_cast<int>(FabricKind::Dragonfly); ++k)
    EXPECT_TRUE(any([&](const Scenario& s) { return s.fabric.kind == static_cast<FabricKind>(k); }))
        << "fabric " << k;
  using P = PolicyKind;
  for (const P kind : {P::Synchronous, P::BoundedWait, P::Asynchronous, P::LocalSgd})
    EXPECT_TRUE(any([&](const Scenario& s) { return s.policy.kind == kind; }))
        << "policy " << static_cast<int>(kind);
  EXPECT_TRUE(any([](const Scenario& s) {
    const auto* training = std::get_if<TrainingJob>(&s.job.work);
    return training != nullptr && training->zero_stage == 3;
  }));
  EXPECT_TRUE(any([](const Scenario& s) {
    const auto* collective = std::get_if<CollectiveJob>(&s.job.work);
    return collective != nullptr && collective->order == RankOrder::Random;
  }));
  EXPECT_TRUE(any([](const Scenario& s) { return s.failures.node_mtbf > Seconds{}; }));
  EXPECT_TRUE(any([](const Scenario& s) {
    const auto* training = std::get_if<TrainingJob>(&s.job.work);
    if (training == nullptr) return false;
    const Layout& l = training->layout;
    return l.data > 1 && l.tensor > 1 && l.pipeline > 1;
  })) << "the three ways of splitting at once";
}

}  // namespace
}  // namespace cox::model
