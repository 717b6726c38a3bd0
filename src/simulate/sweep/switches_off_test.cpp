// SPDX-License-Identifier: Apache-2.0
// What docs/concepts/mechanisms.md says switches a mechanism off does, in each scenario that it names for it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cox/model/toml.hpp"
#include "cox/simulate/attribution.hpp"

namespace cox::simulate {
namespace {

/// The parts of a text between marks, without blanks around them.
std::vector<std::string> parts(const std::string& text, char mark) {
  std::vector<std::string> out(1);
  for (const char c : text) {
    if (c == mark)
      out.emplace_back();
    else if (c != ' ' || !out.back().empty())
      out.back() += c;
  }
  for (std::string& one : out) one.erase(one.find_last_not_of(' ') + 1);
  return out;
}

/// What stands in backticks.
std::vector<std::string> quoted(const std::string& text) {
  std::vector<std::string> out;
  const std::vector<std::string> all = parts(text, '`');
  for (std::size_t i = 1; i < all.size(); i += 2) out.push_back(all[i]);
  return out;
}

struct Row {
  std::string mechanism;
  std::vector<std::string> set;
  std::vector<std::string> scenarios;
};

std::vector<Row> table() {
  std::vector<Row> rows;
  std::ifstream page(COX_MECHANISMS_PAGE);
  for (std::string line; std::getline(page, line);) {
    const std::vector<std::string> cells = parts(line, '|');
    if (cells.size() != 8 || quoted(cells[6]).empty()) continue;  // 6 cells, and the empty ends
    rows.push_back({cells[1], parts(quoted(cells[3]).at(0), ','), quoted(cells[6])});
  }
  return rows;
}

TEST(SwitchesOff, EveryMechanismOfThePageByItsOwn) {
  const std::vector<Row> rows = table();
  ASSERT_EQ(rows.size(), 21U);
  for (const Row& row : rows)
    for (const std::string& name : row.scenarios) {
      const std::string what = row.mechanism + " of " + name;
      const auto file = std::filesystem::path(COX_EXAMPLES) / (name + ".toml");
      const auto on = model::read_scenario(file, {});
      ASSERT_TRUE(on) << on.error().to_string();
      const auto off = model::read_scenario(file, {.set = row.set});
      EXPECT_TRUE(off) << what << ": " << off.error().to_string();
      if (!off) continue;
      EXPECT_NE(model::scenario_toml(off->scenario), model::scenario_toml(on->scenario)) << what;
      EXPECT_LE(mechanisms_of(off->scenario).size(), mechanisms_of(on->scenario).size()) << what;
      // What is kept of it is a scenario still.
      const auto kept = model::parse_scenario(model::scenario_toml(off->scenario), "kept.toml",
                                              file.parent_path().string());
      EXPECT_TRUE(kept) << what << ": " << kept.error().to_string() << model::scenario_toml(off->scenario);
    }
}

/// The scenario with these changes; its text says whether two are the same.
std::string changed(const std::string& name, const std::vector<std::string>& set) {
  const auto read =
      model::read_scenario(std::filesystem::path(COX_EXAMPLES) / (name + ".toml"), {.set = set});
  return read ? model::scenario_toml(read->scenario) : read.error().to_string();
}

TEST(SwitchesOff, APartOfAMechanismTakesItsOwnKeysAlong) {
  const std::string near = changed("near-checkpoints", {"failures.near_interval=0s"});
  EXPECT_EQ(near.find("near_"), std::string::npos) << near;
  EXPECT_NE(near.find("checkpoint_interval"), std::string::npos) << near;
  const std::string full = changed("delta-checkpoints", {"failures.full_every=1"});
  EXPECT_EQ(full.find("checkpoint_delta"), std::string::npos) << full;
  const std::string steady = changed("failures", {"failures.node_mtbf=0s"});
  EXPECT_EQ(steady.find("restart"), std::string::npos) << steady;
  EXPECT_NE(steady.find("checkpoint_interval"), std::string::npos) << "checkpoints are written all the same";
  // What --set says itself has to have a meaning.
  EXPECT_NE(changed("near-checkpoints", {"failures.near_interval=0s", "failures.near_checkpoint=1s"})
                .find("failures.near_checkpoint has no meaning for failures.near_interval"),
            std::string::npos);
}

}  // namespace
}  // namespace cox::simulate
