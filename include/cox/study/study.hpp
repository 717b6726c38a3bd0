// SPDX-License-Identifier: Apache-2.0
/// \file
/// A study: a question, what goes in, what a source printed for it, and how it is computed here. Read from
/// TOML. Reference: docs/reference/study-files.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/study/quantity.hpp"

namespace cox::study {

/// What became of a printed number, from good to bad; a study's verdict is the worst of its numbers'.
enum class Verdict : std::uint8_t {
  Follows,          ///< computed from the source's inputs, it comes out as printed
  FollowsWithOurs,  ///< the same with inputs that the source does not state
  Fitted,           ///< it comes out because the computation was fitted to it: no prediction
  AmongDraws,       ///< one random draw, and the middle 95 % of ours enclose it
  TypedIn,          ///< the source put it in; it is no result
  NotComputed,      ///< nothing has its name with the inputs that were set in place of the file's
  InputMissing,     ///< nothing is computed: the source does not say what it depends on
  Contradicts,      ///< nothing is computed: another place of the source prints something else for the same
  NotWithOurs,      ///< computed with inputs that the source does not state, something else comes out
  FitMisses,        ///< not even the computation that was fitted to it gives it
  DoesNotFollow,    ///< computed from the source's inputs, something else comes out
};
inline constexpr int kVerdicts = 11;
/// `does-not-follow`.
[[nodiscard]] std::string_view name_of(Verdict v);

/// What a study's file says about a printed number beside the comparison. It never replaces one.
enum class Declared : std::uint8_t {
  Nothing,
  TypedIn,       ///< it repeats an input of the source
  Fitted,        ///< the computation was fitted to it
  Draw,          ///< the source drew it, once
  InputMissing,  ///< it depends on inputs that the source does not state
  Contradicts,   ///< another place of the source prints something else for the same
};
/// `input-missing`; empty for Nothing.
[[nodiscard]] std::string_view name_of(Declared d);

/// Where an input's value comes from.
enum class InputOrigin : std::uint8_t {
  Source,   ///< the source states it
  Missing,  ///< the source does not; the value is ours
};

/// A side of a condition: a quantity, or so many times a computed value or an input of one value.
struct ConditionSide {
  std::string text;                   ///< as written
  std::optional<Quantity> written{};  ///< `20ms`; else `name` counts
  std::string name{};
  double factor = 1;  ///< of `1.5 * NAME`
};

/// What must be so for a sentence to be true: `LEFT > RIGHT` or `LEFT < RIGHT`.
struct Condition {
  ConditionSide left;
  ConditionSide right;
  bool is_greater = true;  ///< `>`
  std::int64_t line = 0;
  /// As written.
  [[nodiscard]] std::string text() const { return left.text + (is_greater ? " > " : " < ") + right.text; }
};

/// A value, or the list of a sweep, that the computation asks for by name.
struct StudyInput {
  std::string name;
  std::vector<WrittenQuantity> values;  ///< one, or several of one dimension
  bool is_list = false;
  InputOrigin origin = InputOrigin::Source;
  int source_line = 0;  ///< of the source; 0 = not said
  std::string note;
  std::string of_file{};  ///< what the file says where `set_input` has replaced it
  std::int64_t line = 0;  ///< of the study's file
};

/// A number that the source printed.
struct Printed {
  std::string name;
  std::string quantity;  ///< the computed quantity that it is compared with; empty: none can be computed
  WrittenQuantity value{};
  std::optional<WrittenQuantity> up_to{};  ///< the upper end where a range was printed: `5%` to `20%`
  int source_line = 0;
  std::string says{};              ///< what the source claims with it, in our words; may be empty
  Quantity within{};               ///< how closely ours must agree; default: half of the last printed digit
  std::string reason;              ///< a sentence with places: docs/reference/study-files.md
  std::vector<Condition> holds{};  ///< of `reason`
  Declared declared = Declared::Nothing;
  std::vector<std::string> missing;  ///< InputMissing, Draw: which inputs are ours
  std::string at_least{};            ///< InputMissing: a computed bound that holds whatever these are
  std::string against;               ///< Contradicts: another printed number of this file
  std::string typed;                 ///< TypedIn: the input that it is
  std::int64_t line = 0;
  /// As printed: `153.42ms`, `5% to 20%`.
  [[nodiscard]] std::string text() const { return up_to ? value.text + " to " + up_to->text : value.text; }
};

struct Study {
  std::string name;
  std::string title;
  std::string question;            ///< with places for inputs
  std::string source;              ///< place in the source: `C.1, lines 2240-2255`
  std::string answer;              ///< what to learn from it, a few sentences with places for computed values
  std::vector<Condition> holds{};  ///< of `answer`
  std::string compute;
  std::vector<StudyInput> inputs;
  std::vector<Printed> printed;
  std::string file;  ///< as shown in errors
  /// Whether `set_input` has replaced one: names that sweeps gave may be gone then.
  [[nodiscard]] bool has_set_inputs() const;
};

/// Reads one study. `file` is its name in errors.
/// Errors: study-001 (not TOML), study-002 (a key is missing, unknown or has a bad value; a reference to
/// nothing); with file and line. Bounds: text of at most 1 MB, 1000 inputs, 1000 printed numbers, 1000 values
/// in a list, 20 conditions of a sentence. Held by: src/study/file/parse_test.cpp
[[nodiscard]] Result<Study> parse_study(std::string_view text, const std::string& file);

/// Replaces the value of one input: `change` is `NAME=VALUE`, of a list `NAME=[VALUE, VALUE]`; the name may stand
/// in double quotes. Judged again, the printed numbers are held against the new value.
/// Errors: study-008 (no such input; no value, or not of its kind). Held by: src/study/file/set_input_test.cpp
[[nodiscard]] Status set_input(Study& study, std::string_view change);
/// Several of them. Errors: those of `set_input`; study-008 where two set the same input.
[[nodiscard]] Status set_inputs(Study& study, std::span<const std::string> changes);
/// Its values as written, commas between them.
[[nodiscard]] std::string values_text(const StudyInput& in);
/// A change that gives `in` the values that it has: what `set_input` reads. Held by: src/study/file/set_input_test.cpp
[[nodiscard]] std::string change_text(const StudyInput& in);

/// File of a folder of studies that is none: the plan of `evaluate::PacingEvaluation`.
inline constexpr std::string_view kPacingFile = "pacing.toml";

/// All other `*.toml` of a folder but coverage.toml (what holds the source's statements), by name. Errors: study-005 (no such folder, or none in it), base-002 to
/// base-004, and those of `parse_study`.
[[nodiscard]] Result<std::vector<Study>> read_studies(const std::filesystem::path& folder);

}  // namespace cox::study
