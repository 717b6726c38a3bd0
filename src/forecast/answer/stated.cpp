// SPDX-License-Identifier: Apache-2.0
#include "forecast/answer/stated.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"

#include "forecast/answer/drawn_structure.hpp"
#include "forecast/answer/node_hours.hpp"
#include "forecast/answer/structure_detail.hpp"
#include "forecast/levers/nearest_margin.hpp"
#include "forecast/regimes/failing.hpp"
#include "forecast/regimes/margin.hpp"
#include "forecast/scenario/scenario_parts.hpp"
#include "forecast/scenario/stated_scenario.hpp"
#include "forecast/simulated/simulated_sizes.hpp"

namespace cox::forecast {
namespace {

/// A size in nodes, in ranks.
Regimes in_ranks(Regimes r, int each) {
  const auto grow = [each](std::int64_t& size) { size *= each; };
  grow(r.range.from);
  grow(r.range.to);
  for (Crossing& c : r.map.crossings) grow(c.ranks);
  for (Peak& p : r.map.peaks) grow(p.ranks);
  for (RegimeBoundary* b : {&r.map.n1, &r.map.n2, &r.map.n_star}) grow(b->ranks);
  for (TransitionBand* t : {&r.n1, &r.n2, &r.n_star}) {
    for (RegimeBoundary* b : {&t->value, &t->low, &t->high, &t->shared_low, &t->shared_high}) grow(b->ranks);
    for (MovedBoundary& m : t->without) grow(m.at.ranks);
  }
  return r;
}

ScalingJob in_ranks(ScalingJob job, int each) {
  job.at = [of_nodes = std::move(job.at), each](std::int64_t ranks, MechanismSet on) {
    const std::int64_t nodes = (ranks + each / 2) / each;
    ThroughputPoint out = of_nodes(std::max<std::int64_t>(nodes, 1), on);
    out.throughput *= each;
    return out;
  };
  return job;
}

TimeBand exactly(Seconds s) {
  return {.value = s, .low = s, .high = s};
}

/// A step at so many nodes; `elasticity` without failures.
SizePoint point_at(const StatedJob& stated, const ScalingJob& running, std::int64_t nodes) {
  SizePoint out;
  out.ranks = nodes * stated.ranks_per_node;
  Seconds step = stated.work;
  for (const StatedTerm& t : stated.terms) {
    const Seconds adds = t.term.at(nodes).value;
    step += adds;
    if (t.of == TermOf::Communication) out.rest += adds;
  }
  out.mean = exactly(step);
  out.efficiency = stated.work / step;
  out.elasticity = running.at(nodes, kEveryMechanism).elasticity;
  return out;
}

std::string below_its_terms(const StatedJob& stated) {
  return fmt::format("below the {} nodes from which the terms are stated", stated.from);
}

std::string why_not(const StatedJob& stated, std::int64_t ranks) {
  if (ranks % stated.ranks_per_node != 0)
    return fmt::format("no whole number of nodes of {} ranks", stated.ranks_per_node);
  if (ranks < stated.from * stated.ranks_per_node) return below_its_terms(stated);
  return {};
}

Failing failing_of(const StatedJob& stated, Seconds step) {
  return {
      .scenario = scenario_of(stated), .per_node = static_cast<double>(stated.ranks_per_node), .step = step};
}

/// Terms are by nodes, these by ranks.
ScalingJob by_ranks(ScalingJob nodes, int each) {
  return {.mechanisms = nodes.mechanisms,
          .at = [at = std::move(nodes.at), each](std::int64_t ranks, MechanismSet on) {
            return at(std::max<std::int64_t>(ranks / each, 1), on);
          }};
}

/// Where the terms say what a rank's work varies by: its law, communication at any size, and the job as a Scenario where it begins.
Status add_laws(FullForecast& out, const StatedJob& stated, const Asked& question) {
  model::Scenario s = scenario_of(stated);
  COX_TRY(out.parts, parts_of(s));
  COX_TRY(out.sources, work_sources_of(s));
  out.rest = rest_of(stated);
  out.named = by_ranks(stated.job(), stated.ranks_per_node);
  if (stated.failures) {
    out.failing = s;
    const Failing failing = failing_of(stated, out.seen.mean.value);
    s.failures.checkpoint_interval = best_intervals(failing.costs(static_cast<double>(out.seen_ranks))).far;
    out.scenario_notes.push_back(fmt::format("its checkpoints are written every {}, the best interval there",
                                             to_string(s.failures.checkpoint_interval)));
  }
  out.scenario_notes.insert(
      out.scenario_notes.begin(),
      fmt::format(
          "it is the job at {} ranks: what terms add at other sizes, and groups of sharding, are not in it",
          grouped(out.seen_ranks)));
  const auto terms = [seen = out.seen.mean](std::int64_t) { return seen; };
  out.simulated =
      simulate_sizes(s, out.seen_ranks, SimulatedRange::Own, Scaling::Weak, terms, question.project.threads);
  out.no_goodness = "a study records nothing to compare with";
  out.no_scenario.clear();
  out.scenario = std::move(s);
  return {};
}

/// Quantiles by the law of its jitter, about the mean of its terms.
void add_quantiles(const FullForecast& f, const ProjectOptions& asked, SizePoint& p) {
  ProjectOptions options = asked;
  options.rest = f.rest;
  const SizePoint by_law = project_one(*f.parts, p.ranks, options);
  const Seconds move = p.mean.value - by_law.mean.value;
  for (TimeBand SizePoint::*q : {&SizePoint::median, &SizePoint::p95, &SizePoint::p99, &SizePoint::p999})
    p.*q = exactly((by_law.*q).value + move);
  p.cv = by_law.cv;
}

/// Where a step of so many nodes goes, and what it trains on; an error where no term is stated.
BudgetAt steps_of(const StatedJob& stated, double tokens_per_step) {
  return [stated, tokens_per_step,
          running = job_of(stated.work, stated.step_terms())](std::int64_t nodes) -> Result<StepBudget> {
    if (nodes < stated.from)
      return fail(Error{.code = Errc::Unsupported,
                        .id = "forecast-031",
                        .message = below_its_terms(stated),
                        .hint = "ask for that many nodes at least",
                        .where = {}});
    const SizePoint p = point_at(stated, running, nodes);
    return StepBudget{
        .compute = stated.work,
        .communication = p.rest,
        .waiting = p.mean.value - stated.work - p.rest,
        .tokens = tokens_per_step * static_cast<double>(nodes) / static_cast<double>(stated.from)};
  };
}

Margins margins_at(const StatedJob& stated, std::int64_t nodes, double level) {
  std::vector<MarginParameter> parameters{{.name = "ranks", .worst = false, .one_way = true}};
  std::vector<std::size_t> changed;
  for (std::size_t i = 0; i < stated.terms.size(); ++i)
    if (const std::string& name = stated.terms[i].term.mechanism.name; !name.empty()) {
      parameters.push_back({.name = name});
      changed.push_back(i);
    }
  if (stated.failures) parameters.push_back({.name = "failure rate"});
  return margins_of(
      parameters,
      [&](std::span<const double> factor) {
        const double size = std::round(static_cast<double>(nodes) * factor[0]);
        if (size < 1 || size > 1e9) return std::numeric_limits<double>::quiet_NaN();
        std::vector<StepTerm> terms = stated.step_terms();
        for (std::size_t k = 0; k < changed.size(); ++k)
          terms[changed[k]].at = [at = terms[changed[k]].at, by = factor[k + 1]](std::int64_t n) {
            const TimeAtSize as_it_is = at(n);
            return TimeAtSize{as_it_is.value * by, as_it_is.growth * by};
          };
        std::optional<FailureTerm> failures = stated.failures;
        if (failures) failures->node_mean_time /= factor.back();
        return job_of(stated.work, std::move(terms), failures)
            .at(static_cast<std::int64_t>(size), kEveryMechanism)
            .elasticity;
      },
      level);
}

/// Of the job where it begins; amplification by its own mechanisms, at all sizes.
void add_stated_structure(FullForecast& out, const Asked& question) {
  if (!out.parts) return;
  Asked here = question;
  here.project.rest = out.rest;
  if (question.structure.asked) out.detail = detail_of(out, nullptr, here);
  if (question.structure.drawn) add_drawn(out, nullptr, here);
}

void add_control(FullForecast& out, const StatedJob& stated, int threads) {
  const ScalingJob job = stated.job(), with = stated.job_with_control();
  const auto over = [&](std::int64_t here, std::int64_t there) {
    return with.at(here, kEveryMechanism).throughput / job.at(there, kEveryMechanism).throughput;
  };
  ControlledJob made{.what = stated.control->what,
                     .regimes = regimes_of(with, stated.range(), true, {}, threads)};
  made.most = over(made.regimes.n_star.value.ranks, out.regimes->n_star.value.ranks / stated.ranks_per_node);
  made.regimes = in_ranks(std::move(made.regimes), stated.ranks_per_node);
  for (const SizePoint& p : out.projection.points) {
    const std::int64_t nodes = p.ranks / stated.ranks_per_node;
    if (p.refused.empty()) made.sizes.push_back({.ranks = p.ranks, .throughput_ratio = over(nodes, nodes)});
  }
  made.job = in_ranks(with, stated.ranks_per_node);
  out.controlled_job = std::move(made);
}

}  // namespace

Result<FullControl> control_of(const FullForecast& f, const StatedJob& stated,
                               const ControlQuestion& question) {
  const double per_step = question.training ? question.training->tokens_per_step : 0;
  ControlQuestion stated_sizes = question;
  std::erase_if(stated_sizes.nodes, [&](std::int64_t nodes) { return nodes < stated.from; });
  COX_TRY(FullControl out,
          make_control(f.failing ? *f.failing : *f.scenario, stated_sizes, steps_of(stated, per_step)));
  if (out.nodes_for && out.nodes_for->reached && out.nodes_for->at.nodes == stated.from)
    out.notes.push_back(fmt::format("--days: sizes {} are not looked at", below_its_terms(stated)));
  if (out.nodes_for && out.nodes_for->at.nodes > stated.to)
    out.notes.push_back(
        fmt::format("--days: beyond {} nodes, the largest of the study's own sizes, its terms go on",
                    grouped(stated.to)));
  return out;
}

Status add_stated(FullForecast& out, const StatedJob& stated, const Asked& question) {
  if (question.project.scaling == Scaling::Strong)
    return fail(
        Error{.code = Errc::Usage,
              .id = "forecast-013",
              .message = stated.name + ": its terms are those of ranks with as much to do at any size",
              .hint = "leave --scaling strong out",
              .where = {}});
  if (question.failures.happen())
    return fail(Error{.code = Errc::Usage,
                      .id = "forecast-013",
                      .message = stated.name + ": it states its own failures, as terms of its job",
                      .hint = "leave --failures out, or change them in the study",
                      .where = {}});
  const ScalingJob job = stated.job();
  const ScalingJob running = job_of(stated.work, stated.step_terms());
  out.job_words = JobWords{.system = stated.system, .mode = stated.mode, .runtime = stated.runtime};
  out.no_goodness = out.no_scenario = "a study states terms of a step, and no job that could be simulated";
  out.seen_ranks = stated.from * stated.ranks_per_node;
  out.seen = point_at(stated, running, stated.from);
  const bool has_law = stated.jitter > Seconds{};
  if (has_law) {
    COX_CHECK(add_laws(out, stated, question));
    add_quantiles(out, question.project, out.seen);
  }
  for (const std::int64_t ranks : question.sizes) {
    const std::string why = why_not(stated, ranks);
    SizePoint point;
    point.ranks = ranks;
    if (why.empty()) {
      point = point_at(stated, running, ranks / stated.ranks_per_node);
      if (has_law) add_quantiles(out, question.project, point);
      out.margins_at = std::max(out.margins_at, ranks);
    }
    point.refused = why;
    out.projection.points.push_back(std::move(point));
  }
  if (const std::int64_t most = stated.range().to * stated.ranks_per_node; out.margins_at > most)
    out.projection.notes.push_back(
        fmt::format("beyond {} ranks, the largest of the study's own sizes, its terms go on", grouped(most)));
  out.projection.notes.emplace_back(
      has_law
          ? "terms add, and are stated: the step has no band; it varies by what its slowest rank does, and by nothing else"
          : "terms add, and are stated: the step has no band, and no spread beside the mean");
  if (stated.failures) {
    add_goodput(out, failing_of(stated, out.seen.mean.value), question.prior);
    for (std::size_t i = 0; i < out.goodput.size(); ++i)
      if (const SizePoint& p = out.projection.points[i]; p.refused.empty())
        out.goodput[i].elasticity = job.at(p.ranks / stated.ranks_per_node, kEveryMechanism).elasticity;
  }
  out.job = in_ranks(job, stated.ranks_per_node);
  out.regimes =
      in_ranks(regimes_of(job, stated.range(), true, {}, question.project.threads), stated.ranks_per_node);
  if (stated.control) add_control(out, stated, question.project.threads);
  add_stated_structure(out, question);
  if (out.margins_at == 0) return {};
  const std::int64_t nodes = out.margins_at / stated.ranks_per_node;
  out.margins = margins_at(stated, nodes, next_level(job.at(nodes, kEveryMechanism).elasticity));
  return {};
}

}  // namespace cox::forecast
