// SPDX-License-Identifier: Apache-2.0
#include "cli/output/envelope.hpp"

namespace cox::cli {
namespace {

Json json_of(const JsonValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return std::get<bool>(value);
}

Json object(const JsonObject& fields) {
  Json json = Json::object();
  for (const auto& [key, value] : fields) json[key] = json_of(value);
  return json;
}

}  // namespace

std::string to_json(const Envelope& envelope, const JsonObject& result) {
  return framed(envelope, object(result));
}

std::string to_json(const Envelope& envelope, const std::string& key, const std::vector<JsonObject>& list) {
  Json items = Json::array();
  for (const JsonObject& fields : list) items.push_back(object(fields));
  return framed(envelope, Json{{key, std::move(items)}});
}

}  // namespace cox::cli
