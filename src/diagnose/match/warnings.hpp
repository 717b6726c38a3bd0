// SPDX-License-Identifier: Apache-2.0
/// \file
/// Notes of a Run as the warnings of a JSON document.
#pragma once

#include <string>
#include <vector>

#include "cox/trace/run.hpp"

namespace cox::diagnose {

/// A line per note, with its file in front where it has one.
[[nodiscard]] inline std::vector<std::string> warnings_of(const trace::Run& run) {
  std::vector<std::string> lines;
  lines.reserve(run.notes.size());
  for (const trace::Note& note : run.notes)
    lines.push_back(note.file.empty() ? note.text : note.file + ": " + note.text);
  return lines;
}

}  // namespace cox::diagnose
