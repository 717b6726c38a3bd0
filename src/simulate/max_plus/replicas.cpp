// SPDX-License-Identifier: Apache-2.0
#include "simulate/max_plus/replicas.hpp"

#include <algorithm>

#include "cox/base/assert.hpp"
#include "cox/base/parallel.hpp"

namespace cox::simulate {
namespace {

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
      noise.compute(step, 0, compute_, compute_, now, &memory_);
      for (std::size_t r = 0; r < times_.size(); ++r) times_[r] += compute_[r];
      collective_.run(times_, &noise, step, 0);
      if (!step_ends.empty()) step_ends[static_cast<std::size_t>(step)] = *std::ranges::max_element(times_);
    }
    return *std::ranges::max_element(times_);
  }

 private:
  const BspJob& job_;
  MaxPlus collective_;
  NoiseMemory memory_;
  std::vector<Seconds> times_;
  std::vector<Seconds> compute_;
};

}  // namespace

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
