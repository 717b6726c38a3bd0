// SPDX-License-Identifier: Apache-2.0
#include "forecast/regimes/simulated_scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "cox/base/hash.hpp"
#include "cox/base/parallel.hpp"
#include "cox/simulate/outcome.hpp"
#include "cox/simulate/spread.hpp"
#include "cox/simulate/switches.hpp"

#include "forecast/law/monotone_cubic.hpp"
#include "forecast/regimes/failing.hpp"

namespace cox::forecast {
namespace {

using simulate::Switch;
using simulate::SwitchKind;

/// All curves; shared by the copies of the job's function.
struct Curves {
  MonotoneCubic all;                   ///< ln step
  std::vector<MonotoneCubic> without;  ///< by mechanism of the step
  std::optional<Failing> failing;
  int failures_bit = -1;
  int growing_bit = -1;
  bool weak = true;
  double scale = 1;  ///< of throughput: what makes it 1 for one rank that never waits

  [[nodiscard]] MonotoneCubic::Value step(double x, MechanismSet on) const {
    const auto with = all.at(x);
    Seconds::rep step = std::exp(with.y);
    double slope = step * with.slope;
    for (std::size_t i = 0; i < without.size(); ++i) {
      if ((on >> i & 1) != 0) continue;
      const auto off = without[i].at(x);
      step += std::exp(off.y) - std::exp(with.y);
      slope += std::exp(off.y) * off.slope - std::exp(with.y) * with.slope;
    }
    step = std::max(step, 1e-3 * std::exp(with.y));
    return {step, slope / step};
  }
  [[nodiscard]] ThroughputPoint at(std::int64_t ranks, MechanismSet on) const {
    const auto n = static_cast<double>(ranks);
    const auto time = step(std::log(n), on);
    ThroughputPoint out{.throughput = scale * (weak ? n : 1) / time.y,
                        .elasticity = (weak ? 1 : 0) - time.slope};
    if (!failing || (on >> failures_bit & 1) == 0) return out;
    const bool growing = growing_bit >= 0 && (on >> growing_bit & 1) != 0;
    failing->apply(n, growing, out);
    return out;
  }
};

ScalingJob job_of_curves(std::vector<Mechanism> mechanisms, Curves curves) {
  ScalingJob job{.mechanisms = std::move(mechanisms)};
  job.at = [shared = std::make_shared<const Curves>(std::move(curves))](std::int64_t ranks, MechanismSet on) {
    return shared->at(ranks, on);
  };
  return job;
}

/// What is sent with fewer bytes is no reason why scaling ends.
bool concerns_steps(const Switch& one) {
  return one.off && one.kind != SwitchKind::Failures && one.kind != SwitchKind::Start &&
         one.kind != SwitchKind::Compression;
}

/// Mean step of each simulation: [size][mechanism off; the last = none][replica].
using Steps = std::vector<std::vector<std::vector<Seconds>>>;

struct SimulatedSteps {
  Steps means;
  std::vector<QuantileSketch> lengths;          ///< by size, with nothing off
  std::vector<std::optional<StepParts>> parts;  ///< likewise
};

/// What concerns steps at the largest size, which may meet more than smaller ones do.
std::vector<std::string> names_of_mechanisms(const std::vector<model::Scenario>& sizes) {
  std::vector<std::string> names;
  for (const Switch& s : simulate::switches_of(sizes.back()))
    if (concerns_steps(s)) names.push_back(s.name);
  return names;
}

/// With each of `names` off, where the size has it, and behind these with nothing off.
Result<SimulatedSteps> simulate_steps(const std::vector<model::Scenario>& sizes,
                                      const std::vector<std::string>& names, int threads) {
  const std::size_t mechanisms = names.size();
  const auto replicas = static_cast<std::size_t>(std::max(1, sizes[0].replicas));
  const std::size_t per_size = (mechanisms + 1) * replicas;
  std::vector<Result<Seconds>> found(sizes.size() * per_size, Seconds{});
  std::vector<QuantileSketch> lengths(sizes.size() * replicas);
  std::vector<std::optional<StepParts>> parts(lengths.size());
  // The largest first: what is left at the end is short.
  parallel_for(found.size(), threads, [&](std::size_t i) {
    const std::size_t at = found.size() - 1 - i;
    model::Scenario one = sizes[at / per_size];
    const std::size_t off = at % per_size / replicas;
    const std::vector<Switch> switches = simulate::switches_of(one);
    const auto found_there =
        off < mechanisms ? std::ranges::find(switches, names[off], &Switch::name) : switches.end();
    if (found_there != switches.end()) found_there->off(one);
    one.seed += at % replicas;
    one.replicas = 1;
    const auto outcome = simulate::simulate(one, {.threads = 1});
    if (!outcome) {
      found[at] = fail(outcome.error());
      return;
    }
    found[at] = outcome->total / std::max(1, one.job.steps);
    if (off != mechanisms) return;
    lengths[at / per_size * replicas + at % replicas] = outcome->steps;
    parts[at / per_size * replicas + at % replicas] = step_parts_of(*outcome);
  });
  SimulatedSteps out{
      .means = Steps(sizes.size(), std::vector(mechanisms + 1, std::vector<Seconds>(replicas))),
      .lengths = std::vector<QuantileSketch>(sizes.size()),
      .parts = {}};
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i]) return fail(found[i].error());
    out.means[i / per_size][i % per_size / replicas][i % replicas] = *found[i];
  }
  for (std::size_t i = 0; i < lengths.size(); ++i) out.lengths[i / replicas].merge(lengths[i]);
  for (std::size_t i = 0; i < parts.size(); i += replicas)
    out.parts.push_back(mean_parts({parts.begin() + static_cast<std::ptrdiff_t>(i),
                                    parts.begin() + static_cast<std::ptrdiff_t>(i + replicas)}));
  return out;
}

Seconds mean_of(const std::vector<Seconds>& values, const std::vector<std::size_t>& picked) {
  Seconds sum{};
  for (const std::size_t i : picked) sum += values[i];
  return sum / static_cast<double>(picked.size());
}

MonotoneCubic curve(const std::vector<double>& x, const Steps& steps, std::size_t off,
                    const std::vector<std::size_t>& picked) {
  std::vector<double> y;
  for (const auto& size : steps) y.push_back(std::log(mean_of(size[off], picked).count()));
  return {x, std::move(y)};
}

Status check_sizes(const std::vector<std::int64_t>& nodes) {
  if (nodes.size() >= 2 && nodes[0] >= 1 &&
      std::ranges::adjacent_find(nodes, std::greater_equal<>{}) == nodes.end())
    return {};
  return fail(
      Error{.code = Errc::InvalidInput,
            .id = "forecast-021",
            .message = fmt::format("{} sizes that ascend are asked for, expected at least 2", nodes.size()),
            .hint = "name sizes from small to large, each once",
            .where = {}});
}

/// The mechanisms of the step, then those of failures.
std::vector<Mechanism> mechanisms_of(const model::Scenario& scenario, bool of_step, Curves& curves) {
  std::vector<Mechanism> out;
  for (const Switch& s : simulate::switches_of(scenario))
    if (of_step && concerns_steps(s))
      out.push_back({s.name, s.kind == SwitchKind::Timeouts ? Reach::Lowers : Reach::Flattens});
  if (!scenario.failures.happen()) return out;
  const FailureTerm names;
  curves.failures_bit = static_cast<int>(out.size());
  out.push_back(names.failures);
  if (restarts_grow(scenario.failures)) {
    curves.growing_bit = static_cast<int>(out.size());
    out.push_back(names.growing);
  }
  return out;
}

/// The scenario at each size, and what is simulated there: without failures and starts.
struct Sizes {
  std::vector<model::Scenario> simulated;
  std::vector<double> x;     ///< ln ranks
  model::Scenario as_given;  ///< the largest
};

Result<Sizes> sizes_of(const ScenarioAt& at, const SimulatedScalingOptions& options) {
  COX_CHECK(check_sizes(options.nodes));
  Sizes out;
  for (const std::int64_t nodes : options.nodes) {
    COX_TRY(model::Scenario one, at(nodes));
    out.x.push_back(std::log(static_cast<double>(model::ranks_of(one.cluster, one.job.places))));
    if (options.steps > 0) one.job.steps = options.steps;
    // One engine for all, or its own small differences would be some mechanism's.
    one.plays_links = model::engine_for(one) == model::EngineKind::Flow;
    out.simulated.push_back(std::move(one));
  }
  out.as_given = out.simulated.back();
  for (model::Scenario& one : out.simulated) {
    one.failures = {};
    one.start = {};
  }
  return out;
}

/// Curves through the means of these replicas.
Curves curves_of(const Sizes& sizes, const Steps& steps, const std::vector<std::size_t>& picked, bool weak) {
  const std::size_t mechanisms = steps[0].size() - 1;
  Curves curves{.all = curve(sizes.x, steps, mechanisms, picked), .without = {}, .failing = {}};
  for (std::size_t m = 0; m < mechanisms; ++m) curves.without.push_back(curve(sizes.x, steps, m, picked));
  curves.weak = weak;
  const double one = curves.step(sizes.x[0], 0).y;
  curves.scale = weak ? one : one * std::exp(sizes.x[0]);
  const model::Scenario& given = sizes.as_given;
  if (given.failures.happen())
    curves.failing = Failing{.scenario = given,
                             .per_node = static_cast<double>(given.cluster.devices_per_node),
                             .step = Seconds{std::exp(curves.all.at(sizes.x[0]).y)}};
  return curves;
}

}  // namespace

std::optional<StepParts> step_parts_of(const simulate::Outcome& outcome) {
  StepParts sum;
  double ranks = 0;
  for (const simulate::GroupTime& g : outcome.groups) {
    const auto n = static_cast<double>(g.ranks);
    sum.work += g.busy * n;
    sum.communication += g.exposed * n;
    sum.waiting += g.waiting * n;
    ranks += n;
  }
  if (!(ranks > 0) || !(sum.total() > Seconds{})) return std::nullopt;
  return StepParts{sum.work / ranks, sum.communication / ranks, sum.waiting / ranks};
}

std::optional<StepParts> mean_parts(const std::vector<std::optional<StepParts>>& parts) {
  StepParts sum;
  const auto n = static_cast<double>(parts.size());
  for (const std::optional<StepParts>& one : parts) {
    if (!one) return std::nullopt;
    sum.work += one->work / n;
    sum.communication += one->communication / n;
    sum.waiting += one->waiting / n;
  }
  return parts.empty() ? std::nullopt : std::optional(sum);
}

Result<SimulatedScaling> simulate_scaling(const ScenarioAt& at, const SimulatedScalingOptions& options) {
  COX_TRY(const Sizes sizes, sizes_of(at, options));
  const std::vector<std::string> switched =
      options.mechanisms ? names_of_mechanisms(sizes.simulated) : std::vector<std::string>{};
  const std::size_t mechanisms = switched.size();
  COX_TRY(const SimulatedSteps simulated, simulate_steps(sizes.simulated, switched, options.threads));
  const Steps& steps = simulated.means;

  const std::size_t replicas = steps[0][0].size();
  std::vector<std::size_t> picked(replicas);
  std::iota(picked.begin(), picked.end(), std::size_t{0});
  const bool weak = options.batch == BatchRule::Grows;
  SimulatedScaling out;
  Curves base = curves_of(sizes, steps, picked, weak);
  const std::vector<Mechanism> names = mechanisms_of(sizes.as_given, options.mechanisms, base);
  const auto with_bits = [&](Curves curves) {
    curves.failures_bit = base.failures_bit;
    curves.growing_bit = base.growing_bit;
    return job_of_curves(names, std::move(curves));
  };
  out.job = with_bits(base);
  for (std::size_t i = 0; i < sizes.x.size(); ++i) {
    const simulate::ReplicaSpread spread = simulate::spread_of(steps[i][mechanisms]);
    const double n = std::exp(sizes.x[i]);
    out.sizes.push_back({.ranks = std::llround(n),
                         .step = spread.mean,
                         .half_width = spread.half_width_95,
                         .goodput = base.failing ? base.failing->goodput(n, true) : 1,
                         .lengths = simulated.lengths[i],
                         .goes_into = simulated.parts[i]});
  }
  SplitMix random{sizes.as_given.seed};
  for (int r = 0; r < options.replicates && replicas > 1; ++r) {
    for (std::size_t& p : picked) p = random.below(replicas);
    out.replicates.push_back(with_bits(curves_of(sizes, steps, picked, weak)));
  }
  out.notes.push_back(fmt::format("steps simulated at {} sizes, {} time{} each; between them a smooth curve",
                                  sizes.x.size(), replicas, replicas == 1 ? "" : "s"));
  if (sizes.as_given.failures.happen())
    out.notes.push_back("failures by formula: their parameters are taken as exact, so they add no width");
  return out;
}

}  // namespace cox::forecast
