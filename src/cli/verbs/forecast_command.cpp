// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/forecast_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "cox/forecast/forecast.hpp"
#include "cox/model/toml.hpp"
#include "cox/report/terminal.hpp"

#include "cli/input/failures_option.hpp"
#include "cli/input/forecast_input.hpp"
#include "cli/input/run_input.hpp"
#include "cli/output/failure.hpp"
#include "cli/output/output_file.hpp"
#include "cli/output/terminal.hpp"
#include "cli/verbs/forecast_control.hpp"
#include "cli/verbs/forecast_learning.hpp"

namespace cox::cli {
namespace {

constexpr std::int64_t kMostRanks = 1'048'576;
constexpr std::size_t kMostSizes = 64;

/// `64,256,1024`; without the option 4, 16 and 64 times what was seen.
Result<std::vector<std::int64_t>> sizes_of(const Invocation& call, const forecast::ReadEvidence& evidence) {
  std::vector<std::int64_t> sizes;
  const std::string text = call.value("to");
  if (text.empty()) {
    const std::int64_t seen = std::max<std::int64_t>(1, evidence.largest());
    for (const std::int64_t factor : {4, 16, 64}) sizes.push_back(std::min(kMostRanks, seen * factor));
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    return sizes;
  }
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    std::int64_t n = 0;
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, n);
    if (error != std::errc{} || stop != text.data() + end || n < 1 || n > kMostRanks ||
        sizes.size() >= kMostSizes || (!sizes.empty() && n <= sizes.back()))
      return fail(
          usage_error("cli-003",
                      fmt::format("--to: got '{}', expected at most {} rising numbers of ranks from 1 to {}",
                                  text, kMostSizes, kMostRanks),
                      "like 64,256,1024,4096"));
    sizes.push_back(n);
    at = end + 1;
  }
  return sizes;
}

Status write_scenario(const std::string& name, const forecast::Forecast& made, const Invocation& call,
                      Console& console) {
  if (name.empty()) return {};
  if (!made.scenario)
    return fail(Error{.code = Errc::Unsupported,
                      .id = "forecast-005",
                      .message = "--scenario: there is none to write" +
                                 (made.no_scenario.empty() ? std::string() : ": " + made.no_scenario),
                      .hint = "leave --scenario out",
                      .where = {}});
  COX_TRY(Output output,
          Output::open(name, call.has("force") ? IfExists::Replace : IfExists::Fail, console.out));
  output.stream() << model::scenario_toml(*made.scenario);
  COX_CHECK(output.commit());
  if (!call.common.quiet && output.is_file())
    console.err << fmt::format("cox: wrote {}; try: cox simulate {}\n", report::terminal_text(name),
                               report::terminal_text(name));
  return {};
}

/// As it is said; else a job whose batch is the same at any size scales strongly.
forecast::Scaling scaling_of(const Invocation& call, const forecast::ReadEvidence& evidence) {
  const std::string said = call.value("scaling");
  const bool strong = said.empty() ? evidence.fixes_batch() : said == "strong";
  return strong ? forecast::Scaling::Strong : forecast::Scaling::Weak;
}

Result<ExitCode> run(const Invocation& call, Console& console) {
  const IfExists if_exists = call.has("force") ? IfExists::Replace : IfExists::Fail;
  COX_TRY(Output output, Output::open(call.value("output"), if_exists, console.out));
  COX_TRY(const forecast::ReadEvidence evidence, read_evidence(call, console));
  forecast::Question question;
  COX_TRY(question.sizes, sizes_of(call, evidence));
  question.sizes_are_said = !call.value("to").empty();
  question.scaling = scaling_of(call, evidence);
  COX_TRY(question.failures, failures_of(call));
  question.threads = call.common.threads;
  if (const std::string prior = call.value("prior"); !prior.empty()) {
    COX_TRY(question.prior, forecast::parse_prior(prior));
  }
  COX_TRY(question.structure, structure_question(call));
  COX_TRY(std::optional<forecast::ControlQuestion> control, control_question(call, question.scaling));
  COX_TRY(const std::optional<forecast::LearningQuestion> learning, learning_question(call));
  // A forecast of a second should not say so in a log: on terminals only.
  const auto progress = make_progress(call, console, "forecasting");
  if (console.err_is_terminal) question.progress = callback(*progress);
  COX_TRY(forecast::MadeForecast made, forecast::make_forecast(evidence, question));
  progress->finish();
  const auto levers_progress = make_progress(call, console, "levers");
  if (control && console.err_is_terminal) control->options.progress = callback(*levers_progress);
  if (control) COX_CHECK(made.add_control(*control, evidence, question));
  levers_progress->finish();
  if (learning) COX_CHECK(made.add_learning(*learning, evidence, question));
  COX_CHECK(write_report(call, made, console));
  COX_CHECK(write_scenario(call.value("scenario"), made.shown(), call, console));
  if (call.common.json) {
    output.stream() << made.to_json(call.args);
  } else {
    const report::TextStyle style =
        text_style(call.common.color, console.out_is_terminal && !output.is_file(), console);
    for (const TextLine& line : made.text_lines(call.has("all")))
      output.stream() << report::render_line(line, style);
  }
  COX_CHECK(output.commit());
  return ExitCode::Ok;
}

}  // namespace

const Command& forecast_command() {
  static const Command command{
      .spec =
          {.name = "forecast",
           .summary = "say what a job does at sizes that were not run, how sure that is, and where it bends",
           .about = "Takes a small run apart and says how long a step takes at other sizes, with bands.",
           .examples =
               {{"cox forecast run --to 64,256,1024,4096", "step time, throughput, where it bends"},
                {"cox forecast run4 run8 run16 --to 64", "several sizes tell more than one"},
                {"cox forecast sizes.csv --to 512", "a table `ranks,step_ms`: curves, with their spread"},
                {"cox forecast job.toml --to 16384 --levers --target 'p99 <= 1.2 * median' --report job.html",
                 "what would help, and a page of it"},
                {"cox forecast job.toml --levers --learn quadratic,noise=0.2",
                 "time to a target beside throughput: what samples are worth is learned"},
                {"cox forecast run --structure --delay 50ms", "who sets the pace; where a delay goes"},
                {"cox forecast job.toml --tokens 15e12 --tokens-per-step 4e6 --days 30",
                 "how long a training takes, and how many nodes finish in a month"},
                {"cox forecast run --scenario run.toml && cox simulate run.toml",
                 "the calibrated Scenario, simulated"}},
           .args =
               {{.name = "INPUT",
                 .help =
                     "Run folder, trace, table, scenario or study of a job (.toml); several runs of one job",
                 .complete = Complete::File,
                 .repeats = true}},
           .flags =
               {{.name = "to",
                 .value = "N,N,...",
                 .help = "at these numbers of ranks; without it 4, 16 and 64 times as many"},
                {.name = "scaling",
                 .value = "KIND",
                 .help = "what grows with the ranks: the batch (weak), or nothing (strong); without it weak, "
                         "and strong for a scenario with job.global_batch",
                 .complete = Complete::Choices,
                 .choices = {"weak", "strong"}},
                {.name = "scenario",
                 .value = "FILE",
                 .help = "write the calibrated Scenario, for cox simulate",
                 .complete = Complete::File},
                {.name = "report",
                 .value = "FILE",
                 .help = "write a page: pictures, regimes, levers, what it means (HTML)",
                 .complete = Complete::File},
                {.name = "failures",
                 .value = "KEY=VALUE,...",
                 .help = "what stops the job: node_mtbf=1000h,restart=5min,checkpoint=1min,"
                         "checkpoint_interval=1h"},
                {.name = "prior",
                 .value = "KEY=X,...",
                 .help =
                     "what is likely where no input says it: slow-nodes, slow-down, growth, shared, failures, "
                     "restarts, checkpoints, start"},
                {.name = "structure", .help = "who sets the pace, where a delay goes, what changed"},
                {.name = "delay",
                 .value = "TIME",
                 .help = "the same, for one rank that loses so much once, like 50ms"},
                {.name = "levers", .help = "what would help, each lever alone"},
                {.name = "target",
                 .value = "TEXT",
                 .help = "the cheapest set of levers for it, like 'p99 <= 1.2 * median'"},
                {.name = "price",
                 .value = "LEVER=X,...",
                 .help = "what a lever costs to have; without it 1 a setting, 3 code, 5 a rank, 30 hardware"},
                {.name = "learn",
                 .value = "KIND,KEY=VALUE,...",
                 .help = "a problem as in cox learn: sizes, and levers, in samples that count"},
                {.name = "learn-batch",
                 .value = "N",
                 .help = "samples of a replica in a step",
                 .fallback = "1"},
                {.name = "tokens",
                 .value = "N",
                 .help = "train on so many: days, energy, cost, and what they go into"},
                {.name = "tokens-per-step", .value = "N", .help = "that a step of the scenario trains on"},
                {.name = "days", .value = "N", .help = "how many nodes finish --tokens in so many days"},
                {.name = "all", .help = "everything that was found, not only the first screen"},
                run_flag(),
                {.name = "output",
                 .letter = 'o',
                 .value = "FILE",
                 .help = "write there instead of to standard output",
                 .complete = Complete::File},
                {.name = "force", .letter = 'f', .help = "replace FILE where it exists"}},
           .shared = {.json = true, .threads = true},
           .notes =
               "A band holds nine times out of ten where what makes the large job slow was seen in the small one. "
               "What was not seen is said, and a size that rests on it gets no number. The model and its limits: "
               "docs/concepts/forecasting.md."},
      .run = run};
  return command;
}

}  // namespace cox::cli
