// SPDX-License-Identifier: Apache-2.0
#include "forecast/control/simulated_control.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cox/base/number_text.hpp"

#include "forecast/levers/levers.hpp"
#include "forecast/scenario/resize.hpp"

namespace cox::forecast {
namespace {

constexpr std::int64_t kMostRankSteps = std::int64_t{1} << 20;  ///< of one size and all its seeds
constexpr std::int64_t kLeastSteps = 32;  ///< four meetings of replicas that meet every 8 steps
constexpr std::int64_t kServers = 16;  ///< a rank that sends to so many takes as long as the rest of its step

/// With them, each as it is for this job.
Result<model::Scenario> with_levers(const model::Scenario& job, const std::vector<std::string>& names) {
  model::Scenario out = job;
  for (const Lever& lever : levers_of(job)) {
    if (std::ranges::find(names, lever.name) == names.end()) continue;
    if (!lever.why_not.empty())
      return fail({.code = Errc::InvalidInput,
                   .id = "forecast-031",
                   .message = lever.name + ": " + lever.why_not,
                   .hint = {},
                   .where = std::nullopt});
    lever.apply(out);
  }
  return out;
}

struct PlayedSize {
  std::int64_t steps = 0;  ///< 0 = too much work
  int replicas = 0;
};

/// Fewer steps and seeds where ranks are many.
PlayedSize played_size(const model::Scenario& changed, std::int64_t ranks, const LeverOptions& options) {
  const std::int64_t per_step = ranks * std::max<std::int64_t>(changed.policy.servers / kServers, 1);
  const std::int64_t steps = changed.job.steps;
  for (int seeds = options.replicas; seeds >= std::min(options.replicas, 2); seeds /= 2) {
    const std::int64_t most = kMostRankSteps / (per_step * seeds);
    if (most >= std::min(steps, kLeastSteps)) return {.steps = std::min(steps, most), .replicas = seeds};
    if (seeds < 2) break;
  }
  return {};
}

Result<ControlledSize> at_size(model::Scenario job, const std::vector<std::string>& levers,
                               std::int64_t ranks, LeverOptions options) {
  COX_TRY(const model::Scenario changed, with_levers(job, levers));
  const PlayedSize size = played_size(changed, ranks, options);
  if (size.steps == 0)
    return fail(
        {.code = Errc::Unsupported,
         .id = "forecast-031",
         .message = fmt::format("not simulated, {} steps of so many ranks are too much work", kLeastSteps),
         .hint = {},
         .where = std::nullopt});
  options.replicas = size.replicas;
  job.job.steps = static_cast<decltype(job.job.steps)>(size.steps);
  COX_TRY(const LeverEffect effect, effect_of_levers(job, levers, options));
  const LeverRatio rate = effect.throughput;
  return ControlledSize{.ranks = ranks,
                        .throughput_ratio = rate.value,
                        .simulated = SimulatedRatio{.low = rate.low, .high = rate.high, .steps = size.steps}};
}

}  // namespace

std::vector<ControlledSize> simulated_control(const model::Scenario& scenario,
                                              const std::vector<std::string>& levers,
                                              const std::vector<std::int64_t>& ranks,
                                              const LeverOptions& options, std::vector<std::string>& notes) {
  std::vector<ControlledSize> out;
  const auto leave = [&](std::int64_t n, const std::string& why) {
    notes.push_back(fmt::format("control at {} ranks: {}", grouped(n), why));
  };
  for (const std::int64_t n : ranks) {
    if (n % unit_of(scenario) != 0) {
      leave(n, "no whole number of replicas");
      continue;
    }
    if (const std::string why = no_such_size(scenario, n); !why.empty()) {
      leave(n, why);
      continue;
    }
    const auto one = at_size(resized(scenario, n), levers, n, options);
    if (one)
      out.push_back(*one);
    else
      leave(n, one.error().message);
  }
  return out;
}

}  // namespace cox::forecast
