// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/bench_command.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <charconv>
#include <filesystem>
#include <ostream>
#include <system_error>

#include "cox/base/file.hpp"
#include "cox/base/units_text.hpp"
#include "cox/bench/net.hpp"
#include "cox/bench/net_run.hpp"
#include "cox/bench/noise.hpp"
#include "cox/bench/speed.hpp"
#include "cox/report/terminal.hpp"

#include "cli/output/envelope.hpp"
#include "cli/output/failure.hpp"
#include "cli/output/output_file.hpp"

namespace cox::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDefaultDuration = "10s";
constexpr const char* kDefaultThreshold = "1us";
constexpr int kMostCore = 1023;
constexpr int kMostRanks = 1 << 20;
constexpr int kRepetitions = 3;

Error bad_value(std::string_view flag, const std::string& got, std::string_view wanted) {
  return usage_error("cli-003", fmt::format("--{} is '{}', expected {}", flag, got, wanted),
                     "`cox bench --help` lists what it takes");
}

std::string host_name() {
  utsname system{};
  return uname(&system) == 0 ? system.nodename : "this machine";
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::optional<int> whole_number(std::string_view text, int least, int most) {
  int value = 0;
  const auto [at, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || at != text.data() + text.size() || value < least || value > most)
    return std::nullopt;
  return value;
}

/// `0,2-3`.
Result<std::vector<int>> read_cores(const std::string& text) {
  std::vector<int> cores;
  for (const std::string& part : split(text, ',')) {
    const std::size_t dash = part.find('-');
    const auto first = whole_number(std::string_view(part).substr(0, dash), 0, kMostCore);
    const auto last = dash == std::string::npos
                          ? first
                          : whole_number(std::string_view(part).substr(dash + 1), 0, kMostCore);
    if (!first || !last || *last < *first)
      return fail(bad_value("cores", text, "numbers of cores such as 0,2-3"));
    for (int core = *first; core <= *last; ++core) cores.push_back(core);
  }
  return cores;
}

Result<Seconds> read_time(const Invocation& call, std::string_view flag, const char* fallback) {
  auto time = parse_duration(call.value(flag, fallback));
  if (!time) {
    time.error().message = fmt::format("--{}: {}", flag, time.error().message);
    time.error().code = Errc::Usage;
    return fail(time.error());
  }
  if (*time <= Duration::zero() || *time > std::chrono::hours(24))
    return fail(bad_value(flag, call.value(flag), "a time of more than 0 s and at most a day"));
  return Seconds{in_seconds(*time)};
}

IfExists if_exists(const Invocation& call) {
  return call.has("force") ? IfExists::Replace : IfExists::Fail;
}

Result<ExitCode> run_noise(const Invocation& call, Console& console) {
  bench::NoiseOptions options;
  COX_TRY(options.duration, read_time(call, "duration", kDefaultDuration));
  COX_TRY(options.threshold, read_time(call, "threshold", kDefaultThreshold));
  COX_TRY(options.cores, read_cores(call.value("cores")));
  const std::string name = call.value("output");
  if (name == "-") return fail(bad_value("output", name, "a file: the recorded detours go beside it"));
  COX_TRY(Output part, Output::open(name, if_exists(call), console.out));
  const fs::path detours = fs::path(name).replace_extension(".detours");
  COX_TRY(Output recorded, Output::open(name.empty() ? "" : detours.string(), if_exists(call), console.out));

  COX_TRY(const std::vector<bench::DetourTrace> traces, bench::measure_detours(options));
  if (part.is_file()) {
    part.stream() << bench::noise_part(traces, host_name(), detours.filename().string());
    recorded.stream() << bench::detours_text(traces);
    COX_CHECK(recorded.commit());
    COX_CHECK(part.commit());
    if (!call.common.quiet)
      console.err << fmt::format("cox: wrote {} and {}\n", report::terminal_text(name),
                                 report::terminal_text(detours.string()));
  }
  if (!call.common.json) {
    console.out << bench::noise_table(traces);
    return ExitCode::Ok;
  }
  std::vector<JsonObject> list;
  for (const bench::DetourTrace& trace : traces) {
    const bench::NoiseSummary s = summarize(trace);
    list.push_back({{"core", std::int64_t{s.core}},
                    {"duration_s", trace.length.count()},
                    {"detours", s.count},
                    {"detours_per_s", s.per_second},
                    {"detours_per_s_half_width_95", s.per_second_half_width_95},
                    {"median_s", s.median.count()},
                    {"p99_s", s.p99.count()},
                    {"longest_s", s.longest.count()},
                    {"share_ratio", s.share_ratio},
                    {"share_half_width_95_ratio", s.share_half_width_95},
                    {"complete", !trace.full}});
  }
  console.out << to_json({.schema = "cox.bench-noise/1"}, "cores", list);
  return ExitCode::Ok;
}

/// What `cox bench net` found, by place in a Scenario.
struct NetAnswer {
  std::string text;
  std::vector<JsonObject> places;
  void add(const bench::FoundCost& found) {
    const bench::PlaceCost& cost = found.cost;
    text += bench::cost_part(found.place, cost, found.from);
    const bench::LinkFit& fit = cost.fit;
    JsonObject o{{"place", found.place}, {"from", found.from}, {"sizes", std::int64_t{fit.sizes}}};
    if (fit.latency) {
      o.emplace_back("latency_s", fit.latency->count());
      o.emplace_back("latency_low_s", fit.latency_low.count());
      o.emplace_back("latency_high_s", fit.latency_high.count());
    }
    o.emplace_back("s_per_byte", fit.per_byte.in_seconds_per_byte());
    o.emplace_back("s_per_byte_low", fit.per_byte_low.in_seconds_per_byte());
    o.emplace_back("s_per_byte_high", fit.per_byte_high.in_seconds_per_byte());
    if (cost.overhead) o.emplace_back("overhead_s", cost.overhead->count());
    o.emplace_back("median_error_ratio", fit.median_error_ratio);
    o.emplace_back("worst_error_ratio", fit.worst_error_ratio);
    places.push_back(std::move(o));
  }
};

struct AsForm {
  bench::CollectiveForm form = bench::CollectiveForm::Ring;
  int ranks = 0;
};

/// `pair`, `ring`, `ring:8`, `tree:8`.
Result<AsForm> read_form(const std::string& text) {
  const std::string word = text.substr(0, text.find(':'));
  const auto ranks = word.size() == text.size()
                         ? std::optional(0)
                         : whole_number(std::string_view(text).substr(word.size() + 1), 2, kMostRanks);
  const auto form = word == "pair"   ? std::optional(bench::CollectiveForm::Pair)
                    : word == "ring" ? std::optional(bench::CollectiveForm::Ring)
                    : word == "tree" ? std::optional(bench::CollectiveForm::Tree)
                                     : std::nullopt;
  if (!form || !ranks) return fail(bad_value("as", text, "pair, ring or tree, with ranks: ring:8"));
  return AsForm{.form = *form, .ranks = *ranks};
}

Result<NetAnswer> import_tables(const Invocation& call) {
  COX_TRY(const AsForm as, read_form(call.value("as", "ring")));
  COX_TRY(const bench::FoundCost found,
          bench::cost_of_tables(split(call.value("import"), ','), as.form, as.ranks));
  NetAnswer answer;
  answer.add(found);
  return answer;
}

bench::ProbeLibrary library_of(const std::string& word) {
  return word == "openmpi" ? bench::ProbeLibrary::OpenMpi
         : word == "mpich" ? bench::ProbeLibrary::Mpich
         : word == "gloo"  ? bench::ProbeLibrary::Gloo
                           : bench::ProbeLibrary::Mpi;
}

/// The folder of this program.
fs::path own_program() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored);
}

/// Nothing on ranks other than 0.
Result<std::optional<NetAnswer>> run_probes(const Invocation& call, const Console& console) {
  const auto launched = bench::launched_as();
  const bench::ProbeOptions options{.library = library_of(call.value("over", "mpi")),
                                    .folder = own_program().parent_path(),
                                    .launch = split(call.value("launch"), ' '),
                                    .interface = console.env("GLOO_SOCKET_IFNAME").value_or("lo"),
                                    .store = call.value("meet")};
  COX_TRY(const std::string text, bench::run_probe(options, launched));
  if (launched && launched->rank != 0) return std::nullopt;
  COX_TRY(const std::vector<bench::FoundCost> costs, bench::costs_of_probe(text, host_name()));
  NetAnswer answer;
  for (const bench::FoundCost& found : costs) answer.add(found);
  return answer;
}

Result<ExitCode> run_net(const Invocation& call, Console& console) {
  NetAnswer answer;
  if (!call.value("import").empty()) {
    COX_TRY(answer, import_tables(call));
  } else {
    COX_TRY(std::optional<NetAnswer> measured, run_probes(call, console));
    if (!measured) return ExitCode::Ok;
    answer = std::move(*measured);
  }
  COX_TRY(Output output, Output::open(call.value("output"), if_exists(call), console.out));
  if (output.is_file() || !call.common.json) output.stream() << answer.text;
  COX_CHECK(output.commit());
  if (call.common.json) console.out << to_json({.schema = "cox.bench-net/1"}, "places", answer.places);
  return ExitCode::Ok;
}

/// A folder that goes away with it.
class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "cox-bench.XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

Result<ExitCode> run_one_workload(const Invocation& call, Console& console) {
  const Scratch scratch;
  fs::path folder = call.value("output");
  if (folder.empty()) {
    folder = scratch.path();
    if (call.args[1].starts_with("goal-")) COX_CHECK(bench::prepare_workloads(folder));
    if (call.args[1] == "goal-binary") {
      COX_TRY([[maybe_unused]] const auto made, bench::run_workload("goal-text", folder));
    }
  }
  COX_TRY(const bench::WorkDone done, bench::run_workload(call.args[1], folder));
  console.out << fmt::format("units {:.0f}\ntotal_s {:.12g}\n", done.units, done.total.count());
  return ExitCode::Ok;
}

Result<ExitCode> run_simulate(const Invocation& call, Console& console) {
  if (call.args.size() > 1) return run_one_workload(call, console);
  const Scratch scratch;
  COX_TRY(const std::vector<bench::SpeedResult> results,
          bench::measure_speed(own_program(), scratch.path(), kRepetitions));
  const std::vector<bench::PeerResult> peers = bench::measure_peers(results, scratch.path());
  if (!call.common.json) {
    console.out << bench::speed_table(results, peers);
    return ExitCode::Ok;
  }
  std::vector<JsonObject> list;
  for (const bench::SpeedResult& r : results) {
    JsonObject o{{"name", std::string(r.workload.name)},
                 {"what", std::string(r.workload.what)},
                 {"processor_s", r.processor().count()},
                 {"user_s", r.user.count()},
                 {"system_s", r.system.count()},
                 {"elapsed_s", r.wall.count()},
                 {"peak_bytes", r.peak_memory.count()},
                 {"bar_s", r.workload.bar.count()},
                 {"within", r.within}};
    if (r.units_per_second) o.emplace_back(fmt::format("{}_per_s", r.workload.unit), *r.units_per_second);
    if (r.memory_bytes_per_rank) o.emplace_back("memory_bytes_per_rank", *r.memory_bytes_per_rank);
    for (const bench::PeerResult& p : peers)
      if (p.workload == r.workload.name && p.skipped.empty()) {
        o.emplace_back("peer", p.peer);
        o.emplace_back("peer_processor_s", p.processor.count());
        o.emplace_back("peer_ratio", p.ratio);
      }
    list.push_back(std::move(o));
  }
  std::vector<std::string> skipped;
  for (const bench::PeerResult& p : peers)
    if (!p.skipped.empty()) skipped.push_back(fmt::format("{} was not run: {}", p.peer, p.skipped));
  console.out << to_json({.schema = "cox.bench-simulate/1", .warnings = skipped}, "workloads", list);
  return ExitCode::Ok;
}

Result<ExitCode> run(const Invocation& call, Console& console) {
  const std::string& what = call.args.front();
  const bool names_workload = what == "simulate" && call.args.size() == 2;
  if (call.args.size() > 1 && !names_workload)
    return fail(usage_error("cli-004", fmt::format("unexpected argument '{}'", call.args.back()),
                            "`cox bench --help` lists what it takes"));
  if (what == "noise") return run_noise(call, console);
  if (what == "net") return run_net(call, console);
  if (what == "simulate") return run_simulate(call, console);
  return fail(usage_error("cli-003", fmt::format("WHAT is '{}', expected noise, net, simulate", what),
                          "`cox bench --help` says what each does"));
}

}  // namespace

const Command& bench_command() {
  static const Command command{
      .spec =
          {.name = "bench",
           .summary = "measure noise and network for scenarios, and the engines' speed",
           .about =
               "Measures this machine's noise and network as parts of a scenario, or the engines' speed.",
           .examples = {{"cox bench noise -o noise.toml", "10 s on every core; detours beside it"},
                        {"mpirun -n 2 cox bench net -o cost.toml", "latency and bandwidth between ranks"},
                        {"cox bench simulate", "speeds of the engines, other simulators beside"}},
           .args = {{.name = "WHAT",
                     .help = "noise, net, simulate; behind simulate, one workload",
                     .repeats = true}},
           .flags = {{.name = "duration",
                      .value = "TIME",
                      .help = "noise: how long",
                      .fallback = kDefaultDuration},
                     {.name = "threshold",
                      .value = "TIME",
                      .help = "noise: shorter gaps are not detours",
                      .fallback = kDefaultThreshold},
                     {.name = "cores", .value = "LIST", .help = "noise: such as 0,2-3", .fallback = "all"},
                     {.name = "over",
                      .value = "LIBRARY",
                      .help = "net: mpi, openmpi, mpich or gloo",
                      .fallback = "mpi",
                      .complete = Complete::Choices,
                      .choices = {"mpi", "openmpi", "mpich", "gloo"}},
                     {.name = "launch",
                      .value = "WORDS",
                      .help = "net: what starts the ranks, if nothing did",
                      .fallback = "mpirun -n 2"},
                     {.name = "meet",
                      .value = "DIR",
                      .help = "net over gloo: empty folder that all ranks see",
                      .complete = Complete::Folder},
                     {.name = "import",
                      .value = "FILES",
                      .help = "net: tables of OSU or nccl-tests instead, with commas between",
                      .complete = Complete::File},
                     {.name = "as",
                      .value = "FORM",
                      .help = "net: what an imported table is of: ring:8, tree:8, pair",
                      .fallback = "ring"},
                     {.name = "output",
                      .letter = 'o',
                      .value = "FILE",
                      .help = "the part of a scenario; noise: and FILE's name with .detours",
                      .complete = Complete::File},
                     {.name = "force", .letter = 'f', .help = "replace FILE where it exists"}},
           .shared = {.json = true},
           .notes =
               "noise: one thread per core reads the clock; gaps are what the system took away. "
               "net: programs beside cox (cox-bench-net-openmpi, -mpich, -gloo) send messages of 8 B to "
               "4 MiB between rank 0 and a rank of its host and of another host. Gloo uses the interface "
               "GLOO_SOCKET_IFNAME (lo). simulate: each workload is a process of its own, best of 3; other "
               "simulators are run where they are in PATH."},
      .run = run};
  return command;
}

}  // namespace cox::cli
