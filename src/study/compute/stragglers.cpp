// SPDX-License-Identifier: Apache-2.0
// The slowest of N: C.2.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "cox/base/parallel.hpp"
#include "cox/base/stats.hpp"
#include "cox/simulate/noise.hpp"

#include "study/compute/collective_run.hpp"
#include "study/compute/computations.hpp"
#include "study/compute/replicas.hpp"
#include "study/oracle/extremes.hpp"

namespace cox::study {
namespace {

/// What one seed's steps say, in units of the undisturbed time.
struct Steps {
  double mean = 0;
  double median = 0;
  double p99 = 0;
  double mean_of_workers = 0;
};

struct Law {
  model::NoiseSource source;
  int workers = 1;
  int steps = 1;
  int seeds = 2;
  Seconds base{};
  int local_steps = 1;  ///< a barrier after so many
};

/// Steps of one seed: a barrier every `local_steps`, each draw made.
Steps sample(const Law& law, const simulate::Noise& noise) {
  const auto workers = static_cast<std::size_t>(law.workers);
  const std::vector<Seconds> base(workers, law.base);
  std::vector<Seconds> times(workers);
  std::vector<Seconds> sums(workers);
  std::vector<double> longest;
  double work = 0;
  for (int s = 0; s < law.steps; ++s) {
    noise.compute(s, 0, base, times);
    for (std::size_t w = 0; w < workers; ++w) sums[w] += times[w];
    if ((s + 1) % law.local_steps != 0) continue;
    longest.push_back(std::max_element(sums.begin(), sums.end())->count() / law.base.count() /
                      law.local_steps);
    for (Seconds& t : sums) {
      work += t.count();
      t = Seconds{0};
    }
  }
  Steps out;
  const auto n = static_cast<double>(longest.size());
  out.mean = std::accumulate(longest.begin(), longest.end(), 0.0) / n;
  out.mean_of_workers = work / (n * law.local_steps * law.workers * law.base.count());
  out.median = median(longest);
  out.p99 = quantile(longest, 0.99);
  return out;
}

Result<std::vector<Steps>> sample_all(const Law& law, int threads) {
  std::vector<simulate::Noise> noises;
  for (int seed = 1; seed <= law.seeds; ++seed) {
    COX_TRY(simulate::Noise noise,
            simulate::Noise::make({law.source}, {.ranks = law.workers}, static_cast<std::uint64_t>(seed)));
    noises.push_back(std::move(noise));
  }
  std::vector<Steps> out(noises.size());
  parallel_for(out.size(), threads, [&](std::size_t i) { out[i] = sample(law, noises[i]); });
  return out;
}

template <class F>
std::vector<double> each(const std::vector<Steps>& all, const F& value) {
  std::vector<double> out;
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

}  // namespace

Result<Computation> compute_stragglers(const Inputs& in, const ComputeOptions& options) {
  constexpr Between kWorkers{.least = 1, .most = 4096};
  COX_TRY(const int workers, in.count("workers", kWorkers));
  COX_TRY(const Seconds base, in.time("compute"));
  COX_TRY(const auto cvs, in.list("coefficient of variation", Dimension::Ratio));
  COX_TRY(const int steps, in.count("steps", {.least = 1, .most = 100'000}));
  COX_TRY(const int seeds, in.count("seeds", {.least = 2, .most = 1000}));
  COX_TRY(const auto claims, in.counts("workers of the claims", kWorkers));
  COX_TRY(const auto claim_cvs, in.list("coefficients of the claims", Dimension::Ratio));
  COX_TRY(const double shape, in.ratio("Pareto shape"));
  COX_TRY(const double local_cv, in.ratio("coefficient of the local SGD claim"));
  COX_TRY(const int local_steps, in.count("local steps", {.least = 1, .most = 1000}));
  COX_CHECK(in.check_draws(static_cast<double>(workers) * steps * seeds, "workers, steps and seeds"));
  if (shape <= 1 || base <= Seconds{0})
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "study-003",
                      .message = "input 'Pareto shape' is at most 1 or 'compute' is zero: there is no mean",
                      .hint = "give a shape above 1 and a positive time",
                      .where = Where{.file = in.study().file}});
  Computation out;
  Series waste{.name = "mean over slowest", .x = {}, .y = {}};
  Series jitter{.name = "median over mean of steps", .x = {}, .y = {}};
  for (const WrittenQuantity& written : cvs) {
    const double cv = written.value.in_base_unit();
    Law law{.source = lognormal(cv), .workers = workers, .steps = steps, .seeds = seeds, .base = base};
    COX_TRY(const std::vector<Steps> all, sample_all(law, options.threads));
    const std::string name = fmt::format("cv{:g}", cv);
    add_mean(out, fmt::format("median-over-mean-{}", name), Dimension::Ratio,
             each(all, [](const Steps& s) { return s.median / s.mean; }));
    add_mean(out, fmt::format("mean-over-slowest-{}", name), Dimension::Ratio,
             each(all, [](const Steps& s) { return s.mean_of_workers / s.mean; }));
    add_mean(out, fmt::format("slowest-over-mean-{}", name), Dimension::Ratio,
             each(all, [](const Steps& s) { return s.mean; }));
    const Computed sampled = out.values.back();
    add_mean(out, fmt::format("p99-over-mean-{}", name), Dimension::Ratio,
             each(all, [](const Steps& s) { return s.p99; }));
    const double exact = lognormal_maximum(workers, cv).mean;
    add(out, fmt::format("slowest-over-mean-exact-{}", name), Quantity::ratio(exact), kClosedForm);
    add(out, fmt::format("mean-over-slowest-exact-{}", name), Quantity::ratio(1 / exact), kClosedForm);
    add(out, fmt::format("median-over-mean-exact-{}", name),
        Quantity::ratio(lognormal_maximum_median(workers, cv) / exact), kClosedForm);
    // Sampled against quadrature: within three standard errors (the half width is two).
    out.checks.push_back({.name = fmt::format("slowest over mean, cv {:g}: draws against quadrature", cv),
                          .engine = sampled.value,
                          .oracle = Quantity::ratio(exact),
                          .limit_ratio = 1.5 * sampled.half_width_95->in_base_unit() / exact});
    waste.x.push_back(cv);
    waste.y.push_back(100 / exact);
    jitter.x.push_back(cv);
    jitter.y.push_back(100 * lognormal_maximum_median(workers, cv) / exact);
    jitter.of.push_back(fmt::format("median-over-mean-exact-{}", name));
  }
  for (const WrittenQuantity& written : claim_cvs) {
    add(out, fmt::format("one-beyond-110%-cv{:g}", written.value.in_base_unit()),
        Quantity::ratio(lognormal_one_beyond(workers, written.value.in_base_unit(), 1.1)), kClosedForm);
    for (const int n : claims) {
      const double exact = lognormal_maximum(n, written.value.in_base_unit()).mean;
      add(out, fmt::format("slowest-over-mean-n{}-cv{:g}", n, written.value.in_base_unit()),
          Quantity::ratio(exact), kClosedForm);
      add(out, fmt::format("efficiency-n{}-cv{:g}", n, written.value.in_base_unit()),
          Quantity::ratio(1 / exact), kClosedForm);
      add(out, fmt::format("excess-n{}-cv{:g}", n, written.value.in_base_unit()), Quantity::ratio(exact - 1),
          kClosedForm);
    }
  }
  add(out, "pareto-slowest-over-mean", Quantity::ratio(pareto_maximum_mean(workers, shape)), kClosedForm);
  Law local{.source = lognormal(local_cv),
            .workers = workers,
            .steps = steps / local_steps * local_steps,
            .seeds = seeds,
            .base = base,
            .local_steps = local_steps};
  COX_TRY(const std::vector<Steps> relaxed, sample_all(local, options.threads));
  add_mean(out, "loss-with-local-steps", Dimension::Ratio,
           each(relaxed, [](const Steps& s) { return 1 - s.mean_of_workers / s.mean; }));
  local.local_steps = 1;
  COX_TRY(const std::vector<Steps> strict, sample_all(local, options.threads));
  add_mean(out, "loss-without-local-steps", Dimension::Ratio,
           each(strict, [](const Steps& s) { return 1 - s.mean_of_workers / s.mean; }));
  out.notes = {
      "The source calls the median over the mean of the steps its efficiency: that tells how much steps "
      "differ from each other, not what waiting costs; the mean over the slowest tells that.",
      "A Pareto law of shape 1.5 has no variance, so no coefficient of variation; its shape is given instead."};
  out.picture = {.title = fmt::format("{} workers, lognormal compute: what the two measures see", workers),
                 .x_label = "coefficient of variation",
                 .y_label = "%",
                 .series = {std::move(waste), std::move(jitter)}};
  return out;
}

}  // namespace cox::study
