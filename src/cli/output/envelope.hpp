// SPDX-License-Identifier: Apache-2.0
/// \file
/// The one JSON object that `--json` prints: schema, tool, inputs, result, warnings.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace cox::cli {

/// A flat JSON object with its keys in order. Units are part of the keys; not-a-number becomes null.
using JsonValue = std::variant<std::string, std::int64_t, double, bool>;
using JsonObject = std::vector<std::pair<std::string, JsonValue>>;

/// What surrounds a result. Keys and order are the same for every verb.
struct Envelope {
  std::string schema{};  ///< `cox.report/1`
  std::vector<std::string> inputs{};
  std::vector<std::string> warnings{};
};

/// The text of the object, indented by two spaces, with a newline at its end.
[[nodiscard]] std::string to_json(const Envelope& envelope, const JsonObject& result);
/// The same where the result is a list of objects under one key: `"result": {"checks": [...]}`.
[[nodiscard]] std::string to_json(const Envelope& envelope, const std::string& key,
                                  const std::vector<JsonObject>& list);

}  // namespace cox::cli
