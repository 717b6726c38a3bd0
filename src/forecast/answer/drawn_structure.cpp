// SPDX-License-Identifier: Apache-2.0
#include "forecast/answer/drawn_structure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cox/simulate/delay.hpp"
#include "cox/simulate/outcome.hpp"

#include "forecast/sample/read.hpp"
#include "forecast/simulated/simulated_sizes.hpp"
#include "forecast/structure/over_time.hpp"
#include "forecast/structure/structure.hpp"

namespace cox::forecast {
namespace {

constexpr int kDelaySteps = 40;
constexpr int kDelayAt = 10;
constexpr std::int64_t kMostRecorded = 512;  ///< ranks
constexpr std::int64_t kRecorded = 16'384;   ///< ranks times steps
constexpr std::int64_t kLeastSteps = 48;
constexpr std::int64_t kMostSteps = 256;

/// Only what happens in every step.
model::Scenario calm(model::Scenario s) {
  s.failures = {};
  s.start = {};
  std::erase_if(s.noise, [](const model::NoiseSource& n) { return n.pattern == model::NoisePattern::Once; });
  return s;
}

Result<Sample> recorded(const model::Scenario& scenario, std::int64_t ranks, int threads) {
  model::Scenario s = calm(scenario);
  s.replicas = 1;
  s.job.steps = static_cast<int>(std::clamp(kRecorded / ranks, kLeastSteps, kMostSteps));
  COX_TRY(const simulate::Outcome outcome, simulate::simulate(s, {.threads = threads, .want_run = true}));
  if (!outcome.run)
    return fail(Error{.code = Errc::Unsupported,
                      .id = "forecast-020",
                      .message = "its steps leave no record of who waited",
                      .hint = "",
                      .where = {}});
  return sample_of(*outcome.run, threads);
}

/// What `recorded` tells, as of a Run.
void add_recorded(const FullForecast& f, Seconds delay, int threads, DrawnStructure& out) {
  if (f.seen_ranks > kMostRecorded) {
    out.why_not = fmt::format("who sets the pace is drawn of at most {} ranks", kMostRecorded);
    return;
  }
  const Result<Sample> sample = recorded(*f.scenario, f.seen_ranks, threads);
  if (!sample) {
    out.why_not = "who sets the pace: " + sample.error().message;
    return;
  }
  if (auto structure = structure_of(*sample))
    out.structure = *std::move(structure);
  else
    out.why_not = "who sets the pace: " + structure.error().message;
  if (auto over_time = over_time_of(*sample)) out.over_time = *std::move(over_time);
  if (delay > Seconds{}) out.kept = kept_of(*sample, delay);
}

Seconds delay_of(const FullForecast& f, const Asked& question) {
  if (question.structure.delay) return *question.structure.delay;
  if (f.structure && f.structure->kept.size() > 1) return f.structure->kept[1].delay;
  Seconds most{};
  for (const PositionParts& p : f.parts->positions) most = std::max(most, p.level.value);
  return most / 10;
}

}  // namespace

Result<SimulatedDelay> delay_beside_twin(const model::Scenario& scenario, Seconds delay, int threads) {
  model::Scenario s = calm(scenario);
  s.replicas = std::clamp(s.replicas, 16, 64);
  s.job.steps = kDelaySteps;
  const int rank = static_cast<int>(model::ranks_of(s.cluster, s.job.places) / 2);
  s.noise.push_back({.name = "delay",
                     .law = model::NoiseLaw::Constant,
                     .pattern = model::NoisePattern::Once,
                     .relative = false,
                     .mean = delay,
                     .step = kDelayAt,
                     .ranks = {rank}});
  COX_TRY(const simulate::KeptDelay kept, simulate::follow_delay(s, {.threads = threads}));
  return SimulatedDelay{.rank = rank, .step = kept.step, .decay = decay_of(kept)};
}

void add_drawn(FullForecast& f, const Sample* sample, const Asked& question) {
  if (!f.scenario || !f.parts) return;
  if (f.calibrated && !(f.goodness && f.goodness->reproduces)) return;
  DrawnStructure out;
  const int threads = question.project.threads;
  const Seconds delay = delay_of(f, question);
  if (sample != nullptr && delay > Seconds{}) out.kept = kept_of(*sample, delay);
  if (!is_small_enough(*f.scenario)) {
    out.why_not = "structure: " + too_large_text();
  } else {
    if (!f.calibrated) add_recorded(f, delay, threads, out);
    if (delay > Seconds{}) {
      if (auto followed = delay_beside_twin(*f.scenario, delay, threads))
        out.delay = DelayOverSteps{.delay = delay, .rank = followed->rank, .kept = followed->decay.bands()};
      else
        out.why_not += (out.why_not.empty() ? "a delay over steps: " : "; a delay over steps: ") +
                       followed.error().message;
    }
  }
  f.drawn = std::move(out);
}

}  // namespace cox::forecast
