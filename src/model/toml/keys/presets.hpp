// SPDX-License-Identifier: Apache-2.0
/// \file
/// Machines with published figures, as keys and values that a file could say itself.
#pragma once

#include <span>
#include <string_view>

namespace cox::model {

/// One value of a preset and where it was published.
struct Figure {
  std::string_view key;
  std::string_view value;  ///< as in a file: a quantity with its unit, a whole number, or a word
  std::string_view source;
};

struct Preset {
  std::string_view name;
  std::string_view what;
  std::span<const Figure> figures;
};

[[nodiscard]] std::span<const Preset> presets();

}  // namespace cox::model
