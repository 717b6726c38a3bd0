// SPDX-License-Identifier: Apache-2.0
/// \file
/// The page's fixed parts, compiled in: chart library, our scripts and styles.
#pragma once

#include <string_view>

namespace cox::report {

struct Asset {
  std::string_view text;
  std::string_view sha256;  ///< 64 hex digits, of `text`
};

[[nodiscard]] Asset script_asset();
[[nodiscard]] Asset style_asset();
[[nodiscard]] std::string_view chart_licence();

}  // namespace cox::report
