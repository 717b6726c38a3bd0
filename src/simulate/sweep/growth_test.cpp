// SPDX-License-Identifier: Apache-2.0
// What the example scenarios cost when they grow: counted, not timed.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "cox/model/toml.hpp"
#include "cox/simulate/outcome.hpp"

namespace cox::simulate {
namespace {

namespace fs = std::filesystem;

/// What makes a scenario twice as large, three times: more nodes, and what must fit them.
std::vector<std::vector<std::string>> sizes_of(const std::string& name, const model::Scenario& s) {
  std::vector<std::vector<std::string>> sizes;
  for (int by = 1; by <= 4; by *= 2) {
    std::vector<std::string> set = {"cluster.nodes=" + std::to_string(s.cluster.nodes * by)};
    if (s.cluster.nodes > 512) set = {"cluster.nodes=" + std::to_string(s.cluster.nodes / 8 * by)};
    // What few workers have under way at a server is no crowd, and each of it has a rate of its own.
    if (s.policy.servers > 0 && !s.policy.in_step())
      set = {"cluster.nodes=" + std::to_string(s.cluster.nodes * 4 * by)};
    if (name == "torus") {
      std::string extents;
      for (std::size_t d = 0; d < s.fabric.torus.size(); ++d)
        extents += (d > 0 ? ", " : "") + std::to_string(s.fabric.torus[d] * (d == 0 ? by : 1));
      set.push_back("fabric.torus=[" + extents + "]");
    }
    if (name == "dragonfly")
      set.push_back("fabric.dragonfly.groups=" + std::to_string(s.fabric.dragonfly_groups * by));
    if (s.cluster.nodes == 1)
      set = {"cluster.devices_per_node=" + std::to_string(s.cluster.devices_per_node * by)};
    set.emplace_back("replicas=1");
    sizes.push_back(std::move(set));
  }
  return sizes;
}

class Growth : public testing::TestWithParam<std::string> {};

// Messages that double may cost 2.3 times as much, those that quadruple 4.6 times.
TEST_P(Growth, FollowsTheMessages) {
  const fs::path file = fs::path(COX_EXAMPLES) / (GetParam() + ".toml");
  const auto base = model::read_scenario(file, {});
  ASSERT_TRUE(base) << base.error().to_string();
  std::vector<double> messages;
  std::vector<double> evaluated;
  for (const std::vector<std::string>& set : sizes_of(GetParam(), base->scenario)) {
    model::ScenarioOptions options;
    options.set = set;
    const auto made = model::read_scenario(file, options);
    ASSERT_TRUE(made) << made.error().to_string();
    const auto out = simulate(made->scenario, {.threads = 1});
    ASSERT_TRUE(out) << out.error().to_string();
    messages.push_back(static_cast<double>(out->messages));
    evaluated.push_back(static_cast<double>(out->evaluated));
    if (out->engine == model::EngineKind::ClosedForm)
      EXPECT_EQ(out->evaluated, 0) << "a formula plays nothing";
    else
      EXPECT_GT(out->evaluated, 0);
  }
  if (evaluated.back() == 0) return;
  // Most of its messages are those of tensor groups, which are computed once. Played are those of data rings, and
  // these quadruple.
  const bool rings =
      GetParam() == "pipeline-1f1b" || GetParam() == "wrong-card" || GetParam() == "learn-two-sites";
  // A ring at random settles into no period, and ranks that run apart reach more links with each change.
  const double slack = GetParam() == "placement-random" ? 1.4 : 1.15;
  for (std::size_t i = 1; i < messages.size(); ++i) {
    const double more = messages[i - 1] > 0 ? messages[i] / messages[i - 1] : 2;
    EXPECT_LE(evaluated[i] / evaluated[i - 1], slack * (rings ? 4 : std::max(more, 2.0)))
        << evaluated[i - 1] << " to " << evaluated[i] << " for messages " << messages[i - 1] << " to "
        << messages[i];
  }
}

std::vector<std::string> examples() {
  std::vector<std::string> names;
  for (const fs::directory_entry& e : fs::directory_iterator(COX_EXAMPLES))
    if (e.path().extension() == ".toml" && e.path().stem() != "placement-file")  // a list of one size
      names.push_back(e.path().stem().string());
  std::ranges::sort(names);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Examples, Growth, testing::ValuesIn(examples()), [](const auto& tested) {
  std::string name = tested.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace cox::simulate
