// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/pacing_study_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <ostream>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "cox/base/file.hpp"
#include "cox/base/spelling.hpp"
#include "cox/bench/pace.hpp"
#include "cox/study/pacing_page.hpp"
#include "cox/study/write.hpp"

#include "cli/frame/embedded.hpp"
#include "cli/output/failure.hpp"

namespace cox::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostPlan = 1'000'000;
constexpr std::string_view kSizes = "sizes";
constexpr std::size_t kMostResults = std::size_t{16} << 20U;

Result<study::PacingStudy> frozen_study(const Invocation& call) {
  if (const std::string folder = call.value("studies"); !folder.empty()) {
    const fs::path file = fs::path(folder) / study::kPacingFile;
    COX_TRY(const std::string text, read_file(file, kMostPlan));
    return study::parse_pacing(text, file.string());
  }
  for (const EmbeddedFile& file : embedded_studies())
    if (file.name == study::kPacingFile)
      return study::parse_pacing(file.text, fmt::format("studies/{}", file.name));
  return fail(usage_error("study-006", "this program was built without studies/pacing.toml",
                          "name it with --studies"));
}

/// What --only names: conditions by their names, and whether the sizes are among them. Empty: everything.
struct Chosen {
  std::set<std::string> conditions;
  bool sizes = false;
  [[nodiscard]] bool has(const std::string& name) const { return conditions.contains(name); }
};

Result<Chosen> chosen(const study::PacingStudy& study, const Invocation& call) {
  Chosen out;
  std::vector<std::string> names;
  for (const study::PacingCondition& c : study.conditions) names.push_back(c.name);
  const std::string only = call.value("only");
  if (only.empty()) {
    out.conditions.insert(names.begin(), names.end());
    out.sizes = true;
    return out;
  }
  if (!study.sizes.empty()) names.emplace_back(kSizes);
  for (std::size_t from = 0; from <= only.size();) {
    const std::size_t to = std::min(only.find(',', from), only.size());
    const std::string name = only.substr(from, to - from);
    from = to + 1;
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      const auto near = nearest(name, names);
      return fail(usage_error(
          "study-006", fmt::format("no condition has the name '{}'", name),
          near ? fmt::format("did you mean {}?", *near) : "`cox study pacing --dry-run` lists them"));
    }
    if (name != kSizes) out.conditions.insert(name);
    out.sizes = out.sizes || name == kSizes;
  }
  if (!call.has("quick")) return out;
  std::vector<std::string> quick;
  for (const study::PacingCondition& c : study.conditions)
    if (c.quick) quick.push_back(c.name);
  const auto is_quick = [&](const std::string& name) {
    return std::find(quick.begin(), quick.end(), name) != quick.end();
  };
  if (out.sizes || !std::all_of(out.conditions.begin(), out.conditions.end(), is_quick))
    return fail(usage_error("cli-003", fmt::format("--quick has only {}", fmt::join(quick, ", ")),
                            "for the others: --full --only NAME"));
  return out;
}

/// Leaves what was not chosen out of the study.
void keep_only(study::PacingStudy& study, const Chosen& chosen) {
  std::erase_if(study.conditions, [&](const study::PacingCondition& c) { return !chosen.has(c.name); });
  if (!chosen.sizes) study.sizes.clear();
}

/// Results that others are put into: measured by the same study, on such a machine.
Result<study::PacingResults> results_before(const study::PacingStudy& study, const fs::path& file,
                                            const study::PacingMachine& machine) {
  COX_TRY(const std::string text, read_file(file, kMostResults));
  COX_TRY(study::PacingResults before, study::parse_pacing_json(text, file.string()));
  const auto refuse = [&](const char* what) {
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "study-007",
                      .message = what,
                      .hint = "measure everything anew: leave --into out",
                      .where = Where{.file = file.string()}});
  };
  if (!before.full) return refuse("these are not results of --full");
  if (before.plan != study.digest) return refuse("these were measured by another plan");
  if (before.machine.kernel != machine.kernel || before.machine.cores != machine.cores)
    return refuse("these were measured on another machine");
  const auto same = [](const study::PacingConditionResult& r, const study::PacingCondition& c) {
    return r.name == c.name;
  };
  if (!std::equal(before.conditions.begin(), before.conditions.end(), study.conditions.begin(),
                  study.conditions.end(), same))
    return refuse("these are of other conditions than the study has");
  return before;
}

study::PacingMachine this_machine_in_words() {
  study::PacingMachine machine{.cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))};
  if (utsname name{}; uname(&name) == 0) machine.kernel = shown(name.release, 64);
  const std::time_t now = std::time(nullptr);
  std::tm day{};
  gmtime_r(&now, &day);
  machine.date = fmt::format("{:04}-{:02}-{:02}", day.tm_year + 1900, day.tm_mon + 1, day.tm_mday);
  getloadavg(&machine.load_before, 1);
  return machine;
}

/// What the program of the processes needs to know, from what the protocol says.
bench::PacePlan worker_plan(const study::PacingStudy& study, const study::PacingCondition& condition,
                            const study::PacingPlan& plan) {
  bench::PacePlan out{.job = condition.job,
                      .seed = study.protocol.seed,
                      .background = {.share = condition.background, .episode = condition.background_episode}};
  for (const study::PacingArm& a : study.arms)
    out.arms.push_back({.name = a.name, .settings = a.settings, .wait = a.wait, .nice = a.nice});
  for (const study::PacingBlock& b : plan.blocks)
    out.blocks.push_back({.arm = static_cast<std::uint32_t>(b.arm),
                          .steps = b.steps,
                          .first_draw = b.first_draw,
                          .cold = b.cold});
  return out;
}

study::MeasuredGroup measured(study::PacingPlan plan, const bench::PaceRows& rows) {
  study::MeasuredGroup group{.plan = std::move(plan)};
  for (const bench::PaceBlockRows& b : rows.blocks) {
    study::MeasuredBlock& block =
        group.blocks.emplace_back(study::MeasuredBlock{.steal_ratio = b.steal_ratio});
    for (const bench::PaceStep& s : b.steps)
      block.steps.push_back({.period = s.period,
                             .mean_wait = s.mean_wait,
                             .mean_delay = s.mean_delay,
                             .is_held = s.reason == pace::Reason::Holding});
  }
  return group;
}

/// The evaluation while it runs: groups of every condition, and what they say so far.
class Evaluation {
 public:
  /// `before`: what is not chosen keeps its results, and is part of the corrections.
  Evaluation(study::PacingStudy study, const Chosen& chosen, study::PacingDepth depth,
             study::PacingResults before, Console& console)
      : study_(std::move(study)),
        depth_(depth),
        console_(console),
        begin_(Clock::now()),
        results_(std::move(before)) {
    results_.full = depth == study::PacingDepth::Full;
    results_.plan = study_.digest;
    std::error_code ignored;
    program_ = fs::read_symlink("/proc/self/exe", ignored).parent_path() / "cox-bench-pace";
    no_priority_ = bench::why_no_priority();
    for (const study::PacingCondition& c : study_.conditions)
      if (chosen.has(c.name) && (depth == study::PacingDepth::Full || c.quick))
        conditions_.push_back({.condition = &c, .result = place_of(results_.conditions, c.name)});
    if (depth == study::PacingDepth::Full && chosen.sizes)
      for (const study::PacingCondition& c : study_.sizes)
        sizes_.push_back({.condition = &c, .result = place_of(results_.sizes, c.name)});
  }
  Evaluation(const Evaluation&) = delete;
  Evaluation& operator=(const Evaluation&) = delete;

  /// One group of each, then more of those that are undecided, while there is time.
  Status run(const fs::path& output) {
    const int cap = depth_ == study::PacingDepth::Full ? study_.protocol.groups : 1;
    COX_CHECK(measure_groups(
        0, 1, [](const study::PacingCondition&) { return true; }, output));
    for (State& size : sizes_) {
      COX_CHECK(measure(size, results_.sizes[size.result], size.condition->arms));
      COX_CHECK(keep(output));
    }
    // Those that have a bar come first: they must not stay unresolved.
    COX_CHECK(measure_groups(
        1, cap, [](const study::PacingCondition& c) { return c.bar > 0; }, output));
    return measure_groups(
        1, cap, [](const study::PacingCondition& c) { return c.bar <= 0; }, output);
  }
  [[nodiscard]] const study::PacingResults& results() {
    study::correct_tests(study_, results_.conditions);
    return results_;
  }
  [[nodiscard]] const study::PacingStudy& study() const { return study_; }
  /// Arms that this machine cannot run.
  [[nodiscard]] std::string left_out() const {
    return no_priority_ ? fmt::format("arms with a priority are left out: {}\n", *no_priority_) : "";
  }

 private:
  struct State {
    const study::PacingCondition* condition = nullptr;
    std::size_t result = 0;  // its place among the results
    std::vector<study::MeasuredGroup> groups{};
    int measured = 0;  // groups, those that failed included
    int failed = 0;
    std::string failure{};
  };

  /// Where the results of a condition are, empty ones for it from now on.
  static std::size_t place_of(std::vector<study::PacingConditionResult>& results, const std::string& name) {
    auto at = std::find_if(results.begin(), results.end(),
                           [&](const study::PacingConditionResult& r) { return r.name == name; });
    if (at == results.end()) at = results.insert(results.end(), study::PacingConditionResult{});
    *at = {.name = name};
    return static_cast<std::size_t>(at - results.begin());
  }

  /// Those that this machine can run; in further groups only what is undecided: off against off, and auto
  /// with what it is compared with.
  [[nodiscard]] std::vector<std::size_t> arms_of(std::size_t i, int group) const {
    const study::PacingCondition& c = *conditions_[i].condition;
    const bool is_open =
        group == 0 || study::is_auto_open(study_, c, results_.conditions[conditions_[i].result]);
    std::vector<std::size_t> arms;
    for (const std::size_t a : c.arms) {
      const std::string& name = study_.arms[a].name;
      if (study_.arms[a].nice != 0 && no_priority_) continue;
      const bool is_undecided = name == study::kArmAgain || (is_open && name == study::kArmAuto) ||
                                (is_open && c.bar > 0 && name == study::kArmRandom);
      if (group == 0 || is_undecided) arms.push_back(a);
    }
    return arms;
  }

  /// Groups of those conditions that are chosen and want them, in turns.
  Status measure_groups(int from, int to, bool (*is_chosen)(const study::PacingCondition&),
                        const fs::path& output) {
    for (int group = from; group < to; ++group)
      for (std::size_t i = 0; i < conditions_.size(); ++i) {
        if (!is_chosen(*conditions_[i].condition) || !wants(i, group)) continue;
        COX_CHECK(measure(conditions_[i], results_.conditions[conditions_[i].result], arms_of(i, group)));
        COX_CHECK(keep(output));
      }
    return {};
  }

  /// What is there is kept, whatever happens to the rest.
  Status keep(const fs::path& output) {
    study::correct_tests(study_, results_.conditions);
    if (output.empty()) return {};
    return write_file_atomically(output, study::pacing_json(results_), IfExists::Replace);
  }

  [[nodiscard]] bool wants(std::size_t i, int group) const {
    const study::PacingConditionResult& so_far = results_.conditions[conditions_[i].result];
    if (!so_far.skipped.empty()) return false;
    if (group == 0) return true;
    const study::PacingCondition& c = *conditions_[i].condition;
    const Seconds lasts = study::plan_pacing(study_, c, arms_of(i, group), depth_, group).lasts(c);
    const Seconds passed = Clock::now() - begin_;
    return passed + lasts <= study_.protocol.limit && study::wants_more(study_, c, so_far);
  }

  /// The next group of one condition.
  Status measure(State& state, study::PacingConditionResult& result, const std::vector<std::size_t>& arms) {
    const study::PacingCondition& c = *state.condition;
    const int group = state.measured++;
    study::PacingPlan plan = study::plan_pacing(study_, c, arms, depth_, group);
    console_.err << fmt::format("cox: {}: group {}, about {:.0f} s\n", c.name, group + 1,
                                plan.lasts(c).count());
    const bench::PaceRunOptions options{.program = program_, .limit = 10 * plan.lasts(c) + Seconds{60}};
    const auto rows = bench::run_pace(worker_plan(study_, c, plan), options);
    if (!rows) {
      if (group > 0) {
        console_.err << fmt::format("cox: warning: {}: group {} left out: {}\n", c.name, group + 1,
                                    rows.error().to_string());
        result.failure = state.failure = rows.error().message;
        result.failed_groups = ++state.failed;
        return {};
      }
      if (access(program_.c_str(), X_OK) != 0) return fail(rows.error());
      result.skipped = rows.error().message;
    } else {
      state.groups.push_back(measured(std::move(plan), *rows));
      result = study::judge_condition(study_, c, state.groups);
      result.failed_groups = state.failed;
      result.failure = state.failure;
    }
    console_.err << study::condition_text(study_, result);
    return {};
  }

  study::PacingStudy study_;
  study::PacingDepth depth_;
  Console& console_;
  Clock::time_point begin_;
  study::PacingResults results_;
  fs::path program_;
  std::optional<std::string> no_priority_;
  std::vector<State> conditions_;
  std::vector<State> sizes_;
};

/// docs/studies/pacing.md from results that were measured before.
Result<ExitCode> write_page(const study::PacingStudy& study, const Invocation& call, Console& console) {
  const fs::path from = call.value("from");
  COX_TRY(const std::string text, read_file(from, kMostResults));
  COX_TRY(const study::PacingResults results, study::parse_pacing_json(text, from.string()));
  COX_TRY(const std::vector<study::SimulatedCondition> simulated,
          study::simulate_pacing(study, call.common.threads));
  const std::string picture = study::to_svg(study::sizes_picture(study, results, simulated));
  const std::vector<study::PageSection> sections = {
      study::protocol_section(study), study::measured_section(study, results, simulated),
      study::sizes_section(study, results, simulated, picture.empty() ? "" : "pacing.svg"),
      study::limits_section(study), study::table_link_section()};
  const std::string page = study::pacing_page(study, sections);
  const std::string folder = call.value("output");
  if (folder.empty()) {
    console.out << page;
    return ExitCode::Ok;
  }
  std::error_code ignored;  // a folder that cannot be made shows when the file is written
  fs::create_directories(folder, ignored);
  const auto if_exists = call.has("force") ? IfExists::Replace : IfExists::Fail;
  COX_CHECK(write_file_atomically(fs::path(folder) / "pacing.md", page, if_exists));
  if (!picture.empty()) COX_CHECK(write_file_atomically(fs::path(folder) / "pacing.svg", picture, if_exists));
  return ExitCode::Ok;
}

Result<ExitCode> measure_all(study::PacingStudy study, const Chosen& chosen, const Invocation& call,
                             Console& console) {
  const auto depth = call.has("quick") ? study::PacingDepth::Quick : study::PacingDepth::Full;
  study::PacingResults before{.machine = this_machine_in_words()};
  fs::path output = call.value("output");
  const fs::path into = call.value("into");
  if (into.empty()) {
    keep_only(study, chosen);
  } else if (depth == study::PacingDepth::Quick || !output.empty()) {
    return fail(usage_error("cli-003", "--into goes with --full, and names the file itself",
                            "leave --quick and -o out"));
  } else {
    COX_TRY(before, results_before(study, into, before.machine));
    output = into;
  }
  if (output.empty() && depth == study::PacingDepth::Full) output = "pacing.json";
  std::error_code ignored;
  if (!output.empty() && into.empty() && !call.has("force") && fs::exists(output, ignored))
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "base-005",
                      .message = "exists already",
                      .hint = "choose another name, or add --force to replace it",
                      .where = Where{.file = output.string()}});
  Evaluation evaluation(std::move(study), chosen, depth, std::move(before), console);
  COX_CHECK(evaluation.run(output));
  const study::PacingResults& results = evaluation.results();
  if (call.common.json) {
    console.out << study::pacing_json(results);
    return ExitCode::Ok;
  }
  for (const auto* list : {&results.conditions, &results.sizes})
    for (const study::PacingConditionResult& r : *list)
      console.out << study::condition_text(evaluation.study(), r) << "\n";
  console.out << study::verdict_text(evaluation.study(), results) << evaluation.left_out();
  return ExitCode::Ok;
}

}  // namespace

Result<ExitCode> run_pacing_study(const Invocation& call, Console& console) {
  const bool from = !call.value("from").empty();
  if (call.has("quick") + call.has("full") + from > 1)
    return fail(usage_error("cli-003", "--quick, --full and --from exclude each other", "choose one"));
  COX_TRY(study::PacingStudy study, frozen_study(call));
  COX_TRY(const Chosen which, chosen(study, call));
  if (call.has("dry-run")) {
    keep_only(study, which);
    console.out << study::plan_text(study,
                                    call.has("quick") ? study::PacingDepth::Quick : study::PacingDepth::Full);
    return ExitCode::Ok;
  }
  if (from) {
    if (call.common.json || !call.value("into").empty())
      return fail(usage_error("cli-003", "--from writes the page; --json and --into go with a measurement",
                              "leave them out: the results are in the file of --from"));
    keep_only(study, which);
    return write_page(study, call, console);
  }
  if (call.has("quick") || call.has("full")) return measure_all(std::move(study), which, call, console);
  return fail(usage_error("cli-004", "'pacing' is measured, not computed",
                          "choose --quick (6 minutes), --full (90 minutes), --dry-run, or --from FILE"));
}

}  // namespace cox::cli
