// SPDX-License-Identifier: Apache-2.0
/// \file
/// The evaluation of pacing: a frozen plan, carried out on this host, and the page of what came out. Plan, statistics
/// and page lie beside their source, in src/evaluate/pacing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "cox/base/result.hpp"

namespace cox::evaluate {

/// Quick: the quick conditions with their quick arms; otherwise the same.
enum class PacingDepth : std::uint8_t { Quick, Full };

/// The page, and the picture that it links: none where no size was measured.
struct PacingPage {
  std::string markdown{};
  std::string svg{};
};

/// Whoever waits for a measurement.
struct PacingListener {
  /// What happens, in lines.
  std::function<void(const std::string& text)> tell{};
  /// Is given all results as JSON (cox.pacing-study/2) after every start, so that nothing is lost with the rest.
  std::function<Status(const std::string& json)> keep{};
};

/// What was measured, twice: schema cox.pacing-study/2, and lines for a terminal.
struct MeasuredPacing {
  std::string json{};
  std::string text{};
};

/// Plan of the evaluation as studies/pacing.toml freezes it, and what of it is wanted.
class PacingEvaluation {
 public:
  /// Everything that `text` plans. Errors: study-001 (not TOML), study-002 (a key is missing, unknown or has a bad
  /// value), with the line.
  [[nodiscard]] static Result<PacingEvaluation> read(std::string_view text, const std::string& file);
  /// The same, of it `only`: names of conditions, commas between them, `sizes` among them; empty = everything.
  /// Errors: study-006 (nothing has this name).
  [[nodiscard]] Result<PacingEvaluation> choose(std::string_view only) const;
  /// Errors: cli-003 where something was chosen that the quick depth does not have.
  [[nodiscard]] Status check_quick() const;
  /// What would run: conditions, arms, blocks, seconds.
  [[nodiscard]] std::string plan_text(PacingDepth depth) const;
  /// docs/studies/pacing.md from results of earlier, with the engine beside them. Errors: study-007 (no results),
  /// those of the engine, and of reading `results`.
  [[nodiscard]] Result<PacingPage> make_page(const std::filesystem::path& results, int threads) const;
  /// `page` as it is to be: the claims of the results between its marks. Errors: study-007 (no results; no mark, one
  /// that is not ended, or an unknown name), and of reading either file.
  /// Held by: golden/studies (README and the pages that have claims)
  [[nodiscard]] Result<std::string> put_claims(const std::filesystem::path& results,
                                               const std::filesystem::path& page) const;
  /// Measures what was chosen. `into`: results of earlier, of which what is not chosen is kept and is part of the
  /// corrections; empty = there are none. Errors: study-007 (not of --full, of another plan, another machine or other
  /// conditions), those of `listener.keep`, those of the processes where their program is missing.
  /// Held by: src/evaluate/pacing/measure_test.cpp
  [[nodiscard]] Result<MeasuredPacing> measure(PacingDepth depth, const std::filesystem::path& into,
                                               const PacingListener& listener) const;

 private:
  struct Chosen;
  explicit PacingEvaluation(Chosen chosen);
  std::shared_ptr<const Chosen> chosen_;
};

}  // namespace cox::evaluate
