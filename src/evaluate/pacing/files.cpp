// SPDX-License-Identifier: Apache-2.0
// Results of earlier: those that new ones are put into, and the page that is made of them.
#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "cox/base/file.hpp"
#include "cox/study/write.hpp"

#include "evaluate/pacing/measure.hpp"
#include "evaluate/pacing/page.hpp"

namespace cox::evaluate {
namespace {

constexpr std::size_t kMostResults = std::size_t{16} << 20U;
constexpr std::size_t kMostPage = std::size_t{1} << 20U;

/// Results of a file, judged by this program: what the file says of intervals and tests is not used.
Result<PacingResults> judged_results(const PacingStudy& study, const std::filesystem::path& file) {
  COX_TRY(const std::string text, read_file(file, kMostResults));
  COX_TRY(PacingResults results, parse_pacing_json(text, file.string()));
  judge_all(study, results);
  return results;
}

}  // namespace

Result<PacingResults> read_results_before(const PacingStudy& study, const std::filesystem::path& file,
                                          const PacingMachine& machine) {
  COX_TRY(const std::string text, read_file(file, kMostResults));
  COX_TRY(PacingResults before, parse_pacing_json(text, file.string()));
  const auto refuse = [&](const char* what) {
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "study-007",
                      .message = what,
                      .hint = "measure everything anew: leave --into out",
                      .where = Where{.file = file.string()}});
  };
  if (!before.full) return refuse("these are not results of --full");
  if (before.plan != study.digest) return refuse("these were measured by another plan");
  if (before.machine.kernel != machine.kernel || before.machine.cores != machine.cores)
    return refuse("these were measured on another machine");
  const auto same = [](const PacingConditionResult& r, const PacingCondition& c) { return r.name == c.name; };
  if (!std::equal(before.conditions.begin(), before.conditions.end(), study.conditions.begin(),
                  study.conditions.end(), same))
    return refuse("these are of other conditions than the study has");
  return before;
}

Result<std::string> put_pacing_claims(const PacingStudy& study, const std::filesystem::path& results,
                                      const std::filesystem::path& page) {
  COX_TRY(const PacingResults judged, judged_results(study, results));
  COX_TRY(const std::string text, read_file(page, kMostPage));
  return with_claims(text, pacing_claims(study, judged), page.string());
}

Result<PacingPage> make_pacing_page(const PacingStudy& study, const std::filesystem::path& file,
                                    int threads) {
  COX_TRY(const PacingResults results, judged_results(study, file));
  COX_TRY(const std::vector<SimulatedCondition> simulated, simulate_pacing(study, threads));
  PacingPage page{.svg = study::to_svg(sizes_picture(study, results, simulated))};
  const std::array sections = {findings_section(study, results),
                               protocol_section(study),
                               measured_section(study, results, simulated),
                               sizes_section(study, results, simulated, page.svg.empty() ? "" : "pacing.svg"),
                               limits_section(study),
                               table_link_section()};
  page.markdown = pacing_page(study, sections);
  return page;
}

}  // namespace cox::evaluate
