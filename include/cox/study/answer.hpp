// SPDX-License-Identifier: Apache-2.0
/// \file
/// What comes out of a study: computed values, checks, a picture, and a verdict on each printed number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/study/quantity.hpp"
#include "cox/study/study.hpp"

namespace cox::study {

struct Computed {
  std::string name;
  Quantity value{};
  std::string_view engine;                  ///< `max-plus`, `closed-form`, ...
  std::optional<Quantity> half_width_95{};  ///< of a mean or median over `replicas`
  std::optional<Quantity> draw_low{};       ///< 2.5 % of the single draws are below
  std::optional<Quantity> draw_high{};      ///< 2.5 % are above
  int replicas = 1;
};

/// One value by two ways: an engine and its oracle.
struct CrossCheck {
  std::string name;
  Quantity engine{};
  Quantity oracle{};
  double limit_ratio = 1e-9;  ///< largest relative difference
  [[nodiscard]] bool agrees() const;
  /// Difference over the larger one.
  [[nodiscard]] double apart() const;
};

struct Series {
  std::string name;
  std::vector<double> x;
  std::vector<double> y;
  std::vector<std::string>
      of{};                 ///< the computed value of each point; `run_study` adds what was printed for it
  bool is_printed = false;  ///< the source's numbers: dashed, with hollow markers
  int curve = -1;           ///< printed: place of the series whose colour it has; -1 = none
};

/// A curve or bars over a sweep; numbers in the units that the axes name.
struct Picture {
  enum class Kind : std::uint8_t { Lines, Bars };
  Kind kind = Kind::Lines;
  std::string title{};
  std::string x_label{};
  std::string y_label{};
  bool x_is_log = false;
  bool y_is_log = false;
  std::vector<Series> series{};
  std::vector<std::string> categories{};  ///< Bars: the name of x = 0, 1, ...
  std::vector<Picture> below{};           ///< further panels under this one; theirs are not drawn
};

/// Computed values side by side, as texts.
struct ValueTable {
  std::string title;
  std::string says;  ///< what it shows: sentences whose figures come from the result
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  ///< a cell for each column; the first names the row
};

struct Computation {
  std::vector<Computed> values;
  std::vector<CrossCheck> checks;
  std::vector<std::string> notes;  ///< what was assumed, a sentence each
  Picture picture;
  std::vector<ValueTable> tables{};
  std::string section{};  ///< Markdown of its own, headings of level two and below; may be empty
};

struct ComputeOptions {
  int threads = 0;  ///< 0 = one per core; the result does not depend on it
};

/// A sentence of a study's file, or why it is not said.
struct Said {
  std::string text;
  bool is_withdrawn = false;  ///< then `text` is a clause without a full stop
};

/// A printed number beside ours.
struct Judged {
  Verdict verdict = Verdict::Follows;
  std::optional<Computed> computed{};
  Said reason{};
};

struct AnsweredStudy {
  Study study;  ///< the places of its question are filled
  Computation computation;
  std::vector<Judged> judged;  ///< parallel to `study.printed`
  Said answer{};
  Verdict verdict = Verdict::Follows;
};

/// Judges what a study's source printed by what was computed. Where something was computed, the comparison is
/// the verdict, whatever the file declares. Errors: study-004 (what the file declares is not so: a
/// contradiction between equals, an input that is not marked missing, a draw without draws of ours, a computed
/// name that does not exist). Held by: src/study/answer/judge_test.cpp
[[nodiscard]] Result<std::vector<Judged>> judge(const Study& study, const Computation& computation);

/// `text` with every `{NAME}` and `{NAME as SAMPLE}` replaced: by the computed value NAME, or the input NAME as
/// it is written; SAMPLE gives unit and decimals (`{ring as 1.0ms}`). So a figure cannot go stale. Words such as "faster" have
/// no places: where set inputs make one of `holds` false, or leave a place without its value, the sentence is withdrawn.
/// Errors: study-004, at `line` or that of the condition: no such name, a sample of another dimension, a brace without its other;
/// a condition that names nothing, compares two kinds, or is false with the inputs of the file.
/// Held by: src/study/answer/sentence_test.cpp, src/evaluate/changed_inputs_test.cpp
[[nodiscard]] Result<Said> said(const Study& study, const Computation& computation, std::string_view text,
                                const std::vector<Condition>& holds, std::int64_t line);

/// The question with its inputs in place. Errors: those of `said`.
[[nodiscard]] Result<std::string> question_of(const Study& study);

}  // namespace cox::study
