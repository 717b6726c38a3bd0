// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/observe_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstring>
#include <limits>
#include <optional>
#include <ostream>
#include <system_error>
#include <utility>
#include <vector>

#include "cox/base/child.hpp"
#include "cox/base/units_text.hpp"
#include "cox/guest/pace_text.hpp"
#include "cox/observe/launch.hpp"
#include "cox/observe/recording.hpp"
#include "cox/observe/stand_by.hpp"
#include "cox/pace/settings.hpp"
#include "cox/report/terminal.hpp"
#include "cox/trace/compact.hpp"
#include "cox/trace/run_files.hpp"

#include "cli/frame/interrupt.hpp"
#include "cli/input/recorded.hpp"
#include "cli/input/run_input.hpp"
#include "cli/output/envelope.hpp"
#include "cli/output/failure.hpp"
#include "cli/output/given_descriptor.hpp"
#include "cli/output/output_file.hpp"

namespace cox::cli {
namespace {

/// How long ranks are waited for that outlive their launcher.
constexpr std::chrono::seconds kPatience{3};

/// `run` where it lies in the current folder: that is what the next command needs.
std::string shown(const std::filesystem::path& dir) {
  std::error_code ec;
  const auto here = std::filesystem::current_path(ec);  // which somebody may have removed
  if (ec) return report::terminal_text(dir.string());
  const auto relative = std::filesystem::relative(dir, here, ec);
  if (ec || relative.empty() || *relative.begin() == "..") return report::terminal_text(dir.string());
  return report::terminal_text(relative.string());
}

/// Many processes that run at the same time and each think that they are alone.
std::string singletons(std::int64_t count) {
  return fmt::format(
      "cox: warning: {} processes that ran at the same time each say that they are rank 0 of 1: the launcher "
      "and the MPI library of the program do not match (mpirun of one MPI, library of another)\n",
      count);
}

/// Why nothing was recorded although it could have been, as a sentence's end.
std::string why_nothing(const observe::LaunchOutcome& outcome) {
  std::error_code ec;
  if (std::filesystem::exists(outcome.dir / trace::kDetachFile, ec))
    return "`cox detach` ended recording before any process began";
  return "no process used a library that cox observes, or it is static or setuid, or it has COX_DISABLE set\n"
         "cox: next: cox doctor";
}

/// What `cox` says where a launcher started it once per rank: only rank 0 talks, and it knows only what lies
/// there so far.
std::string shared_summary(const observe::LaunchOutcome& outcome, const Recorded& heads, bool anything,
                           const std::string& dir) {
  if (!anything && outcome.untouched) return {};
  if (!anything) {
    const std::string why = observe::why_no_file(outcome.dir);
    return why.empty()
               ? fmt::format("cox: warning: rank {} recorded nothing in {}: {}\n", outcome.rank, dir,
                             why_nothing(outcome))
               : fmt::format("cox: warning: rank {} could not record into {}: {}\n", outcome.rank, dir, why);
  }
  std::string text;
  if (heads.alone > 0 && outcome.world_size > 1) text = singletons(outcome.world_size);
  text += fmt::format("cox: rank {} has ended; all ranks of this launch record into {}\n", outcome.rank, dir);
  return text + fmt::format("cox: next: cox diagnose {} (hosts with folders of their own: cox collect)\n",
                            shell_word(dir));
}

/// Why a folder that was recorded into holds nothing that can be read now.
std::string why_gone(const std::filesystem::path& dir) {
  std::error_code ec;
  const std::filesystem::directory_iterator at(dir, ec);
  return ec ? ec.message() : "it is another folder, or was emptied";
}

/// Why part of the record is missing.
std::string storage_words(const observe::LaunchOutcome& outcome, const Recorded& heads) {
  const auto told = static_cast<std::int64_t>(outcome.unwritten.size());
  const std::int64_t count = std::max(heads.storage_failed, told);
  return fmt::format("cox: warning: {} {} could not write all of it: {}", count,
                     count == 1 ? "process" : "processes",
                     std::strerror(told > 0 ? outcome.unwritten.front().error : heads.storage_errno));
}

bool storage_failed(const observe::LaunchOutcome& outcome, const Recorded& heads) {
  return heads.storage_failed > 0 || !outcome.unwritten.empty();
}

/// Why no rank left anything, as far as that can be told afterwards.
std::string nothing_recorded(const observe::LaunchOutcome& outcome, const Recorded& heads,
                             const std::string& dir) {
  if (outcome.untouched) return {};                    // said before the job
  if (heads.files == 0 && !outcome.unwritten.empty())  // not even its beginning
    return fmt::format("cox: warning: no rank could record into {}: {}\n", dir,
                       std::strerror(outcome.unwritten.front().error));
  if (storage_failed(outcome, heads)) return storage_words(outcome, heads) + '\n';
  if (heads.files > 0)
    return fmt::format(
        "cox: warning: {} {} into {} without saying which rank: a program that marks calls cox_rank\n",
        heads.files, heads.files == 1 ? "process recorded" : "processes recorded", dir);
  if (outcome.began > 0)
    return fmt::format("cox: warning: {} {} began to record into {}, and nothing can be read there now: {}\n",
                       outcome.began, outcome.began == 1 ? "process" : "processes", dir,
                       why_gone(outcome.dir));
  if (const std::string why = observe::why_no_file(outcome.dir); !why.empty())
    return fmt::format("cox: warning: no rank could record into {}: {}\n", dir, why);
  return fmt::format("cox: warning: no rank recorded anything in {}: {}\n", dir, why_nothing(outcome));
}

/// Events, or why there is no number of them yet.
std::string events_words(const trace::CompactReport& compacted) {
  if (compacted.kept_raw == 0) return fmt::format("{} events", compacted.events);
  const std::string rest = fmt::format(
      "{} {} not counted yet", compacted.kept_raw,
      compacted.kept_raw == 1 ? "process that may still run is" : "processes that may still run are");
  return compacted.files == 0 ? rest : fmt::format("{} events; {}", compacted.events, rest);
}

/// The lines that end every observed job.
std::string summary(const observe::LaunchOutcome& outcome, const Recorded& heads,
                    const trace::CompactReport& compacted, const std::string& dir) {
  if (heads.ranks.empty()) return nothing_recorded(outcome, heads, dir);
  const auto seen = static_cast<std::int64_t>(heads.ranks.size());
  std::string line = seen < heads.world_size
                         ? fmt::format("cox: recorded {} of {} ranks", seen, heads.world_size)
                         : fmt::format("cox: recorded {} {}", seen, seen == 1 ? "rank" : "ranks");
  line += fmt::format(", {} in {} ({}); own cost {} per event, {} dropped", events_words(compacted), dir,
                      to_string(compacted.compact_bytes), to_string(heads.overhead_per_event),
                      heads.dropped_records);
  if (heads.recycled_records > 0) line += fmt::format(", {} old ones made room", heads.recycled_records);
  if (heads.disabled > 0)
    line += fmt::format(", {} {} switched recording off", heads.disabled,
                        heads.disabled == 1 ? "process" : "processes");
  if (heads.detached > 0) line += fmt::format(", {} were detached", heads.detached);
  if (heads.singletons > 1) line = singletons(heads.alone) + line;
  if (storage_failed(outcome, heads)) line += "\n" + storage_words(outcome, heads);
  if (seen < heads.world_size && !outcome.hint.empty()) line += fmt::format("\ncox: hint: {}", outcome.hint);
  if (compacted.kept_raw > 0)
    line += fmt::format("\ncox: hint: cox compact {} puts the rest away once those processes are gone", dir);
  return line + fmt::format("\ncox: next: cox diagnose {}\n", shell_word(dir));
}

/// Null where they are not counted yet.
JsonValue counted_events(const trace::CompactReport& compacted) {
  if (compacted.files == 0 && compacted.kept_raw > 0) return std::numeric_limits<double>::quiet_NaN();
  return compacted.events;
}

std::string summary_json(const observe::LaunchOutcome& outcome, const Recorded& heads,
                         const trace::CompactReport& compacted) {
  return to_json({.schema = "cox.observe/1"},
                 JsonObject{{"run", outcome.dir.string()},
                            {"exit_status", std::int64_t{outcome.exit_status}},
                            {"wall_s", in_seconds(outcome.wall)},
                            {"ranks_seen", static_cast<std::int64_t>(heads.ranks.size())},
                            {"ranks_expected", std::int64_t{heads.world_size}},
                            {"events", counted_events(compacted)},
                            {"processes_not_counted", compacted.kept_raw},
                            {"raw_bytes", compacted.raw_bytes.count()},
                            {"compact_bytes", compacted.compact_bytes.count()},
                            {"overhead_per_event_s", in_seconds(heads.overhead_per_event)},
                            {"dropped_records", static_cast<std::int64_t>(heads.dropped_records)},
                            {"recycled_records", static_cast<std::int64_t>(heads.recycled_records)}});
}

/// Where `--json` puts the summary.
struct SummaryPlace {
  std::string file;                      ///< empty: nobody asked for it
  std::optional<GivenDescriptor> given;  ///< in place of the file
};

Status write_summary(const SummaryPlace& place, const std::string& summary, Console& console) {
  if (place.given) return place.given->write(summary);
  COX_TRY(Output output, Output::open(place.file, IfExists::Replace, console.out));
  output.stream() << summary;
  return output.commit();
}

/// The end of a `cox` that is one of several of one launch: puts away what was recorded below it and, on rank 0,
/// says so. Of files that others left none is opened, so that this costs the same whatever the size of the job. Whatever goes wrong here is not the job's concern.
void end_shared(const observe::LaunchOutcome& outcome, const Invocation& call, Console& console) {
  const std::filesystem::path folder = trace::own_host_folder(outcome.dir);
  const bool speaks = outcome.rank == 0 && !call.common.quiet;
  const Recorded heads = speaks ? read_heads(folder, trace::observer_mark(::getpid())) : Recorded{};
  const Result<trace::CompactReport> compacted =
      trace::compact_run(folder, 1, trace::CompactScope::Observer, ::getpid());
  if (!speaks) return;
  if (compacted && call.common.verbose) warn_about(compacted->notes, call, console);
  console.err << shared_summary(outcome, heads, compacted.has_value(), shown(outcome.dir));
  if (!compacted && compacted.error().id != "trace-002" && compacted.error().id != "trace-005")
    console.err << fmt::format("cox: warning: {} [{}]\n",
                               report::terminal_text(compacted.error().to_string()), compacted.error().id);
}

/// Actuators other than the delay; each is off unless asked for.
Status read_actuators(const Invocation& call, pace::Mode mode, observe::LaunchOptions& options) {
  options.pace_priority = call.has("pace-priority");
  if (options.pace_priority && mode == pace::Mode::Off)
    return fail(usage_error("cli-003",
                            fmt::format("--pace-priority {}: nothing would tell which rank is late",
                                        options.pace.empty() ? "without --pace" : "with --pace off"),
                            "add --pace observe, or a mode that paces"));
  const std::string wait_mode = call.value("wait-mode");
  for (const pace::WaitMode m : {pace::WaitMode::Spin, pace::WaitMode::Yield, pace::WaitMode::Block})
    if (wait_mode == name_of(m)) options.wait_mode = m;
  const std::string cap = call.value("energy-cap");
  if (cap.empty()) return {};
  double ratio = 0;
  const auto [at, problem] = std::from_chars(cap.data(), cap.data() + cap.size(), ratio);
  if (problem != std::errc{} || at != cap.data() + cap.size())
    return fail(usage_error("cli-003",
                            fmt::format("--energy-cap is '{}', expected a ratio", cap.substr(0, 40)),
                            "for example --energy-cap 0.8"));
  options.energy_cap = ratio;
  return {};
}

/// `0,2-5`: numbers and ranges that ascend.
bool is_list_of_cpus(std::string_view text) {
  const auto take_number = [&](int& number) {
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem != std::errc{} || number < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
  };
  for (;;) {
    int first = 0;
    if (!take_number(first)) return false;
    int last = first;
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      if (!take_number(last) || last < first) return false;
    }
    if (text.empty()) return true;
    if (!text.starts_with(',')) return false;
    text.remove_prefix(1);
  }
}

/// What the guest's own thread does in each process of the job.
Status read_keeping(const Invocation& call, observe::LaunchOptions& options) {
  constexpr int kLongest = 3600;
  if (const std::string sync = call.value("sync"); call.values.contains("sync")) {
    int seconds = 0;
    const auto [at, problem] = std::from_chars(sync.data(), sync.data() + sync.size(), seconds);
    if (problem != std::errc{} || at != sync.data() + sync.size() || seconds < 0 || seconds > kLongest)
      return fail(usage_error(
          "cli-003", fmt::format("--sync is '{}', expected whole seconds, 0 to 3600", sync.substr(0, 40)),
          "for example --sync 30"));
    options.sync_seconds = seconds;
  }
  options.keeper_cpus = call.value("keeper-cpus");
  if (!options.keeper_cpus.empty() && !is_list_of_cpus(options.keeper_cpus))
    return fail(usage_error(
        "cli-003",
        fmt::format("--keeper-cpus is '{}', expected a list of CPUs", options.keeper_cpus.substr(0, 40)),
        "for example --keeper-cpus 0,64"));
  return {};
}

/// The mode of --pace, a text that the guests will read again.
Result<pace::Mode> asked_mode(const Invocation& call) {
  if (!call.values.contains("pace")) return pace::Mode::Off;
  const std::string text = call.value("pace");
  pace::Settings settings;
  const std::ptrdiff_t refused = guest::read_pace(text.c_str(), settings);
  if (refused < 0 && guest::names_mode(text.c_str())) return settings.mode;
  std::string why = "no mode in it";
  if (refused >= 0) {
    const std::string part = text.substr(static_cast<std::size_t>(refused), 40);
    why = fmt::format("not understood from '{}' on", part.substr(0, part.find(',')));
  }
  return fail(usage_error(
      "cli-003", fmt::format("--pace is '{}', expected MODE[,key=value...]: {}", text.substr(0, 80), why),
      "modes: off, observe, paper, auto, always, random; keys: `cox pace --settings`"));
}

/// Says how the observed job went, and puts away what it left.
void end_alone(const observe::LaunchOutcome& outcome, const SummaryPlace& place, const Invocation& call,
               Console& console) {
  // A launcher that was interrupted may be gone before its ranks are.
  static_cast<void>(observe::wait_for_end(outcome.dir, kPatience));
  const Recorded heads = read_heads(outcome.dir);
  const Result<trace::CompactReport> compacted = trace::compact_run(outcome.dir, call.common.threads);
  if (!compacted && !heads.ranks.empty()) {
    console.err << fmt::format("cox: warning: {} was recorded but not compacted: {} [{}]\n",
                               shown(outcome.dir), report::terminal_text(compacted.error().to_string()),
                               compacted.error().id);
    if (storage_failed(outcome, heads)) console.err << storage_words(outcome, heads) << '\n';
    return;
  }
  const trace::CompactReport report = compacted ? *compacted : trace::CompactReport{};
  if (call.common.verbose) warn_about(report.notes, call, console);
  if (!call.common.quiet) console.err << summary(outcome, heads, report, shown(outcome.dir));
  if (!place.file.empty())
    if (const Status written = write_summary(place, summary_json(outcome, heads, report), console); !written)
      console.err << fmt::format("cox: warning: {} [{}]\n",
                                 report::terminal_text(written.error().to_string()), written.error().id);
}

/// The size that a flag names; nothing where it was not given.
Result<std::optional<Bytes>> size_of(const Invocation& call, const char* flag) {
  const std::string text = call.value(flag);
  if (text.empty()) return std::optional<Bytes>{};
  Result<Bytes> bytes = parse_bytes(text);
  if (bytes) return std::optional(*bytes);
  bytes.error().message = fmt::format("--{}: {}", flag, bytes.error().message);
  return fail(bytes.error());
}

Result<ExitCode> run(const Invocation& call, Console& console) {
  observe::LaunchOptions options{.command = call.job,
                                 .out = call.value("output"),
                                 .force = call.has("force"),
                                 .pace = call.value("pace"),
                                 .lets_go = true};
  COX_TRY(const pace::Mode mode, asked_mode(call));
  COX_TRY(options.max_size, size_of(call, "max-size"));
  COX_TRY(options.max_job_size, size_of(call, "max-job-size"));
  COX_CHECK(read_actuators(call, mode, options));
  COX_CHECK(read_keeping(call, options));
  if (call.value("json") == "-")
    return fail(usage_error("cli-003", "--json is '-', expected a file: standard output is the job's",
                            "for example --json summary.json"));
  COX_TRY(std::optional<GivenDescriptor> given, GivenDescriptor::named(call.value("json")));
  const SummaryPlace place{.file = call.value("json"), .given = std::move(given)};
  options.group_may_read = call.value("share") == "group";
  observe::ignore_own_failures();  // who reads our notes may be gone before the job is
  if (!call.common.quiet && observe::launch_place().rank <= 0) {
    for (const std::string& note : observe::start_notes(options))
      console.err << fmt::format("cox: {}\n", report::terminal_text(note));
    for (const std::string& note : observe::wait_mode_notes(options))
      console.err << fmt::format("cox: wait mode {}: {}\n", name_of(options.wait_mode),
                                 report::terminal_text(note));
  }
  COX_TRY(const observe::LaunchOutcome outcome, observe::launch(options));

  // From here on the job is over and its status stands: trouble of ours is told, never returned.
  const FinishFirst unbroken;
  if (outcome.energy_problem)
    console.err << fmt::format("cox: warning: {}: {} [{}]\ncox: next: {}\n", outcome.energy,
                               outcome.energy_problem->message, outcome.energy_problem->id,
                               outcome.energy_problem->hint);
  else if (!call.common.quiet && !outcome.energy.empty())
    console.err << fmt::format("cox: energy: {}, all back\n", outcome.energy);
  if (outcome.rank >= 0)
    end_shared(outcome, call, console);
  else
    end_alone(outcome, place, call, console);
  console.err.flush();
  observe::end_by(outcome.signal);
  return static_cast<ExitCode>(outcome.exit_status);
}

}  // namespace

const Command& observe_command() {
  static const Command command{
      .spec =
          {.name = "observe",
           .summary = "run a job and record what each of its ranks does",
           .about = "Runs a job as it is and records the collectives, waits and steps of each rank.",
           .examples = {{"cox observe -o run -- mpirun -np 8 ./train", "Open MPI"},
                        {"mpirun -np 8 cox observe -o run -- ./train", "the same, safest over several hosts"},
                        {"cox observe -- python3 train.py", "PyTorch over Gloo, into cox-<pid>-<time>"}},
           .flags = {{.name = "output",
                      .letter = 'o',
                      .value = "DIR",
                      .help = "folder of the Run",
                      .fallback = "cox-<job or pid>-<time>",
                      .complete = Complete::Folder},
                     {.name = "force", .letter = 'f', .help = "replace DIR where it is a Run"},
                     {.name = "max-size",
                      .value = "SIZE",
                      .help = "most that one process writes; then old events make room",
                      .fallback = "256MB"},
                     {.name = "max-job-size",
                      .value = "SIZE",
                      .help = "most that all processes of a launch write together, an equal part each",
                      .fallback = "no bound"},
                     {.name = "sync",
                      .value = "SECONDS",
                      .help = "what a machine that goes down may lose; 0 = as its kernel has it",
                      .fallback = "1"},
                     {.name = "keeper-cpus",
                      .value = "CPUS",
                      .help = "where our thread of each rank runs, where the job may; else as the rank"},
                     {.name = "share",
                      .value = "WHOM",
                      .help = "who may read the Run besides its owner: nobody or group",
                      .fallback = "nobody",
                      .choices = {"nobody", "group"}},
                     {.name = "pace",
                      .value = "MODE",
                      .help = "hold early ranks back: auto, observe, paper ... [,key=value]",
                      .fallback = "off"},
                     {.name = "pace-priority",
                      .help = "priority for a rank that is always late, where it can be undone"},
                     {.name = "wait-mode",
                      .value = "MODE",
                      .help = "how libraries wait: spin, yield or block, where they let it be set",
                      .choices = {"spin", "yield", "block"}},
                     {.name = "energy-cap",
                      .value = "RATIO",
                      .help = "frequency or power limits of this host at RATIO (0.5 to below 1)"},
                     {.name = "json",
                      .value = "FILE",
                      .help = "also write the summary as JSON (standard output is the job's)",
                      .complete = Complete::File}},
           .takes_command = true,
           .notes =
               "The job's output, its signals and its exit status are its own. Nothing in its environment "
               "is replaced, only added. Behind the launcher, started once per rank, all ranks of one launch "
               "share the folder and only rank 0 speaks. At the end two lines on standard error say what "
               "was recorded and what to type next. Where cox itself fails, it exits with 125; 126 where the "
               "command cannot be executed; 127 where it is not found."},
      .run = run};
  return command;
}

}  // namespace cox::cli
