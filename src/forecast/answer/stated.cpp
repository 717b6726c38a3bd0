// SPDX-License-Identifier: Apache-2.0
#include "forecast/answer/stated.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "cox/base/assert.hpp"
#include "cox/base/number_text.hpp"

#include "forecast/answer/node_hours.hpp"
#include "forecast/levers/nearest_margin.hpp"
#include "forecast/regimes/failing.hpp"
#include "forecast/regimes/margin.hpp"

namespace cox::forecast {
namespace {

std::vector<StepTerm> terms_of(const StatedJob& stated) {
  std::vector<StepTerm> out;
  for (const StatedTerm& t : stated.terms) out.push_back(t.term);
  return out;
}

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

std::string why_not(const StatedJob& stated, std::int64_t ranks) {
  if (ranks % stated.ranks_per_node != 0)
    return fmt::format("no whole number of nodes of {} ranks", stated.ranks_per_node);
  if (ranks < stated.from * stated.ranks_per_node)
    return fmt::format("below the {} nodes from which the terms are stated", stated.from);
  return {};
}

Failing failing_of(const StatedJob& stated, Seconds step) {
  const FailureTerm& f = *stated.failures;
  Failing out;
  out.per_node = static_cast<double>(stated.ranks_per_node);
  out.step = step;
  out.scenario.cluster.nodes = static_cast<int>(stated.from);
  out.scenario.cluster.devices_per_node = stated.ranks_per_node;
  out.scenario.failures = {.node_mtbf = f.node_mean_time,
                           .restart = f.restart,
                           .restart_per_node = f.restart_per_node,
                           .checkpoint = f.checkpoint};
  return out;
}

Margins margins_at(const StatedJob& stated, std::int64_t nodes, double level) {
  std::vector<MarginParameter> parameters{{.name = "ranks", .worst = false, .only_more = true}};
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
        std::vector<StepTerm> terms = terms_of(stated);
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
  out.controlled_job = std::move(made);
}

}  // namespace

ScalingJob StatedJob::job() const {
  return job_of(work, terms_of(*this), failures);
}

ScalingJob StatedJob::job_with_control() const {
  COX_ASSERT(control.has_value(), "something is done");
  return job_of(work, terms_of(*this), control->failures);
}

Status add_stated(FullForecast& out, const StatedJob& stated, const Asked& question) {
  if (question.project.scaling == Scaling::Strong)
    return fail(
        Error{.code = Errc::Usage,
              .id = "forecast-013",
              .message = stated.name + ": its terms are those of ranks with as much to do at any size",
              .hint = "leave --scaling strong out",
              .where = {}});
  const ScalingJob job = stated.job();
  const ScalingJob running = job_of(stated.work, terms_of(stated));
  out.job_words = JobWords{.system = stated.system, .mode = stated.mode, .runtime = stated.runtime};
  out.no_goodness = out.no_scenario = "a study states terms of a step, and no job that could be simulated";
  out.seen_ranks = stated.from * stated.ranks_per_node;
  out.seen = point_at(stated, running, stated.from);
  for (const std::int64_t ranks : question.sizes) {
    const std::string why = why_not(stated, ranks);
    SizePoint point;
    point.ranks = ranks;
    if (why.empty()) {
      point = point_at(stated, running, ranks / stated.ranks_per_node);
      out.margins_at = std::max(out.margins_at, ranks);
    }
    point.refused = why;
    out.projection.points.push_back(std::move(point));
  }
  out.projection.notes.emplace_back(
      "terms add, and are stated: the step has no band, and no spread beside the mean");
  if (stated.failures) {
    add_goodput(out, failing_of(stated, out.seen.mean.value));
    for (std::size_t i = 0; i < out.goodput.size(); ++i)
      if (const SizePoint& p = out.projection.points[i]; p.refused.empty())
        out.goodput[i].elasticity = job.at(p.ranks / stated.ranks_per_node, kEveryMechanism).elasticity;
  }
  if (question.failures.happen())
    out.projection.notes.emplace_back("--failures: not taken, the study states its own");
  out.regimes =
      in_ranks(regimes_of(job, stated.range(), true, {}, question.project.threads), stated.ranks_per_node);
  if (stated.control) add_control(out, stated, question.project.threads);
  if (out.margins_at == 0) return {};
  const std::int64_t nodes = out.margins_at / stated.ranks_per_node;
  out.margins = margins_at(stated, nodes, next_level(job.at(nodes, kEveryMechanism).elasticity));
  return {};
}

}  // namespace cox::forecast
