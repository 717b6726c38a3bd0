// SPDX-License-Identifier: Apache-2.0
/// \file
/// One self-contained HTML page of a forecast: what the job is, how to recognise its state, what couples it, where it goes,
/// what control would change, and what that means. Its order is that of docs/design/0021-forecast-page.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/forecast/levers.hpp"
#include "cox/forecast/margin.hpp"
#include "cox/forecast/ratios.hpp"
#include "cox/forecast/regimes.hpp"
#include "cox/report/forecast.hpp"

namespace cox::report {

/// A number that a user holds against an own dashboard.
struct Recognised {
  std::string sign;     ///< `throughput per node`
  std::string now;      ///< `0.71 of the small run`
  std::string look_at;  ///< what an own dashboard has for it
};

/// What was found, as a sentence that can be refuted.
struct Observation {
  std::string sentence;
  std::string interval;    ///< `0.62 to 0.71`; empty = none
  std::string evidence;    ///< what it rests on
  std::string anchor;      ///< id of the section, picture or artefact that shows it; empty = none
  std::string refuted_by;  ///< what one would have to see instead
};

/// Shares of groups, one row each: `values[row][column]`, 0 to 1.
struct ShareTable {
  std::vector<std::string> rows;
  std::vector<std::string> columns;
  std::vector<std::vector<double>> values;
};

struct Monitored {
  std::string figure;  ///< `mean busy share of devices`
  std::string small;   ///< in the small run
  std::string large;   ///< at the size that is asked
  bool moved = false;  ///< the figure tells it
};

/// What a page shows. What is empty is left out, with a sentence where a picture would be.
struct ForecastPage {
  std::string name;
  std::string headline;  ///< one sentence
  std::string lead;
  std::string system;  ///< system class
  std::string scale;
  std::string mode;     ///< operational mode
  std::string runtime;  ///< runtime profile
  std::vector<Recognised> recognised{};
  std::vector<Observation> observations{};
  std::vector<forecast::SizeRatios> sizes{};
  std::vector<forecast::SizeRatios> controlled{};  ///< the same with the levers of `control`
  std::vector<forecast::SizeRatios> curve{};       ///< `sizes` and what lies between; empty = they are joined
  std::vector<forecast::SizeRatios> control_curve{};  ///< the same of `controlled`
  std::optional<forecast::Regimes> regimes{};
  std::vector<forecast::SizeMargin> margins{};
  std::optional<forecast::Margins> margin{};  ///< at the size asked
  std::vector<forecast::KeptRatio> kept{};
  std::string kept_against = "steps behind the delay";  ///< what `kept` is drawn against
  std::vector<forecast::KeptRatio> kept_over_steps{};   ///< of one delay, by steps behind it
  std::string kept_of{};                                ///< which delay that is
  ShareTable coupling{};                                ///< rows and columns the same groups
  ShareTable path{};                                    ///< rows: windows of the run; columns: groups
  std::string
      no_structure{};  ///< why there are no `kept`, `coupling` and `path`, where nobody saw who waits for whom
  std::optional<forecast::LeverTable> levers{};
  std::optional<forecast::LeverTable> played{};       ///< of a Run: simulated with its calibrated Scenario
  std::optional<forecast::LearnedControl> learned{};  ///< levers and sizes in samples that count
  std::optional<forecast::LeverSet> control{};        ///< what reaches the target
  std::string target{};
  std::string transition{};  ///< transition type: what control does to the regime
  std::vector<Monitored> monitored{};
  std::vector<std::string> implications{};
  std::vector<std::string> limits{};  ///< what the forecast does not know
  std::vector<Artefact> artefacts{};
};

/// The whole page: opens offline, runs no script, light and dark, wide and narrow. Artefacts are inside, as links that
/// save them. All text is treated as hostile.
/// Errors: report-002 (a page without a size). Cost: linear in points and cells; at most 64 groups and 200 windows are drawn.
/// Held by: src/report/forecast/forecast_page_test.cpp, tests/report/forecast.mjs
[[nodiscard]] Result<std::string> render_forecast(const ForecastPage& page);

}  // namespace cox::report
