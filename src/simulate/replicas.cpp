// SPDX-License-Identifier: Apache-2.0
#include "cox/simulate/replicas.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "cox/base/assert.hpp"
#include "cox/base/parallel.hpp"
#include "cox/base/stats.hpp"

#include "simulate/seconds_array.hpp"

namespace cox::simulate {
namespace {

// Percentage points t(0.975) by degrees of freedom, from 1 on; every book's table.
constexpr std::array<double, 30> kStudent = {
    12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157, 2.228139,
    2.200985,  2.178813, 2.160369, 2.144787, 2.131450, 2.119905, 2.109816, 2.100922, 2.093024, 2.085963,
    2.079614,  2.073873, 2.068658, 2.063899, 2.059539, 2.055529, 2.051831, 2.048407, 2.045230, 2.042272};

/// Beyond the table by the expansion around the normal's point (Abramowitz, Stegun 26.7.5): error below 1e-6
/// there.
double student(std::int64_t freedom) {
  if (freedom < 1) return 0;
  if (freedom <= static_cast<std::int64_t>(kStudent.size()))
    return kStudent.at(static_cast<std::size_t>(freedom - 1));
  const double x = 1.9599639845400545;
  const double n = static_cast<double>(freedom);
  const double x2 = x * x;
  const double g1 = x * (x2 + 1) / 4;
  const double g2 = x * ((5 * x2 + 16) * x2 + 3) / 96;
  const double g3 = x * (((3 * x2 + 19) * x2 + 17) * x2 - 15) / 384;
  return x + (g1 + (g2 + g3 / n) / n) / n;
}

/// A job with what it keeps between seeds.
class Bsp {
 public:
  explicit Bsp(const BspJob& job)
      : job_(job),
        collective_(job.schedule, job.costs, job.collective),
        times_(static_cast<std::size_t>(job.schedule.ranks())),
        compute_(times_.size()) {}

  Seconds run(const Noise& noise, std::span<Seconds> step_ends) {
    std::ranges::fill(times_, Seconds{0});
    const auto now = std::span<const Seconds>(times_).first(noise.needs_time() ? times_.size() : 0);
    for (std::int64_t step = 0; step < job_.steps; ++step) {
      std::ranges::fill(compute_, job_.compute);
      noise.compute(step, 0, compute_, compute_, now);
      for (std::size_t r = 0; r < times_.size(); ++r) times_[r] += compute_[r];
      collective_.run(times_, &noise, step, 0);
      if (!step_ends.empty()) step_ends[static_cast<std::size_t>(step)] = *std::ranges::max_element(times_);
    }
    return *std::ranges::max_element(times_);
  }

 private:
  const BspJob& job_;
  MaxPlus collective_;
  std::vector<Seconds> times_;
  std::vector<Seconds> compute_;
};

}  // namespace

Spread spread_of(std::span<const Seconds> sample) {
  Spread s;
  s.replicas = static_cast<int>(sample.size());
  if (sample.empty()) return s;
  const auto values = as_doubles(sample);
  Welford moments;
  for (const double x : values) moments.add(x);
  s.mean = Seconds{moments.mean()};
  s.half_width_95 = Seconds{student(moments.count() - 1) *
                            std::sqrt(moments.variance() / static_cast<double>(moments.count()))};
  std::vector<double> copy(values.begin(), values.end());
  s.p50 = Seconds{quantile_in_place(copy, 0.5)};
  s.p99 = Seconds{quantile_in_place(copy, 0.99)};
  return s;
}

Seconds run_bsp(const BspJob& job, const Noise& noise, std::span<Seconds> step_ends) {
  COX_ASSERT(step_ends.empty() || step_ends.size() == static_cast<std::size_t>(job.steps),
             "one end per step");
  return Bsp(job).run(noise, step_ends);
}

ReplicaOutcome run_replicas(const BspJob& job, const Noise& noise, std::uint64_t first_seed, int replicas,
                            int threads) {
  COX_ASSERT(replicas >= 0, "a number of replicas");
  // In blocks, so that the scratch memory of a job serves several seeds.
  constexpr std::size_t kBlock = 16;
  ReplicaOutcome out;
  out.totals.resize(static_cast<std::size_t>(replicas));
  const std::size_t blocks = (out.totals.size() + kBlock - 1) / kBlock;
  parallel_for(blocks, threads, [&](std::size_t b) {
    Bsp bsp(job);
    for (std::size_t i = b * kBlock; i < std::min((b + 1) * kBlock, out.totals.size()); ++i)
      out.totals[i] = bsp.run(noise.with_seed(first_seed + i), {});
  });
  out.total = spread_of(out.totals);
  return out;
}

}  // namespace cox::simulate
