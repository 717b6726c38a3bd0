// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/train_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cox/model/toml.hpp"
#include "cox/report/terminal.hpp"
#include "cox/train/train.hpp"

#include "cli/frame/interrupt.hpp"
#include "cli/input/changes.hpp"
#include "cli/input/number_flag.hpp"
#include "cli/input/run_input.hpp"
#include "cli/output/failure.hpp"
#include "cli/output/output_file.hpp"
#include "cli/output/step_rate.hpp"
#include "cli/output/terminal.hpp"

namespace cox::cli {
namespace {

constexpr const char* kProblem = "quadratic,dimension=100,condition=30,noise=0.2";
constexpr const char* kOptimizer = "sgd,rate=0.1";

Result<train::Carrier> carrier_of(const Invocation& call) {
  const std::string word = call.value("transport", "threads");
  for (int c = 0; c <= static_cast<int>(train::kLastCarrier); ++c)
    if (word == name_of(static_cast<train::Carrier>(c))) return static_cast<train::Carrier>(c);
  return fail(usage_error(
      "cli-003", fmt::format("--transport: got '{}', expected threads, openmpi, mpich or gloo", word),
      "threads need nothing but cox"));
}

/// The policy of the scenario, where none is named.
Result<learn::Way> way_of(const Invocation& call, const model::Scenario& scenario) {
  const std::string text = call.value("policy");
  if (!text.empty()) return learn::read_way(text);
  return learn::Way{.name = std::string(name_of(scenario.policy.kind)), .policy = scenario.policy};
}

/// The folder of this program, where those of the ranks lie.
std::filesystem::path own_folder() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
}

Result<train::TrainQuestion> question_of(const Invocation& call) {
  train::TrainQuestion q{.problem = call.value("problem", kProblem),
                         .optimizer = call.value("optimizer", kOptimizer),
                         .all_reduce = call.value("all-reduce", "fixed-order"),
                         .layout = call.value("layout", "data-parallel"),
                         .programs = own_folder()};
  if (call.value("procs").empty())
    return fail(usage_error("cli-003", "--procs: got nothing, expected how many processes",
                            "say it, like --procs 2"));
  COX_TRY(q.procs, number_flag<int>(call, "procs", 1, 1, 4096, "a whole number"));
  COX_TRY(q.carrier, carrier_of(call));
  COX_TRY(q.samples, number_flag<std::int64_t>(call, "batch", 1, 1, 1 << 20, "a whole number"));
  COX_TRY(q.steps, number_flag<std::int64_t>(call, "steps", 200, 1, 1'000'000, "a whole number"));
  COX_TRY(const double patience, number_flag<double>(call, "patience", 60, 0.1, 86'400, "seconds"));
  q.patience = Seconds{patience};
  q.checkpoint = call.value("checkpoint");
  q.every = call.value("checkpoint-every", "100");
  q.beside = !call.has("checkpoint-in-step");
  q.resume = call.has("resume");
  q.inject = call.value("inject");
  q.predict = call.has("predict");
  if (q.checkpoint.empty() && (q.resume || !q.beside || !call.value("checkpoint-every").empty()))
    return fail(
        usage_error("cli-003",
                    fmt::format("--{}: got no folder of checkpoints",
                                q.resume ? "resume" : (q.beside ? "checkpoint-every" : "checkpoint-in-step")),
                    "say it, like --checkpoint saved"));
  const std::string launch = call.value("launch");
  for (std::size_t at = 0; at < launch.size();) {
    const std::size_t end = std::min(launch.find(' ', at), launch.size());
    if (end > at) q.launch.push_back(launch.substr(at, end - at));
    at = end + 1;
  }
  if (!launch.empty() && q.carrier == train::Carrier::Threads)
    return fail(usage_error("cli-003", "--launch: got a command, and threads are started by none",
                            "leave it out, or say --transport openmpi, mpich or gloo"));
  if (!call.value("record").empty() && call.value("record") == call.value("output"))
    return fail(usage_error("cli-003",
                            fmt::format("--record: got '{}', which --output writes", call.value("record")),
                            "name two files"));
  return q;
}

/// Words of --set that make no other job: nothing but replicas, the policy and, where asked for, stages is taken of a scenario.
Result<std::vector<std::string>> notes_of(const Invocation& call, const model::Scenario& scenario,
                                          const std::string& layout) {
  const std::vector<std::string> all = split_changes(call.value("set"));
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<std::string> others = all;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const auto without = model::read_scenario(call.args.front(), {.set = others});
    if (without && train::same_job(without->scenario, scenario, layout))
      notes.push_back(fmt::format(
          "--set {} changes nothing here: of a scenario, processes take its replicas and its policy{}",
          all[i],
          layout.starts_with("pipeline") ? ", and its stages"
          : layout == "tensor"           ? ", and its degree"
                                         : ""));
  }
  return notes;
}

/// `1200 of 10000 steps, 410 steps/s, about 21.5 s left; loss 0.31`: one line on a terminal, else one every ten seconds of work that
/// takes longer.
class ToldSteps {
 public:
  ToldSteps(Console& console, std::int64_t steps)
      : console_(console),
        steps_(static_cast<double>(steps)),
        rate_(line_, console.err_is_terminal, "steps",
              std::chrono::seconds(console.err_is_terminal ? 1 : 10)) {}
  void say(std::int64_t version, double loss) {
    rate_.update(static_cast<double>(version), steps_);
    std::string line = line_.str();
    if (line.empty()) return;
    line_.str({});
    while (!line.empty() && line.back() == '\n') line.pop_back();
    const std::string end = "\x1b[K";
    if (line.ends_with(end)) line.resize(line.size() - end.size());
    console_.err << line << fmt::format("; loss {:.4g}", loss) << (console_.err_is_terminal ? end : "\n")
                 << std::flush;
    drew_ = true;
  }
  void finish() {
    if (drew_ && console_.err_is_terminal) console_.err << "\r\x1b[K" << std::flush;
  }

 private:
  Console& console_;
  double steps_;
  std::ostringstream line_;
  StepRate rate_;
  bool drew_ = false;
};

Result<ExitCode> run(const Invocation& call, Console& console) {
  COX_TRY(Output output, Output::open(call.value("output"),
                                      call.has("force") ? IfExists::Replace : IfExists::Fail, console.out));
  COX_TRY(train::TrainQuestion question, question_of(call));
  COX_TRY(const model::ReadScenario read,
          model::read_scenario(call.args.front(), {.set = split_changes(call.value("set"))}));
  COX_TRY(question.way, way_of(call, read.scenario));
  std::optional<Output> record;
  if (!call.value("record").empty()) {
    COX_TRY(Output opened, Output::open(call.value("record"),
                                        call.has("force") ? IfExists::Replace : IfExists::Fail, console.out));
    record.emplace(std::move(opened));
    question.record = &record->stream();
  }
  COX_TRY(question.notes, notes_of(call, read.scenario, question.layout));
  std::optional<FinishFirst> finishing(std::in_place);
  question.stop = interrupted;
  ToldSteps told(console, question.steps);
  if (!call.common.quiet)
    question.told = [&told](std::int64_t version, double loss) { told.say(version, loss); };
  const auto made = train::train(read.scenario, question, call.args);
  told.finish();
  if (!made && interrupted()) {  // leaves with the guard
    console.err << describe(made.error(), false) << std::flush;
    return ExitCode::Interrupted;
  }
  if (!made) {
    finishing.reset();
    return fail(made.error());
  }
  if (call.common.json) {
    output.stream() << made->json;
  } else {
    const report::TextStyle style =
        text_style(call.common.color, console.out_is_terminal && !output.is_file(), console);
    for (const TextLine& line : made->lines) output.stream() << report::render_line(line, style);
  }
  if (record) COX_CHECK(record->commit());
  COX_CHECK(output.commit());
  console.out << std::flush;
  if (made->stopped) return ExitCode::Interrupted;
  return made->diverged ? ExitCode::BadAnswer : ExitCode::Ok;
}

}  // namespace

const Command& train_command() {
  static const Command command{
      .spec =
          {.name = "train",
           .summary = "learn on real processes what cox learn learns in virtual time, to the bit",
           .about = "Carries a scenario's training job out on processes, with a small real problem.",
           .examples =
               {{"cox train job.toml --procs 4", "four threads, a quarter of the workers each"},
                {"cox train job.toml --procs 4 --transport openmpi", "four processes under mpirun"},
                {"cox train job.toml --procs 4 --all-reduce double-binary-tree", "summed in that order"},
                {"cox train job.toml --procs 4 --layout pipeline --problem mlp",
                 "the scenario's stages and micro-batches"},
                {"cox train job.toml --procs 4 --layout tensor --problem mlp,blocks=4",
                 "its tensor groups: slices of every layer"},
                {"cox train job.toml --procs 4 --policy diloco,local-steps=20", "meet every 20 steps"},
                {"cox train job.toml --procs 4 --policy bounded-wait,staleness=2",
                 "a server, and three processes that compute"},
                {"cox train job.toml --procs 4 --policy synchronous+bf16,master=yes", "mixed precision"},
                {"cox train job.toml --procs 4 --checkpoint saved --resume",
                 "save every 100 steps; started again it goes on"},
                {"cox train job.toml --procs 2 --record updates.csv",
                 "write the updates down, for cox learn updates.csv"}},
           .args = {{.name = "SCENARIO",
                     .help = "with a training job (.toml): its replicas are the workers",
                     .complete = Complete::File}},
           .flags =
               {{.name = "procs", .value = "N", .help = "processes; each holds a stretch of the workers"},
                {.name = "transport",
                 .value = "NAME",
                 .help = "threads, openmpi, mpich or gloo",
                 .fallback = "threads"},
                {.name = "policy",
                 .value = "NAME",
                 .help = "way of synchronising; without it the scenario's"},
                {.name = "problem",
                 .value = "KIND,KEY=VALUE,...",
                 .help = "what is learned",
                 .fallback = kProblem},
                {.name = "optimizer",
                 .value = "KIND,KEY=VALUE,...",
                 .help = "and how",
                 .fallback = kOptimizer},
                {.name = "batch", .value = "N", .help = "samples of a worker in a step", .fallback = "1"},
                {.name = "steps", .value = "N", .help = "of each worker", .fallback = "200"},
                {.name = "all-reduce",
                 .value = "NAME",
                 .help = "fixed-order, or an algorithm",
                 .fallback = "fixed-order"},
                {.name = "layout",
                 .value = "NAME",
                 .help = "data-parallel, zero-1, zero-2, zero-3, pipeline or tensor: who keeps what",
                 .fallback = "data-parallel"},
                {.name = "launch", .value = "WORDS", .help = "starts the ranks, such as 'mpirun -n 4'"},
                {.name = "checkpoint",
                 .value = "FOLDER",
                 .help = "save the job there",
                 .complete = Complete::File},
                {.name = "checkpoint-every",
                 .value = "N",
                 .help = "steps between checkpoints, or 5% of the time for all of them",
                 .fallback = "100"},
                {.name = "checkpoint-in-step",
                 .help = "steps wait until a checkpoint is written; without it a copy is, beside them"},
                {.name = "resume", .help = "go on from the newest whole checkpoint"},
                {.name = "patience",
                 .value = "SECONDS",
                 .help = "how long a process waits for a message",
                 .fallback = "60"},
                {.name = "predict", .help = "let the first steps predict the rest, and say both at the end"},
                {.name = "inject",
                 .value = "FAULT",
                 .help = "a fault on purpose: rank=1,delay=0.02 (seconds a step) or rank=1,nan=5"},
                {.name = "set", .value = "KEY=VALUE,...", .help = "change the scenario, as in cox simulate"},
                {.name = "record",
                 .value = "FILE",
                 .help = "write the updates and their times there",
                 .complete = Complete::File},
                {.name = "output",
                 .letter = 'o',
                 .value = "FILE",
                 .help = "write there instead of to standard output",
                 .complete = Complete::File},
                {.name = "force", .letter = 'f', .help = "replace FILE where it exists"}},
           .shared = {.json = true},
           .notes =
               "Losses are those of cox learn along the same updates, bit for bit, for any number of processes; by an "
               "all-reduce other than fixed-order they have that algorithm's order. What is carried out and what is not: "
               "docs/concepts/training-on-processes.md. Exit code 1: what is learned diverged; 4: a process waited in vain."},
      .run = run};
  return command;
}

}  // namespace cox::cli
