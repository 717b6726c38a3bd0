// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/simulate_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "cox/diagnose/diagnosis.hpp"
#include "cox/diagnose/matched.hpp"
#include "cox/model/placed_error.hpp"
#include "cox/model/toml.hpp"
#include "cox/observe/launch.hpp"
#include "cox/report/report.hpp"
#include "cox/report/terminal.hpp"
#include "cox/simulate/event.hpp"
#include "cox/simulate/goal.hpp"
#include "cox/simulate/outcome.hpp"
#include "cox/simulate/render.hpp"
#include "cox/simulate/sweep.hpp"
#include "cox/simulate/training.hpp"
#include "cox/trace/compact.hpp"

#include "cli/input/changes.hpp"
#include "cli/output/failure.hpp"
#include "cli/output/output_file.hpp"
#include "cli/output/step_rate.hpp"

namespace cox::cli {
namespace {

using model::EngineKind;

constexpr std::chrono::seconds kPatience{10};  ///< before progress is told, without --watch

constexpr const char* kLogGops = "L=1us,o=0ns,g=0ns,G=20ps/B,O=0ps/B,S=64KiB";
constexpr std::int64_t kMostReplicas = 1'000'000;
constexpr std::int64_t kMostSeed = 9'000'000'000'000'000;  ///< as in a scenario
constexpr std::int64_t kMostSavedRanks = 65'536;           ///< a file each

/// A whole number in a range; `fallback` where the option was not given.
Result<std::int64_t> whole_number(const Invocation& call, std::string_view flag, std::int64_t fallback,
                                  std::int64_t least, std::int64_t most) {
  const std::string text = call.value(flag);
  if (text.empty()) return fallback;
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || end != text.data() + text.size() || n < least || n > most)
    return fail(usage_error(
        "cli-003",
        fmt::format("--{}: got '{}', expected a whole number from {} to {}", flag, text, least, most),
        "digits only"));
  return n;
}

/// What the options change in a scenario: the reader hears it, so that it refuses what would have no effect.
Result<model::ScenarioOptions> changes(const Invocation& call) {
  model::ScenarioOptions options{.set = split_changes(call.value("set"))};
  const std::string engine = call.value("engine");
  if (!engine.empty()) options.set.push_back("--engine=" + engine);
  COX_TRY(const std::int64_t seed, whole_number(call, "seed", -1, 0, kMostSeed));
  if (seed >= 0) options.set.push_back(fmt::format("--seed={}", seed));
  COX_TRY(const std::int64_t replicas, whole_number(call, "replicas", -1, 1, kMostReplicas));
  if (replicas >= 0) options.set.push_back(fmt::format("--replicas={}", replicas));
  return options;
}

simulate::SimulateOptions options_of(const Invocation& call, StepRate* watch) {
  simulate::SimulateOptions options{.threads = call.common.threads,
                                    .memo = !call.has("no-memo"),
                                    .closure = !call.has("no-closure"),
                                    .want_run = !call.value("save").empty() || !call.value("report").empty(),
                                    .progress = {}};
  if (watch != nullptr) options.progress = [watch](double done, double total) { watch->update(done, total); };
  return options;
}

Result<model::ReadScenario> read(const std::string& path, const Invocation& call) {
  COX_TRY(const model::ScenarioOptions options, changes(call));
  return model::read_scenario(path, options);
}

/// What is left out at some size, and was not at the file's own.
void tell_of_sizes(const std::vector<simulate::SizeOutcome>& sizes, std::vector<std::string>& all) {
  for (const simulate::SizeOutcome& size : sizes)
    for (const std::string& line : size.not_modelled)
      if (const std::string told = "at the sizes of --scaling: " + line;
          std::ranges::find(all, line) == all.end() && std::ranges::find(all, told) == all.end())
        all.push_back(told);
}

void write_lines(Output& output, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) output.stream() << line << '\n';
}

/// `8,16,32`; empty where the flag was not given.
Result<std::vector<int>> node_counts(const Invocation& call) {
  const std::string text = call.value("scaling");
  std::vector<int> nodes;
  if (text.empty()) return nodes;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    int n = 0;
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, n);
    if (error != std::errc{} || stop != text.data() + end || n < 1 || (!nodes.empty() && n <= nodes.back()))
      return fail(usage_error("cli-003",
                              fmt::format("--scaling: got '{}', expected rising numbers of nodes", text),
                              "like 8,16,32,64"));
    nodes.push_back(n);
    at = end + 1;
  }
  return nodes;
}

/// What else than its answer a simulation is to leave. Names are checked before the work, not after it.
struct Keep {
  std::string run;             ///< folder; empty = none
  std::optional<Output> page;  ///< of --report
};

Result<Keep> prepare_keep(const Invocation& call, Console& console, std::int64_t ranks) {
  Keep keep{.run = call.value("save"), .page = {}};
  if (!keep.run.empty() && ranks > kMostSavedRanks)
    return fail(
        Error{.code = Errc::Unsupported,
              .id = "simulate-003",
              .message = fmt::format("a Run of {} ranks would be as many files, at most {} are written",
                                     ranks, kMostSavedRanks),
              .hint = "leave --save out, or simulate fewer ranks",
              .where = {}});
  if (!keep.run.empty()) COX_CHECK(trace::check_new_run(keep.run));
  if (const std::string page = call.value("report"); !page.empty()) {
    if (page == "-" || page == call.value("output"))
      return fail(usage_error("cli-003", "--report needs a file of its own", "--report page.html"));
    COX_TRY(Output opened,
            Output::open(page, call.has("force") ? IfExists::Replace : IfExists::Fail, console.out));
    keep.page.emplace(std::move(opened));
  }
  return keep;
}

/// The page of what was simulated: diagnosed like a recorded Run, with engine, links and sizes added.
Status write_page(const Invocation& call, Console& console, const simulate::Outcome& outcome,
                  const std::vector<simulate::SizeOutcome>& sizes, Output& page) {
  const auto matched = diagnose::match_run(*outcome.run, {.threads = call.common.threads});
  COX_TRY(const diagnose::Diagnosis diagnosis,
          diagnose::diagnose(*matched, {.threads = call.common.threads}));
  COX_TRY(const std::string text,
          report::render_html(*outcome.run, *matched, diagnosis, {.simulated = &outcome, .scaling = sizes}));
  page.stream() << text;
  COX_CHECK(page.commit());
  if (!call.common.quiet)
    console.err << fmt::format("cox: wrote {}; open it in a browser\n",
                               report::terminal_text(call.value("report")));
  return {};
}

/// The Run of the first seed, where --save or --report want one.
Status write_kept(const Invocation& call, Console& console, const simulate::Outcome& outcome,
                  const std::vector<simulate::SizeOutcome>& sizes, Keep& keep) {
  if (keep.run.empty() && !keep.page) return {};
  if (!outcome.run)
    return fail(Error{
        .code = Errc::Unsupported,
        .id = "simulate-003",
        .message = fmt::format("the {} engine makes no Run of this scenario, which {} needs",
                               model::name_of(outcome.engine), keep.run.empty() ? "--report" : "--save"),
        .hint = "collectives with --engine max-plus or flow, and training, make one",
        .where = {}});
  if (!keep.run.empty()) {
    COX_CHECK(trace::write_run(*outcome.run, keep.run, call.common.threads));
    if (!call.common.quiet)
      console.err << fmt::format("cox: wrote the Run {}; try: cox diagnose {}\n",
                                 report::terminal_text(keep.run), report::terminal_text(keep.run));
  }
  if (keep.page) COX_CHECK(write_page(call, console, outcome, sizes, *keep.page));
  return {};
}

/// Of a job whose links are played, what else could be asked and would be answered in no time.
std::string quick_hint(const model::Scenario& s) {
  const auto left_out = simulate::left_out_without_links(s);
  if (!left_out) return {};
  if (left_out->empty()) return "--engine max-plus answers at once, and leaves nothing out";
  return fmt::format("--engine max-plus answers at once, and leaves out: {}", fmt::join(*left_out, "; "));
}

/// One training step's parts and critical path; nothing for other jobs, and where it would
/// cost more than the simulation.
Result<std::optional<simulate::StepAnalysis>> take_apart(const model::Scenario& s, StepRate* watch) {
  constexpr std::int64_t kMostRanks = 16'384;
  if (s.job.workload() != model::Workload::Training || !s.policy.in_step() || s.cluster.ranks() > kMostRanks)
    return std::nullopt;
  std::function<void(double, double)> progress;
  if (watch != nullptr) progress = [watch](double done, double total) { watch->update(done, total); };
  COX_TRY(const simulate::StepAnalysis made, simulate::analyse_step(s, simulate::middle_step(s), progress));
  return std::optional(made);
}

Result<ExitCode> run_scenario(const Invocation& call, Console& console, Output& output) {
  const std::string& path = call.args.front();
  COX_TRY(const model::ReadScenario made, read(path, call));
  if (call.has("explain")) {
    output.stream() << model::explain_text(made.explained);
    COX_CHECK(output.commit());
    return ExitCode::Ok;
  }
  COX_TRY(const std::vector<int> nodes, node_counts(call));
  if (!nodes.empty() && !made.scenario.job.places.nodes.empty())
    return fail(usage_error(
        "cli-003", "--scaling: the job is on the nodes that job.nodes names, whatever the cluster has",
        "leave job.nodes out, or --scaling"));
  COX_TRY(Keep keep, prepare_keep(call, console, made.scenario.cluster.ranks()));
  const std::chrono::seconds patience = call.has("watch") ? std::chrono::seconds{} : kPatience;
  StepRate watch(console.err, console.err_is_terminal, "steps", patience);
  const bool told = call.has("watch") || !call.common.quiet;
  watch.when_long([&] { return quick_hint(made.scenario); });
  const bool attributed = call.has("attribute") && nodes.empty();
  simulate::SimulateOptions how = options_of(call, told ? &watch : nullptr);
  how.keep_steps = attributed;
  auto simulated = simulate::simulate(made.scenario, how);
  const auto placed = [&](Error error) { return model::placed(std::move(error), made, path); };
  if (!simulated) return fail(placed(std::move(simulated).error()));
  simulate::Outcome outcome = *std::move(simulated);
  std::vector<simulate::SizeOutcome> sizes;
  if (!nodes.empty()) {
    COX_TRY(const model::ScenarioOptions options, changes(call));
    StepRate at(console.err, console.err_is_terminal, "nodes of all sizes", patience);
    simulate::SimulateOptions each{.threads = call.common.threads};
    each.progress = options_of(call, told ? &at : nullptr).progress;
    COX_TRY(sizes, simulate::simulate_sizes(path, nodes, options, each, call.has("attribute")));
    tell_of_sizes(sizes, outcome.not_modelled);
  }
  std::optional<simulate::Attribution> attribution;
  if (attributed) {
    StepRate at(console.err, console.err_is_terminal, "simulations", patience);
    COX_TRY(attribution, simulate::attribute(made.scenario, options_of(call, told ? &at : nullptr), outcome)
                             .map_error(placed));
  }
  std::optional<simulate::KeptDelay> delay;
  if (call.has("delay")) {
    COX_TRY(delay, simulate::follow_delay(made.scenario, options_of(call, nullptr)).map_error(placed));
  }
  COX_CHECK(write_kept(call, console, outcome, sizes, keep));
  StepRate apart(console.err, console.err_is_terminal, "steps until the one that is taken apart", patience);
  COX_TRY(const std::optional<simulate::StepAnalysis> step,
          take_apart(made.scenario, told ? &apart : nullptr));
  if (call.common.json) {
    output.stream() << simulate::to_json(path, made.scenario, outcome, sizes, step ? &*step : nullptr,
                                         attribution ? &*attribution : nullptr, delay ? &*delay : nullptr);
  } else {
    write_lines(output, simulate::text_lines(made.scenario, outcome, step ? &*step : nullptr));
    if (step) output.stream() << '\n';
    if (step) write_lines(output, simulate::text_lines(*step, simulate::middle_step(made.scenario)));
    if (attribution) output.stream() << '\n';
    if (attribution) write_lines(output, simulate::text_lines(*attribution, made.scenario.job.steps));
    if (delay) output.stream() << '\n';
    if (delay) write_lines(output, simulate::text_lines(*delay));
    if (!sizes.empty()) output.stream() << '\n';
    if (!sizes.empty()) write_lines(output, simulate::text_lines(sizes));
  }
  COX_CHECK(output.commit());
  return ExitCode::Ok;
}

Result<ExitCode> run_comparison(const Invocation& call, Console& console, Output& output) {
  const std::string& path = call.args.front();
  const std::string against = call.value("against");
  COX_TRY(const model::ReadScenario a, read(path, call));
  COX_TRY(const model::ReadScenario b, read(against, call));
  if (a.scenario.job.steps != b.scenario.job.steps)
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "simulate-003",
                      .message = fmt::format("totals of {} steps and of {} steps cannot be compared",
                                             a.scenario.job.steps, b.scenario.job.steps),
                      .hint = fmt::format("add --set job.steps={}", a.scenario.job.steps),
                      .where = Where{.file = against}});
  StepRate watch(console.err, console.err_is_terminal, "pairs of seeds", kPatience);
  const auto placed = [&](Error error, bool second) {
    error = model::placed(std::move(error), second ? b : a, second ? against : path);
    if (!error.where) error.where = Where{.file = second ? against : path};
    return error;
  };
  COX_TRY(const simulate::PairedTotals made,
          simulate::compare(a.scenario, b.scenario, options_of(call, call.common.quiet ? nullptr : &watch),
                            placed));
  if (call.common.json) {
    output.stream() << simulate::to_json({path, against}, made);
  } else {
    write_lines(output, simulate::text_lines(a.scenario.name, b.scenario.name, made));
  }
  COX_CHECK(output.commit());
  return ExitCode::Ok;
}

Result<ExitCode> run_goal(const Invocation& call, Console& /*console*/, Output& output) {
  const std::string path = call.value("goal");
  COX_TRY(const simulate::LogGops cost,
          simulate::parse_loggops(call.value("loggops", kLogGops)).map_error([](Error error) {
            error.message = "--loggops: " + error.message;
            return error;
          }));
  COX_TRY(const simulate::EventOutcome made, simulate::simulate_goal(path, cost));
  if (call.common.json) {
    output.stream() << simulate::to_json(path, made);
  } else {
    write_lines(output, simulate::text_lines(path, made));
  }
  COX_CHECK(output.commit());
  return ExitCode::Ok;
}

Result<ExitCode> run_sweep(const Invocation& call, Console& console) {
  const std::string path = call.value("sweep");
  const std::string name = call.value("output");
  if (name.empty() || name == "-")
    return fail(usage_error("cli-003", "--sweep needs a file to write to, with -o",
                            "cox simulate --sweep s.toml -o s.json"));
  const observe::LaunchPlace place = observe::launch_place();
  const simulate::Share share{.rank = std::max(0, place.rank), .of = std::max(1, place.world_size)};
  COX_TRY(const simulate::Sweep sweep, simulate::read_sweep(path));
  // Of several processes, a late one may find the result of its own sweep: then the journal is there too.
  std::error_code ignored;
  const bool own = share.of > 1 && std::filesystem::exists(name + ".points", ignored);
  if (!own && std::filesystem::exists(name, ignored) && !call.has("force"))
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "base-005",
                      .message = "exists already",
                      .hint = "name another file, or add --force to replace it",
                      .where = Where{.file = name}});
  std::optional<StepRate> watch;
  if (call.has("watch") && share.rank == 0) watch.emplace(console.err, console.err_is_terminal, "points");
  simulate::SweepOptions options{
      .output = name, .share = share, .threads = call.common.threads, .progress = {}};
  if (watch)
    options.progress = [&watch](std::int64_t done, std::int64_t total) {
      watch->update(static_cast<double>(done), static_cast<double>(total));
    };
  COX_TRY(const simulate::SweepProgress done, simulate::run_sweep(sweep, options));
  if (!call.common.quiet)
    console.err << fmt::format(
        "cox: {} points: {} found, {} computed{}{}\n", done.points, done.found, done.computed,
        done.failed > 0 ? fmt::format(", {} could not be simulated (their `error` says why)", done.failed)
                        : "",
        done.merged ? fmt::format("; wrote {}", report::terminal_text(name)) : "; others are still at it");
  return ExitCode::Ok;
}

/// Exactly one of: a scenario, --goal, --sweep, --schema.
Status check_input(const Invocation& call) {
  const int given = int{!call.args.empty()} + int{!call.value("goal").empty()} +
                    int{!call.value("sweep").empty()} + int{call.has("schema")};
  if (given == 1) return {};
  return fail(usage_error(given == 0 ? "cli-004" : "cli-003",
                          given == 0 ? "nothing to simulate: expected SCENARIO, --goal, --sweep or --schema"
                                     : "SCENARIO, --goal, --sweep and --schema clash, expected one of them",
                          "cox simulate scenario.toml"));
}

/// Options that would be ignored beside `mode` are refused.
Status refuse_beside(const Invocation& call, std::string_view mode,
                     std::initializer_list<std::string_view> others) {
  for (const std::string_view other : others) {
    const bool given = other == "json" ? call.common.json : call.has(other) || !call.value(other).empty();
    if (given)
      return fail(usage_error("cli-003", fmt::format("--{} has no meaning {}", other, mode),
                              "leave it out; `cox simulate --help` says what each does"));
  }
  return {};
}

Status check_flags(const Invocation& call) {
  if (call.has("schema"))
    return refuse_beside(
        call, "beside --schema",
        {"json", "against", "explain", "set", "engine", "seed", "replicas", "no-memo", "no-closure", "save",
         "report", "scaling", "attribute", "delay", "loggops", "watch"});
  if (!call.value("sweep").empty())
    return refuse_beside(call, "beside --sweep",
                         {"json", "against", "explain", "set", "engine", "seed", "replicas", "no-memo",
                          "no-closure", "save", "report", "scaling", "attribute", "delay", "loggops"});
  if (!call.value("goal").empty())
    return refuse_beside(call, "beside --goal",
                         {"against", "explain", "set", "engine", "seed", "replicas", "no-memo", "no-closure",
                          "save", "report", "scaling", "attribute", "delay", "watch"});
  if (call.has("explain"))
    return refuse_beside(call, "beside --explain",
                         {"json", "against", "no-memo", "no-closure", "save", "report", "scaling",
                          "attribute", "delay", "loggops", "watch"});
  if (!call.value("against").empty())
    return refuse_beside(call, "beside --against",
                         {"save", "report", "scaling", "attribute", "delay", "loggops", "watch"});
  return refuse_beside(call, "without --goal", {"loggops"});
}

Result<ExitCode> run(const Invocation& call, Console& console) {
  COX_CHECK(check_input(call));
  COX_CHECK(check_flags(call));
  if (!call.value("sweep").empty()) return run_sweep(call, console);
  const auto if_exists = call.has("force") ? IfExists::Replace : IfExists::Fail;
  COX_TRY(Output output, Output::open(call.value("output"), if_exists, console.out));
  if (call.has("schema")) {
    output.stream() << model::scenario_schema();
    COX_CHECK(output.commit());
    return ExitCode::Ok;
  }
  if (!call.value("goal").empty()) return run_goal(call, console, output);
  if (!call.value("against").empty()) return run_comparison(call, console, output);
  return run_scenario(call, console, output);
}

std::vector<FlagSpec> flags() {
  return {
      {.name = "against",
       .value = "FILE",
       .help = "the same with this scenario, on the same draws, and the difference with its interval",
       .complete = Complete::File},
      {.name = "explain",
       .help = "print every value of the scenario and where it came from; simulate nothing"},
      {.name = "set",
       .value = "KEY=VALUE,...",
       .help = "values instead of the file's: cluster.nodes=64,job.compute=5ms"},
      {.name = "engine",
       .value = "NAME",
       .help = "how to simulate, whatever the scenario says",
       .complete = Complete::Choices,
       .choices = {"auto", "closed-form", "max-plus", "flow", "event"}},
      {.name = "seed", .value = "N", .help = "of all draws, whatever the scenario says"},
      {.name = "replicas", .value = "N", .help = "seeds to simulate, for mean, quantiles and interval"},
      {.name = "no-memo", .help = "flow engine: solve repeated states again"},
      {.name = "no-closure", .help = "max-plus engine: evaluate every round of uniform collectives"},
      {.name = "save",
       .value = "DIR",
       .help = "write the Run of the first seed, for diagnose and report",
       .complete = Complete::Folder},
      {.name = "report",
       .value = "FILE",
       .help = "write a page: timeline, load of the links, time against size",
       .complete = Complete::File},
      {.name = "scaling",
       .value = "N,N,...",
       .help = "also at these numbers of nodes: time and efficiency per size"},
      {.name = "attribute",
       .help =
           "what each mechanism costs (noise, oversubscription, failures, ...): by switching them off on the same "
           "draws; with --scaling, at each size"},
      {.name = "delay",
       .help =
           "what is kept of a delay that [[noise]] injects once, step by step: beside the same draws without it"},
      {.name = "goal",
       .value = "FILE",
       .help = "simulate a GOAL schedule, text or binary",
       .complete = Complete::File},
      {.name = "loggops", .value = "PARAMETERS", .help = "cost of messages for --goal", .fallback = kLogGops},
      {.name = "sweep",
       .value = "FILE",
       .help = "simulate a grid of scenarios; under mpirun or srun, each rank its share",
       .complete = Complete::File},
      {.name = "schema", .help = "print the JSON schema of scenarios, for editors"},
      {.name = "watch", .help = "say how far it is, and steps/s"},
      {.name = "output",
       .letter = 'o',
       .value = "FILE",
       .help = "write there instead of to standard output",
       .complete = Complete::File},
      {.name = "force", .letter = 'f', .help = "replace FILE where it exists"}};
}

}  // namespace

const Command& simulate_command() {
  static const Command command{
      .spec =
          {.name = "simulate",
           .summary = "say what a job would do on a cluster that is described in a file",
           .about = "Simulates the steps of a job on a cluster, both described in a scenario file.",
           .examples = {{"cox simulate scenario.toml", "how long it takes, and what sets the pace"},
                        {"cox simulate a.toml --against b.toml --replicas 100",
                         "which is better, on the same draws"},
                        {"cox simulate scenario.toml --save run && cox diagnose run",
                         "diagnose it like a recorded job"},
                        {"mpirun -n 4 cox simulate --sweep sweep.toml -o sweep.json",
                         "a grid, spread over ranks"}},
           .args = {{.name = "SCENARIO",
                     .help = "a scenario (TOML)",
                     .required = false,
                     .complete = Complete::File}},
           .flags = flags(),
           .shared = {.json = true, .threads = true},
           .notes =
               "The output names the engine and the protocol of messages. "
               "The same scenario and seed give the same bytes on every machine, for any number of "
               "threads. A sweep that was ended goes on where it was: finished points are kept beside the output in FILE.points."},
      .run = run};
  return command;
}

}  // namespace cox::cli
