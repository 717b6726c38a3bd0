// SPDX-License-Identifier: Apache-2.0
#include "forecast/scenario/scenario_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "cox/simulate/noise.hpp"

#include "forecast/scenario/law_through.hpp"
#include "forecast/scenario/quiet_step.hpp"
#include "forecast/scenario/resize.hpp"

namespace cox::forecast {
namespace {

using model::NoiseLaw;
using model::NoisePattern;
using model::NoiseScope;
using model::NoiseSource;

constexpr int kRule = 100;               ///< points that stand for a law in a sum
constexpr int kBody = 1000;              ///< quantiles of a sum's body
constexpr double kTailFrom = 0.002;      ///< probability of its tail
constexpr std::size_t kMostSources = 4;  ///< that are switched off one by one

Error no_counterpart(const model::Scenario& scenario, std::string message) {
  return Error{.code = Errc::Unsupported,
               .id = "forecast-004",
               .message = std::move(message),
               .hint = "`cox simulate FILE --scaling 8,16,32` simulates a scenario at other sizes",
               .where = Where{.file = scenario.name}};
}

TimeEstimate stated(Seconds value) {
  return {.value = value, .low = value, .high = value, .origin = Origin::Stated};
}

/// A fresh law of what a source adds, for compute of this length; nothing where it has none of its own.
std::optional<Law> law_of(const NoiseSource& n, Seconds compute) {
  const Seconds mean = n.relative ? n.mean_ratio * compute : n.mean;
  const bool factor = n.relative && n.mean_ratio == 0;
  const Seconds whole = factor ? compute : mean;
  const Seconds shift = factor ? -compute : Seconds{};
  switch (n.law) {
    case NoiseLaw::Constant:
      return Law::constant(mean);
    case NoiseLaw::Gaussian:
      return Law::normal(whole, whole * n.cv).plus(shift);
    case NoiseLaw::Lognormal:
      return n.cv > 0 ? Law::lognormal(whole, n.cv).plus(shift) : Law::constant(mean);
    case NoiseLaw::Exponential:
      return Law::exponential(whole).plus(shift);
    case NoiseLaw::Pareto: {
      // With a cv instead of a shape: cv^2 = 1 / (a (a - 2)).
      const double a = n.shape > 0 ? n.shape : 1 + std::sqrt(1 + 1 / (n.cv * n.cv));
      return Law::pareto(whole * (a - 1) / a, a).plus(shift);
    }
    case NoiseLaw::Weibull:
      return Law::weibull(whole, n.shape).plus(shift);
    case NoiseLaw::Bimodal:
      return Law::detour(mean, n.probability);
    case NoiseLaw::Uniform: {
      const double half = n.cv > 0 ? std::sqrt(3.0) * n.cv : 1;
      const Seconds ends[] = {whole * (1 - half) + shift, whole * (1 + half) + shift};
      return Law::quantiles(ends);
    }
    case NoiseLaw::Quantiles: {
      const Seconds unit = n.relative ? compute : n.unit;
      std::vector<Seconds> values;
      values.reserve(n.quantiles.size());
      for (const double q : n.quantiles) values.push_back(q * unit);
      if (values.size() < 2) return std::nullopt;  // in a file
      return Law::quantiles(values, {.threshold = values.back(),
                                     .scale = n.tail_scale * unit,
                                     .shape = n.tail_shape,
                                     .probability = n.tail_probability});
    }
    case NoiseLaw::Trace:
      break;
  }
  return std::nullopt;
}

/// How often a source acts at all, of the steps.
double chance_of(const NoiseSource& n) {
  double p = n.law == NoiseLaw::Bimodal ? 1 : n.probability;
  if (n.burst_steps > 0) p *= n.burst_steps / (n.burst_steps + n.calm_steps);
  if (n.pattern == NoisePattern::Recurring) p /= static_cast<double>(n.period_steps);
  return p;
}

/// A law that acts with a chance; else nothing is added.
struct Part {
  Law law;
  double chance = 1;
  [[nodiscard]] double above(Seconds x) const {
    return chance * law.above(x) + (x < Seconds{} ? 1 - chance : 0);
  }
  [[nodiscard]] std::vector<Law::Point> rule() const {
    std::vector<Law::Point> points = law.rule(kRule);
    for (Law::Point& p : points) p.weight *= chance;
    if (chance < 1) points.push_back({.value = {}, .weight = 1 - chance});
    return points;
  }
};

/// The sum of two independent parts: P(A + B > x) = sum over the points of B of P(A > x - b).
class TwoParts {
 public:
  TwoParts(const Part& smooth, const Part& other) : smooth_(smooth), points_(other.rule()) {
    low_ = std::min(Seconds{}, smooth.law.quantile(1e-9)) + points_.front().value;
    high_ = std::max(Seconds{}, smooth.law.upper_quantile(1e-9)) + points_.front().value;
    for (const Law::Point& p : points_) {
      low_ = std::min(low_, std::min(Seconds{}, smooth.law.quantile(1e-9)) + p.value);
      high_ = std::max(high_, std::max(Seconds{}, smooth.law.upper_quantile(1e-9)) + p.value);
    }
  }
  [[nodiscard]] Seconds upper_quantile(double p) const {
    Seconds low = low_;
    Seconds high = high_;
    for (int i = 0; i < 50; ++i) {
      const Seconds middle = (low + high) / 2;
      (above(middle) > p ? low : high) = middle;
    }
    return (low + high) / 2;
  }

 private:
  [[nodiscard]] double above(Seconds x) const {
    double sum = 0;
    for (const Law::Point& p : points_) sum += p.weight * smooth_.above(x - p.value);
    return sum;
  }
  const Part& smooth_;
  std::vector<Law::Point> points_;
  Seconds low_{};
  Seconds high_{};
};

Law law_of_sum(const TwoParts& sum) {
  return law_through([&sum](double p) { return sum.upper_quantile(p); }, kBody, kTailFrom).law;
}

/// The law of a sum. One source that always acts is its own law, exactly.
Law sum_of(const std::vector<Part>& parts) {
  if (parts.empty()) return {};
  Part sum = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const bool swap = sum.law.is_constant();
    sum = {law_of_sum(swap ? TwoParts(parts[i], sum) : TwoParts(sum, parts[i])), 1};
  }
  if (sum.chance >= 1) return sum.law;
  if (sum.law.is_constant()) return Law::detour(sum.law.mean(), sum.chance);
  return law_of_sum(TwoParts(sum, {Law(), 1}));
}

/// Takes the sources of a scenario into the parts of one kind of work.
class NoiseParts {
 public:
  NoiseParts(PositionParts& out, Seconds compute, int steps) : out_(out), compute_(compute), steps_(steps) {}

  /// Of strong scaling: so much of the work is not divided, where `seen` ranks have it.
  void keep_undivided(Seconds undivided, std::int64_t seen) {
    undivided_ = undivided;
    seen_ = seen;
  }

  /// Takes a source of compute that concerns these ranks.
  void take(const NoiseSource& n) {
    const double before = variance();
    const Seconds mean = mean_;
    take_in(n);
    // A daemon comes as often as there is time for it; else what is stated as a time is as long whatever is computed beside it.
    const bool daemon = n.pattern == NoisePattern::Periodic;
    const bool goes_with_work = n.law == NoiseLaw::Quantiles ? n.unit == Seconds{} : n.relative;
    if (!daemon && !goes_with_work) undivided_ += mean_ - mean;
    by_power_ += (variance() - before) * (daemon ? 0.5 : goes_with_work ? 1 : 0);
  }

  void take_in(const NoiseSource& n) {
    if (n.pattern == NoisePattern::Periodic) return take_daemon(n);
    const Law law = *law_of(n, compute_);
    if (n.pattern == NoisePattern::Drift) return take_drift(n, law);
    const double chance = chance_of(n);
    mean_ += law.mean() * chance;
    if (n.pattern == NoisePattern::Persistent && n.burst_steps == 0)
      take_persistent(n.scope, {law, chance}, n.law == NoiseLaw::Gaussian);
    else
      take_fresh(n, law, chance);
  }

  void finish() {
    Law residual = sum_of(fresh_);
    const Seconds mean = residual.mean();
    out_.residual = residual.plus(-mean);
    out_.residual_sd = stated(residual.deviation());
    const Law group = sum_of(group_);
    out_.group_step = group.plus(-group.mean());
    out_.level = stated(compute_ + mean_);
    out_.rank = stated(root(rank_));
    out_.node = stated(root(node_));
    out_.rank_law = lasting_rank_.law();
    out_.node_law = lasting_node_.law();
    out_.step = stated(root(step_));
    out_.node_step = stated(root(node_step_));
    if (node_step_ > 0) {
      const double skewness = node_skew_ / std::pow(node_step_, 1.5);
      rare_ = skewness > 4;
      out_.node_step_skewness = std::clamp(skewness, 0.0, 4.0);
    }
    out_.correlation = {
        .value = correlation_, .low = correlation_, .high = correlation_, .origin = Origin::Stated};
    out_.drift = stated(drift_);
    if (seen_ == 0) return;
    if (variance() > 0) out_.spread_power = std::clamp(by_power_ / variance(), 0.0, 1.0);
    // As a part of what all ranks do, what each does in full grows with them: a line.
    if (undivided_ > Seconds{})
      out_.growth = {
          {.growth = Growth::Linear, .slope = undivided_ / static_cast<double>(seen_), .share = 1}};
  }

  /// What the ranks of a node share is rarer than the law that stands for it can be.
  [[nodiscard]] bool rare() const { return rare_; }

 private:
  /// Of all that was taken.
  [[nodiscard]] double variance() const {
    double out = rank_ + node_ + step_ + node_step_;
    for (const auto* parts : {&fresh_, &group_})
      for (const Part& part : *parts) {
        const double mean = part.law.mean().count();
        const double sd = part.law.deviation().count();
        out += (sd * sd + mean * mean) * part.chance - mean * mean * part.chance * part.chance;
      }
    return std::isfinite(out) ? out : 0;
  }
  static Seconds root(double variance) { return Seconds{std::sqrt(variance)}; }
  static double square(Seconds s) { return s.count() * s.count(); }

  void take_daemon(const NoiseSource& n) {
    const double chance = std::min(1.0, compute_ / n.period);
    mean_ += n.mean * chance;
    if (n.scope == NoiseScope::Rank || n.scope == NoiseScope::Switch)
      (n.scope == NoiseScope::Rank ? fresh_ : group_).push_back({Law::constant(n.mean), chance});
    else
      (n.scope == NoiseScope::Node ? node_step_ : step_) += square(n.mean) * chance * (1 - chance);
  }
  /// From nothing to the drawn value over `period_steps`: the level is the mean over the job's steps.
  void take_drift(const NoiseSource& n, const Law& law) {
    const auto period = static_cast<double>(n.period_steps);
    const double last = std::min(1.0, (steps_ - 1) / period);
    const double mean = steps_ <= period ? last / 2 : 1 - (period + 1) / (2 * steps_);
    mean_ += law.mean() * mean;
    drift_ += law.mean() * last;
    take_persistent(n.scope, {law.deviation() > Seconds{} ? law.times(std::max(mean, 1e-9)) : Law(), 1},
                    n.law == NoiseLaw::Gaussian);
  }
  void take_persistent(NoiseScope scope, const Part& part, bool normal) {
    if (scope == NoiseScope::Global) return;  // the same for all, for good: a level
    if (scope == NoiseScope::Switch) {
      group_.push_back(part);
      return;
    }
    (scope == NoiseScope::Rank ? rank_ : node_) += thinned_variance(part);
    (scope == NoiseScope::Rank ? lasting_rank_ : lasting_node_).add(part, normal);
  }
  void take_fresh(const NoiseSource& n, const Law& law, double chance) {
    if (n.scope == NoiseScope::Rank) {
      fresh_.push_back({law, chance});
      correlation_ = std::max(correlation_, n.correlation);
      return;
    }
    if (n.scope == NoiseScope::Switch) {
      group_.push_back({law, chance});
      return;
    }
    const double variance = thinned_variance({law, chance});
    if (n.scope == NoiseScope::Global) {
      step_ += variance;
      return;
    }
    node_step_ += variance;
    node_skew_ += third_moment(law, chance);
  }
  /// E[x^2] p - (E[x] p)^2.
  static double thinned_variance(const Part& part) {
    const Seconds mean = part.law.mean();
    return (square(part.law.deviation()) + square(mean)) * part.chance - square(mean * part.chance);
  }
  /// Third central moment of a thinned law, by its quantiles.
  static double third_moment(const Law& law, double chance) {
    constexpr int kPoints = 2000;
    const double mean = law.mean().count() * chance;
    double sum = 0;
    for (int i = 0; i < kPoints; ++i) sum += std::pow(law.quantile((i + 0.5) / kPoints).count() - mean, 3);
    return chance * sum / kPoints + (1 - chance) * std::pow(-mean, 3);
  }

  /// Parts that last, of one kind of unit.
  class Lasting {
   public:
    void add(const Part& part, bool normal) {
      parts_.push_back(part);
      normal_ = normal_ && normal && part.chance >= 1;
    }
    /// Of mean 0; constant where it is normal, or varies without bounds.
    [[nodiscard]] Law law() const {
      if (normal_) return {};
      std::vector<Part> parts = parts_;  // a rule of many points smooths what has few
      std::ranges::stable_partition(parts,
                                    [](const Part& p) { return !p.law.is_discrete() && p.chance >= 1; });
      const Law sum = sum_of(parts);
      return std::isfinite(sum.deviation().count()) ? sum.plus(-sum.mean()) : Law();
    }

   private:
    std::vector<Part> parts_;
    bool normal_ = true;
  };

  PositionParts& out_;
  Seconds compute_;
  double steps_;
  Lasting lasting_rank_, lasting_node_;
  std::vector<Part> fresh_;
  std::vector<Part> group_;
  Seconds mean_{};
  Seconds drift_{};
  double rank_ = 0, node_ = 0, step_ = 0, node_step_ = 0, node_skew_ = 0;  ///< variances, third moment
  double correlation_ = 0;
  bool rare_ = false;
  Seconds undivided_{};    ///< of the level, in strong scaling
  double by_power_ = 0;    ///< variances, each times the power of own work that it goes with
  std::int64_t seen_ = 0;  ///< ranks; 0 = weak scaling
};

std::string name_of(const NoiseSource& n, std::size_t i) {
  return n.name.empty() ? fmt::format("noise {}", i) : n.name;
}

/// Why a source is not in the parts; empty where it is.
std::string left_out(const NoiseSource& n, bool pipeline) {
  if (n.target != model::NoiseTarget::Compute)
    return n.ranks.empty() ? "" : "disturbs messages of named ranks, which other sizes do not tell";
  if (pipeline && (!n.ranks.empty() || n.pattern == NoisePattern::Rotating))
    return "is of some ranks of a pipeline only";
  if (n.pattern == NoisePattern::Once) return "happens once";
  if (n.scope == NoiseScope::Rail || n.scope == NoiseScope::Stage) return "is shared by a rail or a stage";
  if (pipeline && n.scope == NoiseScope::Switch) return "is shared by the nodes at a switch, in a pipeline";
  if (n.pattern == NoisePattern::Rotating && n.scope != NoiseScope::Rank && n.scope != NoiseScope::Node)
    return "goes round the switches";
  if (n.pattern == NoisePattern::Periodic) return {};
  const std::optional<Law> law = law_of(n, Seconds{1});
  if (!law) return "is read from a file";
  if (!std::isfinite(law->deviation().count()) && n.scope != NoiseScope::Rank)
    return "is shared and has no variance";
  return {};
}

/// Ranks that have sources of their own, at any size: named ones, and who is next of those that take turns.
struct Few {
  std::vector<int> named{};  ///< empty = whoever is next
  std::int64_t ranks = 0;
  std::vector<NoiseSource> sources{};
};

/// A scenario's sources by whom they concern.
struct Sorted {
  std::vector<NoiseSource> all{};
  std::vector<Few> few{};
  std::vector<std::string> untold{};
};

bool meet(const std::vector<int>& a, const std::vector<int>& b) {
  return std::ranges::any_of(a, [&b](int rank) { return std::ranges::find(b, rank) != b.end(); });
}

/// Turns are taken by ranks that nothing else concerns: exact but for the steps in which a named one has its turn.
Sorted sorted_sources(const model::Scenario& s, bool pipeline) {
  Sorted out;
  for (std::size_t i = 0; i < s.noise.size(); ++i) {
    NoiseSource n = s.noise[i];
    if (n.off) continue;
    if (s.cluster.devices_per_node == 1 && n.scope == NoiseScope::Node) n.scope = NoiseScope::Rank;
    std::string why = left_out(n, pipeline);
    const bool turns = n.pattern == NoisePattern::Rotating;
    if (why.empty() && !turns && !n.ranks.empty() && n.target == model::NoiseTarget::Compute) {
      std::ranges::sort(n.ranks);
      const auto same = std::ranges::find(out.few, n.ranks, &Few::named);
      const bool overlaps = same == out.few.end() && std::ranges::any_of(out.few, [&n](const Few& f) {
                              return meet(f.named, n.ranks);
                            });
      if (overlaps)
        why = "is of some ranks that another source names with others";
      else if (same != out.few.end())
        same->sources.push_back(n);
      else
        out.few.push_back({n.ranks, static_cast<std::int64_t>(n.ranks.size()), {n}});
    }
    if (!why.empty()) {
      out.untold.push_back(fmt::format("{} {}: it is not in the forecast", name_of(n, i), why));
      continue;
    }
    if (n.target != model::NoiseTarget::Compute) {
      out.untold.push_back(name_of(n, i) +
                           ": its mean is in the price of communication, from simulated steps");
    } else if (turns) {
      const bool node = n.scope == NoiseScope::Node;
      n.pattern = NoisePattern::EveryStep;
      out.few.push_back({{}, node ? s.cluster.devices_per_node : 1, {n}});
    } else if (n.ranks.empty()) {
      out.all.push_back(n);
    }
  }
  if (!out.few.empty())
    out.untold.emplace_back("named ranks, and whoever's turn it is, are so many at any size");
  return out;
}

/// Own work by kind of rank, from what a step without noise tells.
struct SourcedPositions {
  std::vector<PositionParts> positions{};
  bool rare = false;
};

SourcedPositions positions_of(const model::Scenario& s, const StepWork& work, const Sorted& sources,
                              Scaling scaling) {
  SourcedPositions out;
  const std::int64_t seen = model::ranks_of(s.cluster, s.job.places);
  const auto add = [&](const Work& kind, const Few* few) {
    PositionParts part;
    part.role = static_cast<std::int32_t>(out.positions.size());
    part.ranks = few != nullptr ? few->ranks : kind.ranks;
    part.fixed = few != nullptr;
    NoiseParts noise(part, kind.busy, s.job.steps);
    if (scaling == Scaling::Strong) noise.keep_undivided(kind.undivided, seen);
    for (const NoiseSource& n : sources.all) noise.take(n);
    if (few != nullptr)
      for (const NoiseSource& n : few->sources) noise.take(n);
    noise.finish();
    out.rare = out.rare || noise.rare();
    out.positions.push_back(std::move(part));
  };
  for (const Work& kind : work.kinds) add(kind, nullptr);
  const Work& slowest = *std::ranges::max_element(work.kinds, {}, &Work::busy);
  for (const Few& few : sources.few) add(slowest, &few);
  return out;
}

/// Whether a rank does more in a step than what its sequences take.
bool has_undivided(const model::Scenario& s) {
  if (s.job.workload() != model::Workload::Training) return false;
  const auto& job = s.job.as<model::TrainingJob>();
  return job.optimizer > Seconds{} || job.overlap_slowdown > 0 || job.overlap_feedback > 0 ||
         (job.global_batch > 0 && job.input.takes_time());
}

/// Work of a + b / ranks: a from a step of twice as many ranks, or half as many. Left at nothing where neither can be.
void find_undivided(StepWork& work, const model::Scenario& s) {
  if (!has_undivided(s)) return;
  const std::int64_t seen = model::ranks_of(s.cluster, s.job.places);
  for (const std::int64_t other : {2 * seen, seen / 2}) {
    if (other < 1 || other % unit_of(s) != 0 || !not_shared_out(s, other).empty()) continue;
    const auto there = quiet_step(resized(s, other, Scaling::Strong));
    if (!there || there->kinds.size() != work.kinds.size()) continue;
    const double part = static_cast<double>(seen) / static_cast<double>(other);
    for (std::size_t i = 0; i < work.kinds.size(); ++i) {
      Work& here = work.kinds[i];
      here.undivided =
          std::clamp((there->kinds[i].busy - part * here.busy) / (1 - part), Seconds{}, here.busy);
    }
    return;
  }
}

/// The step that parts are made from.
Result<StepWork> work_of(const model::Scenario& s, Scaling scaling) {
  const model::Workload workload = s.job.workload();
  if (workload != model::Workload::Collective && workload != model::Workload::Training)
    return fail(
        no_counterpart(s, "a forecast takes collectives and training, not schedules, traces and paced jobs"));
  if (s.policy.kind != model::PolicyKind::Synchronous)
    return fail(no_counterpart(
        s, fmt::format("policy {}: its ranks do not meet in every step", model::name_of(s.policy.kind))));
  // A quiet step has no noise of compute, so what is wrong with that is looked for here.
  COX_TRY(const simulate::Noise noise,
          simulate::Noise::make(s.noise,
                                {.ranks = static_cast<int>(model::ranks_of(s.cluster, s.job.places)),
                                 .ranks_per_node = s.cluster.devices_per_node},
                                s.seed));
  (void)noise;
  COX_TRY(StepWork work, quiet_step(s));
  if (work.kinds.empty()) return fail(no_counterpart(s, "what its ranks compute in a step is not told"));
  if (scaling == Scaling::Strong) find_undivided(work, s);
  return work;
}

/// Positions of a Scenario by the sources that are off, each set computed once.
class PositionsBySources {
 public:
  PositionsBySources(model::Scenario scenario, StepWork work, std::vector<std::size_t> sources,
                     Scaling scaling)
      : scenario_(std::move(scenario)),
        work_(std::move(work)),
        sources_(std::move(sources)),
        scaling_(scaling) {}

  [[nodiscard]] std::vector<PositionParts> without(std::uint64_t off) {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(off);
    if (found != known_.end()) return found->second;
    model::Scenario s = scenario_;
    for (std::size_t i = 0; i < sources_.size(); ++i)
      if ((off >> i & 1) != 0) s.noise[sources_[i]].off = true;
    const Sorted left = sorted_sources(s, work_.pipeline.stages > 1);
    return known_.emplace(off, positions_of(s, work_, left, scaling_).positions).first->second;
  }

 private:
  model::Scenario scenario_;
  StepWork work_;
  std::vector<std::size_t> sources_;  ///< of the scenario's noise
  Scaling scaling_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::vector<PositionParts>> known_;
};

/// As mechanisms are named: of the scenario, else by its law, and where two have one, by its number too.
std::string mechanism_name(const model::Scenario& s, std::size_t i) {
  const NoiseSource& n = s.noise[i];
  const auto label = [](const NoiseSource& of) {
    return of.name.empty() ? fmt::format("{} noise", model::name_of(of.law)) : of.name;
  };
  const bool twice = std::ranges::count_if(s.noise, [&](const NoiseSource& other) {
                       return !other.off && label(other) == label(n);
                     }) > 1;
  return twice ? fmt::format("{} (noise {})", label(n), i) : label(n);
}

}  // namespace

Result<Parts> parts_of(const model::Scenario& s, Scaling scaling) {
  COX_TRY(const StepWork work, work_of(s, scaling));
  Parts out;
  out.ranks = model::ranks_of(s.cluster, s.job.places);
  out.ranks_per_node = s.cluster.devices_per_node;
  out.nodes = model::nodes_of(s);
  out.steps = s.job.steps;
  out.rest = work.rest;
  out.rest_sd = stated(work.rest_sd);
  out.pipeline = work.pipeline;
  Sorted sources = sorted_sources(s, out.pipeline.stages > 1);
  out.untold = std::move(sources.untold);
  if (std::ranges::any_of(sources.all, [](const auto& n) { return n.scope == NoiseScope::Switch; }))
    out.nodes_per_group = std::max(1, s.fabric.hosts_per_leaf);
  SourcedPositions own = positions_of(s, work, sources, scaling);
  out.positions = std::move(own.positions);
  if (own.rare)
    out.untold.emplace_back(
        "what the ranks of a node share in a step is rarer than the law that is taken for it: the slowest is later");
  return out;
}

Result<WorkSources> work_sources_of(const model::Scenario& s, Scaling scaling) {
  COX_TRY(StepWork work, work_of(s, scaling));
  const bool pipeline = work.pipeline.stages > 1;
  std::vector<std::size_t> sources;
  WorkSources out;
  for (std::size_t i = 0; i < s.noise.size(); ++i) {
    const NoiseSource& n = s.noise[i];
    if (n.off || n.target != model::NoiseTarget::Compute || !left_out(n, pipeline).empty()) continue;
    sources.push_back(i);
    out.names.push_back(mechanism_name(s, i));
  }
  if (sources.empty() || sources.size() > kMostSources) return WorkSources{};
  const auto positions =
      std::make_shared<PositionsBySources>(s, std::move(work), std::move(sources), scaling);
  out.positions = [positions](std::uint64_t off) { return positions->without(off); };
  return out;
}

}  // namespace cox::forecast
