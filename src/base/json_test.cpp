// SPDX-License-Identifier: Apache-2.0
#include "cox/base/json.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "cox/base/ids.hpp"

namespace cox {
namespace {

TEST(JsonFrame, KeysStandInTheDocumentedOrder) {
  const std::string text = framed({"cox.x/1", {"a"}, {"w"}}, Json{{"z", 1}, {"a", 2}});
  std::vector<std::string> keys;
  const Json json = Json::parse(text);
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"schema", "tool", "inputs", "result", "warnings"}));
  EXPECT_EQ(Json::parse(text)["result"].dump(), R"({"z":1,"a":2})");
  EXPECT_EQ(text.back(), '\n');
}

TEST(JsonFrame, WhatIsNoTextOrNoNumberStaysValid) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Json back = Json::parse(framed({"s", {"bad\xff name"}}, Json{{"nan", nan}, {"name", "\xc3"}}));
  EXPECT_TRUE(back["result"]["nan"].is_null());
  EXPECT_EQ(json_line(Json{{"a", 1}}), "{\"a\":1}\n");
}

TEST(JsonFrame, WhatStandsInsideAnotherTextHasNoNewline) {
  EXPECT_EQ(json_inside(Json{{"a", "\u00b5"}, {"b", {1, 2}}}), "{\"a\":\"\u00b5\",\"b\":[1,2]}");
  EXPECT_EQ(json_inside("\u00b5\xff", JsonLetters::Ascii), "\"\\u00b5\\ufffd\"");
  EXPECT_EQ(json_text(Json{{"a", 1}}, 1), "{\n \"a\": 1\n}\n");
}

TEST(JsonFrame, IdsAreNumbersAndWhatIsNotKnownIsNull) {
  EXPECT_EQ(numbers_of(std::vector{Rank{3}, Rank{1}}).dump(), "[3,1]");
  EXPECT_EQ(numbers_of(std::vector<Rank>{}).dump(), "[]");
  const auto twice = [](int x) { return 2 * x; };
  EXPECT_EQ(or_null(std::optional<int>(2), twice).dump(), "4");
  EXPECT_EQ(or_null(std::optional<int>(), twice).dump(), "null");
}

}  // namespace
}  // namespace cox
