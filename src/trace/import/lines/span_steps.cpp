// SPDX-License-Identifier: Apache-2.0
#include "trace/import/lines/span_steps.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "trace/import/tables/step_clock.hpp"
#include "trace/import/tables/step_times.hpp"

namespace cox::trace {
namespace {

/// Of a rank's step.
struct Extent {
  Duration first = Duration::max();
  Duration last = Duration::min();
  Seconds sum{};
  bool placed = true;
};
using Extents = std::map<std::pair<std::int32_t, std::int64_t>, Extent>;  // by rank and number

Extents extents_of(const ChosenSpans& chosen, bool called, StepLengths& out) {
  Extents extents;
  std::map<std::int32_t, std::int64_t> unnumbered;  // steps so far, by rank
  for (const PlacedSpan& p : chosen.spans) {
    if (called ? p.meaning.kind != SpanKind::Step : p.told->step < 0) continue;
    const std::int32_t rank = std::max(p.told->rank, 0);
    std::int64_t number = p.told->step >= 0 ? p.told->step : p.meaning.step;
    if (number < 0) number = unnumbered[rank]++;
    Extent& e = extents[{rank, number}];
    e.placed = e.placed && p.told->begin.has_value();
    e.first = std::min(e.first, p.begin);
    e.last = std::max(e.last, p.end);
    // Of an unknown unit the number itself, which StepTimes scales.
    e.sum += Seconds(static_cast<double>(p.told->length) / static_cast<double>(kSecondPs));
    ++out.used;
  }
  return extents;
}

}  // namespace

StepLengths take_step_lengths(const ChosenSpans& chosen, PartBuilder& part) {
  StepLengths out;
  const bool called = std::any_of(chosen.spans.begin(), chosen.spans.end(),
                                  [](const PlacedSpan& p) { return p.meaning.kind == SpanKind::Step; });
  StepTimes times(chosen.has_unit ? StepTimes::Unit::Seconds : StepTimes::Unit::Unknown);
  Growth growth;
  for (const auto& [key, e] : extents_of(chosen, called, out)) {
    const Seconds own = e.placed && !called
                            ? Seconds(in_seconds(e.last - e.first) * static_cast<double>(chosen.divisor))
                            : e.sum;
    const auto series = times.series_of(key.first);
    if (series) growth.add(*series, own.count());
    if (!series || !times.add(*series, key.second, own)) ++out.far;
  }
  out.only_grow = growth.from_nothing();
  const Seconds taken_as = times.largest_unit();
  std::move(times).finish(part, 0, taken_as);
  part.note(called
                ? "no collective among the spans: the length of each step is that of its span"
                : "no collective among the spans: the length of a step is from its first span to its last");
  const bool any_rank = std::any_of(chosen.spans.begin(), chosen.spans.end(),
                                    [](const PlacedSpan& p) { return p.told->rank >= 0; });
  if (!any_rank) part.note("one series for the whole job: no rank can be named");
  return out;
}

}  // namespace cox::trace
