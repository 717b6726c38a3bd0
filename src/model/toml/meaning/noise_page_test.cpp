// SPDX-License-Identifier: Apache-2.0
// What a law takes: docs/concepts/noise.md says it, and the reader refuses the rest.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>
#include <string>

#include "cox/base/file.hpp"
#include "cox/model/toml.hpp"

#include "model/toml/meaning/meaning.hpp"

namespace cox::model {
namespace {

constexpr std::string_view kKeys[] = {"cv",        "shape", "probability",      "file",
                                      "quantiles", "unit",  "tail_probability", "tail_scale",
                                      "tail_shape"};

/// The words of `cell` that stand in backticks.
std::set<std::string> code_of(const std::string& cell) {
  std::set<std::string> words;
  for (std::size_t at = cell.find('`'); at != std::string::npos;) {
    const std::size_t end = cell.find('`', at + 1);
    if (end == std::string::npos) break;
    words.insert(cell.substr(at + 1, end - at - 1));
    at = cell.find('`', end + 1);
  }
  return words;
}

/// The page's table: the last cell of each law's row.
std::map<std::string, std::set<std::string>> table_of_the_page() {
  const auto page = read_file(COX_TREE "/docs/concepts/noise.md", 1 << 20);
  EXPECT_TRUE(page);
  std::map<std::string, std::set<std::string>> table;
  std::istringstream lines(page ? *page : "");
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `")) continue;
    const std::size_t end = line.rfind('|');
    const std::string takes = line.substr(line.rfind('|', end - 1), end - line.rfind('|', end - 1));
    table[line.substr(3, line.find('`', 3) - 3)] = code_of(takes);
  }
  return table;
}

TEST(NoisePage, SaysWhatEachLawTakes) {
  const auto table = table_of_the_page();
  ASSERT_EQ(table.size(), law_words().size());
  for (std::size_t law = 0; law < law_words().size(); ++law) {
    std::set<std::string> takes;
    for (const std::string_view key : kKeys)
      if (law_takes(static_cast<NoiseLaw>(law), key)) takes.emplace(key);
    EXPECT_EQ(table.at(std::string(law_words()[law])), takes) << law_words()[law];
  }
}

// A key that the page does not give a law is refused, one that it does is not refused for that.
TEST(NoisePage, IsWhatTheReaderTakes) {
  for (const auto& [law, takes] : table_of_the_page())
    for (const auto& [key, value] : {std::pair{"cv", "0.1"},
                                     {"shape", "3"},
                                     {"probability", "0.5"},
                                     {"file", "\"x.csv\""},
                                     {"quantiles", "[0, 1]"},
                                     {"unit", "\"1ms\""},
                                     {"tail_probability", "0.1"},
                                     {"tail_scale", "1"},
                                     {"tail_shape", "0.1"}}) {
      const auto read = parse_scenario(
          fmt::format("job.steps = 1\n[[noise]]\nlaw = \"{}\"\n{} = {}\n", law, key, value), "f", "");
      const bool refused =
          !read && read.error().message.find(fmt::format("noise[0].{} has no meaning for law", key)) == 0;
      EXPECT_EQ(refused, !takes.contains(key)) << law << " " << key;
    }
}

}  // namespace
}  // namespace cox::model
