// SPDX-License-Identifier: Apache-2.0
// Results of earlier: those that new ones are put into, and the page that is made of them.
#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "cox/base/file.hpp"
#include "cox/evaluate/pacing.hpp"
#include "cox/study/pacing_page.hpp"
#include "cox/study/write.hpp"

namespace cox::evaluate {
namespace {

constexpr std::size_t kMostResults = std::size_t{16} << 20U;
constexpr std::size_t kMostPage = std::size_t{1} << 20U;

/// Results of a file, judged by this program: what the file says of intervals and tests is not used.
Result<study::PacingResults> judged_results(const study::PacingStudy& study,
                                            const std::filesystem::path& file) {
  COX_TRY(const std::string text, read_file(file, kMostResults));
  COX_TRY(study::PacingResults results, study::parse_pacing_json(text, file.string()));
  study::judge_all(study, results);
  return results;
}

}  // namespace

Result<study::PacingResults> read_results_before(const study::PacingStudy& study,
                                                 const std::filesystem::path& file,
                                                 const study::PacingMachine& machine) {
  COX_TRY(const std::string text, read_file(file, kMostResults));
  COX_TRY(study::PacingResults before, study::parse_pacing_json(text, file.string()));
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
  const auto same = [](const study::PacingConditionResult& r, const study::PacingCondition& c) {
    return r.name == c.name;
  };
  if (!std::equal(before.conditions.begin(), before.conditions.end(), study.conditions.begin(),
                  study.conditions.end(), same))
    return refuse("these are of other conditions than the study has");
  return before;
}

Result<std::string> put_pacing_claims(const study::PacingStudy& study, const std::filesystem::path& results,
                                      const std::filesystem::path& page) {
  COX_TRY(const study::PacingResults judged, judged_results(study, results));
  COX_TRY(const std::string text, read_file(page, kMostPage));
  return study::with_claims(text, study::pacing_claims(study, judged), page.string());
}

Result<PacingPage> make_pacing_page(const study::PacingStudy& study, const std::filesystem::path& file,
                                    int threads) {
  COX_TRY(const study::PacingResults results, judged_results(study, file));
  COX_TRY(const std::vector<study::SimulatedCondition> simulated, study::simulate_pacing(study, threads));
  PacingPage page{.svg = study::to_svg(study::sizes_picture(study, results, simulated))};
  const std::array sections = {
      study::findings_section(study, results),
      study::protocol_section(study),
      study::measured_section(study, results, simulated),
      study::sizes_section(study, results, simulated, page.svg.empty() ? "" : "pacing.svg"),
      study::limits_section(study),
      study::table_link_section()};
  page.markdown = study::pacing_page(study, sections);
  return page;
}

}  // namespace cox::evaluate
