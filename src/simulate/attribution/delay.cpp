// SPDX-License-Identifier: Apache-2.0
#include "cox/simulate/delay.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "cox/base/assert.hpp"

namespace cox::simulate {
namespace {

using model::NoisePattern;
using model::NoiseSource;

/// The one source that is injected.
Result<std::size_t> injected(const model::Scenario& s) {
  const auto is_one = [](const NoiseSource& n) { return n.pattern == NoisePattern::Once && !n.off; };
  const auto at = std::ranges::find_if(s.noise, is_one);
  if (std::ranges::count_if(s.noise, is_one) != 1 || at->target != model::NoiseTarget::Compute ||
      at->relative)
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "simulate-003",
                      .message = "there is no one delay to follow",
                      .hint =
                          "give one [[noise]] with law = \"constant\", pattern = \"once\", a mean that is a "
                          "time, step and ranks",
                      .where = {}});
  return static_cast<std::size_t>(at - s.noise.begin());
}

}  // namespace

Result<KeptDelay> follow_delay(const model::Scenario& scenario, const SimulateOptions& options) {
  COX_TRY(const std::size_t source, injected(scenario));
  SimulateOptions quiet = options;
  quiet.want_run = false;
  quiet.progress = {};
  model::Scenario with = scenario;
  with.replicas = 1;
  KeptDelay out{
      .delay = scenario.noise[source].mean, .step = scenario.noise[source].step, .by = {}, .ranks = {}};
  std::vector<std::vector<Seconds>> late;  // [step][replica]
  for (int replica = 0; replica < scenario.replicas; ++replica) {
    with.seed = scenario.seed + static_cast<std::uint64_t>(replica);
    model::Scenario without = with;
    without.noise[source].off = true;
    COX_TRY(const Outcome a, simulate(with, quiet));
    // A job that is quieter might be left to max-plus, and the difference be taken for what is left of the delay.
    const bool chose =
        with.engine == model::EngineKind::Auto &&
        (with.job.workload() == model::Workload::Collective || plays_links(with, with.job.workload()));
    if (chose && a.engine == model::EngineKind::Flow) without.engine = a.engine;
    COX_TRY(const Outcome b, simulate(without, quiet));
    COX_ASSERT(a.step_ends.size() == b.step_ends.size(), "the twin has as many steps");
    const auto first = std::min(static_cast<std::size_t>(out.step), a.step_ends.size());
    late.resize(a.step_ends.size() - first);
    for (std::size_t k = 0; k < late.size(); ++k)
      late[k].push_back(a.step_ends[first + k] - b.step_ends[first + k]);
    if (replica > 0 || a.rank_ends.size() != b.rank_ends.size()) continue;
    for (std::size_t r = 0; r < a.rank_ends.size(); ++r) out.ranks.push_back(a.rank_ends[r] - b.rank_ends[r]);
  }
  for (const std::vector<Seconds>& step : late) out.by.push_back(spread_of(step));
  return out;
}

}  // namespace cox::simulate
