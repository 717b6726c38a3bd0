// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cox/evaluate/pacing.hpp"

#include "evaluate/pacing/measure.hpp"
#include "evaluate/pacing/page.hpp"
#include "evaluate/pacing/plan.hpp"

namespace cox::evaluate {

struct PacingEvaluation::Chosen {
  PacingStudy study;
  PacingChoice choice;
  /// The study without what was not chosen.
  [[nodiscard]] PacingStudy kept() const {
    PacingStudy out = study;
    keep_only(out, choice);
    return out;
  }
};

PacingEvaluation::PacingEvaluation(Chosen chosen)
    : chosen_(std::make_shared<const Chosen>(std::move(chosen))) {}

Result<PacingEvaluation> PacingEvaluation::read(std::string_view text, const std::string& file) {
  COX_TRY(PacingStudy study, parse_pacing(text, file));
  COX_TRY(PacingChoice all, choose_pacing(study, ""));
  return PacingEvaluation({.study = std::move(study), .choice = std::move(all)});
}

Result<PacingEvaluation> PacingEvaluation::choose(std::string_view only) const {
  COX_TRY(PacingChoice choice, choose_pacing(chosen_->study, only));
  return PacingEvaluation({.study = chosen_->study, .choice = std::move(choice)});
}

Status PacingEvaluation::check_quick() const {
  std::vector<std::string> quick;
  for (const PacingCondition& c : chosen_->study.conditions)
    if (c.quick) quick.push_back(c.name);
  const auto is_quick = [&](const std::string& name) {
    return std::find(quick.begin(), quick.end(), name) != quick.end();
  };
  const PacingChoice& choice = chosen_->choice;
  if (choice.sizes || !std::all_of(choice.conditions.begin(), choice.conditions.end(), is_quick))
    return fail(Error{.code = Errc::Usage,
                      .id = "cli-003",
                      .message = fmt::format("--quick has only {}", fmt::join(quick, ", ")),
                      .hint = "for the others: --full --only NAME",
                      .where = {}});
  return {};
}

std::string PacingEvaluation::plan_text(PacingDepth depth) const {
  return evaluate::plan_text(chosen_->kept(), depth);
}

Result<PacingPage> PacingEvaluation::make_page(const std::filesystem::path& results, int threads) const {
  return make_pacing_page(chosen_->kept(), results, threads);
}

Result<std::string> PacingEvaluation::put_claims(const std::filesystem::path& results,
                                                 const std::filesystem::path& page) const {
  return put_pacing_claims(chosen_->kept(), results, page);
}

Result<MeasuredPacing> PacingEvaluation::measure(PacingDepth depth, const std::filesystem::path& into,
                                                 const PacingListener& listener) const {
  PacingResults before{.machine = describe_machine()};
  const PacingStudy study = into.empty() ? chosen_->kept() : chosen_->study;
  if (!into.empty()) {
    COX_TRY(before, read_results_before(study, into, before.machine));
  }
  PacingWorld world = pacing_world();
  world.tell = listener.tell;
  world.keep = [&](const PacingResults& results) { return listener.keep(pacing_json(results)); };
  COX_TRY(const PacingResults results,
          measure_pacing(study, chosen_->choice, depth, std::move(before), world));
  MeasuredPacing out{.json = pacing_json(results)};
  for (const auto* list : {&results.conditions, &results.sizes})
    for (const PacingConditionResult& r : *list) out.text += condition_text(study, r) + "\n";
  out.text += verdict_text(study, results);
  if (world.no_priority)
    out.text += fmt::format("arms with a priority are left out: {}\n", *world.no_priority);
  return out;
}

}  // namespace cox::evaluate
