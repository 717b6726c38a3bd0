// SPDX-License-Identifier: Apache-2.0
#include "cli/pacing_study_command.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <ostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "cox/base/file.hpp"
#include "cox/base/spelling.hpp"
#include "cox/bench/pace.hpp"
#include "cox/study/pacing_page.hpp"

#include "cli/embedded.hpp"
#include "cli/failure.hpp"

namespace cox::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostPlan = 1'000'000;
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

/// Keeps one condition where --only names it.
Status keep_only(study::PacingStudy& study, const std::string& name) {
  if (name.empty()) return {};
  std::vector<std::string> names;
  for (const study::PacingCondition& c : study.conditions) names.push_back(c.name);
  std::erase_if(study.conditions, [&](const study::PacingCondition& c) { return c.name != name; });
  if (!study.conditions.empty()) return {};
  const auto near = nearest(name, names);
  return fail(
      usage_error("study-006", fmt::format("no condition has the name '{}'", name),
                  near ? fmt::format("did you mean {}?", *near) : "`cox study pacing --dry-run` lists them"));
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
  Evaluation(study::PacingStudy study, study::PacingDepth depth, Console& console)
      : study_(std::move(study)), depth_(depth), console_(console), begin_(Clock::now()) {
    results_.full = depth == study::PacingDepth::Full;
    results_.machine = this_machine_in_words();
    std::error_code ignored;
    program_ = fs::read_symlink("/proc/self/exe", ignored).parent_path() / "cox-bench-pace";
    no_priority_ = bench::why_no_priority();
    for (const study::PacingCondition& c : study_.conditions) {
      if (depth == study::PacingDepth::Quick && !c.quick) continue;
      conditions_.push_back({.condition = &c});
      results_.conditions.push_back({.name = c.name});
    }
  }
  Evaluation(const Evaluation&) = delete;
  Evaluation& operator=(const Evaluation&) = delete;

  /// One group of each, then more of those that are undecided, while there is time.
  Status run(const fs::path& output) {
    const int cap = depth_ == study::PacingDepth::Full ? study_.protocol.groups : 1;
    COX_CHECK(measure_groups(
        0, 1, [](const study::PacingCondition&) { return true; }, output));
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
    std::vector<study::MeasuredGroup> groups{};
  };

  /// Those that this machine can run; in further groups only what is undecided: off against off, and auto
  /// with what it is compared with.
  [[nodiscard]] std::vector<std::size_t> arms_of(std::size_t i, int group) const {
    const study::PacingCondition& c = *conditions_[i].condition;
    const bool is_open = group == 0 || study::is_auto_open(study_, c, results_.conditions[i]);
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
        COX_CHECK(measure(i, group));
        if (!output.empty())  // what is there is kept, whatever happens to the rest
          COX_CHECK(write_file_atomically(output, study::pacing_json(results()), IfExists::Replace));
      }
    return {};
  }

  [[nodiscard]] bool wants(std::size_t i, int group) const {
    const study::PacingConditionResult& so_far = results_.conditions[i];
    if (!so_far.skipped.empty()) return false;
    if (group == 0) return true;
    const study::PacingCondition& c = *conditions_[i].condition;
    const Seconds lasts = study::plan_pacing(study_, c, arms_of(i, group), depth_, group).lasts(c);
    const Seconds passed = Clock::now() - begin_;
    return passed + lasts <= study_.protocol.limit && study::wants_more(study_, c, so_far);
  }

  Status measure(std::size_t i, int group) {
    State& state = conditions_[i];
    const study::PacingCondition& c = *state.condition;
    study::PacingPlan plan = study::plan_pacing(study_, c, arms_of(i, group), depth_, group);
    console_.err << fmt::format("cox: {}: group {}, about {:.0f} s\n", c.name, group + 1,
                                plan.lasts(c).count());
    const bench::PaceRunOptions options{.program = program_, .limit = 10 * plan.lasts(c) + Seconds{60}};
    const auto rows = bench::run_pace(worker_plan(study_, c, plan), options);
    if (!rows) {
      if (group > 0) {
        console_.err << fmt::format("cox: warning: {}: group {} left out: {}\n", c.name, group + 1,
                                    rows.error().to_string());
        return {};
      }
      if (access(program_.c_str(), X_OK) != 0) return fail(rows.error());
      results_.conditions[i].skipped = rows.error().message;
    } else {
      state.groups.push_back(measured(std::move(plan), *rows));
      results_.conditions[i] = study::judge_condition(study_, c, state.groups);
      study::correct_tests(study_, results_.conditions);
    }
    console_.err << study::condition_text(study_, results_.conditions[i]);
    return {};
  }

  study::PacingStudy study_;
  study::PacingDepth depth_;
  Console& console_;
  Clock::time_point begin_;
  fs::path program_;
  std::optional<std::string> no_priority_;
  std::vector<State> conditions_;
  study::PacingResults results_;
};

/// docs/studies/pacing.md from results that were measured before.
Result<ExitCode> write_page(const study::PacingStudy& study, const Invocation& call, Console& console) {
  const fs::path from = call.value("from");
  COX_TRY(const std::string text, read_file(from, kMostResults));
  COX_TRY(const study::PacingResults results, study::parse_pacing_json(text, from.string()));
  COX_TRY(const std::vector<study::SimulatedCondition> simulated,
          study::simulate_pacing(study, call.common.threads));
  const std::vector<study::PageSection> sections = {
      study::protocol_section(study), study::measured_section(study, results, simulated),
      study::limits_section(study), study::table_link_section()};
  const std::string page = study::pacing_page(study, sections);
  const std::string folder = call.value("output");
  if (folder.empty()) {
    console.out << page;
    return ExitCode::Ok;
  }
  std::error_code ignored;  // a folder that cannot be made shows when the file is written
  fs::create_directories(folder, ignored);
  COX_CHECK(write_file_atomically(fs::path(folder) / "pacing.md", page,
                                  call.has("force") ? IfExists::Replace : IfExists::Fail));
  return ExitCode::Ok;
}

Result<ExitCode> measure_all(study::PacingStudy study, const Invocation& call, Console& console) {
  const auto depth = call.has("quick") ? study::PacingDepth::Quick : study::PacingDepth::Full;
  fs::path output = call.value("output");
  if (output.empty() && depth == study::PacingDepth::Full) output = "pacing.json";
  std::error_code ignored;
  if (!output.empty() && !call.has("force") && fs::exists(output, ignored))
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "base-005",
                      .message = "exists already",
                      .hint = "choose another name, or add --force to replace it",
                      .where = Where{.file = output.string()}});
  Evaluation evaluation(std::move(study), depth, console);
  COX_CHECK(evaluation.run(output));
  const study::PacingResults& results = evaluation.results();
  if (call.common.json) {
    console.out << study::pacing_json(results);
    return ExitCode::Ok;
  }
  for (const study::PacingConditionResult& r : results.conditions)
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
  COX_CHECK(keep_only(study, call.value("only")));
  if (call.has("dry-run")) {
    console.out << study::plan_text(study,
                                    call.has("quick") ? study::PacingDepth::Quick : study::PacingDepth::Full);
    return ExitCode::Ok;
  }
  if (from) return write_page(study, call, console);
  if (call.has("quick") || call.has("full")) return measure_all(std::move(study), call, console);
  return fail(usage_error("cli-004", "'pacing' is measured, not computed",
                          "choose --quick (6 minutes), --full (90 minutes), --dry-run, or --from FILE"));
}

}  // namespace cox::cli
