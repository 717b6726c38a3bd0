// SPDX-License-Identifier: Apache-2.0
#include "cli/output/envelope.hpp"

#include <gtest/gtest.h>

#include <limits>

#include <nlohmann/json.hpp>

namespace cox::cli {
namespace {

TEST(Envelope, KeysStandInTheDocumentedOrder) {
  const std::string text = to_json({.schema = "cox.x/1", .inputs = {"a"}, .warnings = {"w"}},
                                   JsonObject{{"z", std::int64_t{1}}, {"a", true}, {"m", std::string("t")}});
  const auto json = nlohmann::ordered_json::parse(text);
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"schema", "tool", "inputs", "result", "warnings"}));
  EXPECT_EQ(json["result"].dump(), R"({"z":1,"a":true,"m":"t"})");
  EXPECT_EQ(text.back(), '\n');
}

TEST(Envelope, BytesThatAreNoTextAndNumbersThatAreNoneStayValidJson) {
  const std::string text =
      to_json({.schema = "s", .inputs = {"bad\xff name"}},
              JsonObject{{"nan", std::numeric_limits<double>::quiet_NaN()}, {"name", std::string("\xc3")}});
  const auto json = nlohmann::json::parse(text);
  EXPECT_TRUE(json["result"]["nan"].is_null());
}

TEST(Envelope, ListsMayBeEmpty) {
  const auto json = nlohmann::json::parse(to_json({.schema = "s"}, "checks", {}));
  EXPECT_TRUE(json["result"]["checks"].is_array());
  EXPECT_TRUE(json["result"]["checks"].empty());
}

}  // namespace
}  // namespace cox::cli
