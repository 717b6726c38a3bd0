// SPDX-License-Identifier: Apache-2.0
/// \file
/// Pictures of a dozen points, drawn as SVG: readable without scripts, in the page's own colours.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/forecast/forecast_page.hpp"

namespace cox::report {

/// Throughput against ranks, both logarithmic, with its band, the ideal, regimes behind it, and control beside.
[[nodiscard]] std::string scaling_picture(const ForecastPage& page);
/// Nearest relative change that crosses a boundary, against ranks.
[[nodiscard]] std::string margin_picture(const ForecastPage& page);
/// What is left of a delay, step by step.
[[nodiscard]] std::string decay_picture(const std::vector<forecast::KeptRatio>& kept,
                                        std::string_view against);
/// Cells shaded by share.
[[nodiscard]] std::string coupling_picture(const ShareTable& table);
/// Bars of shares, one a window.
[[nodiscard]] std::string path_picture(const ShareTable& table);

}  // namespace cox::report
