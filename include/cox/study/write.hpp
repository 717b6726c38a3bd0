// SPDX-License-Identifier: Apache-2.0
/// \file
/// Answers as text for people and programs. All forms are deterministic:
/// numbers carry at most nine significant digits.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cox/study/answer.hpp"

namespace cox::study {

/// The page of one study: question, inputs, printed against computed, all computed values, checks, picture.
/// `picture_file` is linked where it is not empty.
[[nodiscard]] std::string to_markdown(const AnsweredStudy& answer, const std::string& picture_file);
/// Printed numbers beside ours, for a terminal.
[[nodiscard]] std::string to_text(const AnsweredStudy& answer);
/// What the two ways say, how far apart they are and how far they may be.
[[nodiscard]] std::string to_text(const CrossCheck& check);
/// One line per computed value: `name,value,unit,half_width_95,replicas,engine`.
[[nodiscard]] std::string to_csv(const AnsweredStudy& answer);
/// SVG with the colours of the page that holds it, light or dark; empty where there is nothing to draw.
[[nodiscard]] std::string to_svg(const Picture& picture);
/// The study's picture, and below it a panel with every printed number: where it is compared, over the computed one.
/// Held by: src/study/page/printed_panel_test.cpp, src/evaluate/pictures_test.cpp
[[nodiscard]] std::string to_svg(const AnsweredStudy& answer);
/// The page that lists all.
[[nodiscard]] std::string index_markdown(std::span<const AnsweredStudy> answers);
/// The whole document of `cox study --json`, schema cox.study/1.
[[nodiscard]] std::string to_json(std::span<const AnsweredStudy> answers,
                                  const std::vector<std::string>& inputs);

}  // namespace cox::study
