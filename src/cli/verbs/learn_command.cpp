// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/learn_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "cox/learn/compare.hpp"
#include "cox/learn/policy_map.hpp"
#include "cox/learn/replay.hpp"
#include "cox/model/toml.hpp"
#include "cox/report/terminal.hpp"

#include "cli/input/changes.hpp"
#include "cli/input/number_flag.hpp"
#include "cli/input/run_input.hpp"
#include "cli/output/failure.hpp"
#include "cli/output/output_file.hpp"
#include "cli/output/progress.hpp"
#include "cli/output/step_rate.hpp"
#include "cli/output/terminal.hpp"

namespace cox::cli {
namespace {

constexpr const char* kPolicies =
    "synchronous backup,backups=1 bounded-wait,staleness=1 bounded-wait,staleness=8 "
    "bounded-discard,staleness=16 asynchronous age-weighted local-sgd,local-steps=4 local-sgd,local-steps=16 "
    "post-local,local-steps=16,synchronous-steps=10 diloco,local-steps=16 synchronous+int8 "
    "synchronous+top-k,keep=0.05";
constexpr const char* kProblem = "quadratic,dimension=100,condition=30,noise=0.2";
constexpr const char* kReplayOptimizer = "sgd,rate=0.1";
constexpr std::size_t kMostPolicies = 64;
/// As a comparison has them, without those that differ from another in a number alone: a map is as many comparisons as it has cells.
constexpr const char* kMapPolicies =
    "synchronous backup,backups=1 bounded-wait,staleness=8 asynchronous local-sgd,local-steps=4 "
    "local-sgd,local-steps=16 diloco,local-steps=16 synchronous+int8";
constexpr const char* kCommunication = "0.1,0.3,1,3";
constexpr const char* kSpeeds = "0,0.1,0.2,0.5";

Result<std::vector<learn::Way>> ways_of(const Invocation& call, std::string_view fallback) {
  std::vector<learn::Way> ways;
  const std::string text = call.value("policies", std::string(fallback));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) {
      COX_TRY(learn::Way way, learn::read_way(std::string_view(text).substr(at, end - at)));
      ways.push_back(std::move(way));
    }
    at = end + 1;
  }
  if (ways.empty() || ways.size() > kMostPolicies)
    return fail(usage_error("cli-003",
                            fmt::format("--policies: got {}, expected 1 to {}", ways.size(), kMostPolicies),
                            "words with blanks between them, like 'synchronous local-sgd,local-steps=8'"));
  return ways;
}

Result<learn::OptimizerSpec> optimizer_of(const Invocation& call, const char* fallback) {
  COX_TRY(const learn::OptimizerSpec spec, learn::read_optimizer(call.value("optimizer", fallback)));
  if (spec.rate > 0) return spec;
  return fail(usage_error("cli-003", "--optimizer: a rate of 0 learns nothing", "say a rate above 0"));
}

Result<learn::WaysQuestion> question_of(const Invocation& call) {
  learn::WaysQuestion q;
  const char* policies = call.has("map") ? kMapPolicies : kPolicies;
  COX_TRY(q.problem, learn::read_problem(call.value("problem", kProblem)));
  COX_TRY(q.optimizer, optimizer_of(call, "sgd,rate=0.5"));
  COX_TRY(q.ways, ways_of(call, policies));
  COX_TRY(q.share.samples, number_flag<std::int64_t>(call, "batch", 1, 1, 1 << 20, "a whole number"));
  COX_TRY(q.target, number_flag<double>(call, "target", 0, 0, 1e30, "a loss"));
  COX_TRY(q.seeds, number_flag<int>(call, "seeds", 5, 2, 1000, "a whole number"));
  COX_TRY(q.steps, number_flag<std::int64_t>(call, "steps", 2000, 1, 10'000'000, "a whole number"));
  q.threads = call.common.threads;
  return q;
}

/// The rising numbers of `--flag 0.1,0.3,1`.
Result<std::vector<double>> axis_of(const Invocation& call, const char* flag, const char* fallback,
                                    double least, double most) {
  const std::string text = call.value(flag, fallback);
  std::vector<double> axis;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    double x = 0;
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, x);
    if (error != std::errc{} || stop != text.data() + end || !(x >= least && x <= most) ||
        (!axis.empty() && !(x > axis.back())) || axis.size() >= learn::kMostMapCells)
      return fail(usage_error(
          "cli-003",
          fmt::format("--{}: got '{}', expected rising numbers from {:g} to {:g}", flag, text, least, most),
          fmt::format("like {}", fallback)));
    axis.push_back(x);
    at = end + 1;
  }
  return axis;
}

Result<learn::MapAxes> axes_of(const Invocation& call) {
  learn::MapAxes axes;
  COX_TRY(axes.communication, axis_of(call, "communication", kCommunication, 1e-4, 1e4));
  COX_TRY(axes.speeds, axis_of(call, "speeds", kSpeeds, 0, 3));
  return axes;
}

void print(const std::vector<TextLine>& lines, const Invocation& call, Console& console, Output& output) {
  const report::TextStyle style =
      text_style(call.common.color, console.out_is_terminal && !output.is_file(), console);
  for (const TextLine& line : lines) output.stream() << report::render_line(line, style);
}

/// The one policy that was named.
Result<learn::Way> only_way(const Invocation& call, std::string_view fallback) {
  COX_TRY(const std::vector<learn::Way> ways, ways_of(call, fallback));
  if (ways.size() == 1) return ways.front();
  return fail(usage_error(
      "cli-003",
      fmt::format("--policies: got {} policies, expected one: {}", ways.size(),
                  !call.value("record").empty() ? "its updates are written down" : "it follows a file"),
      "name one, like asynchronous"));
}

/// What a file of updates, or writing one, has no use for.
Status refuse_flags(const Invocation& call, std::initializer_list<std::string_view> flags,
                    std::string_view because) {
  for (const std::string_view flag : flags)
    if (!call.value(flag).empty())
      return fail(
          usage_error("cli-003", fmt::format("--{} has no meaning where {}", flag, because), "leave it out"));
  return {};
}

/// A switch has no value to ask for.
Status refuse_map(const Invocation& call, std::string_view because) {
  if (!call.has("map")) return {};
  return fail(usage_error("cli-003", fmt::format("--map has no meaning where {}", because), "leave it out"));
}

Result<ExitCode> replay(const Invocation& call, Console& console) {
  COX_CHECK(refuse_flags(call, {"target", "seeds", "steps", "set", "record", "communication", "speeds"},
                         "updates are read from a file"));
  COX_CHECK(refuse_map(call, "updates are read from a file"));
  COX_TRY(Output output, Output::open(call.value("output"),
                                      call.has("force") ? IfExists::Replace : IfExists::Fail, console.out));
  learn::ReplayQuestion question;
  COX_TRY(question.problem, learn::read_problem(call.value("problem", kProblem)));
  COX_TRY(question.optimizer, optimizer_of(call, kReplayOptimizer));
  COX_TRY(question.share.samples, number_flag<std::int64_t>(call, "batch", 1, 1, 1 << 20, "a whole number"));
  COX_TRY(question.way, only_way(call, "asynchronous"));
  COX_TRY(const learn::Replayed made, learn::replay_updates(call.args.front(), question, call.args));
  if (call.common.json)
    output.stream() << made.json;
  else
    print(made.lines, call, console, output);
  COX_CHECK(output.commit());
  return made.diverged ? ExitCode::BadAnswer : ExitCode::Ok;
}

Result<ExitCode> record(const Invocation& call, Console& console) {
  COX_CHECK(refuse_flags(call, {"target", "seeds", "optimizer", "batch", "output"},
                         "updates are only written down"));
  COX_CHECK(refuse_map(call, "updates are only written down"));
  COX_TRY(const learn::Way way, only_way(call, kPolicies));
  COX_TRY(const learn::ProblemSpec problem, learn::read_problem(call.value("problem", kProblem)));
  COX_TRY(const auto steps, number_flag<std::int64_t>(call, "steps", 2000, 1, 10'000'000, "a whole number"));
  COX_TRY(const model::ReadScenario read,
          model::read_scenario(call.args.front(), {.set = split_changes(call.value("set"))}));
  COX_TRY(Output output, Output::open(call.value("record"),
                                      call.has("force") ? IfExists::Replace : IfExists::Fail, console.out));
  COX_TRY(const TextLine said, learn::record_updates(read.scenario, way, problem, steps, output.stream()));
  const bool to_file = output.is_file();
  COX_CHECK(output.commit());
  if (to_file && !call.common.quiet) console.err << said.text << '\n';
  return ExitCode::Ok;
}

ExitCode finish(const Invocation& call, Console& console, bool any_reached, std::int64_t steps) {
  if (any_reached) return ExitCode::Ok;
  console.err << fmt::format(
      "cox: no policy reached the target on every seed within {} steps{}; ask for less, or for more --steps\n",
      steps, call.has("map") ? " in any cell" : "");
  return ExitCode::BadAnswer;
}

Result<ExitCode> map(const Invocation& call, Console& console) {
  COX_TRY(Output output, Output::open(call.value("output"),
                                      call.has("force") ? IfExists::Replace : IfExists::Fail, console.out));
  COX_TRY(learn::WaysQuestion question, question_of(call));
  COX_TRY(const learn::MapAxes axes, axes_of(call));
  COX_TRY(const model::ReadScenario read,
          model::read_scenario(call.args.front(), {.set = split_changes(call.value("set"))}));
  constexpr std::chrono::seconds kPatience{10};
  const auto cells = static_cast<double>(axes.communication.size() * axes.speeds.size());
  StepRate watch(console.err, console.err_is_terminal, "cells", kPatience);
  watch.when_long([] { return std::string("fewer --policies, cells or --seeds take less time"); });
  if (!call.common.quiet)
    question.progress = [&](std::int64_t done, std::int64_t total) {
      watch.update(cells * static_cast<double>(done) / static_cast<double>(total), cells);
    };
  COX_TRY(const learn::MappedWays made, learn::map_ways(read.scenario, question, axes, call.args));
  if (call.common.json)
    output.stream() << made.json;
  else
    print(made.lines, call, console, output);
  COX_CHECK(output.commit());
  return finish(call, console, made.any_reached, question.steps);
}

Result<ExitCode> run(const Invocation& call, Console& console) {
  const bool named_so = call.args.front().ends_with(".csv") && call.value("record").empty();
  if (named_so || learn::holds_updates(call.args.front())) return replay(call, console);
  if (!call.has("map")) COX_CHECK(refuse_flags(call, {"communication", "speeds"}, "there is no --map"));
  if (!call.value("record").empty()) return record(call, console);
  if (call.has("map")) return map(call, console);
  COX_TRY(Output output, Output::open(call.value("output"),
                                      call.has("force") ? IfExists::Replace : IfExists::Fail, console.out));
  COX_TRY(learn::WaysQuestion question, question_of(call));
  COX_TRY(const model::ReadScenario read,
          model::read_scenario(call.args.front(), {.set = split_changes(call.value("set"))}));
  const auto progress = make_progress(call, console, "learning");
  if (console.err_is_terminal) question.progress = callback(*progress);
  COX_TRY(const learn::Compared made, learn::compare_ways(read.scenario, question, call.args));
  progress->finish();
  if (call.common.json)
    output.stream() << made.json;
  else
    print(made.lines, call, console, output);
  COX_CHECK(output.commit());
  return finish(call, console, made.any_reached, question.steps);
}

}  // namespace

const Command& learn_command() {
  static const Command command{
      .spec =
          {.name = "learn",
           .summary =
               "say which way of synchronising reaches a target first, by real gradients in virtual time",
           .about = "Trains a small problem under each policy, with the times of the scenario's job.",
           .examples = {{"cox learn job.toml", "thirteen policies on a noisy quadratic, the fastest first"},
                        {"cox learn job.toml --policies 'synchronous local-sgd,local-steps=8 asynchronous'",
                         "these three"},
                        {"cox learn job.toml --problem quadratic,spread=0.5 --target 0.01",
                         "workers with unlike data"},
                        {"cox learn job.toml --optimizer momentum,rate=0.1 --seeds 20 --json",
                         "more seeds, for programs"},
                        {"cox learn job.toml --map",
                         "which is first at other ratios of communication, and with other speeds"},
                        {"cox learn job.toml --policies asynchronous --record updates.csv",
                         "write its updates down: who read which version, and when it was applied"},
                        {"cox learn updates.csv --optimizer sgd,rate=0.1",
                         "what is learned along them, at this rate"}},
           .args = {{.name = "SCENARIO",
                     .help = "a scenario with a training job (.toml), or a file of updates (.csv)",
                     .complete = Complete::File}},
           .flags =
               {{.name = "policies",
                 .value = "LIST",
                 .help = "these, with blanks between them; the first is what the others are held against"},
                {.name = "problem",
                 .value = "KIND,KEY=VALUE,...",
                 .help = "what is learned",
                 .fallback = kProblem},
                {.name = "optimizer",
                 .value = "KIND,KEY=VALUE,...",
                 .help = "and how; along a file of updates the default is sgd,rate=0.1",
                 .fallback = "sgd,rate=0.5"},
                {.name = "batch", .value = "N", .help = "samples of a worker in a step", .fallback = "1"},
                {.name = "target",
                 .value = "LOSS",
                 .help = "to reach; without it one hundredth of where it begins"},
                {.name = "seeds",
                 .value = "N",
                 .help = "runs of each policy, beside four for its rate",
                 .fallback = "5"},
                {.name = "steps", .value = "N", .help = "of each worker, at most", .fallback = "2000"},
                {.name = "map",
                 .help =
                     "the best policy over communication and spread of speeds, 16 comparisons; fewer policies "
                     "where none are named"},
                {.name = "communication",
                 .value = "X,X,...",
                 .help = "of --map: a sum of all gradients alone, over computing in a step",
                 .fallback = kCommunication},
                {.name = "speeds",
                 .value = "X,X,...",
                 .help = "of --map: coefficients of variation of the workers' times, for good",
                 .fallback = kSpeeds},
                {.name = "set", .value = "KEY=VALUE,...", .help = "change the scenario, as in cox simulate"},
                {.name = "record",
                 .value = "FILE",
                 .help = "write the updates of the one policy there, and learn nothing",
                 .complete = Complete::File},
                {.name = "output",
                 .letter = 'o',
                 .value = "FILE",
                 .help = "write there instead of to standard output",
                 .complete = Complete::File},
                {.name = "force", .letter = 'f', .help = "replace FILE where it exists"}},
           .shared = {.json = true, .threads = true},
           .notes =
               "Each policy runs at fifteen rates on seeds of their own, and is judged at its best one. What is "
               "modelled and what is not: docs/concepts/learning.md. Along a file of updates one policy says what is done with what "
               "workers bring (asynchronous where none is named), and nothing is tuned. Exit code 1: no policy reached the target, or "
               "what is learned along a file diverged."},
      .run = run};
  return command;
}

}  // namespace cox::cli
