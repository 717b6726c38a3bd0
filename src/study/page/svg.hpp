// SPDX-License-Identifier: Apache-2.0
// What the panels of a picture share. All numbers are pixels.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cox/study/answer.hpp"

namespace cox::study {

inline constexpr double kPictureWidth = 720;

/// One panel without its frame, from 0 downwards; without a body there is nothing to draw.
struct Panel {
  std::string body;
  double height = 0;
};

[[nodiscard]] std::string escaped(std::string_view text);
/// `text` in lines of at most `columns` characters, broken at spaces and behind dashes where there are any.
[[nodiscard]] std::vector<std::string> broken(std::string_view text, std::size_t columns);
/// The panel of `p` and those below it, without the empty ones.
[[nodiscard]] std::vector<Panel> panels_of(const Picture& p);
/// Every printed number of the study in a row of its own, over what was computed for it.
[[nodiscard]] Panel printed_panel(const AnsweredStudy& answer);
/// Panels below each other; empty without one.
[[nodiscard]] std::string svg_of(const std::vector<Panel>& panels, std::string_view label);

}  // namespace cox::study
