// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "cox/forecast/scenario_parts.hpp"
#include "cox/model/closed_form.hpp"

namespace cox::forecast {
namespace {

using model::Algorithm;
using model::Collective;
using model::NoiseLaw;
using model::NoisePattern;
using model::NoiseScope;
using model::NoiseSource;

constexpr Bytes kSmall{64 * 1024};  ///< up to here latency is what a message costs
constexpr int kBody = 100;          ///< quantiles of a law's body
constexpr double kTailFrom = 0.01;  ///< where the tail of a law without one begins
constexpr double kMinor = 0.05;     ///< of own work: less before a synchronisation is not played as one

/// How a collective is carried out, by its kind and size: what libraries do.
struct Way {
  Collective kind = Collective::AllReduce;
  Algorithm algorithm = Algorithm::RecursiveDoubling;
  Bytes bytes{8};
  bool by_latency = true;  ///< its time is latency; else bandwidth
};

Way way_of(const Traffic& traffic) {
  Way way;
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

model::CollectiveSpec spec_of(const Way& way, std::int64_t ranks) {
  return {.kind = way.kind, .algorithm = way.algorithm, .ranks = static_cast<int>(ranks), .bytes = way.bytes};
}

/// Time of the collective where a message costs one second, or one second per byte.
double price(const Way& way, std::int64_t ranks) {
  model::MessageCost cost;
  if (way.by_latency)
    cost.latency = Seconds{1};
  else
    cost.per_byte = TimePerByte::seconds_per_byte(1);
  const auto time = ranks < 2 ? std::nullopt : model::closed_form(spec_of(way, ranks), cost);
  return time ? time->count() : 0;
}

/// The same, a power of the ranks between powers of two: elsewhere a collective has rounds of its own.
double smooth_price(const Way& way, std::int64_t ranks) {
  std::int64_t below = 2;
  while (below <= ranks / 2) below *= 2;
  const double low = price(way, below);
  if (ranks <= below) return low;
  const double part = std::log2(static_cast<double>(ranks) / static_cast<double>(below));
  return low > 0 ? low * std::pow(price(way, 2 * below) / low, part) : 0;
}

/// Ten petabytes a second: a scenario wants some bandwidth, and messages that latency decides shall not feel it.
constexpr TimePerByte kHardlyAny = TimePerByte::seconds_per_byte(1e-16);

/// The cost of a message with which the collective takes so long.
model::MessageCost cost_of(const Way& way, std::int64_t ranks, Seconds time) {
  model::MessageCost cost;
  cost.per_byte = kHardlyAny;
  const double unit = price(way, ranks);
  if (!(unit > 0)) return cost;
  if (way.by_latency)
    cost.latency = time / unit;
  else
    cost.per_byte = TimePerByte::seconds_per_byte(time.count() / unit);
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

void add_fresh(std::vector<NoiseSource>& out, const PositionParts& part) {
  if (part.node_step.value > Seconds{}) {
    NoiseSource n = source("node in step", NoiseScope::Node, NoisePattern::EveryStep);
    const Law law = Law::shifted_gamma(Seconds{}, part.node_step.value, part.node_step_skewness);
    out.push_back(as_quantiles(law, kTailFrom, 0, n));
  }
  if (part.residual_sd.value > Seconds{} && !part.residual.is_constant()) {
    NoiseSource n = source("own", NoiseScope::Rank, NoisePattern::EveryStep);
    n.correlation = rounded(std::clamp(part.correlation.value, 0.0, 0.999));
    out.push_back(as_quantiles(part.residual, part.tail_probability > 0 ? part.tail_probability : kTailFrom,
                               part.tail_probability > 0 ? std::min(part.tail_shape.value, 0.95) : 0, n));
  }
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

/// The position whose work decides a step; nothing where several do.
const PositionParts* main_position(const Parts& parts) {
  Seconds all{};
  const PositionParts* main = nullptr;
  for (const PositionParts& p : parts.positions) {
    if (p.role != parts.positions.front().role) return nullptr;
    all += p.level.value;
    if (main == nullptr || p.level.value > main->level.value) main = &p;
  }
  for (const PositionParts& p : parts.positions)
    if (&p != main && p.level.value > kMinor * all) return nullptr;
  return main;
}

Error several(const Parts& parts) {
  return Error{.code = Errc::Unsupported,
               .id = "forecast-005",
               .message = fmt::format(
                   "{} parts of a step carry work, by position or by role: a Scenario of collectives "
                   "has one synchronisation of equal ranks",
                   parts.positions.size()),
               .hint = "the forecast itself takes them all",
               .where = {}};
}

void place(model::Scenario& s, const Parts& parts, std::vector<std::string>& notes) {
  const bool even = parts.nodes > 0 && parts.nodes * parts.ranks_per_node == parts.ranks;
  s.cluster.nodes = static_cast<int>(even ? parts.nodes : parts.ranks);
  s.cluster.devices_per_node = even ? parts.ranks_per_node : 1;
  if (!even)
    notes.emplace_back("which ranks share a node is not known, or nodes differ: each has a node of its own");
}

Traffic traffic_of(const Sample& sample, const PositionParts& main) {
  for (const Position& p : sample.positions)
    if (p.name == main.name) return p.traffic;
  return {};
}

}  // namespace

Result<Calibrated> calibrated_scenario(const Parts& parts, const Sample& sample) {
  const PositionParts* main = main_position(parts);
  if (main == nullptr) return fail(several(parts));
  Calibrated out;
  model::Scenario& s = out.scenario;
  s.name = sample.name;
  place(s, parts, out.notes);
  const std::int64_t ranks = s.cluster.ranks();
  const Way way = way_of(traffic_of(sample, *main));
  Seconds compute{};
  for (const PositionParts& p : parts.positions) compute += p.level.value;
  const Seconds drift = main->drift.value;
  const bool drifts = drift > Seconds{} && main->drift.low > Seconds{};
  if (drifts) compute -= drift / 2;  // the level is the mean over the sample
  s.across = s.inside = cost_of(way, ranks, parts.rest.value);
  s.job.steps = static_cast<int>(std::clamp<std::int64_t>(parts.steps, 1, 1'000'000));
  s.job.work =
      model::CollectiveJob{.collective = spec_of(way, ranks), .compute = std::max(Seconds{}, compute)};
  s.engine = model::EngineKind::Auto;
  add_normal(s.noise, "rank, for good", main->rank.value, compute, NoiseScope::Rank,
             NoisePattern::Persistent);
  add_normal(s.noise, "node, for good", main->node.value, compute, NoiseScope::Node,
             NoisePattern::Persistent);
  const Seconds shared{std::hypot(main->step.value.count(), parts.rest_sd.value.count())};
  add_normal(s.noise, "step", shared, compute, NoiseScope::Global, NoisePattern::EveryStep);
  if (parts.rest_sd.value > Seconds{})
    out.notes.emplace_back(
        "what communication varies by from step to step is played as work that all ranks share");
  add_slow_nodes(s.noise, *main);
  add_fresh(s.noise, *main);
  if (drifts) {
    NoiseSource n = source("drift", NoiseScope::Global, NoisePattern::Drift);
    n.law = NoiseLaw::Constant;
    n.relative = false;
    n.mean = drift;
    n.period_steps = s.job.steps;
    s.noise.push_back(n);
  }
  out.notes.push_back(fmt::format("messages: all of the {} of communication is {}; one size does not tell",
                                  "measured time", way.by_latency ? "latency" : "bandwidth"));
  if (parts.positions.size() > 1)
    out.notes.emplace_back("synchronisations with less than a twentieth of the work are played as compute");
  return out;
}

RestAt rest_of(const Parts& parts, const Sample& sample) {
  const PositionParts* main = parts.positions.empty() ? nullptr : &parts.positions.front();
  for (const PositionParts& p : parts.positions)
    if (p.level.value > main->level.value) main = &p;
  if (main == nullptr || parts.ranks < 2 || parts.rest.value <= Seconds{}) return {};
  const Way way = way_of(traffic_of(sample, *main));
  const double here = smooth_price(way, parts.ranks);
  if (!(here > 0)) return {};
  const TimeEstimate rest = parts.rest;
  const std::int64_t seen = parts.ranks;
  const Way by_rounds{.kind = Collective::AllReduce, .algorithm = Algorithm::RecursiveDoubling};
  const double rounds_here = smooth_price(by_rounds, seen);
  return [=](std::int64_t ranks) {
    if (ranks == seen) return rest;
    const double grows = smooth_price(way, ranks) / here;
    const double rounds = smooth_price(by_rounds, ranks) / rounds_here;
    const auto [least, most] = std::minmax({1.0, grows, ranks > seen ? 2 * std::max(rounds, grows) : rounds});
    return TimeEstimate{.value = rest.value * grows,
                        .low = std::min(rest.low, rest.value) * least,
                        .high = std::max(rest.high, rest.value) * most,
                        .origin = Origin::Range,
                        .units = rest.units};
  };
}

}  // namespace cox::forecast
