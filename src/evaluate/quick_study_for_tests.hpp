// SPDX-License-Identifier: Apache-2.0
/// \file
/// Studies of the tree with few draws and seeds, for tests that compute them once per input.
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>

#include "cox/study/study.hpp"

namespace cox::evaluate {

/// What the inputs that say how often is drawn are set to: they set the width of an interval, not what lies in it.
inline const std::map<std::string, int>& sampling() {
  static const std::map<std::string, int> few = {{"draws", 101},
                                                 {"replicas", 4},
                                                 {"seeds", 3},
                                                 {"steps", 64},
                                                 {"draws of the limits", 8},
                                                 {"seeds of the drift", 2},
                                                 {"draws of the policies", 3},
                                                 {"draws of the gradients", 100}};
  return few;
}

/// Inputs that are smaller, so that many values of the others can be tried.
inline const std::map<std::string, int>& smaller() {
  static const std::map<std::string, int> less = {{"tokens per expert", 8},
                                                  {"tokens of a step", 640},
                                                  {"asynchronous steps", 2},
                                                  {"layers", 64},
                                                  {"steps of the drift", 30},
                                                  {"steps of the policies", 20},
                                                  {"most updates", 2000},
                                                  {"most meetings", 400},
                                                  {"updates at most", 1500},
                                                  {"updates with unlike workers", 400},
                                                  {"parameters of the problem", 100},
                                                  {"condition of the problem", 100},
                                                  {"dimension with unlike workers", 50}};
  return less;
}

/// `700MB` times 2 is `1400MB`.
inline std::string times(const study::WrittenQuantity& w, double factor) {
  const double number = std::stod(w.text) * factor;
  const bool is_count = w.value.dimension() == study::Dimension::Count;
  return is_count ? fmt::format("{:.0f}", number) : fmt::format("{:g}{}", number, w.unit);
}

}  // namespace cox::evaluate
