// SPDX-License-Identifier: Apache-2.0
#include "cox/learn/price.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "cox/simulate/training.hpp"

#include "learn/answer/comparison.hpp"
#include "learn/answer/refusal.hpp"

namespace cox::learn {
namespace {

constexpr std::int64_t kStepsOfAll = 64'000;

Result<CompressorSpec> compressor_of(const model::Compression& c) {
  if (c.kind == model::Compressor::None) return CompressorSpec{};
  if (c.kind == model::Compressor::Sparse) return read_compressor(fmt::format("top-k,keep={}", c.density));
  if (c.bits == 16) return read_compressor("bf16");
  const double levels = std::exp2(c.bits - 1) - 1;
  if (c.bits >= 2 && c.bits <= 8 && levels == std::floor(levels))
    return read_compressor(fmt::format("max-scaled,levels={:.0f}", levels));
  return refuse(fmt::format("gradients of {:g} bits an element are none that are learned", c.bits),
                "say 2 to 8 bits, or 16");
}

/// Of one job, already found to be a training job.
Result<JobSamples> samples_of(const model::Scenario& job, const WaysQuestion& asked) {
  COX_TRY(const Way way, way_of(job));
  WaysQuestion question = asked;
  question.ways = {way};
  question.progress = {};
  COX_TRY(const int workers, simulate::update_workers(job));
  question.steps = std::max(asked.steps, kStepsOfAll / std::max(workers, 1));
  COX_TRY(const Comparison made, compare(job, question));
  const WayResult& w = made.ways.front();
  JobSamples out{.workers = workers, .at_edge = w.at_edge};
  if (w.all_reached()) {
    for (const Attempt& a : w.attempts) out.by_seed.push_back(static_cast<double>(a.samples));
    return out;
  }
  out.why_not = !w.refused.empty()
                    ? w.refused
                    : fmt::format("the target is reached on {} of {} seeds within {} steps of a worker",
                                  w.reached(), w.attempts.size(), question.steps);
  return out;
}

}  // namespace

Result<Way> way_of(const model::Scenario& scenario) {
  Way way{.name = "as the scenario says", .policy = scenario.policy};
  if (const auto* job = std::get_if<model::TrainingJob>(&scenario.job.work)) {
    COX_TRY(way.compressor, compressor_of(job->compression));
  }
  return way;
}

Result<std::vector<JobSamples>> samples_to_target(std::span<const model::Scenario> jobs,
                                                  const WaysQuestion& question) {
  std::vector<JobSamples> out;
  for (const model::Scenario& job : jobs) {
    Result<JobSamples> one = samples_of(job, question);
    if (!one && out.empty()) return fail(one.error());
    out.push_back(one ? *std::move(one) : JobSamples{.why_not = one.error().message});
    if (question.progress)
      question.progress(static_cast<std::int64_t>(out.size()), static_cast<std::int64_t>(jobs.size()));
  }
  return out;
}

}  // namespace cox::learn
