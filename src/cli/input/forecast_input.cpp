// SPDX-License-Identifier: Apache-2.0
#include "cli/input/forecast_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "cox/base/file.hpp"
#include "cox/evaluate/stated_job.hpp"
#include "cox/model/toml.hpp"
#include "cox/report/terminal.hpp"
#include "cox/study/study.hpp"

#include "cli/input/failures_option.hpp"
#include "cli/input/run_input.hpp"
#include "cli/output/failure.hpp"

namespace cox::cli {
namespace {

constexpr std::size_t kMostStudy = 1'000'000;  ///< bytes

/// A study's file names its computation; a scenario has none.
bool says_compute(std::string_view text) {
  constexpr std::string_view kKey = "compute";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    if (line.starts_with(kKey) && line.find_first_not_of(" \t", kKey.size()) != line.npos &&
        line[line.find_first_not_of(" \t", kKey.size())] == '=')
      return true;
    if (line.starts_with('[')) return false;  // keys of the file itself come first
    at = end + 1;
  }
  return false;
}

/// True where the file is a study, which is added.
Result<bool> add_study(forecast::ReadEvidence& out, const std::string& path) {
  const Result<std::string> text = read_file(path, kMostStudy);
  if (!text || !says_compute(*text)) return false;  // the scenario's reader says what is wrong with the file
  COX_TRY(const study::Study study, study::parse_study(*text, path));
  COX_TRY(forecast::StatedJob job, evaluate::stated_job(study));
  COX_CHECK(out.add_stated(path, std::move(job)));
  return true;
}

Status add_scenario(forecast::ReadEvidence& out, const std::string& path, const Invocation& call) {
  COX_TRY(model::ReadScenario read,
          model::read_scenario(path, {.set = failures_said(call)}).map_error(by_failures_option));
  return out.add_scenario(path, std::move(read.scenario));
}

Status add_runs(forecast::ReadEvidence& out, const std::string& path, const Invocation& call,
                Console& console) {
  COX_TRY(FoundJobs found, read_jobs(path, call, console));
  std::optional<Error> why;
  std::size_t used = 0;
  for (const trace::ImportedJob& job : found.jobs) {
    Status added = out.add_run(path, job.run, call.common.threads);
    if (added) {
      ++used;
      continue;
    }
    if (found.jobs.size() > 1 && !call.common.quiet)
      console.err << fmt::format("cox: warning: {}\n", report::terminal_text(added.error().to_string()));
    why = std::move(added).error();
  }
  if (used == 0 && why) return fail(*std::move(why));
  return {};
}

/// `--run` chooses among the runs of a file or folder; an input that holds none has no such choice.
Status check_no_run(const Invocation& call, const std::string& path, const char* what) {
  const std::string name = call.value("run");
  if (name.empty()) return {};
  Error error = usage_error(
      "cli-003", fmt::format("--run: got '{}', but this is {}, expected a Run or traces", name, what),
      "leave --run out");
  error.where = Where{.file = path};
  return fail(std::move(error));
}

}  // namespace

Result<forecast::ReadEvidence> read_evidence(const Invocation& call, Console& console) {
  forecast::ReadEvidence out;
  std::set<std::filesystem::path> seen;
  for (const std::string& path : call.args) {
    std::error_code ec;
    if (!seen.insert(std::filesystem::weakly_canonical(path, ec)).second && !ec)
      return fail(Error{.code = Errc::Usage,
                        .id = "forecast-006",
                        .message = "given twice, and the same data again is no new data",
                        .hint = "name each input once",
                        .where = Where{.file = path}});
    if (std::filesystem::path(path).extension() == ".toml") {
      COX_TRY(const bool is_study, add_study(out, path));
      if (!is_study) COX_CHECK(add_scenario(out, path, call));
      COX_CHECK(check_no_run(call, path, is_study ? "a study" : "a scenario"));
      continue;
    }
    COX_TRY(const bool table, out.add_table(path));
    if (table)
      COX_CHECK(check_no_run(call, path, "a table"));
    else
      COX_CHECK(add_runs(out, path, call, console));
  }
  return out;
}

}  // namespace cox::cli
