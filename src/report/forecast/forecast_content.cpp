// SPDX-License-Identifier: Apache-2.0
#include "report/forecast/forecast_content.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"

#include "report/forecast/curve_content.hpp"

namespace cox::report {
namespace {

using forecast::Forecast;
using forecast::SizePoint;

/// The largest size that has a number; null = none has.
const SizePoint* largest(const Forecast& f) {
  const SizePoint* out = nullptr;
  for (const SizePoint& p : f.projection.points)
    if (p.refused.empty() && (out == nullptr || p.ranks > out->ranks)) out = &p;
  return out;
}

std::string kind_of_job(const model::Scenario& s) {
  const auto* job = std::get_if<model::TrainingJob>(&s.job.work);
  if (job == nullptr) return "Synchronous collectives, one after another";
  const model::Layout& l = job->layout;
  std::string sharded;
  const auto add = [&](int ways, std::string_view name) {
    if (ways > 1) sharded += fmt::format("{}{}-way {}", sharded.empty() ? "" : ", ", ways, name);
  };
  add(l.tensor, "tensor");
  add(l.pipeline, "pipeline");
  add(l.context, "context");
  add(l.expert, "expert");
  if (job->zero_stage > 0)
    sharded += fmt::format("{}ZeRO stage {}{}", sharded.empty() ? "" : ", ", job->zero_stage,
                           job->is_hybrid() ? fmt::format(" within groups of {}", job->layout.shard) : "");
  return sharded.empty() ? "Synchronous data-parallel training"
                         : "Synchronous data-parallel training with model sharding: " + sharded;
}

std::string runtime_of(const model::Scenario& s) {
  if (!s.failures.lengthen()) return "Failures and checkpoints are not said";
  std::string out = s.failures.happen() ? "Long-running, with failures" : "No failures";
  if (s.failures.checkpoint_interval > Seconds{})
    out += fmt::format(" and a checkpoint every {}", to_string(s.failures.checkpoint_interval));
  return out;
}

std::string count_of(std::int64_t n, std::string_view what) {
  return fmt::format("{} {}{}", grouped(n), what, n == 1 ? "" : "s");
}

/// Several inputs by name; those of one name by how many ranks they have.
std::string title_of(const Forecast& f) {
  if (f.inputs.size() < 2) return f.name;
  const bool alike = std::ranges::all_of(f.inputs, [&](const auto& i) { return i.name == f.name; });
  std::string out = alike ? f.name + " of" : "";
  for (std::size_t i = 0; i < f.inputs.size(); ++i)
    out += fmt::format("{}{}",
                       i == 0                    ? (alike ? " " : "")
                       : i + 1 < f.inputs.size() ? ", "
                                                 : " and ",
                       alike ? grouped(f.inputs[i].ranks) : f.inputs[i].name);
  return alike ? out + " ranks" : out;
}

void add_definition(const Forecast& f, ForecastPage& page) {
  std::int64_t most = 0;
  for (const SizePoint& p : f.projection.points) most = std::max(most, p.ranks);
  page.scale = fmt::format("{} {}, up to {} asked", count_of(f.seen_ranks, "rank"),
                           f.measured.empty() ? "given" : "seen", grouped(most));
  if (f.job_words) {
    page.system = f.job_words->system;
    page.mode = f.job_words->mode;
    page.runtime = f.job_words->runtime;
    return;
  }
  page.system = f.scenario ? fmt::format("{} with {} each", count_of(nodes_of(*f.scenario), "node"),
                                         count_of(f.scenario->cluster.devices_per_node, "device"))
                           : "Not known: only what ranks did was seen";
  page.mode = f.scenario ? kind_of_job(*f.scenario) : "Synchronous steps";
  page.runtime = f.scenario ? runtime_of(*f.scenario) : "Not known";
}

void add_sizes(const Forecast& f, ForecastPage& page) {
  page.sizes = forecast::size_ratios(f);
  page.margin = f.margins;
  page.regimes = f.regimes;
  page.curve = forecast::curve_through(f, page.sizes);
  if (f.regimes) page.margins = forecast::size_margins(*f.regimes, page.sizes);
}

std::string interval(const forecast::Proportion& p) {
  return fmt::format("{} to {}", percent(p.low), percent(p.high));
}

/// `how`: nothing where it was recorded. `followed`: what is left of the delay that is drawn; null = of three deviations of a rank's work.
void add_structure(const forecast::Structure& s, const forecast::KeptPart* followed, std::string_view how,
                   ForecastPage& page) {
  page.observations.push_back(
      {.sentence = fmt::format("A step takes {} times as long as one rank's own work and communication.",
                               plain_number(s.amplification)),
       .interval = {},
       .evidence = fmt::format("{} synchronisations{}", grouped(s.synchronisations), how),
       .anchor = "scaling",
       .refuted_by = "ranks that arrive together"});
  const forecast::UnitPace* worst = forecast::last_most_often(s.ranks);
  if (worst != nullptr)
    page.observations.push_back(
        {.sentence =
             fmt::format("The pace is set as if by {} of {} ranks; rank {} is last most often, at {} of the "
                         "synchronisations.",
                         plain_number(s.who.effective), grouped(static_cast<std::int64_t>(s.ranks.size())),
                         worst->unit, percent(worst->critical.value)),
         .interval = interval(worst->critical),
         .evidence = fmt::format("who was last, counted{}", how),
         .anchor = "coupling",
         .refuted_by = "the same rank last in a run with ranks placed otherwise, or never again"});
  for (const forecast::Dependence& d : s.depends)
    if (d.beyond_chance())
      page.observations.push_back(
          {.sentence = fmt::format(
               "Who is last depends on {}: the critical path follows the job's state, not its topology alone.",
               d.on),
           .interval = fmt::format("by chance {}", percent(d.chance)),
           .evidence = fmt::format("steps against each other{}", how),
           .anchor = "path",
           .refuted_by = "as strong a dependence where steps are shuffled"});
  if (s.kept.size() > 1) {
    const forecast::KeptPart& k = followed != nullptr ? *followed : s.kept[1];
    page.observations.push_back(
        {.sentence = fmt::format(
             "Of a delay of {} on one rank {} reaches the whole job, mean over ranks and steps; the rest is absorbed by slack.",
             to_string(k.delay), percent(k.kept.value)),
         .interval = interval(k.kept),
         .evidence = fmt::format("slack of every rank and step{}", how),
         .anchor = "decay",
         .refuted_by = "more than the delay itself arriving: then something is shared"});
    page.kept_against = "delay, in deviations of one rank's work";
    page.kept = forecast::kept_ratios(s);
  }
  if (s.entered.empty()) return;
  for (const std::int32_t g : s.groups)
    page.coupling.rows.push_back(fmt::format("{} {}", s.groups_are_roles ? "role" : "node", g));
  page.coupling.columns = page.coupling.rows;
  page.coupling.values = s.entered;
}

/// What failures leave at a size.
void add_failures(const Forecast& f, std::size_t i, ForecastPage& page) {
  if (f.goodput.empty()) return;
  const forecast::NodeHours h = f.node_hours(i);
  page.observations.push_back(
      {.sentence = fmt::format(
           "Of the node hours at {} ranks{} {} are work that counts, {} communication, {} waiting for the slowest, {} "
           "checkpoints, {} work done again, {} restarts.",
           grouped(f.projection.points[i].ranks),
           f.projection.points[i].not_simulated.empty() ? "" : " (by parts)", percent(h.own),
           percent(h.communication), percent(h.waiting), percent(h.writes), percent(h.rework),
           percent(h.down())),
       .interval = fmt::format("goodput {} to {}", percent(f.goodput[i].goodput.low),
                               percent(f.goodput[i].goodput.high)),
       .evidence = fmt::format("a failure every {}, as stated", to_string(f.goodput[i].between)),
       .anchor = "scaling",
       .refuted_by = "failures, checkpoints or restarts that take another time than was stated"});
}

/// Shares of the units that are last most often, the others together.
void add_path(const forecast::OverTime& o, ForecastPage& page) {
  constexpr std::size_t kMost = 5;
  forecast::PathShares path = forecast::path_shares(o, kMost);
  for (const std::int32_t unit : path.units)
    page.path.columns.push_back(fmt::format("{} {}", path.of_nodes ? "node" : "rank", unit));
  page.path.columns.emplace_back("all others");
  for (const forecast::WindowStructure& w : o.windows)
    page.path.rows.push_back(fmt::format("{} steps from {}",
                                         grouped(static_cast<std::int64_t>(w.steps.count)),
                                         grouped(static_cast<std::int64_t>(w.steps.first))));
  page.path.values = std::move(path.shares);
}

/// What had to be simulated.
void add_drawn(const forecast::DrawnStructure& d, ForecastPage& page) {
  if (d.structure) add_structure(*d.structure, d.kept ? &*d.kept : nullptr, ", simulated", page);
  if (d.over_time) add_path(*d.over_time, page);
  if (d.delay) {
    page.kept_over_steps = forecast::kept_over_steps(*d.delay);
    page.kept_of = fmt::format("A delay of {} on rank {}", to_string(d.delay->delay), d.delay->rank);
  }
  if (!d.why_not.empty()) page.limits.push_back(d.why_not);
}

/// What changed in the run, and what warns.
void add_changes(const forecast::OverTime& o, ForecastPage& page) {
  const auto add = [&](std::string sentence, std::string interval, std::string evidence,
                       std::string refuted) {
    page.observations.push_back({.sentence = std::move(sentence),
                                 .interval = std::move(interval),
                                 .evidence = std::move(evidence),
                                 .anchor = "path",
                                 .refuted_by = std::move(refuted)});
  };
  for (const diagnose::ChangePoint& c : o.changes)
    add(fmt::format("From step {} on steps take {} instead of {}.", grouped(c.first_step.value()),
                    to_string(c.after), to_string(c.before)),
        fmt::format("steps {} to {}", grouped(c.earliest_step.value()), grouped(c.latest_step.value())),
        "step times before and after", "the same level in a run of the same job");
  if (o.restarts.verdict == forecast::AfterRestart::Higher ||
      o.restarts.verdict == forecast::AfterRestart::Lower)
    add(fmt::format("After a restart steps are {:.2f} times as unsteady as before it.", o.restarts.ratio),
        fmt::format("{:.2f} to {:.2f}", o.restarts.low, o.restarts.high),
        fmt::format("{} restarts", o.restarts.restarts),
        "as steady steps on both sides of the next restarts");
  if (o.warning.alarm)
    add("The job grows less steady: spread, memory or margin of its steps has a trend.",
        fmt::format("by chance in 5 % of steady runs"), fmt::format("{} windows", o.warning.windows),
        "no trend in a longer run");
}

std::string times_text(double factor) {
  return factor < 0.1 ? fmt::format("x{:.2g}", factor) : fmt::format("x{:.2f}", factor);
}

std::string per_rank(double ratio) {
  return fmt::format("{:.3f}", ratio);
}

void add_recognition(const forecast::BesideSmallRun& r, ForecastPage& page) {
  const auto add = [&](std::string_view sign, std::string now, std::string_view look_at) {
    page.recognised.push_back(
        {.sign = std::string(sign), .now = std::move(now), .look_at = std::string(look_at)});
  };
  if (r.per_rank && r.per_rank_running) {
    add("throughput per rank, of the small run", per_rank(*r.per_rank),
        "samples that count, over days, over ranks");
    add("the same while both run", per_rank(*r.per_rank_running),
        "samples per second over ranks, between failures");
  } else if (r.per_rank) {
    add("throughput per rank, of the small run", per_rank(*r.per_rank), "samples per second over ranks");
  }
  if (r.p99_ratio)
    add("p99 over median of the step", fmt::format("{:.3f}", *r.p99_ratio), "histogram of step times");
  if (r.p999_ratio)
    add("p999 over median of the step", fmt::format("{:.3f}", *r.p999_ratio),
        "the same, one step in a thousand");
  if (r.cv)
    add("coefficient of variation of the step", fmt::format("{:.4f}", *r.cv),
        "deviation over mean of step times");
  if (r.communication)
    add("communication that nothing hides, of the step", percent(*r.communication),
        "a profile of a few steps");
  add("twice the ranks give", times_text(r.twice_the_ranks),
      r.per_rank_running ? "throughput of two sizes, over days" : "throughput of two sizes");
}

void add_monitoring(const forecast::BesideSmallRun& r, ForecastPage& page) {
  if (!r.work_known) return;
  const auto add = [&](std::string_view name, std::string small, std::string large, bool moved) {
    page.monitored.push_back(
        {.figure = std::string(name), .small = std::move(small), .large = std::move(large), .moved = moved});
  };
  add("own work of a rank in a step", to_string(r.own_small), to_string(r.own_here), r.own_moved);
  add("share of a step in which links carry the job's data", percent(r.communication_small),
      percent(r.communication_here), r.communication_moved);
  add("cost of a sample", "1.00", fmt::format("{:.2f}", r.cost), r.cost_moved);
  if (r.energy) add("energy of a sample", "1.00", fmt::format("{:.2f}", *r.energy), r.energy_moved);
}

void add_implications(const Forecast& f, const SizePoint& at, const forecast::BesideSmallRun& r,
                      ForecastPage& page) {
  if (r.cost_moved)
    page.implications.push_back(fmt::format(
        "A sample costs {:.2f} times as much at {} ranks while every rank works as in the small run: this is coupling, not a "
        "broken part.",
        r.cost, grouped(at.ranks)));
  const bool falls =
      f.regimes && f.regimes->n_star.value.inside() && f.regimes->n_star.value.ranks < at.ranks;
  if (!falls)
    page.implications.push_back(fmt::format("Beyond {} ranks, twice as many give {}.", grouped(at.ranks),
                                            times_text(r.twice_the_ranks)));
  if (f.regimes && f.regimes->n_star.value.inside())
    page.implications.push_back(
        fmt::format("More than {} ranks do less{}.", grouped(f.regimes->n_star.value.ranks),
                    f.regimes->n_star.because.empty() ? "" : ", because of " + f.regimes->n_star.because));
}

void add_headline(const Forecast& f, const SizePoint* at, ForecastPage& page) {
  if (at == nullptr) {
    page.headline = "No size that was asked has a number";
    page.lead = f.projection.points.empty() ? "" : f.projection.points.front().refused;
    return;
  }
  if (f.regimes && f.regimes->n_star.value.inside())
    page.headline = fmt::format("More than {} ranks do less", grouped(f.regimes->n_star.value.ranks));
  else
    page.headline = fmt::format("At {} a rank works {} of a step and waits or communicates the rest",
                                count_of(at->ranks, "rank"), percent(at->efficiency));
  const std::string band = at->mean.low < at->mean.high
                               ? fmt::format(" ({} to {})", to_string(at->mean.low), to_string(at->mean.high))
                               : "";
  page.lead =
      fmt::format("A step takes {} at {} ranks{}, from {} ranks {}.", to_string(at->mean.value),
                  grouped(at->ranks), band, grouped(f.seen_ranks), f.structure ? "measured" : "given");
  if (!at->rests_on.empty()) page.lead += " The answer is " + at->rests_on + ".";
  if (!f.misfit.empty()) page.lead += " The model does not reproduce the recorded steps: " + f.misfit + ".";
}

void add_control(const forecast::Control& c, ForecastPage& page) {
  page.controlled = forecast::with_control(page.sizes, c);
  page.levers = c.levers;
  page.played = c.played;
  page.control = c.set;
  page.target = c.target;
  for (const std::string& note : c.notes) page.limits.push_back(note);
}

void add_stated_control(const forecast::ControlledJob& c, ForecastPage& page) {
  page.controlled = forecast::with_control(page.sizes, {.controlled = c.sizes});
  const forecast::RegimeBoundary& most = c.regimes.n_star.value;
  page.implications.push_back(fmt::format(
      "With control ({}) the most throughput is {} {} ranks, {:.2f} times that of the job as it is.", c.what,
      most.inside() ? "at" : "beyond", grouped(most.ranks), c.most));
}

}  // namespace

ForecastPage page_of(const Forecast& f, std::vector<Artefact> artefacts) {
  ForecastPage page;
  page.name = title_of(f);
  const SizePoint* at = largest(f);
  if (f.curve) {
    add_curve(f, page);
  } else {
    add_definition(f, page);
    add_headline(f, at, page);
    add_sizes(f, page);
  }
  const bool followed = f.drawn && f.drawn->kept;
  if (f.structure) add_structure(*f.structure, followed ? &*f.drawn->kept : nullptr, {}, page);
  if (f.drawn) add_drawn(*f.drawn, page);
  if (f.over_time) {
    add_path(*f.over_time, page);
    add_changes(*f.over_time, page);
  }
  if (at != nullptr) {
    const auto i = static_cast<std::size_t>(at - f.projection.points.data());
    const forecast::BesideSmallRun beside = forecast::beside_small_run(f, i);
    add_failures(f, i, page);
    add_recognition(beside, page);
    add_monitoring(beside, page);
    add_implications(f, *at, beside, page);
  }
  if (f.job_words)
    page.no_structure = "a study states terms of a step, which say nothing of who waits for whom";
  else if (!f.structure && !(f.drawn && f.drawn->structure))
    page.no_structure =
        f.drawn && !f.drawn->why_not.empty() ? f.drawn->why_not : "nobody saw who waits for whom";
  for (const SizePoint& p : f.projection.points)
    if (p.refused.empty() && !p.not_simulated.empty())
      page.limits.push_back(
          fmt::format("{} ranks are not simulated ({}): by parts", grouped(p.ranks), p.not_simulated));
  for (const auto* list : {&f.not_seen, &f.contradictions, &f.projection.notes, &f.left_out})
    page.limits.insert(page.limits.end(), list->begin(), list->end());
  if (f.control) add_control(*f.control, page);
  page.learned = f.learned;
  if (f.controlled_job) add_stated_control(*f.controlled_job, page);
  page.control_curve = forecast::curve_with_control(f, page.curve, page.controlled);
  page.artefacts = std::move(artefacts);
  if (!page.sizes.empty())
    page.artefacts.push_back({.name = "forecast.csv", .what = "sizes as drawn", .text = sizes_csv(page)});
  return page;
}

std::string sizes_csv(const ForecastPage& page) {
  std::string out = "ranks,throughput,low,high,cost,refused\n";
  for (const forecast::SizeRatios& p : page.sizes) {
    if (p.refused.empty())
      out += fmt::format("{},{},{},{},\n", p.ranks, p.throughput,
                         p.has_band() ? fmt::format("{},{}", p.low, p.high) : ",", p.cost);
    else
      out += fmt::format("{},,,,,yes\n", p.ranks);
  }
  return out;
}

Result<std::string> forecast_page(const forecast::Forecast& forecast, std::vector<Artefact> artefacts) {
  return render_forecast(page_of(forecast, std::move(artefacts)));
}

}  // namespace cox::report
