// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where a value of a scenario came from (target `model_toml`).
#pragma once

#include <cstdint>
#include <string_view>

namespace cox::model {

enum class Origin : std::uint8_t { File, Preset, Default, Derived };
/// `file`, `preset`, `default`, `derived`.
[[nodiscard]] std::string_view name_of(Origin o);

}  // namespace cox::model
