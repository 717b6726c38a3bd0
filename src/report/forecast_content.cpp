// SPDX-License-Identifier: Apache-2.0
#include "report/forecast_content.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"

#include "report/curve_content.hpp"

namespace cox::report {
namespace {

using forecast::Boundary;
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
    sharded += fmt::format("{}ZeRO stage {}", sharded.empty() ? "" : ", ", job->zero_stage);
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
  page.system = f.scenario ? fmt::format("{} with {} each", count_of(nodes_of(*f.scenario), "node"),
                                         count_of(f.scenario->cluster.devices_per_node, "device"))
                           : "Not known: only what ranks did was seen";
  page.mode = f.scenario ? kind_of_job(*f.scenario) : "Synchronous steps";
  page.runtime = f.scenario ? runtime_of(*f.scenario) : "Not known";
}

void add_sizes(const Forecast& f, ForecastPage& page) {
  const double first = f.seen.efficiency > 0 ? f.seen.efficiency * f.goodput_seen : 0;
  const auto add = [&](const SizePoint& p, bool seen, double goodput) {
    ScalePoint out{.ranks = p.ranks, .seen = seen, .refused = p.refused};
    if (p.refused.empty() && !(p.efficiency > 0)) out.refused = "own work is not known";
    if (out.refused.empty()) {
      const auto ranks = static_cast<double>(p.ranks);
      out.throughput = ranks * p.efficiency * goodput;
      out.low = p.mean.high > Seconds{} ? out.throughput * (p.mean.value / p.mean.high) : out.throughput;
      out.high = p.mean.low > Seconds{} ? out.throughput * (p.mean.value / p.mean.low) : out.throughput;
      out.cost = first > 0 && goodput > 0 ? first / (p.efficiency * goodput) : 0;
    }
    page.sizes.push_back(std::move(out));
  };
  const bool asked = std::any_of(f.projection.points.begin(), f.projection.points.end(),
                                 [&](const SizePoint& p) { return p.ranks == f.seen.ranks; });
  if (f.seen.ranks > 0 && !asked) add(f.seen, true, f.goodput_seen);
  for (std::size_t i = 0; i < f.projection.points.size(); ++i) {
    const SizePoint& p = f.projection.points[i];
    add(p, p.ranks == f.seen.ranks, f.goodput.empty() ? 1 : f.goodput[i].shares.work);
  }
  std::sort(page.sizes.begin(), page.sizes.end(),
            [](const ScalePoint& a, const ScalePoint& b) { return a.ranks < b.ranks; });
}

/// The nearest boundary above each size, over that size.
void add_margins(const Forecast& f, ForecastPage& page) {
  page.margin = f.margins;
  page.regimes = f.regimes;
  if (!f.regimes) return;
  for (const ScalePoint& p : page.sizes) {
    std::int64_t next = 0;
    for (const Boundary& b : {f.regimes->n1.value, f.regimes->n2.value, f.regimes->n_star.value})
      if (b.inside() && b.ranks > p.ranks && (next == 0 || b.ranks < next)) next = b.ranks;
    if (next > 0)
      page.margins.push_back(
          {.ranks = p.ranks, .factor = static_cast<double>(next) / static_cast<double>(p.ranks)});
  }
}

std::string interval(const forecast::Proportion& p) {
  return fmt::format("{} to {}", percent(p.low), percent(p.high));
}

void add_structure(const forecast::Structure& s, ForecastPage& page) {
  page.observations.push_back(
      {.sentence = fmt::format("A step takes {:.3g} times as long as one rank's own work and communication.",
                               s.amplification),
       .interval = {},
       .evidence = fmt::format("{} synchronisations", grouped(s.synchronisations)),
       .anchor = "scaling",
       .refuted_by = "ranks that arrive together"});
  const auto worst = std::max_element(s.ranks.begin(), s.ranks.end(),
                                      [](const forecast::UnitPace& a, const forecast::UnitPace& b) {
                                        return a.critical.value < b.critical.value;
                                      });
  if (worst != s.ranks.end())
    page.observations.push_back(
        {.sentence = fmt::format(
             "The pace is set as if by {:.3g} of {} ranks; rank {} is last most often, at {} of the "
             "synchronisations.",
             s.who.effective, grouped(static_cast<std::int64_t>(s.ranks.size())), worst->unit,
             percent(worst->critical.value)),
         .interval = interval(worst->critical),
         .evidence = "who was last, counted",
         .anchor = "coupling",
         .refuted_by = "the same rank last in a run with ranks placed otherwise, or never again"});
  for (const forecast::Dependence& d : s.depends)
    if (d.chance < 0.05)
      page.observations.push_back(
          {.sentence = fmt::format(
               "Who is last depends on {}: the critical path follows the job's state, not its topology alone.",
               d.on),
           .interval = fmt::format("by chance {}", percent(d.chance)),
           .evidence = "steps against each other",
           .anchor = "path",
           .refuted_by = "as strong a dependence where steps are shuffled"});
  if (s.kept.size() > 1) {
    const forecast::KeptPart& k = s.kept[1];
    page.observations.push_back(
        {.sentence = fmt::format(
             "Of a delay of {} on one rank {} reaches the whole job; the rest is absorbed by slack.",
             to_string(k.delay), percent(k.kept.value)),
         .interval = interval(k.kept),
         .evidence = "slack of every rank and step",
         .anchor = "decay",
         .refuted_by = "more than the delay itself arriving: then something is shared"});
    page.kept_against = "delay, in steps of one rank's spread";
    const Seconds unit = s.kept.front().delay;
    for (const forecast::KeptPart& one : s.kept)
      page.kept.push_back(
          {.step = one.delay / unit, .kept = one.kept.value, .low = one.kept.low, .high = one.kept.high});
  }
  if (s.entered.empty()) return;
  for (const std::int32_t g : s.groups)
    page.coupling.rows.push_back(fmt::format("{} {}", s.groups_are_roles ? "role" : "node", g));
  page.coupling.columns = page.coupling.rows;
  page.coupling.values = s.entered;
}

/// What failures leave at a size.
void add_failures(const Forecast& f, const SizePoint& at, ForecastPage& page) {
  if (f.goodput.empty()) return;
  const auto i = static_cast<std::size_t>(&at - f.projection.points.data());
  const forecast::NodeHours h = f.node_hours(i);
  page.observations.push_back(
      {.sentence = fmt::format(
           "Of the node hours at {} ranks {} are work that counts, {} communication, {} waiting for the slowest, {} "
           "checkpoints, {} work done again, {} restarts.",
           grouped(at.ranks), percent(h.own), percent(h.communication), percent(h.waiting), percent(h.writes),
           percent(h.rework), percent(h.restarts + h.repair)),
       .interval = {},
       .evidence = fmt::format("a failure every {}, as stated", to_string(f.goodput[i].between)),
       .anchor = "scaling",
       .refuted_by = "failures, checkpoints or restarts that take another time than was stated"});
}

/// Shares of the units that are last most often, the others together.
void add_path(const forecast::OverTime& o, ForecastPage& page) {
  constexpr std::size_t kMost = 5;
  std::vector<std::pair<double, std::int32_t>> units;
  const auto of = [](const forecast::Structure& s) -> const std::vector<forecast::UnitPace>& {
    return s.nodes.size() > 1 ? s.nodes : s.ranks;
  };
  for (const forecast::WindowStructure& w : o.windows)
    for (const forecast::UnitPace& u : of(w.structure)) {
      const auto at =
          std::find_if(units.begin(), units.end(), [&](const auto& x) { return x.second == u.unit; });
      if (at == units.end())
        units.emplace_back(u.critical.value, u.unit);
      else
        at->first += u.critical.value;
    }
  std::sort(units.begin(), units.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  if (units.size() > kMost) units.resize(kMost);
  const bool nodes = !o.windows.empty() && o.windows.front().structure.nodes.size() > 1;
  for (const auto& [share, unit] : units)
    page.path.columns.push_back(fmt::format("{} {}", nodes ? "node" : "rank", unit));
  page.path.columns.emplace_back("all others");
  for (const forecast::WindowStructure& w : o.windows) {
    std::vector<double> row;
    double rest = 1;
    for (const auto& [share, unit] : units) {
      double here = 0;
      for (const forecast::UnitPace& u : of(w.structure))
        if (u.unit == unit) here = u.critical.value;
      row.push_back(here);
      rest -= here;
    }
    row.push_back(std::max(rest, 0.0));
    page.path.rows.push_back(fmt::format("{} steps from {}",
                                         grouped(static_cast<std::int64_t>(w.steps.count)),
                                         grouped(static_cast<std::int64_t>(w.steps.first))));
    page.path.values.push_back(std::move(row));
  }
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

void add_recognition(const Forecast& f, const SizePoint& at, ForecastPage& page) {
  const auto add = [&](std::string_view sign, std::string now, std::string_view look_at) {
    page.recognised.push_back(
        {.sign = std::string(sign), .now = std::move(now), .look_at = std::string(look_at)});
  };
  if (at.efficiency > 0 && f.seen.efficiency > 0)
    add("throughput per rank, of the small run", fmt::format("{:.3f}", at.efficiency / f.seen.efficiency),
        "samples per second over ranks");
  if (at.median.value > Seconds{}) {
    add("p99 over median of the step", fmt::format("{:.3f}", at.p99.value / at.median.value),
        "histogram of step times");
    add("p999 over median of the step", fmt::format("{:.3f}", at.p999.value / at.median.value),
        "the same, one step in a thousand");
  }
  if (std::isfinite(at.cv))
    add("coefficient of variation of the step", fmt::format("{:.4f}", at.cv),
        "deviation over mean of step times");
  if (at.mean.value > Seconds{})
    add("communication that nothing hides, of the step", percent(at.rest / at.mean.value),
        "a profile of a few steps");
  add("twice the ranks give", fmt::format("x{:.2f}", std::pow(2.0, at.elasticity)),
      "throughput of two sizes");
}

/// Of a sample at one of the sizes asked, over the small run: own work and goodput lost. 1 where it is not known.
double cost_at(const Forecast& f, const SizePoint& at) {
  const auto i = static_cast<std::size_t>(&at - f.projection.points.data());
  const double kept = f.goodput.empty() ? 1 : f.goodput[i].shares.work / f.goodput_seen;
  return f.seen.efficiency > 0 && at.efficiency > 0 && kept > 0 ? f.seen.efficiency / (at.efficiency * kept)
                                                                : 1;
}

void add_monitoring(const Forecast& f, const SizePoint& at, ForecastPage& page) {
  if (!(at.efficiency > 0) || !(f.seen.efficiency > 0)) return;
  const auto own = [](const SizePoint& p) { return p.mean.value * p.efficiency; };
  const auto add = [&](std::string_view name, std::string small, std::string large, bool moved) {
    page.monitored.push_back(
        {.figure = std::string(name), .small = std::move(small), .large = std::move(large), .moved = moved});
  };
  add("own work of a rank in a step", to_string(own(f.seen)), to_string(own(at)),
      std::abs(own(at) / own(f.seen) - 1) > 0.05 && f.projection.scaling == forecast::Scaling::Weak);
  const auto moving = [](const SizePoint& p) { return p.rest / p.mean.value; };
  add("share of a step in which links carry the job's data", percent(moving(f.seen)), percent(moving(at)),
      std::abs(moving(at) - moving(f.seen)) > 0.05);
  const double cost = cost_at(f, at);
  add("cost of a sample", "1.00", fmt::format("{:.2f}", cost), cost > 1.05);
}

void add_implications(const Forecast& f, const SizePoint& at, ForecastPage& page) {
  const double cost = cost_at(f, at);
  if (cost > 1.05)
    page.implications.push_back(fmt::format(
        "A sample costs {:.2f} times as much at {} ranks while every rank works as in the small run: this is coupling, not a "
        "broken part.",
        cost, grouped(at.ranks)));
  const bool falls =
      f.regimes && f.regimes->n_star.value.inside() && f.regimes->n_star.value.ranks < at.ranks;
  if (!falls)
    page.implications.push_back(fmt::format("Beyond {} ranks, twice as many give x{:.2f}.", grouped(at.ranks),
                                            std::pow(2.0, at.elasticity)));
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
  page.lead = fmt::format("A step takes {} there ({} to {}), from {} ranks {}.", to_string(at->mean.value),
                          to_string(at->mean.low), to_string(at->mean.high), grouped(f.seen_ranks),
                          f.structure ? "measured" : "given");
  if (!at->rests_on.empty()) page.lead += " The answer is " + at->rests_on + ".";
  if (!f.misfit.empty()) page.lead += " The model does not reproduce the recorded steps: " + f.misfit + ".";
}

void add_control(const forecast::Control& c, ForecastPage& page) {
  for (const forecast::ControlledSize& at : c.controlled) {
    const auto size = std::ranges::find(page.sizes, at.ranks, &ScalePoint::ranks);
    if (size != page.sizes.end() && size->refused.empty())
      page.controlled.push_back({.ranks = at.ranks, .throughput = size->throughput * at.throughput_ratio});
  }
  page.levers = c.levers;
  page.control = c.set;
  page.target = c.target;
  for (const std::string& note : c.notes) page.limits.push_back(note);
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
    add_margins(f, page);
  }
  if (f.structure) add_structure(*f.structure, page);
  if (f.over_time) {
    add_path(*f.over_time, page);
    add_changes(*f.over_time, page);
  }
  if (at != nullptr) {
    add_failures(f, *at, page);
    add_recognition(f, *at, page);
    add_monitoring(f, *at, page);
    add_implications(f, *at, page);
  }
  for (const auto* list : {&f.not_seen, &f.contradictions, &f.projection.notes, &f.left_out})
    page.limits.insert(page.limits.end(), list->begin(), list->end());
  if (f.control) add_control(*f.control, page);
  page.artefacts = std::move(artefacts);
  if (!page.sizes.empty())
    page.artefacts.push_back({.name = "forecast.csv", .what = "sizes as drawn", .text = sizes_csv(page)});
  return page;
}

std::string sizes_csv(const ForecastPage& page) {
  std::string out = "ranks,throughput,low,high,cost,refused\n";
  for (const ScalePoint& p : page.sizes) {
    if (p.refused.empty())
      out += fmt::format("{},{},{},{},{},\n", p.ranks, p.throughput, p.low, p.high, p.cost);
    else
      out += fmt::format("{},,,,,yes\n", p.ranks);
  }
  return out;
}

Result<std::string> forecast_page(const forecast::Forecast& forecast, std::vector<Artefact> artefacts) {
  return render_forecast(page_of(forecast, std::move(artefacts)));
}

}  // namespace cox::report
