// SPDX-License-Identifier: Apache-2.0
#include "report/forecast/curve_content.hpp"

#include <fmt/format.h>

#include "cox/base/assert.hpp"
#include "cox/base/number_text.hpp"

namespace cox::report {
namespace {

using forecast::CurveForecast;
using forecast::CurveModel;
using forecast::CurvePrediction;

void add_model(const CurveForecast& c, const CurveModel& m, ForecastPage& page) {
  page.observations.push_back(
      {.sentence =
           m.has_held_out
               ? fmt::format("The curve {} misses size {} by {} when it is fitted to the smaller sizes.",
                             m.name, grouped(c.largest), percent_change(m.held_out))
               : fmt::format("Too few sizes to hold one out for the curve {}.", m.name),
       .interval = {},
       .evidence = m.formula,
       .anchor = "scaling",
       .refuted_by = "a measured size outside the band"});
}

}  // namespace

void add_curve(const forecast::Forecast& f, ForecastPage& page) {
  COX_ASSERT(f.curve && !f.curve->given.empty(), "a table of sizes");
  const CurveForecast& c = *f.curve;
  page.scale =
      fmt::format("{} sizes given, {} to {}", c.sizes, grouped(c.given.front().size), grouped(c.largest));
  page.system = "Not known: sizes and values only";
  page.mode = "Not known";
  page.runtime = "Not known";
  page.sizes = forecast::size_ratios(f);
  page.curve = forecast::curve_through(f, page.sizes);
  const CurvePrediction* last = nullptr;
  for (const CurvePrediction& p : c.points)
    if (p.refused.empty()) last = &p;
  if (last == nullptr) {
    page.headline = "No size that was asked has a number";
    page.lead = c.points.empty() ? "" : c.points.front().refused;
  } else {
    page.headline = fmt::format("Size {} gives {} times the throughput of {}", grouped(last->size),
                                plain_number(last->throughput_ratio), grouped(c.largest));
    page.lead = "Plain curves through the sizes given: they have no cause.";
    page.implications.push_back(fmt::format("Beyond size {}, twice as much gives x{:.2f}.",
                                            grouped(last->size), forecast::doubled(last->elasticity)));
  }
  for (const CurveModel& m : c.models)
    if (m.counts) add_model(c, m, page);
}

}  // namespace cox::report
