// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/pace_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "cox/base/spelling.hpp"
#include "cox/base/unknown_unit.hpp"
#include "cox/diagnose/matched.hpp"
#include "cox/diagnose/pacing.hpp"
#include "cox/pace/settings.hpp"
#include "cox/trace/time_unit.hpp"

#include "cli/input/run_input.hpp"
#include "cli/output/envelope.hpp"
#include "cli/output/failure.hpp"

namespace cox::cli {
namespace {

/// The table of parameters: what `--mode` takes.
ExitCode print_settings(const Invocation& call, Console& console) {
  std::vector<JsonObject> list;
  std::size_t key = 0;
  std::size_t fallback = 0;
  std::size_t unit = 0;
  for (const pace::Parameter& p : pace::parameters()) {
    list.push_back({{"key", p.key}, {"unit", p.unit}, {"default", p.fallback}, {"effect", p.effect}});
    key = std::max(key, std::string_view(p.key).size());
    fallback = std::max(fallback, std::string_view(p.fallback).size());
    unit = std::max(unit, std::string_view(p.unit).size());
  }
  if (call.common.json) {
    console.out << to_json({.schema = "cox.pace-settings/1"}, "parameters", list);
    return ExitCode::Ok;
  }
  console.out << fmt::format("{:<{}}  {:<{}}  {:<{}}  effect\n", "key", key, "default", fallback, "unit",
                             unit);
  for (const pace::Parameter& p : pace::parameters())
    console.out << fmt::format("{:<{}}  {:<{}}  {:<{}}  {}\n", p.key, key, p.fallback, fallback, p.unit, unit,
                               p.effect);
  return ExitCode::Ok;
}

Error bad_value(std::string message, std::string hint) {
  return Error{.code = Errc::Usage,
               .id = "cli-003",
               .message = std::move(message),
               .hint = std::move(hint),
               .where = {}};
}

Result<std::optional<pace::Settings>> asked_settings(const Invocation& call) {
  const std::string text = call.value("mode");
  if (text.empty()) return std::nullopt;
  pace::Settings settings;
  settings.mode = pace::Mode::Auto;
  if (const std::ptrdiff_t at = pace::set_all(settings, text.c_str()); at >= 0) {
    const std::string rest = text.substr(static_cast<std::size_t>(at));
    return fail(bad_value(fmt::format("--mode: `{}` is no mode and no parameter with a value that it takes",
                                      shown(rest.substr(0, rest.find(',')))),
                          "`cox pace --settings` lists modes and parameters; for example auto,window=32"));
  }
  return settings;
}

Result<std::optional<Rank>> asked_rank(const Invocation& call) {
  const std::string text = call.value("rank");
  if (text.empty()) return std::nullopt;
  int rank = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  if (error != std::errc{} || end != text.data() + text.size() || rank < 0)
    return fail(
        bad_value(fmt::format("--rank: got `{}`, expected a rank, a number from 0", shown(text)), ""));
  return Rank{rank};
}

Result<ExitCode> run(const Invocation& call, Console& console) {
  if (call.has("settings")) return print_settings(call, console);
  if (call.args.empty())
    return fail(usage_error("cli-004", "PATH is missing",
                            "for example: " + std::string(call.command->spec.examples.front().command)));
  diagnose::ReplayOptions options;
  COX_TRY(options.settings, asked_settings(call));
  COX_TRY(options.rank, asked_rank(call));
  options.every_iteration = call.has("all");
  COX_TRY(const trace::Run subject, read_run(call, console));
  const UnknownUnit unit(trace::unknown_unit(subject.ranks));
  std::optional<trace::Run> baseline;
  std::vector<std::string> inputs = call.args;
  if (const std::string path = call.value("against"); !path.empty()) {
    COX_TRY(trace::ImportedJob before, read_only_job(path, call, console));
    baseline = std::move(before.run);
    COX_CHECK(check_units(*baseline, subject));
    inputs.push_back(path);
  }
  const auto matched = diagnose::match_run(subject, {.threads = call.common.threads});
  const auto unpaced = baseline ? diagnose::match_run(*baseline, {.threads = call.common.threads}) : nullptr;
  COX_TRY(const diagnose::Pacing pacing, diagnose::understand_pacing(*matched, options, unpaced.get()));
  if (baseline && !pacing.comparison)
    return fail(
        Error{.code = Errc::InvalidInput,
              .id = "pace-003",
              .message = "nothing to compare: one of the runs has fewer than two blocks of iterations",
              .hint = "longer runs, or a smaller `block`: cox pace --settings",
              .where = Where{.file = call.value("against")}});
  const bool explained = call.has("explain") || call.has("all");
  if (call.common.json) {
    console.out << diagnose::to_json(pacing, subject, inputs, explained);
    return ExitCode::Ok;
  }
  for (const std::string& line : diagnose::describe(pacing)) console.out << line << '\n';
  if (!explained) return ExitCode::Ok;
  for (const diagnose::PaceReplay& replay : pacing.replays) {
    console.out << '\n';
    for (const std::string& line : diagnose::explain(replay, options.every_iteration))
      console.out << line << '\n';
  }
  return ExitCode::Ok;
}

}  // namespace

const Command& pace_command() {
  static const Command command{
      .spec =
          {.name = "pace",
           .summary = "say what pacing decided in a Run, why, and what it brought",
           .about = "Says who was held back in a Run, what that brought, and why others were left alone.",
           .examples = {{"cox pace run", "who was paced, and paced against unpaced blocks"},
                        {"cox pace run --explain --rank 0", "each change of decision, replayed"},
                        {"cox pace run --mode auto,window=32", "what the controller would have seen"},
                        {"cox pace paced --against unpaced", "two runs of one job"}},
           .args = {{.name = "PATH",
                     .help = "Run folder, trace file, or a folder of them",
                     .required = false,
                     .complete = Complete::File}},
           .flags = {{.name = "explain", .help = "replay the controller: one line per change of decision"},
                     {.name = "all", .help = "the same with one line per iteration"},
                     {.name = "rank", .value = "N", .help = "only this rank's controller"},
                     {.name = "mode",
                      .value = "SPEC",
                      .help = "replay these settings instead: auto,window=32,..."},
                     {.name = "against",
                      .value = "PATH",
                      .help = "compare with this run of the same job, unpaced",
                      .complete = Complete::File},
                     run_flag(),
                     {.name = "settings", .help = "list modes and parameters, and end"}},
           .shared = {.json = true},
           .notes =
               "A Run that was paced in mode auto holds its own test: blocks of iterations with and without "
               "delay, in an order that was drawn beforehand. They are compared pair by pair, with an "
               "interval. The replay shows the recorded iterations to the same controller again: "
               "with the recorded settings it must decide what was decided then, and the first difference "
               "is reported. With other settings, or of a Run that was not paced, it is open loop: it shows "
               "what the controller would have seen, not what pacing would have changed. Times and waits are "
               "measured; energy is estimated from `idle_power`. Parameters: docs/reference/pacing.md."},
      .run = run};
  return command;
}

}  // namespace cox::cli
