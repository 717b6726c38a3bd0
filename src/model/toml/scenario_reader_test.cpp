// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "cox/model/toml.hpp"

namespace cox::model {
namespace {

TEST(ScenarioReader, ReadsEverySection) {
  const auto read = parse_scenario(R"(
seed = 7
[cluster]
preset = "dgx-h100"
nodes = 4
[job.collective]
kind = "all-reduce"
bytes = "256MiB"
[[noise]]
law = "gaussian"
cv = 0.05
)",
                                   "f.toml", "");
  ASSERT_TRUE(read) << read.error().to_string();
  std::puts(explain_text(read->explained).c_str());
  std::puts(scenario_toml(read->scenario).c_str());
}

}  // namespace
}  // namespace cox::model
