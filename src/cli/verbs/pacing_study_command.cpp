// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/pacing_study_command.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <ostream>
#include <string>
#include <system_error>

#include "cox/base/file.hpp"
#include "cox/evaluate/pacing.hpp"
#include "cox/study/study.hpp"

#include "cli/frame/embedded.hpp"
#include "cli/output/failure.hpp"
#include "cli/output/terminal.hpp"

namespace cox::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostPlan = 1'000'000;

Result<evaluate::PacingEvaluation> frozen_plan(const Invocation& call) {
  if (const std::string folder = call.value("studies"); !folder.empty()) {
    const fs::path file = fs::path(folder) / study::kPacingFile;
    COX_TRY(const std::string text, read_file(file, kMostPlan));
    return evaluate::PacingEvaluation::read(text, file.string());
  }
  for (const EmbeddedFile& file : embedded_studies())
    if (file.name == study::kPacingFile)
      return evaluate::PacingEvaluation::read(file.text, fmt::format("studies/{}", file.name));
  return fail(usage_error("study-006", "this program was built without studies/pacing.toml",
                          "name it with --studies"));
}

/// docs/studies/pacing.md from results that were measured before.
Result<ExitCode> write_page(const evaluate::PacingEvaluation& chosen, const Invocation& call,
                            Console& console) {
  COX_TRY(const evaluate::PacingPage page, chosen.make_page(call.value("from"), call.common.threads));
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
Result<ExitCode> write_claims(const evaluate::PacingEvaluation& chosen, const Invocation& call) {
  const fs::path page = call.value("into");
  COX_TRY(const std::string text, chosen.put_claims(call.value("from"), page));
  COX_CHECK(write_file_atomically(page, text, IfExists::Replace));
  return ExitCode::Ok;
}

Result<ExitCode> measure_all(const evaluate::PacingEvaluation& chosen, const Invocation& call,
                             Console& console) {
  const auto depth = call.has("quick") ? evaluate::PacingDepth::Quick : evaluate::PacingDepth::Full;
  fs::path output = call.value("output");
  const fs::path into = call.value("into");
  if (!into.empty()) {
    if (depth == evaluate::PacingDepth::Quick || !output.empty())
      return fail(usage_error("cli-003", "--into goes with --full, and names the file itself",
                              "leave --quick and -o out"));
    output = into;
  }
  if (output.empty() && depth == evaluate::PacingDepth::Full) output = "pacing.json";
  std::error_code ignored;
  if (!output.empty() && into.empty() && !call.has("force") && fs::exists(output, ignored))
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "base-005",
                      .message = "exists already",
                      .hint = "choose another name, or add --force to replace it",
                      .where = Where{.file = output.string()}});
  const auto keep = [&](const std::string& json) -> Status {
    if (output.empty()) return {};
    return write_file_atomically(output, json, IfExists::Replace);
  };
  const auto tell = [&](const std::string& text) { console.err << terminal_lines(text); };
  COX_TRY(const evaluate::MeasuredPacing measured, chosen.measure(depth, into, {.tell = tell, .keep = keep}));
  console.out << (call.common.json ? measured.json : measured.text);
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
  COX_TRY(const evaluate::PacingEvaluation plan, frozen_plan(call));
  COX_TRY(const evaluate::PacingEvaluation chosen, plan.choose(call.value("only")));
  if (call.has("quick") && !call.value("only").empty()) COX_CHECK(chosen.check_quick());
  if (call.has("dry-run")) {
    console.out << chosen.plan_text(call.has("quick") ? evaluate::PacingDepth::Quick
                                                      : evaluate::PacingDepth::Full);
    return ExitCode::Ok;
  }
  if (from) {
    if (call.common.json)
      return fail(usage_error("cli-003", "--from writes the page; --json goes with a measurement",
                              "leave it out: the results are in the file of --from"));
    if (!call.value("into").empty()) return write_claims(chosen, call);
    return write_page(chosen, call, console);
  }
  if (call.has("quick") || call.has("full")) return measure_all(chosen, call, console);
  return fail(usage_error("cli-004", "'pacing' is measured, not computed",
                          "choose --quick (7 minutes), --full (25 minutes), --dry-run, or --from FILE"));
}

}  // namespace cox::cli
