// SPDX-License-Identifier: Apache-2.0
/// \file
/// The keys of scenario files, for their reference and for tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cox::model {

/// What a scenario file may say.
struct ScenarioKey {
  std::string key;                      ///< `fabric.kind`, `noise[].law`
  std::string_view kind;                ///< `time`, `size`, `rate`, `count`, `ratio`, `word`, ...
  std::vector<std::string_view> words;  ///< of a word: what is allowed
  std::string default_value;  ///< as a file would spell it, or in words where it depends on other keys
  std::string_view help;
};
[[nodiscard]] std::vector<ScenarioKey> scenario_keys();

}  // namespace cox::model
