// SPDX-License-Identifier: Apache-2.0
/// \file
/// JSON that the verbs write: one frame around every result, and one way each to print ids and what is not known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace cox {

/// Keeps the order of its keys; what is no number (NaN, infinity) is written as null.
using Json = nlohmann::ordered_json;

/// What surrounds a result. Keys and their order are the same for every verb.
struct JsonFrame {
  std::string schema{};  ///< `cox.diagnose/1`
  std::vector<std::string> inputs{};
  std::vector<std::string> warnings{};
};

/// The text of a document, indented, with a newline at its end. Names come from files: bytes that are not UTF-8 are
/// replaced, never thrown about. Nothing else in the tool turns JSON into text: `layer/includes`.
[[nodiscard]] std::string json_text(const Json& document, int indent = 2);
/// The same on one line.
[[nodiscard]] std::string json_line(const Json& document);

enum class JsonLetters : std::uint8_t { Utf8, Ascii };
/// What stands inside another text: on one line, without a newline. Ascii: all beyond it as escapes.
[[nodiscard]] std::string json_inside(const Json& value, JsonLetters letters = JsonLetters::Utf8);
/// `{"schema", "tool", "inputs", "result", "warnings"}`, as text. Held by: src/base/json_test.cpp, and by the golden
/// transcripts of every verb.
[[nodiscard]] std::string framed(const JsonFrame& frame, Json result);

/// A list of the numbers of ids (Rank, NodeId, ...).
template <class Ids>
[[nodiscard]] Json numbers_of(const Ids& ids) {
  Json list = Json::array();
  for (const auto id : ids) list.push_back(id.value());
  return list;
}

/// What `show` makes of the value, or null where there is none.
template <class T, class F>
[[nodiscard]] Json or_null(const std::optional<T>& value, const F& show) {
  return value ? Json(show(*value)) : Json(nullptr);
}

}  // namespace cox
