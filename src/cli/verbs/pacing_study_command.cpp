// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/pacing_study_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "cox/base/file.hpp"
#include "cox/evaluate/pacing.hpp"
#include "cox/study/pacing_page.hpp"

#include "cli/frame/embedded.hpp"
#include "cli/output/failure.hpp"
#include "cli/output/terminal.hpp"

namespace cox::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostPlan = 1'000'000;

Result<study::PacingStudy> frozen_study(const Invocation& call) {
  if (const std::string folder = call.value("studies"); !folder.empty()) {
    const fs::path file = fs::path(folder) / study::kPacingFile;
    COX_TRY(const std::string text, read_file(file, kMostPlan));
    return study::parse_pacing(text, file.string());
  }
  for (const EmbeddedFile& file : embedded_studies())
    if (file.name == study::kPacingFile)
      return study::parse_pacing(file.text, fmt::format("studies/{}", file.name));
  return fail(usage_error("study-006", "this program was built without studies/pacing.toml",
                          "name it with --studies"));
}

/// --quick has few of the conditions, and no sizes.
Status check_quick(const study::PacingStudy& study, const evaluate::PacingChoice& choice) {
  std::vector<std::string> quick;
  for (const study::PacingCondition& c : study.conditions)
    if (c.quick) quick.push_back(c.name);
  const auto is_quick = [&](const std::string& name) {
    return std::find(quick.begin(), quick.end(), name) != quick.end();
  };
  if (choice.sizes || !std::all_of(choice.conditions.begin(), choice.conditions.end(), is_quick))
    return fail(usage_error("cli-003", fmt::format("--quick has only {}", fmt::join(quick, ", ")),
                            "for the others: --full --only NAME"));
  return {};
}

/// docs/studies/pacing.md from results that were measured before.
Result<ExitCode> write_page(const study::PacingStudy& study, const Invocation& call, Console& console) {
  COX_TRY(const evaluate::PacingPage page,
          evaluate::make_pacing_page(study, call.value("from"), call.common.threads));
  const std::string folder = call.value("output");
  if (folder.empty()) {
    console.out << page.markdown;
    return ExitCode::Ok;
  }
  std::error_code ignored;  // a folder that cannot be made shows when the file is written
  fs::create_directories(folder, ignored);
  const auto if_exists = call.has("force") ? IfExists::Replace : IfExists::Fail;
  COX_CHECK(write_file_atomically(fs::path(folder) / "pacing.md", page.markdown, if_exists));
  if (!page.svg.empty())
    COX_CHECK(write_file_atomically(fs::path(folder) / "pacing.svg", page.svg, if_exists));
  return ExitCode::Ok;
}

/// The claims of results that were measured before, between the marks of a page that is there.
Result<ExitCode> write_claims(const study::PacingStudy& study, const Invocation& call) {
  const fs::path page = call.value("into");
  COX_TRY(const std::string text, evaluate::put_pacing_claims(study, call.value("from"), page));
  COX_CHECK(write_file_atomically(page, text, IfExists::Replace));
  return ExitCode::Ok;
}

Result<ExitCode> measure_all(study::PacingStudy study, const evaluate::PacingChoice& choice,
                             const Invocation& call, Console& console) {
  const auto depth = call.has("quick") ? study::PacingDepth::Quick : study::PacingDepth::Full;
  study::PacingResults before{.machine = evaluate::describe_machine()};
  fs::path output = call.value("output");
  const fs::path into = call.value("into");
  if (into.empty()) {
    evaluate::keep_only(study, choice);
  } else if (depth == study::PacingDepth::Quick || !output.empty()) {
    return fail(usage_error("cli-003", "--into goes with --full, and names the file itself",
                            "leave --quick and -o out"));
  } else {
    COX_TRY(before, evaluate::read_results_before(study, into, before.machine));
    output = into;
  }
  if (output.empty() && depth == study::PacingDepth::Full) output = "pacing.json";
  std::error_code ignored;
  if (!output.empty() && into.empty() && !call.has("force") && fs::exists(output, ignored))
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "base-005",
                      .message = "exists already",
                      .hint = "choose another name, or add --force to replace it",
                      .where = Where{.file = output.string()}});
  evaluate::PacingWorld world = evaluate::pacing_world();
  world.tell = [&](const std::string& text) { console.err << terminal_lines(text); };
  world.keep = [&](const study::PacingResults& results) -> Status {
    if (output.empty()) return {};
    return write_file_atomically(output, study::pacing_json(results), IfExists::Replace);
  };
  COX_TRY(const study::PacingResults results,
          evaluate::measure_pacing(study, choice, depth, std::move(before), world));
  if (call.common.json) {
    console.out << study::pacing_json(results);
    return ExitCode::Ok;
  }
  for (const auto* list : {&results.conditions, &results.sizes})
    for (const study::PacingConditionResult& r : *list)
      console.out << study::condition_text(study, r) << "\n";
  console.out << study::verdict_text(study, results);
  if (world.no_priority)
    console.out << fmt::format("arms with a priority are left out: {}\n", *world.no_priority);
  return ExitCode::Ok;
}

}  // namespace

Result<ExitCode> run_pacing_study(const Invocation& call, Console& console) {
  const bool from = !call.value("from").empty();
  if (call.has("quick") + call.has("full") + from > 1)
    return fail(usage_error("cli-003", "--quick, --full and --from exclude each other", "choose one"));
  if (!call.value("set").empty())
    return fail(usage_error("cli-003", "--set does not go with 'pacing', whose plan is frozen",
                            "copy studies/pacing.toml, change it, and name its folder with --studies"));
  COX_TRY(study::PacingStudy study, frozen_study(call));
  COX_TRY(const evaluate::PacingChoice choice, evaluate::choose_pacing(study, call.value("only")));
  if (call.has("quick") && !call.value("only").empty()) COX_CHECK(check_quick(study, choice));
  if (call.has("dry-run")) {
    evaluate::keep_only(study, choice);
    console.out << study::plan_text(study,
                                    call.has("quick") ? study::PacingDepth::Quick : study::PacingDepth::Full);
    return ExitCode::Ok;
  }
  if (from) {
    if (call.common.json)
      return fail(usage_error("cli-003", "--from writes the page; --json goes with a measurement",
                              "leave it out: the results are in the file of --from"));
    evaluate::keep_only(study, choice);
    if (!call.value("into").empty()) return write_claims(study, call);
    return write_page(study, call, console);
  }
  if (call.has("quick") || call.has("full")) return measure_all(std::move(study), choice, call, console);
  return fail(usage_error("cli-004", "'pacing' is measured, not computed",
                          "choose --quick (7 minutes), --full (25 minutes), --dry-run, or --from FILE"));
}

}  // namespace cox::cli
