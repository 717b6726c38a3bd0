// SPDX-License-Identifier: Apache-2.0
#include "forecast/regimes/parts_job.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <utility>

#include "forecast/calibrate/over_sizes.hpp"
#include "forecast/law/law.hpp"
#include "forecast/project/nests.hpp"
#include "forecast/regimes/failing.hpp"
#include "forecast/regimes/redrawn.hpp"

namespace cox::forecast {
namespace {

constexpr std::uint64_t kRestDraw = 1 << 21;
constexpr const char* kBandwidth = "bandwidth";
constexpr double kAlike =
    1e-2;  ///< throughputs of simulated sizes: how ranks meet on links is another thing at each

/// How a parameter of the job is other than it is. 1 = as it is, 0 = off.
struct Factors {
  double jitter = 1;
  double tail = 1;
  double node_step = 1;
  double rank = 1;
  double node = 1;
  double growth = 1;
  double drift = 1;
  double rest = 1;
  bool rest_grows = true;
  std::uint64_t sources_off = 0;  ///< of a Scenario, bit by bit
};

Law times_or_none(const Law& law, double factor) {
  return factor > 0 ? law.times(factor) : Law();
}

/// The same body with another tail index above the same threshold.
Law with_tail_index(const PositionParts& p, double factor) {
  if (factor == 1 || p.tail_probability <= 0 || p.residual.is_constant()) return p.residual;
  Tail tail{.threshold = p.residual.upper_quantile(p.tail_probability),
            .scale = {},
            .shape = p.tail_shape.value * factor,
            .probability = p.tail_probability};
  // Of a generalised Pareto law an e-th of the tail lies above threshold + scale (e^shape - 1) / shape.
  const Seconds e_fold = p.residual.upper_quantile(p.tail_probability / std::exp(1.0)) - tail.threshold;
  const double xi = p.tail_shape.value;
  tail.scale = std::abs(xi) < 1e-9 ? e_fold : e_fold * xi / std::expm1(xi);
  std::vector<Seconds> body;
  constexpr int kBody = 201;
  body.reserve(kBody);
  for (int i = 0; i < kBody; ++i)
    body.push_back(std::min(p.residual.quantile((1 - tail.probability) * i / (kBody - 1)), tail.threshold));
  return Law::quantiles(body, tail);
}

Parts varied(const Parts& parts, const Factors& f) {
  Parts out = parts;
  for (PositionParts& p : out.positions) {
    p.residual = times_or_none(with_tail_index(p, f.tail), f.jitter);
    p.rank.value *= f.rank;
    p.node.value *= f.node;
    p.slow.extra *= f.node;
    if (f.node == 0) p.slow = {};
    p.node_step.value *= f.node_step;
    if (f.growth == 0) p.growth.clear();
    p.level.value += (f.drift - 1) / 2 * p.drift.value;
    // One law for all has no mechanisms to switch off: nodes and ranks with parts of their own alone.
    p.pooled = Law();
    p.residual_sd.value = std::max(p.residual_sd.value, Seconds{1e-12});
  }
  return out;
}

/// What one size does not show of the job.
struct BeyondSeen {
  double power = 0;      ///< of the ranks over those seen, by which a step grows
  double undivided = 0;  ///< strong scaling: of own work at the ranks seen
};

/// The job with factors on its parameters; shared by the copies of its function.
class Model {
 public:
  Model(Parts parts, const PartsJobOptions& options, double rest_place, BeyondSeen beyond = {})
      : parts_(std::move(parts)),
        project_(options.project),
        sources_(options.sources),
        links_(options.links),
        rest_place_(rest_place),
        beyond_(beyond),
        simulated_to_(options.simulated_to) {
    project_.replicates = 0;
    if (options.failing) failing_ = failing_of(parts_, *options.failing);
  }

  struct Failures {
    bool on = true;
    bool growing = true;
    double rate = 1;
  };
  [[nodiscard]] ThroughputPoint at(std::int64_t ranks, const Factors& f, const Failures& failures) const {
    ThroughputPoint out = running(ranks, f);
    if (out.elasticity < 0 && project_.scaling == Scaling::Weak && !falls(ranks, f, out.throughput))
      out.elasticity = 0;
    if (!failing_ || !failures.on) return out;
    Failing failing = *failing_;
    failing.rate = failures.rate;
    failing.apply(static_cast<double>(ranks), failures.growing, out);
    return out;
  }
  [[nodiscard]] const std::optional<Failing>& failing() const { return failing_; }

 private:
  /// Whether half the ranks do more, or twice as many less, by one per cent, and nothing beyond does as much: else it is the slope of a curve
  /// between two sizes, or a dip.
  [[nodiscard]] bool falls(std::int64_t ranks, const Factors& f, double throughput) const {
    const auto does = [&](std::int64_t n) { return running(n, f).throughput; };
    const bool known = simulated_to_ == 0 || 2 * ranks <= simulated_to_;
    const bool twice_less = known && does(2 * ranks) < (1 - kAlike) * throughput;
    for (std::int64_t n = 2 * ranks; n <= simulated_to_; n *= 2)
      if (does(n) >= (1 - kAlike) * throughput) return false;
    if (simulated_to_ > ranks && does(simulated_to_) >= (1 - kAlike) * throughput) return false;
    return twice_less || does(std::max<std::int64_t>(ranks / 2, 1)) > (1 + kAlike) * throughput;
  }
  /// While nothing fails.
  [[nodiscard]] ThroughputPoint running(std::int64_t ranks, const Factors& f) const {
    const auto size = [&f, this](std::int64_t of) { return f.rest_grows ? of : parts_.ranks; };
    ProjectOptions options = project_;
    options.rest = [here = rest(size(ranks), f.rest)](std::int64_t) { return here; };
    std::optional<Parts> fewer;
    if (f.sources_off != 0) {
      fewer = parts_;
      fewer->positions = sources_.positions(f.sources_off);
    }
    const Parts& parts = fewer ? *fewer : parts_;
    const SizePoint point = project_one(varied(parts, f), ranks, options);
    const auto n = static_cast<double>(ranks);
    // Strong scaling: the same work in all, so a rank's is a part of it that goes down with the ranks.
    const double worth = project_.scaling == Scaling::Strong ? static_cast<double>(parts_.ranks) / n : 1;
    double own = 0;
    for (const PositionParts& p :
         parts.positions)  // so many named ranks at any size do another's part, not more
      if (!p.fixed) own += p.level.value.count();
    if (!(own > 0)) own = 1;  // nothing but communication: one step is as much as another
    const std::int64_t more = std::max<std::int64_t>(ranks + 1, std::llround(1.01 * n));
    const std::int64_t less = std::max<std::int64_t>(1, 2 * ranks - more);
    const Seconds chord = rest(size(more), f.rest).value - rest(size(less), f.rest).value;
    const Seconds growth = chord * (n / static_cast<double>(more - less));
    const double over = over_parts_at(project_.over_parts, ranks);
    ThroughputPoint out{.throughput = n * worth * own / point.mean.value.count(),
                        .elasticity = point.elasticity - over * growth / point.mean.value};
    if (worth < 1 && beyond_.undivided > 0) {  // own work here less what is divided, and its slope
      const Seconds more_work = beyond_.undivided * point.efficiency * point.mean.value;
      const Seconds step = point.mean.value + (1 / worth - 1) * more_work;
      out.elasticity = (out.elasticity * point.mean.value - more_work) / step;
      out.throughput *= point.mean.value / step;
    }
    if (beyond_.power > 0 && ranks >= parts_.ranks) {
      out.throughput /= std::pow(n / static_cast<double>(parts_.ranks), beyond_.power);
      out.elasticity -= beyond_.power;
    }
    return out;
  }
  /// Communication at a size, at this place of its range.
  [[nodiscard]] TimeEstimate rest(std::int64_t ranks, double factor) const {
    TimeEstimate out = parts_.rest;
    const bool other_links = links_ && factor != 1 && factor > 0;
    if (other_links) {
      out = links_(ranks, 1 / factor);
    } else if (project_.rest) {
      out = project_.rest(ranks);
    } else if (const GrowthFit* fit = best_growth(parts_.rest_growth)) {
      const Seconds more = fit->slope * growth_at(fit->growth, ranks, parts_.ranks);
      for (Seconds* one : {&out.value, &out.low, &out.high}) *one += more;
    }
    if (rest_place_ >= 0) out.value = out.at_place(rest_place_);
    if (!other_links) out.value = std::max(out.value * factor, Seconds{});
    out.low = out.high = out.value;
    return out;
  }

  Parts parts_;
  ProjectOptions project_;
  WorkSources sources_;
  RestWithLinks links_;
  double rest_place_ = -1;  ///< of its range; below 0 = its value
  BeyondSeen beyond_{};
  std::int64_t simulated_to_ = 0;
  std::optional<Failing> failing_;
};

/// A mechanism and what of `Factors` it switches off.
struct PartSwitch {
  Mechanism mechanism;
  std::function<void(Factors&)> off;
};

bool any(const Parts& parts, const std::function<bool(const PositionParts&)>& has) {
  return std::ranges::any_of(parts.positions, has);
}

/// Of own work, by kind.
std::vector<PartSwitch> work_switches(const Parts& parts, Scaling scaling) {
  std::vector<PartSwitch> out;
  const auto add = [&](const char* name, std::function<void(Factors&)> off) {
    out.push_back({{name, Reach::Flattens}, std::move(off)});
  };
  if (any(parts, [](const auto& p) { return !p.residual.is_constant(); }))
    add("jitter of ranks", [](Factors& f) { f.jitter = 0; });
  if (any(parts, [](const auto& p) { return p.node_step.value > Seconds{}; }))
    add("jitter that the ranks of a node share", [](Factors& f) { f.node_step = 0; });
  if (any(parts, [](const auto& p) { return p.rank.value > Seconds{}; }))
    add("ranks that differ for good", [](Factors& f) { f.rank = 0; });
  if (any(parts, [](const auto& p) { return p.node.value > Seconds{} || p.slow.seen > 0; }))
    add("nodes that differ for good", [](Factors& f) { f.node = 0; });
  if (any(parts, [](const auto& p) { return best_growth(p.growth) != nullptr; }))
    add(scaling == Scaling::Strong ? "own work that is not divided" : "own work that grows with the job",
        [](Factors& f) { f.growth = 0; });
  return out;
}

std::vector<PartSwitch> source_switches(const WorkSources& sources) {
  std::vector<PartSwitch> out;
  for (std::size_t i = 0; i < sources.names.size(); ++i)
    out.push_back(
        {{sources.names[i], Reach::Flattens}, [i](Factors& f) { f.sources_off |= std::uint64_t{1} << i; }});
  return out;
}

std::vector<PartSwitch> switches_of(const Parts& parts, const PartsJobOptions& options) {
  std::vector<PartSwitch> out = options.sources.names.empty() ? work_switches(parts, options.project.scaling)
                                                              : source_switches(options.sources);
  if (options.project.rest || best_growth(parts.rest_growth) != nullptr)
    out.push_back({{"communication that grows with the job", options.links ? Reach::Lowers : Reach::Flattens},
                   [](Factors& f) { f.rest_grows = false; }});
  return out;
}

bool fails_at_all(const PartsJobOptions& options) {
  return options.failing && options.failing->failures.happen();
}

ScalingJob job_from(const Parts& parts, const PartsJobOptions& options, double rest_place,
                    BeyondSeen beyond = {}) {
  const auto model = std::make_shared<const Model>(parts, options, rest_place, beyond);
  const auto switches = std::make_shared<const std::vector<PartSwitch>>(switches_of(parts, options));
  ScalingJob job;
  if (options.links && !fails_at_all(options)) job.alike = kAlike;
  for (const PartSwitch& s : *switches) job.mechanisms.push_back(s.mechanism);
  const std::size_t failures_bit = job.mechanisms.size();
  const bool fails = model->failing() && model->failing()->scenario.failures.happen();
  const bool grows = fails && restarts_grow(model->failing()->scenario.failures);
  const FailureTerm names;
  if (fails) job.mechanisms.push_back(names.failures);
  if (grows) job.mechanisms.push_back(names.growing);
  job.at = [model, switches, failures_bit, fails, grows](std::int64_t ranks, MechanismSet on) {
    Factors f;
    for (std::size_t i = 0; i < switches->size(); ++i)
      if ((on >> i & 1) == 0) (*switches)[i].off(f);
    return model->at(ranks, f,
                     {.on = fails && (on >> failures_bit & 1) != 0,
                      .growing = grows && (on >> (failures_bit + 1) & 1) != 0});
  };
  return job;
}

/// Half of ln(high / low); what may be zero is not known at all.
double log_error(double low, double high) {
  return low > 0 && high > low ? std::log(high / low) / 2
         : high > low          ? std::numeric_limits<double>::infinity()
                               : 0;
}

/// One parameter of a margin, and where its factor goes.
struct MarginSwitch {
  MarginParameter parameter;
  std::function<void(double, Factors&, Model::Failures&, double&)> set;
};

std::vector<MarginSwitch> margin_switches(const Parts& parts, const PartsJobOptions& options) {
  const PositionParts* first = parts.positions.empty() ? nullptr : &parts.positions.front();
  std::vector<MarginSwitch> out;
  out.push_back({{.name = "ranks", .most = 1'000, .worst = false, .one_way = true},
                 [](double v, Factors&, Model::Failures&, double& ranks) { ranks *= v; }});
  if (first == nullptr) return out;
  const auto error = [](const TimeEstimate& e) { return log_error(e.low.count(), e.high.count()); };
  if (!first->residual.is_constant())
    out.push_back({{.name = "jitter", .error = error(first->residual_sd)},
                   [](double v, Factors& f, Model::Failures&, double&) { f.jitter = v; }});
  if (first->tail_probability > 0 && first->tail_shape.value > 0)
    out.push_back({{.name = "tail index",
                    .error = log_error(first->tail_shape.low, first->tail_shape.high),
                    .most = std::max(1.01, 0.95 / first->tail_shape.value)},
                   [](double v, Factors& f, Model::Failures&, double&) { f.tail = v; }});
  if (first->rank.value > Seconds{} || first->node.value > Seconds{})
    out.push_back({{.name = "what is slow for good",
                    .error = error(first->rank.value > first->node.value ? first->rank : first->node)},
                   [](double v, Factors& f, Model::Failures&, double&) { f.rank = f.node = v; }});
  if (parts.rest.value > Seconds{})
    out.push_back({{.name = kBandwidth, .error = error(parts.rest)},
                   [](double v, Factors& f, Model::Failures&, double&) { f.rest = 1 / v; }});
  if (first->drift.value > Seconds{})
    out.push_back({{.name = "drift", .error = error(first->drift)},
                   [](double v, Factors& f, Model::Failures&, double&) { f.drift = v; }});
  if (options.failing && options.failing->failures.happen())
    out.push_back({{.name = "failure rate"},
                   [](double v, Factors&, Model::Failures& failures, double&) { failures.rate = v; }});
  return out;
}

/// What fails, as it is in a draw.
PartsJobOptions failing_in_draw(PartsJobOptions options, int draw) {
  if (!options.failing || !options.stated) return options;
  const FailureDraw drawn =
      failure_draws(std::max(options.replicates, draw + 1)).at(static_cast<std::size_t>(draw));
  drawn.apply(*options.stated, options.failing->failures);
  change_start(options.failing->start, options.stated->start.at(drawn.start));
  return options;
}

/// The parameters of margins, and jobs with factors on them.
class Varied {
 public:
  Varied(const Parts& parts, std::int64_t ranks, const PartsJobOptions& options)
      : parts_(parts), ranks_(ranks), options_(options), switches_(margin_switches(parts, options)) {
    for (const MarginSwitch& s : switches_) {
      parameters_.push_back(s.parameter);
      parameters_.back().worst = parameters_.back().worst && options.worst;
    }
  }
  [[nodiscard]] const std::vector<MarginParameter>& parameters() const { return parameters_; }
  [[nodiscard]] ElasticityWith as_estimated() const { return elasticity_of(parts_, -1, {}, options_); }
  [[nodiscard]] ElasticityWith drawn(int r) const {
    const auto replicate = static_cast<std::uint64_t>(r);
    const Unseen unseen = options_.unseen ? unseen_of(parts_, options_.project, replicate) : Unseen{};
    return elasticity_of(with_unseen(redrawn(parts_, options_.project.seed, replicate), unseen),
                         place_of_rest(options_.project.seed, replicate), {unseen.usual, unseen.undivided},
                         failing_in_draw(options_, r));
  }

 private:
  [[nodiscard]] ElasticityWith elasticity_of(const Parts& of, double rest_place, BeyondSeen beyond,
                                             const PartsJobOptions& options) const {
    return [this, model = std::make_shared<const Model>(of, options, rest_place, beyond)](
               std::span<const double> factors) {
      Factors f;
      Model::Failures failures;
      auto n = static_cast<double>(ranks_);
      for (std::size_t i = 0; i < switches_.size(); ++i) switches_[i].set(factors[i], f, failures, n);
      const double most = 1'048'576;
      if (n < 1 || n > most) return std::numeric_limits<double>::quiet_NaN();
      return model->at(std::llround(n), f, failures).elasticity;
    };
  }

  const Parts& parts_;
  std::int64_t ranks_;
  const PartsJobOptions& options_;
  std::vector<MarginSwitch> switches_;
  std::vector<MarginParameter> parameters_;
};

}  // namespace

Parts redrawn(const Parts& parts, std::uint64_t seed, std::uint64_t replicate) {
  Parts out = parts;
  for (std::size_t i = 0; i < out.positions.size(); ++i) {
    PositionParts& p = out.positions[i];
    const PositionLaws laws = drawn(p, {seed, replicate, i});
    p.residual = laws.residual;
    p.level.value = laws.level;
    p.rank.value = laws.rank;
    p.node.value = laws.node;
    p.step.value = laws.step;
    p.node_step.value = laws.node_step;
    p.growth = {{.growth = laws.growth, .slope = laws.slope}};
  }
  if (!parts.rest_growth.empty())
    out.rest_growth = {drawn_growth(parts.rest_growth, {seed, replicate, kRestDraw}, 1)};
  return out;
}

Parts with_unseen(Parts parts, const Unseen& unseen) {
  for (PositionParts& p : parts.positions)
    if (p.slow.seen == 0) {
      p.slow.share = unseen.slow_share;
      p.slow.extra = unseen.slow_down * p.level.value;
    }
  return parts;
}

double place_of_rest(std::uint64_t seed, std::uint64_t replicate) {
  return uniform_of({seed, replicate, kRestDraw}, 0);
}

PartsJob job_of_parts(const Parts& parts, const PartsJobOptions& options) {
  PartsJob out{.job = job_from(parts, options, -1)};
  PartsJobOptions drawn = options;
  drawn.project.coarse = true;
  for (int r = 0; r < options.replicates; ++r) {
    const auto replicate = static_cast<std::uint64_t>(r);
    const Unseen unseen = options.unseen ? unseen_of(parts, options.project, replicate) : Unseen{};
    const Parts job = with_unseen(redrawn(parts, options.project.seed, replicate), unseen);
    const double place = place_of_rest(options.project.seed, replicate);
    const PartsJobOptions fails = failing_in_draw(drawn, r);
    out.replicates.push_back(job_from(job, fails, place, {unseen.usual, unseen.undivided}));
    if (unseen.shared > 0)
      out.shared.push_back(job_from(job, fails, place, {unseen.shared, unseen.shared_undivided}));
  }
  return out;
}

std::function<double(std::int64_t, int)> drawn_steps_of(const Parts& parts, const PartsJobOptions& options) {
  PartsJobOptions running = options;
  running.failing.reset();
  running.project.coarse = true;
  const auto own = [](const Parts& of) {
    Seconds sum{};
    for (const PositionParts& p : of.positions) sum += p.level.value;
    return sum;
  };
  // Throughput is in the own work of its draw: a step is own work over it, but for what is the same in all.
  std::vector<Seconds> works;
  for (int r = 0; r < options.replicates; ++r)
    works.push_back(own(redrawn(parts, options.project.seed, static_cast<std::uint64_t>(r))));
  return [job = std::make_shared<const PartsJob>(job_of_parts(parts, running)), works = std::move(works),
          work = own(parts)](std::int64_t ranks, int draw) {
    const auto i = static_cast<std::size_t>(draw);
    const double estimate = job->job.at(ranks, kEveryMechanism).throughput;
    return (work > Seconds{} ? works[i] / work : 1) *
           (estimate / job->replicates[i].at(ranks, kEveryMechanism).throughput);
  };
}

std::optional<double> jitter_margin(const Parts& parts, std::int64_t ranks, double level,
                                    const PartsJobOptions& options) {
  if (!any(parts, [](const auto& p) { return !p.residual.is_constant(); })) return std::nullopt;
  const Model model(parts, options, -1);
  const MarginParameter jitter{.name = "jitter", .worst = false};
  const Margins m = margins_of(
      {&jitter, 1},
      [&](std::span<const double> factor) {
        return model.at(ranks, Factors{.jitter = factor[0]}, {}).elasticity;
      },
      level);
  if (m.crossed) return 0.0;
  const auto& factor = m.alone[0].factor;
  return factor ? std::optional{std::log(*factor)} : std::nullopt;
}

namespace {

/// A collapse with other links rests on a line through few factors: where throughput, simulated with these links, does not fall, there is none.
void drop_what_does_not_fall(const Parts& parts, std::int64_t ranks, const PartsJobOptions& options,
                             Margins& found) {
  constexpr double kBeyond = 1.05;  // of the factor: the other side of the crossing
  PartsJobOptions exact = options;
  exact.links = options.exact_links;
  const Varied varied(parts, ranks, exact);
  const ElasticityWith elasticity = varied.as_estimated();
  std::vector<double> factors(varied.parameters().size(), 1.0);
  const auto crosses = [&] { return (elasticity(factors) < found.level) != found.crossed; };
  for (std::size_t i = 0; i < found.alone.size(); ++i) {
    Margin& one = found.alone[i];
    if (one.name != kBandwidth || !one.factor) continue;
    factors[i] = *one.factor < 1 ? *one.factor / kBeyond : *one.factor * kBeyond;
    if (!crosses()) one.factor = one.low = one.high = std::nullopt;
    factors[i] = 1;
  }
  if (!found.worst) return;
  factors = found.worst->factors;
  for (double& factor : factors) factor *= factor < 1 ? 1 / kBeyond : factor > 1 ? kBeyond : 1;
  if (!crosses()) found.worst.reset();
}

}  // namespace

Margins margins_of_parts(const Parts& parts, std::int64_t ranks, double level,
                         const PartsJobOptions& options) {
  const Varied varied(parts, ranks, options);
  std::vector<ElasticityWith> replicates;
  for (int r = 0; r < options.replicates; ++r) replicates.push_back(varied.drawn(r));
  const bool bands = options.bands || !options.unseen;
  const ElasticityWith as_estimated = varied.as_estimated();
  Margins out =
      margins_of(varied.parameters(), as_estimated, level,
                 bands ? std::span<const ElasticityWith>(replicates) : std::span<const ElasticityWith>());
  if (options.exact_links && level == 0) drop_what_does_not_fall(parts, ranks, options, out);
  if (!options.unseen || replicates.empty()) return out;
  const std::vector<double> as_it_is(varied.parameters().size(), 1.0);
  const auto other = std::ranges::count_if(
      replicates, [&](const ElasticityWith& r) { return (r(as_it_is) < level) != out.crossed; });
  out.other_side = static_cast<double>(other) / static_cast<double>(replicates.size());
  return out;
}

std::vector<double> drawn_margins(const Parts& parts, std::int64_t ranks, const Margins& found,
                                  const PartsJobOptions& options) {
  const bool any_crosses =
      found.crossed || std::ranges::any_of(found.alone, [](const Margin& m) { return m.factor.has_value(); });
  PartsJobOptions coarse = options;
  coarse.project.coarse = true;
  const Varied varied(parts, ranks, coarse);
  std::vector<double> out;
  for (int r = 0; any_crosses && r < options.replicates; ++r)
    out.push_back(nearest_like(found, varied.parameters(), varied.drawn(r)));
  return out;
}

}  // namespace cox::forecast
