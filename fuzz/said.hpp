// SPDX-License-Identifier: Apache-2.0
/// \file
/// Laws of what is said: whatever the input, no sentence holds a number that cannot be.
#pragma once

#include <string>
#include <vector>

#include "cox/diagnose/diagnosis.hpp"
#include "cox/model/program.hpp"
#include "cox/trace/run.hpp"

namespace cox::fuzz {

/// What is wrong with the numbers of one sentence; empty where nothing is.
///
/// Laws: a part is 0 to 100 %, unless the words around it speak of a change; `a of b` things has a <= b; an
/// interval holds its value; nothing is `nan` or `inf`; one is not several.
[[nodiscard]] std::string absurdity(const std::string& sentence);

/// The same of everything that is said of a diagnosis, in all forms and widths, with the laws of the first
/// screen: at most 20 lines, none wider than the terminal but for single words, at most three different
/// percentages, ASCII where that is asked for, no control character. One line per law that is broken.
[[nodiscard]] std::vector<std::string> absurdities(const trace::Run& run, const diagnose::Diagnosis& d,
                                                   const model::Program* program = nullptr);

/// Diagnoses what was read, and aborts where a law is broken. Nothing where there is nothing to diagnose.
void check_said(const trace::Run& run, const model::Program* program);

}  // namespace cox::fuzz
