// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "cox/base/file.hpp"
#include "cox/model/toml.hpp"

#include "model/toml/scenario_keys.hpp"

namespace cox::model {
namespace {

const std::string kPage = COX_TREE "/docs/reference/scenario.md";

TEST(ScenarioReference, ThePageIsWhatTheTablesSay) {
  const std::string made = scenario_reference();
  if (std::getenv("COX_WRITE_REFERENCE")) {
    ASSERT_TRUE(write_file_atomically(kPage, made, IfExists::Replace));
  }
  const auto page = read_file(kPage, 1 << 20);
  ASSERT_TRUE(page);
  EXPECT_TRUE(*page == made) << "run COX_WRITE_REFERENCE=1 model_toml_test and look at the difference";
}

TEST(ScenarioReference, NamesEveryKeyAndNoLineIsLong) {
  const std::string page = scenario_reference();
  for (const ScenarioKey& key : scenario_keys()) {
    const auto last = key.key.rfind('.');
    const std::string name = key.key.substr(last == std::string::npos ? 0 : last + 1);
    EXPECT_NE(page.find(name + "` ("), std::string::npos) << key.key;
    EXPECT_FALSE(key.help.empty()) << key.key;
  }
  std::size_t begin = 0;
  for (std::size_t end = page.find('\n'); end != std::string::npos; end = page.find('\n', begin)) {
    EXPECT_LE(end - begin, 120U) << page.substr(begin, end - begin);
    begin = end + 1;
  }
}

}  // namespace
}  // namespace cox::model
