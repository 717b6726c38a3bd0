// SPDX-License-Identifier: Apache-2.0
// The slowest of N: C.2.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "cox/base/number_text.hpp"
#include "cox/base/parallel.hpp"
#include "cox/base/stats.hpp"
#include "cox/simulate/noise.hpp"
#include "cox/study/replicas.hpp"

#include "study/compute/computations.hpp"
#include "study/oracle/extremes.hpp"
#include "study/oracle/slowest.hpp"
#include "study/runs/collective_run.hpp"

namespace cox::study {
namespace {

constexpr Between kWorkers{.least = 2, .most = 4096};
constexpr RatioBetween kVariation{.above = 0, .most = 10};

/// What one seed's steps say, in units of the undisturbed time.
struct Steps {
  double mean = 0;
  double median = 0;
  double p99 = 0;
  double mean_of_workers = 0;
  double most_often_slowest = 0;  ///< share of the steps in which the same worker is the slowest
};

struct Law {
  std::vector<model::NoiseSource> sources;
  int workers = 1;
  int rack = 1;  ///< workers that share a source of scope Node
  int steps = 1;
  int seeds = 2;
  Seconds base{};
  int local_steps = 1;  ///< a barrier after so many
  int dropped = 0;      ///< the slowest that are not waited for
};

/// Steps of one seed: a barrier every `local_steps`, each draw made.
Steps sample(const Law& law, const simulate::Noise& noise) {
  const auto workers = static_cast<std::size_t>(law.workers);
  const std::vector<Seconds> base(workers, law.base);
  std::vector<Seconds> times(workers);
  std::vector<Seconds> sums(workers);
  std::vector<int> slowest(workers);
  std::vector<double> longest;
  double work = 0;
  for (int s = 0; s < law.steps; ++s) {
    noise.compute(s, 0, base, times);
    for (std::size_t w = 0; w < workers; ++w) sums[w] += times[w];
    if ((s + 1) % law.local_steps != 0) continue;
    ++slowest[static_cast<std::size_t>(std::max_element(sums.begin(), sums.end()) - sums.begin())];
    for (const Seconds t : sums) work += t.count();
    const auto waited_for = sums.end() - 1 - law.dropped;
    std::nth_element(sums.begin(), waited_for, sums.end());
    longest.push_back(waited_for->count() / law.base.count() / law.local_steps);
    std::fill(sums.begin(), sums.end(), Seconds{0});
  }
  Steps out;
  const auto n = static_cast<double>(longest.size());
  out.mean = std::accumulate(longest.begin(), longest.end(), 0.0) / n;
  out.mean_of_workers = work / (n * law.local_steps * law.workers * law.base.count());
  out.median = median(longest);
  out.p99 = quantile(longest, 0.99);
  out.most_often_slowest = *std::max_element(slowest.begin(), slowest.end()) / n;
  return out;
}

Result<std::vector<Steps>> sample_all(const Law& law, int threads) {
  std::vector<simulate::Noise> noises;
  for (int seed = 1; seed <= law.seeds; ++seed) {
    COX_TRY(simulate::Noise noise,
            simulate::Noise::make(law.sources, {.ranks = law.workers, .ranks_per_node = law.rack},
                                  static_cast<std::uint64_t>(seed)));
    noises.push_back(std::move(noise));
  }
  std::vector<Steps> out(noises.size());
  parallel_for(out.size(), threads, [&](std::size_t i) { out[i] = sample(law, noises[i]); });
  return out;
}

template <class F>
std::vector<double> each(const std::vector<Steps>& all, const F& value) {
  std::vector<double> out;
  out.reserve(all.size());
  for (const Steps& s : all) out.push_back(value(s));
  return out;
}

model::NoiseSource lognormal(double cv) {
  model::NoiseSource source;
  source.name = "compute";
  source.law = model::NoiseLaw::Lognormal;
  source.relative = true;
  source.mean_ratio = 0;
  source.cv = cv;
  return source;
}

std::string cv_name(double cv) {
  return fmt::format("cv{:g}", cv);
}

/// The job that all parts of the study are about.
struct Barrier {
  int workers = 1;
  Seconds base{};
  std::vector<double> cvs;
  int steps = 1;
  int seeds = 2;
  int threads = 0;

  [[nodiscard]] Law law(double cv) const {
    return {.sources = {lognormal(cv)}, .workers = workers, .steps = steps, .seeds = seeds, .base = base};
  }
};

Result<Barrier> barrier_of(const Inputs& in, const ComputeOptions& options) {
  Barrier b;
  COX_TRY(b.workers, in.count("workers", kWorkers));
  COX_TRY(b.base, in.time("compute"));
  COX_TRY(b.cvs, in.ratios("coefficient of variation", kVariation));
  COX_TRY(b.steps, in.count("steps", {.least = 1, .most = 100'000}));
  COX_TRY(b.seeds, in.count("seeds", {.least = 2, .most = 1000}));
  COX_CHECK(in.check_draws(static_cast<double>(b.workers) * b.steps * b.seeds, "workers, steps and seeds"));
  b.threads = options.threads;
  if (b.base > Seconds{0}) return b;
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "study-003",
                    .message = "input 'compute' is zero: there is no mean",
                    .hint = "give a positive time",
                    .where = Where{.file = in.study().file}});
}

/// A sampled mean against its exact value: within three standard errors (the half width is two).
void check_draws(Computation& out, std::string name, const Computed& sampled, double exact) {
  out.checks.push_back({.name = std::move(name),
                        .engine = sampled.value,
                        .oracle = Quantity::ratio(exact),
                        .limit_ratio = 1.5 * sampled.half_width_95->in_base_unit() / exact});
}

/// What waiting costs, and what the source's measure sees of it; the picture.
Status add_measures(Computation& out, const Barrier& b) {
  Series waste{.name = "mean over slowest", .x = {}, .y = {}};
  Series jitter{.name = "median over mean of steps", .x = {}, .y = {}};
  for (const double cv : b.cvs) {
    COX_TRY(const std::vector<Steps> all, sample_all(b.law(cv), b.threads));
    const std::string name = cv_name(cv);
    add_mean(out, fmt::format("median-over-mean-{}", name), Dimension::Ratio,
             each(all, [](const Steps& s) { return s.median / s.mean; }));
    add_mean(out, fmt::format("mean-over-slowest-{}", name), Dimension::Ratio,
             each(all, [](const Steps& s) { return s.mean_of_workers / s.mean; }));
    add_mean(out, fmt::format("slowest-over-mean-{}", name), Dimension::Ratio,
             each(all, [](const Steps& s) { return s.mean; }));
    const Computed sampled = out.values.back();
    add_mean(out, fmt::format("p99-over-mean-{}", name), Dimension::Ratio,
             each(all, [](const Steps& s) { return s.p99; }));
    const double exact = lognormal_maximum(b.workers, cv).mean;
    const double median = lognormal_maximum_median(b.workers, cv);
    add(out, fmt::format("slowest-over-mean-exact-{}", name), Quantity::ratio(exact), kClosedForm);
    add(out, fmt::format("mean-over-slowest-exact-{}", name), Quantity::ratio(1 / exact), kClosedForm);
    add(out, fmt::format("median-over-mean-exact-{}", name), Quantity::ratio(median / exact), kClosedForm);
    check_draws(out, fmt::format("slowest over mean, cv {:g}: draws against quadrature", cv), sampled, exact);
    waste.x.push_back(cv);
    waste.y.push_back(100 / exact);
    jitter.x.push_back(cv);
    jitter.y.push_back(100 * median / exact);
    jitter.of.push_back(fmt::format("median-over-mean-exact-{}", name));
  }
  out.picture = {.title = fmt::format("{} workers, lognormal compute: what the two measures see", b.workers),
                 .x_label = "coefficient of variation",
                 .y_label = "%",
                 .series = {std::move(waste), std::move(jitter)}};
  return {};
}

/// Quantiles of the step, and how likely a long one is.
Status add_long_steps(Computation& out, const Inputs& in, const Barrier& b) {
  COX_TRY(const Seconds long_step, in.time("long step"));
  ValueTable table{.title = "How long steps are",
                   .says = {},
                   .columns = {"coefficient of variation", "p50", "p95", "p99", "p99 / p50",
                               fmt::format("P(> {})", to_string(Quantity::of(long_step)))},
                   .rows = {}};
  for (const double cv : b.cvs) {
    const DelayedMaximum slowest(cv, {{.groups = b.workers, .workers = 1}});
    std::vector<std::string> row = {fmt::format("{:g}", cv)};
    for (const double p : {0.5, 0.95, 0.99}) {
      const Quantity q = Quantity::of(slowest.quantile(p) * b.base);
      add(out, fmt::format("step-p{:g}-{}", 100 * p, cv_name(cv)), q, kClosedForm);
      row.push_back(to_string(q));
    }
    const Quantity spread = Quantity::ratio(slowest.quantile(0.99) / slowest.quantile(0.5));
    const Quantity beyond = Quantity::ratio(slowest.above(long_step / b.base));
    add(out, fmt::format("p99-over-p50-{}", cv_name(cv)), spread, kClosedForm);
    add(out, fmt::format("one-beyond-a-long-step-{}", cv_name(cv)), beyond, kClosedForm);
    row.insert(row.end(), {to_string(spread), to_string(beyond)});
    table.rows.push_back(std::move(row));
  }
  table.says = fmt::format(
      "A step is as long as the slowest of {} workers. At a coefficient of {:g} one of them takes more than {} "
      "in {} of the steps; at {:g} in {}.",
      b.workers, b.cvs.front(), to_string(Quantity::of(long_step)), table.rows.front().back(), b.cvs.back(),
      table.rows.back().back());
  out.tables.push_back(std::move(table));
  return {};
}

/// A worker that is always slow, and racks that are slow together.
struct Causes {
  double cv = 0;  ///< of each worker beside the cause
  double persistent = 0;
  int rack = 1;
  double racks = 0;  ///< share of them that is slow in a step
  double rack_delay = 0;
};

struct Cause {
  const char* name;
  const char* title;
  std::vector<DelayedGroups> groups;
  double mean_of_workers = 1;
  std::vector<model::NoiseSource> sources;
  double most_often = 0;  ///< exact share of steps in which the same worker is the slowest
};

std::vector<Cause> causes_of(const Causes& c, int workers) {
  model::NoiseSource always;
  always.name = "slow worker";
  always.law = model::NoiseLaw::Constant;
  always.mean_ratio = c.persistent;
  always.ranks = {0};
  model::NoiseSource racks;
  racks.name = "slow racks";
  racks.law = model::NoiseLaw::Bimodal;
  racks.scope = model::NoiseScope::Node;
  racks.mean_ratio = c.rack_delay;
  racks.probability = c.racks;
  std::vector<Cause> all = {
      {"alike", "all alike", {{.groups = workers}}, 1, {lognormal(c.cv)}},
      {"persistent",
       "one worker always slow",
       {{.groups = workers - 1}, {.groups = 1, .delay = c.persistent}},
       1 + c.persistent / workers,
       {lognormal(c.cv), always}},
      {"racks",
       "racks slow together",
       {{.groups = workers / c.rack, .workers = c.rack, .delay = c.rack_delay, .probability = c.racks}},
       1 + c.racks * c.rack_delay,
       {lognormal(c.cv), racks}}};
  for (Cause& cause : all) cause.most_often = 1.0 / workers;
  all[1].most_often = DelayedMaximum(c.cv, all[1].groups).slowest_is_of(1);
  return all;
}

Status add_causes(Computation& out, const Inputs& in, const Barrier& b) {
  Causes c;
  COX_TRY(c.cv, in.ratio("coefficient beside a cause", kVariation));
  COX_TRY(c.persistent, in.ratio("slowdown of a persistent worker", kVariation));
  COX_TRY(c.rack, in.count("workers per rack", {.least = 1, .most = b.workers}));
  COX_TRY(c.racks, in.ratio("slow racks", RatioBetween{}));
  COX_TRY(c.rack_delay, in.ratio("slowdown of a rack", kVariation));
  if (b.workers % c.rack != 0)
    return fail(
        Error{.code = Errc::InvalidInput,
              .id = "study-003",
              .message = fmt::format("input 'workers per rack' is {}, which does not divide {} workers",
                                     c.rack, b.workers),
              .hint = "give a divisor",
              .where = Where{.file = in.study().file}});
  ValueTable table{.title = "Who is slow",
                   .says = {},
                   .columns = {"cause", "slowest over mean of one", "what waiting leaves",
                               "same worker slowest, exact", "same worker slowest, drawn"},
                   .rows = {}};
  for (const Cause& cause : causes_of(c, b.workers)) {
    const double mean = DelayedMaximum(c.cv, cause.groups).mean();
    Law law = b.law(c.cv);
    law.sources = cause.sources;
    law.rack = c.rack;
    COX_TRY(const std::vector<Steps> all, sample_all(law, b.threads));
    const Quantity slowest = Quantity::ratio(mean);
    const Quantity left = Quantity::ratio(cause.mean_of_workers / mean);
    const Quantity often = Quantity::ratio(cause.most_often);
    add(out, fmt::format("slowest-{}", cause.name), slowest, kClosedForm);
    add(out, fmt::format("mean-over-slowest-{}", cause.name), left, kClosedForm);
    add(out, fmt::format("same-worker-slowest-{}", cause.name), often, kClosedForm);
    add_mean(out, fmt::format("slowest-{}-drawn", cause.name), Dimension::Ratio,
             each(all, [](const Steps& s) { return s.mean; }));
    check_draws(out, fmt::format("{}: draws against quadrature", cause.title), out.values.back(), mean);
    add_mean(out, fmt::format("same-worker-slowest-{}-drawn", cause.name), Dimension::Ratio,
             each(all, [](const Steps& s) { return s.most_often_slowest; }));
    table.rows.push_back({cause.title, to_string(slowest), to_string(left), to_string(often),
                          to_string(out.values.back().value)});
  }
  table.says = fmt::format(
      "Beside a coefficient of {:g}, one worker that always takes {} more makes a step {} of a mean and is the slowest "
      "in {} of the steps; racks of {} of which {} take {} more anew in each step make it {}, "
      "and each worker is the slowest in {}. Drawn: the worker that was the slowest most often in {} steps.",
      c.cv, to_string(Quantity::ratio(c.persistent)), table.rows[1][1], table.rows[1][3], c.rack,
      to_string(Quantity::ratio(c.racks)), to_string(Quantity::ratio(c.rack_delay)), table.rows[2][1],
      table.rows[2][3], b.steps);
  out.tables.push_back(std::move(table));
  return {};
}

/// The coefficient at which two copies of each worker halve the slowest: from there on they are worth their price.
double cv_where_copies_pay(int workers) {
  double low = 0.01;
  double high = 10;
  while (high - low > 1e-9) {
    const double cv = (low + high) / 2;
    (lognormal_maximum_of_copies(workers, cv, 1) < 2 * lognormal_maximum_of_copies(workers, cv, 2) ? low
                                                                                                   : high) =
        cv;
  }
  return high;
}

/// Not waiting for the slowest, and having each share of work done twice: what a device's time is worth then.
Status add_remedies(Computation& out, const Inputs& in, const Barrier& b) {
  COX_TRY(const std::vector<double> shares, in.ratios("dropped workers", {.above = 0, .most = 0.5}));
  COX_TRY(const int spares, in.count("spare workers", {.least = 1, .most = b.workers}));
  ValueTable table{.title = "What can be done",
                   .says = {},
                   .columns = {"coefficient of variation", "remedy", "step over mean of one",
                               "useful share of device time"},
                   .rows = {}};
  double gain = 0;
  const auto row = [&](double cv, const std::string& name, const std::string& title, double step,
                       double worth) {
    const std::string of = fmt::format("{}-{}", name, cv_name(cv));
    add(out, fmt::format("step-{}", of), Quantity::ratio(step), kClosedForm);
    add(out, fmt::format("useful-{}", of), Quantity::ratio(worth / step), kClosedForm);
    table.rows.push_back({fmt::format("{:g}", cv), title, to_string(Quantity::ratio(step)),
                          to_string(Quantity::ratio(worth / step))});
    return worth / step;
  };
  const double n = b.workers;
  for (const double cv : b.cvs) {
    const double plain = row(cv, "waiting", "wait for all", lognormal_maximum(b.workers, cv).mean, 1);
    for (const double share : shares) {
      const int k = std::min(b.workers - 1, static_cast<int>(std::ceil(share * n)));
      gain = std::max(gain, row(cv, fmt::format("dropping-{}", percent_in_name(share)),
                                fmt::format("drop the slowest {}", k),
                                lognormal_without_slowest(b.workers, cv, k), (n - k) / n) /
                                plain);
    }
    gain = std::max(gain, row(cv, "spares", fmt::format("{} spare workers", spares),
                              lognormal_without_slowest(b.workers + spares, cv, spares), n / (n + spares)) /
                              plain);
    row(cv, "copies", "two copies of each", lognormal_maximum_of_copies(b.workers, cv, 2), 0.5);
  }
  const double pays = cv_where_copies_pay(b.workers);
  add(out, "copies-pay-from-cv", Quantity::ratio(pays), kClosedForm);
  add(out, "copies-pay-from-excess", Quantity::ratio(lognormal_maximum_of_copies(b.workers, pays, 1) - 1),
      kClosedForm);
  table.says = fmt::format(
      "Workers that are dropped or spare count as spent. Leaving out a few gains up to {} over waiting for all. Two "
      "copies of each worker halve the slowest, and so pay for themselves, from a coefficient of {:.2f} on, where the "
      "slowest takes {} the mean.",
      to_string(Quantity::ratio(gain)), pays,
      to_string(Quantity::ratio(lognormal_maximum_of_copies(b.workers, pays, 1))));
  out.tables.push_back(std::move(table));
  // The order statistic by draws.
  Law law = b.law(b.cvs.back());
  law.dropped = std::min(b.workers - 1, static_cast<int>(std::ceil(shares.front() * n)));
  COX_TRY(const std::vector<Steps> all, sample_all(law, b.threads));
  Computation drawn;
  add_mean(drawn, "drawn", Dimension::Ratio, each(all, [](const Steps& s) { return s.mean; }));
  check_draws(
      out,
      fmt::format("without the slowest {}, cv {:g}: draws against quadrature", law.dropped, b.cvs.back()),
      drawn.values.back(), lognormal_without_slowest(b.workers, b.cvs.back(), law.dropped));
  return {};
}

/// What the source says about single sizes and coefficients.
Status add_claims(Computation& out, const Inputs& in, const Barrier& b) {
  COX_TRY(const auto claims, in.counts("workers of the claims", kWorkers));
  COX_TRY(const auto cvs, in.ratios("coefficients of the claims", kVariation));
  COX_TRY(const double cv, in.ratio("coefficient of the bound", kVariation));
  COX_TRY(const double shape, in.ratio("Pareto shape", {.above = 1, .most = 100}));
  ValueTable table{.title = "By number of workers", .says = {}, .columns = {"workers"}, .rows = {}};
  for (const double c : cvs) table.columns.push_back(fmt::format("left at {:g}", c));
  for (const int n : claims) {
    table.rows.push_back({fmt::format("{}", n)});
    for (const double c : cvs) {
      const double exact = lognormal_maximum(n, c).mean;
      add(out, fmt::format("slowest-over-mean-n{}-{}", n, cv_name(c)), Quantity::ratio(exact), kClosedForm);
      add(out, fmt::format("efficiency-n{}-{}", n, cv_name(c)), Quantity::ratio(1 / exact), kClosedForm);
      add(out, fmt::format("excess-n{}-{}", n, cv_name(c)), Quantity::ratio(exact - 1), kClosedForm);
      table.rows.back().push_back(to_string(Quantity::ratio(1 / exact)));
    }
  }
  table.says = fmt::format(
      "What waiting leaves of the workers' time, by coefficient of variation: from {} of {} workers to {} of {}.",
      table.rows.front().back(), claims.front(), table.rows.back().back(), claims.back());
  out.tables.push_back(std::move(table));
  for (const double c : cvs)
    add(out, fmt::format("one-beyond-110%-{}", cv_name(c)),
        Quantity::ratio(lognormal_one_beyond(b.workers, c, 1.1)), kClosedForm);
  add(out, "factor-of-the-bound",
      Quantity::ratio((lognormal_maximum(b.workers, cv).mean - 1) / (std::log(b.workers) * cv)), kClosedForm);
  for (const double d : {2.0, 3.0})
    add(out, fmt::format("lognormal-over-normal-{:g}-deviations", d),
        Quantity::ratio(lognormal_over_normal_beyond(cv, d)), kClosedForm);
  add(out, "pareto-slowest-over-mean", Quantity::ratio(pareto_maximum_mean(b.workers, shape)), kClosedForm);
  return {};
}

Status add_local_steps(Computation& out, const Inputs& in, const Barrier& b) {
  COX_TRY(const double cv, in.ratio("coefficient of the local SGD claim", kVariation));
  COX_TRY(const int local_steps, in.count("local steps", {.least = 1, .most = b.steps}));
  Law law = b.law(cv);
  law.steps = b.steps / local_steps * local_steps;
  const auto lost = [](const Steps& s) { return 1 - s.mean_of_workers / s.mean; };
  law.local_steps = local_steps;
  COX_TRY(const std::vector<Steps> relaxed, sample_all(law, b.threads));
  add_mean(out, "loss-with-local-steps", Dimension::Ratio, each(relaxed, lost));
  law.local_steps = 1;
  COX_TRY(const std::vector<Steps> strict, sample_all(law, b.threads));
  add_mean(out, "loss-without-local-steps", Dimension::Ratio, each(strict, lost));
  return {};
}

}  // namespace

Result<Computation> compute_stragglers(const Inputs& in, const ComputeOptions& options) {
  COX_TRY(const Barrier b, barrier_of(in, options));
  Computation out;
  COX_CHECK(add_measures(out, b));
  COX_CHECK(add_claims(out, in, b));
  COX_CHECK(add_local_steps(out, in, b));
  COX_CHECK(add_long_steps(out, in, b));
  COX_CHECK(add_causes(out, in, b));
  COX_CHECK(add_remedies(out, in, b));
  out.notes = {
      "The source calls the median over the mean of the steps its efficiency: that tells how much steps "
      "differ from each other, not what waiting costs; the mean over the slowest tells that.",
      "A Pareto law of shape 2 or less has no variance, so no coefficient of variation; its shape is given instead.",
      "What slows a worker or a rack adds to what is drawn for the worker.",
      "Useful share: the work of those whose result counts, over the time of all devices until the last that is waited for."};
  return out;
}

}  // namespace cox::study
