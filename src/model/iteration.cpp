// SPDX-License-Identifier: Apache-2.0
#include "cox/model/iteration.hpp"

#include "cox/base/elementary.hpp"
#include "cox/base/random.hpp"

namespace cox::model {
namespace {

// Streams of draws; numbers of their own, so that a job's jitter is independent of who is slow.
constexpr std::uint32_t kJitterStream = 0x70616365;
constexpr std::uint32_t kPlaceStream = 0x70616366;

// Lognormal with mean 1 and coefficient of variation c: exp(s z - s^2 / 2), s^2 = ln(1 + c^2).
// Exponential part: 1 - c + c e with e of mean 1, so the coefficient of variation is c (c <= 1).
double jitter(const Iteration& job, std::uint64_t seed, int rank, std::int64_t step) {
  const RandomStream draws(seed, kJitterStream);
  const auto row = static_cast<std::uint64_t>(step);
  const auto column = static_cast<std::uint64_t>(rank);
  switch (job.jitter) {
    case JitterLaw::Lognormal: {
      const double variance = logarithm(1 + job.spread * job.spread);
      return exponential(__builtin_sqrt(variance) * draws.normal(row, column) - variance / 2);
    }
    case JitterLaw::Exponential:
      return 1 - job.spread - job.spread * logarithm(draws.uniform(row, column));
    case JitterLaw::None:
      break;
  }
  return 1;
}

}  // namespace

bool is_slow(const Iteration& job, std::uint64_t seed, int rank, std::int64_t step) {
  if (job.imbalance == Imbalance::None || job.slow_ranks <= 0) return false;
  if (job.imbalance == Imbalance::Persistent) return rank >= job.ranks - job.slow_ranks;
  const RandomStream draws(seed, kPlaceStream);
  const auto episode = static_cast<std::uint64_t>(step / job.episode);
  const auto first = static_cast<int>(draws.uniform(episode, 0) * job.ranks);
  return (rank - first + job.ranks) % job.ranks < job.slow_ranks;
}

Seconds compute_time(const Iteration& job, std::uint64_t seed, int rank, std::int64_t step) {
  const double factor = is_slow(job, seed, rank, step) ? job.slow_factor : 1;
  return job.compute * factor * jitter(job, seed, rank, step);
}

}  // namespace cox::model
