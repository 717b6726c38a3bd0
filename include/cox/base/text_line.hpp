// SPDX-License-Identifier: Apache-2.0
/// \file
/// A line of an answer, and whether it may be broken.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace cox {

/// A sentence is broken where a terminal is narrow; a row of a table keeps its columns, whatever stands in it.
enum class LineKind : std::uint8_t { Sentence, Row };

/// Whoever makes a line says what it is. A text alone is a sentence.
struct TextLine {
  TextLine() = default;
  TextLine(std::string sentence) : text(std::move(sentence)) {}
  [[nodiscard]] static TextLine row(std::string text) {
    TextLine line(std::move(text));
    line.kind = LineKind::Row;
    return line;
  }

  std::string text;
  LineKind kind = LineKind::Sentence;
};

}  // namespace cox
