// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which keys have a meaning in a scenario, and which nothing would read.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/toml/keys/keys.hpp"

namespace cox::model {

/// Why nothing reads a key.
struct Unread {
  std::string_view chooses;                   ///< the key whose value is the reason
  std::string whose = {};                     ///< the values of it that would read the key
  std::string hint = {};                      ///< instead of "only `whose` has one: ..."
  std::vector<std::string_view> others = {};  ///< keys whose values could be the reason just as well
  bool not_simulated = false;                 ///< it would have a meaning, and nobody simulates it
};

/// Why nothing reads a key below the root; nothing where something does. `noise` stands for all its tables.
/// Held by: tests/property/scenario_words.hpp, which changes every key and looks at the outcome.
[[nodiscard]] std::optional<Unread> why_unread(std::string_view key, const Draft& draft);

/// Why links are not played, where they are not.
[[nodiscard]] Unread no_links(const Draft& draft);

/// Whether links are played, by the rule of the scenario.
[[nodiscard]] bool plays_links(const Draft& draft);

/// Whether nothing reads a key of links, cards or messages, as times of collectives were measured (`cost.table`): only
/// messages between stages look at them, inside a node or across.
[[nodiscard]] bool is_measured(std::string_view key, const Draft& draft);

/// Whether the all-reduce of an iteration goes over the links of the cluster, as it has no link of its own.
[[nodiscard]] bool reduces_on_cluster(const Draft& draft);

/// A key of a noise source that not all sources read.
struct NoiseMeaning {
  std::string_view key;
  std::string_view chooses;  ///< `law`, `pattern` or `target`
  bool (*reads)(const NoiseSource&);
  std::string_view hint;
};
[[nodiscard]] std::span<const NoiseMeaning> noise_meanings();
/// Whether the law itself takes the key: the table of docs/concepts/noise.md.
[[nodiscard]] bool law_takes(NoiseLaw law, std::string_view key);

}  // namespace cox::model
