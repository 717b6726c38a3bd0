// SPDX-License-Identifier: Apache-2.0
/// \file
/// Scenarios as TOML (target `model_toml`; not for guests).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/model/origin.hpp"
#include "cox/model/scenario.hpp"

namespace cox::model {

/// One line of `cox simulate --explain`.
struct Explained {
  std::string key;    ///< `fabric.oversubscription`, `noise[0].law`
  std::string value;  ///< with its unit, as a file would spell it
  Origin origin = Origin::Default;
  std::string why;  ///< line of the file, source of a preset's figure, formula of a derived one
};

struct ReadScenario {
  Scenario scenario;
  std::vector<Explained> explained;
};

struct ScenarioOptions {
  /// Values that replace those of the file, as `key=value`: `fabric.oversubscription=2`, `job.compute=5ms`,
  /// `noise.0.cv=0.1`. A word or a quantity needs no quotes. `--engine=`, `--seed=` and `--replicas=` are options of their own,
  /// and are called that in errors.
  std::vector<std::string> set;
};

/// Reads a scenario. `name` is the file as shown in errors; relative files in it are resolved against
/// `folder`. Errors: scenario-001 (not TOML), scenario-002 (unknown key, with the nearest), scenario-003 (bad
/// value: got, wanted), scenario-004 (parts that cannot go together: layout against cluster, fabric against
/// nodes); all with file and line. Touches no file. Held by: src/model/toml/*_test.cpp, fuzz (scenario)
[[nodiscard]] Result<ReadScenario> parse_scenario(std::string_view text, const std::string& name,
                                                  const std::filesystem::path& folder,
                                                  const ScenarioOptions& options = {});
/// The same from a file of at most 16 MB; files that it names have to be there. Errors: base-002 to base-004, of a file that it
/// names with the line that names it, and the above.
[[nodiscard]] Result<ReadScenario> read_scenario(const std::filesystem::path& path,
                                                 const ScenarioOptions& options = {});

/// A file that reads back to exactly this scenario, whatever preset it began with.
[[nodiscard]] std::string scenario_toml(const Scenario& scenario);

/// `explained` as aligned text: key, value, origin and why.
[[nodiscard]] std::string explain_text(const std::vector<Explained>& explained);

/// The JSON schema (draft 2020-12) of scenario files, for editors.
[[nodiscard]] std::string scenario_schema();

/// docs/reference/scenario.md, whole. Held by: src/model/toml/reference_test.cpp
[[nodiscard]] std::string scenario_reference();

}  // namespace cox::model
