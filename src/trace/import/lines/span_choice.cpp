// SPDX-License-Identifier: Apache-2.0
#include "trace/import/lines/span_choice.hpp"

#include <algorithm>

namespace cox::trace {
namespace {

constexpr WidePs kLongestPs = WidePs{9'000'000} * 1'000'000'000'000;
constexpr WidePs kYear2001 = WidePs{978'000'000} * kSecondPs;

/// The median of the begins, since one stray clock must not move all others out of reach.
WidePs middle_of(const std::vector<PlacedSpan>& spans) {
  std::vector<WidePs> begins;
  for (const PlacedSpan& p : spans)
    if (p.told->begin) begins.push_back(*p.told->begin);
  if (begins.empty()) return 0;
  const auto middle = begins.begin() + static_cast<std::ptrdiff_t>(begins.size() / 2);
  std::nth_element(begins.begin(), middle, begins.end());
  return *middle;
}

/// Of times in an unknown unit, so that they fit.
std::int64_t divisor_of(const std::vector<PlacedSpan>& spans, WidePs middle) {
  WidePs last = 0;
  for (const PlacedSpan& p : spans) {
    const WidePs from = p.told->begin ? *p.told->begin - middle : 0;
    last = std::max({last, from < 0 ? -from : from, p.told->length});
  }
  // With where they lie, so that the files of one job are divided alike.
  last = std::max(last, middle < 0 ? -middle : middle);
  std::int64_t divisor = 1;
  while (last / divisor > kLongestPs / 4 && divisor < 1'000'000'000) divisor *= 1000;
  return divisor;
}

/// What lies months away from the others is no time of this job.
void drop_far(ChosenSpans& out, WidePs middle) {
  const auto far = [&](const PlacedSpan& p) {
    const WidePs from = p.told->begin ? (*p.told->begin - middle) / out.divisor : 0;
    return from < -kLongestPs / 2 || from > kLongestPs / 2 || p.told->length / out.divisor > kLongestPs / 2;
  };
  out.far = static_cast<std::int64_t>(std::erase_if(out.spans, far));
}

}  // namespace

bool ChosenSpans::is_dated() const {
  return has_unit && origin > kYear2001;
}

ChosenSpans choose_spans(const std::vector<ToldSpan>& told) {
  ChosenSpans out;
  const bool any_rank = std::any_of(told.begin(), told.end(), [](const ToldSpan& s) { return s.rank >= 0; });
  const auto known = std::count_if(told.begin(), told.end(), [](const ToldSpan& s) { return s.has_unit; });
  out.has_unit = 2 * known >= static_cast<std::int64_t>(told.size());
  for (const ToldSpan& s : told) {
    if (s.has_unit != out.has_unit)
      ++out.other_unit;
    else if (any_rank && s.rank < 0)
      ++out.no_rank;
    else
      out.spans.push_back({.told = &s, .meaning = span_meaning(s.name), .begin = {}, .end = {}});
  }
  const WidePs middle = middle_of(out.spans);
  if (!out.has_unit) out.divisor = divisor_of(out.spans, middle);
  drop_far(out, middle);
  out.origin = middle;
  for (const PlacedSpan& p : out.spans)
    if (p.told->begin) out.origin = std::min(out.origin, *p.told->begin);
  // A file of one rank, on a clock whose zero is not known: nothing ties it to the other ranks' files.
  out.own_clock =
      !out.is_dated() && std::all_of(out.spans.begin(), out.spans.end(), [&](const PlacedSpan& p) {
        return p.told->rank == out.spans.front().told->rank;
      });
  for (PlacedSpan& p : out.spans) {
    if (p.told->begin)
      p.begin = Duration(static_cast<std::int64_t>((*p.told->begin - out.origin) / out.divisor));
    p.end = p.begin + Duration(static_cast<std::int64_t>(p.told->length / out.divisor));
  }
  return out;
}

}  // namespace cox::trace
