// SPDX-License-Identifier: Apache-2.0
/// \file
/// The one JSON object that `--json` prints: schema, tool, inputs, result, warnings.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cox/base/json.hpp"

namespace cox::cli {

/// A flat JSON object with its keys in order. Units are part of the keys; not-a-number becomes null.
using JsonValue = std::variant<std::string, std::int64_t, double, bool>;
using JsonObject = std::vector<std::pair<std::string, JsonValue>>;

using Envelope = JsonFrame;

/// The text of the object, indented by two spaces, with a newline at its end.
[[nodiscard]] std::string to_json(const Envelope& envelope, const JsonObject& result);
/// The same where the result is a list of objects under one key: `"result": {"checks": [...]}`.
[[nodiscard]] std::string to_json(const Envelope& envelope, const std::string& key,
                                  const std::vector<JsonObject>& list);

}  // namespace cox::cli
