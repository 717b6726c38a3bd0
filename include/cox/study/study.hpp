// SPDX-License-Identifier: Apache-2.0
/// \file
/// A study: a question, what goes in, what a source printed for it, and how it is computed here. Read from
/// TOML. Reference: docs/reference/study-files.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/study/quantity.hpp"

namespace cox::study {

/// What became of a printed number, from good to bad; a study's verdict is the worst of its numbers'.
enum class Verdict : std::uint8_t {
  Follows,        ///< computed from the source's inputs, it comes out as printed
  TypedIn,        ///< the source put it in; it is no result
  NeedsARun,      ///< no formula gives it; ours stands beside it, with its interval
  InputMissing,   ///< the source does not say what it depends on
  Contradicts,    ///< another place of the source prints something else for the same
  DoesNotFollow,  ///< computed from the source's inputs, something else comes out
};
/// `does-not-follow`.
[[nodiscard]] std::string_view name_of(Verdict v);

/// Where an input's value comes from.
enum class InputOrigin : std::uint8_t {
  Source,   ///< the source states it
  Missing,  ///< the source does not; the value is ours
};

/// A value, or the list of a sweep, that the computation asks for by name.
struct Input {
  std::string name;
  std::vector<WrittenQuantity> values;  ///< one, or several of one dimension
  bool is_list = false;
  InputOrigin origin = InputOrigin::Source;
  int source_line = 0;  ///< of the source; 0 = not said
  std::string note;
  std::int64_t line = 0;  ///< of the study's file
};

/// A number that the source printed.
struct Printed {
  std::string name;
  std::string quantity;  ///< the computed quantity that it is compared with; empty: none can be computed
  WrittenQuantity value{};
  std::optional<WrittenQuantity> up_to{};  ///< the upper end where a range was printed: `5%` to `20%`
  int source_line = 0;
  Quantity within{};  ///< how closely ours must agree; default: half of the last printed digit
  std::string reason;
  /// What the file declares where it cannot be computed. Follows and DoesNotFollow are never declared.
  bool is_declared = false;
  Verdict declared = Verdict::Follows;
  std::vector<std::string> missing;  ///< InputMissing: which inputs
  std::string against;               ///< Contradicts: another printed number of this file
  std::string typed;                 ///< TypedIn: the input that it is
  std::int64_t line = 0;
  /// As printed: `153.42ms`, `5% to 20%`.
  [[nodiscard]] std::string text() const { return up_to ? value.text + " to " + up_to->text : value.text; }
};

struct Study {
  std::string name;
  std::string title;
  std::string question;
  std::string source;  ///< place in the source: `C.1, lines 2240-2255`
  std::string answer;  ///< what to learn from it, a few sentences
  std::string compute;
  std::vector<Input> inputs;
  std::vector<Printed> printed;
  std::string file;  ///< as shown in errors
};

/// Reads one study. `file` is its name in errors.
/// Errors: study-001 (not TOML), study-002 (a key is missing, unknown or has a bad value; a reference to
/// nothing); with file and line. Bounds: text of at most 1 MB, 1000 inputs, 1000 printed numbers, 1000 values
/// in a list. Held by: src/study/file/parse_test.cpp
[[nodiscard]] Result<Study> parse_study(std::string_view text, const std::string& file);

/// All `*.toml` of a folder, by name. Errors: study-005 (no such folder, or none in it), base-002 to
/// base-004, and those of `parse_study`.
[[nodiscard]] Result<std::vector<Study>> read_studies(const std::filesystem::path& folder);

}  // namespace cox::study
