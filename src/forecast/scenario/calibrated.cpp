// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "cox/base/number_text.hpp"
#include "cox/model/closed_form.hpp"

#include "forecast/calibrate/run_parameters.hpp"
#include "forecast/scenario/alike.hpp"
#include "forecast/scenario/beside_work.hpp"
#include "forecast/scenario/scenario_parts.hpp"

namespace cox::forecast {
namespace {

using model::Algorithm;
using model::Collective;
using model::NoiseLaw;
using model::NoisePattern;
using model::NoiseScope;
using model::NoiseSource;

constexpr Bytes kSmall{std::int64_t{64} * 1024};  ///< up to here latency is what a message costs
constexpr int kBody = 100;                        ///< quantiles of a law's body
constexpr const char* kAsWork =
    "what communication varies by from step to step is played as work that all ranks share";
constexpr double kTailFrom = 0.01;  ///< where the tail of a law without one begins

/// How a collective is carried out, by its kind and size: what libraries do.
struct PricedWay {
  Collective kind = Collective::AllReduce;
  Algorithm algorithm = Algorithm::RecursiveDoubling;
  Bytes bytes{8};
  bool by_latency = true;                 ///< its time is latency; else bandwidth
  std::optional<double> latency_share{};  ///< of its time, where several sizes told it
};

PricedWay way_of(const Traffic& traffic) {
  PricedWay way;
  const bool small = traffic.bytes <= kSmall;
  switch (traffic.kind) {
    case Collective::Barrier:
      return {.kind = Collective::Barrier, .algorithm = Algorithm::Dissemination, .bytes = Bytes{}};
    case Collective::AllGather:
    case Collective::ReduceScatter:
      return {.kind = traffic.kind,
              .algorithm = Algorithm::Ring,
              .bytes = std::max(Bytes{8}, traffic.bytes),
              .by_latency = small};
    case Collective::AllToAll:
      return {.kind = traffic.kind,
              .algorithm = Algorithm::Direct,
              .bytes = std::max(Bytes{8}, traffic.bytes),
              .by_latency = small};
    default:
      way.bytes = std::max(Bytes{8}, traffic.bytes);
      if (!small) way.algorithm = Algorithm::Ring;
      way.by_latency = small;
      return way;
  }
}

model::CollectiveSpec spec_of(const PricedWay& way, std::int64_t ranks) {
  return {.kind = way.kind, .algorithm = way.algorithm, .ranks = static_cast<int>(ranks), .bytes = way.bytes};
}

double latency_share(const PricedWay& way) {
  return way.latency_share.value_or(way.by_latency ? 1 : 0);
}

/// Time of the collective where a message costs one second, or one second per byte.
double price(const PricedWay& way, bool by_latency, std::int64_t ranks) {
  model::MessageCost cost;
  if (by_latency)
    cost.latency = Seconds{1};
  else
    cost.per_byte = TimePerByte::seconds_per_byte(1);
  const auto time = ranks < 2 ? std::nullopt : model::closed_form(spec_of(way, ranks), cost);
  return time ? time->count() : 0;
}

/// The same, a power of the ranks between powers of two: elsewhere a collective has rounds of its own.
double smooth_price(const PricedWay& way, bool by_latency, std::int64_t ranks) {
  std::int64_t below = 2;
  while (below <= ranks / 2) below *= 2;
  const double low = price(way, by_latency, below);
  if (ranks <= below) return low;
  const double part = std::log2(static_cast<double>(ranks) / static_cast<double>(below));
  return low > 0 ? low * std::pow(price(way, by_latency, 2 * below) / low, part) : 0;
}

/// Its time over that at another number of ranks; nothing where no algorithm is known for it.
std::optional<double> growth_of(const PricedWay& way, std::int64_t ranks, std::int64_t seen) {
  double out = 0;
  for (const bool by_latency : {true, false}) {
    const double share = by_latency ? latency_share(way) : 1 - latency_share(way);
    if (share <= 0) continue;
    const double here = smooth_price(way, by_latency, seen);
    if (!(here > 0)) return {};
    out += share * smooth_price(way, by_latency, ranks) / here;
  }
  return out;
}

/// Ten petabytes a second: a scenario wants some bandwidth, and messages that latency decides shall not feel it.
constexpr TimePerByte kHardlyAny = TimePerByte::seconds_per_byte(1e-16);

/// The cost of a message with which the collective takes so long.
model::MessageCost cost_of(const PricedWay& way, std::int64_t ranks, Seconds time) {
  model::MessageCost cost;
  cost.per_byte = kHardlyAny;
  const double share = latency_share(way);
  const double rounds = price(way, true, ranks);
  const double bytes = price(way, false, ranks);
  if (share > 0 && rounds > 0) cost.latency = time * (share / rounds);
  if (share < 1 && bytes > 0)
    cost.per_byte = TimePerByte::seconds_per_byte(time.count() * (1 - share) / bytes);
  return cost;
}

/// Six digits: what a reader can hold against data.
double rounded(double x) {
  if (x == 0) return 0;
  const double unit = std::pow(10.0, 5 - std::floor(std::log10(std::abs(x))));
  return std::round(x * unit) / unit;
}

NoiseSource source(const char* name, NoiseScope scope, NoisePattern pattern) {
  NoiseSource n;
  n.name = name;
  n.scope = scope;
  n.pattern = pattern;
  return n;
}

/// A normal part, as a factor of the compute time.
void add_normal(std::vector<NoiseSource>& out, const char* name, Seconds deviation, Seconds compute,
                NoiseScope scope, NoisePattern pattern) {
  if (deviation <= Seconds{} || compute <= Seconds{}) return;
  NoiseSource n = source(name, scope, pattern);
  n.law = NoiseLaw::Gaussian;
  n.cv = rounded(deviation / compute);
  out.push_back(n);
}

/// A law as quantiles and a tail of this shape from this probability on.
NoiseSource as_quantiles(const Law& law, double probability, double shape, NoiseSource n) {
  n.law = NoiseLaw::Quantiles;
  n.relative = false;
  n.unit = law.deviation() < Seconds{1e-5} ? Seconds{1e-6} : Seconds{1e-3};
  const bool tail = probability > 0;
  for (int i = 0; i <= kBody; ++i) {
    const double p = static_cast<double>(i) / kBody * (1 - (tail ? probability : 0));
    const double q = rounded(law.quantile(std::clamp(p, 1e-6, 1 - 1e-6)) / n.unit);
    n.quantiles.push_back(n.quantiles.empty() ? q : std::max(q, n.quantiles.back()));
  }
  if (!tail) return n;
  // The scale of a tail of this shape that has the law's quantile at a hundredth of its probability.
  const double far = law.upper_quantile(probability / 100) / n.unit - n.quantiles.back();
  const double unit = std::abs(shape) < 1e-9 ? std::log(100.0) : (std::pow(100.0, shape) - 1) / shape;
  if (!(far > 0)) return n;
  n.tail_probability = probability;
  n.tail_scale = rounded(far / unit);
  n.tail_shape = std::abs(shape) < 1e-9 ? 0 : rounded(shape);
  return n;
}

/// Nodes that are slow for good, as often as they were seen.
void add_slow_nodes(std::vector<NoiseSource>& out, const PositionParts& part) {
  if (part.slow.seen == 0 || part.slow.extra <= Seconds{}) return;
  NoiseSource n = source("slow nodes", NoiseScope::Node, NoisePattern::Persistent);
  n.law = NoiseLaw::Bimodal;
  n.relative = false;
  n.mean = part.slow.extra;
  n.probability = static_cast<double>(part.slow.seen) / static_cast<double>(part.slow.of);
  out.push_back(n);
}

Error no_work(const Sample& sample) {
  return Error{.code = Errc::Unsupported,
               .id = "forecast-005",
               .message = sample.name + ": what its ranks do in a step is not known",
               .hint = "give a Run or a table with own work of each rank",
               .where = {}};
}

void place(model::Scenario& s, const Parts& parts, std::vector<std::string>& notes) {
  const bool even = parts.nodes > 0 && parts.nodes * parts.ranks_per_node == parts.ranks;
  s.cluster.nodes = static_cast<int>(even ? parts.nodes : parts.ranks);
  s.cluster.devices_per_node = even ? parts.ranks_per_node : 1;
  if (!even)
    notes.emplace_back("which ranks share a node is not known, or nodes differ: each has a node of its own");
}

/// Of the position that most of the work is before.
Traffic traffic_of(const Parts& parts, const Sample& sample) {
  const auto main =
      std::ranges::max_element(parts.positions, {}, [](const auto& p) { return p.level.value; });
  for (const Position& p : sample.positions)
    if (main != parts.positions.end() && p.name == main->name) return p.traffic;
  return {};
}

/// Ranks of the Scenario that have a role: those of the sample, in its order.
std::vector<int> ranks_with(std::int32_t role, const Sample& sample) {
  std::vector<int> out;
  for (std::size_t i = 0; i < sample.ranks.size(); ++i)
    if (sample.ranks[i].role == role) out.push_back(static_cast<int>(i));
  return out;
}

/// The ranks of the Scenario that a role's sources are of; empty = all.
struct RoleRanks {
  std::string name{};
  std::vector<int> ranks{};
};

void push(std::vector<NoiseSource>& out, NoiseSource n, const RoleRanks& of) {
  n.name += of.name;
  n.ranks = of.ranks;
  out.push_back(std::move(n));
}

/// What lasts of a role: what it does more than the one that does least, and ranks that differ.
void add_lasting(std::vector<NoiseSource>& out, const PositionParts& role, Seconds more, Seconds compute,
                 const RoleRanks& of) {
  std::vector<NoiseSource> own;
  if (more > Seconds{}) {
    NoiseSource n = source("more work", NoiseScope::Rank, NoisePattern::EveryStep);
    n.law = NoiseLaw::Constant;
    n.relative = false;
    n.mean = more;
    own.push_back(n);
  }
  add_normal(own, "rank, for good", role.rank.value, compute, NoiseScope::Rank, NoisePattern::Persistent);
  for (NoiseSource& n : own) push(out, std::move(n), of);
}

void add_own(std::vector<NoiseSource>& out, const PositionParts& part, const RoleRanks& of) {
  if (part.residual_sd.value <= Seconds{} || part.residual.is_constant()) return;
  NoiseSource n = source("own", NoiseScope::Rank, NoisePattern::EveryStep);
  n.correlation = rounded(std::clamp(part.correlation.value, 0.0, 0.999));
  push(out,
       as_quantiles(part.residual, part.tail_probability > 0 ? part.tail_probability : kTailFrom,
                    part.tail_probability > 0 ? std::min(part.tail_shape.value, 0.95) : 0, n),
       of);
}

/// What ranks share: of several roles the mean, by their ranks.
PositionParts shared_by(const std::vector<PositionParts>& roles) {
  PositionParts out = roles.front();
  double all = 0;
  for (const PositionParts& r : roles) all += static_cast<double>(std::max<std::int64_t>(r.ranks, 1));
  out.step.value = out.node.value = out.node_step.value = out.drift.value = out.drift.low = {};
  out.node_step_skewness = 0;
  for (const PositionParts& r : roles) {
    const double share = static_cast<double>(std::max<std::int64_t>(r.ranks, 1)) / all;
    out.step.value += share * r.step.value;
    out.node.value += share * r.node.value;
    out.node_step.value += share * r.node_step.value;
    out.node_step_skewness += share * r.node_step_skewness;
    out.drift.value += share * r.drift.value;
    out.drift.low += share * r.drift.low;
    if (r.slow.seen > out.slow.seen) out.slow = r.slow;
  }
  return out;
}

void add_shared(model::Scenario& s, const PositionParts& shared, Seconds rest_sd, Seconds compute) {
  add_normal(s.noise, "node, for good", shared.node.value, compute, NoiseScope::Node,
             NoisePattern::Persistent);
  add_normal(s.noise, "step", Seconds{std::hypot(shared.step.value.count(), rest_sd.count())}, compute,
             NoiseScope::Global, NoisePattern::EveryStep);
  add_slow_nodes(s.noise, shared);
  if (shared.node_step.value > Seconds{}) {
    NoiseSource n = source("node in step", NoiseScope::Node, NoisePattern::EveryStep);
    const Law law = Law::shifted_gamma(Seconds{}, shared.node_step.value, shared.node_step_skewness);
    s.noise.push_back(as_quantiles(law, kTailFrom, 0, n));
  }
}

void add_drift(model::Scenario& s, Seconds drift) {
  NoiseSource n = source("drift", NoiseScope::Global, NoisePattern::Drift);
  n.law = NoiseLaw::Constant;
  n.relative = false;
  n.mean = drift;
  n.period_steps = s.job.steps;
  s.noise.push_back(n);
}

/// What is lost between a step and `times` alike ones, and between roles.
void say_alike(const Parts& parts, const AlikeStep& step, std::vector<std::string>& notes) {
  std::set<std::string> names;
  bool correlated = false;
  for (const PositionParts& p : parts.positions) {
    names.insert(p.name);
    correlated = correlated || p.correlation.value > 0.05;
  }
  if (names.size() > static_cast<std::size_t>(step.times))
    notes.emplace_back("synchronisations with less than a twentieth of the work are played as compute");
  if (step.times > 1) {
    notes.push_back(fmt::format(
        "{0} synchronisations of a step are {0} steps of the Scenario, with the mean of their work before each: mean steps are kept "
        "at every size, what steps vary by is less where they are unlike",
        step.times));
    if (correlated)
      notes.emplace_back("what a rank's work resembles that of its last step by is not in the Scenario");
  }
  if (step.roles.size() > 1)
    notes.push_back(fmt::format(
        "{} roles are named ranks with noise of their own, who meet in every step; what nodes share is the mean of the roles'",
        step.roles.size()));
}

/// How the main collective is carried out; what of its time is latency by the fit over its sizes, where it told it.
PricedWay told_way(const Parts& parts, const Sample& sample) {
  const Traffic traffic = traffic_of(parts, sample);
  PricedWay way = way_of(traffic);
  if (traffic.bytes <= Bytes{}) return way;
  for (const MessageFit& fit : run_parameters(std::span(&sample, 1)).messages) {
    if (fit.kind != traffic.kind || fit.ranks != sample.size() || fit.latency.origin != Origin::Measured)
      continue;
    const Seconds bytes = fit.per_byte.value.over(traffic.bytes);
    if (fit.latency.value + bytes > Seconds{})
      way.latency_share = fit.latency.value / (fit.latency.value + bytes);
  }
  return way;
}

/// A collective behind the work, as long as what nothing hides was.
void add_collective(Calibrated& out, const PricedWay& way, const Parts& parts, Seconds compute) {
  model::Scenario& s = out.scenario;
  s.across = s.inside = cost_of(way, s.cluster.ranks(), parts.rest.value / out.synchronisations);
  s.job.work = model::CollectiveJob{.collective = spec_of(way, s.cluster.ranks()), .compute = compute};
  if (parts.rest_sd.value > Seconds{}) out.notes.emplace_back(kAsWork);
  out.notes.push_back(
      way.latency_share
          ? fmt::format(
                "messages: {} of the measured time of communication is latency, as several sizes of it tell",
                percent(*way.latency_share))
          : fmt::format("messages: all of the measured time of communication is {}; one size does not tell",
                        way.by_latency ? "latency" : "bandwidth"));
}

/// Sums beside the work, as they were seen.
void add_beside_work(Calibrated& out, BesideWork beside) {
  model::Scenario& s = out.scenario;
  s.across = s.inside = beside.cost;
  out.exchange = {.kind = Collective::AllReduce, .bytes = {}, .transfer = {}};
  for (const model::Layer& layer : beside.job.layers) out.exchange.bytes += layer.gradients;
  if (beside.cv > 0) {
    NoiseSource n = source("messages", NoiseScope::Global, NoisePattern::EveryStep);
    n.target = model::NoiseTarget::Bandwidth;
    n.law = NoiseLaw::Gaussian;
    n.cv = rounded(beside.cv);
    s.noise.push_back(n);
  }
  s.job.work = std::move(beside.job);
  out.overlaps = true;
  if (beside.deviation > Seconds{}) out.notes.emplace_back(kAsWork);
  out.notes.insert(out.notes.end(), beside.notes.begin(), beside.notes.end());
}

}  // namespace

Result<Calibrated> calibrated_scenario(const Parts& parts, const Sample& sample,
                                       std::span<const Sample> samples) {
  if (parts.positions.empty()) return fail(no_work(sample));
  Calibrated out;
  model::Scenario& s = out.scenario;
  s.name = sample.name;
  place(s, parts, out.notes);
  const AlikeStep step = alike_step(parts);
  const double times = step.times;
  out.synchronisations = step.times;
  out.roles = static_cast<std::int64_t>(step.roles.size());
  out.exchange = traffic_of(parts, sample);
  const PositionParts shared = shared_by(step.roles);
  const Seconds least =
      std::ranges::min_element(step.roles, {}, [](const auto& r) { return r.level.value; })->level.value;
  const bool drifts = shared.drift.value > Seconds{} && shared.drift.low > Seconds{};
  // the level is the mean over the sample
  const Seconds before = drifts ? shared.drift.value / 2 : Seconds{};
  const Seconds compute = std::max(Seconds{}, least - before);
  s.job.steps = static_cast<int>(std::clamp<std::int64_t>(parts.steps * step.times, 1, 1'000'000));
  BesideWork beside =
      beside_work(sample, samples.empty() ? std::span(&sample, 1) : samples, compute, s.cluster.ranks());
  out.why_no_overlap = beside.why_not;
  const Seconds rest_sd =
      beside.job.layers.empty() ? parts.rest_sd.value / std::sqrt(times) : beside.deviation;
  if (beside.job.layers.empty())
    add_collective(out, told_way(parts, sample), parts, compute);
  else
    add_beside_work(out, std::move(beside));
  s.engine = model::EngineKind::Auto;
  std::vector<RoleRanks> named(step.roles.size());
  if (named.size() > 1)
    for (std::size_t i = 0; i < named.size(); ++i)
      named[i] = {fmt::format(", role {}", step.roles[i].role), ranks_with(step.roles[i].role, sample)};
  for (std::size_t i = 0; i < named.size(); ++i)
    add_lasting(s.noise, step.roles[i], step.roles[i].level.value - least, compute, named[i]);
  // What sums beside work leave varies by itself, beside what their messages do.
  add_shared(s, shared, rest_sd, compute);
  for (std::size_t i = 0; i < named.size(); ++i) add_own(s.noise, step.roles[i], named[i]);
  if (drifts) add_drift(s, shared.drift.value);
  say_alike(parts, step, out.notes);
  return out;
}

RestAt rest_of(const Parts& parts, const Sample& sample) {
  if (parts.positions.empty() || parts.ranks < 2 || parts.rest.value <= Seconds{}) return {};
  const PricedWay way = told_way(parts, sample);
  if (!growth_of(way, parts.ranks, parts.ranks)) return {};
  const TimeEstimate rest = parts.rest;
  const std::int64_t seen = parts.ranks;
  const PricedWay by_rounds{.kind = Collective::AllReduce, .algorithm = Algorithm::RecursiveDoubling};
  return [=](std::int64_t ranks) {
    if (ranks == seen) return rest;
    const double grows = growth_of(way, ranks, seen).value_or(1);
    const double rounds = growth_of(by_rounds, ranks, seen).value_or(1);
    const auto [least, most] = std::minmax({1.0, grows, ranks > seen ? 2 * std::max(rounds, grows) : rounds});
    return TimeEstimate{.value = rest.value * grows,
                        .low = std::min(rest.low, rest.value) * least,
                        .high = std::max(rest.high, rest.value) * most,
                        .origin = Origin::Range,
                        .units = rest.units};
  };
}

}  // namespace cox::forecast
