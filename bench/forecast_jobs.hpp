// SPDX-License-Identifier: Apache-2.0
/// \file
/// Jobs whose truth is known: drawn mechanisms, a small run of each, and the large run that they would be.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "forecast/sample/sample.hpp"

namespace cox::forecast_jobs {

enum class Family : std::uint8_t { Normal, Lognormal, Exponential, Weibull, Student, Pareto };

/// One job: own work 100 s, a residual, parts that persist, that a node or all share in a step, correlation, drift, slow nodes, and
/// communication that is known. Source: docs/concepts/forecasting.md.
struct Job {
  std::uint64_t number = 0;
  Family family = Family::Normal;
  double pareto_shape = 0;
  double residual = 0;   ///< standard deviation
  double rank = 0;       ///< of what is a rank's for good
  double node = 0;       ///< of what is a node's for good
  double node_step = 0;  ///< mean and deviation of an exponential part of a node in a step
  double step = 0;       ///< deviation of what all share in a step
  double correlation = 0;
  double drift = 0;
  double fold = 0;  ///< of own work, for each doubling of the ranks, as a part of one rank's
  double slow_share = 0;
  double slow_extra = 0;
  double comm = 0;
  double comm_fold = 0;  ///< for each doubling
  [[nodiscard]] double communication(double ranks) const;
  [[nodiscard]] bool heavy() const { return family == Family::Pareto && pareto_shape < 3; }
};

[[nodiscard]] Job draw_job(std::uint64_t number);

/// Of jobs in which what lasts may hide growth: own work that grows by `fold` a doubling.
enum class Hidden : std::uint8_t { Exponential, Student, Correlated, Lasting };
[[nodiscard]] Job hiding_job(Hidden what, double fold, std::uint64_t number);

/// A run of it: ranks in nodes of 8. Rank by rank: a run of more ranks holds those of a smaller one.
struct RunOf {
  forecast::Sample sample;
  bool slow_seen = false;  ///< one of its nodes is slow for good
};
[[nodiscard]] RunOf play(const Job& job, int ranks, int steps, std::uint64_t run);

/// Mean step time of one run of so many ranks and steps.
struct Truth {
  double mean = 0;
  bool slow = false;
};
[[nodiscard]] Truth truth_of(const Job& job, int ranks, int steps, std::uint64_t run);

}  // namespace cox::forecast_jobs
