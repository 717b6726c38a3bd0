// SPDX-License-Identifier: Apache-2.0
// The schema against the examples and against bad files, with a validator of the few words that it uses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "cox/base/file.hpp"
#include "cox/model/document.hpp"
#include "cox/model/toml.hpp"

#include "model/toml/scenario_keys.hpp"

namespace cox::model {
namespace {

using Json = nlohmann::json;

Json json_of(const DocumentNode& node) {
  switch (node.kind) {
    case DocumentNode::Kind::Table: {
      Json out = Json::object();
      for (const auto& entry : node.entries) out[entry.name] = json_of(entry.value);
      return out;
    }
    case DocumentNode::Kind::Array: {
      Json out = Json::array();
      for (const DocumentNode& item : node.items) out.push_back(json_of(item));
      return out;
    }
    case DocumentNode::Kind::Text:
      return node.text;
    case DocumentNode::Kind::Integer:
      return node.integer;
    case DocumentNode::Kind::Real:
      return node.real;
    case DocumentNode::Kind::Flag:
      return node.flag;
    case DocumentNode::Kind::Date:
      return nullptr;
  }
  return nullptr;
}

bool has_type(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer")
    return value.is_number_integer() ||
           (value.is_number() && value.get<double>() == std::trunc(value.get<double>()));
  if (type == "number") return value.is_number();
  ADD_FAILURE() << "a word that this validator does not know: " << type;
  return false;
}

/// Empty where `value` is as `schema` says, else the first reason.
std::string violation(const Json& schema, const Json& value, const std::string& at) {
  static const std::set<std::string> known{
      "$schema", "title",   "description", "type",    "properties", "additionalProperties", "items", "anyOf",
      "enum",    "pattern", "minimum",     "maximum", "maxItems"};
  for (const auto& [word, unused] : schema.items())
    if (!known.contains(word)) return "schema word " + word;
  if (schema.contains("anyOf")) {
    std::string all;
    for (const Json& one : schema["anyOf"]) {
      const auto bad = violation(one, value, at);
      if (bad.empty()) return {};
      all += (all.empty() ? "" : "; ") + bad;
    }
    return all;
  }
  if (schema.contains("type") && !has_type(value, schema["type"]))
    return at + " is no " + schema["type"].get<std::string>();
  if (schema.contains("enum") &&
      std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end())
    return at + " is none of the words";
  if (schema.contains("pattern") &&
      !std::regex_search(value.get<std::string>(), std::regex(schema["pattern"].get<std::string>())))
    return at + " does not match " + schema["pattern"].get<std::string>();
  if (schema.contains("minimum") && value.get<double>() < schema["minimum"].get<double>())
    return at + " is too small";
  if (schema.contains("maximum") && value.get<double>() > schema["maximum"].get<double>())
    return at + " is too large";
  if (schema.contains("maxItems") && value.size() > schema["maxItems"].get<std::size_t>())
    return at + " has too many";
  if (value.is_array())
    for (const Json& item : value)
      if (auto bad = violation(schema["items"], item, at + "[]"); !bad.empty()) return bad;
  if (value.is_object())
    for (const auto& [key, item] : value.items()) {
      if (!schema["properties"].contains(key)) return at + "." + key + " is unknown";
      if (auto bad = violation(schema["properties"][key], item, at + "." + key); !bad.empty()) return bad;
    }
  return {};
}

std::string violation_of(const std::string& text) {
  const auto document = parse_document(text, "f.toml");
  return document ? violation(Json::parse(scenario_schema()), json_of(*document), "") : "not TOML";
}

TEST(ScenarioSchema, AcceptsTheExamples) {
  int count = 0;
  for (const auto& file : std::filesystem::directory_iterator(COX_TREE "/examples/scenarios")) {
    if (file.path().extension() != ".toml") continue;
    const auto text = read_file(file.path(), 1 << 20);
    ASSERT_TRUE(text);
    EXPECT_EQ(violation_of(*text), "") << file.path();
    ++count;
  }
  EXPECT_GE(count, 14);
}

TEST(ScenarioSchema, AcceptsWhatIsWritten) {
  for (const char* preset : {"dgx-a100", "dgx-h100", "dgx-b200", "tpu-v4", "cloud-100g"}) {
    const auto read =
        parse_scenario(std::string("cluster.preset = \"") + preset + "\"\njob.steps = 1\n", "f.toml", "");
    ASSERT_TRUE(read);
    EXPECT_EQ(violation_of(scenario_toml(read->scenario)), "");
  }
}

TEST(ScenarioSchema, RefusesWhatTheReaderRefuses) {
  EXPECT_EQ(violation_of("[clutser]\nnodes = 1\n"), ".clutser is unknown");
  EXPECT_EQ(violation_of("[cluster]\nnodes = 0\n"), ".cluster.nodes is too small");
  EXPECT_EQ(violation_of("[cluster]\nnodes = 2097153\n"), ".cluster.nodes is too large");
  EXPECT_EQ(violation_of("[cluster]\nnic.latency = 25\n"), ".cluster.nic.latency is no string");
  EXPECT_NE(violation_of("[cluster]\nnic.latency = \"25\"\n"), "");
  EXPECT_NE(violation_of("[cluster]\nnic.latency = \"25us \u00e9\"\n"), "");
  EXPECT_EQ(violation_of("[cluster]\nnic.latency = \" 1.5 us\"\n"), "");
  EXPECT_EQ(violation_of("[fabric]\nkind = \"fattree\"\n"), ".fabric.kind is none of the words");
  EXPECT_EQ(violation_of("[fabric]\npause = 1\n"), ".fabric.pause is no boolean");
  EXPECT_EQ(violation_of("[[noise]]\nlow = 1\n"), ".noise[].low is unknown; .noise is no object");
  EXPECT_EQ(violation_of("[cost.across]\nbandwidth = \"20ps/B\"\n"), "");
  EXPECT_EQ(violation_of("[[job.layers]]\ncount = 3\nforward = \"1ms\"\n"), "");
}

TEST(ScenarioKeys, SayWhatEditorsNeed) {
  const auto keys = scenario_keys();
  const auto find = [&](std::string_view key) {
    return *std::find_if(keys.begin(), keys.end(), [&](const ScenarioKey& k) { return k.key == key; });
  };
  EXPECT_EQ(find("fabric.kind").kind, "word");
  EXPECT_EQ(find("fabric.kind").words.size(), 6U);
  EXPECT_EQ(find("fabric.kind").default_value, "full-bisection");
  EXPECT_EQ(find("job.bucket").kind, "size");
  EXPECT_EQ(find("job.bucket").default_value, "25MB");
  EXPECT_EQ(find("noise[].law").default_value, "gaussian");
  EXPECT_EQ(find("cost.across.bandwidth").kind, "rate or time per byte");
}

}  // namespace
}  // namespace cox::model
