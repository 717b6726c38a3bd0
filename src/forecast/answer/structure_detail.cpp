// SPDX-License-Identifier: Apache-2.0
#include "forecast/answer/structure_detail.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cox/base/units_text.hpp"

#include "forecast/answer/drawn_structure.hpp"
#include "forecast/answer/node_hours.hpp"
#include "forecast/calibrate/calibrate.hpp"
#include "forecast/law/maximum.hpp"
#include "forecast/levers/levers.hpp"
#include "forecast/project/nests.hpp"
#include "forecast/regimes/amplification.hpp"
#include "forecast/regimes/parts_job.hpp"
#include "forecast/scenario/resize.hpp"
#include "forecast/scenario/scenario_parts.hpp"
#include "forecast/simulated/simulated_sizes.hpp"
#include "forecast/structure/criticality.hpp"

namespace cox::forecast {
namespace {

constexpr std::size_t kMostLaws = 64;       ///< ranks whose laws are held against each other
constexpr std::size_t kMostCritical = 3;    ///< ranks told
constexpr std::int64_t kMostSpare = 1'024;  ///< ranks that are not waited for
constexpr int kTwinSteps = 20;
constexpr int kWaveRanks = 200;
constexpr std::size_t kMostShapley = 10;  ///< mechanisms: 2^n evaluations

/// Where most of the work is.
const PositionParts* main_of(const Parts& parts) {
  const auto most =
      std::ranges::max_element(parts.positions, {}, [](const auto& p) { return p.level.value; });
  return most == parts.positions.end() ? nullptr : &*most;
}

/// One rank's work as one law, with what is its own for good, its node's, and what is fresh; what all share moves nobody
/// against the others and is not in it. Body by quantiles, tail from one in a hundred on.
Law law_of_one(const Parts& parts, const PositionParts& part) {
  PositionLaws laws = as_estimated(part);
  laws.step = {};
  const Maximum one(nested(laws, parts, 1), 1);
  if (!(one.deviation() > Seconds{})) return Law::constant(part.level.value);
  Tail tail{.threshold = one.quantile(0.99), .probability = 0.01};
  if (part.tail_probability > 0) tail.shape = std::clamp(part.tail_shape.value, -0.5, 0.9);
  const double unit =
      std::abs(tail.shape) < 1e-9 ? std::log(100.0) : (std::pow(100.0, tail.shape) - 1) / tail.shape;
  tail.scale = (one.quantile(0.9999) - tail.threshold) / unit;
  std::vector<Seconds> body;
  constexpr int kBody = 201;
  body.reserve(kBody);
  for (int i = 0; i < kBody; ++i)
    body.push_back(std::min(one.quantile(std::max(1e-6, 0.99 * i / (kBody - 1))), tail.threshold));
  return tail.scale > Seconds{} ? Law::quantiles(body, tail) : Law::quantiles(body);
}

/// Whether ranks are alike, and all of them is in the parts: then one law is that of each.
bool one_law(const FullForecast& f) {
  return f.parts->positions.size() == 1 && (f.structure || f.parts->untold.empty());
}

/// The law of each rank: what is fresh, about the mean that the sample has of it.
std::vector<Law> laws_of_ranks(const Sample& sample, const PositionParts& part) {
  const auto at = std::ranges::find(sample.positions, part.name, &Position::name);
  if (at == sample.positions.end()) return {};
  std::vector<Law> out;
  const std::size_t ranks = sample.ranks.size();
  for (std::size_t r = 0; r < ranks; ++r) {
    Seconds sum{};
    for (std::size_t k = 0; k < sample.steps.size(); ++k) sum += at->at(k, r, ranks);
    out.push_back(part.residual.plus(sum / static_cast<double>(sample.steps.size())));
  }
  return out;
}

void add_critical(const FullForecast& f, const Sample& sample, const PositionParts& part,
                  StructureDetail& out) {
  if (sample.positions.size() != 1 || f.parts->positions.size() != 1) {
    out.notes.emplace_back(
        "who is last by law: a step with several synchronisations, or roles, has no one law of a rank");
    return;
  }
  if (sample.ranks.size() > kMostLaws) {
    out.notes.push_back(fmt::format("who is last by law is told of at most {} ranks", kMostLaws));
    return;
  }
  const std::vector<Law> laws = laws_of_ranks(sample, part);
  if (laws.size() < 2 || part.residual.is_constant()) return;
  const std::vector<double> shares = criticality_of(laws);
  std::vector<std::size_t> order(laws.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, std::greater<>{}, [&](std::size_t i) { return shares[i]; });
  out.near_ties = coupling_of(laws, order[0], order[1]).per_second;
  order.resize(std::min(order.size(), kMostCritical));
  for (const std::size_t i : order) {
    const auto counted = std::ranges::find(f.structure->ranks, sample.ranks[i].rank, &UnitPace::unit);
    if (counted != f.structure->ranks.end())
      out.critical.push_back({.rank = counted->unit, .counted = counted->critical, .by_law = shares[i]});
  }
}

/// Elasticities of the calibrated Scenario, beside those that were counted.
void add_follows(const FullForecast& f, int threads, StructureDetail& out) {
  if (!f.scenario || f.structure->parts.empty()) return;
  model::Scenario s = *f.scenario;
  s.job.steps = std::min(s.job.steps, 10 * kTwinSteps);
  s.replicas = 8;
  const auto twins = twin_elasticities(s, {.threads = threads}, 0);
  if (!twins) {
    out.notes.push_back("elasticities by twins: " + twins.error().message);
    return;
  }
  TwoElasticities own{.to = "own work", .counted = {.value = 0, .low = 0, .high = 0}};
  const Proportion& rest = f.structure->parts.back().value;
  own.counted = {.value = 1 - rest.value, .low = 1 - rest.high, .high = 1 - rest.low};
  TwoElasticities communication{.to = "communication that nothing hides", .counted = rest};
  for (const TwinElasticity& t : *twins) {
    TwoElasticities& of = t.part == TwinPart::OwnWork ? own : communication;
    // Twice the bandwidth is half the time.
    of.by_twins += t.part == TwinPart::Bandwidth ? -t.value : t.value;
    of.half_width += t.half_width;
  }
  out.follows = {own, communication};
}

/// The slowest of so many, and how much of the delay stays there.
void add_slowest(const FullForecast& f, const PositionParts& part, StructureAtSize& at, Seconds delay) {
  const Law one = law_of_one(*f.parts, part);
  if (delay > Seconds{}) at.kept = kept_at_barrier(one, at.ranks, delay);
  const Exceedance law{.above = [&](Seconds x) { return one.above(x); },
                       .least = one.quantile(1e-9),
                       .most = one.upper_quantile(1e-5 / static_cast<double>(at.ranks))};
  if (at.ranks < 2 || law.most <= law.least) return;
  at.spare = std::clamp<std::int64_t>(at.ranks / 100, 1, kMostSpare);
  at.longest = mean_without_slowest(law, at.ranks, 0);
  at.without_slowest = mean_without_slowest(law, at.ranks - at.spare, at.spare);
}

void add_sizes(const FullForecast& f, const PositionParts& part, const Asked& question,
               StructureDetail& out) {
  std::vector<std::int64_t> sizes{f.seen_ranks};
  for (const SizePoint& p : f.projection.points)
    if (p.refused.empty() && p.ranks != f.seen_ranks) sizes.push_back(p.ranks);
  PartsJobOptions options{.project = question.project,
                          .failing = failing_scenario(f, question),
                          .sources = f.sources,
                          .replicates = 0};
  const ScalingJob job = f.named.at ? f.named : job_of_parts(*f.parts, options).job;
  const bool told = job.mechanisms.size() <= kMostShapley;
  if (!told) out.notes.emplace_back("too many mechanisms to share the amplification among them");
  for (const std::int64_t n : sizes) {
    StructureAtSize at{.ranks = n};
    if (told) at.added = amplification_of(job, n);
    if (one_law(f)) add_slowest(f, part, at, out.delay);
    out.sizes.push_back(std::move(at));
  }
}

void add_waves(const FullForecast& f, const PositionParts& part, StructureDetail& out) {
  if (!(out.delay > Seconds{}) || f.seen_ranks < 2 || !one_law(f) || part.residual.is_constant()) return;
  const Law fresh = part.residual.plus(part.level.value);
  const int ranks = static_cast<int>(std::clamp<std::int64_t>(f.seen_ranks, 2, kWaveRanks));
  for (const Waits waits : {Waits::OneSide, Waits::TwoSides, Waits::Groups, Waits::Stages, Waits::Bounded}) {
    WaveQuestion q{.waits = waits, .ranks = ranks, .twins = 20, .delay = out.delay};
    q.per_group = f.parts->ranks_per_node > 1 ? f.parts->ranks_per_node : q.per_group;
    if (waits == Waits::Groups && ranks < 3 * q.per_group) continue;
    out.waves.push_back({.waits = waits, .wave = follow_wave(fresh, q)});
  }
}

void add_simulated(const FullForecast& f, const Asked& question, StructureDetail& out) {
  auto followed = delay_beside_twin(*f.scenario, out.delay, question.project.threads);
  if (followed)
    out.simulated = *std::move(followed);
  else
    out.notes.push_back("a delay beside its twin: " + followed.error().message);
}

void add_twins(const FullForecast& f, int threads, StructureDetail& out) {
  model::Scenario s = *f.scenario;
  s.job.steps = std::min(s.job.steps, kTwinSteps);
  s.replicas = std::clamp(s.replicas, 4, 16);
  auto twins = twin_elasticities(s, {.threads = threads}, 16);
  if (twins)
    out.twins = *std::move(twins);
  else
    out.notes.push_back("elasticities by twins: " + twins.error().message);
}

}  // namespace

StructureDetail detail_of(const FullForecast& f, const Sample* sample, const Asked& question) {
  StructureDetail out;
  const PositionParts* part = f.parts ? main_of(*f.parts) : nullptr;
  if (part == nullptr) return out;
  if (question.structure.delay) out.delay = *question.structure.delay;
  if (sample != nullptr && f.structure) {
    if (!(out.delay > Seconds{}) && f.structure->kept.size() > 1) out.delay = f.structure->kept[1].delay;
    if (out.delay > Seconds{}) out.kept = kept_of(*sample, out.delay);
    add_critical(f, *sample, *part, out);
    add_follows(f, question.project.threads, out);
  } else if (!(out.delay > Seconds{})) {
    out.delay = part->level.value / 10;
  }
  add_sizes(f, *part, question, out);
  add_waves(f, *part, out);
  if (sample != nullptr || !f.scenario) return out;
  if (!is_small_enough(*f.scenario)) {
    out.notes.emplace_back("twins: " + too_large_text());
    return out;
  }
  if (out.delay > Seconds{}) add_simulated(f, question, out);
  add_twins(f, question.project.threads, out);
  return out;
}

std::optional<double> window_margin(const Sample& window, double level, const ProjectOptions& options) {
  const auto parts = calibrate(window);
  if (!parts) return std::nullopt;
  PartsJobOptions job_options{.project = options, .failing = {}, .replicates = 0};
  if (!job_options.project.rest) job_options.project.rest = rest_of(*parts, window);
  return jitter_margin(*parts, parts->ranks, level, job_options);
}

}  // namespace cox::forecast
