// SPDX-License-Identifier: Apache-2.0
#include "cli/input/forecast_input.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>

#include "cox/forecast/read.hpp"
#include "cox/model/toml.hpp"
#include "cox/report/terminal.hpp"

#include "cli/input/failures_option.hpp"
#include "cli/input/run_input.hpp"

namespace cox::cli {
namespace {

using forecast::Evidence;
using forecast::InputKind;

void add_sample(Evidence& out, const std::string& path, InputKind kind, forecast::Sample sample) {
  std::set<std::int32_t> nodes;
  for (const forecast::SampleRank& r : sample.ranks)
    if (r.node >= 0) nodes.insert(r.node);
  Seconds total{};
  for (const forecast::SampleStep& s : sample.steps) total += s.length;
  out.inputs.push_back({.path = path,
                        .name = sample.name,
                        .kind = kind,
                        .ranks = sample.size(),
                        .nodes = static_cast<std::int64_t>(nodes.size()),
                        .steps = static_cast<std::int64_t>(sample.steps.size()),
                        .positions = static_cast<std::int64_t>(sample.positions.size()),
                        .step = total / static_cast<double>(sample.steps.size()),
                        .left_out = sample.left_out});
  out.samples.push_back(std::move(sample));
}

Status add_scenario(Evidence& out, const std::string& path, const Invocation& call) {
  COX_TRY(model::ReadScenario read, model::read_scenario(path, {.set = failures_said(call)}));
  if (out.scenario)
    return fail(Error{.code = Errc::Usage,
                      .id = "forecast-006",
                      .message = "a second scenario, expected one",
                      .hint = "`cox simulate A --against B` compares two",
                      .where = Where{.file = path}});
  const model::Scenario& s = read.scenario;
  out.inputs.push_back({.path = path,
                        .name = s.name,
                        .kind = InputKind::Scenario,
                        .ranks = model::ranks_of(s.cluster, s.job.places),
                        .nodes = model::nodes_of(s),
                        .steps = s.job.steps,
                        .positions = 1});
  out.scenario = std::move(read.scenario);
  return {};
}

/// A table of ours; false where the file is something else.
Result<bool> add_table(Evidence& out, const std::string& path) {
  std::error_code ec;
  if (!std::filesystem::is_regular_file(path, ec)) return false;
  COX_TRY(std::optional<forecast::Table> table, forecast::read_table(path));
  if (!table) return false;
  if (table->sample) {
    table->sample->name = std::filesystem::path(path).filename().string();
    add_sample(out, path, InputKind::StepTable, *std::move(table->sample));
  } else {
    table->curve->name = std::filesystem::path(path).filename().string();
    out.inputs.push_back({.path = path, .name = table->curve->name, .kind = InputKind::SizeTable});
    out.curves.push_back(*std::move(table->curve));
  }
  return true;
}

Status add_runs(Evidence& out, const std::string& path, const Invocation& call, Console& console) {
  COX_TRY(FoundJobs found, read_jobs(path, call, console));
  std::optional<Error> why;
  std::size_t used = 0;
  for (const trace::ImportedJob& job : found.jobs) {
    Result<forecast::Sample> sample = forecast::sample_of(job.run, call.common.threads);
    if (sample) {
      add_sample(out, path, InputKind::Run, *std::move(sample));
      ++used;
      continue;
    }
    if (found.jobs.size() > 1 && !call.common.quiet)
      console.err << fmt::format("cox: warning: {}\n", report::terminal_text(sample.error().to_string()));
    why = std::move(sample).error();
  }
  if (used == 0 && why) return fail(*std::move(why));
  return {};
}

}  // namespace

Result<Evidence> read_evidence(const Invocation& call, Console& console) {
  Evidence out;
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
      COX_CHECK(add_scenario(out, path, call));
      continue;
    }
    COX_TRY(const bool table, add_table(out, path));
    if (!table) COX_CHECK(add_runs(out, path, call, console));
  }
  return out;
}

}  // namespace cox::cli
