// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "cox/base/number_text.hpp"
#include "cox/simulate/render.hpp"

#include "simulate/answer/outcome_json.hpp"

namespace cox::simulate {
namespace {

double rounded(double ratio) {
  return std::round(ratio * 1e9) / 1e9;
}

}  // namespace

std::vector<std::string> text_lines(const StepAnalysis& a, std::int64_t number) {
  std::vector<std::size_t> order(kStepParts);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t x, std::size_t y) { return a.parts[x] > a.parts[y]; });
  std::vector<std::string> lines = {fmt::format(
      "step {} taken apart: of the ranks' time, of its critical path, and how far the step follows each",
      number)};
  for (const std::size_t p : order) {
    if (a.parts[p] <= Seconds{} && a.path[p] <= Seconds{}) continue;
    lines.push_back(fmt::format("  {:<10} {:>11}  {:>11}  {:>+6.3f}", name_of(static_cast<StepPart>(p)),
                                percent(a.share(static_cast<StepPart>(p))),
                                percent(a.path_time.count() > 0 ? a.path[p] / a.path_time : 0.0),
                                a.sensitivity[p]));
  }
  return lines;
}

Json json_of(const StepAnalysis& a, std::int64_t number) {
  Json parts = Json::array();
  for (std::size_t p = 0; p < kStepParts; ++p)
    parts.push_back(Json{{"part", name_of(static_cast<StepPart>(p))},
                         {"rank_time_s", printed(a.parts[p])},
                         {"path_s", printed(a.path[p])},
                         {"sensitivity_ratio", rounded(a.sensitivity[p])}});
  return Json{{"step", number},
              {"length_s", printed(a.step)},
              {"rank_time_s", printed(a.rank_time)},
              {"path_s", printed(a.path_time)},
              {"path_pieces", a.path_pieces},
              {"parts", std::move(parts)}};
}

}  // namespace cox::simulate
