// SPDX-License-Identifier: Apache-2.0
/// \file
/// Pictures of a dozen points, drawn as SVG: readable without scripts, in the page's own colours.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/forecast/forecast_page.hpp"

namespace cox::report {

/// Throughput against ranks, both logarithmic: the curve with its band, the sizes asked on it, the ideal, regimes behind it, and
/// control beside.
[[nodiscard]] std::string scaling_picture(const ForecastPage& page);
/// Ranks of the next boundary over these, against ranks: a stretch for each boundary, regimes behind it.
[[nodiscard]] std::string margin_picture(const ForecastPage& page);
/// What is left of a delay, step by step.
[[nodiscard]] std::string decay_picture(const std::vector<forecast::KeptRatio>& kept,
                                        std::string_view against, std::string_view why_none = {});
/// Cells shaded by share. `why_none`, here and in the other two: why nothing is known of them.
[[nodiscard]] std::string coupling_picture(const ShareTable& table, std::string_view why_none = {});
/// Bars of shares, one a window.
[[nodiscard]] std::string path_picture(const ShareTable& table, std::string_view why_none = {});

}  // namespace cox::report
