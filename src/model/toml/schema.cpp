// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "cox/base/json.hpp"
#include "cox/model/toml.hpp"

#include "model/toml/keys/keys.hpp"
#include "model/toml/keys/values.hpp"
#include "model/toml/scenario_keys.hpp"

namespace cox::model {
namespace {

/// A number with one of the units of docs/reference/units.md; both spellings of micro are allowed.
std::string quantity_pattern(std::string_view kind) {
  const std::string number = "^ *[0-9]+(\\.[0-9]+)? *";
  const std::string rate = "(bps|kbps|Mbps|Gbps|Tbps|B/s|kB/s|MB/s|GB/s|TB/s|KiB/s|MiB/s|GiB/s|TiB/s)";
  const std::string per_byte = "(ps|ns|us|\u00b5s|\u03bcs|ms|s)/B";
  if (kind == "time") return number + "(ps|ns|us|\u00b5s|\u03bcs|ms|s|min|h|d) *$";
  if (kind == "size") return number + "(B|kB|MB|GB|TB|PB|KiB|MiB|GiB|TiB|PiB) *$";
  if (kind == "rate") return number + rate + " *$";
  if (kind == "time per byte") return number + per_byte + " *$";
  if (kind == "rate or time per byte") return number + "(" + rate + "|" + per_byte + ") *$";
  if (kind == "operations per second") return number + "[kMGTPEZY]?FLOP/s *$";
  return {};
}

Json counts_schema(double least, double most) {
  Json out = {{"type", "integer"}, {"minimum", static_cast<std::int64_t>(least)}};
  if (most < 9e18) out["maximum"] = static_cast<std::int64_t>(most);
  return out;
}

template <class T>
Json schema_of(const Key<T>& key) {
  const std::string_view kind = kind_name(key.field);
  Json out;
  if (kind == "word") {
    out = {{"enum", Json(words_of(key.field))}};
  } else if (kind == "count") {
    out = counts_schema(key.least, key.most);
  } else if (kind == "counts") {
    out = {{"type", "array"}, {"items", counts_schema(key.least, key.most)}, {"maxItems", kMostRanksNamed}};
  } else if (kind == "ratios") {
    out = {{"type", "array"}, {"items", {{"type", "number"}}}, {"maxItems", kMostQuantiles}};
  } else if (kind == "ratio") {
    out = {{"type", "number"}, {"minimum", key.least}};
    if (std::isfinite(key.most)) out["maximum"] = key.most;
  } else if (kind == "true or false") {
    out = {{"type", "boolean"}};
  } else {
    out = {{"type", "string"}};
    if (const std::string pattern = quantity_pattern(kind); !pattern.empty()) out["pattern"] = pattern;
  }
  out["description"] = key.help;
  return out;
}

Json object() {
  return {{"type", "object"}, {"properties", Json::object()}, {"additionalProperties", false}};
}

/// The schema of the table that `dotted` (without its last part) names, made where it is missing.
Json& table_at(Json& root, std::string_view dotted, std::string_view& last) {
  Json* at = &root;
  for (auto dot = dotted.find('.'); dot != std::string_view::npos; dot = dotted.find('.')) {
    Json& next = (*at)["properties"][std::string(dotted.substr(0, dot))];
    if (next.is_null()) next = object();
    at = &next;
    dotted.remove_prefix(dot + 1);
  }
  last = dotted;
  return *at;
}

template <class T>
void add(Json& root, std::span<const Key<T>> keys) {
  for (const Key<T>& key : keys) {
    std::string_view last;
    Json& table = table_at(root, key.name, last);
    table["properties"][std::string(last)] = schema_of(key);
  }
}

template <class T>
Json array_of(std::span<const Key<T>> keys, std::int64_t most) {
  Json item = object();
  add(item, keys);
  Json array = {{"type", "array"}, {"items", item}, {"maxItems", most}};
  return {
      {"anyOf", Json::array({std::move(array), std::move(item)})}};  // one table stands for an array of one
}

template <class T>
void list(std::span<const Key<T>> keys, T plain, std::string_view prefix, std::vector<ScenarioKey>& out) {
  for (const Key<T>& key : keys) {
    const auto words = words_of(key.field);
    out.push_back({.key = std::string(prefix) + std::string(key.name),
                   .kind = kind_name(key.field),
                   .words = {words.begin(), words.end()},
                   .default_value = key.otherwise.empty() ? text_of(key, plain) : std::string(key.otherwise),
                   .help = key.help});
  }
}

}  // namespace

std::vector<ScenarioKey> scenario_keys() {
  std::vector<ScenarioKey> out;
  list(root_keys(), Draft{}, "", out);
  list(layer_keys(), LayerGroup{}, "job.layers[].", out);
  list(noise_keys(), NoiseSource{}, "noise[].", out);
  list(failure_class_keys(), FailureClass{}, "failures.class[].", out);
  list(node_class_keys(), NodeClass{}, "cluster.classes[].", out);
  list(neighbour_keys(), Neighbour{}, "neighbour[].", out);
  return out;
}

std::string scenario_schema() {
  Json root = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
               {"title", "Coxswain scenario"},
               {"description", "docs/reference/scenario.md"}};
  root.update(object());
  add(root, root_keys());
  root["properties"]["job"]["properties"]["layers"] = array_of(layer_keys(), kMostLayers);
  root["properties"]["failures"]["properties"]["class"] =
      array_of(failure_class_keys(), static_cast<std::int64_t>(kMostClasses));
  root["properties"]["cluster"]["properties"]["classes"] =
      array_of(node_class_keys(), static_cast<std::int64_t>(kMostNodeClasses));
  root["properties"]["neighbour"] = array_of(neighbour_keys(), static_cast<std::int64_t>(kMostNeighbours));
  root["properties"]["noise"] = array_of(noise_keys(), static_cast<std::int64_t>(kMostNoise));
  return json_text(root);
}

}  // namespace cox::model
