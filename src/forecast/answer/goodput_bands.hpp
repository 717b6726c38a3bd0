// SPDX-License-Identifier: Apache-2.0
/// \file
/// How far goodput can be told where what stops the job is known to a factor only.
#pragma once

#include "forecast/answer/forecast.hpp"
#include "forecast/regimes/failing.hpp"

namespace cox::forecast {

/// Fills the bands of `goodput` and `at_seen`, and says what they are of. In each draw times between failures, restarts with
/// repair, and checkpoints are changed by factors of `StatedRanges`; a start that was recorded is drawn within its interval, one that
/// was stated by such a factor; steps within their band. Checkpoints are written as often as without it: who sets an interval
/// does not know the draw. How often the job happens to fail in its time is not in it: goodput is a mean.
/// Pre: a value for each point that is not refused. Cost: 200 x `wall_shares` a size.
/// Held by: src/forecast/answer/goodput_bands_test.cpp
void add_goodput_bands(FullForecast& forecast, const Failing& failing, const Prior& prior = {});

}  // namespace cox::forecast
