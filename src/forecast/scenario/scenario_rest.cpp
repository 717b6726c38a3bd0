// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "cox/base/stats.hpp"
#include "cox/simulate/outcome.hpp"

#include "forecast/project/pipeline.hpp"
#include "forecast/scaled/scaled.hpp"
#include "forecast/scenario/port_floor.hpp"
#include "forecast/scenario/quiet_step.hpp"
#include "forecast/scenario/resize.hpp"
#include "forecast/scenario/scenario_parts.hpp"

namespace cox::forecast {
namespace {

constexpr std::int64_t kMostSimulated = 16'384;   ///< at any cost
constexpr std::int64_t kMostAsked = 1'048'576;    ///< where that is cheap
constexpr std::int64_t kMostEvaluated = 1 << 24;  ///< of a step beyond it: about a second
constexpr std::int64_t kCheapStep = 1 << 18;  ///< of one that is simulated dozens of times: ten milliseconds
constexpr std::int64_t kDisturbed = 65'536;   ///< ranks x steps whose messages are disturbed
constexpr std::int64_t kMostPlayed = 256;     ///< where messages are played on shared links: at any cost
constexpr std::int64_t kMostSettling = 1 << 20;  ///< evaluated of a job whose first steps differ: two seconds
constexpr std::int64_t kMostDisturbed =
    1 << 23;                          ///< evaluated of steps whose messages are disturbed: two seconds
constexpr std::int64_t kOnLinks = 8;  ///< of them in the time of one on links
constexpr int kFewest = 3;            ///< steps: the first pays for what later ones find under way
constexpr std::int64_t kMostOnLinks = 1 << 18;  ///< evaluated of few steps beyond it: a second

/// Replicas that send each other nothing and share nothing: the step of a larger job is that of one of them.
bool meets_nobody(const model::Scenario& s) {
  if (s.job.workload() != model::Workload::Training || model::disturbs_messages(s)) return false;
  const auto& job = s.job.as<model::TrainingJob>();
  const bool sends =
      job.moe_layers > 0 || job.zero_stage > 0 || job.input.storage > Bandwidth{} ||
      std::ranges::any_of(job.layers, [](const model::Layer& l) { return l.gradients > Bytes{}; });
  const bool apart =
      unit_of(s) == s.cluster.devices_per_node || s.fabric.kind == model::FabricKind::FullBisection;
  return !sends && apart && s.job.places.rule == model::Places{}.rule && s.cluster.classes.empty() &&
         s.fabric.background_load == 0 && s.policy.kind == model::PolicyKind::Synchronous;
}

/// Communication at the scenario's own size, and at its doublings and halves of whole units, each simulated once.
class Prices {
 public:
  Prices(const model::Scenario& scenario, Scaling scaling)
      : scenario_(scenario),
        scaling_(scaling),
        alone_(meets_nobody(scenario)),
        least_(least_of(scenario)),
        played_(model::plays_links(scenario, scenario.job.workload()) || model::disturbs_messages(scenario)) {
  }

  /// Nothing where it cannot be simulated.
  std::optional<TimeEstimate> estimate_at(std::int64_t ranks) {
    const std::optional<Price> price = price_at(ranks);
    return price ? std::optional(price->rest) : std::nullopt;
  }
  /// A step without noise; nothing where it cannot be simulated.
  std::optional<Seconds> step_at(std::int64_t ranks) {
    const std::optional<Price> price = price_at(ranks);
    return price ? std::optional(price->work + price->rest.value) : std::nullopt;
  }
  std::optional<Seconds> at(std::int64_t ranks) {
    const std::optional<Price> price = price_at(ranks);
    return price ? std::optional(price->rest.value) : std::nullopt;
  }
  /// What communication that nothing hides takes at least by the bytes of servers' ports; 0 = there are none.
  Seconds floor_at(std::int64_t ranks) {
    const Seconds floor = port_floor(resized(scenario_, ranks, scaling_));
    if (scenario_.job.workload() == model::Workload::Collective) return floor;
    const std::optional<Price> price = price_at(below(ranks));
    return price ? std::max(floor - price->work, Seconds{}) : Seconds{};
  }
  /// Whether ranks meet at servers and nowhere else.
  [[nodiscard]] bool is_served() const {
    return scenario_.job.workload() == model::Workload::Collective &&
           port_floor(resized(scenario_, 2 * least_ + 2 * unit_of(scenario_), scaling_)) > Seconds{};
  }
  /// Of any size of whole replicas.
  std::optional<TimeEstimate> of_whole_replicas(std::int64_t ranks) {
    const std::int64_t unit = unit_of(scenario_);
    if (ranks < unit || ranks % unit != 0 || !is_simulated_among(ranks)) return std::nullopt;
    return not_shared_out(scenario_, ranks).empty() ? estimate_at(ranks) : std::nullopt;
  }
  /// Whether these sizes are simulated up to the next above.
  [[nodiscard]] bool is_simulated_among(std::int64_t ranks) {
    if (ranks <= (played_ ? kMostPlayed : kMostSimulated)) return true;
    const std::int64_t low = below(ranks);
    return played_ && (low == ranks || simulates(2 * low));
  }
  /// The smallest of these sizes.
  [[nodiscard]] std::int64_t least() const { return least_; }
  /// Whether one of these sizes is simulated. Beyond 16,384 ranks, 256 where messages are played on links, by what a step of the largest
  /// below has evaluated, which grows as the ranks or quicker: a function of the scenario, so an answer is the same whatever else is asked.
  [[nodiscard]] bool simulates(std::int64_t size) {
    if (size > least_ && !not_shared_out(scenario_, size).empty()) return false;
    const std::int64_t at_any_cost = std::max(least_, played_ ? kMostPlayed : kMostSimulated);
    if (alone_ || size <= at_any_cost) return true;
    if (size > kMostAsked) return false;
    std::int64_t below = size;
    while (below > at_any_cost && below / 2 >= least_) below /= 2;
    const std::optional<Price> price = price_at(below);
    return price && price->evaluated <= (played_ ? kMostOnLinks : kMostEvaluated) / (size / below);
  }
  /// Whether steps of this size may be simulated dozens of times.
  [[nodiscard]] bool is_cheap(std::int64_t ranks) {
    if (played_) return false;
    const std::optional<Price> price = price_at(below(ranks));
    return price && price->evaluated <= kCheapStep;
  }
  /// The largest that is not above.
  [[nodiscard]] std::int64_t below(std::int64_t ranks) {
    std::int64_t n = least_;
    while (n <= ranks / 2 && simulates(2 * n)) n *= 2;
    return n;
  }
  [[nodiscard]] Scaling scaling() const { return scaling_; }
  /// The same job with nothing hidden; none where nothing is.
  [[nodiscard]] Prices* with_nothing_hidden() {
    const std::scoped_lock lock(guard_);
    if (open_ || scenario_.job.workload() != model::Workload::Training) return open_.get();
    if (!scenario_.job.as<model::TrainingJob>().overlap) return nullptr;
    model::Scenario open = scenario_;
    open.job.as<model::TrainingJob>().overlap = false;
    open_ = std::make_unique<Prices>(open, scaling_);
    return open_.get();
  }

 private:
  struct Price {
    TimeEstimate rest{};
    Seconds work{};  ///< of the ranks that have most, or of their pipeline
    std::int64_t evaluated = 0;
  };
  std::optional<Price> price_at(std::int64_t ranks) {
    const std::scoped_lock lock(guard_);
    if (alone_) ranks = least_;
    const auto [at, fresh] = known_.try_emplace(ranks);
    if (!fresh) return at->second;
    if (const auto step = quiet_step(resized(scenario_, ranks, scaling_)))
      at->second = Price{.rest = step->rest, .work = step->longest, .evaluated = step->evaluated};
    return at->second;
  }
  static std::int64_t least_of(const model::Scenario& s) {
    const std::int64_t unit = unit_of(s);
    std::int64_t units = std::max<std::int64_t>(1, model::ranks_of(s.cluster, s.job.places) / unit);
    while (units % 2 == 0) units /= 2;
    return units * unit;
  }

  model::Scenario scenario_;
  Scaling scaling_;
  bool alone_;
  std::int64_t least_;
  bool played_;
  std::mutex guard_;
  std::map<std::int64_t, std::optional<Price>> known_;
  std::unique_ptr<Prices> open_;
};

TimeEstimate range(Seconds value, Seconds low, Seconds high) {
  return {.value = value, .low = low, .high = high, .origin = Origin::Range};
}

/// What the last doubling added over what the one before did; 0 = it is not known.
double growth_of(Prices& prices, std::int64_t low) {
  if (low / 4 < prices.least()) return 0;
  const auto a = prices.at(low), b = prices.at(low / 2), c = prices.at(low / 4);
  return a && b && c && *a > *b && *b > *c ? (*a - *b) / (*b - *c) : 0;
}

/// Beyond what is simulated each doubling adds what the last one added times how much that was more than the one before: exact for
/// rounds that grow as the ranks (2) and as their logarithm (1).
TimeEstimate going_on(Prices& prices, std::int64_t low, std::int64_t ranks) {
  const Seconds a = *prices.at(low);
  const auto at = [&](std::int64_t size) { return size < prices.least() ? a : prices.at(size).value_or(a); };
  const Seconds last = a - at(low / 2);
  const Seconds before = at(low / 2) - at(low / 4);
  double r = last > Seconds{} && before > Seconds{} ? std::min(2.2, last / before) : 0;
  // Quicker than the ranks grows what messages do; what work stops to hide only seems to.
  if (Prices* open = r > 2 ? prices.with_nothing_hidden() : nullptr)
    r = std::min(r, std::max(2.0, growth_of(*open, low)));
  const double k = std::log2(static_cast<double>(ranks) / static_cast<double>(low));
  const double doublings = std::abs(r - 1) < 1e-6 ? k : r * (std::pow(r, k) - 1) / (r - 1);
  const Seconds value = a + (r > 0 ? doublings : 0) * last;
  const double rounds =
      std::log2(static_cast<double>(ranks)) / std::log2(static_cast<double>(std::max<std::int64_t>(2, low)));
  return range(value, a, std::max(value, a * std::max(1.0, rounds)));
}

/// Where every rank has as much to do at any size, more ranks do no less by a slope that only goes on: a step grows by as much as the
/// ranks, and no more.
void keep_throughput(Prices& prices, std::int64_t low, std::int64_t ranks, TimeEstimate& out) {
  const auto step = prices.step_at(low);
  if (!step || prices.scaling() == Scaling::Strong) return;
  const double times = static_cast<double>(ranks) / static_cast<double>(low);
  const Seconds most = out.low + (times - 1) * *step;
  out.value = std::min(out.value, most);
  out.high = std::min(out.high, most);
}

/// At servers all goes with the bytes at their ports: so many times what these take as at the last sizes, between the ports alone and beside
/// what the sizes differ by, more the farther.
TimeEstimate at_servers(Prices& prices, std::int64_t low, std::int64_t ranks) {
  constexpr int kLooked = 4;
  const Seconds floor = prices.floor_at(ranks);
  const double last = *prices.at(low) / prices.floor_at(low);
  double least = last, most = last;
  std::int64_t size = low;
  for (int i = 1; i < kLooked && size / 2 >= prices.least(); ++i) {
    size /= 2;
    const auto rest = prices.at(size);
    if (!rest || !(prices.floor_at(size) > Seconds{})) break;
    least = std::min(least, *rest / prices.floor_at(size));
    most = std::max(most, *rest / prices.floor_at(size));
  }
  const double doublings = std::log2(static_cast<double>(ranks) / static_cast<double>(low));
  const double beyond = std::pow(most / least, 1 + doublings / (2 * kLooked));
  TimeEstimate out = range(last * floor, std::max(1.0, least / beyond) * floor, most * beyond * floor);
  // Of the value only: messages that meet worse than at the last size are in the range.
  TimeEstimate kept = range(out.value, *prices.at(low), out.value);
  keep_throughput(prices, low, ranks, kept);
  out.value = std::max(kept.value, floor);
  out.low = std::min(out.low, out.value);
  return out;
}

/// Communication that work hides now may surface: then all that it grows by adds to the step, and not what it adds now.
TimeEstimate price_beyond(Prices& prices, std::int64_t low, std::int64_t ranks) {
  if (prices.is_served() && prices.floor_at(low) > Seconds{}) return at_servers(prices, low, ranks);
  TimeEstimate out = going_on(prices, low, ranks);
  Prices* open = prices.with_nothing_hidden();
  if (open == nullptr || !open->at(low)) {
    keep_throughput(prices, low, ranks, out);
    return out;
  }
  // Work that is divided hides less and less: then all of it may.
  const Seconds before = prices.scaling() == Scaling::Strong ? out.low : *open->at(low);
  const Seconds grown = going_on(*open, low, ranks).high - before;
  out.high = std::max(out.high, out.low + std::max(grown, Seconds{}));
  keep_throughput(prices, low, ranks, out);
  return out;
}

TimeEstimate no_less(TimeEstimate out, Seconds floor) {
  out.value = std::max(out.value, floor);
  out.low = std::max(out.low, floor);
  out.high = std::max(out.high, floor);
  return out;
}

/// d ln price / d doubling at a simulated size: the harmonic mean of the chords on both sides, none where they differ in sign.
double steepness(Prices& prices, std::int64_t size) {
  const auto chord = [&](std::int64_t from) -> std::optional<double> {
    if (from < prices.least() || !prices.simulates(2 * from)) return std::nullopt;
    const auto a = prices.at(from);
    const auto b = prices.at(2 * from);
    if (!a || !b || *a <= Seconds{} || *b <= Seconds{}) return std::nullopt;
    return std::log(*b / *a);
  };
  const auto before = chord(size % 2 == 0 ? size / 2 : 0);
  const auto after = chord(size);
  if (!before || !after) return before ? *before : after.value_or(0);
  return *before * *after > 0 ? 2 * *before * *after / (*before + *after) : 0;
}

/// Where a size cannot be simulated: that of the nearest below that can, or twice as much.
TimeEstimate price_of_smaller(Prices& prices, std::int64_t size) {
  while (size / 2 >= prices.least()) {
    size /= 2;
    if (const auto smaller = prices.at(size)) return range(*smaller, *smaller, 2 * *smaller);
  }
  return range({}, {}, {});
}

TimeEstimate price(Prices& prices, std::int64_t ranks) {
  const std::int64_t low = prices.below(ranks);
  const std::optional<Seconds> a = prices.at(low);
  if (!a) return price_of_smaller(prices, low);
  if (low == ranks || ranks < low) return *prices.estimate_at(low);
  const std::int64_t high = 2 * low;
  if (!prices.simulates(high)) return no_less(price_beyond(prices, low, ranks), prices.floor_at(ranks));
  const std::optional<Seconds> b = prices.at(high);
  if (!b) return range(*a, *a, 2 * *a);
  const double t = std::log2(static_cast<double>(ranks) / static_cast<double>(low));
  if (!(*a > Seconds{} && *b > Seconds{}))
    return range(*a + t * (*b - *a), std::min(*a, *b), std::max(*a, *b));
  // A cubic of logarithms, monotone between the two (Fritsch, Carlson 1980): its slope has no jumps, so regimes have none.
  const double rise = std::log(*b / *a);
  const double m0 = steepness(prices, low);
  const double m1 = steepness(prices, high);
  const double ln = t * (m0 + t * (3 * rise - 2 * m0 - m1 + t * (m0 + m1 - 2 * rise)));
  const Seconds value = *a * std::exp(ln);
  // How ranks meet at servers, and in which order, is another thing at each size: a curve through doublings says little.
  const bool served = prices.is_served();
  const auto between = [&](Seconds end) {
    return served ? end : Seconds{std::sqrt(value.count() * end.count())};
  };
  return range(value, between(std::min(*a, *b)), between(std::max(*a, *b)));
}

constexpr double kSlower[] = {1.0 / 1024, 1.0 / 64, 1.0 / 8, 0.5, 1, 2, 4, 16, 128, 1024};
constexpr double kFewSlower[] = {0.25, 1, 4};

/// Communication where links pass so many times fewer bytes: simulated at some factors, in a line between them. A step of messages of lengths
/// that grow with the factor is a maximum of sums of them, so it is convex: the line is never below, and far out it is exact.
class PricesByLinks {
 public:
  PricesByLinks(model::Scenario scenario, Prices& as_they_are)
      : scenario_(std::move(scenario)), as_they_are_(as_they_are) {}

  TimeEstimate at(std::int64_t ranks, double slower) {
    const std::span<const double> factors =
        as_they_are_.is_cheap(ranks) ? std::span<const double>(kSlower) : std::span<const double>(kFewSlower);
    const auto next = std::ranges::upper_bound(factors, slower);
    const auto above = std::clamp<std::ptrdiff_t>(next - factors.begin(), 1, std::ssize(factors) - 1);
    const auto i = static_cast<std::size_t>(above);
    const double part = (slower - factors[i - 1]) / (factors[i] - factors[i - 1]);
    const TimeEstimate a = price(prices(factors[i - 1]), ranks), b = price(prices(factors[i]), ranks);
    const auto line = [&](Seconds TimeEstimate::*end) {
      return std::max(a.*end + part * (b.*end - a.*end), Seconds{});
    };
    return {.value = line(&TimeEstimate::value),
            .low = line(&TimeEstimate::low),
            .high = line(&TimeEstimate::high),
            .origin = Origin::Range};
  }

  TimeEstimate exact(std::int64_t ranks, double slower) { return price(prices(slower), ranks); }

 private:
  Prices& prices(double slower) {
    if (slower == 1) return as_they_are_;
    const std::scoped_lock lock(guard_);
    std::unique_ptr<Prices>& known = known_[slower];
    if (!known) {
      model::Scenario changed = scenario_;
      scale_links(changed, 1 / slower);
      known = std::make_unique<Prices>(changed, as_they_are_.scaling());
    }
    return *known;
  }

  model::Scenario scenario_;
  Prices& as_they_are_;
  std::mutex guard_;
  std::map<double, std::unique_ptr<Prices>> known_;
};

Pipeline pipeline_of(const model::Scenario& s) {
  if (s.job.workload() != model::Workload::Training) return {};
  const auto& job = s.job.as<model::TrainingJob>();
  return {.stages = job.layout.pipeline,
          .members = job.layout.tensor * job.layout.context,
          .micro_batches = job.micro_batches,
          .fixed_batch = job.global_batch > 0,
          .chunks = job.interleave,
          .schedule = job.schedule};
}

/// Ranks of a collective's job by the class of their node.
std::vector<Work> kinds_of_classes(const model::Scenario& s) {
  const Seconds compute = s.job.as<model::CollectiveJob>().compute;
  std::vector<Work> out = {{"", compute}};
  if (s.cluster.classes.empty()) return out;
  out[0].ranks = model::ranks_of(s.cluster, s.job.places);
  for (const model::NodeClass& of : s.cluster.classes) {
    const std::int64_t ranks = std::int64_t{of.count} * s.cluster.devices_per_node;
    out.push_back({of.name, compute / of.speed, ranks});
    out[0].ranks -= ranks;
  }
  if (out[0].ranks <= 0) out.erase(out.begin());
  return out;
}

/// Steps whose mean is taken where messages are disturbed, by what the fewest evaluate.
int steps_for(const model::Scenario& s, const simulate::Outcome& fewest) {
  const std::int64_t ranks = std::max<std::int64_t>(1, model::ranks_of(s.cluster, s.job.places));
  const std::int64_t wanted = std::clamp<std::int64_t>(kDisturbed / ranks, 20, 400);
  const std::int64_t each = std::max<std::int64_t>(fewest.evaluated / kFewest, 1);
  const std::int64_t most =
      fewest.engine == model::EngineKind::Flow ? kMostDisturbed / kOnLinks : kMostDisturbed;
  return static_cast<int>(std::clamp<std::int64_t>(most / each, kFewest, wanted));
}

/// The mean of several steps' rest; with its interval where they vary. Steps that resemble each other count as fewer.
void set_rest(StepWork& out, const std::vector<double>& rests, bool varies) {
  Welford all;
  for (const double x : rests) all.add(x);
  double together = 0;
  for (std::size_t k = 1; k < rests.size(); ++k)
    together += (rests[k] - all.mean()) * (rests[k - 1] - all.mean());
  const auto n = static_cast<double>(rests.size());
  const double r =
      n > 1 && all.variance() > 0 ? std::clamp(together / (n - 1) / all.variance(), 0.0, 0.99) : 0;
  const double error = varies && n > 1 ? 1.645 * all.stddev() / std::sqrt(n * (1 - r) / (1 + r)) : 0;
  const auto positive = [](double v) { return Seconds{std::max(v, 0.0)}; };
  out.rest = {.value = positive(all.mean()),
              .low = positive(all.mean() - error),
              .high = positive(all.mean() + error),
              .origin = Origin::Stated};
  if (varies && n > 1) out.rest_sd = Seconds{all.stddev()};
}

/// Whether messages that meet at links come otherwise from step to step, so that a few say little of the others.
bool is_settling(const simulate::Outcome& outcome, const model::Scenario& s) {
  constexpr double kRounding = 5e-3;
  const auto& ends = outcome.step_ends;
  if (ends.size() < 3 || !s.noise.empty() || !model::plays_links(s, s.job.workload())) return false;
  const Seconds last = ends.back() - ends[ends.size() - 2];
  const Seconds before = ends[ends.size() - 2] - ends[ends.size() - 3];
  return std::chrono::abs(last - before) > kRounding * last;
}

}  // namespace

Seconds mean_of_steps(const simulate::Outcome& outcome, std::int64_t steps) {
  const auto& ends = outcome.step_ends;
  if (ends.empty()) return {};
  const auto known = static_cast<std::int64_t>(ends.size());
  if (known >= steps || known < 2) return (ends.back() - outcome.started) / static_cast<double>(known);
  const std::size_t half = ends.size() / 2;
  const Seconds later = (ends.back() - ends[half - 1]) / static_cast<double>(ends.size() - half);
  const Seconds first = ends[half - 1] - outcome.started;
  return later + (first - static_cast<double>(half) * later) / static_cast<double>(steps);
}

namespace {

/// Beside the work: of all steps what they take; of some their mean, and how far chance lets that be off.
void set_later(StepWork& out, const simulate::Outcome& outcome, std::int64_t steps, Seconds work) {
  const Seconds rest = mean_of_steps(outcome, steps) - work;
  Welford later;
  const auto& ends = outcome.step_ends;
  for (std::size_t k = std::max<std::size_t>(ends.size() / 2, 1); k < ends.size(); ++k)
    later.add((ends[k] - ends[k - 1]).count());
  const bool all = static_cast<std::int64_t>(ends.size()) >= steps;
  const Seconds off{
      all || later.count() < 2 ? 0 : 1.645 * later.stddev() / std::sqrt(static_cast<double>(later.count()))};
  out.rest = {.value = rest, .low = rest - off, .high = rest + off, .origin = Origin::Stated};
}

}  // namespace

Result<StepWork> quiet_step(const model::Scenario& scenario) {
  model::Scenario s = scenario;
  std::erase_if(s.noise, [](const model::NoiseSource& n) {
    return n.off || n.target == model::NoiseTarget::Compute || !n.ranks.empty();
  });
  s.failures = {};
  s.start = {};
  s.job.steps = s.noise.empty() ? std::min(s.job.steps, kFewest) : kFewest;
  s.replicas = 1;
  COX_TRY(simulate::Outcome outcome, simulate::simulate(s, {.threads = 1}));
  if (!s.noise.empty()) {
    s.job.steps = steps_for(s, outcome);
    if (s.job.steps > kFewest) {
      COX_TRY(outcome, simulate::simulate(s, {.threads = 1}));
    }
  }
  StepWork out;
  out.evaluated = outcome.evaluated;
  if (s.job.workload() == model::Workload::Collective)
    out.kinds = kinds_of_classes(s);
  else
    for (const simulate::GroupTime& group : outcome.groups)
      out.kinds.push_back({group.name, group.busy, outcome.groups.size() > 1 ? group.ranks : 0});
  out.pipeline = pipeline_of(s);
  std::vector<Seconds> busy;
  busy.reserve(out.kinds.size());
  for (const Work& w : out.kinds) busy.push_back(w.busy);
  const bool stages = out.pipeline.stages > 1 && busy.size() == static_cast<std::size_t>(out.pipeline.stages);
  if (!stages) out.pipeline = {};
  const Seconds most = stages         ? pipelined(out.pipeline, busy)
                       : busy.empty() ? Seconds{}
                                      : *std::ranges::max_element(busy);
  out.longest = most;
  std::vector<double> rests;
  if (is_settling(outcome, s) && s.job.steps < scenario.job.steps) {
    const std::int64_t each = std::max<std::int64_t>(outcome.evaluated / s.job.steps, 1);
    const int steps = static_cast<int>(std::min<std::int64_t>(scenario.job.steps, kMostSettling / each));
    if (steps > 2 * s.job.steps) {
      s.job.steps = steps;
      COX_TRY(outcome, simulate::simulate(s, {.threads = 1}));
      set_later(out, outcome, scenario.job.steps, most);
      return out;
    }
  }
  const auto& ends = outcome.step_ends;
  for (std::size_t k = 1; k < ends.size(); ++k) rests.push_back((ends[k] - ends[k - 1] - most).count());
  if (rests.empty()) rests.push_back((outcome.total - outcome.started - most).count());
  set_rest(out, rests, !s.noise.empty());
  if (s.noise.empty() && ends.size() > 1) {  // the first is one of the job's steps
    const Seconds first = ends.front() - outcome.started - most - out.rest.value;
    const Seconds mean =
        out.rest.value + std::max(first, Seconds{}) / static_cast<double>(scenario.job.steps);
    out.rest.value = out.rest.low = out.rest.high = mean;
  }
  return out;
}

RestAt rest_of(const model::Scenario& scenario, Scaling scaling) {
  return rest_and_range_of(scenario, scaling).at;
}

RestOfScenario rest_and_range_of(const model::Scenario& scenario, Scaling scaling) {
  const auto prices = std::make_shared<Prices>(scenario, scaling);
  const auto others = std::make_shared<PricesByLinks>(scenario, *prices);
  return {
      .at = [prices](std::int64_t ranks) { return price(*prices, ranks); },
      .simulated_below = [prices](std::int64_t ranks) -> std::optional<std::int64_t> {
        const std::int64_t low = prices->below(ranks);
        return low < ranks && !prices->simulates(2 * low) ? std::optional(low) : std::nullopt;
      },
      .simulated_at = [prices](std::int64_t ranks) { return prices->of_whole_replicas(ranks); },
      .with_links = [prices, others](std::int64_t ranks,
                                     double bandwidth) { return others->at(ranks, 1 / bandwidth); },
      .with_exact_links = [prices, others](std::int64_t ranks,
                                           double bandwidth) { return others->exact(ranks, 1 / bandwidth); }};
}

}  // namespace cox::forecast
