// SPDX-License-Identifier: Apache-2.0
#include "cox/base/json.hpp"

#include <utility>

#include "cox/base/version.hpp"

namespace cox {

std::string json_text(const Json& document, int indent) {
  return document.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string json_line(const Json& document) {
  return json_inside(document) + "\n";
}

std::string json_inside(const Json& value, JsonLetters letters) {
  return value.dump(-1, ' ', letters == JsonLetters::Ascii, Json::error_handler_t::replace);
}

std::string framed(const JsonFrame& frame, Json result) {
  Json json;
  json["schema"] = frame.schema;
  json["tool"] = "cox " COX_VERSION;
  json["inputs"] = frame.inputs;
  json["result"] = std::move(result);
  json["warnings"] = frame.warnings;
  return json_text(json);
}

}  // namespace cox
