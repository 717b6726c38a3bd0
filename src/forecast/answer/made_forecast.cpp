// SPDX-License-Identifier: Apache-2.0
// What other rooms see of a forecast: its inputs as they are gathered, and the answer with what it rests on behind it.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <variant>

#include "forecast/answer/forecast.hpp"
#include "forecast/answer/node_hours.hpp"
#include "forecast/answer/stated.hpp"
#include "forecast/control/carried.hpp"
#include "forecast/learned/learned.hpp"
#include "forecast/regimes/parts_job.hpp"
#include "forecast/sample/read.hpp"
#include "forecast/scenario/as_training.hpp"
#include "forecast/scenario/resize.hpp"
#include "forecast/ways/sample_answer.hpp"

namespace cox::forecast {
namespace {

tl::unexpected<Error> no_new_data(const std::string& path, const std::string& other) {
  return fail(Error{.code = Errc::Usage,
                    .id = "forecast-006",
                    .message = "the same numbers as in " + other + ", and the same data again is no new data",
                    .hint = "name each input once",
                    .where = Where{.file = path}});
}

/// Whether every number is the same, as in a copy. Steps that do not vary are alike without being one.
bool is_copy(const Sample& a, const Sample& b) {
  const auto same = [](const Position& p, const Position& q) { return p.own == q.own; };
  const auto length = [](const SampleStep& s) { return s.length; };
  const auto varies = [](const Position& p) {
    return !p.own.empty() && std::ranges::any_of(p.own, [&](Seconds s) { return s != p.own.front(); });
  };
  return a.size() == b.size() && std::ranges::equal(a.positions, b.positions, same) &&
         std::ranges::equal(a.steps, b.steps, {}, length, length) && std::ranges::any_of(a.positions, varies);
}

Status add_sample(Evidence& out, const std::string& path, InputKind kind, Sample sample) {
  std::size_t seen = 0;  // samples are in the order of their inputs
  for (const Input& other : out.inputs)
    if ((other.kind == InputKind::Run || other.kind == InputKind::StepTable) &&
        is_copy(sample, out.samples[seen++]))
      return no_new_data(path, other.path);
  std::set<std::int32_t> nodes;
  for (const SampleRank& r : sample.ranks)
    if (r.node >= 0) nodes.insert(r.node);
  Seconds total{};
  for (const SampleStep& s : sample.steps) total += s.length;
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
  return {};
}

bool same_point(const CurvePoint& a, const CurvePoint& b) {
  return a.size == b.size && a.value == b.value;
}

Asked asked_of(const Question& question) {
  Asked out{question};
  out.project.scaling = question.scaling;
  out.project.threads = question.threads;
  out.goodness.threads = question.threads;
  out.project.prior = unseen_prior(question.prior);
  GrowthPrior growth = kOneSizeGrowth;  // what is not divided is not stated
  growth.usual = question.prior.growth;
  growth.most = question.prior.shared;
  out.project.of_one_size = growth;
  return out;
}

/// The job's throughput at any size, as its forecast has it.
ScalingJob throughput_job(const FullForecast& f, const Asked& asked) {
  PartsJobOptions options{.project = asked.project, .failing = failing_scenario(f, asked)};
  options.project.rest = f.rest;
  options.project.over_parts = f.over_parts;
  options.sources = f.sources;
  options.replicates = 0;
  return job_of_parts(*f.parts, options).job;
}

/// How a step of it varies over draws of its parameters, those of its bends.
DrawnStep drawn_steps(const FullForecast& f, const Asked& asked) {
  PartsJobOptions options{.project = asked.project, .failing = {}, .replicates = 20};
  options.project.rest = f.rest;
  options.project.over_parts = f.over_parts;
  options.project.growth = f.growth;
  options.unseen = f.calibrated;
  return drawn_steps_of(*f.parts, options);
}

tl::unexpected<Error> nothing_to_learn(const std::string& why) {
  return fail(Error{
      .code = Errc::Unsupported,
      .id = "forecast-038",
      .message = "what a sample is worth is learned under training steps, and the input has none: " + why,
      .hint = "leave --learn out, or give a scenario with workload = \"training\"",
      .where = {}});
}

/// As it was given, or the calibrated one of Runs with each rank as a worker.
Result<model::Scenario> scenario_to_learn(const FullForecast& f, const Evidence& evidence) {
  if (evidence.scenario) {
    if (!std::holds_alternative<model::TrainingJob>(evidence.scenario->job.work))
      return nothing_to_learn("the scenario's steps are those of a collective");
    return *evidence.scenario;
  }
  if (!f.calibrated || !f.scenario)
    return nothing_to_learn(f.no_scenario.empty() ? "there is no Run" : f.no_scenario);
  if (const std::string why = why_no_workers(f.told); !why.empty()) return nothing_to_learn(why);
  COX_TRY(model::Scenario made, std::holds_alternative<model::TrainingJob>(f.scenario->job.work)
                                    ? Result<model::Scenario>(*f.scenario)
                                    : as_training(*f.scenario));
  COX_CHECK(check_resizable(made));
  return made;
}

/// Tables of levers with what each makes of the Scenario, by size.
std::vector<LeversToLearn> levers_to_learn(const FullForecast& f, const model::Scenario& scenario) {
  std::vector<LeversToLearn> out;
  if (!f.full_control) return out;
  const auto add = [&](const std::optional<LeverTable>& table, std::int64_t ranks) {
    if (!table) return;
    const bool here = ranks == f.seen_ranks || ranks % unit_of(scenario) != 0;
    out.push_back(
        {.table = *table, .levers = levers_of(here ? scenario : resized(scenario, ranks)), .ranks = ranks});
  };
  add(f.full_control->played, f.seen_ranks);
  add(f.full_control->levers,
      f.calibrated && f.full_control->levers ? f.full_control->levers->ranks : f.seen_ranks);
  return out;
}

}  // namespace

ReadEvidence::ReadEvidence() : evidence_(std::make_shared<Evidence>()) {}

Result<bool> ReadEvidence::add_table(const std::string& path) {
  std::error_code ec;
  if (!std::filesystem::is_regular_file(path, ec)) return false;
  COX_TRY(std::optional<Table> table, read_table(path));
  if (!table) return false;
  const std::string name = std::filesystem::path(path).filename().string();
  if (table->sample) {
    table->sample->name = name;
    COX_CHECK(add_sample(*evidence_, path, InputKind::StepTable, *std::move(table->sample)));
  } else {
    for (const Curve& other : evidence_->curves)
      if (std::ranges::equal(other.points, table->curve->points, same_point))
        return no_new_data(path, other.name);
    table->curve->name = name;
    evidence_->inputs.push_back({.path = path, .name = name, .kind = InputKind::SizeTable});
    evidence_->curves.push_back(*std::move(table->curve));
  }
  return true;
}

Status ReadEvidence::add_run(const std::string& path, const trace::Run& run, int threads) {
  COX_TRY(Sample sample, sample_of(run, threads));
  return add_sample(*evidence_, path, InputKind::Run, std::move(sample));
}

Status ReadEvidence::add_scenario(const std::string& path, model::Scenario scenario) {
  if (evidence_->scenario)
    return fail(Error{.code = Errc::Usage,
                      .id = "forecast-006",
                      .message = "a second scenario, expected one",
                      .hint = "`cox simulate A --against B` compares two",
                      .where = Where{.file = path}});
  evidence_->inputs.push_back({.path = path,
                               .name = scenario.name,
                               .kind = InputKind::Scenario,
                               .ranks = model::ranks_of(scenario.cluster, scenario.job.places),
                               .nodes = model::nodes_of(scenario),
                               .steps = scenario.job.steps,
                               .positions = 1});
  evidence_->scenario = std::move(scenario);
  return {};
}

Status ReadEvidence::add_stated(const std::string& path, StatedJob job) {
  if (evidence_->stated)
    return fail(Error{.code = Errc::Usage,
                      .id = "forecast-006",
                      .message = "a second study, expected one",
                      .hint = "forecast from each alone",
                      .where = Where{.file = path}});
  evidence_->inputs.push_back({.path = path,
                               .name = job.name,
                               .kind = InputKind::Study,
                               .ranks = job.from * job.ranks_per_node,
                               .nodes = job.from,
                               .positions = 1});
  evidence_->stated = std::move(job);
  return {};
}

const std::vector<Input>& ReadEvidence::inputs() const {
  return evidence_->inputs;
}

std::int64_t ReadEvidence::largest() const {
  std::int64_t most = 0;
  for (const Input& input : evidence_->inputs) most = std::max(most, input.ranks);
  for (const Curve& curve : evidence_->curves) most = std::max(most, curve.points.back().size);
  return most;
}

bool ReadEvidence::fixes_batch() const {
  if (!evidence_->scenario || evidence_->scenario->job.workload() != model::Workload::Training) return false;
  return evidence_->scenario->job.as<model::TrainingJob>().global_batch > 0;
}

Result<MadeForecast> make_forecast(const ReadEvidence& evidence, const Question& question) {
  COX_TRY(FullForecast whole, make_forecast(evidence.all(), asked_of(question)));
  return MadeForecast(std::move(whole));
}

MadeForecast::MadeForecast(FullForecast whole) : whole_(std::make_shared<FullForecast>(std::move(whole))) {}

const Forecast& MadeForecast::shown() const {
  return *whole_;
}

Status MadeForecast::add_control(const ControlQuestion& question, const ReadEvidence& evidence,
                                 const Question& asked) {
  const bool training = evidence.all().scenario &&
                        std::holds_alternative<model::TrainingJob>(evidence.all().scenario->job.work);
  const bool by_parts = whole_->parts && !training && (question.levers || question.target);
  ControlQuestion played = question;
  if (by_parts) {
    played.levers = false;
    played.target.reset();
  }
  if (whole_->calibrated && question.training && whole_->told.synchronisations > 1)
    return fail(Error{.code = Errc::Unsupported,
                      .id = "forecast-035",
                      .message =
                          "a step of the Run has several synchronisations, each a step of its Scenario: "
                          "how many tokens one trains on is not told",
                      .hint = "leave --tokens out, or give a scenario",
                      .where = {}});
  played.options.prior = asked.prior;
  if (whole_->parts && question.training) played.drawn_steps = drawn_steps(*whole_, asked_of(asked));
  if (!whole_->calibrated) played.over_parts = whole_->over_parts;
  if (question.training && !whole_->calibrated)
    played.simulated = [sizes = whole_->simulated.told()](std::int64_t ranks) -> std::optional<StepParts> {
      const auto at = std::ranges::find(sizes, ranks, &CheckedSize::ranks);
      return at == sizes.end() ? std::nullopt : at->goes_into;
    };
  if (whole_->scenario) {
    const int devices = std::max(whole_->scenario->cluster.devices_per_node, 1);
    for (const std::int64_t r : asked.sizes)
      if (r % devices == 0) played.nodes.push_back(r / devices);
    if (const auto& stated = evidence.all().stated) {
      COX_TRY(whole_->full_control, control_of(*whole_, *stated, played));
    } else {
      COX_TRY(whole_->full_control, make_control(*whole_->scenario, played));
    }
  } else if (!by_parts || question.training) {
    return fail(Error{.code = Errc::Unsupported,
                      .id = "forecast-035",
                      .message = "there is no scenario to change" +
                                 (whole_->no_scenario.empty() ? std::string() : ": " + whole_->no_scenario),
                      .hint = "leave --levers, --target and --tokens out, or give a Run or a scenario",
                      .where = {}});
  }
  if (whole_->full_control && whole_->full_control->most && whole_->regimes &&
      whole_->regimes->n_star.value.inside()) {
    const std::int64_t each = std::max(whole_->scenario->cluster.devices_per_node, 1);
    whole_->full_control->most_with_steps = (whole_->regimes->n_star.value.ranks + each / 2) / each;
  }
  if (by_parts) add_part_levers(*whole_, evidence.all(), asked_of(asked), question);
  if (by_parts && question.levers && !evidence.all().samples.empty()) add_played_levers(*whole_, played);
  whole_->control = *whole_->full_control;
  return {};
}

Status MadeForecast::add_learning(const LearningQuestion& question, const ReadEvidence& evidence,
                                  const Question& asked) {
  COX_TRY(const model::Scenario scenario, scenario_to_learn(*whole_, evidence.all()));
  LearnedJob job{.scenario = scenario,
                 .levers = levers_to_learn(*whole_, scenario),
                 .throughput = throughput_job(*whole_, asked_of(asked)),
                 .ranks = whole_->seen_ranks,
                 .sizes = asked.sizes,
                 .grows = asked.scaling == Scaling::Weak,
                 .threads = asked.threads};
  COX_TRY(whole_->learned, learned_control(job, question));
  if (whole_->calibrated)
    whole_->learned->notes.insert(
        whole_->learned->notes.begin(),
        std::string(
            "a Run does not tell what it learns: each rank is taken as a worker with its own samples") +
            (overlaps_work(*whole_->scenario) ? "" : ", all gradients as one sum"));
  if (whole_->calibrated && whole_->run.hidden && !overlaps_work(*whole_->scenario))
    whole_->learned->notes.push_back(
        "the Run's communication overlaps its work, and in this Scenario it does not: levers of its steps give other times than a "
        "Scenario that states the overlap");
  return {};
}

std::vector<TextLine> MadeForecast::text_lines(bool all) const {
  return forecast::text_lines(*whole_, all);
}

std::string MadeForecast::to_json(const std::vector<std::string>& inputs) const {
  return forecast::to_json(*whole_, inputs);
}

}  // namespace cox::forecast
