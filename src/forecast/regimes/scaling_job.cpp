// SPDX-License-Identifier: Apache-2.0
#include "cox/forecast/scaling_job.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <utility>

#include "cox/base/assert.hpp"

#include "forecast/regimes/amplification.hpp"
#include "forecast/regimes/failing.hpp"

namespace cox::forecast {
namespace {

constexpr double kChord = 1e-4;  ///< of the size, on either side of where goodput's growth is asked

/// Goodput at the optimum interval, at any number of nodes, whole or not.
double goodput_of(const FailureTerm& f, double nodes, bool growing) {
  Interruptions costs;
  costs.nodes = std::max<std::int64_t>(1, std::llround(nodes));
  costs.between = f.node_mean_time / nodes;
  costs.restart = f.restart + (growing ? f.restart_per_node * nodes : Seconds{});
  costs.blocks = f.checkpoint;
  return wall_shares(costs, best_intervals(costs)).work;
}

/// What a job is made of, shared by the copies of its function.
struct Terms {
  Seconds work{};
  std::vector<StepTerm> terms;
  std::vector<int> bit;  ///< of each term; -1 = always on
  std::optional<FailureTerm> failures;
  int failures_bit = -1;
  int growing_bit = -1;

  [[nodiscard]] ThroughputPoint at(std::int64_t ranks, MechanismSet on) const {
    const auto is_on = [&](int b) { return b < 0 || (on >> b & 1) != 0; };
    TimeAtSize step{.value = work};
    for (std::size_t i = 0; i < terms.size(); ++i) {
      if (!is_on(bit[i])) continue;
      const TimeAtSize part = terms[i].at(ranks);
      step.value += part.value;
      step.growth += part.growth;
    }
    const auto n = static_cast<double>(ranks);
    ThroughputPoint out{.throughput = n * (work / step.value), .elasticity = 1 - step.growth / step.value};
    if (!failures || !is_on(failures_bit)) return out;
    const double nodes = n / failures->ranks_per_node;
    take_failures(out, nodes, kChord * nodes, 0,
                  [&](double at) { return goodput_of(*failures, at, is_on(growing_bit)); });
    return out;
  }
};

}  // namespace

ScalingJob job_of(Seconds work, std::vector<StepTerm> terms, const std::optional<FailureTerm>& failures) {
  COX_ASSERT(terms.size() <= 61, "a bit for each term and two for failures");
  ScalingJob job;
  const auto add = [&](const Mechanism& mechanism) {
    if (mechanism.name.empty()) return -1;
    job.mechanisms.push_back(mechanism);
    return static_cast<int>(job.mechanisms.size()) - 1;
  };
  Terms parts{.work = work, .terms = {}, .bit = {}, .failures = failures};
  for (const StepTerm& term : terms) parts.bit.push_back(add(term.mechanism));
  parts.terms = std::move(terms);
  if (failures) {
    parts.failures_bit = add(failures->failures);
    if (failures->restart_per_node > Seconds{}) parts.growing_bit = add(failures->growing);
  }
  job.at = [shared = std::make_shared<const Terms>(std::move(parts))](std::int64_t ranks, MechanismSet on) {
    return shared->at(ranks, on);
  };
  return job;
}

Amplification amplification_of(const ScalingJob& job, std::int64_t ranks) {
  const std::size_t n = job.mechanisms.size();
  COX_ASSERT(n <= 12, "every set is looked at");
  std::vector<double> time;  // of a sample, by set
  for (MechanismSet on = 0; on < MechanismSet{1} << n; ++on) time.push_back(1 / job.at(ranks, on).throughput);
  Amplification out{.whole = time.back() / time.front()};
  std::vector<double> weight(n);  // of a set of k others: k! (n - 1 - k)! / n!
  double choose = 1;
  for (std::size_t k = 0; k < n; ++k) {
    weight[k] = 1 / (static_cast<double>(n) * choose);
    choose *= static_cast<double>(n - 1 - k) / static_cast<double>(k + 1);
  }
  for (std::size_t i = 0; i < n; ++i) {
    Amplification::Share share{.mechanism = job.mechanisms[i].name};
    for (std::size_t on = 0; on < time.size(); ++on)
      if ((on >> i & 1) == 0)
        share.added += weight[static_cast<std::size_t>(std::popcount(on))] *
                       (time[on | std::size_t{1} << i] - time[on]) / time.front();
    out.by.push_back(std::move(share));
  }
  return out;
}

}  // namespace cox::forecast
