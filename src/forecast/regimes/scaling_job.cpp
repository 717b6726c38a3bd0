// SPDX-License-Identifier: Apache-2.0
#include "cox/forecast/scaling_job.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "cox/base/assert.hpp"

namespace cox::forecast {
namespace {

/// ln (wall / work) and its derivative by ln nodes.
struct Lengthening {
  double log = 0;
  double growth = 0;
};

/// The root of e^-(t + c) = 1 - t: tau / M at its optimum, for c = C / M. Newton from above converges from any c > 0.
double best_interval(double c) {
  double t = std::min(std::sqrt(2 * c), 0.999);
  for (int i = 0; i < 60; ++i) {
    const double left = std::exp(-t - c);
    const double next = t - (1 - t - left) / (left - 1);
    if (!(next > 0) || next >= 1) {
      t = next >= 1 ? (t + 1) / 2 : t / 2;
      continue;
    }
    if (std::abs(next - t) < 1e-15) return next;
    t = next;
  }
  return t;
}

Lengthening lengthening(const FailureTerm& f, double nodes, bool growing) {
  const double mean = f.node_mean_time.count() / nodes;
  const double more = growing ? f.restart_per_node.count() * nodes : 0;
  const double restart = (f.restart.count() + more) / mean;
  const double c = f.checkpoint.count() / mean;
  if (c <= 0) return {restart, restart + more / mean};  // no cost, no interval, no work lost
  const double t = best_interval(c);
  const double u = t + c;
  return {restart + std::log(std::expm1(u) / t), -1 + restart + more / mean + u / -std::expm1(-u)};
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
    const Lengthening by = lengthening(*failures, n / failures->ranks_per_node, is_on(growing_bit));
    out.throughput *= std::exp(-by.log);
    out.elasticity -= by.growth;
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

}  // namespace cox::forecast
