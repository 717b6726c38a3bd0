// SPDX-License-Identifier: Apache-2.0
#include "forecast/answer/forecast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"

#include "forecast/answer/drawn_structure.hpp"
#include "forecast/answer/held_peak.hpp"
#include "forecast/answer/node_hours.hpp"
#include "forecast/answer/stated.hpp"
#include "forecast/answer/structure_detail.hpp"
#include "forecast/calibrate/calibrate.hpp"
#include "forecast/checkpoints/drawn_failures.hpp"
#include "forecast/levers/nearest_margin.hpp"
#include "forecast/regimes/failing.hpp"
#include "forecast/regimes/parts_job.hpp"
#include "forecast/scenario/resize.hpp"
#include "forecast/scenario/scenario_parts.hpp"
#include "forecast/simulated/asked_sizes.hpp"
#include "forecast/simulated/budget.hpp"
#include "forecast/structure/over_time.hpp"
#include "forecast/structure/structure.hpp"
#include "forecast/ways/curves.hpp"
#include "forecast/ways/sample_answer.hpp"
#include "forecast/ways/several_sizes.hpp"

namespace cox::forecast {
namespace {

constexpr double kApart = 0.1;  ///< two samples of one size differ so much, and by more than chance: told
constexpr double kErrors = 5;   ///< standard errors that chance explains
constexpr double kLeastGrown = 0.7;  ///< of own work, from a smaller size to a larger one: less is no growth
constexpr double kMostGrown = 1.3;   ///< times the ranks: more than a line does
constexpr double kDivides = 0.3;     ///< own work times ranks is as much, within this: the whole is divided
constexpr double kTold =
    1.25;  ///< own work that grows more is told, where it does by more than this power of the ranks
constexpr double kToldPower = 0.45;
constexpr std::int64_t kLeastRange = 4'096;  ///< ranks up to which bends are looked for, at least
constexpr int kBandReplicates = 20;          ///< parameters drawn again for the band of a boundary

Error mixed(std::string message) {
  return Error{
      .code = Errc::Usage,
      .id = "forecast-006",
      .message = std::move(message),
      .hint =
          "runs and tables of own work of one job together, or one table of sizes, or one scenario or study",
      .where = {}};
}

Error not_one_job(std::string message, std::string hint) {
  return Error{.code = Errc::InvalidInput,
               .id = "forecast-012",
               .message = std::move(message),
               .hint = std::move(hint),
               .where = {}};
}

/// Runs of one size whose steps differ by more than their noise and a tenth.
Status check_alike(const Sample& x, const Sample& y) {
  const StepMean a = step_mean(x);
  const StepMean b = step_mean(y);
  const Seconds apart = std::chrono::abs(a.mean - b.mean);
  const Seconds error{std::hypot(a.error.count(), b.error.count())};
  if (apart <= kApart * std::min(a.mean, b.mean) || apart <= kErrors * error) return {};
  return fail(not_one_job(
      fmt::format(
          "{} and {} have {} ranks both and steps of {} and {}: not the same job, or not the same conditions",
          x.name, y.name, x.size(), to_string(a.mean), to_string(b.mean)),
      "forecast from each alone, or leave out the one that is another job"));
}

/// Mean own work of a rank in a step.
Seconds own_work(const Sample& sample) {
  double sum = 0;
  for (const Position& p : sample.positions)
    for (const Seconds own : p.own) sum += own.count();
  return Seconds{sum / static_cast<double>(sample.size()) / static_cast<double>(sample.steps.size())};
}

/// Own work of one job at two sizes, the first the smaller one: what no growth explains is refused, what only a strong one does
/// is told.
Status check_growth(const Sample& small, const Sample& large, Scaling scaling,
                    std::vector<std::string>& told) {
  const Seconds a = own_work(small);
  const Seconds b = own_work(large);
  if (!(a > Seconds{} && b > Seconds{})) return {};  // nothing but communication
  const double more = static_cast<double>(large.size()) / static_cast<double>(small.size());
  const double grown = b / a * (scaling == Scaling::Strong ? more : 1);
  const std::string said =
      fmt::format("{} and {}: a rank's own work is {} a step at {} ranks and {} at {}", small.name,
                  large.name, to_string(a), small.size(), to_string(b), large.size());
  const bool divides = scaling == Scaling::Weak && std::abs(b / a * more - 1) < kDivides;
  if (!(grown >= kLeastGrown && grown <= kMostGrown * more))
    return fail(not_one_job(
        said + ": no growth with the ranks does that",
        divides ? "where the whole job has as much to do at any size, say --scaling strong"
                : "see that all have one unit and one batch a rank, or forecast from each alone"));
  if (grown > kTold && grown > std::pow(more, kToldPower))
    told.push_back(
        said + ": taken as growth; where one is another job or has another batch, forecast from each alone");
  return {};
}

/// Each two samples that could not be of one job are an error; what is unlikely of one is told.
Status check_one_job(const std::vector<Sample>& samples, Scaling scaling, std::vector<std::string>& told) {
  for (std::size_t i = 0; i < samples.size(); ++i)
    for (std::size_t j = i + 1; j < samples.size(); ++j)
      COX_CHECK(samples[i].size() == samples[j].size() ? check_alike(samples[i], samples[j])
                                                       : check_growth(samples[i], samples[j], scaling, told));
  return {};
}

/// By size and what was seen: the order in which files are named says nothing.
std::vector<Sample> ordered(std::vector<Sample> samples) {
  std::stable_sort(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) {
    if (a.size() != b.size()) return a.size() < b.size();
    return step_mean(a).mean < step_mean(b).mean;
  });
  return samples;
}

Status check_together(const Evidence& e) {
  const int kinds = int{!e.samples.empty()} + int{!e.curves.empty()} + int{e.scenario.has_value()} +
                    int{e.stated.has_value()};
  if (kinds > 1)
    return fail(mixed("inputs of different kinds: runs, sizes and scenarios say different things of a job"));
  if (kinds == 0) return fail(mixed("nothing to forecast from"));
  for (const Curve& c : e.curves)
    if (c.value != e.curves.front().value)
      return fail(mixed("one table has step times and another throughput: they are not one curve"));
  return {};
}

const Sample& largest(const std::vector<Sample>& samples) {
  return *std::max_element(samples.begin(), samples.end(),
                           [](const Sample& a, const Sample& b) { return a.size() < b.size(); });
}

/// What the calibrated Scenario is, and whether it does what was recorded.
void add_scenario(FullForecast& out, const Evidence& e, const Asked& question) {
  const Sample& sample = largest(e.samples);
  Result<Calibrated> made = calibrated_scenario(*out.parts, sample, e.samples);
  if (!made) {
    out.no_scenario = made.error().message;
    out.no_goodness = "there is no Scenario to simulate";
    return;
  }
  out.scenario = std::move(made->scenario);
  out.scenario_notes = std::move(made->notes);
  if (!sample.record.background.empty() && !made->overlaps)
    out.scenario_notes.push_back(
        "what work hides of communication is not in the Scenario: larger sizes of it are shorter than forecast" +
        (made->why_no_overlap.empty() ? std::string() : "; " + made->why_no_overlap));
  out.calibrated = true;
  out.told = {.synchronisations = made->synchronisations,
              .roles = made->roles,
              .meets_in = made->exchange.kind,
              .bytes = made->exchange.bytes};
  GoodnessOptions goodness = question.goodness;
  goodness.synchronisations = made->synchronisations;
  const std::optional<Sample> later = after_change(sample, *out.parts);
  Result<Goodness> good = compare_steps(*out.scenario, later ? *later : sample, goodness);
  if (!good) {
    out.no_goodness = good.error().message;
    return;
  }
  out.goodness = *std::move(good);
  // What lasts is drawn by each run: the file's own is to be that which was recorded.
  const Goodness::Means& means = out.goodness->means;
  if (!means.differ()) return;
  out.scenario->seed = means.seed;
  out.scenario_notes.push_back(fmt::format(
      "its seed is that of {} whose run is nearest to the recorded one ({} a step, {} recorded): others draw anew who is "
      "slow for good",
      out.goodness->simulations, to_string(means.nearest), to_string(means.recorded)));
}

void add_measured(FullForecast& out, const Evidence& e, const Asked& question, const std::vector<Way>& ways) {
  std::vector<std::int64_t> sizes;
  sizes.reserve(e.samples.size());
  for (const Sample& s : e.samples) sizes.push_back(s.size());
  Projection here = project(*out.parts, sizes, question.project);
  apply_ways(here, ways, e.samples, *out.parts);
  for (std::size_t i = 0; i < e.samples.size(); ++i) {
    const std::optional<Sample> later = after_change(e.samples[i], *out.parts);
    const Seconds step = step_mean(later ? *later : e.samples[i]).mean;
    TimeBand band = here.points[i].mean;
    if (!std::isfinite(band.low.count()) || !std::isfinite(band.high.count())) band = {};
    out.measured.push_back({.ranks = sizes[i],
                            .from = e.samples[i].name,
                            .step = step,
                            .forecast = band,
                            .inside = step >= band.low && step <= band.high});
  }
}

/// Whether a size would be answered, if it were asked.
using IsAnswered = std::function<bool(std::int64_t ranks)>;

/// The largest size asked that has a number; beyond it up to `least`, where nothing in between is refused.
std::int64_t answered_up_to(const FullForecast& out, const IsAnswered& answered, std::int64_t least) {
  std::int64_t most = out.margins_at;
  std::int64_t refused = least + 1;
  for (const SizePoint& p : out.projection.points)
    if (!p.refused.empty() && p.ranks > most) refused = std::min(refused, p.ranks);
  for (std::int64_t n = least; n > most; n /= 2)
    if (n < refused && answered(n)) return n;
  return most;
}

/// Where a slope alone says that throughput falls, a size asked has the elasticity of the job: bends and sizes are of one curve.
void keep_slopes(FullForecast& out, PartsJobOptions options) {
  options.failing.reset();
  options.replicates = 0;
  const ScalingJob running = job_of_parts(*out.parts, options).job;
  for (SizePoint& p : out.projection.points)
    if (p.refused.empty() && p.elasticity < 0 && options.project.scaling == Scaling::Weak)
      p.elasticity = running.at(p.ranks, kEveryMechanism).elasticity;
}

/// The most throughput of the job as it is estimated, at the ends of how often it is thought to fail, is in its band: draws of communication
/// have other peaks.
void hold_prior_of_failures(FullForecast& out, PartsJobOptions options) {
  if (!out.regimes || !options.failing || !options.stated) return;
  options.replicates = 0;
  TransitionBand& peak = out.regimes->n_star;
  const auto place = [](const RegimeBoundary& b) { return std::pair{b.place, b.ranks}; };
  for (const double factor : {options.stated->between.low, options.stated->between.high}) {
    PartsJobOptions end = options;
    change_between(end.failing->failures, factor);
    const RegimeBoundary most = map_regimes(job_of_parts(*out.parts, end).job, out.regimes->range).n_star;
    if (place(most) < place(peak.low)) peak.low = most;
    if (place(most) > place(peak.high)) peak.high = most;
  }
  if (place(peak.low) < place(peak.shared_low)) peak.shared_low = peak.low;
  if (place(peak.high) > place(peak.shared_high)) peak.shared_high = peak.high;
}

/// Regimes up to the largest size that has a number, and margins there: to the next boundary below. Where nothing fails and the work grows
/// with the ranks, not beyond what is simulated (`known`): there a bend would rest on a slope that only goes on.
void add_bends(FullForecast& out, const Asked& question, const IsAnswered& answered) {
  for (const SizePoint& p : out.projection.points)
    if (p.refused.empty()) out.margins_at = std::max(out.margins_at, p.ranks);
  PartsJobOptions options{.project = question.project, .failing = {}, .replicates = kBandReplicates};
  options.failing = failing_scenario(out, question);
  options.sources = out.sources;
  options.links = out.links;
  options.exact_links = out.exact_links;
  options.stated = stated_ranges(question.prior);
  options.unseen = out.calibrated;
  const std::int64_t from = std::max<std::int64_t>(1, out.parts->ranks);
  std::int64_t most = answered_up_to(out, answered, std::max(2 * from, kLeastRange));
  const auto end = out.known ? out.known(most) : std::nullopt;
  if (out.known) options.simulated_to = out.simulated_to = end.value_or(most);
  keep_slopes(out, options);
  if (options.failing) add_goodput(out, failing_of(*out.parts, *options.failing), question.prior);
  if (out.margins_at == 0) return;  // where no size has a number, none bends
  const PartsJob job = job_of_parts(*out.parts, options);
  out.job = job.job;
  const bool by_slope = !options.failing && question.project.scaling == Scaling::Weak;
  if (by_slope && end && *end > from) most = std::min(most, *end);
  if (most > from)
    out.regimes = regimes_of(job.job, {.from = from, .to = most, .per_doubling = 2},
                             question.project.scaling == Scaling::Weak, job.replicates,
                             question.project.threads, job.shared);
  hold_prior_of_failures(out, options);
  const double now = job.job.at(out.margins_at, kEveryMechanism).elasticity;
  const double level = next_level(now);
  options.bands = question.structure.asked;
  if (!options.bands && !options.unseen) options.replicates = 0;
  out.margins = margins_of_parts(*out.parts, out.margins_at, level, options);
}

/// Whether a band is too wide shows in fewer draws.
ProjectOptions quickly(ProjectOptions options) {
  options.replicates = std::min(options.replicates, 2 * kBandReplicates);
  return options;
}

/// The largest size that was seen.
SizePoint seen_of(const FullForecast& made, const Evidence& e, const Asked& question,
                  const std::vector<Way>& ways) {
  Projection seen;
  seen.scaling = question.project.scaling;
  seen.points = {project_one(*made.parts, made.seen_ranks, question.project)};
  apply_ways(seen, ways, e.samples, *made.parts);
  return seen.points.front();
}

/// The work of a forecast from samples, by how long its parts take.
enum class Done : std::int64_t { Calibrated = 1, Projected = 4, Measured = 6, Compared = 8, All = 10 };
void tell(const Asked& question, Done done) {
  if (question.progress)
    question.progress(static_cast<std::int64_t>(done), static_cast<std::int64_t>(Done::All));
}

/// What the largest sample says of itself; asked for, how its margin moves too.
void add_structure(FullForecast& out, const Sample& sample, const Asked& question) {
  if (auto structure = structure_of(sample)) out.structure = *std::move(structure);
  MarginOf margin;
  if (question.structure.asked)
    margin = [&, level = next_level(out.seen.elasticity)](const Sample& window) {
      return window_margin(window, level, question.project);
    };
  if (auto over_time = over_time_of(sample, margin)) out.over_time = *std::move(over_time);
  if (question.structure.asked) out.detail = detail_of(out, &sample, question);
}

/// From samples: calibrated, projected, compared.
Status from_samples(FullForecast& out, const Evidence& given, const Asked& asked) {
  const Evidence e{.inputs = {}, .samples = ordered(given.samples)};
  if (e.samples.size() > 1) COX_CHECK(check_enough(e.samples));
  COX_CHECK(check_one_job(e.samples, asked.project.scaling, out.contradictions));
  COX_TRY(SampleAnswer answer, answer_samples(e.samples, asked.sizes, asked.project));
  tell(asked, Done::Calibrated);
  Asked question = asked;
  question.project = answer.project;
  out.parts = std::move(answer.parts);
  out.growth = question.project.growth;
  out.seen_ranks = out.parts->ranks;
  out.rest = question.project.rest;
  out.projection = std::move(answer.projection);
  const std::vector<Way> ways = std::move(answer.ways);
  out.projection.notes.insert(out.projection.notes.begin(), out.parts->notes.begin(), out.parts->notes.end());
  if (!ways.empty()) out.projection.notes.push_back(ways_text(ways));
  tell(asked, Done::Projected);
  out.seen = seen_of(out, e, question, ways);
  add_measured(out, e, question, ways);
  tell(asked, Done::Measured);
  add_scenario(out, e, question);
  tell(asked, Done::Compared);
  std::vector<std::int64_t> restarts;
  restarts.reserve(e.samples.size());
  for (const Sample& s : e.samples) restarts.push_back(static_cast<std::int64_t>(restarts_of(s).size()));
  out.run = run_parameters(e.samples, restarts);
  add_bends(out, question, [&](std::int64_t ranks) {
    Projection one = project(*out.parts, {ranks}, quickly(question.project));
    apply_ways(one, ways, e.samples, *out.parts);
    return one.points.front().refused.empty();
  });
  add_structure(out, largest(e.samples), question);
  if (question.structure.drawn) add_drawn(out, &largest(e.samples), question);
  add_interruptions(out, question);
  tell(asked, Done::All);
  return {};
}

/// Where steps are simulated to take longer or shorter than the parts say, all that is forecast does.
void follow_simulated(FullForecast& out, Asked& question) {
  out.over_parts = over_parts(out.simulated);
  if (!out.simulated.far.empty())
    out.over_parts =
        over_parts_far(std::move(out.over_parts), out.simulated.sizes.back().ranks, out.simulated.far);
  if (!out.over_parts) return;
  question.project.over_parts = out.over_parts;
  out.projection = project(*out.parts, question.sizes, question.project);
  out.seen = project_one(*out.parts, out.seen_ranks, question.project);
  for (std::vector<CheckedSize>* sizes : {&out.simulated.sizes, &out.simulated.far})
    for (CheckedSize& s : *sizes) s.forecast = mean_of_one_run(*out.parts, s.ranks, question.project);
}

/// Each size that was simulated has a number of its own; the others, and bends, follow those asked, too.
void follow_asked(FullForecast& out, Asked& question, const model::Scenario& scenario,
                  const RestOfScenario& rest) {
  find_spread(out.simulated, scenario,
              [&](std::int64_t ranks) { return project_one(*out.parts, ranks, question.project); });
  std::map<std::int64_t, SizePoint> own;
  for (CheckedSize& s : out.simulated.asked)
    own[s.ranks] = point_of_asked(s, *out.parts, rest, question.project, steps_are_fresh(scenario));
  question.project.over_parts = out.over_parts = over_parts_asked(std::move(out.over_parts), out.simulated);
  const Projection among = project(*out.parts, question.sizes, question.project);
  const std::vector<CheckedSize> all = out.simulated.told();
  for (std::size_t i = 0; i < among.points.size(); ++i) {
    SizePoint& p = out.projection.points[i];
    if (const auto at = own.find(p.ranks); at != own.end()) {
      p = at->second;
      p.simulated = true;
      p.elasticity = among.points[i].elasticity;
      continue;
    }
    p = among.points[i];
    p.simulated = std::ranges::find(all, p.ranks, &CheckedSize::ranks) != all.end();
    if (p.refused.empty()) p.refused = no_such_size(scenario, p.ranks);
    const auto& left = out.simulated.not_simulated;
    if (const auto at = std::ranges::find(left, p.ranks, &NotSimulated::ranks); at != left.end())
      p.not_simulated = at->why;
    widen(p, out.simulated, out.over_parts);
    if (varies(scenario)) widen_by_hidden(p, out.simulated, question.project.rest);
  }
  // What has no number says why where the number would be.
  std::erase_if(out.simulated.not_simulated, [&](const NotSimulated& n) {
    const auto& points = out.projection.points;
    const auto at = std::ranges::find(points, n.ranks, &SizePoint::ranks);
    return at != points.end() && !at->refused.empty();
  });
}

/// Where the largest size is beyond what is simulated.
void add_extrapolated(FullForecast& out, const RestOfScenario& rest, Scaling scaling, std::int64_t ranks) {
  if (const auto most = rest.simulated_below(ranks))
    out.not_seen.push_back(fmt::format(
        "communication beyond {} ranks, where no step is simulated: it goes on as over the last doublings{}, "
        "and what work hides there may surface; both are in the band",
        grouped(*most),
        scaling == Scaling::Weak ? " and at most as the ranks, so that more ranks do less is not said there"
                                 : ""));
}

Status from_scenario(FullForecast& out, const Evidence& e, const Asked& asked) {
  const Scaling scaling = asked.project.scaling;
  COX_CHECK(check_resizable(*e.scenario, scaling));
  Asked question = asked;
  RestOfScenario rest = rest_and_range_of(*e.scenario, scaling);
  if (!question.project.rest) {
    question.project.rest = rest.at;
    out.links = rest.with_links;
    out.exact_links = rest.with_exact_links;
    out.known = rest.simulated_below;
    if (!question.sizes.empty()) add_extrapolated(out, rest, scaling, std::ranges::max(question.sizes));
  }
  COX_TRY(out.parts, parts_of(*e.scenario, scaling));
  COX_TRY(out.sources, work_sources_of(*e.scenario, scaling));
  out.scenario = e.scenario;
  out.no_goodness = "a scenario records nothing to compare with";
  out.seen_ranks = out.parts->ranks;
  out.rest = question.project.rest;
  out.projection = project(*out.parts, question.sizes, question.project);
  out.seen = project_one(*out.parts, out.seen_ranks, question.project);
  const auto by_parts = [&](std::int64_t ranks) {
    return mean_of_one_run(*out.parts, ranks, question.project);
  };
  out.simulated = simulate_sizes(*e.scenario, out.seen_ranks, SimulatedRange::Larger, scaling, by_parts,
                                 question.project.threads);
  if (!out.simulated.sizes.empty() && !question.sizes.empty())
    out.simulated.far =
        simulate_far_sizes(*e.scenario, scaling, out.simulated.sizes.back().ranks,
                           std::ranges::max(question.sizes), by_parts, question.project.threads);
  follow_simulated(out, question);
  SimulatedAsked asked_sizes =
      simulate_asked_sizes(*e.scenario, scaling, question.sizes, out.simulated,
                           question.sizes_are_said ? kEventsOfAll : kEventsUnasked, question.project.threads);
  out.simulated.asked = std::move(asked_sizes.sizes);
  out.simulated.not_simulated = std::move(asked_sizes.left);
  follow_asked(out, question, *e.scenario, rest);
  for (std::string& told : shorter_steps(out.projection, out.simulated))
    out.projection.notes.push_back(std::move(told));
  widen(out.seen, out.simulated, out.over_parts);
  add_bends(out, question, [&](std::int64_t ranks) {
    return no_such_size(*e.scenario, ranks).empty() &&
           project(*out.parts, {ranks}, quickly(question.project)).points.front().refused.empty();
  });
  hold_peak(out, *e.scenario);
  hold_simulated(out);
  if (question.structure.asked) out.detail = detail_of(out, nullptr, question);
  if (question.structure.drawn) add_drawn(out, nullptr, question);
  return {};
}

/// Step times that fall as ranks are added, where every rank is said to have as much to do. Empty = none.
std::string falling(const CurveForecast& curve, Scaling scaling) {
  if (scaling == Scaling::Strong || curve.value != CurveValue::StepTime || curve.given.size() < 2) return {};
  const CurvePrediction& first = curve.given.front();
  const CurvePrediction& last = curve.given.back();
  if (last.value >= kLeastGrown * first.value) return {};
  return fmt::format(
      "steps fall from {} at {} to {} at {}, which they cannot where each rank has as much to do at any size: where the whole "
      "job has, say --scaling strong",
      to_string(Seconds{first.value}), first.size, to_string(Seconds{last.value}), last.size);
}

/// Several tables of one job are one curve. Of one size, and asked for others only, there is no number: forecast-040.
Status from_curves(FullForecast& out, const Evidence& e, const Asked& question) {
  Curve all{.name = e.curves.front().name, .value = e.curves.front().value, .points = {}};
  for (const Curve& c : e.curves) all.points.insert(all.points.end(), c.points.begin(), c.points.end());
  std::stable_sort(all.points.begin(), all.points.end(),
                   [](const CurvePoint& a, const CurvePoint& b) { return a.size < b.size; });
  out.curve = project_curve(all, question.sizes, question.project.scaling);
  const auto refused = [](const CurvePrediction& p) { return !p.refused.empty(); };
  if (out.curve->given.size() < 2 && std::ranges::all_of(out.curve->points, refused))
    return fail(
        Error{.code = Errc::InvalidInput,
              .id = "forecast-040",
              .message = fmt::format("{}: one size, {}, says nothing of another, expected at least two sizes",
                                     all.name, out.curve->largest),
              .hint = "add a row of another size, or give a Run, whose parts tell more than its step time",
              .where = {}});
  out.seen_ranks = out.curve->largest;
  if (std::string falls = falling(*out.curve, question.project.scaling); !falls.empty())
    out.contradictions.push_back(std::move(falls));
  out.no_goodness = out.no_scenario = "a table of sizes says nothing of what the ranks do";
  if (question.failures.happen())
    out.not_seen.emplace_back("what failures take: how many nodes a size has is not in a table of sizes");
  const std::vector<CurvePrediction>& given = out.curve->given;
  const bool constant = given.size() > 1 && std::ranges::all_of(given, [&](const CurvePrediction& p) {
                          return p.value == given.front().value;
                        });
  if (constant)
    out.not_seen.emplace_back(
        "how sure it is: all values of the table are the same, so no curve differs from another and none has a band");
  out.not_seen.emplace_back(
      "why it grows: curves have no cause, and what begins beyond the largest size is not in them");
  return {};
}

/// Throughput is over that of what was seen: without a finite step there no size has one.
void refuse_unfounded(FullForecast& out) {
  for (SizePoint& p : out.projection.points) {
    if (!std::isfinite(p.cv)) p.cv = 0;  // a tail without a variance
    if (p.refused.empty() && !std::isfinite(out.speed_up(p)))
      p.refused = "the laws of its parts give no finite time at the size that was seen";
  }
}

void add_not_seen(FullForecast& out) {
  for (const Input& input : out.inputs)
    for (const std::string& what : input.left_out)
      out.left_out.push_back(out.inputs.size() > 1 ? input.name + ": " + what : what);
  if (!out.parts) return;
  for (const std::string& what : out.parts->untold) out.not_seen.push_back(what);
}

}  // namespace

const char* name_of(InputKind kind) {
  constexpr const char* kNames[] = {"run", "step-table", "size-table", "scenario", "study"};
  return kNames[static_cast<std::size_t>(kind)];
}

double Forecast::speed_up(const SizePoint& point) const {
  const double steps = seen.mean.value / point.mean.value;
  return projection.scaling == Scaling::Strong
             ? steps
             : steps * static_cast<double>(point.ranks) / static_cast<double>(seen.ranks);
}

Result<FullForecast> make_forecast(const Evidence& evidence, const Asked& question) {
  COX_CHECK(check_together(evidence));
  const bool terms_only = evidence.stated && !(evidence.stated->jitter > Seconds{});
  if ((!evidence.curves.empty() || terms_only) && question.structure.asked)
    return fail(Error{
        .code = Errc::Usage,
        .id = "forecast-010",
        .message = evidence.stated
                       ? evidence.stated->name + ": terms of a step say nothing of who sets the pace"
                       : evidence.curves.front().name + ": sizes and values say nothing of who sets the pace",
        .hint = "leave --structure and --delay out, or give a Run or a table of own work",
        .where = {}});
  FullForecast out;
  out.inputs = evidence.inputs;
  out.name = evidence.inputs.empty() ? "" : evidence.inputs.front().name;
  out.projection.scaling = question.project.scaling;
  out.prior = question.prior;
  if (!evidence.samples.empty()) COX_CHECK(from_samples(out, evidence, question));
  if (evidence.scenario) COX_CHECK(from_scenario(out, evidence, question));
  if (!evidence.curves.empty()) COX_CHECK(from_curves(out, evidence, question));
  if (evidence.stated) COX_CHECK(add_stated(out, *evidence.stated, question));
  refuse_unfounded(out);
  add_not_seen(out);
  if (out.goodness && !out.goodness->reproduces) out.misfit = out.goodness->because;
  return out;
}

}  // namespace cox::forecast
