// SPDX-License-Identifier: Apache-2.0
#include "learn/drive/compute_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "cox/base/assert.hpp"
#include "cox/simulate/training.hpp"

namespace cox::learn {
namespace {

/// What a step has beside computing, that a driver of its own does not play.
std::optional<std::string> beside_computing(const model::Scenario& s) {
  const auto& job = s.job.as<model::TrainingJob>();
  const model::Layout& l = job.layout;
  if (l.tensor > 1 || l.pipeline > 1 || l.context > 1 || l.expert > 1)
    return "replicas of several devices exchange messages inside a step";
  if (model::needs_links(s.cluster, s.job.places, s.neighbours))
    return "places, unlike cards or neighbours need links that are played";
  if (job.zero_stage > 0) return fmt::format("zero_stage {} spreads shards over replicas", job.zero_stage);
  if (job.input.takes_time()) return "input takes time";
  if (model::disturbs_messages(s) || s.fabric.timeouts.happen()) return "noise disturbs messages";
  const auto by_clock = [](const model::NoiseSource& n) {
    return n.pattern == model::NoisePattern::Periodic && !n.off;
  };
  if (std::ranges::any_of(s.noise, by_clock)) return "noise comes by the clock";
  return std::nullopt;
}

}  // namespace

Result<ComputeTimes> ComputeTimes::make(const model::Scenario& scenario, std::int64_t steps,
                                        std::uint64_t seed) {
  if (const auto why = beside_computing(scenario))
    return fail({.code = Errc::InvalidInput,
                 .id = "learn-002",
                 .message = *why + ", which this policy's driver does not play",
                 .hint = "a data-parallel job whose noise is that of computing; or another policy",
                 .where = std::nullopt});
  model::Scenario alone = scenario;
  alone.policy = {.kind = model::PolicyKind::Asynchronous};
  alone.inside = alone.across = {};
  alone.engine = model::EngineKind::MaxPlus;
  alone.price = model::CollectivePrice::Rounds;
  alone.plays_links = false;
  alone.neighbours.clear();
  alone.job.steps = static_cast<int>(steps);
  auto& job = alone.job.as<model::TrainingJob>();
  job.compression = {};
  for (model::Layer& l : job.layers) l.gradients = Bytes{};
  ComputeTimes out;
  COX_TRY(out.workers_, simulate::update_workers(alone));
  out.steps_ = steps;
  const auto each = static_cast<std::size_t>(steps);
  out.times_.resize(static_cast<std::size_t>(out.workers_) * each);
  std::vector<Seconds> last(static_cast<std::size_t>(out.workers_));
  std::vector<std::size_t> done(last.size());
  COX_CHECK(simulate::stream_updates(alone, seed, [&](const sync::StreamEvent& e, Seconds at) {
    if (e.kind != sync::StreamEvent::Kind::Delivered) return true;
    const auto w = static_cast<std::size_t>(e.update.worker);
    out.times_[w * each + done[w]++] = at - last[w];
    last[w] = at;
    return true;
  }));
  return out;
}

Seconds ComputeTimes::of(int worker, std::int64_t step) const {
  COX_ASSERT(worker >= 0 && worker < workers_ && step >= 0 && step < steps_, "a step of a worker");
  return times_[static_cast<std::size_t>(worker) * static_cast<std::size_t>(steps_) +
                static_cast<std::size_t>(step)];
}

}  // namespace cox::learn
