// SPDX-License-Identifier: Apache-2.0
#include "forecast/levers/by_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "cox/base/parallel.hpp"
#include "cox/base/stats.hpp"
#include "cox/forecast/regimes.hpp"

#include "forecast/levers/nearest_margin.hpp"
#include "forecast/levers/set_search.hpp"
#include "forecast/regimes/failing.hpp"
#include "forecast/regimes/parts_job.hpp"
#include "forecast/regimes/redrawn.hpp"

namespace cox::forecast {
namespace {

/// The job at one size: as estimated, and with parameters drawn again.
struct PlayedParts {
  SizePoint value;
  std::vector<SizePoint> draws;
  std::vector<SizePoint> unseen;  ///< the same with what was not seen of a Run
  std::int64_t ranks = 0;
  WallShares wall{.work = 1};  ///< of the wall time
};

/// Nodes and ranks with parts of their own alone: one law for all would keep what a lever takes away.
Parts without_pooled(Parts parts) {
  for (PositionParts& p : parts.positions) {
    p.pooled = Law();
    p.residual_sd.value = std::max(p.residual_sd.value, Seconds{1e-12});
  }
  return parts;
}

/// Communication at one place of its range.
RestAt at_place(const RestAt& rest, double place) {
  if (!rest) return rest;
  return [rest, place](std::int64_t ranks) {
    TimeEstimate out = rest(ranks);
    out.value = out.at_place(place);
    out.low = out.high = out.value;
    return out;
  };
}

/// Steps of which a share is another job's. Quantiles are not known then.
SizePoint mixed(const SizePoint& usual, const SizePoint& rare, double share) {
  const double mean = (1 - share) * usual.mean.value.count() + share * rare.mean.value.count();
  double square = 0;
  for (const auto& [point, part] : {std::pair{&usual, 1 - share}, std::pair{&rare, share}}) {
    const double m = point->mean.value.count();
    square += part * m * m * (1 + point->cv * point->cv);
  }
  SizePoint out;
  out.ranks = usual.ranks;
  out.mean.value = Seconds{mean};
  out.cv = std::sqrt(std::max(square / (mean * mean) - 1, 0.0));
  return out;
}

/// A size of a job whose steps grow by what one size does not show.
SizePoint grown(SizePoint point, std::int64_t seen, double power) {
  if (!(power > 0) || point.ranks <= seen) return point;
  const double times = std::pow(static_cast<double>(point.ranks) / static_cast<double>(seen), power);
  for (TimeBand SizePoint::*band : {&SizePoint::mean, &SizePoint::median, &SizePoint::p95, &SizePoint::p99})
    (point.*band).value *= times;
  return point;
}

SizePoint point_of(const PartsCase& job, const ProjectOptions& asked, std::optional<std::uint64_t> replicate,
                   const Unseen& unseen = {}) {
  ProjectOptions options = asked;
  options.replicates = 0;
  options.coarse = replicate.has_value();
  options.rest = replicate ? at_place(job.rest, place_of_rest(asked.seed, *replicate)) : job.rest;
  const auto one = [&](const Parts& parts) {
    const Parts drawn = replicate ? with_unseen(redrawn(parts, asked.seed, *replicate), unseen) : parts;
    return grown(project_one(without_pooled(drawn), job.ranks, options), parts.ranks, unseen.usual);
  };
  const SizePoint usual = one(job.parts);
  return job.detour ? mixed(usual, one(*job.detour), job.detours) : usual;
}

PlayedParts play(const PartsCase& job, const PartLeverOptions& options) {
  PlayedParts out{.value = point_of(job, options.project, {}), .draws = {}, .ranks = job.ranks};
  if (job.failing)
    out.wall = failing_of(job.parts, *job.failing).shares(static_cast<double>(job.ranks), true);
  for (int r = 0; r < options.replicates; ++r)
    out.draws.push_back(point_of(job, options.project, static_cast<std::uint64_t>(r)));
  for (int r = 0; options.unseen && r < options.replicates; ++r) {
    const auto replicate = static_cast<std::uint64_t>(r);
    out.unseen.push_back(
        point_of(job, options.project, replicate, unseen_of(job.parts, options.project, replicate)));
  }
  return out;
}

using Figure = double (*)(const SizePoint&);
double mean_of(const SizePoint& p) {
  return p.mean.value.count();
}
double p99_of(const SizePoint& p) {
  return p.p99.value.count();
}
double cv_of(const SizePoint& p) {
  return p.cv;
}

/// With over without, draw by draw. Nothing where either is not known.
std::optional<LeverRatio> ratio_of(const PlayedParts& with, const PlayedParts& without, Figure figure) {
  const auto ratio = [&](const SizePoint& a, const SizePoint& b) { return figure(a) / figure(b); };
  const double value = ratio(with.value, without.value);
  if (!std::isfinite(value) || !(value > 0)) return std::nullopt;
  LeverRatio out{.value = value, .low = value, .high = value};
  for (std::vector<SizePoint> PlayedParts::*draws : {&PlayedParts::draws, &PlayedParts::unseen}) {
    std::vector<double> drawn;
    for (std::size_t r = 0; r < (with.*draws).size(); ++r)
      if (const double x = ratio((with.*draws)[r], (without.*draws)[r]); std::isfinite(x)) drawn.push_back(x);
    if (drawn.empty()) continue;
    out.low = std::min(out.low, quantile(drawn, 0.05));
    out.high = std::max(out.high, quantile(drawn, 0.95));
  }
  return out;
}

LeverRatio inverse(const LeverRatio& r, double times) {
  return {.value = times / r.value, .low = times / r.high, .high = times / r.low};
}

/// What a target compares with, and in each draw.
void add_figures(const PlayedParts& with, const PlayedParts& without, LeverEffect& out) {
  const auto figures = [&out](const SizePoint& one, const SizePoint& before) {
    const double slower = one.mean.value / before.mean.value / out.step.value;
    return LeverFigures{.mean = one.mean.value,
                        .median = one.median.value,
                        .p95 = one.p95.value,
                        .p99 = one.p99.value,
                        .cv = one.cv,
                        .throughput = out.throughput.value / slower,
                        .cost = out.cost.value * slower};
  };
  out.now = figures(with.value, without.value);
  for (std::vector<SizePoint> PlayedParts::*draws : {&PlayedParts::draws, &PlayedParts::unseen}) {
    std::vector<LeverFigures> drawn;
    for (std::size_t r = 0; r < (with.*draws).size(); ++r)
      drawn.push_back(figures((with.*draws)[r], (without.*draws)[r]));
    out.draws.push_back(std::move(drawn));
  }
}

LeverEffect effect_of(const PlayedParts& with, const PlayedParts& without, Scaling scaling) {
  LeverEffect out;
  const std::optional<LeverRatio> step = ratio_of(with, without, mean_of);
  if (!step) {
    out.why_not = "there is no finite time to compare: the tail may be so heavy that it has no mean";
    return out;
  }
  out.step = *step;
  const double size = static_cast<double>(with.ranks) / static_cast<double>(without.ranks);
  if (!(with.wall.work > 0) || !(without.wall.work > 0)) {
    out.why_not = "the job gets nowhere between two failures";
    return out;
  }
  out.throughput =
      inverse(out.step, (scaling == Scaling::Weak ? size : 1) * with.wall.work / without.wall.work);
  out.cost = inverse(out.throughput, size);
  if (with.wall.rework > 0 && without.wall.rework > 0)
    out.rework = inverse(out.throughput, with.wall.rework / without.wall.rework);
  out.p99 = ratio_of(with, without, p99_of);
  out.cv = ratio_of(with, without, cv_of);
  add_figures(with, without, out);
  return out;
}

PartsJobOptions job_options(const PartsCase& job, const PartLeverOptions& options) {
  PartsJobOptions out{.project = options.project, .failing = job.failing, .replicates = 0, .worst = false};
  out.project.rest = job.rest;
  out.links = job.links;
  out.exact_links = job.exact_links;
  out.simulated_to = job.simulated_to;
  return out;
}

/// The same in each draw, with what was not seen of a Run.
PartsJobOptions drawn_options(const PartsCase& job, const PartLeverOptions& options) {
  PartsJobOptions out = job_options(job, options);
  out.replicates = options.replicates;
  out.unseen = options.unseen;
  out.stated = options.stated;
  return out;
}

/// What a job is beyond its steps, in each draw of its parameters; empty where the estimate has none.
struct DrawnBeyond {
  std::vector<double> margins;
  std::vector<double> most_nodes;
};

constexpr double kFar = std::numeric_limits<double>::infinity();

/// The job by its nodes, of which there is a whole number.
ScalingJob by_nodes(const ScalingJob& ranks, std::int64_t each) {
  ScalingJob out = ranks;
  out.at = [at = ranks.at, each](std::int64_t nodes, MechanismSet on) { return at(nodes * each, on); };
  return out;
}

/// N* of a draw: where its throughput stops to grow, beside that of the estimate. Infinite: nowhere in the range.
double most_nodes_beside(const ScalingJob& job, std::int64_t estimate, const RegimeRange& range) {
  const auto falls = [&](double n) { return job.at(std::llround(n), kEveryMechanism).elasticity < 0; };
  const auto from = static_cast<double>(range.from), to = static_cast<double>(range.to);
  auto low = static_cast<double>(estimate), high = low;
  if (falls(low)) {
    while (low > from && falls(low)) {
      high = low;
      low = std::max(low / 2, from);
    }
    if (falls(low)) return low;
  } else {
    while (high < to && !falls(high)) {
      low = high;
      high = std::min(2 * high, to);
    }
    if (!falls(high)) return kFar;
  }
  constexpr int kHalves = 10;
  for (int i = 0; i < kHalves; ++i) {
    const double middle = std::sqrt(low * high);
    (falls(middle) ? high : low) = middle;
  }
  return std::sqrt(low * high);
}

/// N*, in nodes. Nothing makes throughput fall in weak scaling where nothing fails.
void add_most_nodes(const PartsCase& job, const PartLeverOptions& options, LeverEffect& out,
                    DrawnBeyond& drawn) {
  if ((options.project.scaling == Scaling::Weak && !job.failing) || job.detour) return;
  const std::int64_t each = std::max(job.parts.ranks_per_node, 1);
  const std::int64_t from = std::max<std::int64_t>(job.parts.ranks / each, 1);
  const RegimeRange range{
      .from = from, .to = std::max<std::int64_t>(2 * from, 1'048'576 / each), .per_doubling = 2};
  const PartsJob made = job_of_parts(job.parts, drawn_options(job, options));
  const RegimeMap map = map_regimes(by_nodes(made.job, each), range);
  if (!map.n_star.inside()) return;
  out.most_nodes = static_cast<double>(map.n_star.ranks);
  for (const ScalingJob& one : made.replicates)
    drawn.most_nodes.push_back(most_nodes_beside(by_nodes(one, each), map.n_star.ranks, range));
}

DrawnBeyond add_beyond_steps(const PartsCase& job, const PartLeverOptions& options, double level,
                             LeverEffect& out) {
  DrawnBeyond drawn;
  add_most_nodes(job, options, out, drawn);
  if (out.most_nodes) out.most_nodes_ends = ends_of(drawn.most_nodes, *out.most_nodes);
  if (job.detour) return drawn;  // two jobs in turn have no margin in the parameters of one
  const Margins found = margins_of_parts(job.parts, job.ranks, level, job_options(job, options));
  out.margin = nearest_margin(found);
  drawn.margins = drawn_margins(job.parts, job.ranks, found, drawn_options(job, options));
  out.margin_ends = ends_of(drawn.margins, *out.margin);
  return drawn;
}

/// Draw by draw; those in which the job as it is has no N* say nothing.
void add_over(const DrawnBeyond& drawn, const DrawnBeyond& as_it_is, const LeverEffect& baseline,
              LeverEffect& out) {
  const std::optional<double> estimate = out.most_nodes_over(baseline);
  if (!estimate) return;
  std::vector<double> over;
  for (std::size_t r = 0; r < drawn.most_nodes.size(); ++r)
    if (std::isfinite(as_it_is.most_nodes[r])) over.push_back(drawn.most_nodes[r] / as_it_is.most_nodes[r]);
  out.most_nodes_over_ends = ends_of(std::move(over), *estimate);
}

PartsCase with(const PartsCase& job, const std::vector<PartLever>& levers,
               const std::vector<std::size_t>& set) {
  PartsCase out = job;
  for (const std::size_t i : set) levers[i].apply(out);
  return out;
}

void describe(const std::vector<PartLever>& levers, const std::vector<std::size_t>& set, LeverEffect& out) {
  for (const std::size_t i : set) {
    out.names.push_back(levers[i].name);
    out.does += (out.does.empty() ? "" : "; ") + levers[i].does;
    if (!levers[i].learning.empty()) out.learning += (out.learning.empty() ? "" : "; ") + levers[i].learning;
  }
}

LeverEffect effect_of_set(const PartsCase& job, const std::vector<PartLever>& levers,
                          const std::vector<std::size_t>& set, const PlayedParts& baseline,
                          const PartLeverOptions& options) {
  LeverEffect out = effect_of(play(with(job, levers, set), options), baseline, options.project.scaling);
  describe(levers, set, out);
  return out;
}

/// What it does at most, as a range from the job as it is.
void make_range(LeverEffect& e, const LeverEffect& as_it_is) {
  e.range = true;
  const auto widen = [](LeverRatio& r) {
    r.low = std::min(r.low, 1.0);
    r.high = std::max(r.high, 1.0);
  };
  for (LeverRatio* r : {&e.throughput, &e.step, &e.cost}) widen(*r);
  for (std::optional<LeverRatio>* r : {&e.cv, &e.p99, &e.rework})
    if (*r) widen(**r);
  const auto hold = [](std::optional<DrawnEnds>& ends, std::optional<double>& value,
                       const std::optional<double>& now) {
    if (value && now) {
      if (!ends) ends = DrawnEnds{*value, *value};
      ends = DrawnEnds{std::min(ends->low, *now), std::max(ends->high, *now)};
    } else {
      ends.reset();
    }
    value.reset();
  };
  std::optional<double> over = e.most_nodes_over(as_it_is);
  hold(e.most_nodes_over_ends, over, 1.0);
  hold(e.most_nodes_ends, e.most_nodes, as_it_is.most_nodes);
  hold(e.margin_ends, e.margin, as_it_is.margin);
}

}  // namespace

void change_rest(PartsCase& job,
                 const std::function<TimeEstimate(TimeEstimate rest, std::int64_t ranks)>& change) {
  if (job.rest)
    job.rest = [rest = job.rest, change](std::int64_t ranks) { return change(rest(ranks), ranks); };
  for (RestWithLinks* links : {&job.links, &job.exact_links})
    if (*links)
      *links = [rest = *links, change](std::int64_t ranks, double bandwidth) {
        return change(rest(ranks, bandwidth), ranks);
      };
}

LeverTable compare_part_levers(const PartsCase& job, const std::vector<PartLever>& levers,
                               const PartLeverOptions& options, const LeverPrices& prices) {
  const PlayedParts baseline = play(job, options);
  const double level = next_level(baseline.value.elasticity);
  LeverTable out;
  out.nodes = std::max<std::int64_t>(job.ranks / std::max(job.parts.ranks_per_node, 1), 1);
  out.ranks = job.ranks;
  out.by_parts = true;
  out.replicas = options.replicates;
  out.baseline = effect_of(baseline, baseline, options.project.scaling);
  const DrawnBeyond as_it_is = add_beyond_steps(job, options, level, out.baseline);
  add_over(as_it_is, as_it_is, out.baseline, out.baseline);
  out.levers.resize(levers.size());
  parallel_for(levers.size(), options.project.threads, [&](std::size_t i) {
    LeverEffect& effect = out.levers[i];
    if (levers[i].why_not.empty()) {
      effect = effect_of_set(job, levers, {i}, baseline, options);
      add_over(add_beyond_steps(with(job, levers, {i}), options, level, effect), as_it_is, out.baseline,
               effect);
      if (levers[i].range) make_range(effect, out.baseline);
    } else {
      describe(levers, {i}, effect);
      effect.why_not = levers[i].why_not;
    }
    effect.price = prices.of(levers[i].name);
  });
  return out;
}

LeverSet cheapest_part_levers(const PartsCase& job, const std::vector<PartLever>& levers,
                              const Target& target, const PartLeverOptions& options,
                              const LeverPrices& prices) {
  std::vector<Choice> choices;
  choices.reserve(levers.size());
  for (const PartLever& l : levers)
    choices.push_back({.name = l.name,
                       .part = l.part,
                       .why_not = l.range ? "what it does is a range" : l.why_not,
                       .price = prices.of(l.name)});
  const PlayedParts baseline = play(job, options);
  return cheapest_set(choices, effect_of(baseline, baseline, options.project.scaling), target,
                      [&](const std::vector<std::size_t>& set) {
                        return effect_of_set(job, levers, set, baseline, options);
                      });
}

std::optional<double> throughput_with(const PartsCase& job, const std::vector<PartLever>& levers,
                                      const std::vector<std::string>& names, std::int64_t ranks,
                                      const PartLeverOptions& options) {
  PartsCase here = job;
  here.ranks = ranks;
  PartsCase changed = here;
  for (const std::string& name : names) {
    const auto at = std::ranges::find(levers, name, &PartLever::name);
    if (at == levers.end() || !at->why_not.empty()) return std::nullopt;
    at->apply(changed);
  }
  PartLeverOptions once = options;
  once.replicates = 0;
  return effect_of(play(changed, once), play(here, once), options.project.scaling).throughput.value;
}

}  // namespace cox::forecast
