// SPDX-License-Identifier: Apache-2.0
/// \file
/// Scenarios as TOML (target `model_toml`; not for guests).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/model/scenario.hpp"

namespace cox::model {

/// Where a value of a scenario came from.
enum class Origin : std::uint8_t { File, Preset, Default, Derived };

/// One line of `cox simulate --explain`.
struct Explained {
  std::string key;    ///< `fabric.oversubscription`
  std::string value;  ///< with its unit
  Origin origin = Origin::Default;
  std::string why;  ///< source of a preset's figure, formula of a derived one
};

struct ReadScenario {
  Scenario scenario;
  std::vector<Explained> explained;
};

/// Reads a scenario. `name` is the file as shown in errors; relative files in it are resolved against
/// `folder`. Errors: scenario-001 (not TOML), scenario-002 (unknown key, with the nearest), scenario-003 (bad
/// value: got, wanted), scenario-004 (parts that cannot go together: layout against cluster, fabric against
/// nodes); all with file and line.
[[nodiscard]] Result<ReadScenario> parse_scenario(std::string_view text, const std::string& name,
                                                  const std::filesystem::path& folder);
/// The same from a file of at most 16 MB. Errors: base-002 to base-004, and the above.
[[nodiscard]] Result<ReadScenario> read_scenario(const std::filesystem::path& path);

/// The JSON schema of scenario files, for editors.
[[nodiscard]] std::string scenario_schema();

}  // namespace cox::model
